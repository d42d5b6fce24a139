//! What the engine answers, by the shapes of protocol-core.md 3.2. One variant per shape, not per command.

use crate::command::StateName;
use crate::dead::DlqConfig;
use crate::dedup::DecisionCode;
use crate::job::{Blob, Job, LogLine};
use crate::limits::WORKER_STALE_AFTER;
use crate::names::{JobId, JobKey};
use crate::rejection::Rejection;
use crate::time::{Millis, Timestamp};
use std::sync::Arc;

/// A job as it stood when the reply was made. Blobs may be `OnDisk`: whoever sends the reply fills them first.
#[derive(Clone, Debug)]
pub struct JobRecord {
    /// The job.
    pub job: Job,
    /// Its state as clients see it.
    pub state: StateName,
}

/// A job handed to a worker.
#[derive(Clone, Debug)]
pub struct Delivered {
    /// The job.
    pub record: JobRecord,
    /// The lock's token text; none when taken without an owner.
    pub token: Option<String>,
}

/// What an add was answered with (dedup.md 11).
#[derive(Clone, Debug, PartialEq)]
pub struct Added {
    /// The job that now stands for the add.
    pub id: JobId,
    /// Which rule returned another job: `jobId`, `default`, `extend` or `keepLast`.
    pub duplicate: Option<&'static str>,
    /// The job that was removed in its favour.
    pub replaced: Option<JobId>,
}

/// A registered worker.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerRecord {
    /// Its id.
    pub worker_id: String,
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
    /// When it first registered.
    pub registered_at: Timestamp,
    /// Last register or heartbeat.
    pub last_seen: Timestamp,
    /// By its own account.
    pub active_jobs: u64,
    /// By its own account.
    pub processed: u64,
    /// By its own account.
    pub failed: u64,
    /// Since when it has run as many jobs as it can, or when that was last told of.
    pub full_since: Option<Timestamp>,
    /// The connection it belongs to; 0 = none.
    pub conn: u64,
}

impl WorkerRecord {
    /// Not heard of for longer than an active worker may be silent.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        now.since(self.last_seen) > WORKER_STALE_AFTER
    }
}

/// Jobs per state (GetJobCounts). While paused, ready jobs count as `paused`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// Ready, priority at most 0.
    pub waiting: u64,
    /// Ready, priority above 0.
    pub prioritized: u64,
    /// Not due yet.
    pub delayed: u64,
    /// Delivered.
    pub active: u64,
    /// Done and kept.
    pub completed: u64,
    /// Dead letters.
    pub failed: u64,
    /// Waiting for dependencies or parked.
    pub waiting_children: u64,
    /// Ready while the queue is paused.
    pub paused: u64,
}

impl JobCounts {
    /// The sum, state by state.
    #[must_use]
    pub fn plus(self, other: JobCounts) -> JobCounts {
        JobCounts {
            waiting: self.waiting + other.waiting,
            prioritized: self.prioritized + other.prioritized,
            delayed: self.delayed + other.delayed,
            active: self.active + other.active,
            completed: self.completed + other.completed,
            failed: self.failed + other.failed,
            waiting_children: self.waiting_children + other.waiting_children,
            paused: self.paused + other.paused,
        }
    }
}

/// A queue's stall configuration (protocol-admin.md 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StallConfig {
    /// Take part in stall detection.
    pub enabled: bool,
    /// Silence after which a job counts as stalled.
    pub stall_interval: Millis,
    /// Stalls at which the job fails for good.
    pub max_stalls: u32,
    /// Time after the start in which nothing is checked.
    pub grace_period: Millis,
}

/// A live key as ListDeduplicationKeys shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRecord {
    /// The queue.
    pub queue: Arc<str>,
    /// The key.
    pub key: Arc<str>,
    /// Its owner.
    pub job_id: JobId,
    /// The owner's state; none = gone.
    pub state: Option<StateName>,
    /// The window's length.
    pub ttl: Option<Millis>,
    /// The window's end.
    pub expires_at: Option<Timestamp>,
    /// When the owner took it.
    pub registered_at: Timestamp,
    /// Adds it absorbed.
    pub hits: u64,
    /// The last decision about it.
    pub last: Option<DecisionCode>,
}

/// Totals since this process started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Admitted jobs; repeats do not count (dedup.md 11).
    pub pushed: u64,
    /// Adds that made no job because another one stands for them.
    pub collapsed: u64,
    /// Deliveries.
    pub pulled: u64,
    /// Completions.
    pub completed: u64,
    /// Final failures.
    pub failed: u64,
    /// Completions whose work is in `worked_ms`: all but those that came late. Of the broker only.
    pub worked: u64,
    /// From their delivery to their completion, in milliseconds.
    pub worked_ms: u64,
}

/// Dead letters of a queue in figures (GetDlqStats).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DlqStats {
    /// All.
    pub total: u64,
    /// By reason text.
    pub by_reason: Vec<(&'static str, u64)>,
    /// Those that will be tried once more by themselves.
    pub pending_retry: u64,
    /// Entered first.
    pub oldest: Option<Timestamp>,
    /// Entered last.
    pub newest: Option<Timestamp>,
}

/// An answer. The comment of each variant is its shape on the wire.
#[derive(Clone, Debug)]
pub enum Reply {
    /// `{ok: true}`
    Ok,
    /// `{ok: false, error}`
    Rejected(Rejection),
    /// PUSH: `{ok, id, duplicate?, replaced?}`
    Added(Added),
    /// PUSHB: `{ok, ids}`
    AddedBulk(Vec<Added>),
    /// PULL: `{ok, job, token}` when `locked`, else `{ok, job}`; nil when empty.
    Pulled {
        /// The job, if there was one.
        job: Option<Box<Delivered>>,
        /// Whether an owner was named.
        locked: bool,
    },
    /// PULLB: `{ok, jobs, tokens}` when `locked`, else `{ok, jobs}`.
    PulledBulk {
        /// The jobs.
        jobs: Vec<Delivered>,
        /// Whether an owner was named.
        locked: bool,
    },
    /// A late answer of a delivery that timed out: `{ok, data: {applied: false, reason: "already-finalized"}}`
    AlreadyFinalized,
    /// ACKB with such entries: `{ok, data: {ignoredIndices, ignoredIds}}`
    AckBulkIgnored {
        /// Position and id of each.
        ignored: Vec<(usize, JobId)>,
    },
    /// JobHeartbeat, Heartbeat: `{ok, data: {ok: true}}`
    DataOk,
    /// JobHeartbeatB: `{ok, data: {ok: true, count}}`
    Renewed {
        /// How many.
        count: u64,
    },
    /// Counts: `{ok, count}`
    Count(u64),
    /// RegisterWorker: `{ok, data: {workerId, …}}`
    Worker(Box<WorkerRecord>),
    /// UnregisterWorker: `{ok, data: {removed: true}}`
    WorkerRemoved,
    /// ListWorkers: `{ok, data: {workers, stats}}`
    Workers {
        /// In order of their ids.
        workers: Vec<WorkerRecord>,
        /// Jobs completed by all workers since the start, those included that are gone.
        processed: u64,
        /// Jobs failed by them.
        failed: u64,
        /// The moment from which it is seen who is silent.
        now: Timestamp,
    },
    /// To a command of webhooks.
    Webhook(crate::webhook::Answer),
    /// GetJob: `{ok, job}` with `state`, `returnvalue`, `failedReason`.
    Job(Box<JobRecord>),
    /// GetJobByCustomId: `{ok, job}` with `returnvalue`, `failedReason`, without `state`.
    JobByCustomId(Box<JobRecord>),
    /// GetJobs: `{ok, jobs}`, each as in GetJob.
    Jobs(Vec<JobRecord>),
    /// GetState: `{ok, id, state}`; none = `unknown`.
    State {
        /// As asked.
        id: JobId,
        /// The state.
        state: Option<StateName>,
    },
    /// GetResult: `{ok, id, result}`; absent when there is none.
    Result {
        /// As asked.
        id: JobId,
        /// The generation, to find a result on disk.
        key: Option<JobKey>,
        /// The result.
        result: Blob,
    },
    /// GetProgress: `{ok, progress, message}`
    Progress {
        /// 0 to 100.
        progress: f64,
        /// nil when none.
        message: Option<String>,
    },
    /// GetJobCounts: `{ok, counts}`
    Counts(JobCounts),
    /// GetCountsPerPriority: `{ok, queue, counts}`
    PriorityCounts {
        /// As asked.
        queue: Arc<str>,
        /// Priority and count, ascending.
        counts: Vec<(i32, u64)>,
    },
    /// WaitJob: `{ok, completed, result}`
    Waited {
        /// The generation, to find a result on disk.
        key: Option<JobKey>,
        /// Whether the job completed.
        completed: bool,
        /// The result of a completed job.
        result: Blob,
        /// The last error of a job that failed for good: the wait ends, `completed` is false.
        failed: Option<String>,
    },
    /// AddLog: `{ok, data: {added: true}}`
    LogAdded,
    /// GetLogs: `{ok, data: {logs, count}}`
    Logs {
        /// The lines asked for.
        lines: Vec<LogLine>,
        /// All that are kept.
        total: u64,
    },
    /// GetDeduplicationJobId: `{ok, data: {jobId}}`, nil when free.
    KeyOwner(Option<JobId>),
    /// RemoveDeduplicationKey: `{ok, data: {count}}`
    KeysRemoved(u64),
    /// RemoveJobDeduplicationKey, RemoveDlqJob: `{ok, data: {removed}}`
    Removed(bool),
    /// ListDeduplicationKeys: `{ok, data: {keys, total, now}}`
    Keys {
        /// The page.
        keys: Vec<KeyRecord>,
        /// All that match.
        total: u64,
        /// The moment the remaining times count from.
        now: Timestamp,
    },
    /// About trees of jobs.
    Flow(crate::flow::Answer),
    /// MoveToWaitingChildren: `{ok, data: {moved: true}}`
    Moved,
    /// IsPaused: `{ok, paused}`
    Paused(bool),
    /// Clean: `{ok, count, ids}`
    Cleaned(Vec<JobId>),
    /// ListQueues: `{ok, queues}`
    Queues(Vec<Arc<str>>),
    /// Dlq: `{ok, jobs, entries}`
    Dlq(Vec<JobRecord>),
    /// GetDlqStats: `{ok, data: {stats}}`
    DlqStats {
        /// As asked.
        queue: Arc<str>,
        /// The figures.
        stats: DlqStats,
    },
    /// GetQueueLimits
    Limits(crate::limit::Standing),
    /// A group command
    Group(crate::group::Answer),
    /// GetDlqConfig: `{ok, config}`; `max_entries` is set.
    DlqConfig(DlqConfig),
    /// GetStallConfig: `{ok, config}`
    StallConfig(StallConfig),
    /// Cron, CronGet, CronList.
    Schedule(crate::schedule::Answer),
    /// Totals of the broker.
    Totals {
        /// Since the start.
        totals: Totals,
        /// As they stand.
        counts: JobCounts,
    },
}
