//! What workers say: take jobs, finish them, keep them alive, register.

use super::fields::{Bounds, Fields, ident, utf8};
use super::names::{self, claim};
use super::{Hints, Result, engine, group};
use crate::canonical::canonical_json;
use crate::msgpack::{Array, Raw, Value};
use crate::request::{DecodeError, Request};
use onceover_engine::command::{Ack, Claim, Command, Fail, Pull, Renewal, WorkerInfo};
use onceover_engine::limits::STACK_LINES_MAX;
use onceover_engine::names::JobId;
use onceover_engine::time::Millis;
use std::sync::Arc;

/// Longest wait of a parked pull.
const PULL_TIMEOUT: Bounds = Bounds::new(0, 60_000);
/// Time to live of a lock whose taker does not say.
const LOCK_TTL_DEFAULT: Millis = Millis(30_000);
/// Longest JSON text that is made of a FAIL's error when that is not a text.
const ERROR_JSON_BYTES_MAX: usize = 64 * 1024;

pub fn pull(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Pull(take(fields, 1, false)?))
}

pub fn pull_bulk(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let pull = take(fields, 1, true)?;
    let count = fields.number_in("count", Bounds::new(1, 1000))?.ok_or_else(|| fields.required("count"))?;
    engine(Command::Pull(Pull { count: count.ceil() as u32, ..pull }))
}

fn take(fields: &Fields<'_>, count: u32, bulk: bool) -> Result<Pull> {
    let queue = names::queue(fields)?;
    let timeout = fields.millis("timeout", PULL_TIMEOUT)?.unwrap_or_default();
    Ok(Pull {
        queue,
        count,
        bulk,
        timeout,
        owner: fields.filled_text("owner")?.map(Arc::from),
        lock_ttl: fields.millis("lockTtl", Bounds::NATURAL)?.unwrap_or(LOCK_TTL_DEFAULT),
        detach: fields.truthy("detach"),
        group: group::wants(fields)?,
    })
}

pub fn ack(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let Claim { id, token } = claim(fields)?;
    let result = fields.raw("result").map(names::payload);
    // Unlike the job's own option only `true` counts, so that a stray value does not lose a result.
    let remove = fields.given("removeOnComplete") == Some(Value::Bool(true));
    engine(Command::Ack(Ack { id, token, result, remove }))
}

pub fn ack_bulk(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let ids = fields.required_list("ids")?;
    let beside = |name: &str| -> Result<Vec<Option<Raw<'_>>>> {
        let list = fields.list(name)?;
        if list.is_some_and(|list| list.len() != ids.len()) {
            return Err(DecodeError::invalid(format!("ACKB {name} length must match ids length")));
        }
        Ok(parallel(list, ids.len()))
    };
    let tokens = beside("tokens")?;
    let results = beside("results")?;
    let removes = beside("removeOnCompletes")?;
    let mut acks = Vec::with_capacity(ids.len());
    for (at, id) in job_ids(fields, ids)?.into_iter().enumerate() {
        let result = results[at].filter(|raw| raw.value() != Value::Absent).map(names::payload);
        let remove = removes[at].is_some_and(|raw| raw.value() == Value::Bool(true));
        acks.push(Ack { id, token: token(fields, tokens[at])?, result, remove });
    }
    engine(Command::AckBulk { acks })
}

pub fn fail(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let Claim { id, token } = claim(fields)?;
    engine(Command::Fail(Fail {
        id,
        token,
        error: fields.raw("error").and_then(error_text),
        unrecoverable: fields.given("unrecoverable") == Some(Value::Bool(true)),
        stack: stack(fields),
        remove: fields.given("removeOnFail") == Some(Value::Bool(true)),
    }))
}

/// The error as text. Clients may send anything; what is not text is shown as JSON.
fn error_text(raw: Raw<'_>) -> Option<String> {
    match raw.value() {
        Value::Nil => None,
        Value::Str(text) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => Some(canonical_json(raw.bytes(), ERROR_JSON_BYTES_MAX).unwrap_or_else(|error| format!("({error})"))),
    }
}

/// Stack lines: of the texts the first hundred, trimmed, without empty ones.
fn stack(fields: &Fields<'_>) -> Vec<String> {
    let Some(Value::Array(lines)) = fields.given("stack") else { return Vec::new() };
    let texts = lines.iter().filter_map(|line| match line.value() {
        Value::Str(text) => Some(String::from_utf8_lossy(text).trim().to_owned()),
        _ => None,
    });
    texts.take(STACK_LINES_MAX).filter(|line| !line.is_empty()).collect()
}

pub fn job_heartbeat(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::JobHeartbeat(renewal(fields)?))
}

pub fn extend_lock(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::ExtendLock(renewal(fields)?))
}

pub fn job_heartbeat_bulk(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::JobHeartbeatBulk { renewals: renewals(fields)? })
}

pub fn extend_locks(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::ExtendLocks { renewals: renewals(fields)? })
}

fn renewal(fields: &Fields<'_>) -> Result<Renewal> {
    let claim = claim(fields)?;
    Ok(Renewal { claim, duration: fields.millis("duration", Bounds::NATURAL)? })
}

fn renewals(fields: &Fields<'_>) -> Result<Vec<Renewal>> {
    let ids = fields.required_list("ids")?;
    let tokens = parallel(fields.list("tokens")?, ids.len());
    let durations = parallel(fields.list("durations")?, ids.len());
    let mut renewals = Vec::with_capacity(ids.len());
    for (at, id) in job_ids(fields, ids)?.into_iter().enumerate() {
        let duration = match durations[at].map_or(Value::Absent, Raw::value) {
            Value::Absent | Value::Nil => None,
            value => match value.number() {
                Some(millis) if millis.is_finite() => Some(Millis(millis.max(0.0) as i64)),
                Some(_) | None => return Err(fields.must_be("durations", "an array of numbers")),
            },
        };
        renewals.push(Renewal { claim: Claim { id, token: token(fields, tokens[at])? }, duration });
    }
    Ok(renewals)
}

/// The elements of an array that stands beside the ids; what is missing is none, what is too much is dropped.
fn parallel(list: Option<Array<'_>>, length: usize) -> Vec<Option<Raw<'_>>> {
    let given = list.into_iter().flat_map(Array::iter).map(Some);
    given.chain(std::iter::repeat(None)).take(length).collect()
}

fn job_ids(fields: &Fields<'_>, ids: Array<'_>) -> Result<Vec<JobId>> {
    ids.iter()
        .map(|raw| match ident(raw.value())? {
            Some(text) => Ok(JobId::parse(&text)),
            None => Err(fields.must_be("ids", "an array of strings")),
        })
        .collect()
}

/// One of several tokens. An empty one is none.
fn token(fields: &Fields<'_>, raw: Option<Raw<'_>>) -> Result<Option<String>> {
    match raw.map_or(Value::Absent, Raw::value) {
        Value::Absent | Value::Nil => Ok(None),
        Value::Str(text) => Ok(Some(utf8(text)?.to_owned()).filter(|token| !token.is_empty())),
        _ => Err(fields.must_be("tokens", "an array of strings")),
    }
}

pub fn register_worker(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::RegisterWorker(WorkerInfo {
        worker_id: fields.ident("workerId")?.map(|id| id.into_owned()),
        name: fields.prose("name")?.unwrap_or_default(),
        queues: fields.texts("queues")?.into_iter().map(Arc::from).collect(),
        concurrency: fields.number_in("concurrency", Bounds::NATURAL)?.unwrap_or(1.0) as u32,
        hostname: fields.prose("hostname")?.unwrap_or_else(|| "unknown".to_owned()),
        pid: natural(fields, "pid")?.unwrap_or(0),
        started_at: names::moment(fields, "startedAt")?,
    }))
}

pub fn worker_heartbeat(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::WorkerHeartbeat {
        id: fields.required_ident("id")?.into_owned(),
        active_jobs: natural(fields, "activeJobs")?,
        processed: natural(fields, "processed")?,
        failed: natural(fields, "failed")?,
    })
}

pub fn unregister_worker(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::UnregisterWorker { id: fields.required_ident("workerId")?.into_owned() })
}

pub fn list_workers(_: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::ListWorkers)
}

fn natural(fields: &Fields<'_>, name: &str) -> Result<Option<u64>> {
    Ok(fields.number_in(name, Bounds::NATURAL)?.map(|number| number as u64))
}
