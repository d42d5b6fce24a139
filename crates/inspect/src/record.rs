//! A job's record as text, in the names of the wire: what a client that asks for the job would read.
//!
//! Members that are nil on the wire are left out. Payload and result are put in as their own text, so nothing is rounded.

use crate::adds::shown;
use crate::asked::options;
use crate::jobs::error;
use crate::limits::TEXT_BYTES_MAX;
use crate::view::Text;
use onceover_broker::CoreView;
use onceover_engine::job::Job;
use std::fmt::Write as _;

/// The record.
pub fn record(core: &CoreView<'_>, job: &Job, data: Option<&[u8]>, result: Option<&[u8]>) -> Text {
    let mut members: Vec<(String, String)> = Vec::new();
    let mut put = |name: &str, value: String| members.push((name.to_owned(), value));
    let number = |number: i64| number.to_string();
    put("id", quoted(&job.id.to_string()));
    put("queue", quoted(&job.spec.queue));
    put("name", quoted(&job.spec.name));
    put("state", quoted(job.state_name(core.now).as_str()));
    if let Some(data) = data {
        put("data", body(data));
    }
    put("priority", number(i64::from(job.priority)));
    put("lifo", job.lifo.to_string());
    put("createdAt", number(job.created_at.0));
    put("runAt", number(job.run_at.0));
    if let Some(at) = job.started_at {
        put("startedAt", number(at.0));
    }
    if let Some(at) = job.completed_at {
        put("completedAt", number(at.0));
    }
    put("lastHeartbeat", number(job.last_heartbeat.0));
    put("attempts", number(i64::from(job.attempts)));
    put("maxAttempts", number(i64::from(job.spec.max_attempts)));
    put("stallCount", number(i64::from(job.stall_count)));
    put("progress", job.progress.to_string());
    if job.has_custom_id {
        put("customId", quoted(&job.id.to_string()));
    }
    for option in options(&job.spec, job.dedup_key.as_deref()) {
        if !members.iter().any(|(name, _)| *name == option.name) {
            members.push((option.name, plain(&option.value)));
        }
    }
    if let Some(result) = result {
        members.push(("returnvalue".to_owned(), body(result)));
    }
    if let Some(error) = error(job) {
        members.push(("failedReason".to_owned(), quoted(error)));
    }
    whole(&members, data.map_or(0, <[u8]>::len) + result.map_or(0, <[u8]>::len))
}

fn whole(members: &[(String, String)], bytes: usize) -> Text {
    let mut text = String::from("{");
    for (at, (name, value)) in members.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        write!(text, "{comma}\n  {}: {value}", quoted(name)).expect("writing to a String cannot fail");
    }
    text.push_str("\n}");
    let complete = text.len() <= TEXT_BYTES_MAX;
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    Text { text, bytes: bytes as u64, complete }
}

/// A payload's text, one level in.
fn body(bytes: &[u8]) -> String {
    shown(bytes, bytes.len()).text.replace('\n', "\n  ")
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Numbers and flags stand as they are, everything else is text.
fn plain(value: &str) -> String {
    let is_plain = matches!(value, "true" | "false") || value.parse::<f64>().is_ok_and(f64::is_finite);
    if is_plain { value.to_owned() } else { quoted(value) }
}
