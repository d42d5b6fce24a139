//! What the window asks about webhooks.

use serde::{Deserialize, Serialize};

/// A webhook to be added; its fields have the rules of `AddWebhook`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct NewWebhook {
    /// Whom to call.
    pub url: String,
    /// `job.pushed`, `job.started`, `job.completed`, `job.failed`, `job.progress`.
    pub events: Vec<String>,
    /// Of which queue; absent for all.
    #[serde(default)]
    pub queue: Option<String>,
    /// Calls are signed with it; absent for none.
    #[serde(default)]
    pub secret: Option<String>,
}

impl std::fmt::Debug for NewWebhook {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Neither the secret nor the URL, which may hold one.
        out.debug_struct("NewWebhook").field("events", &self.events).field("queue", &self.queue).finish_non_exhaustive()
    }
}

/// One webhook, and what to do with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct WebhookAct {
    /// Its id.
    pub id: String,
    /// What to do.
    pub act: WebhookVerb,
}

/// What can be done with a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum WebhookVerb {
    /// Calls it again.
    Enable,
    /// Calls it no more, but keeps it.
    Disable,
    /// Forgets it.
    Remove,
}
