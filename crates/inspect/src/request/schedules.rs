//! What the window asks about schedules.

use serde::{Deserialize, Serialize};

/// Which schedules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct SchedulesQuery {
    /// Part of a name or of a queue's name, in any case; empty = all.
    pub filter: String,
}

/// One schedule, and what to do with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct ScheduleAct {
    /// Its name.
    pub name: String,
    /// What to do.
    pub act: ScheduleVerb,
}

/// What can be done with a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum ScheduleVerb {
    /// Adds its job now; its next run stays.
    Run,
    /// Deletes it; jobs that it made stay.
    Delete,
}
