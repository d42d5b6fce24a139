//! Which rows of a list the window asks for, and which of them an action is for.

use crate::view::JobState;
use serde::{Deserialize, Serialize};

/// Which adds to list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase", default)]
pub struct AddsQuery {
    /// Text of the filter box; empty for all. Free words, `field:value`, `-field:value`, `*` as wildcard.
    pub filter: String,
    /// The chip that is switched on.
    pub chip: AddsChip,
    /// `next` of the page before this one; absent for the newest rows.
    pub after: Option<String>,
    /// Rows wanted, 0 to 200. With 0 only the counts are answered.
    pub limit: u32,
    /// Newest entry the window shows; the answer's `newer` counts matching entries after it. Of groups: the first entry of
    /// the newest group.
    pub since: Option<u64>,
    /// Whether adds of the same queue, identity and decision within ten seconds are one row.
    pub grouped: bool,
    /// Only the adds of this group.
    pub within: Option<u64>,
}

/// Quick filters above the log of adds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum AddsChip {
    /// Every add.
    #[default]
    All,
    /// Adds that made no new job because an earlier one stands for them.
    Collapsed,
    /// Adds that were answered with an error.
    Rejected,
    /// Absorbed adds whose payload is not the owner's.
    DataDiffers,
    /// Adds that were sent again from the window.
    Replays,
}

/// Which keys to list, and in which order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase", default)]
pub struct KeysQuery {
    /// Text of the filter box; empty for all.
    pub filter: String,
    /// The chip that is switched on.
    pub chip: KeysChip,
    /// The column that orders the rows.
    pub sort: KeysSort,
    /// True for the reverse of the column's natural order.
    pub reverse: bool,
    /// `next` of the page before this one; absent for the first rows.
    pub after: Option<String>,
    /// Rows wanted, 0 to 200.
    pub limit: u32,
}

/// Quick filters above the keys. `JobIds` is the only one that lists custom job ids.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum KeysChip {
    /// Every deduplication key.
    #[default]
    All,
    /// Keys with something to look at.
    Attention,
    /// Less than 10 s left.
    Expiring,
    /// Ends with its owner, not by time.
    NoTtl,
    /// More than 60 adds a minute were absorbed.
    Hot,
    /// Custom job ids of unfinished jobs.
    JobIds,
}

/// Columns that can order the keys. Natural order: attention and least time left first, most collapsed first, texts from A to Z.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum KeysSort {
    /// Severity, then time left.
    #[default]
    Attention,
    /// Time left; keys without TTL last.
    TimeLeft,
    /// Key text.
    Key,
    /// Queue name, then key text.
    Queue,
    /// Adds absorbed since the owner took the key.
    Collapsed,
    /// Time of the last decision, newest first.
    LastDecision,
    /// State of the owner, then its id.
    Owner,
    /// When the owner took it, oldest first.
    Age,
    /// How often the window was set anew, most first.
    Extended,
    /// How often the owner was replaced, most first.
    Replaced,
    /// Strategy of the owner.
    Strategy,
}

/// Which jobs to list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase", default)]
pub struct JobsQuery {
    /// Only this queue.
    pub queue: Option<String>,
    /// Only this state.
    pub state: Option<JobState>,
    /// Text of the filter box; empty for all.
    pub filter: String,
    /// `next` of the page before this one; absent for the newest rows.
    pub after: Option<String>,
    /// Rows wanted, 0 to 200.
    pub limit: u32,
}

/// Jobs for an action on many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(tag = "by", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum JobsChosen {
    /// These.
    Ids {
        /// Public ids, at most 10,000.
        ids: Vec<String>,
    },
    /// All that match when it happens, at most 10,000.
    Matching {
        /// Only this queue.
        queue: Option<String>,
        /// Only this state.
        state: Option<JobState>,
        /// Text of the filter box; empty for all.
        filter: String,
    },
}

/// A key as it was on the screen: actions on it are refused once owner or generation changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct KeyRef {
    /// Queue the key is scoped to.
    pub queue: String,
    /// The whole key.
    pub key: String,
    /// Public id of the job that held it.
    pub owner_id: String,
    /// Grows with each change of owner.
    pub generation: u64,
}

/// Another window for a key, as it was on the screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct KeyWindow {
    /// Queue the key is scoped to.
    pub queue: String,
    /// The whole key.
    pub key: String,
    /// Public id of the job that held it.
    pub owner_id: String,
    /// Grows with each change of owner.
    pub generation: u64,
    /// Length of the window, 1 ms to 365 days; absent for none: the key then ends with its owner.
    pub ttl_ms: Option<i64>,
    /// Its end, in ms; absent for `ttlMs` from now.
    pub expires_at: Option<i64>,
}

/// Keys for an action on many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(tag = "by", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum KeysChosen {
    /// These, as they were on the screen.
    Refs {
        /// At most 10,000.
        keys: Vec<KeyRef>,
    },
    /// All that match now, at most 10,000.
    Matching {
        /// Text of the filter box; empty for all.
        filter: String,
        /// The chip that is switched on.
        chip: KeysChip,
    },
}
