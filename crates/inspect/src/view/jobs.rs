//! Views of jobs: the table, its counts, and one job in full.

use serde::{Deserialize, Serialize};

use super::{Can, JobState, Named, Strategy, Text};

/// A page of jobs: active, ready (next to run first), delayed (soonest first), waiting for children, failed and completed
/// (newest first); within a state queue by queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct JobsPage {
    /// See the module `view`.
    pub revision: u64,
    /// The broker's clock, in ms.
    pub now: i64,
    /// The rows.
    pub rows: Vec<JobRow>,
    /// Cursor of the next page; absent at the end.
    pub next: Option<String>,
    /// Jobs that match; with a filter, as far as a first look reaches.
    pub total: u64,
    /// Jobs that queue, state and filter hide.
    pub hidden: u64,
    /// Numbers at the chips, of the asked queue or of all.
    pub counts: JobCounts,
    /// How far a search looked that took too long to fill the page; `next` goes on from there.
    pub note: Option<String>,
}

/// Jobs per state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct JobCounts {
    /// All of them.
    pub all: u64,
    /// Ready to run.
    pub waiting: u64,
    /// Ready to run, with a priority.
    pub prioritized: u64,
    /// Run later.
    pub delayed: u64,
    /// A worker has them.
    pub active: u64,
    /// Run when their children ended.
    pub waiting_children: u64,
    /// Ended well.
    pub completed: u64,
    /// Ended badly.
    pub failed: u64,
}

/// One job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct JobRow {
    /// Public id.
    pub id: String,
    /// Whether the id was chosen by a client; generated ids are shown shortened.
    pub custom_id: bool,
    /// Job name; empty for none.
    pub name: String,
    /// Queue it is in.
    pub queue: String,
    /// State it is in.
    pub state: JobState,
    /// Its deduplication key, if it carries one.
    pub key: Option<JobKey>,
    /// Attempts started.
    pub attempts_made: u32,
    /// Attempts allowed.
    pub attempts_max: u32,
    /// When it was added, in ms.
    pub created_at: i64,
    /// When it may run, in ms; for delayed jobs.
    pub run_at: Option<i64>,
    /// When the running or last attempt started, in ms.
    pub started_at: Option<i64>,
    /// When it ended, in ms.
    pub finished_at: Option<i64>,
    /// First line of the last error.
    pub error: Option<String>,
    /// How often it stalled or lost its lease.
    pub stalls: u32,
    /// Who has it, while it is active.
    pub holder: Option<JobHolder>,
    /// Why it is a dead letter, in the protocol's word; while failed.
    pub reason: Option<String>,
}

/// Who has an active job, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct JobHolder {
    /// The registered worker, else the program, else the name in the lease.
    pub name: String,
    /// Program and connection it was taken by, as in the log of adds; absent when that connection has ended.
    pub client: Option<String>,
    /// Process id of that program, where known.
    pub pid: Option<u32>,
    /// When it left or was last heard of, in ms; while it is gone.
    pub gone_since: Option<i64>,
    /// End of the lease, in ms; absent without a lease.
    pub lease_ends_at: Option<i64>,
    /// Whole length of the lease, in ms.
    pub lease_ms: Option<i64>,
    /// How often the lease was renewed.
    pub renewals: u32,
}

/// A job's deduplication key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct JobKey {
    /// The whole key.
    pub key: String,
    /// Whether the job holds it, or only carries it.
    pub held: bool,
    /// Who holds it otherwise.
    pub holder_id: Option<String>,
    /// Window, in ms; absent without TTL.
    pub ttl_ms: Option<i64>,
    /// End of the window, in ms, while held with TTL.
    pub expires_at: Option<i64>,
    /// Strategy it was added with.
    pub strategy: Strategy,
    /// Adds absorbed by this job.
    pub absorbed: u64,
}

/// One job in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct JobDetail {
    /// See the module `view`.
    pub revision: u64,
    /// The broker's clock, in ms.
    pub now: i64,
    /// The row.
    pub row: JobRow,
    /// Higher runs earlier.
    pub priority: i32,
    /// Options that differ from the defaults (delay, backoff, timeout, lifo, …), in wire names.
    pub options: Vec<Named>,
    /// Created, runs, started, ended, …
    pub times: Vec<TimeEntry>,
    /// Its place among other jobs.
    pub family: Family,
    /// Its generation, to be named when its data is edited.
    pub generation: u64,
    /// Stands for the data that is shown, to be named when it is edited.
    pub data_mark: String,
    /// Log entry of the add that made it, while the log has it.
    pub add_seq: Option<u64>,
    /// Progress as reported, as text.
    pub progress: Option<String>,
    /// The payload.
    pub data: Text,
    /// What the worker returned.
    pub result: Option<Text>,
    /// Errors, newest attempt first.
    pub errors: Vec<JobError>,
    /// What happened to it, oldest first.
    pub timeline: Vec<TimelineEntry>,
    /// What workers logged, oldest first.
    pub logs: Vec<LogLine>,
    /// The job record as a client would get it, as text.
    pub raw: Text,
    /// Possible actions.
    pub can: Vec<Can>,
}

/// A job's place among others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct Family {
    /// Its parent, once that is named.
    pub parent: Option<Relative>,
    /// Its first children.
    pub children: Vec<Relative>,
    /// How many there are.
    pub children_total: u64,
    /// The first of what it waits for besides its children.
    pub waits_for: Vec<Relative>,
    /// What keeps it blocked, in a sentence or two.
    pub note: Option<String>,
}

/// A job that has to do with another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct Relative {
    /// Its id.
    pub id: String,
    /// Its state, gone included.
    pub state: JobState,
}

/// A labelled moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct TimeEntry {
    /// One or two words.
    pub label: String,
    /// In ms.
    pub at: i64,
}

/// A failed attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct JobError {
    /// From 1.
    pub attempt: u32,
    /// When, in ms; absent when not recorded.
    pub at: Option<i64>,
    /// What the worker said.
    pub message: String,
    /// Stack, as sent; empty when none was.
    pub stack: String,
}

/// Something that happened to a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct TimelineEntry {
    /// When, in ms.
    pub at: i64,
    /// A word or two.
    pub label: String,
    /// One sentence; may be empty.
    pub text: String,
    /// The add in the log that this was.
    pub add_seq: Option<u64>,
}

/// A line a worker logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct LogLine {
    /// When, in ms; absent when not recorded.
    pub at: Option<i64>,
    /// As sent; empty when none was.
    pub level: String,
    /// The line.
    pub text: String,
}

/// What a bulk action would meet, before it is confirmed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct JobsPreview {
    /// See the module `view`.
    pub revision: u64,
    /// The broker's clock, in ms.
    pub now: i64,
    /// Jobs it would be tried on.
    pub total: u64,
    /// Of them, those for which the action is possible now.
    pub possible: u64,
    /// Of the total, by state.
    pub counts: JobCounts,
    /// Of those that hold a key.
    pub keys: u64,
    /// The first few.
    pub sample: Vec<JobRow>,
    /// Said when there are more than one action takes.
    pub note: Option<String>,
}
