//! An add as the window asks for it: every option that the wire knows, under the names of the form.
//!
//! Nothing is checked here: `send.rs` makes a client's frame of it, and the frame's decoder says what is wrong.

use serde::{Deserialize, Serialize};

/// An add made in the window. Absent options mean what they mean for a client that leaves them out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase", default)]
pub struct NewAdd {
    /// The logged add it was made from. The new entry points to it, and what was not changed of its payload stays as it is.
    pub origin: Option<u64>,
    /// Queue to add to.
    pub queue: String,
    /// Job name; empty for the default name.
    pub name: String,
    /// The payload as text, empty for none. Absent: the payload of `origin`, untouched.
    pub data_text: Option<String>,
    /// Custom job id.
    pub job_id: Option<String>,
    /// Deduplication id.
    pub dedup_id: Option<String>,
    /// The key is the hash of the payload, unless `dedupId` gives one.
    pub dedup_hash: bool,
    /// Window of the deduplication, in milliseconds.
    pub ttl_ms: Option<u64>,
    /// Sets the window anew when the key is held.
    pub extend: bool,
    /// Takes the place of an owner that has not started.
    pub replace: bool,
    /// While the owner is active the add is kept, and becomes a job when the owner ends.
    pub keep_last_if_active: bool,
    /// Milliseconds until the job may run.
    pub delay_ms: Option<u64>,
    /// Higher runs earlier; in a group lower runs earlier.
    pub priority: Option<i32>,
    /// Attempts before the job fails for good.
    pub attempts: Option<u32>,
    /// Wait before another attempt.
    pub backoff: Option<BackoffAsked>,
    /// Longest run of one attempt, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// The job is dropped when it was not taken within so many milliseconds.
    pub job_ttl_ms: Option<u64>,
    /// Newest first.
    pub lifo: bool,
    /// Survives a power loss, not only a killed process.
    pub durable: bool,
    /// Forget the job when it completes.
    pub remove_on_complete: bool,
    /// Forget the job when it fails for good.
    pub remove_on_fail: bool,
    /// Silence after which the job counts as stalled, in milliseconds.
    pub stall_timeout_ms: Option<u64>,
    /// Free labels.
    pub tags: Vec<String>,
    /// Ids of jobs that must complete first.
    pub depends_on: Vec<String>,
    /// Id of the parent job.
    pub parent_id: Option<String>,
    /// Ids of the child jobs.
    pub children_ids: Vec<String>,
    /// The group whose lane the job waits in.
    pub group_id: Option<String>,
    /// The add is refused while the group has so many queued jobs.
    pub group_max_size: Option<u64>,
    /// Becomes the job's time of creation, in milliseconds since the epoch.
    pub timestamp: Option<i64>,
    /// Lines of a stack trace that are kept.
    pub stack_trace_limit: Option<u32>,
    /// Log lines that are kept.
    pub keep_logs: Option<f64>,
    /// Largest payload, in bytes.
    pub size_limit: Option<f64>,
    /// Stored with the job.
    pub debounce_id: Option<String>,
    /// Stored with the job.
    pub debounce_ttl: Option<f64>,
    /// Stored with the job.
    pub fail_parent_on_failure: bool,
    /// Stored with the job.
    pub remove_dependency_on_failure: bool,
    /// Stored with the job.
    pub continue_parent_on_failure: bool,
    /// Stored with the job.
    pub ignore_dependency_on_failure: bool,
    /// Makes its successor when it completes.
    pub repeat: Option<RepeatAsked>,
}

/// The wait before another attempt: a number on the wire when the kind is absent, an object otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct BackoffAsked {
    /// How it grows.
    #[serde(default)]
    pub kind: Option<BackoffKind>,
    /// Its base, in milliseconds.
    pub delay_ms: u64,
}

/// How the wait before another attempt grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum BackoffKind {
    /// The same every time.
    Fixed,
    /// Doubled every time.
    Exponential,
}

/// A job that makes its successor when it completes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct RepeatAsked {
    /// Milliseconds from completion to the next run; none = the pattern says when.
    pub every_ms: Option<u64>,
    /// A cron text.
    #[serde(default)]
    pub pattern: Option<String>,
    /// The pattern's time zone.
    #[serde(default)]
    pub tz: Option<String>,
    /// No later run before this moment, milliseconds since the epoch.
    #[serde(default)]
    pub start_date: Option<i64>,
    /// No later run after this moment, milliseconds since the epoch.
    #[serde(default)]
    pub end_date: Option<i64>,
    /// How many successors at most.
    #[serde(default)]
    pub limit: Option<u64>,
    /// Which occurrence this is, from 0.
    #[serde(default)]
    pub count: u64,
    /// How much later than their timing later runs are due, in milliseconds; negative = sooner.
    #[serde(default)]
    pub offset_ms: Option<i64>,
    /// The client's name for the repetition.
    #[serde(default)]
    pub job_id: Option<String>,
}
