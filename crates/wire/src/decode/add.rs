//! PUSH and PUSHB: one job each, or a batch of them.
//!
//! Checks follow the order in which bunqueue makes them, so that of several mistakes the same one is named. A batch is
//! checked as a whole before the engine sees any of it; a mistake in it is named as `jobs[i]: …`.

use super::fields::{Bounds, Fields, Places, utf8};
use super::names::{self, DAY, GROUP_PRIORITY, PRIORITY, YEAR};
use super::{Hints, Result, engine, repeat};
use crate::canonical::canonical_hash;
use crate::envelope;
use crate::markers::{PARENT_ID, PARENT_QUEUE};
use crate::msgpack::{Raw, Value};
use crate::request::{DecodeError, RefusedAdd, Request};
use onceover_engine::command::{Add, Backoff, Command, DedupRequest, Group, NewJob, Payload, RareOptions};
use onceover_engine::names::JobId;
use onceover_engine::time::Millis;
use std::sync::Arc;

/// The MessagePack form of nil.
const NIL: &[u8] = &[0xc0];

/// Fields that have nothing to do with [`RareOptions`].
const PLAIN: Places = Places::of(&[
    "cmd",
    "reqId",
    "queue",
    "name",
    "data",
    "jobId",
    "customId",
    "uniqueKey",
    "dedup",
    "priority",
    "delay",
    "maxAttempts",
    "backoff",
    "lifo",
    "removeOnComplete",
    "removeOnFail",
    "durable",
]);

pub fn push(fields: &Fields<'_>, hints: &mut Hints) -> Result<Request> {
    let before = hints.spec.clone();
    let add = queue_text(fields, before.as_deref()).and_then(|queue| add(fields, queue, "jobId", hints));
    match add {
        Ok(add) => engine(Command::Push { add, replay_of: None }),
        Err(error) => Err(with_add(error, fields, fields, "jobId")),
    }
}

pub fn push_bulk(fields: &Fields<'_>, hints: &mut Hints) -> Result<Request> {
    let before = hints.spec.clone();
    let queue = queue_text(fields, before.as_deref()).map_err(|error| with_add(error, fields, fields, "customId"))?;
    let jobs = fields.required_list("jobs")?;
    if jobs.len() > hints.batch_max {
        hints.put_off = true;
        return engine(Command::PushBulk { adds: Vec::new() });
    }
    let mut adds = Vec::with_capacity(jobs.len());
    let mut reader = jobs.reader();
    for at in 0..jobs.len() {
        let prefixed = |error: DecodeError| DecodeError { text: format!("jobs[{at}]: {error}"), ..error };
        let Some(job) = Fields::read(&mut reader)? else {
            return Err(prefixed(DecodeError::invalid("job must be an object")));
        };
        match add(&job, queue, "customId", hints) {
            Ok(add) => adds.push(add),
            Err(error) => return Err(with_add(prefixed(error), fields, &job, "customId")),
        }
    }
    engine(Command::PushBulk { adds })
}

/// Attaches what can be read of a refused add.
pub fn with_add(error: DecodeError, request: &Fields<'_>, job: &Fields<'_>, id_field: &str) -> DecodeError {
    let readable = |fields: &Fields<'_>, name: &str| fields.ident(name).ok().flatten().map(|text| text.into_owned());
    let add = RefusedAdd {
        queue: readable(request, "queue"),
        name: readable(job, "name"),
        key: readable(job, "uniqueKey"),
        custom_id: readable(job, id_field),
    };
    DecodeError { add: Some(Box::new(add)), ..error }
}

pub fn add(fields: &Fields<'_>, queue: &str, id_field: &str, hints: &mut Hints) -> Result<Add> {
    if let Some(raw) = fields.raw("data") {
        names::check_payload(raw)?;
    }
    let group = group(fields)?;
    let priority = priority(fields, group.is_some())?;
    let delay = fields.millis("delay", YEAR)?.unwrap_or_default();
    let timeout = fields.millis("timeout", DAY)?;
    let max_attempts = fields.integer("maxAttempts", Bounds::new(1, 1000))?.unwrap_or(3) as u32;
    let backoff = backoff(fields)?;
    let ttl = fields.millis("ttl", YEAR)?;
    let depends_on = fields.job_ids("dependsOn")?;
    let before = hints.spec.clone();
    let (name, data) = name_and_data(fields, "name", before.as_deref().map(|before| &*before.name), hints)?;
    let custom_id = fields.ident(id_field)?.map(|text| JobId::parse(&text));
    let max_size = group_max_size(fields)?;
    let group = group.map(|group| Group { max_size, ..group });
    let mut given = None;
    if fields.go_beyond(PLAIN) {
        let options = RareOptions { timeout, ttl, depends_on, group, ..rare(fields)? };
        if options.repeat.is_some() {
            repeat::check_alone(&options, custom_id.is_some())?;
        }
        given = (options != RareOptions::default()).then(|| Box::new(options));
    }
    let (dedup_key, dedup) = dedup(fields, data.as_deref(), None)?;
    let options = Options {
        dedup,
        priority,
        delay,
        max_attempts,
        backoff,
        lifo: fields.truthy("lifo"),
        remove_on_complete: fields.truthy("removeOnComplete"),
        remove_on_fail: fields.truthy("removeOnFail"),
        durable: fields.truthy("durable"),
    };
    let spec = match given {
        None => options.shared(queue, name, hints),
        Some(rare) => Arc::new(NewJob { rare: Some(rare), ..options.asked(Arc::from(queue), Arc::from(name)) }),
    };
    Ok(Add { spec, custom_id, dedup_key, data })
}

/// What an add asks for besides queue, name and rare options.
#[derive(PartialEq)]
struct Options {
    dedup: DedupRequest,
    priority: i32,
    delay: Millis,
    max_attempts: u32,
    backoff: Backoff,
    lifo: bool,
    remove_on_complete: bool,
    remove_on_fail: bool,
    durable: bool,
}

impl Options {
    /// The request of the add before, if that was the same: most adds of a client are. Otherwise a new one, for the adds that
    /// follow.
    fn shared(self, queue: &str, name: &str, hints: &mut Hints) -> Arc<NewJob> {
        let before = hints.spec.as_ref();
        if let Some(before) = before
            && *before.queue == *queue
            && *before.name == *name
            && self == Options::of(before)
        {
            return Arc::clone(before);
        }
        let known = before.map(|before| &before.queue).filter(|known| ***known == *queue);
        let queue = known.map_or_else(|| Arc::from(queue), Arc::clone);
        let spec = Arc::new(self.asked(queue, Arc::from(name)));
        hints.spec = Some(Arc::clone(&spec));
        spec
    }

    fn of(spec: &NewJob) -> Options {
        Options {
            dedup: spec.dedup.clone(),
            priority: spec.priority,
            delay: spec.delay,
            max_attempts: spec.max_attempts,
            backoff: spec.backoff,
            lifo: spec.lifo,
            remove_on_complete: spec.remove_on_complete,
            remove_on_fail: spec.remove_on_fail,
            durable: spec.durable,
        }
    }

    fn asked(self, queue: Arc<str>, name: Arc<str>) -> NewJob {
        let Options { dedup, priority, delay, max_attempts, backoff, .. } = self;
        let Options { lifo, remove_on_complete, remove_on_fail, durable, .. } = self;
        NewJob {
            queue,
            name,
            dedup,
            priority,
            delay,
            max_attempts,
            backoff,
            lifo,
            remove_on_complete,
            remove_on_fail,
            durable,
            rare: None,
        }
    }
}

/// Options that few jobs have, except those whose place in the order of checks is fixed.
fn rare(fields: &Fields<'_>) -> Result<RareOptions> {
    let owned = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect();
    Ok(RareOptions {
        parent_id: fields.ident("parentId")?.map(|text| JobId::parse(&text)),
        parent_queue: parent_queue(fields)?,
        children_ids: fields.job_ids("childrenIds")?,
        tags: owned(fields.texts("tags")?),
        stall_timeout: fields.millis("stallTimeout", Bounds::NATURAL)?,
        timestamp: names::moment(fields, "timestamp")?,
        stack_trace_limit: fields.number_in("stackTraceLimit", Bounds::NATURAL)?.map(|limit| limit as u32),
        keep_logs: fields.number("keepLogs")?,
        size_limit: fields.number("sizeLimit")?,
        debounce_id: fields.ident("debounceId")?.map(|text| text.into_owned()),
        debounce_ttl: fields.number("debounceTtl")?,
        fail_parent_on_failure: fields.truthy("failParentOnFailure"),
        remove_dependency_on_failure: fields.truthy("removeDependencyOnFailure"),
        continue_parent_on_failure: fields.truthy("continueParentOnFailure"),
        ignore_dependency_on_failure: fields.truthy("ignoreDependencyOnFailure"),
        repeat: repeat::repeat(fields)?,
        ..RareOptions::default()
    })
}

/// The text of a field that says what is known already, so that it needs no second look.
fn known_text<'a>(field: Option<Raw<'_>>, known: Option<&'a str>) -> Option<&'a str> {
    let (field, known) = field.zip(known)?;
    matches!(field.value(), Value::Str(text) if text == known.as_bytes()).then_some(known)
}

/// The queue's name; most often that of the add before.
fn queue_text<'a>(fields: &Fields<'a>, before: Option<&'a NewJob>) -> Result<&'a str> {
    match known_text(fields.raw("queue"), before.map(|before| &*before.queue)) {
        Some(queue) => Ok(queue),
        None => names::queue_text(fields),
    }
}

/// The job's name, in the named field, and its data, with the name taken out of the data where an older client put it.
/// `known` is a good name.
pub fn name_and_data<'a>(
    fields: &Fields<'a>,
    field: &str,
    known: Option<&'a str>,
    hints: &mut Hints,
) -> Result<(&'a str, Option<Payload>)> {
    let data = fields.raw("data");
    if let Some(name) = fields.raw(field) {
        let known = known_text(Some(name), known).map(Ok);
        return Ok((known.unwrap_or_else(|| names::job_name(name.value()))?, data.map(names::payload)));
    }
    if let Some(Value::Map(map)) = data.map(Raw::value)
        && let Some((name, data)) = envelope::lift(map)
    {
        hints.protocol2 = true;
        return Ok((names::job_name(Value::Str(name))?, Some(Arc::from(&data[..]))));
    }
    Ok(("default", data.map(names::payload)))
}

/// The wait before another attempt: a number, or `{type, delay}`.
pub fn backoff(fields: &Fields<'_>) -> Result<Backoff> {
    let Some(Value::Map(map)) = fields.given("backoff") else {
        let delay = fields.millis("backoff", DAY)?;
        return Ok(delay.map_or_else(Backoff::default, |delay| Backoff { delay, ..Backoff::default() }));
    };
    let config = Fields::new(map, "backoff.")?;
    let fixed = match config.given("type") {
        Some(Value::Str(b"fixed")) => true,
        Some(Value::Str(b"exponential")) => false,
        _ => return Err(config.must_be("type", "'fixed' or 'exponential'")),
    };
    let delay = config.millis("delay", DAY)?.ok_or_else(|| config.required("delay"))?;
    Ok(Backoff { delay, fixed, as_object: true })
}

/// The key an add asks for: `uniqueKey`, then `dedup.key`, then the hash of the payload, then
/// `fallback`. And what is to be done about it.
pub fn dedup(
    fields: &Fields<'_>,
    data: Option<&[u8]>,
    fallback: Option<&str>,
) -> Result<(Option<Arc<str>>, DedupRequest)> {
    let unique_key = fields.ident("uniqueKey")?;
    let Some(options) = fields.map("dedup", "dedup.")? else {
        return Ok((unique_key.as_deref().or(fallback).map(Arc::from), DedupRequest::default()));
    };
    let key = options.ident("key")?;
    let hash = options.flag("hash")?.unwrap_or(false);
    let ttl = options.millis("ttl", Bounds::NATURAL)?;
    let extend = options.flag("extend")?.unwrap_or(false);
    let replace = options.flag("replace")?.unwrap_or(false);
    let keep_last = options.flag("keepLastIfActive")?.unwrap_or(false);
    let (key, from_hash) = match unique_key.or(key).as_deref() {
        Some(key) => (Arc::from(key), false),
        // Data that is absent reads as null in JSON.
        None if hash => match canonical_hash(data.unwrap_or(NIL)) {
            Ok(hash) => (Arc::from(hash), true),
            Err(_) => return Err(DecodeError::invalid("Job data must be JSON serializable")),
        },
        None => match fallback {
            Some(key) => (Arc::from(key), false),
            None => return Err(DecodeError::invalid("Deduplication requires either hash: true or a custom key")),
        },
    };
    Ok((Some(key), DedupRequest { from_hash, ttl, extend, replace, keep_last }))
}

/// The group whose lane the job waits in.
fn group(fields: &Fields<'_>) -> Result<Option<Group>> {
    let Some(raw) = fields.raw("groupId") else { return Ok(None) };
    Ok(Some(Group { id: super::group::group_id(fields, raw.value())?, max_size: None }))
}

fn group_max_size(fields: &Fields<'_>) -> Result<Option<u64>> {
    let Some(size) = fields.raw("groupMaxSize") else { return Ok(None) };
    match size.value().integer().and_then(|size| u64::try_from(size).ok()) {
        Some(size @ 1..) => Ok(Some(size)),
        Some(0) | None => Err(DecodeError::invalid("group.maxSize must be a positive safe integer")),
    }
}

/// In a group the lower number goes first, and the range is another one.
fn priority(fields: &Fields<'_>, grouped: bool) -> Result<i32> {
    let bounds = if grouped { GROUP_PRIORITY } else { PRIORITY };
    let value = match fields.integer("priority", bounds) {
        Err(_) if grouped => {
            return Err(DecodeError::invalid("group.priority must be an integer between 0 and 2097151"));
        }
        value => value?,
    };
    Ok(value.unwrap_or(0) as i32)
}

/// The parent's queue, if the data names the same parent as `parentId` and a queue: a child says twice that it joins a parent.
fn parent_queue(fields: &Fields<'_>) -> Result<Option<Arc<str>>> {
    let Some(parent) = fields.ident("parentId")? else { return Ok(None) };
    let Some(Value::Map(data)) = fields.given("data") else { return Ok(None) };
    if data.get(PARENT_ID).map(Raw::value) != Some(Value::Str(parent.as_bytes())) {
        return Ok(None);
    }
    match data.get(PARENT_QUEUE).map(Raw::value) {
        Some(Value::Str(queue)) if !queue.is_empty() => utf8(queue).map(|queue| Some(Arc::from(queue))),
        _ => Ok(None),
    }
}
