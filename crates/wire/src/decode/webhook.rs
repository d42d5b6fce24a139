//! Webhooks: whom to call for what. Where a URL leads is told here, whether it may be called is the engine's rule.

use super::fields::Fields;
use super::{Hints, Result, engine, names};
use crate::reach;
use crate::request::{DecodeError, Request};
use onceover_engine::command::Command;
use onceover_engine::webhook::{NewWebhook, Reach, Request as Asked, Secret, WebhookEvent};
use std::sync::Arc;
use url::Url;

/// Characters of a URL.
const URL_CHARS_MAX: usize = 2_048;
/// Bytes of a secret.
const SECRET_BYTES_MAX: usize = 1_024;

pub fn add(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let url = fields.text("url")?.unwrap_or_default();
    let reach = reach_of(url)?;
    let queue = match fields.filled_text("queue")? {
        Some(_) => Some(names::queue(fields)?),
        None => None,
    };
    let secret = fields.filled_text("secret")?;
    if secret.is_some_and(|secret| secret.len() > SECRET_BYTES_MAX) {
        return Err(fields.must_be("secret", &format!("at most {SECRET_BYTES_MAX} bytes")));
    }
    let new = NewWebhook {
        url: Arc::from(url),
        reach,
        events: events(fields)?,
        queue,
        secret: secret.map(|secret| Secret(Arc::from(secret))),
    };
    engine(Command::Webhook(Asked::Add(new)))
}

/// The checks in bunqueue's order, with its texts.
fn reach_of(url: &str) -> Result<Reach> {
    if url.is_empty() {
        return Err(DecodeError::invalid("Webhook URL is required"));
    }
    if names::longer_than(url, URL_CHARS_MAX) {
        return Err(DecodeError::invalid(format!("Webhook URL too long (max {URL_CHARS_MAX} characters)")));
    }
    let Ok(url) = Url::parse(url) else { return Err(DecodeError::invalid("Invalid URL format")) };
    if !matches!(url.scheme(), "http" | "https") {
        return Err(DecodeError::invalid("Webhook URL must use http or https protocol"));
    }
    // They would be listed with the URL, and nobody would send them.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(DecodeError::invalid("Webhook URL must not hold a user name or password"));
    }
    url.host().map(|host| reach::of_host(&host)).ok_or_else(|| DecodeError::invalid("Invalid URL format"))
}

/// Each event once, in the order in which they were named.
fn events(fields: &Fields<'_>) -> Result<Vec<WebhookEvent>> {
    if fields.given("events").is_none() {
        return Err(fields.required("events"));
    }
    let (mut events, mut unknown) = (Vec::new(), Vec::new());
    for name in fields.texts("events")? {
        match WebhookEvent::parse(name) {
            Some(event) if events.contains(&event) => {}
            Some(event) => events.push(event),
            None => unknown.push(name),
        }
    }
    if unknown.is_empty() {
        return Ok(events);
    }
    let valid = WebhookEvent::ALL.map(WebhookEvent::as_str).join(", ");
    Err(DecodeError::invalid(format!("Invalid webhook event(s): {}. Valid: {valid}", unknown.join(", "))))
}

pub fn remove(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let id = Arc::from(&*fields.required_ident("webhookId")?);
    engine(Command::Webhook(Asked::Remove { id }))
}

pub fn list(_: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Webhook(Asked::List))
}

pub fn set_enabled(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let id = Arc::from(&*fields.required_ident("id")?);
    let enabled = fields.flag("enabled")?.ok_or_else(|| fields.required("enabled"))?;
    engine(Command::Webhook(Asked::SetEnabled { id, enabled }))
}
