//! Schedules as the window shows them.

use serde::{Deserialize, Serialize};

/// Answer to `Schedules`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct SchedulesView {
    /// See the module `view`.
    pub revision: u64,
    /// The broker's clock, in ms.
    pub now: i64,
    /// All there are, whatever the filter says.
    pub all: u64,
    /// How many match.
    pub total: u64,
    /// How many the filter hides.
    pub hidden: u64,
    /// Those of the page.
    pub rows: Vec<ScheduleRow>,
    /// Asks for the page behind this one; none = this is the last.
    pub next: Option<String>,
}

/// One schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct ScheduleRow {
    /// Its name.
    pub name: String,
    /// Where its jobs go.
    pub queue: String,
    /// The name of its jobs.
    pub job_name: String,
    /// Its cron text; none when it is an interval.
    pub pattern: Option<String>,
    /// When it runs, in words.
    pub words: String,
    /// The zone of its pattern, the broker's own included; empty for an interval.
    pub zone: String,
    /// Whether that is the broker's own, because it names none.
    pub own_zone: bool,
    /// When it runs next, in ms; of one that has made all its runs, when it goes.
    pub next_run: i64,
    /// Runs so far.
    pub executions: u64,
    /// Runs at most.
    pub limit: Option<u64>,
    /// Whether it has made all its runs.
    pub finished: bool,
    /// When it was last due, in ms.
    pub last_at: Option<i64>,
    /// What came of that, in words.
    pub last: String,
    /// The job that stands for the last run.
    pub last_job: Option<String>,
}
