//! An add made in the window, as the frame that a client would send, and as the engine takes it. The frame is decoded by
//! the same rules as a client's, so that the window cannot make a job that no client could, and says the same of mistakes.

use crate::new_add::{BackoffAsked, BackoffKind, NewAdd, RepeatAsked};
use bytes::BytesMut;
use onceover_engine::command::{Add, Command};
use onceover_wire::decode;
use onceover_wire::msgpack::write::MapWriter;
use onceover_wire::request::Request;

/// Every option of an add, by its name on the wire.
pub const OPTIONS: [&str; 38] = [
    "cmd",
    "queue",
    "name",
    "data",
    "jobId",
    "uniqueKey",
    "dedup",
    "delay",
    "maxAttempts",
    "priority",
    "backoff",
    "timeout",
    "ttl",
    "stallTimeout",
    "repeat",
    "timestamp",
    "lifo",
    "durable",
    "removeOnComplete",
    "removeOnFail",
    "stackTraceLimit",
    "keepLogs",
    "sizeLimit",
    "dependsOn",
    "parentId",
    "childrenIds",
    "groupId",
    "groupMaxSize",
    "tags",
    "debounceId",
    "debounceTtl",
    "failParentOnFailure",
    "removeDependencyOnFailure",
    "continueParentOnFailure",
    "ignoreDependencyOnFailure",
    "reqId",
    "protocolVersion",
    "customId",
];

/// The add, from the payload that `data` is.
///
/// # Errors
/// What is wrong with it, as a client would be told.
pub fn add(new: &NewAdd, data: Option<&[u8]>) -> Result<Add, String> {
    match decode(&frame(new, data)).result {
        Ok(Request::Engine(Command::Push { add, .. })) => Ok(add),
        Ok(_) => unreachable!("the frame asks for PUSH"),
        Err(error) => Err(error.text),
    }
}

/// # Errors
/// Why the queue cannot be called that.
pub fn check_queue(queue: &str) -> Result<(), String> {
    add(&NewAdd { queue: queue.to_owned(), ..NewAdd::default() }, None).map(|_| ())
}

/// The PUSH command as MessagePack, without the frame's length and without a number to be echoed.
pub fn frame(new: &NewAdd, data: Option<&[u8]>) -> BytesMut {
    let mut out = BytesMut::new();
    let mut map = MapWriter::begin(&mut out);
    map.str("cmd", "PUSH");
    map.str("queue", &new.queue);
    if !new.name.is_empty() {
        map.str("name", &new.name);
    }
    if let Some(data) = data {
        map.raw("data", data);
    }
    text(&mut map, "jobId", new.job_id.as_deref());
    dedup(&mut map, new);
    timing(&mut map, new);
    keeping(&mut map, new);
    relations(&mut map, new);
    stored(&mut map, new);
    drop(map);
    out
}

fn dedup(map: &mut MapWriter<'_>, new: &NewAdd) {
    let id = filled(new.dedup_id.as_deref());
    let flags = [new.dedup_hash, new.extend, new.replace, new.keep_last_if_active];
    if id.is_none() && new.ttl_ms.is_none() && !flags.contains(&true) {
        return;
    }
    let mut map = map.map("dedup");
    text(&mut map, "key", id);
    flag(&mut map, "hash", new.dedup_hash);
    natural(&mut map, "ttl", new.ttl_ms);
    flag(&mut map, "extend", new.extend);
    flag(&mut map, "replace", new.replace);
    flag(&mut map, "keepLastIfActive", new.keep_last_if_active);
}

fn timing(map: &mut MapWriter<'_>, new: &NewAdd) {
    natural(map, "delay", new.delay_ms);
    natural(map, "maxAttempts", new.attempts.map(u64::from));
    if let Some(priority) = new.priority {
        map.int("priority", priority.into());
    }
    match new.backoff {
        None => {}
        Some(BackoffAsked { kind: None, delay_ms }) => natural(map, "backoff", Some(delay_ms)),
        Some(BackoffAsked { kind: Some(kind), delay_ms }) => {
            let mut map = map.map("backoff");
            map.str(
                "type",
                match kind {
                    BackoffKind::Fixed => "fixed",
                    BackoffKind::Exponential => "exponential",
                },
            );
            natural(&mut map, "delay", Some(delay_ms));
        }
    }
    natural(map, "timeout", new.timeout_ms);
    natural(map, "ttl", new.job_ttl_ms);
    natural(map, "stallTimeout", new.stall_timeout_ms);
    if let Some(RepeatAsked { every_ms, pattern, tz, start_date, end_date, limit, count, offset_ms, job_id }) =
        &new.repeat
    {
        let mut map = map.map("repeat");
        natural(&mut map, "every", *every_ms);
        text(&mut map, "pattern", pattern.as_deref());
        text(&mut map, "tz", tz.as_deref());
        number(&mut map, "startDate", start_date.map(|at| at as f64));
        number(&mut map, "endDate", end_date.map(|at| at as f64));
        natural(&mut map, "limit", *limit);
        number(&mut map, "offset", offset_ms.map(|offset| offset as f64));
        text(&mut map, "jobId", job_id.as_deref());
        natural(&mut map, "count", Some(*count).filter(|count| *count > 0));
    }
    if let Some(at) = new.timestamp {
        map.number("timestamp", at as f64);
    }
}

fn keeping(map: &mut MapWriter<'_>, new: &NewAdd) {
    flag(map, "lifo", new.lifo);
    flag(map, "durable", new.durable);
    flag(map, "removeOnComplete", new.remove_on_complete);
    flag(map, "removeOnFail", new.remove_on_fail);
    natural(map, "stackTraceLimit", new.stack_trace_limit.map(u64::from));
    number(map, "keepLogs", new.keep_logs);
    number(map, "sizeLimit", new.size_limit);
}

fn relations(map: &mut MapWriter<'_>, new: &NewAdd) {
    texts(map, "dependsOn", &new.depends_on);
    text(map, "parentId", new.parent_id.as_deref());
    texts(map, "childrenIds", &new.children_ids);
    text(map, "groupId", new.group_id.as_deref());
    natural(map, "groupMaxSize", new.group_max_size);
}

fn stored(map: &mut MapWriter<'_>, new: &NewAdd) {
    texts(map, "tags", &new.tags);
    text(map, "debounceId", new.debounce_id.as_deref());
    number(map, "debounceTtl", new.debounce_ttl);
    flag(map, "failParentOnFailure", new.fail_parent_on_failure);
    flag(map, "removeDependencyOnFailure", new.remove_dependency_on_failure);
    flag(map, "continueParentOnFailure", new.continue_parent_on_failure);
    flag(map, "ignoreDependencyOnFailure", new.ignore_dependency_on_failure);
}

/// An emptied field of a form asks for nothing.
fn filled(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

fn text(map: &mut MapWriter<'_>, name: &str, value: Option<&str>) {
    if let Some(value) = filled(value) {
        map.str(name, value);
    }
}

fn texts(map: &mut MapWriter<'_>, name: &str, values: &[String]) {
    if !values.is_empty() {
        map.strs(name, values);
    }
}

fn flag(map: &mut MapWriter<'_>, name: &str, value: bool) {
    if value {
        map.bool(name, true);
    }
}

fn natural(map: &mut MapWriter<'_>, name: &str, value: Option<u64>) {
    if let Some(value) = value {
        map.number(name, value as f64);
    }
}

fn number(map: &mut MapWriter<'_>, name: &str, value: Option<f64>) {
    if let Some(value) = value {
        map.number(name, value);
    }
}

#[cfg(test)]
#[path = "send_tests.rs"]
mod send_tests;
