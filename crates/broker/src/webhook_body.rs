//! What a webhook is sent: the event as JSON, and its signature.

use onceover_engine::event::{Event, EventKind};
use onceover_engine::job::Blob;
use onceover_engine::webhook::{Secret, WebhookEvent};
use onceover_wire::json::AsJson;
use onceover_wire::msgpack::Raw;
use ring::hmac;
use serde::Serialize;

/// Of an event without a payload.
const SMALL: usize = 512;

/// A body with what goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signed {
    /// The event's name.
    pub(crate) event: &'static str,
    /// Milliseconds since 1970.
    pub(crate) timestamp: i64,
    /// JSON.
    pub(crate) body: bytes::Bytes,
    /// Lower-case hexadecimal HMAC-SHA256 of exactly the body; none without a secret.
    pub(crate) signature: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    event: &'static str,
    timestamp: i64,
    job_id: String,
    queue: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<AsJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<f64>,
}

impl Signed {
    pub(crate) fn new(kind: WebhookEvent, event: &Event, secret: Option<&Secret>) -> Signed {
        let body = bytes::Bytes::from(json(kind, event));
        let signature = secret.map(|secret| {
            let key = hmac::Key::new(hmac::HMAC_SHA256, secret.0.as_bytes());
            hmac::sign(&key, &body).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
        });
        Signed { event: kind.as_str(), timestamp: event.at.0, body, signature }
    }
}

/// `data` is the result of a completed job and the payload of one that failed, as in bunqueue.
fn json(kind: WebhookEvent, event: &Event) -> Vec<u8> {
    let mut body = Body {
        event: kind.as_str(),
        timestamp: event.at.0,
        job_id: event.job.as_ref().map(ToString::to_string).unwrap_or_default(),
        queue: &event.queue,
        data: None,
        error: None,
        progress: None,
    };
    match &event.kind {
        EventKind::Completed { result } => body.data = result.as_deref().and_then(value),
        EventKind::Failed { error, data, .. } => {
            body.error = error.as_deref();
            if let Some(Blob::Here(data)) = data {
                body.data = value(data);
            }
        }
        EventKind::Progress { progress, .. } => body.progress = Some(*progress),
        _ => {}
    }
    serde_json::to_vec(&body).expect("texts and numbers are written into memory")
}

fn value(bytes: &[u8]) -> Option<AsJson<'_>> {
    Raw::parse(bytes).ok().map(AsJson)
}

/// Roughly what it takes while it waits, in bytes.
pub(crate) fn weight(event: &Event) -> usize {
    SMALL
        + match &event.kind {
            EventKind::Completed { result } => result.as_ref().map_or(0, |bytes| bytes.len()),
            EventKind::Failed { error, data, .. } => {
                let data = if let Some(Blob::Here(bytes)) = data { bytes.len() } else { 0 };
                error.as_ref().map_or(0, String::len) + data
            }
            _ => 0,
        }
}

#[cfg(test)]
#[path = "webhook_body_tests.rs"]
mod webhook_body_tests;
