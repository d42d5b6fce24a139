//! Events: `{type: "event", event: {eventType, queue, jobId, timestamp, …}}`, without a request number.
//!
//! `jobId` is always text and `timestamp` always a float64; the npm client drops its connection otherwise. Members that
//! bunqueue does not send (`deduplicationId`, `strategy`) are ignored by its clients and help ours.

use super::job::millis;
use super::write_id;
use crate::frame::write_frame;
use crate::msgpack::write::{self, MapWriter};
use bytes::BytesMut;
use onceover_engine::event::{Event, EventKind};
use onceover_engine::job::Blob;
use onceover_engine::time::Timestamp;

/// Appends one event frame, the same for every subscriber.
///
/// An event whose data do not fit into a frame is sent without them.
pub fn encode_event(out: &mut BytesMut, event: &Event) {
    let framed = |out: &mut BytesMut, with_details: bool| {
        write_frame(out, |out| {
            let mut map = MapWriter::begin(out);
            map.str("type", "event");
            let mut body = map.map("event");
            body.str("eventType", type_name(&event.kind));
            body.str("queue", &event.queue);
            match &event.job {
                Some(id) => write_id(body.key("jobId"), id),
                None => body.str("jobId", ""),
            }
            body.time("timestamp", event.at.0);
            if with_details {
                details(&mut body, &event.kind);
            }
        })
    };
    if framed(out, true).is_none() {
        framed(out, false).expect("an event without details fits into a frame");
    }
}

/// Appends the last event of a subscription that the broker ends: `unsubscribed`, with the reason as its `error`. Bunqueue
/// has none; its clients ignore types that they do not know.
pub fn encode_unsubscribed(out: &mut BytesMut, queue: &str, at: Timestamp, error: &str) {
    let framed = write_frame(out, |out| {
        let mut map = MapWriter::begin(out);
        map.str("type", "event");
        let mut body = map.map("event");
        body.str("eventType", "unsubscribed");
        body.str("queue", queue);
        body.str("jobId", "");
        body.time("timestamp", at.0);
        body.str("error", error);
    });
    framed.expect("two short texts fit into a frame");
}

fn type_name(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::Pushed => "pushed",
        EventKind::Duplicated { .. } => "duplicated",
        EventKind::Pulled => "pulled",
        EventKind::Progress { .. } => "progress",
        EventKind::Completed { .. } => "completed",
        EventKind::Failed { .. } => "failed",
        EventKind::Retried => "retried",
        EventKind::Stalled { .. } => "stalled",
        EventKind::Delayed { .. } => "delayed",
        EventKind::Waiting { .. } => "waiting",
        EventKind::WaitingChildren => "waiting-children",
        EventKind::Removed { .. } => "removed",
        EventKind::Paused => "paused",
        EventKind::Resumed => "resumed",
    }
}

fn details(body: &mut MapWriter<'_>, kind: &EventKind) {
    match kind {
        EventKind::Pushed | EventKind::Pulled | EventKind::Paused | EventKind::Resumed => {}
        EventKind::Duplicated { key, strategy } => {
            if let Some(key) = key {
                body.str("deduplicationId", key);
            }
            body.str("strategy", strategy);
        }
        EventKind::Progress { progress, message } => {
            body.number("progress", *progress);
            let mut data = body.map("data");
            data.number("progress", *progress);
            data.or_nil("message", message.as_deref(), write::str);
        }
        EventKind::Completed { result } => {
            if let Some(result) = result {
                body.raw("data", result);
            }
        }
        EventKind::Failed { error, data, terminal } => {
            if let Some(error) = error {
                body.str("error", error);
            }
            if let Some(Blob::Here(data)) = data {
                body.raw("data", data);
            }
            if let Some(terminal) = terminal {
                body.bool("terminal", *terminal);
            }
        }
        EventKind::Retried => body.str("prev", "failed"),
        EventKind::Stalled { detail } => {
            if let Some((stall_count, dead)) = detail {
                let mut data = body.map("data");
                data.int("stallCount", i64::from(*stall_count));
                data.str("action", if *dead { "move_to_dlq" } else { "retry" });
            }
        }
        EventKind::Delayed { delay } => millis(body.key("delay"), *delay),
        EventKind::Waiting { prev } | EventKind::Removed { prev } => body.str("prev", prev.as_str()),
        EventKind::WaitingChildren => body.str("prev", "active"),
    }
}
