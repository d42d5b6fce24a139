//! Views of the keys: who holds which, for how long, and what a release would do.

use serde::{Deserialize, Serialize};

use super::{AddRow, Can, Chip, Decision, JobState};
use crate::request::KeyRef;

/// A page of keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct KeysPage {
    /// See the module `view`.
    pub revision: u64,
    /// The broker's clock, in ms.
    pub now: i64,
    /// The rows.
    pub rows: Vec<KeyRow>,
    /// Cursor of the next page; absent at the end.
    pub next: Option<String>,
    /// Keys that match.
    pub total: u64,
    /// Keys that the filter and chip hide.
    pub hidden: u64,
    /// Keys that ended in the last 3 s, newest first, at most 200.
    pub ended: Vec<EndedKey>,
    /// Numbers at the chips, without the filter.
    pub counts: KeyCounts,
}

/// A key that ended a moment ago.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct EndedKey {
    /// Queue it was scoped to.
    pub queue: String,
    /// The whole key.
    pub key: String,
    /// Its last owner's.
    pub generation: u64,
    /// Why it ended, a few words.
    pub reason: String,
}

/// Numbers at the chips above the keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct KeyCounts {
    /// Deduplication keys.
    pub all: u64,
    /// With something to look at.
    pub attention: u64,
    /// Less than 10 s left.
    pub expiring: u64,
    /// Without TTL.
    pub no_ttl: u64,
    /// More than 60 absorbed a minute.
    pub hot: u64,
    /// Custom job ids.
    pub job_ids: u64,
}

/// One key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct KeyRow {
    /// Queue it is scoped to.
    pub queue: String,
    /// The whole key.
    pub key: String,
    /// What kind of key.
    pub kind: KeyKind,
    /// Public id of the job that holds it.
    pub owner_id: String,
    /// State of that job.
    pub owner_state: JobState,
    /// Grows with each change of owner.
    pub generation: u64,
    /// When the owner took it, in ms.
    pub registered_at: i64,
    /// Window, in ms; absent without TTL.
    pub ttl_ms: Option<i64>,
    /// End of the window, in ms; absent without TTL.
    pub expires_at: Option<i64>,
    /// Strategy of the last add.
    pub strategy: Strategy,
    /// Adds absorbed since the owner took it.
    pub collapsed: u64,
    /// Of those, with other data than the owner's.
    pub data_differs: u64,
    /// How often the window was set anew.
    pub extended: u64,
    /// How often the owner was replaced.
    pub replaced: u64,
    /// The last add of this key.
    pub last_decision: Option<LastDecision>,
    /// What to look at, worst first; empty for a healthy key.
    pub attention: Vec<Attention>,
}

/// What kind of key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum KeyKind {
    /// A deduplication id.
    Dedup,
    /// A custom job id: broker-wide, ends with its job.
    JobId,
    /// A hash of the payload.
    Hash,
}

/// What an add of a held key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum Strategy {
    /// Returns the owner.
    Plain,
    /// Returns the owner and sets the window anew.
    Extend,
    /// Takes the owner's place.
    Replace,
    /// Keeps the newest data until the owner ends.
    KeepLast,
}

/// The last decision about a key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct LastDecision {
    /// What was decided.
    pub decision: Decision,
    /// Word and colour of it.
    pub chip: Chip,
    /// When, in ms.
    pub at: i64,
    /// Who asked.
    pub client: String,
}

/// Something about a key that deserves a look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct Attention {
    /// What it is.
    pub code: AttentionCode,
    /// How bad.
    pub severity: Severity,
    /// One line.
    pub title: String,
    /// What follows from it, and whether it heals by itself.
    pub text: String,
    /// Since when, in ms.
    pub since: i64,
    /// When it heals by itself, in ms; absent when it does not or nobody knows.
    pub heals_at: Option<i64>,
}

/// Why a key deserves a look. Order is severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "snake_case")]
pub enum AttentionCode {
    /// The owner does not exist.
    OwnerMissing,
    /// The owner ended and the key stayed.
    OwnerEnded,
    /// The owner runs, its worker left.
    WorkerGone,
    /// The owner lost its lease twice or more.
    LeaseLost,
    /// Several live jobs carry the key.
    Twin,
    /// Nobody takes jobs from the queue.
    NoWorker,
    /// The queue is paused.
    Paused,
    /// Every add pushes the owner back.
    Starving,
    /// Held for long, without TTL.
    LongHold,
    /// Absorbed adds carried other data.
    DataLost,
}

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// May need a hand.
    Warn,
    /// Broken.
    Error,
}

/// One key in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct KeyDetail {
    /// See the module `view`.
    pub revision: u64,
    /// The broker's clock, in ms.
    pub now: i64,
    /// The row.
    pub row: KeyRow,
    /// Who works on the owner.
    pub worker: Option<KeyWorker>,
    /// A sentence about the window where it needs one, such as which setting applies.
    pub window_note: Option<String>,
    /// The text that was hashed, for a hash key.
    pub hashed_text: Option<String>,
    /// What a release would do now.
    pub release: ReleasePreview,
    /// Newest adds of this key, at most 20.
    pub last_adds: Vec<AddRow>,
    /// Possible actions.
    pub can: Vec<Can>,
}

/// The worker that has a key's owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct KeyWorker {
    /// Registered name, or the client's label.
    pub name: String,
    /// Whether every connection that pulled or renewed is closed.
    pub gone: bool,
    /// End of the lease, in ms; absent without lock.
    pub lease_ends_at: Option<i64>,
}

/// What a release would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct ReleasePreview {
    /// Queue it is scoped to.
    pub queue: String,
    /// The whole key.
    pub key: String,
    /// Public id of the owner.
    pub owner_id: String,
    /// State of the owner.
    pub owner_state: JobState,
    /// Grows with each change of owner.
    pub generation: u64,
    /// What becomes of the owner and of the next add.
    pub text: String,
    /// Whether two jobs could run at once; the focus then starts on Cancel.
    pub risky: bool,
    /// Whether a release is possible.
    pub allowed: bool,
    /// Why not.
    pub reason: Option<String>,
}

/// What a release of many keys would do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct KeysPreview {
    /// See the module `view`.
    pub revision: u64,
    /// The broker's clock, in ms.
    pub now: i64,
    /// The keys it would be tried on, to be sent back with the release.
    pub keys: Vec<KeyRef>,
    /// Of those that were chosen one by one: how many changed or ended since. They will be left alone.
    pub changed: u64,
    /// By state of the owner, the riskiest last.
    pub groups: Vec<KeyGroup>,
    /// Owners that are active.
    pub active: u64,
    /// The first few.
    pub sample: Vec<KeyRow>,
    /// Said when there are more than one action takes.
    pub note: Option<String>,
}

/// Keys whose owners are in the same state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct KeyGroup {
    /// State of the owners.
    pub state: JobState,
    /// How many keys.
    pub keys: u64,
    /// What the owners do, a few words.
    pub owners: String,
    /// What the next add does.
    pub next: String,
}

/// The keys that deserve a look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct AttentionView {
    /// See the module `view`.
    pub revision: u64,
    /// The broker's clock, in ms.
    pub now: i64,
    /// How many there are.
    pub total: u64,
    /// Worst first, then the oldest; at most 200.
    pub keys: Vec<KeyRow>,
}
