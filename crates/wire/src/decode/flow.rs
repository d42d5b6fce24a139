//! Trees of jobs: PUSHF and what reads or changes links (protocol-admin.md 7).
//!
//! The form of each job of a PUSHF is checked here, and that its data names the same links as its options; whether the links
//! make a tree is for the engine.

use super::add::{add, with_add};
use super::fields::{Fields, utf8};
use super::{Hints, Result, engine, names};
use crate::limits::{FLOW_JOBS_MAX, FLOW_RECORD_BYTES_MAX, ID_CHARS_MAX, NAME_CHARS_MAX};
use crate::markers::CHILDREN_IDS;
use crate::msgpack::{Raw, Value};
use crate::request::{DecodeError, Request};
use onceover_engine::command::Command;
use onceover_engine::flow::{Planned, Request as Flow};
use onceover_engine::limits::ANSWER_BYTES_MAX;
use onceover_engine::names::JobId;
use std::collections::HashMap;
use std::sync::Arc;

const DAY_MILLIS: f64 = 86_400_000.0;
const YEAR_MILLIS: f64 = 31_536_000_000.0;
const SAFE_INTEGER_MAX: f64 = 9_007_199_254_740_991.0;

/// A numeric option, what it is called in texts, its bounds, and whether it must be whole. They are stricter than those of a
/// single add, as in 2.9.5.
const NUMBERS: [(&str, &str, f64, f64, bool); 10] = [
    ("delay", "delay", 0.0, YEAR_MILLIS, false),
    ("timeout", "timeout", 0.0, DAY_MILLIS, false),
    ("ttl", "ttl", 0.0, YEAR_MILLIS, false),
    ("maxAttempts", "attempts", 1.0, 1_000.0, true),
    ("stallTimeout", "stallTimeout", 0.0, DAY_MILLIS, false),
    ("stackTraceLimit", "stackTraceLimit", 0.0, 10_000.0, true),
    ("keepLogs", "keepLogs", 0.0, 1_000_000.0, true),
    ("sizeLimit", "sizeLimit", 0.0, 10_485_760.0, true),
    ("timestamp", "timestamp", 0.0, SAFE_INTEGER_MAX, false),
    ("groupMaxSize", "group.maxSize", 1.0, SAFE_INTEGER_MAX, true),
];

const POLICIES: [&str; 4] =
    ["failParentOnFailure", "removeDependencyOnFailure", "continueParentOnFailure", "ignoreDependencyOnFailure"];
const FLAGS: [&str; 4] = ["lifo", "removeOnComplete", "removeOnFail", "durable"];

fn invalid<T>(text: impl Into<String>) -> Result<T> {
    Err(DecodeError::invalid(text))
}

pub fn push(fields: &Fields<'_>, hints: &mut Hints) -> Result<Request> {
    let jobs = match fields.given("jobs") {
        Some(Value::Array(jobs)) => jobs,
        Some(_) | None => return invalid("flow jobs must be an array"),
    };
    if jobs.len() > FLOW_JOBS_MAX {
        return invalid(format!("flow exceeds the {FLOW_JOBS_MAX} job limit"));
    }
    // The answer holds the jobs too, and must fit into a frame: nothing is made that could not be told of.
    let request_bytes = fields.raw("jobs").map_or(0, |raw| raw.bytes().len());
    if request_bytes + jobs.len() * FLOW_RECORD_BYTES_MAX > ANSWER_BYTES_MAX {
        return invalid("flow data is too large (max 64MB per atomic batch)");
    }
    let mut planned = Vec::with_capacity(jobs.len());
    for (at, raw) in jobs.iter().enumerate() {
        let Value::Map(map) = raw.value() else { return invalid(format!("flow jobs[{at}] must be an object")) };
        planned.push(job(&Fields::new(map, "")?, hints)?);
    }
    check_markers(&planned)?;
    engine(Command::Flow(Flow::Push(planned)))
}

fn job(fields: &Fields<'_>, hints: &mut Hints) -> Result<Planned> {
    let id = planned_id(fields)?;
    let queue = match fields.raw("queue").map(Raw::value) {
        Some(Value::Str(text)) => utf8(text)?,
        Some(_) | None => return invalid("invalid flow queue: "),
    };
    if names::check_queue(queue).is_err() {
        return invalid(format!("invalid flow queue: {queue}"));
    }
    let Some(Value::Map(input)) = fields.given("input") else {
        return invalid(format!("flow job input is invalid: {id}"));
    };
    let input = Fields::new(input, "")?;
    let planned = check_input(&input, id).and_then(|()| add(&input, queue, "customId", hints));
    match planned {
        Ok(add) => Ok(Planned { id: JobId::parse(id), add }),
        Err(error) => Err(with_add(error, fields, &input, "customId")),
    }
}

/// The id that a client made for a job.
fn planned_id<'a>(fields: &Fields<'a>) -> Result<&'a str> {
    let Some(Value::Str(bytes)) = fields.raw("id").map(Raw::value) else {
        return invalid("flow job id must be a string");
    };
    match std::str::from_utf8(bytes) {
        Ok(id) if !id.is_empty() && !names::longer_than(id, ID_CHARS_MAX) => match id.contains(':') {
            true => invalid("flow job id cannot contain a colon"),
            false => Ok(id),
        },
        Ok(_) | Err(_) => invalid("flow job id is invalid or is not well-formed Unicode"),
    }
}

/// What an add inside a flow must be beyond what every add must be.
fn check_input(input: &Fields<'_>, id: &str) -> Result<()> {
    if input.given("customId").is_some_and(|custom| custom != Value::Str(id.as_bytes())) {
        return invalid(format!("custom id does not match planned id: {id}"));
    }
    if input.given("parentId").is_some_and(|parent| !is_id(parent)) {
        return invalid(format!("flow parent id is invalid: {id}"));
    }
    for name in ["dependsOn", "childrenIds"] {
        let is_list = |value| matches!(value, Value::Array(ids) if ids.iter().all(|id| is_id(id.value())));
        if input.given(name).is_some_and(|value| !is_list(value)) {
            return invalid(format!("{name} must be an array of valid string job ids"));
        }
    }
    if !matches!(input.given("data"), Some(Value::Map(_))) {
        return invalid("flow job data must be an object");
    }
    check_numbers(input)?;
    for name in FLAGS.iter().chain(&POLICIES) {
        input.flag(name)?;
    }
    let is_tag = |tag: Raw<'_>| {
        matches!(tag.value(), Value::Str(text)
        if std::str::from_utf8(text).is_ok_and(|text| !names::longer_than(text, NAME_CHARS_MAX)))
    };
    if input.given("tags").is_some_and(|tags| !matches!(tags, Value::Array(tags) if tags.iter().all(is_tag))) {
        return invalid("tags must be an array of strings of at most 256 characters");
    }
    if input.given("repeat").is_some() {
        return invalid("repeat is not supported inside an atomic flow");
    }
    if input.given("uniqueKey").is_some() || input.given("dedup").is_some() {
        return invalid("deduplication is not supported inside an atomic flow");
    }
    if input.given("debounceId").is_some() || input.given("debounceTtl").is_some() {
        return invalid("debounce is not supported inside an atomic flow");
    }
    match POLICIES.iter().filter(|name| input.truthy(name)).count() {
        0 => Ok(()),
        1 if input.given("parentId").is_some() => Ok(()),
        1 => invalid("a flow failure policy requires a parent"),
        _ => invalid("flow failure policies are mutually exclusive"),
    }
}

fn is_id(value: Value<'_>) -> bool {
    let Value::Str(bytes) = value else { return false };
    std::str::from_utf8(bytes).is_ok_and(|id| !id.is_empty() && !names::longer_than(id, ID_CHARS_MAX))
}

fn check_numbers(input: &Fields<'_>) -> Result<()> {
    for (field, name, min, max, is_whole) in NUMBERS {
        check_number(input.given(field), name, min, max, is_whole)?;
    }
    // Within a group the bounds are other ones, and an add checks them.
    if input.raw("groupId").is_none() {
        check_number(input.given("priority"), "priority", -1_000_000.0, 1_000_000.0, true)?;
    }
    match input.given("backoff") {
        Some(Value::Map(map)) => {
            let config = Fields::new(map, "backoff.")?;
            check_number(config.given("delay"), "backoff.delay", 0.0, DAY_MILLIS, false)
        }
        other => check_number(other, "backoff", 0.0, DAY_MILLIS, false),
    }
}

fn check_number(value: Option<Value<'_>>, name: &str, min: f64, max: f64, is_whole: bool) -> Result<()> {
    let Some(value) = value else { return Ok(()) };
    let Some(number) = value.number().filter(|number| number.is_finite()) else {
        return invalid(format!("{name} must be a finite number"));
    };
    if is_whole && number.fract() != 0.0 {
        return invalid(format!("{name} must be an integer"));
    }
    match (min..=max).contains(&number) {
        true => Ok(()),
        false => invalid(format!("{name} must be between {min} and {max}")),
    }
}

/// Clients read a job's links in its data, so that must name the same ones.
fn check_markers(jobs: &[Planned]) -> Result<()> {
    let queues: HashMap<&JobId, &Arc<str>> = jobs.iter().map(|job| (&job.id, &job.add.spec.queue)).collect();
    for Planned { id, add } in jobs {
        let Some(rare) = add.spec.rare.as_deref() else { continue };
        // A parent that is not in the flow is the engine's to refuse.
        if let Some((parent, queue)) = rare.parent_id.as_ref().and_then(|parent| queues.get_key_value(parent))
            && rare.parent_queue.as_ref() != Some(*queue)
        {
            return invalid(format!("flow child {id} metadata does not match parent {parent}"));
        }
        let named = || {
            let Value::Map(data) = Raw::parse(add.data.as_deref()?).ok()?.value() else { return None };
            let Value::Array(ids) = data.get(CHILDREN_IDS)?.value() else { return None };
            let text = |id: Raw<'_>| match id.value() {
                Value::Str(text) => std::str::from_utf8(text).ok().map(JobId::parse),
                _ => None,
            };
            ids.iter().map(text).collect::<Option<Vec<JobId>>>()
        };
        if !rare.children_ids.is_empty() && named().as_ref() != Some(&rare.children_ids) {
            return invalid(format!("flow parent {id} children does not match the canonical flow topology"));
        }
    }
    Ok(())
}

pub fn update_parent(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Flow(Flow::UpdateParent { child: fields.job_id("childId")?, parent: fields.job_id("parentId")? }))
}

pub fn children_values(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Flow(Flow::ChildrenValues(fields.job_id("id")?)))
}

pub fn failed_children_values(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Flow(Flow::FailedChildren(fields.job_id("id")?)))
}

pub fn ignored_children_failures(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Flow(Flow::IgnoredChildren(fields.job_id("id")?)))
}

pub fn remove_child_dependency(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Flow(Flow::RemoveChildDependency(fields.job_id("id")?)))
}

pub fn remove_unprocessed_children(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Flow(Flow::RemoveUnprocessedChildren(fields.job_id("id")?)))
}
