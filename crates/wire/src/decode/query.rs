//! Questions: jobs, states, results, counts, logs, keys, figures. Nothing here changes anything.

use super::fields::{Bounds, Fields};
use super::{Hints, Result, engine, names};
use crate::msgpack::{Raw, Value};
use crate::request::{DecodeError, Monitor, Request};
use onceover_engine::command::{Command, ListState, StateName};
use onceover_engine::time::Millis;
use std::sync::Arc;

/// Longest wait for a job's end.
const WAIT_TIMEOUT: Bounds = Bounds::new(0, 600_000);
/// Wait of a WaitJob that does not say.
const WAIT_TIMEOUT_DEFAULT: Millis = Millis(30_000);
/// Jobs or keys on a page whose size is not given.
const PAGE_DEFAULT: usize = 100;

pub fn job(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::GetJob { id: fields.job_id("id")? })
}

pub fn job_by_custom_id(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::GetJobByCustomId { id: fields.job_id("customId")? })
}

pub fn state(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::GetState { id: fields.job_id("id")? })
}

pub fn result(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::GetResult { id: fields.job_id("id")? })
}

pub fn progress(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::GetProgress { id: fields.job_id("id")? })
}

pub fn wait(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let id = fields.job_id("id")?;
    let timeout = fields.millis("timeout", WAIT_TIMEOUT)?.unwrap_or(WAIT_TIMEOUT_DEFAULT);
    engine(Command::WaitJob { id, timeout })
}

pub fn jobs(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let queue = names::queue(fields)?;
    let mut states = Vec::new();
    let mut unknown = false;
    for text in state_texts(fields)? {
        match list_state(text) {
            Some(state) if !states.contains(&state) => states.push(state),
            Some(_) => {}
            None => unknown = true,
        }
    }
    engine(Command::GetJobs {
        queue,
        // Beside a known state an unknown one adds nothing; alone it must not read as "all".
        unknown_state: unknown && states.is_empty(),
        states,
        offset: fields.count("offset")?.unwrap_or(0),
        limit: fields.count("limit")?.unwrap_or(PAGE_DEFAULT),
        ascending: fields.given("asc").is_none() || fields.truthy("asc"),
    })
}

/// The field `state`, one text or an array of them; nil, "" and an empty array name none.
fn state_texts<'a>(fields: &Fields<'a>) -> Result<Vec<&'a str>> {
    match fields.given("state") {
        Some(Value::Array(_)) => fields.texts("state"),
        None | Some(_) => Ok(fields.filled_text("state")?.into_iter().collect()),
    }
}

fn list_state(text: &str) -> Option<ListState> {
    match text {
        "paused" => Some(ListState::Paused),
        text => StateName::parse(text).map(ListState::State),
    }
}

pub fn job_counts(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::GetJobCounts { queue: names::queue(fields)? })
}

pub fn counts_per_priority(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::GetCountsPerPriority { queue: names::queue(fields)? })
}

pub fn count(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Count { queue: names::queue(fields)? })
}

pub fn logs(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::GetLogs {
        id: fields.job_id("id")?,
        start: fields.count("start")?.unwrap_or(0),
        end: fields.number("end")?.map(|end| end.floor() as i64),
    })
}

pub fn deduplication_job_id(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let queue = names::queue(fields)?;
    engine(Command::GetDeduplicationJobId { queue, key: deduplication_key(fields)? })
}

/// The field `deduplicationId`: a key as an add names it. The empty text is no key, so nobody ever holds it; asking for it is
/// no error.
pub fn deduplication_key(fields: &Fields<'_>) -> Result<Arc<str>> {
    let is_text = fields.raw("deduplicationId").is_some_and(|field| matches!(field.value(), Value::Str(_)));
    match fields.ident("deduplicationId")? {
        None if is_text => Ok(Arc::from("")),
        None => Err(fields.required("deduplicationId")),
        Some(key) => Ok(Arc::from(&*key)),
    }
}

pub fn deduplication_keys(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let queue = match fields.filled_text("queue")? {
        Some(_) => Some(names::queue(fields)?),
        None => None,
    };
    engine(Command::ListDeduplicationKeys {
        queue,
        offset: fields.count("offset")?.unwrap_or(0),
        limit: fields.count("limit")?.unwrap_or(PAGE_DEFAULT),
    })
}

/// With neither `queue` nor `type` the broker's totals, else those of one queue.
pub fn metrics(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let kind = fields.given("type");
    if fields.given("queue").is_none() {
        return match kind {
            None => Ok(Request::Monitor(Monitor::Metrics)),
            Some(_) => Err(DecodeError::invalid("Metrics queue is required")),
        };
    }
    let queue = names::queue(fields)?;
    let start = place(fields, "start", 0)?.unwrap_or(0);
    let end = place(fields, "end", -1)?;
    let failed = match kind {
        None | Some(Value::Str(b"completed")) => false,
        Some(Value::Str(b"failed")) => true,
        Some(_) => return Err(DecodeError::invalid("Metrics type must be 'completed' or 'failed'")),
    };
    Ok(Request::Monitor(Monitor::QueueMetrics { queue, failed, start, end }))
}

/// A place in a series; -1, where it is allowed, is none.
fn place(fields: &Fields<'_>, name: &str, least: i64) -> Result<Option<usize>> {
    let Some(value) = fields.raw(name).map(Raw::value) else { return Ok(None) };
    match value.integer() {
        Some(number) if number >= least => Ok(usize::try_from(number).ok()),
        Some(_) | None => Err(fields.must_be(name, "a non-negative safe integer")),
    }
}
