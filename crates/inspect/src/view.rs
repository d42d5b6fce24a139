//! What a window is told: plain structs that travel as JSON in camelCase, and the words of the product as enums.
//!
//! Sentences, steps, facts, attention texts and payload texts arrive here finished; the front end only places them.
//! Times are milliseconds since 1970 by the broker's clock; every view carries that clock as `now`, and `revision`,
//! which grows with every change the window could show. Nothing here computes anything.

mod adds;
mod compose;
mod jobs;
mod keys;
mod limits;
mod playground;
mod schedules;
mod settings;
mod system;
mod webhooks;

use serde::{Deserialize, Serialize};

pub use adds::{AddCounts, AddDetail, AddGroup, AddRow, AddsPage, BulkPlace, IdKind, KeyFace};
pub use compose::{AddRead, DraftView, DryRun, ExportPart, RunProgress, RunView};
pub use jobs::{
    Family, JobCounts, JobDetail, JobError, JobHolder, JobKey, JobRow, JobsPage, JobsPreview, LogLine, Relative,
    TimeEntry, TimelineEntry,
};
pub use keys::{
    Attention, AttentionCode, AttentionView, EndedKey, KeyCounts, KeyDetail, KeyGroup, KeyKind, KeyRow, KeyWorker,
    KeysPage, KeysPreview, LastDecision, ReleasePreview, Severity, Strategy,
};
pub use limits::{GroupRow, GroupsView, QueueLimits, RateLimit};
pub use playground::{
    LaneAdd, LaneEnd, LaneEnding, LaneFigures, LaneJob, LaneKey, LaneSpan, LaneView, PlayClock, PlayLine, PlayRun,
    PlaygroundView, ScenariosView,
};
pub use schedules::{ScheduleRow, SchedulesView};
pub use settings::{DataChoice, DataKind, SettingChange, SettingsView};
pub use system::{
    BrokerState, ClientProcess, ClientRole, ClientsView, DedupWindow, Lease, NavCounts, Notice, Overview,
    ProtocolProblem, QueueConfig, QueueConfigured, QueueRow, QueuesView, WorkerRow,
};
pub use webhooks::{WebhookRow, WebhooksView};

use crate::request::Request;

/// Any answer. It travels without a tag: the request's type says what comes back.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// To `Overview`.
    Overview(Box<Overview>),
    /// To `Adds`.
    Adds(AddsPage),
    /// To `Add`.
    Add(Box<AddDetail>),
    /// To `ReadAdd`.
    AddRead(Box<AddRead>),
    /// To `DryRun`.
    DryRun(Box<DryRun>),
    /// To `Run`.
    Run(RunView),
    /// To `ExportAdds`.
    Export(ExportPart),
    /// To `Draft`.
    Draft(Box<DraftView>),
    /// To `Keys`.
    Keys(KeysPage),
    /// To `Key`.
    Key(Box<KeyDetail>),
    /// To `ReleasePreview`.
    ReleasePreview(ReleasePreview),
    /// To `Jobs`.
    Jobs(JobsPage),
    /// To `Job`.
    Job(Box<JobDetail>),
    /// To `Queues`.
    Queues(QueuesView),
    /// To `Groups`.
    Groups(GroupsView),
    /// To `Clients`.
    Clients(ClientsView),
    /// To `Schedules`.
    Schedules(SchedulesView),
    /// To `Webhooks`.
    Webhooks(WebhooksView),
    /// To `Scenarios`.
    Scenarios(ScenariosView),
    /// To `Playground`.
    Playground(PlaygroundView),
    /// To every action.
    Action(Box<ActionResult>),
    /// To `JobData`.
    Text(Text),
    /// To `Settings`.
    Settings(Box<SettingsView>),
    /// To `JobsPreview`.
    JobsPreview(JobsPreview),
    /// To `KeysPreview`.
    KeysPreview(KeysPreview),
    /// To `Attention`.
    Attention(AttentionView),
}

/// A request that could not be answered. The HTTP door sends it with a status other than 200, the window's as a rejected call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
#[error("{message}")]
pub struct Failure {
    /// For the program.
    pub code: FailureCode,
    /// For the reader: cause, consequence, next step.
    pub message: String,
}

/// Why a request failed. Never compared by text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum FailureCode {
    /// The request itself makes no sense.
    BadRequest,
    /// The filter text has a mistake; the window marks it and keeps the last good result.
    BadFilter,
    /// The job, key or add is not there (any more).
    NotFound,
    /// No session with this door, or it ended.
    Unauthorized,
    /// The window may only look.
    ReadOnly,
    /// The broker is not running.
    NotRunning,
    /// A fault of ours.
    Internal,
}

/// What became of an action. `ok: false` is an expected refusal, not a `Failure`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct ActionResult {
    /// Whether it was done.
    pub ok: bool,
    /// What happened, one sentence.
    pub message: String,
    /// Why it was refused.
    pub code: Option<RefusalCode>,
    /// More to read, if any.
    pub detail: Option<String>,
    /// The job this is about: the new one, the returned one, or the owner in the way.
    pub job_id: Option<String>,
    /// Log entry that the action made.
    pub seq: Option<u64>,
    /// The action that undoes it, to be sent within 10 s.
    pub undo: Option<Box<Request>>,
    /// Of an action on many: those that were left alone, at most the first 100, with the reason of each.
    pub left_alone: Vec<LeftAlone>,
    /// State after the action.
    pub revision: u64,
}

/// One of many that an action left as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct LeftAlone {
    /// The job's id, or the key.
    pub id: String,
    /// The key's queue; empty for a job.
    pub queue: String,
    /// Why, one sentence.
    pub reason: String,
}

/// Expected refusals of actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum RefusalCode {
    /// Owner or generation is not the one on the screen any more.
    Changed,
    /// The key, job or add is not there any more.
    Gone,
    /// Not possible in the present state; the message says why.
    NotPossible,
    /// The key belongs to another job; `jobId` names it.
    KeyTaken,
    /// The add was refused by the broker; the message is the text a client gets.
    Rejected,
    /// The log kept the payload in part only.
    PayloadNotKept,
}

/// An action the window may offer, with the reason when it is not possible now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct Can {
    /// The action.
    pub action: Action,
    /// Whether it is possible now.
    pub allowed: bool,
    /// Why not; shown at the disabled button.
    pub reason: Option<String>,
}

/// Names of the actions in `Can`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// `ReleaseKey`.
    Release,
    /// `SetKeyWindow`.
    Window,
    /// `ReplayAdd`; of a key: its last add.
    Replay,
    /// `RetryJob`.
    Retry,
    /// `RemoveJob`.
    Remove,
    /// `PromoteJob`.
    Promote,
    /// `PauseQueue`.
    Pause,
    /// `ResumeQueue`.
    Resume,
    /// `EditJobData`.
    Edit,
    /// `FailJob`.
    Fail,
    /// `ReturnJob`.
    Return,
    /// `DrainQueue`.
    Drain,
    /// `CleanQueue`.
    Clean,
    /// `ObliterateQueue`.
    Obliterate,
}

/// A change hint: something the window could show is different. Sent ten times a second at most, never per event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct Changed {
    /// The newest revision.
    pub revision: u64,
    /// The broker's clock.
    pub now: i64,
}

/// States of a job, in the protocol's words, and `gone` for an owner that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// Ready to run.
    Waiting,
    /// Ready to run, with a priority.
    Prioritized,
    /// Runs later.
    Delayed,
    /// A worker has it.
    Active,
    /// Runs when its children ended.
    WaitingChildren,
    /// Ended well.
    Completed,
    /// Ended badly, no attempts left.
    Failed,
    /// Not there; only ever the state of a key's owner.
    Gone,
}

/// What the broker decided about an add.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
pub enum Decision {
    /// No live job held the key, or there was none.
    #[serde(rename = "created")]
    Created,
    /// The key had been freed before.
    #[serde(rename = "created.freed")]
    CreatedFreed,
    /// Another live job carries the key, but lost it.
    #[serde(rename = "created.twin")]
    CreatedTwin,
    /// The key is held: the owner's id went back.
    #[serde(rename = "existing.key")]
    ExistingKey,
    /// The job id is in use in the same queue.
    #[serde(rename = "existing.job_id")]
    ExistingJobId,
    /// The job id is in use in another queue.
    #[serde(rename = "existing.elsewhere")]
    ExistingElsewhere,
    /// The payload's hash is held.
    #[serde(rename = "existing.hash")]
    ExistingHash,
    /// The owner stays, its window starts anew.
    #[serde(rename = "extended")]
    Extended,
    /// `extend` without `ttl`: the owner's id went back.
    #[serde(rename = "extended.no_ttl")]
    ExtendedNoTtl,
    /// The owner was removed and a new job made.
    #[serde(rename = "replaced")]
    Replaced,
    /// The owner runs on without the key.
    #[serde(rename = "moved")]
    Moved,
    /// The data becomes a job when the owner ends.
    #[serde(rename = "next.held")]
    NextHeld,
    /// The data that waits for the owner's end was overwritten.
    #[serde(rename = "next.updated")]
    NextUpdated,
    /// The owner cannot be kept by `extend`.
    #[serde(rename = "rejected.extend")]
    RejectedExtend,
    /// Live jobs depend on the owner.
    #[serde(rename = "rejected.dependents")]
    RejectedDependents,
    /// The add breaks a rule of the protocol.
    #[serde(rename = "rejected.invalid")]
    RejectedInvalid,
    /// A bound was reached.
    #[serde(rename = "rejected.limit")]
    RejectedLimit,
    /// The data file could not be written.
    #[serde(rename = "rejected.storage")]
    RejectedStorage,
    /// A later entry of the same bulk add took its place.
    #[serde(rename = "superseded")]
    Superseded,
}

/// The word and colour of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum Chip {
    /// A new job.
    Created,
    /// The id of an earlier job went back.
    Returned,
    /// The window of the key started anew.
    Extended,
    /// A job took the place of another.
    Replaced,
    /// The key moved on while its owner runs.
    Moved,
    /// Kept until the owner ends.
    Held,
    /// An error went back.
    Rejected,
}

/// Something worth knowing about an add besides its decision, above all what was dropped without an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct Fact {
    /// A few words, such as `data differs`.
    pub label: String,
    /// One sentence.
    pub text: String,
    /// Whether something was lost.
    pub warn: bool,
}

/// A name and a value, both finished for display.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct Named {
    /// Name as on the wire.
    pub name: String,
    /// Value as text.
    pub value: String,
}

/// A payload rendered to text by the broker's side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct Text {
    /// At most 64 KiB of it.
    pub text: String,
    /// Size of the payload on the wire, in bytes.
    pub bytes: u64,
    /// Whether `text` is all of it.
    pub complete: bool,
}
