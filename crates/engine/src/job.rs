//! A job as the engine holds it: what was asked for, where it stands, who runs it.

use crate::command::{Add, NewJob, Payload, StateName};
use crate::flow::Links;
use crate::names::{ConnId, JobId, JobKey, KeyText, LockToken, QueueId};
use crate::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use thin_vec::ThinVec;

/// Bytes that are in memory, or only in the store's file, or not there at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Blob {
    /// There is none.
    #[default]
    Absent,
    /// In memory.
    Here(Payload),
    /// In the file only, under the job's generation; whoever sends it on reads it there.
    OnDisk,
}

impl From<Option<Payload>> for Blob {
    fn from(bytes: Option<Payload>) -> Blob {
        bytes.map_or(Blob::Absent, Blob::Here)
    }
}

/// The stored part of a job's state. Waiting, prioritized and delayed are told apart when looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// Ready or delayed.
    Queued,
    /// Waits for dependencies, or was parked by its worker.
    Blocked,
    /// Delivered.
    Active,
    /// Done.
    Completed,
    /// A dead letter.
    Failed,
}

/// One job, one generation. A million of them are held in memory: `memory_tests.rs` says how large one may be. What few jobs have
/// belongs into [`RareState`], what jobs of a kind share into [`NewJob`].
#[derive(Clone, Debug)]
pub struct Job {
    /// Its generation.
    pub key: JobKey,
    /// Its public id.
    pub id: JobId,
    /// Where it lives.
    pub queue: QueueId,
    /// What was asked for; shared by the jobs of its kind.
    pub spec: Arc<NewJob>,
    /// The key it asked for, whether or not it owns it.
    pub dedup_key: Option<KeyText>,
    /// Whether its id is one that was asked for.
    pub has_custom_id: bool,
    /// The stored part of its state.
    pub state: JobState,
    /// Whether a queued job waits in the ready order (and not in the delayed one). Only meaningful while `Queued`.
    pub ready: bool,
    /// The payload.
    pub data: Blob,
    /// A fingerprint of the payload, to see that a repeat carried other data (`EngineConfig::fingerprint`).
    pub fingerprint: u64,
    /// Current priority.
    pub priority: i32,
    /// Current lifo flag.
    pub lifo: bool,
    /// `timestamp` option or the moment of the add.
    pub created_at: Timestamp,
    /// Ready from this moment.
    pub run_at: Timestamp,
    /// Start of the current or last attempt.
    pub started_at: Option<Timestamp>,
    /// Completion; none for dead letters, whose moment is in `Failure`.
    pub completed_at: Option<Timestamp>,
    /// Last sign of life of its worker.
    pub last_heartbeat: Timestamp,
    /// Failed tries.
    pub attempts: u32,
    /// How often it stalled or lost its lock.
    pub stall_count: u32,
    /// 0 to 100.
    pub progress: f64,
    /// The result, once completed.
    pub result: Blob,
    /// Who runs it; exactly while `Active`.
    pub delivery: Option<Box<Delivery>>,
    /// The file may have a row of its own for what became of it (`taken.rs`).
    pub has_state_row: bool,
    /// What few jobs have.
    pub extra: Extra,
}

/// What grows with a job's life; empty for a job that only waits. Stored as it stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Extra {
    /// Steps after the admission, oldest first; with it at most 20, later ones are dropped (protocol-core.md 4.1).
    #[serde(skip_serializing_if = "ThinVec::is_empty")]
    pub timeline: ThinVec<TimelineEntry>,
    /// The rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rare: Option<Box<RareState>>,
}

/// State that few jobs have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RareState {
    /// The state it began in, where that is another one than its request says: its dependencies had completed already, or a
    /// `timestamp` of long ago left nothing of its delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admitted_as: Option<StateName>,
    /// Text of the last Progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress_message: Option<String>,
    /// Last FAIL that carried one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stacktrace: Vec<String>,
    /// Why and when it failed for good; exactly while `Failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Every failed attempt, oldest first, at most 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_attempts: Vec<FailedAttempt>,
    /// Retries by itself since it was last retried by hand, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_retries: Option<AutoRetries>,
    /// What a blocked job waited for when it began to wait, ascending, each once; empty for others. Which of them have ended
    /// since is told apart (`flow_wait.rs`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unresolved: Vec<JobId>,
    /// Whether the worker parked it (MoveToWaitingChildren), so that dependencies alone do not free it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub parked_by_worker: bool,
    /// Its place among other jobs, once it is not the one it was added with any more. What clients read of it in the data is
    /// written when that is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<Box<Links>>,
    /// It ended while its parent was still to be named, and leaves once it is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub remove_when_linked: bool,
    /// keepLastIfActive: the add that follows when this job ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_next: Option<Box<Add>>,
    /// The run that followed the completion of a repeating job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_run: Option<JobKey>,
    /// Log lines, newest last, at most 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<LogLine>,
    /// The token of a delivery that ended by a lost lease or a stall: its late completion still counts (protocol-core.md 5.6).
    #[serde(skip)]
    pub late_token: Option<LockToken>,
    /// Tokens of deliveries that ran into the job's timeout: their late answers are ignored, not refused.
    #[serde(skip)]
    pub timed_out: Vec<LockToken>,
}

/// A step of a job's life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimelineEntry {
    /// The state it reached.
    pub state: StateName,
    /// When.
    pub at: Timestamp,
    /// The failure's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Attempt number, for failures and retries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

/// Why a job is a dead letter (protocol-admin.md 5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind.
    pub reason: FailureReason,
    /// The last message.
    #[serde(default)]
    pub error: Option<String>,
    /// When it entered the dead letters.
    pub entered_at: Timestamp,
    /// When it is tried once more by itself, while its queue wants that; none = not any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_retry_at: Option<Timestamp>,
    /// When it is forgotten; none = never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// Retries that a dead letter got by itself, kept through the runs that they start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AutoRetries {
    /// How many; at least 1.
    pub count: u32,
    /// When the last one was.
    pub last_at: Timestamp,
}

/// The reasons of protocol-admin.md 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureReason {
    /// FAIL on the last attempt, or unrecoverable; lease lost or stalled on the last attempt.
    MaxAttemptsExceeded,
    /// The attempt ran longer than the job's `timeout`.
    Timeout,
    /// `maxStalls` reached.
    Stalled,
    /// Discarded.
    Unknown,
    /// Only for attempts that were retried.
    ExplicitFail,
}

impl FailureReason {
    /// The text on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            FailureReason::MaxAttemptsExceeded => "max_attempts_exceeded",
            FailureReason::Timeout => "timeout",
            FailureReason::Stalled => "stalled",
            FailureReason::Unknown => "unknown",
            FailureReason::ExplicitFail => "explicit_fail",
        }
    }
}

/// One failed attempt, as dead letters list them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailedAttempt {
    /// 1 for the first.
    pub attempt: u32,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it failed.
    pub failed_at: Timestamp,
    /// The kind.
    pub reason: FailureReason,
    /// The message.
    #[serde(default)]
    pub error: Option<String>,
}

/// A line of a job's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// When it came in.
    pub at: Timestamp,
    /// `info` and so on, as given.
    pub level: String,
    /// The text.
    pub message: String,
}

/// Who runs a job. Ownership is per delivery, not per job (protocol-core.md 2.5).
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// Which delivery of this process, ascending.
    pub number: u64,
    /// The connection that took it; none once that connection has ended and the job stayed active.
    pub conn: Option<ConnId>,
    /// When that connection ended.
    pub conn_lost_at: Option<Timestamp>,
    /// The lease; none when taken without an owner, or after a heartbeat came too late.
    pub lock: Option<JobLock>,
    /// Taken without an owner and meant to outlive its connection.
    pub detached: bool,
    /// Seen silent too long once already; the next look handles it.
    pub stall_candidate: bool,
    /// How far the clock went ahead during it without the time having passed.
    pub skipped: Millis,
    /// The list of the file in which it stands (`taken.rs`).
    pub list: Option<JobKey>,
}

/// A lease on a job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobLock {
    /// The secret.
    pub token: LockToken,
    /// In whose name.
    pub owner: Arc<str>,
    /// Time to live, kept for later heartbeats.
    pub ttl: Millis,
    /// Runs out at this moment; acted upon by the next sweep only.
    pub expires_at: Timestamp,
    /// Renewals so far; a lock that was never renewed ends with its connection.
    pub renewals: u32,
}

impl Job {
    /// Bytes of its payload and its result, as far as they are in memory.
    pub fn payload_bytes(&self) -> usize {
        let bytes = |blob: &Blob| match blob {
            Blob::Here(bytes) => bytes.len(),
            Blob::Absent | Blob::OnDisk => 0,
        };
        bytes(&self.data) + bytes(&self.result)
    }

    /// The state as clients see it.
    pub fn state_name(&self, now: Timestamp) -> StateName {
        match self.state {
            JobState::Queued if !self.run_at.is_due(now) => StateName::Delayed,
            JobState::Queued if self.priority > 0 => StateName::Prioritized,
            JobState::Queued => StateName::Waiting,
            JobState::Blocked => StateName::WaitingChildren,
            JobState::Active => StateName::Active,
            JobState::Completed => StateName::Completed,
            JobState::Failed => StateName::Failed,
        }
    }

    /// Not completed and not failed (dedup.md 1).
    pub fn is_live(&self) -> bool {
        match self.state {
            JobState::Queued | JobState::Blocked | JobState::Active => true,
            JobState::Completed | JobState::Failed => false,
        }
    }

    /// Rare state, if it has any.
    pub fn rare(&self) -> Option<&RareState> {
        self.extra.rare.as_deref()
    }

    /// Rare state to change; made when it is not there yet.
    pub fn rare_mut(&mut self) -> &mut RareState {
        self.extra.rare.get_or_insert_default()
    }

    /// Why it is a dead letter.
    pub fn failure(&self) -> Option<&Failure> {
        self.rare().and_then(|rare| rare.failure.as_ref())
    }

    /// The job without what no store keeps: its delivery, and the tokens of earlier ones.
    #[must_use]
    pub fn as_stored(&self) -> Job {
        let mut job = Job { delivery: None, has_state_row: false, ..self.clone() };
        if let Some(rare) = job.extra.rare.as_deref_mut() {
            rare.late_token = None;
            rare.timed_out.clear();
        }
        job
    }

    /// The group whose lane it waits in.
    pub fn group(&self) -> Option<&Arc<str>> {
        self.spec.rare.as_ref()?.group.as_ref().map(|group| &group.id)
    }

    /// Longest run of one attempt, greater than 0; none = no limit.
    pub fn timeout(&self) -> Option<Millis> {
        self.spec.rare.as_ref()?.timeout.filter(|timeout| timeout.0 > 0)
    }

    /// When the current attempt has run for as long as it may; none without an attempt or a limit.
    pub(crate) fn attempt_ends_at(&self) -> Option<Timestamp> {
        let skipped = self.delivery.as_ref()?.skipped;
        Some(self.started_at?.plus(self.timeout()?).plus(skipped))
    }

    /// Whether it makes a successor when it completes.
    pub fn repeats(&self) -> bool {
        self.spec.rare.as_ref().is_some_and(|rare| rare.repeat.is_some())
    }

    /// The schedule that made it.
    pub fn made_by(&self) -> Option<&Arc<str>> {
        self.spec.rare.as_ref()?.schedule.as_ref()
    }

    /// The state that the request alone makes a new job have.
    pub(crate) fn state_asked_for(&self) -> StateName {
        if self.spec.rare.as_ref().is_some_and(|rare| !rare.depends_on.is_empty()) {
            StateName::WaitingChildren
        } else if self.spec.delay.0 > 0 {
            StateName::Delayed
        } else if self.spec.priority > 0 {
            StateName::Prioritized
        } else {
            StateName::Waiting
        }
    }

    /// The first step of its timeline. It is not stored where it follows from the request.
    pub fn admission(&self) -> TimelineEntry {
        let state = self.rare().and_then(|rare| rare.admitted_as).unwrap_or_else(|| self.state_asked_for());
        TimelineEntry { state, at: self.created_at, error: None, attempt: None }
    }

    /// The whole timeline: the admission, then what followed.
    pub fn timeline(&self) -> Vec<TimelineEntry> {
        std::iter::once(self.admission()).chain(self.extra.timeline.iter().cloned()).collect()
    }

    /// The last message of a failure in the timeline (protocol-core.md 4.1, `failedReason`).
    pub fn failed_reason(&self) -> Option<&str> {
        let failures = self.extra.timeline.iter().filter(|entry| entry.state == StateName::Failed);
        failures.rev().find_map(|entry| entry.error.as_deref().filter(|error| !error.is_empty()))
    }
}
