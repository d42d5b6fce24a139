//! Views of the playground: what became of the same adds in lanes with different strategies, as a picture can be drawn of it.
//!
//! Times are milliseconds since the start of the run.

use serde::{Deserialize, Serialize};

use super::{Chip, Decision, JobState};
use crate::playground::scenario::{LaneSpec, Scenario, ScriptStep};

/// The shipped scenarios, in the order of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct ScenariosView {
    /// The last one is to be played by hand.
    pub scenarios: Vec<Scenario>,
}

/// A window's run as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct PlaygroundView {
    /// Grows with everything that happens but the passing of time.
    pub revision: u64,
    /// Whether time passes.
    pub clock: PlayClock,
    /// Where the clock stands.
    pub t_ms: i64,
    /// Milliseconds of the run in one of the wall's.
    pub speed: u32,
    /// Why the clock stands still, or why nothing was done; one sentence.
    pub note: Option<String>,
    /// The rest; absent when it is what the window has already.
    pub run: Option<Box<PlayRun>>,
}

/// Whether time passes in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum PlayClock {
    /// At the start.
    Ready,
    /// Passes.
    Running,
    /// Stands.
    Paused,
    /// The scenario has ended.
    Done,
}

/// Everything that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct PlayRun {
    /// What is played.
    pub scenario: Scenario,
    /// What was done by hand so far together with the script's steps; empty when nothing was done by hand.
    pub played: Vec<ScriptStep>,
    /// Version of the newest data that was added; 0 before the first add.
    pub newest_v: u32,
    /// In the order of the scenario's.
    pub lanes: Vec<LaneView>,
    /// The log, oldest first.
    pub lines: Vec<PlayLine>,
    /// Lines that were dropped, oldest first.
    pub lines_dropped: u64,
}

/// One lane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct LaneView {
    /// What it does with every add.
    pub spec: LaneSpec,
    /// The same in words, such as `extend, TTL 3 s`.
    pub title: String,
    /// Every job it made, oldest first.
    pub jobs: Vec<LaneJob>,
    /// Every add, oldest first.
    pub adds: Vec<LaneAdd>,
    /// Every holding of a key or job id, oldest first.
    pub keys: Vec<LaneKey>,
    /// What came of it.
    pub figures: LaneFigures,
    /// Jobs that a worker could take now.
    pub ready: u32,
    /// Jobs in the hands of a worker that is there.
    pub held: u32,
}

/// One job of a lane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct LaneJob {
    /// Public id.
    pub id: String,
    /// Version of its data.
    pub v: u32,
    /// Queue it lives in.
    pub queue: String,
    /// Its states one after another, without gaps.
    pub spans: Vec<LaneSpan>,
    /// Its end.
    pub end: Option<LaneEnd>,
}

/// A stretch of a job's life in one state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct LaneSpan {
    /// The state.
    pub state: JobState,
    /// Its beginning.
    pub from: i64,
    /// Its end; absent while it lasts.
    pub to: Option<i64>,
    /// Since when its worker is gone.
    pub worker_gone: Option<i64>,
}

/// The end of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct LaneEnd {
    /// When.
    pub t: i64,
    /// How.
    pub how: LaneEnding,
}

/// How a job ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum LaneEnding {
    /// It is done.
    Completed,
    /// It failed for good.
    Failed,
    /// A newer one took its place.
    Removed,
}

/// One add in a lane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct LaneAdd {
    /// When.
    pub t: i64,
    /// Version of its data.
    pub v: u32,
    /// What was decided.
    pub decision: Decision,
    /// Word and colour of it.
    pub chip: Chip,
    /// Whether it deserves a second look.
    pub warn: bool,
    /// The sentence, as in the log of adds.
    pub why: String,
    /// Public id of the job that stands for it.
    pub job: Option<String>,
    /// Whether the broker made it, out of data that was kept.
    pub follows: bool,
}

/// A key, hash or job id while one job holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct LaneKey {
    /// Its text.
    pub key: String,
    /// Its queue; a job id is known in all, and this is where its job lives.
    pub queue: String,
    /// Version of its owner's data.
    pub v: u32,
    /// When the owner took it.
    pub from: i64,
    /// When it became free or changed hands; absent while it is held.
    pub to: Option<i64>,
    /// When its window ends, or would have ended; absent without one.
    pub until: Option<i64>,
    /// When its owner ended, if the window outlives it.
    pub owner_ended: Option<i64>,
}

/// What came of the adds of a lane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct LaneFigures {
    /// Jobs that were made.
    pub jobs: u32,
    /// Attempts that were started.
    pub runs: u32,
    /// Adds that made no job because an earlier one stands for them.
    pub absorbed: u32,
    /// Jobs that a newer one took the place of.
    pub removed: u32,
    /// Adds that were answered with an error.
    pub rejected: u32,
    /// Jobs that failed for good.
    pub failed: u32,
    /// Version of the data that ran first.
    pub first_run: Option<u32>,
    /// Version of the data that ran last.
    pub last_run: Option<u32>,
    /// Which data ran, in words.
    pub ran: String,
}

/// A line of a run's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct PlayLine {
    /// Number of the line, ascending.
    pub n: u64,
    /// When.
    pub t: i64,
    /// The lane, from 0; absent for what concerns all.
    pub lane: Option<u8>,
    /// Word and colour of an add's decision; absent for everything else.
    pub chip: Option<Chip>,
    /// What happened.
    pub text: String,
}
