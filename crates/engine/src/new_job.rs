//! One add as it was asked for: the job, its key and strategy, its rarer options (dedup.md 1, protocol-core.md 6.1).
//!
//! Times are milliseconds. Payloads are opaque MessagePack bytes: the engine never looks inside.

use crate::calendar::Zone;
use crate::names::JobId;
use crate::schedule::Timing;
use crate::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Opaque MessagePack bytes of a payload or result; shared, never copied inside the engine.
pub type Payload = Arc<[u8]>;

/// What jobs of one kind ask for alike (dedup.md 1 and protocol-core.md 6.1). Immutable: all jobs of the kind and the log of adds
/// share it, so what differs from one job to the next belongs into [`Add`], and what few ask for into [`RareOptions`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewJob {
    /// 1 to 256 characters of `A-Za-z0-9_-.:`.
    pub queue: Arc<str>,
    /// 1 to 256 characters.
    pub name: Arc<str>,
    /// What is to be done about its key; means nothing without one.
    #[serde(default, skip_serializing_if = "DedupRequest::is_plain")]
    pub dedup: DedupRequest,
    /// -1,000,000 to 1,000,000; higher first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: i32,
    /// 0 to 365 days.
    #[serde(default, skip_serializing_if = "is_default")]
    pub delay: Millis,
    /// 1 to 1000 executions.
    pub max_attempts: u32,
    /// How long to wait before the next attempt.
    #[serde(default, skip_serializing_if = "is_default")]
    pub backoff: Backoff,
    /// Newest first within its priority, before all others of it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lifo: bool,
    /// Forget record and result at completion.
    #[serde(default, skip_serializing_if = "is_default")]
    pub remove_on_complete: bool,
    /// Forget the job at its final failure.
    #[serde(default, skip_serializing_if = "is_default")]
    pub remove_on_fail: bool,
    /// Survive power loss, not only a killed process.
    #[serde(default, skip_serializing_if = "is_default")]
    pub durable: bool,
    /// Options that few jobs have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rare: Option<Box<RareOptions>>,
}

/// Every job's row holds its request, so what was not asked for takes no room there. The defaults are part of the file's format.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl NewJob {
    /// A job that asks for nothing but its queue and name: the defaults of protocol-core.md 6.1.
    #[must_use]
    pub fn new(queue: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> NewJob {
        NewJob {
            queue: queue.into(),
            name: name.into(),
            dedup: DedupRequest::default(),
            priority: 0,
            delay: Millis(0),
            max_attempts: 3,
            backoff: Backoff::default(),
            lifo: false,
            remove_on_complete: false,
            remove_on_fail: false,
            durable: false,
            rare: None,
        }
    }

    /// Whether it asks for something that a job made from `other` does not have: what a repeat of that job loses. Identity,
    /// times of the client's own and links to other jobs do not count.
    #[must_use]
    pub fn asks_beyond(&self, other: &NewJob) -> bool {
        let rare = |job: &NewJob| {
            let rare = job.rare.as_deref();
            rare.map_or_else(Default::default, |rare| (rare.timeout, rare.ttl, rare.stall_timeout, rare.tags.clone()))
        };
        if std::ptr::eq(self, other) {
            return false;
        }
        let none = (None, None, None, Vec::new());
        let asked = rare(self);
        (self.priority != other.priority && self.priority != 0)
            || (self.delay != other.delay && self.delay != Millis(0))
            || self.max_attempts != other.max_attempts
            || (self.backoff != other.backoff && self.backoff != Backoff::default())
            || (self.lifo && !other.lifo)
            || (self.remove_on_complete && !other.remove_on_complete)
            || (self.remove_on_fail && !other.remove_on_fail)
            || (asked != none && asked != rare(other))
    }
}

/// One add: what is asked for, its identity, and its payload. They are apart because jobs of a kind share the first and because
/// a finished job's payload can leave the memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Add {
    /// What is asked for.
    pub spec: Arc<NewJob>,
    /// `jobId` of PUSH, `customId` of a PUSHB entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_id: Option<JobId>,
    /// The deduplication key's text, never empty; scoped to the job's queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedup_key: Option<Arc<str>>,
    /// The payload; absent in the request = absent in the record. Stored as hexadecimal text where the add is stored as JSON.
    #[serde(with = "payload_as_hex", default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Payload>,
}

impl Add {
    /// An add without payload, key and job id.
    #[must_use]
    pub fn new(spec: impl Into<Arc<NewJob>>) -> Add {
        Add { spec: spec.into(), custom_id: None, dedup_key: None, data: None }
    }
}

mod payload_as_hex {
    use super::Payload;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(bytes: &Option<Payload>, to: S) -> Result<S::Ok, S::Error> {
        let bytes = bytes.as_deref().unwrap_or_default();
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        to.serialize_str(&text)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Payload>, D::Error> {
        let text = String::deserialize(from)?;
        let digits = text.as_bytes();
        if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
            return Err(D::Error::custom("a payload must be pairs of hexadecimal digits"));
        }
        let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
        digits
            .chunks(2)
            .map(byte)
            .collect::<Option<Payload>>()
            .map(Some)
            .ok_or_else(|| D::Error::custom("a payload must be hexadecimal digits"))
    }
}

/// What an add asks of its key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DedupRequest {
    /// Whether the text is a hash of the payload (Conveyor's `hash: true`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub from_hash: bool,
    /// The window, at least 0; none = as long as the owner lives.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ttl: Option<Millis>,
    /// Restart the window on a repeat. Has an effect only with a ttl greater than 0 (dedup.md 3).
    #[serde(default, skip_serializing_if = "is_default")]
    pub extend: bool,
    /// The newest add wins.
    #[serde(default, skip_serializing_if = "is_default")]
    pub replace: bool,
    /// BullMQ's keepLastIfActive (dedup.md 10).
    #[serde(default, skip_serializing_if = "is_default")]
    pub keep_last: bool,
}

impl DedupRequest {
    /// No window, no strategy.
    fn is_plain(&self) -> bool {
        *self == DedupRequest::default()
    }
}

/// Delay before the next attempt (protocol-core.md 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Backoff {
    /// Base delay, 0 to 86,400,000 ms.
    pub delay: Millis,
    /// `b * U[0.8, 1.2)` instead of `b * 2^a * U[0.5, 1.5)`.
    pub fixed: bool,
    /// Whether it was given as an object; shown as `backoffConfig` then.
    pub as_object: bool,
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff { delay: Millis(1000), fixed: false, as_object: false }
    }
}

/// Options that few jobs have. Empty and `None` mean "not given".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RareOptions {
    /// Ids that must complete first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<JobId>,
    /// Its parent; `pending` = it will be named later. Links nothing by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<JobId>,
    /// The parent's queue, where its data names parent and queue: then it joins that parent at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_queue: Option<Arc<str>>,
    /// Its children, of which a parent can read. It waits for those that it depends on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children_ids: Vec<JobId>,
    /// Free labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Longest run of one attempt; 0 and none = no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    /// The job is dropped when not taken by `createdAt + ttl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Millis>,
    /// Overrides the queue's stall interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall_timeout: Option<Millis>,
    /// Becomes `createdAt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
    /// Lines of a stack trace that are kept; 10 when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack_trace_limit: Option<u32>,
    /// Stored only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_logs: Option<f64>,
    /// Stored only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_limit: Option<f64>,
    /// Stored only (protocol-core.md 4.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debounce_id: Option<String>,
    /// Stored only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debounce_ttl: Option<f64>,
    /// Its parent fails with it. Of these four, the first that is set counts in the order fail, continue, ignore, remove.
    #[serde(skip_serializing_if = "is_default")]
    pub fail_parent_on_failure: bool,
    /// Its parent forgets it when it fails.
    #[serde(skip_serializing_if = "is_default")]
    pub remove_dependency_on_failure: bool,
    /// Its parent runs at once when it fails.
    #[serde(skip_serializing_if = "is_default")]
    pub continue_parent_on_failure: bool,
    /// Its parent waits for the others only when it fails, and can read why.
    #[serde(skip_serializing_if = "is_default")]
    pub ignore_dependency_on_failure: bool,
    /// The group whose lane it waits in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
    /// The schedule that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Arc<str>>,
    /// Dropped, not put back, when its delivery is lost: its schedule makes the next one (dedup.md 6).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub drop_if_lost: bool,
    /// Repeat after each completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
}

/// A group of jobs within a queue; groups take turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// 1 to 256 characters.
    pub id: Arc<str>,
    /// An add is refused while this many jobs of the group are queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_size: Option<u64>,
}

/// A job that makes its successor when it completes (protocol-core.md 6.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// When the next run is due, counted from the completion.
    #[serde(flatten)]
    pub timing: Timing,
    /// How often a successor is made; none = for ever.
    #[serde(default)]
    pub limit: Option<u64>,
    /// Which occurrence this job is, from 0.
    #[serde(default)]
    pub count: u64,
    /// No later run is due before this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Timestamp>,
    /// No later run is due after this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Timestamp>,
    /// Later runs are due by so much later, or sooner, than their timing says; of intervals only the first of them, which the
    /// others follow.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: Millis,
    /// A name that clients give the repetition; goes back to them with each job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<Arc<str>>,
}

fn is_zero(time: &Millis) -> bool {
    time.0 == 0
}

impl Repeat {
    /// A repetition without an end.
    pub fn new(timing: Timing) -> Repeat {
        Repeat { timing, limit: None, count: 0, start: None, end: None, offset: Millis(0), job_id: None }
    }

    /// When the next run is due; none = this one was the last.
    pub(crate) fn next(&self, now: Timestamp, own: &Zone) -> Option<Timestamp> {
        let soonest = self.start.unwrap_or(now);
        let due = match &self.timing {
            Timing::Every(every) => {
                let offset = if self.count == 0 { self.offset } else { Millis(0) };
                let first = if soonest > now { soonest } else { now.plus(*every) };
                first.plus(offset).max(soonest).max(now.plus(Millis(1)))
            }
            Timing::Calendar(pattern) => {
                let back = Millis(self.offset.0.saturating_neg());
                // The first moment of a time that begins may be the calendar's too.
                pattern.next(now.max(soonest.plus(Millis(-1))).plus(back), own)?.plus(self.offset)
            }
        };
        Some(due).filter(|due| self.end.is_none_or(|end| *due <= end))
    }
}

#[cfg(test)]
#[path = "new_job_tests.rs"]
mod new_job_tests;
