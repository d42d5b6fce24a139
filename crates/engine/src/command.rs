//! What the engine can be asked to do, already validated in form by whoever decoded it.
//!
//! Times are milliseconds. Payloads are opaque MessagePack bytes: the engine never looks inside.

use crate::names::{JobId, JobKey};
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
    /// Repeat after each completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
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

/// PULL and PULLB.
#[derive(Clone, Debug, PartialEq)]
pub struct Pull {
    /// The queue to take from.
    pub queue: Arc<str>,
    /// At most this many; 1 for PULL, 1 to 1000 for PULLB.
    pub count: u32,
    /// Whether the answer has PULLB's shape.
    pub bulk: bool,
    /// How long to park when nothing is there, 0 to 60,000 ms.
    pub timeout: Millis,
    /// Takes a lock in this name; none = no lock.
    pub owner: Option<Arc<str>>,
    /// The lock's time to live.
    pub lock_ttl: Millis,
    /// Without an owner: stays active when its connection ends.
    pub detach: bool,
}

/// ACK, and one entry of ACKB.
#[derive(Clone, Debug, PartialEq)]
pub struct Ack {
    /// The job.
    pub id: JobId,
    /// The delivery's token, when it was locked.
    pub token: Option<String>,
    /// The result; none = completed without one.
    pub result: Option<Payload>,
    /// Forget the job, whatever its own option says.
    pub remove: bool,
}

/// FAIL.
#[derive(Clone, Debug, PartialEq)]
pub struct Fail {
    /// The job.
    pub id: JobId,
    /// The delivery's token, when it was locked.
    pub token: Option<String>,
    /// The message, as text.
    pub error: Option<String>,
    /// No further attempt.
    pub unrecoverable: bool,
    /// Stack lines: trimmed, non-empty, at most 100.
    pub stack: Vec<String>,
    /// Forget the job if this failure is final.
    pub remove: bool,
}

/// A job named together with the token that proves the right to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The job.
    pub id: JobId,
    /// The delivery's token, when it was locked.
    pub token: Option<String>,
}

/// JobHeartbeat, ExtendLock and their bulk forms.
#[derive(Clone, Debug, PartialEq)]
pub struct Renewal {
    /// Whose lock.
    pub claim: Claim,
    /// For this renewal; none = the lock's own time to live.
    pub duration: Option<Millis>,
}

/// Which jobs Clean removes (protocol-admin.md 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CleanState {
    /// Waiting, prioritized and delayed: no state was named.
    AnyPending,
    /// Waiting only.
    Waiting,
    /// Prioritized only.
    Prioritized,
    /// Delayed only.
    Delayed,
    /// Completed jobs.
    Completed,
    /// Dead letters.
    Failed,
    /// A state that Clean never removes, or no state at all: nothing happens.
    Nothing,
}

/// A list filter of GetJobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListState {
    /// One state.
    State(StateName),
    /// What is ready while the queue is paused.
    Paused,
}

/// The states as clients see them (protocol-core.md 4.2); the first five are live (dedup.md 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StateName {
    /// Ready, priority at most 0.
    Waiting,
    /// Ready, priority above 0.
    Prioritized,
    /// Not due yet.
    Delayed,
    /// Waits for dependencies, or was parked by its worker.
    WaitingChildren,
    /// Delivered.
    Active,
    /// Done.
    Completed,
    /// Failed for good: a dead letter.
    Failed,
}

impl StateName {
    /// The text on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            StateName::Waiting => "waiting",
            StateName::Prioritized => "prioritized",
            StateName::Delayed => "delayed",
            StateName::WaitingChildren => "waiting-children",
            StateName::Active => "active",
            StateName::Completed => "completed",
            StateName::Failed => "failed",
        }
    }

    /// The state that a text names.
    pub fn parse(text: &str) -> Option<StateName> {
        Some(match text {
            "waiting" => StateName::Waiting,
            "prioritized" => StateName::Prioritized,
            "delayed" => StateName::Delayed,
            "waiting-children" => StateName::WaitingChildren,
            "active" => StateName::Active,
            "completed" => StateName::Completed,
            "failed" => StateName::Failed,
            _ => return None,
        })
    }

    /// Not completed and not failed.
    pub fn is_live(self) -> bool {
        !matches!(self, StateName::Completed | StateName::Failed)
    }
}

/// Which dead letters Dlq and RetryDlq mean; all given parts must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DlqFilter {
    /// The exact reason.
    pub reason: Option<String>,
    /// Entered at or before.
    pub older_than: Option<Timestamp>,
    /// Entered at or after.
    pub newer_than: Option<Timestamp>,
    /// Skip this many.
    pub offset: usize,
    /// At most this many.
    pub limit: Option<usize>,
}

/// A change of a queue's stall configuration; only given parts change.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StallPatch {
    /// Take part in stall detection.
    pub enabled: Option<bool>,
    /// Silence after which a job counts as stalled.
    pub stall_interval: Option<Millis>,
    /// Stalls at which the job fails for good.
    pub max_stalls: Option<u32>,
    /// Time after the start in which nothing is checked.
    pub grace_period: Option<Millis>,
}

/// RegisterWorker (protocol-admin.md 9).
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerInfo {
    /// The worker's own id, when it has one.
    pub worker_id: Option<String>,
    /// Its name.
    pub name: String,
    /// The queues it serves.
    pub queues: Vec<Arc<str>>,
    /// Jobs at once.
    pub concurrency: u32,
    /// Its machine.
    pub hostname: String,
    /// Its process.
    pub pid: u64,
    /// When it says it started.
    pub started_at: Option<Timestamp>,
}

/// A request to the engine. Each variant names the wire command it comes from; those of the window say so.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// PUSH. `replay_of` is the window's number of the add that is repeated.
    Push {
        /// The job asked for.
        add: Add,
        /// Set by the window's Replay.
        replay_of: Option<u64>,
    },
    /// PUSHB.
    PushBulk {
        /// In order; the first that is refused ends the batch (protocol-core.md 6.4).
        adds: Vec<Add>,
    },
    /// PULL, PULLB.
    Pull(Pull),
    /// ACK.
    Ack(Ack),
    /// ACKB.
    AckBulk {
        /// In order.
        acks: Vec<Ack>,
    },
    /// FAIL.
    Fail(Fail),
    /// JobHeartbeat.
    JobHeartbeat(Renewal),
    /// JobHeartbeatB.
    JobHeartbeatBulk {
        /// Bad ones are skipped.
        renewals: Vec<Renewal>,
    },
    /// ExtendLock.
    ExtendLock(Renewal),
    /// ExtendLocks.
    ExtendLocks {
        /// Bad ones are skipped.
        renewals: Vec<Renewal>,
    },
    /// RegisterWorker.
    RegisterWorker(WorkerInfo),
    /// Heartbeat of a registered worker.
    WorkerHeartbeat {
        /// The worker.
        id: String,
        /// Jobs it runs now.
        active_jobs: Option<u64>,
        /// Jobs it completed.
        processed: Option<u64>,
        /// Jobs it failed.
        failed: Option<u64>,
    },
    /// UnregisterWorker.
    UnregisterWorker {
        /// The worker.
        id: String,
    },
    /// ListWorkers.
    ListWorkers,
    /// GetJob.
    GetJob {
        /// The job.
        id: JobId,
    },
    /// GetJobByCustomId: the live job only.
    GetJobByCustomId {
        /// The custom id.
        id: JobId,
    },
    /// GetState.
    GetState {
        /// The job.
        id: JobId,
    },
    /// GetResult.
    GetResult {
        /// The job.
        id: JobId,
    },
    /// GetProgress.
    GetProgress {
        /// The job.
        id: JobId,
    },
    /// GetJobs.
    GetJobs {
        /// The queue.
        queue: Arc<str>,
        /// Empty = all.
        states: Vec<ListState>,
        /// Whether a state was named that does not exist, which lists nothing.
        unknown_state: bool,
        /// Skip this many.
        offset: usize,
        /// At most this many.
        limit: usize,
        /// Oldest first.
        ascending: bool,
    },
    /// GetJobCounts.
    GetJobCounts {
        /// The queue.
        queue: Arc<str>,
    },
    /// GetCountsPerPriority.
    GetCountsPerPriority {
        /// The queue.
        queue: Arc<str>,
    },
    /// Count.
    Count {
        /// The queue.
        queue: Arc<str>,
    },
    /// WaitJob.
    WaitJob {
        /// The job.
        id: JobId,
        /// 0 to 600,000 ms.
        timeout: Millis,
    },
    /// Progress.
    Progress {
        /// The job.
        id: JobId,
        /// Clamped to 0 to 100.
        progress: f64,
        /// None = keep; `Some(None)` = clear.
        message: Option<Option<String>>,
    },
    /// Update.
    Update {
        /// The job.
        id: JobId,
        /// Its new payload.
        data: Option<Payload>,
    },
    /// ChangePriority.
    ChangePriority {
        /// The job.
        id: JobId,
        /// As in an add.
        priority: i32,
        /// None = as it was.
        lifo: Option<bool>,
    },
    /// ChangeDelay.
    ChangeDelay {
        /// The job and its token.
        claim: Claim,
        /// From now.
        delay: Millis,
    },
    /// MoveToDelayed.
    MoveToDelayed {
        /// The job and its token.
        claim: Claim,
        /// From now.
        delay: Millis,
    },
    /// MoveToWait.
    MoveToWait {
        /// The job and its token.
        claim: Claim,
    },
    /// MoveToWaitingChildren.
    MoveToWaitingChildren {
        /// The job and its token.
        claim: Claim,
    },
    /// Promote.
    Promote {
        /// The job.
        id: JobId,
    },
    /// PromoteJobs.
    PromoteJobs {
        /// The queue.
        queue: Arc<str>,
        /// None = all.
        count: Option<usize>,
    },
    /// Cancel.
    Cancel {
        /// The job.
        id: JobId,
    },
    /// Discard.
    Discard {
        /// The job and its token.
        claim: Claim,
    },
    /// AddLog.
    AddLog {
        /// The job.
        id: JobId,
        /// The line.
        message: String,
        /// `info` when not given.
        level: String,
    },
    /// GetLogs.
    GetLogs {
        /// The job.
        id: JobId,
        /// First line.
        start: usize,
        /// Last line, inclusive; negative = none.
        end: Option<i64>,
    },
    /// ClearLogs.
    ClearLogs {
        /// The job.
        id: JobId,
        /// How many of the newest stay.
        keep: usize,
    },
    /// GetDeduplicationJobId.
    GetDeduplicationJobId {
        /// The queue.
        queue: Arc<str>,
        /// The key.
        key: Arc<str>,
    },
    /// RemoveDeduplicationKey.
    RemoveDeduplicationKey {
        /// The queue.
        queue: Arc<str>,
        /// The key.
        key: Arc<str>,
    },
    /// RemoveJobDeduplicationKey.
    RemoveJobDeduplicationKey {
        /// The job.
        id: JobId,
    },
    /// ListDeduplicationKeys (dedup.md 11).
    ListDeduplicationKeys {
        /// None = all queues.
        queue: Option<Arc<str>>,
        /// Skip this many.
        offset: usize,
        /// At most this many.
        limit: usize,
    },
    /// Pause.
    Pause {
        /// The queue.
        queue: Arc<str>,
    },
    /// Resume.
    Resume {
        /// The queue.
        queue: Arc<str>,
    },
    /// IsPaused.
    IsPaused {
        /// The queue.
        queue: Arc<str>,
    },
    /// Drain.
    Drain {
        /// The queue.
        queue: Arc<str>,
    },
    /// Obliterate.
    Obliterate {
        /// The queue.
        queue: Arc<str>,
    },
    /// Clean.
    Clean {
        /// The queue.
        queue: Arc<str>,
        /// Minimum age.
        grace: Millis,
        /// What to remove.
        state: CleanState,
        /// At most this many.
        limit: usize,
    },
    /// ListQueues.
    ListQueues,
    /// RetryCompleted.
    RetryCompleted {
        /// The queue.
        queue: Arc<str>,
        /// One job.
        id: Option<JobId>,
        /// At most this many.
        count: Option<usize>,
        /// Completed at or before.
        until: Option<Timestamp>,
    },
    /// Dlq.
    Dlq {
        /// The queue.
        queue: Arc<str>,
        /// At most this many.
        count: Option<usize>,
        /// Which.
        filter: DlqFilter,
    },
    /// GetDlqStats.
    GetDlqStats {
        /// The queue.
        queue: Arc<str>,
    },
    /// RetryDlq.
    RetryDlq {
        /// The queue.
        queue: Arc<str>,
        /// One job.
        id: Option<JobId>,
        /// At most this many.
        count: Option<usize>,
        /// Which; set = `id` and `count` are ignored.
        filter: Option<DlqFilter>,
    },
    /// PurgeDlq.
    PurgeDlq {
        /// The queue.
        queue: Arc<str>,
    },
    /// RemoveDlqJob.
    RemoveDlqJob {
        /// The queue.
        queue: Arc<str>,
        /// The job.
        id: JobId,
    },
    /// GetStallConfig.
    GetStallConfig {
        /// The queue.
        queue: Arc<str>,
    },
    /// SetStallConfig.
    SetStallConfig {
        /// The queue.
        queue: Arc<str>,
        /// What changes.
        patch: StallPatch,
    },
    /// Metrics of one queue: totals since the start.
    QueueMetrics {
        /// The queue.
        queue: Arc<str>,
    },
    /// Metrics, Stats: totals of the broker.
    Totals,
    /// The window's Release: only if owner and generation are what was on screen (gui.md 3.4).
    ReleaseKey {
        /// The queue.
        queue: Arc<str>,
        /// The key.
        key: Arc<str>,
        /// The owner that was seen.
        owner: JobId,
        /// The owner's generation that was seen.
        generation: JobKey,
    },
    /// The window's Undo of a release: only if the key is free and the owner still has a right to it.
    RestoreKey {
        /// The queue.
        queue: Arc<str>,
        /// The key.
        key: Arc<str>,
        /// The owner's generation before the release.
        generation: JobKey,
    },
    /// The window's Remove: any job that is not active, with its key.
    RemoveJob {
        /// The job.
        id: JobId,
    },
    /// The window's Retry: a failed or completed job.
    RetryJob {
        /// The job.
        id: JobId,
    },
}
