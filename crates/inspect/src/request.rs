//! What a window may ask: every question and every action, as one enum that travels as JSON `{"type": "...", ...}`.
//!
//! The TypeScript in `ui/src/bindings` is generated from these types by `cargo test -p onceover-inspect`.
//! An action names what was on the screen (owner and generation), so nothing happens to something the user did not see.
//! Which answer belongs to which request is noted at each variant. Nothing here looks at the broker.

use serde::{Deserialize, Serialize};

mod compose;
mod limits;
mod lists;
mod schedules;
mod webhooks;

pub use crate::new_add::{BackoffAsked, BackoffKind, NewAdd, RepeatAsked};
use crate::view::{Action, JobState, SettingChange};
pub use compose::{ExportAdds, ExportFormat, StartRun};
pub use limits::{GroupPause, LimitChange, OfQueue};
pub use lists::{
    AddsChip, AddsQuery, JobsChosen, JobsQuery, KeyRef, KeyWindow, KeysChip, KeysChosen, KeysQuery, KeysSort,
};
pub use schedules::{ScheduleAct, ScheduleVerb, SchedulesQuery, SchedulesSort};
pub use webhooks::{NewWebhook, WebhookAct, WebhookVerb};

pub use crate::playground::scenario::{
    LaneSpec, LaneStrategy, Scenario, ScriptAct, ScriptStep, WorkerMove, WorkerSpec,
};

/// One question or action of the window. A failed request is answered with `view::Failure` instead of its view.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Request {
    /// State of the broker and the counts beside the navigation. Answer: `Overview`. Works without a running broker.
    Overview,
    /// A page of the log of adds, newest first. Answer: `AddsPage`.
    Adds(AddsQuery),
    /// One logged add in full. Answer: `AddDetail`.
    Add {
        /// Number of the add in the log.
        seq: u64,
    },
    /// The whole payload of a logged add, as text that can be changed and sent. Answer: `Text`.
    AddData {
        /// Number of the add in the log.
        seq: u64,
    },
    /// A PUSH command from its JSON text. Answer: `AddRead`.
    ReadAdd {
        /// The command.
        text: String,
        /// The logged add that its payload was made from.
        origin: Option<u64>,
    },
    /// What would become of an add if it were sent now; nothing is changed. Answer: `DryRun`.
    DryRun(Box<NewAdd>),
    /// The last run of many adds. Answer: `RunView`.
    Run,
    /// A part of the log of adds as lines of a file. Answer: `ExportPart`.
    ExportAdds(ExportAdds),
    /// A logged add as a draft of the composer. Answer: `DraftView`.
    Draft {
        /// Number of the add in the log.
        seq: u64,
    },
    /// A page of the keys that are held. Answer: `KeysPage`.
    Keys(KeysQuery),
    /// One held key in full. Answer: `KeyDetail`.
    Key {
        /// Queue the key is scoped to.
        queue: String,
        /// The whole key.
        key: String,
    },
    /// What a release would do if it happened now. Answer: `ReleasePreview`.
    ReleasePreview {
        /// Queue the key is scoped to.
        queue: String,
        /// The whole key.
        key: String,
    },
    /// What a release of many keys would do if it happened now. Answer: `KeysPreview`.
    KeysPreview {
        /// Which keys.
        keys: KeysChosen,
    },
    /// What deserves a look, worst first. Answer: `AttentionView`.
    Attention,
    /// A page of jobs, in the order of `JobsPage`. Answer: `JobsPage`.
    Jobs(JobsQuery),
    /// One job in full. Answer: `JobDetail`.
    Job {
        /// Public id of the job.
        id: String,
    },
    /// A job's payload as text that can be edited, however long. Answer: `Text`.
    JobData {
        /// Public id of the job.
        id: String,
    },
    /// What an action on many jobs would meet. Answer: `JobsPreview`.
    JobsPreview {
        /// `retry`, `remove` or `promote`.
        action: Action,
        /// Which jobs.
        jobs: JobsChosen,
    },
    /// All queues. Answer: `QueuesView`.
    Queues,
    /// Connected programs and protocol problems. Answer: `ClientsView`.
    Clients,
    /// A page of the schedules. Answer: `SchedulesView`.
    Schedules(SchedulesQuery),
    /// All webhooks. Answer: `WebhooksView`.
    Webhooks,

    /// Runs or deletes a schedule. Answer: `ActionResult`.
    ActOnSchedule(ScheduleAct),
    /// Adds a webhook, by the rules of a client's command. Answer: `ActionResult`.
    AddWebhook(NewWebhook),
    /// Enables, disables or removes a webhook. Answer: `ActionResult`.
    ActOnWebhook(WebhookAct),
    /// Frees a key; its job stays. Refused when owner or generation changed. Answer: `ActionResult`, with `undo`.
    ReleaseKey(KeyRef),
    /// Frees many keys, each for itself; those that changed are left alone. Answer: `ActionResult`, with `undo` and
    /// `leftAlone`.
    ReleaseKeys {
        /// As they were on the screen, at most 10,000.
        keys: Vec<KeyRef>,
        /// Whether keys whose owner is active stay.
        leave_out_active: bool,
    },
    /// Puts released keys back, each if it is still free and its owner still lives. Answer: `ActionResult`.
    RestoreKeys {
        /// As they were released.
        keys: Vec<KeyRef>,
    },
    /// Gives a key another window. Refused when owner or generation changed. Answer: `ActionResult`, with `undo`.
    SetKeyWindow(KeyWindow),
    /// Sends a logged add again with the same options. Answer: `ActionResult`, with `seq` of the new log entry.
    ReplayAdd {
        /// Number of the add in the log.
        seq: u64,
    },
    /// Puts a failed job back to waiting under its id. Answer: `ActionResult`.
    RetryJob {
        /// Public id of the job.
        id: String,
    },
    /// Removes a job, which also frees its key. Answer: `ActionResult`.
    RemoveJob {
        /// Public id of the job.
        id: String,
    },
    /// Makes a delayed job runnable now. Answer: `ActionResult`.
    PromoteJob {
        /// Public id of the job.
        id: String,
    },
    /// Gives a job that has not started another payload. Refused when it started or its data changed. Answer: `ActionResult`.
    EditJobData {
        /// Public id of the job.
        id: String,
        /// `generation` of the `JobDetail` that was on the screen.
        generation: u64,
        /// `dataMark` of the same.
        data_mark: String,
        /// The new payload as JSON text.
        data_text: String,
    },
    /// Fails a job for good, whatever attempts it has left; a worker that has it is not listened to any more. Answer:
    /// `ActionResult`.
    FailJob {
        /// Public id of the job.
        id: String,
    },
    /// Takes an active job from a worker that has left and lets it wait again. Answer: `ActionResult`.
    ReturnJob {
        /// Public id of the job.
        id: String,
    },
    /// Does the same with many jobs, each for itself. Answer: `ActionResult`, with `leftAlone`.
    BulkJobs {
        /// `retry`, `remove` or `promote`.
        action: Action,
        /// Which jobs.
        jobs: JobsChosen,
    },
    /// Stops handing out jobs of a queue. Answer: `ActionResult`.
    PauseQueue {
        /// Name of the queue.
        queue: String,
    },
    /// Hands out jobs of a paused queue again. Answer: `ActionResult`.
    ResumeQueue {
        /// Name of the queue.
        queue: String,
    },
    /// Removes the jobs of a queue that wait or are delayed. Answer: `ActionResult`.
    DrainQueue(OfQueue),
    /// Removes jobs of one state that are old enough. Answer: `ActionResult`.
    CleanQueue {
        /// Name of the queue.
        queue: String,
        /// `completed`, `failed`, `waiting`, `prioritized` or `delayed`.
        state: JobState,
        /// Age from which on they are removed, in ms.
        older_than_ms: u64,
    },
    /// Removes a queue with everything in it, active jobs and keys included. Answer: `ActionResult`.
    ObliterateQueue(OfQueue),
    /// The groups of a queue, and what limits it. Answer: `GroupsView`.
    Groups(OfQueue),
    /// Sets the limits of a queue. Answer: `ActionResult`.
    ChangeLimits(LimitChange),
    /// Pauses a group, or resumes it. Answer: `ActionResult`.
    PauseGroup(GroupPause),
    /// Sets what becomes of a queue's stalled jobs and dead letters. Answer: `ActionResult`.
    ConfigureQueue(crate::view::QueueConfigured),
    /// Adds a job from the window, through the same admission as a client's. Answer: `ActionResult`, with `seq`.
    SendAdd(Box<NewAdd>),
    /// Sends an add many times over connections of its own; it goes on without the window. Answer: `ActionResult`.
    StartRun(StartRun),
    /// Ends a run before its time. Answer: `ActionResult`.
    StopRun {
        /// Its number.
        id: u64,
    },
    /// Forgets the log of adds; jobs and keys stay. Answer: `ActionResult`.
    ClearLog,
    /// Listens on this port instead of the one that is taken. Answer: `ActionResult`.
    UsePort {
        /// TCP port, 1 to 65535.
        port: u16,
    },
    /// Tries the configured port once more. Answer: `ActionResult`.
    RetryPort,
    /// Every setting as it is. Answer: `SettingsView`.
    Settings,
    /// Changes one setting while the broker runs. Answer: `ActionResult`.
    ChangeSetting {
        /// Which, and to what.
        change: SettingChange,
    },

    /// The scenarios that come with the playground. Answer: `ScenariosView`. Works without a running broker.
    Scenarios,
    /// Looks at a window's own run in the playground, or does something in it. Answer: `PlaygroundView`. Works without a
    /// running broker and touches none.
    Playground {
        /// The window's name for its run, 1 to 64 characters; one that is not known is made.
        session: String,
        /// What to do.
        act: PlaygroundAct,
    },
}

/// What a window does in its run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(tag = "do", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PlaygroundAct {
    /// Only looks.
    Look {
        /// The revision that the window has; the content is left out when it is still that.
        since: Option<u64>,
    },
    /// Takes another scenario and goes to its start.
    Load {
        /// The scenario.
        scenario: Scenario,
    },
    /// The same from the text of a file.
    Open {
        /// JSON, at most 256 KiB.
        text: String,
    },
    /// Starts, goes on, or starts anew after the end.
    Run,
    /// Stops the clock.
    Pause,
    /// Goes to the next thing that happens.
    Step,
    /// Back to the start.
    Reset,
    /// Sets how fast the clock goes.
    Speed {
        /// 1, 2 or 5.
        speed: u32,
    },
    /// One add, into every lane at the same instant.
    Add {
        /// Version of its data; absent for the next one.
        v: Option<u32>,
        /// Another key or job id than the scenario's.
        key: Option<String>,
        /// Another queue than the scenario's.
        queue: Option<String>,
    },
    /// A worker does something.
    Work {
        /// In this lane, from 0; absent for all.
        lane: Option<u8>,
        /// What it does.
        what: WorkerMove,
    },
    /// Changes how jobs are worked on, without a new start.
    SetWorker {
        /// From now on.
        worker: WorkerSpec,
    },
}
