//! The job record as clients see it (all 47 keys, in one place), dead letters, and what queries add to it.

use super::{EncodeCtx, write_id, write_ids};
use crate::envelope;
use crate::markers;
use crate::msgpack::write::{self, MapWriter, Pairs};
use bytes::BytesMut;
use onceover_engine::command::StateName;
use onceover_engine::command::{RareOptions, Repeat};
use onceover_engine::job::{Blob, FailedAttempt, Job, RareState, TimelineEntry};
use onceover_engine::limits::STACK_TRACE_LIMIT_DEFAULT;
use onceover_engine::names::JobId;
use onceover_engine::reply::JobRecord;
use onceover_engine::schedule::Timing;
use onceover_engine::time::{Millis, Timestamp};
use std::sync::LazyLock;

/// What a query adds to the record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extras {
    /// Nothing: a delivered job, a dead letter.
    None,
    /// `returnvalue` and `failedReason` (GetJobByCustomId).
    Outcome,
    /// `state` too (GetJob, GetJobs).
    StateAndOutcome,
}

/// What few jobs have.
struct Rare<'a> {
    options: &'a RareOptions,
    state: &'a RareState,
    depends_on: &'a [JobId],
    children: &'a [JobId],
    parent: Option<&'a JobId>,
}

static NO_OPTIONS: LazyLock<RareOptions> = LazyLock::new(RareOptions::default);
static NO_STATE: LazyLock<RareState> = LazyLock::new(RareState::default);

/// The runs of keys that only say what is rare.
const RARE_RUNS: [fn(&mut MapWriter<'_>, &Rare<'_>); 3] = [spans, keeping_and_relations, messages];

/// The same of a job that has nothing rare: always the same bytes.
static PLAIN_RUNS: LazyLock<[Pairs; 3]> = LazyLock::new(|| {
    let none = Rare { options: &NO_OPTIONS, state: &NO_STATE, depends_on: &[], children: &[], parent: None };
    RARE_RUNS.map(|run| Pairs::new(|map| run(map, &none)))
});

impl Rare<'_> {
    fn of(job: &Job) -> Option<Rare<'_>> {
        let (options, state) = (job.spec.rare.as_deref(), job.rare());
        if options.is_none() && state.is_none() {
            return None;
        }
        Some(Rare {
            options: options.unwrap_or(&NO_OPTIONS),
            state: state.unwrap_or(&NO_STATE),
            depends_on: job.depends_on(),
            children: job.children_ids(),
            parent: job.parent_id(),
        })
    }
}

/// Appends one record.
pub fn record(out: &mut BytesMut, record: &JobRecord, extras: Extras, ctx: EncodeCtx) {
    let job = &record.job;
    let rare = Rare::of(job);
    let run = |map: &mut MapWriter<'_>, at: usize| match &rare {
        Some(rare) => RARE_RUNS[at](map, rare),
        None => map.pairs(&PLAIN_RUNS[at]),
    };
    let mut map = MapWriter::begin(out);
    identity(&mut map, job, ctx);
    schedule(&mut map, record);
    run(&mut map, 0);
    policies(&mut map, job);
    run(&mut map, 1);
    deduplication(&mut map, job);
    run(&mut map, 2);
    timeline(map.key("timeline"), job);
    if extras == Extras::StateAndOutcome {
        map.str("state", record.state.as_str());
    }
    if extras != Extras::None {
        if let Blob::Here(result) = &job.result {
            map.raw("returnvalue", result);
        }
        if let Some(reason) = job.failed_reason() {
            map.str("failedReason", reason);
        }
    }
}

fn identity(map: &mut MapWriter<'_>, job: &Job, ctx: EncodeCtx) {
    write_id(map.key("id"), &job.id);
    map.str("queue", &job.spec.queue);
    map.str("name", &job.spec.name);
    let marked = markers::marked(job);
    match (marked.as_ref().unwrap_or(&job.data), ctx.protocol2) {
        (Blob::Here(data), false) => map.raw("data", data),
        (Blob::Here(data), true) => envelope::restore(map.key("data"), &job.spec.name, Some(data)),
        (Blob::Absent, true) => envelope::restore(map.key("data"), &job.spec.name, None),
        // Whoever sends a record fills what is on disk beforehand; a payload that could not be read is left out.
        (Blob::Absent | Blob::OnDisk, _) => {}
    }
    map.or_nil("customId", job.has_custom_id.then_some(&job.id), write_id);
}

fn schedule(map: &mut MapWriter<'_>, record: &JobRecord) {
    let job = &record.job;
    map.int("priority", i64::from(job.priority));
    map.bool("lifo", job.lifo);
    map.time("createdAt", job.created_at.0);
    map.time("runAt", job.run_at.0);
    map.or_nil("startedAt", job.started_at, time);
    map.or_nil("completedAt", job.completed_at, time);
    map.time("lastHeartbeat", job.last_heartbeat.0);
    map.int("attempts", i64::from(job.attempts));
    map.int("stallCount", i64::from(job.stall_count));
    // A completed job has done all of its work, whatever its worker last said; clients rely on it.
    let done = record.state == StateName::Completed;
    map.number("progress", if done { 100.0 } else { job.progress });
}

fn spans(map: &mut MapWriter<'_>, rare: &Rare<'_>) {
    map.or_nil("ttl", rare.options.ttl, millis);
    map.or_nil("timeout", rare.options.timeout, millis);
    map.or_nil("stallTimeout", rare.options.stall_timeout, millis);
    map.or_nil("repeat", rare.options.repeat.as_ref(), repeat);
}

fn policies(map: &mut MapWriter<'_>, job: &Job) {
    let spec = &job.spec;
    map.int("maxAttempts", i64::from(spec.max_attempts));
    map.int("backoff", spec.backoff.delay.0);
    let config = spec.backoff.as_object.then_some(spec.backoff);
    map.or_nil("backoffConfig", config, |out, backoff| {
        let mut map = MapWriter::begin(out);
        map.str("type", if backoff.fixed { "fixed" } else { "exponential" });
        map.int("delay", backoff.delay.0);
    });
    map.bool("removeOnComplete", spec.remove_on_complete);
    map.bool("removeOnFail", spec.remove_on_fail);
    map.bool("durable", spec.durable);
}

fn keeping_and_relations(map: &mut MapWriter<'_>, rare: &Rare<'_>) {
    let options = rare.options;
    let stack_trace_limit = options.stack_trace_limit.unwrap_or(STACK_TRACE_LIMIT_DEFAULT);
    map.int("stackTraceLimit", i64::from(stack_trace_limit));
    map.or_nil("keepLogs", options.keep_logs, write::number);
    map.or_nil("sizeLimit", options.size_limit, write::number);
    map.strs("tags", &options.tags);
    map.or_nil("groupId", options.group.as_ref().map(|group| &*group.id), write::str);
    write_ids(map.key("dependsOn"), rare.depends_on.iter());
    write_ids(map.key("childrenIds"), rare.children.iter());
    // bunqueue never counts here either.
    map.int("childrenCompleted", 0);
    map.or_nil("parentId", rare.parent, write_id);
    map.bool("failParentOnFailure", options.fail_parent_on_failure);
    map.bool("removeDependencyOnFailure", options.remove_dependency_on_failure);
    map.bool("continueParentOnFailure", options.continue_parent_on_failure);
    map.bool("ignoreDependencyOnFailure", options.ignore_dependency_on_failure);
}

fn deduplication(map: &mut MapWriter<'_>, job: &Job) {
    let dedup = &job.spec.dedup;
    // An absent uniqueKey would read as a key without a text in the npm client.
    map.or_nil("uniqueKey", job.dedup_key.as_deref(), write::str);
    map.or_nil("deduplicationTtl", dedup.ttl, millis);
    map.bool("deduplicationExtend", dedup.extend);
    map.bool("deduplicationReplace", dedup.replace);
}

fn messages(map: &mut MapWriter<'_>, rare: &Rare<'_>) {
    map.or_nil("debounceId", rare.options.debounce_id.as_deref(), write::str);
    map.or_nil("debounceTtl", rare.options.debounce_ttl, write::number);
    map.or_nil("progressMessage", rare.state.progress_message.as_deref(), write::str);
    let stack = Some(&rare.state.stacktrace).filter(|lines| !lines.is_empty());
    map.or_nil("stacktrace", stack, |out, lines| write::strs(out, lines));
}

fn repeat(out: &mut BytesMut, repeat: &Repeat) {
    let mut map = MapWriter::begin(out);
    match &repeat.timing {
        Timing::Every(every) => millis(map.key("every"), *every),
        Timing::Calendar(pattern) => {
            map.str("pattern", pattern.text());
            if let Some(zone) = pattern.zone() {
                map.str("tz", zone.name());
            }
        }
    }
    map.int("count", repeat.count as i64);
    if let Some(limit) = repeat.limit {
        map.int("limit", limit as i64);
    }
    if let Some(start) = repeat.start {
        map.time("startDate", start.0);
    }
    if let Some(end) = repeat.end {
        map.time("endDate", end.0);
    }
    if repeat.offset.0 != 0 {
        millis(map.key("offset"), repeat.offset);
    }
    if let Some(id) = &repeat.job_id {
        map.str("jobId", id);
    }
}

fn timeline(out: &mut BytesMut, job: &Job) {
    write::array(out, 1 + job.extra.timeline.len());
    timeline_entry(out, &job.admission());
    job.extra.timeline.iter().for_each(|entry| timeline_entry(out, entry));
}

fn timeline_entry(out: &mut BytesMut, entry: &TimelineEntry) {
    let mut map = MapWriter::begin(out);
    map.str("state", entry.state.as_str());
    map.time("timestamp", entry.at.0);
    if let Some(error) = &entry.error {
        map.str("error", error);
    }
    if let Some(attempt) = entry.attempt {
        map.int("attempt", i64::from(attempt));
    }
}

/// Appends one dead letter: the job and how it died.
pub fn dead_letter(out: &mut BytesMut, dead: &JobRecord, ctx: EncodeCtx) {
    let mut map = MapWriter::begin(out);
    record(map.key("job"), dead, Extras::None, ctx);
    let failure = dead.job.failure();
    map.or_nil("enteredAt", failure.map(|failure| failure.entered_at), time);
    map.str("reason", failure.map_or("unknown", |failure| failure.reason.as_str()));
    map.or_nil("error", failure.and_then(|failure| failure.error.as_deref()), write::str);
    let attempts = dead.job.rare().map_or(&[][..], |rare| &rare.failed_attempts);
    map.list("attempts", attempts.iter(), failed_attempt);
    let retries = dead.job.rare().and_then(|rare| rare.auto_retries);
    map.int("retryCount", retries.map_or(0, |retries| i64::from(retries.count)));
    map.or_nil("lastRetryAt", retries.map(|retries| retries.last_at), time);
    map.or_nil("nextRetryAt", failure.and_then(|failure| failure.next_retry_at), time);
    map.or_nil("expiresAt", failure.and_then(|failure| failure.expires_at), time);
}

fn failed_attempt(out: &mut BytesMut, attempt: &FailedAttempt) {
    let mut map = MapWriter::begin(out);
    map.int("attempt", i64::from(attempt.attempt));
    map.or_nil("startedAt", attempt.started_at, time);
    map.time("failedAt", attempt.failed_at.0);
    map.str("reason", attempt.reason.as_str());
    map.or_nil("error", attempt.error.as_deref(), write::str);
    let duration = attempt.started_at.map_or(Millis(0), |started| attempt.failed_at.since(started));
    map.int("duration", duration.0);
}

/// A moment as a value.
pub fn time(out: &mut BytesMut, at: Timestamp) {
    write::time(out, at.0);
}

/// A duration as a value.
pub fn millis(out: &mut BytesMut, duration: Millis) {
    write::int(out, duration.0);
}
