//! What the window asks about schedules.

use serde::{Deserialize, Serialize};

/// Which schedules, and in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase", default)]
pub struct SchedulesQuery {
    /// Part of a name or of a queue's name, in any case; empty = all.
    pub filter: String,
    /// The column that orders the rows.
    pub sort: SchedulesSort,
    /// True for the reverse of the column's natural order.
    pub reverse: bool,
    /// `next` of the page before this one; absent for the first rows.
    pub after: Option<String>,
    /// Rows wanted, 0 to 200.
    pub limit: u32,
}

/// Columns that can order the schedules; equal ones stand by name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum SchedulesSort {
    /// From A to Z.
    #[default]
    Name,
    /// Queue, from A to Z.
    Queue,
    /// Next run, soonest first.
    Next,
    /// Runs so far, most first.
    Executions,
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
