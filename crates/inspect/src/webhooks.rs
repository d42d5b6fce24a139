//! Webhooks as the window shows them, and what it does with them. A new one is made into a client's frame, so that the same
//! rules judge it.

use crate::actions::{Outcome, act_for, done, finished, look, refused};
use crate::call::Call;
use crate::request::{NewWebhook, WebhookAct, WebhookVerb};
use crate::view::{Failure, RefusalCode, WebhookRow, WebhooksView};
use onceover_broker::BrokerHandle;
use onceover_engine::command::Command;
use onceover_engine::webhook::{Request, WEBHOOKS_MAX, Webhook};
use serde_json::json;
use std::sync::Arc;

/// All webhooks.
///
/// # Errors
/// The broker does not run.
pub async fn view(broker: &BrokerHandle) -> Result<WebhooksView, Failure> {
    let found = look(broker, |core| {
        let rows = core.engine.webhooks().map(|hook| row(hook, core.engine.webhook_error(&hook.id))).collect();
        WebhooksView { revision: core.revision, most: WEBHOOKS_MAX as u64, rows }
    });
    found.await
}

fn row(hook: &Webhook, error: Option<&str>) -> WebhookRow {
    WebhookRow {
        id: hook.id.to_string(),
        url: hook.url.to_string(),
        events: hook.events.iter().map(|event| event.as_str().to_owned()).collect(),
        queue: hook.queue.as_ref().map(|queue| queue.to_string()),
        signed: hook.secret.is_some(),
        enabled: hook.enabled,
        created_at: hook.created_at.0,
        last_triggered: hook.last_triggered.map(|at| at.0),
        successes: hook.successes,
        failures: hook.failures,
        last_error: error.map(str::to_owned),
    }
}

/// Adds one. What a client would be told about a bad field is the refusal.
///
/// # Errors
/// The broker does not run.
pub async fn add(broker: &BrokerHandle, new: NewWebhook) -> Outcome {
    let mut call = Call::new("AddWebhook").text("url", &new.url).json("events", &json!(new.events));
    for (name, value) in [("queue", &new.queue), ("secret", &new.secret)] {
        if let Some(value) = value {
            call = call.text(name, value);
        }
    }
    let result = match call.command() {
        Err(text) => refused(RefusalCode::Rejected, text),
        Ok(command) => match act_for(broker, command).await? {
            Ok(_) => done("Added the webhook.".to_owned()),
            Err(text) => refused(RefusalCode::Rejected, text),
        },
    };
    finished(broker, result).await
}

/// Enables, disables or removes one.
///
/// # Errors
/// The broker does not run.
pub async fn act(broker: &BrokerHandle, asked: WebhookAct) -> Outcome {
    let id: Arc<str> = Arc::from(asked.id);
    let (request, text) = match asked.act {
        WebhookVerb::Enable => (Request::SetEnabled { id, enabled: true }, "The webhook is called again."),
        WebhookVerb::Disable => (Request::SetEnabled { id, enabled: false }, "The webhook is not called any more."),
        WebhookVerb::Remove => (Request::Remove { id }, "Removed the webhook."),
    };
    let result = match act_for(broker, Command::Webhook(request)).await? {
        Ok(_) => done(text.to_owned()),
        Err(_) => refused(RefusalCode::Gone, "This webhook is not there any more.".to_owned()),
    };
    finished(broker, result).await
}

#[cfg(test)]
#[path = "webhooks_tests.rs"]
mod webhooks_tests;
