//! What holds jobs of a queue back, as the window shows it.

use serde::{Deserialize, Serialize};

/// So many jobs in so much time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct RateLimit {
    /// Jobs; 0 = none at all.
    pub max: u64,
    /// In this time, in ms.
    pub duration_ms: u64,
}

/// What limits a queue now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct QueueLimits {
    /// Active jobs at once; absent without a limit.
    pub concurrency: Option<u64>,
    /// The lasting rate; absent without one.
    pub rate: Option<RateLimit>,
    /// A rate that counts instead until its end.
    pub temporary_rate: Option<RateLimit>,
    /// That end, in ms.
    pub temporary_until: Option<i64>,
}

/// One group of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct GroupRow {
    /// Its id.
    pub name: String,
    /// Ready and delayed jobs.
    pub waiting: u64,
    /// A worker has them.
    pub active: u64,
    /// Whether nothing of it is handed out until it is resumed.
    pub paused: bool,
    /// What else is set for it, in words; empty when nothing is.
    pub limits: String,
}

/// The groups of a queue, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct GroupsView {
    /// What limits the queue as a whole.
    pub limits: QueueLimits,
    /// The first of them.
    pub rows: Vec<GroupRow>,
    /// How many there are.
    pub total: u64,
}
