//! What the engine can be asked to do, already validated in form by whoever decoded it.
//!
//! Times are milliseconds.

pub use crate::dead::{self, DlqFilter, DlqPatch};
pub use crate::new_job::{Add, Backoff, DedupRequest, Group, NewJob, Payload, RareOptions, Repeat};
pub use crate::state::{CleanState, ListState, StateName};
pub use crate::work::{Ack, Claim, Fail, Pull, Renewal, WorkerInfo};

use crate::limits::ACKS_AT_ONCE_MAX;
use crate::names::{JobId, JobKey};
use crate::notice::Field;
use crate::time::{Millis, Timestamp};
use std::sync::Arc;

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

impl StallPatch {
    /// What is given, in the names of SetStallConfig.
    pub(crate) fn given(&self) -> Vec<(&'static str, Option<Field>)> {
        let mut given = Vec::new();
        given.extend(self.enabled.map(|value| ("enabled", Some(value.into()))));
        given.extend(self.stall_interval.map(|value| ("stallInterval", Some(value.into()))));
        given.extend(self.max_stalls.map(|value| ("maxStalls", Some(u64::from(value).into()))));
        given.extend(self.grace_period.map(|value| ("gracePeriod", Some(value.into()))));
        given
    }
}

/// Another window for a key that is what was on screen.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowChange {
    /// The queue.
    pub queue: Arc<str>,
    /// The key.
    pub key: Arc<str>,
    /// The owner that was seen.
    pub owner: JobId,
    /// The owner's generation that was seen.
    pub generation: JobKey,
    /// The window's length from now on.
    pub ttl: Option<Millis>,
    /// Its end; none = as long as the owner lives.
    pub until: Option<Timestamp>,
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
    /// The limits of a queue.
    Limit(crate::limit::Request),
    /// The groups of a queue.
    Group(crate::group::Request),
    /// The commands of webhooks.
    Webhook(crate::webhook::Request),
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
        /// As in an add of such a job: with a group or without.
        priority: i64,
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
    /// Trees of jobs.
    Flow(crate::flow::Request),
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
    /// Dead letters and what is set about them.
    Dead(dead::Request),
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
    /// Metrics, Stats: totals of the broker.
    Totals,
    /// Cron, CronGet, CronList, CronDelete, and the window's Run now.
    Schedule(crate::schedule::Request),
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
    /// The window's Extend: gives a key another window, only if owner and generation are what was on screen.
    SetKeyWindow(WindowChange),
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
    /// The window's Edit: only of a job that waits, and only while its data is what was on screen.
    EditData {
        /// The job.
        id: JobId,
        /// Its generation that was seen.
        generation: JobKey,
        /// The fingerprint of the data that was seen.
        seen: u64,
        /// Its new payload.
        data: Option<Payload>,
    },
    /// The window's Retry: a failed or completed job.
    RetryJob {
        /// The job.
        id: JobId,
    },
}

impl Command {
    /// Whether it asks for new jobs.
    pub fn is_add(&self) -> bool {
        use crate::flow::Request;
        matches!(self, Command::Push { .. } | Command::PushBulk { .. } | Command::Flow(Request::Push(_)))
    }

    /// Whether it is a question about jobs or queues that changes nothing.
    pub fn only_asks(&self) -> bool {
        matches!(
            self,
            Command::GetJob { .. }
                | Command::GetJobByCustomId { .. }
                | Command::GetState { .. }
                | Command::GetResult { .. }
                | Command::GetProgress { .. }
                | Command::GetJobs { .. }
                | Command::GetJobCounts { .. }
                | Command::GetCountsPerPriority { .. }
                | Command::GetLogs { .. }
                | Command::GetDeduplicationJobId { .. }
                | Command::Count { .. }
                | Command::IsPaused { .. }
                | Command::ListQueues
        )
    }

    /// Whether it may be done in parts, with others' commands in between; its answer comes after the last one.
    pub fn is_long(&self) -> bool {
        use dead::Request;
        matches!(
            self,
            Command::Drain { .. }
                | Command::Obliterate { .. }
                | Command::Clean { .. }
                | Command::PromoteJobs { .. }
                | Command::RetryCompleted { .. }
                | Command::Dead(Request::Retry { .. } | Request::Purge { .. })
        ) || matches!(self, Command::AckBulk { acks } if acks.len() > ACKS_AT_ONCE_MAX)
    }
}
