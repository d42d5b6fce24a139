//! Views of the log of adds: one row per add that reached the broker, with what was decided and why.

use serde::{Deserialize, Serialize};

use super::{Can, Chip, Decision, Fact, JobState, Named, Text};

/// A page of the log, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct AddsPage {
    /// See the module `view`.
    pub revision: u64,
    /// The broker's clock, in ms.
    pub now: i64,
    /// The rows.
    pub rows: Vec<AddRow>,
    /// Cursor of the next older page; absent at the end.
    pub next: Option<String>,
    /// Newest entry of the log, whether it matches or not; 0 when empty.
    pub newest_seq: u64,
    /// Matching entries after the query's `since`.
    pub newer: u64,
    /// Entries that match.
    pub total: u64,
    /// Entries that the filter and chip hide.
    pub hidden: u64,
    /// Numbers at the chips.
    pub counts: AddCounts,
    /// Said when a search did not look at everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub note: Option<String>,
}

/// Numbers at the chips above the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct AddCounts {
    /// Every add.
    pub all: u64,
    /// Made no new job.
    pub collapsed: u64,
    /// Answered with an error.
    pub rejected: u64,
    /// Absorbed with other data.
    pub data_differs: u64,
    /// Sent again from the window.
    pub replays: u64,
}

/// One add.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct AddRow {
    /// Number in the log, ascending.
    pub seq: u64,
    /// When it was decided, in ms.
    pub at: i64,
    /// Who sent it: process and connection, `UI` or `scheduler`.
    pub client: String,
    /// Queue it named.
    pub queue: String,
    /// Job name; empty for none.
    pub name: String,
    /// What identified it.
    pub id_kind: IdKind,
    /// The key, job id or hash in full; empty for none.
    pub id_text: String,
    /// What was decided.
    pub decision: Decision,
    /// Word and colour of it.
    pub chip: Chip,
    /// Whether the row deserves a second look.
    pub warn: bool,
    /// The job that was created or returned.
    pub job_id: Option<String>,
    /// The sentence.
    pub why: String,
    /// What else to know.
    pub facts: Vec<Fact>,
    /// Start of the payload in one line, at most 120 characters.
    pub data_preview: String,
    /// Size of the payload, in bytes.
    pub size_bytes: u64,
    /// From decode to answer, in microseconds.
    pub took_us: u64,
    /// The entry this one repeats.
    pub replay_of: Option<u64>,
    /// Its place in a bulk add.
    pub bulk: Option<BulkPlace>,
    /// The group that the row stands for, if groups were asked for; the rest of the row is its newest add.
    pub group: Option<AddGroup>,
}

/// Adds of the same queue, identity and decision within ten seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct AddGroup {
    /// Its number.
    pub number: u64,
    /// How many adds.
    pub count: u64,
    /// Number of its first add.
    pub first_seq: u64,
}

/// Place of an entry in a bulk add.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct BulkPlace {
    /// From 1.
    pub index: u32,
    /// Entries in the command.
    pub total: u32,
}

/// What identifies an add.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum IdKind {
    /// A deduplication key.
    Key,
    /// A custom job id.
    JobId,
    /// A hash of the payload.
    Hash,
    /// Nothing.
    None,
}

/// One add in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct AddDetail {
    /// See the module `view`.
    pub revision: u64,
    /// The broker's clock, in ms.
    pub now: i64,
    /// The row.
    pub row: AddRow,
    /// Every option as received, in wire names.
    pub asked: Vec<Named>,
    /// How it was decided, step by step.
    pub steps: Vec<String>,
    /// The key before; absent when it was free or there was none.
    pub key_before: Option<KeyFace>,
    /// The key after.
    pub key_after: Option<KeyFace>,
    /// The payload; absent when not kept.
    pub data: Option<Text>,
    /// The owner's payload, while it is still known and differs.
    pub owner_data: Option<Text>,
    /// The answer as sent, as text.
    pub answered: String,
    /// Possible actions.
    pub can: Vec<Can>,
}

/// A key at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct KeyFace {
    /// Public id of the owner.
    pub owner_id: String,
    /// State the owner was in.
    pub owner_state: JobState,
    /// Grows with each change of owner.
    pub generation: u64,
    /// Window, in ms; absent without TTL.
    pub ttl_ms: Option<i64>,
    /// End of the window, in ms; absent without TTL.
    pub expires_at: Option<i64>,
}
