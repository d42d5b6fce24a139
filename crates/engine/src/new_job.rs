//! One add as it was asked for: the job, its key and strategy, its rarer options (dedup.md 1, protocol-core.md 6.1).
//!
//! Times are milliseconds. Payloads are opaque MessagePack bytes: the engine never looks inside.

use crate::names::JobId;
use crate::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Opaque MessagePack bytes of a payload or result; shared, never copied inside the engine.
pub type Payload = Arc<[u8]>;

/// One job as it was asked for (dedup.md 1 and protocol-core.md 6.1). Immutable: the job, the log of adds and a replay share it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewJob {
    /// 1 to 256 characters of `A-Za-z0-9_-.:`.
    pub queue: Arc<str>,
    /// 1 to 256 characters.
    pub name: Arc<str>,
    /// `jobId` of PUSH, `customId` of a PUSHB entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_id: Option<JobId>,
    /// The key and its strategy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedup: Option<Box<DedupRequest>>,
    /// -1,000,000 to 1,000,000; higher first.
    #[serde(default)]
    pub priority: i32,
    /// 0 to 365 days.
    #[serde(default)]
    pub delay: Millis,
    /// 1 to 1000 executions.
    pub max_attempts: u32,
    /// How long to wait before the next attempt.
    #[serde(default)]
    pub backoff: Backoff,
    /// Newest first within its priority, before all others of it.
    #[serde(default)]
    pub lifo: bool,
    /// Forget record and result at completion.
    #[serde(default)]
    pub remove_on_complete: bool,
    /// Forget the job at its final failure.
    #[serde(default)]
    pub remove_on_fail: bool,
    /// Survive power loss, not only a killed process.
    #[serde(default)]
    pub durable: bool,
    /// Options that few jobs have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rare: Option<Box<RareOptions>>,
}

impl NewJob {
    /// A job that asks for nothing but its queue and name: the defaults of protocol-core.md 6.1.
    #[must_use]
    pub fn new(queue: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> NewJob {
        NewJob {
            queue: queue.into(),
            name: name.into(),
            custom_id: None,
            dedup: None,
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

/// One add: what is asked for, and its payload. The two are apart so that a finished job's payload can leave the memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Add {
    /// What is asked for.
    pub spec: Arc<NewJob>,
    /// The payload; absent in the request = absent in the record.
    pub data: Option<Payload>,
}

/// A key as asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DedupRequest {
    /// The key's text, never empty; scoped to the job's queue.
    pub key: Arc<str>,
    /// Whether the text is a hash of the payload (Conveyor's `hash: true`).
    #[serde(default)]
    pub from_hash: bool,
    /// The window, at least 0; none = as long as the owner lives.
    #[serde(default)]
    pub ttl: Option<Millis>,
    /// Restart the window on a repeat. Has an effect only with a ttl greater than 0 (dedup.md 3).
    #[serde(default)]
    pub extend: bool,
    /// The newest add wins.
    #[serde(default)]
    pub replace: bool,
    /// BullMQ's keepLastIfActive (dedup.md 10).
    #[serde(default)]
    pub keep_last: bool,
}

impl DedupRequest {
    /// A plain key: no window, no strategy.
    #[must_use]
    pub fn new(key: impl Into<Arc<str>>) -> DedupRequest {
        DedupRequest { key: key.into(), from_hash: false, ttl: None, extend: false, replace: false, keep_last: false }
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
    /// Stored; links nothing by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<JobId>,
    /// Stored.
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
    /// Stored only.
    pub fail_parent_on_failure: bool,
    /// Stored only.
    pub remove_dependency_on_failure: bool,
    /// Stored only.
    pub continue_parent_on_failure: bool,
    /// Stored only.
    pub ignore_dependency_on_failure: bool,
    /// The group whose lane it waits in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
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
    /// Time from completion to the next run, greater than 0.
    pub every: Millis,
    /// How often a successor is made; none = for ever.
    #[serde(default)]
    pub limit: Option<u64>,
    /// Which occurrence this job is, from 0.
    #[serde(default)]
    pub count: u64,
}
