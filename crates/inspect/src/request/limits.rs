//! What is asked about limits and groups.

use crate::view::RateLimit;
use serde::{Deserialize, Serialize};

/// A queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct OfQueue {
    /// Its name.
    pub queue: String,
}

/// The limits that a queue has from now on; what is absent is cleared, and a temporary rate ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct LimitChange {
    /// Name of the queue.
    pub queue: String,
    /// Active jobs at once; 0 = none.
    pub concurrency: Option<u64>,
    /// Jobs in a time.
    pub rate: Option<RateLimit>,
}

/// Whether a group is paused from now on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct GroupPause {
    /// Name of the queue.
    pub queue: String,
    /// Id of the group.
    pub group: String,
    /// Paused or not.
    pub paused: bool,
}
