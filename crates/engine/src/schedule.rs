//! Schedules: rules that make adds at given times (protocol-admin.md 6). What they are and how they are asked about; when they
//! fire is in `schedule_fire.rs`.

use crate::calendar::{Pattern, Zone};
use crate::command::{Add, NewJob, Payload};
use crate::names::JobId;
use crate::time::{Millis, Timestamp};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// When something happens again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timing {
    /// After so much time, greater than 0.
    Every(Millis),
    /// When the calendar says so.
    Calendar(Pattern),
}

impl Timing {
    /// The first run of something that begins at `now`. None = the calendar has no such moment.
    pub fn first(&self, now: Timestamp, own: &Zone) -> Option<Timestamp> {
        match self {
            Timing::Every(every) => Some(now.plus(*every)),
            Timing::Calendar(pattern) => pattern.next(now, own),
        }
    }

    /// The first run after `now` of something that was due at `due`: what was missed meanwhile does not come up again.
    pub fn after(&self, due: Timestamp, now: Timestamp, own: &Zone) -> Option<Timestamp> {
        match self {
            Timing::Every(every) => {
                let missed = now.since(due).0.max(0) / every.0.max(1);
                Some(due.plus(Millis(every.0.saturating_mul(missed.saturating_add(1)))))
            }
            Timing::Calendar(pattern) => pattern.next(now.max(due), own),
        }
    }
}

/// A schedule inside this engine: ascending, never reused, the SQLite row id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScheduleId(pub u64);

/// A schedule as it was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Unique in the broker, never empty.
    pub name: Arc<str>,
    /// When it fires.
    pub timing: Timing,
    /// `repeatEvery` beside a pattern, which decides: only shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also_every: Option<Millis>,
    /// `timezone` as it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<Arc<str>>,
    /// Firings at most, greater than 0; none = no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Runs that came due while no broker ran are left out; else one of them is made up for.
    pub skip_missed_on_restart: bool,
    /// A run is left out while no registered worker lists the queue.
    pub skip_if_no_worker: bool,
    /// What each firing adds.
    pub spec: Arc<NewJob>,
    /// The deduplication key of each firing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedup_key: Option<Arc<str>>,
}

/// A schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Its number; an update keeps it.
    pub id: ScheduleId,
    /// What was asked for.
    pub rule: Arc<Rule>,
    /// The payload of each job.
    pub data: Option<Payload>,
    /// When it is due next; of an exhausted one, when it goes.
    pub next_run: Timestamp,
    /// Firings so far, those that were left out not counted.
    pub executions: u64,
    /// The last time that it was due or run by hand.
    pub last: Option<LastRun>,
}

impl Schedule {
    /// What a firing adds.
    pub(crate) fn add(&self) -> Add {
        let (dedup_key, data) = (self.rule.dedup_key.clone(), self.data.clone());
        Add { dedup_key, data, ..Add::new(self.rule.spec.clone()) }
    }

    /// All firings that it may make are made.
    pub fn is_exhausted(&self) -> bool {
        self.rule.limit.is_some_and(|limit| self.executions >= limit)
    }
}

/// What came of a schedule's last run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LastRun {
    /// When.
    pub at: Timestamp,
    /// What.
    pub outcome: RunOutcome,
    /// The job that it made or that stood for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
}

/// What came of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// A new job.
    Added,
    /// Another job stands for it.
    Collapsed,
    /// The add was refused.
    Refused,
    /// Left out: no worker.
    NoWorker,
    /// Left out: it came due while no broker ran.
    Missed,
}

/// What can be asked about schedules.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Cron.
    Save(Box<Save>),
    /// CronGet.
    Get {
        /// The schedule.
        name: Arc<str>,
    },
    /// CronList.
    List,
    /// CronDelete.
    Delete {
        /// The schedule.
        name: Arc<str>,
    },
    /// The window's Run now: one more firing, which neither counts nor moves the next one.
    RunNow {
        /// The schedule.
        name: Arc<str>,
    },
}

/// Cron: creates a schedule or changes the one of that name.
#[derive(Clone, Debug, PartialEq)]
pub struct Save {
    /// What is asked for.
    pub rule: Arc<Rule>,
    /// The payload of each job.
    pub data: Option<Payload>,
    /// The first run is now; only of a new schedule.
    pub immediately: bool,
    /// `preventOverlap: true` was asked for in words: a change takes the job back that still waits.
    pub takes_back: bool,
}

/// Answers about schedules.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Cron, CronGet: `{ok, cron}`
    One(Schedule),
    /// CronList: `{ok, crons}`, by name.
    All(Vec<Schedule>),
}

/// Refusals about schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No schedule has that name.
    NotFound,
    /// The calendar has no moment for it.
    Never,
    /// There are as many as there may be.
    TooMany(usize),
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::NotFound => out.write_str("Cron job not found"),
            Refused::Never => out.write_str("Invalid cron expression: Cron expression has no future occurrences"),
            Refused::TooMany(most) => write!(out, "Too many cron jobs (max {most})"),
        }
    }
}

/// The key that keeps a schedule's jobs from overlapping, unless it has one of its own.
pub fn overlap_key(name: &str) -> String {
    format!("cron:{name}")
}

/// The schedules, by number and by name.
#[derive(Debug, Default)]
pub(crate) struct Schedules {
    all: FxHashMap<ScheduleId, Schedule>,
    by_name: BTreeMap<Arc<str>, ScheduleId>,
}

impl Schedules {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn get(&self, id: ScheduleId) -> Option<&Schedule> {
        self.all.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: ScheduleId) -> Option<&mut Schedule> {
        self.all.get_mut(&id)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Schedule> {
        self.all.get(self.by_name.get(name)?)
    }

    /// In the order of their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Schedule> {
        self.by_name.values().map(|id| &self.all[id])
    }

    /// Puts it in the place of the one with its number, if there is one.
    pub(crate) fn put(&mut self, schedule: Schedule) {
        self.by_name.insert(schedule.rule.name.clone(), schedule.id);
        self.all.insert(schedule.id, schedule);
    }

    pub(crate) fn remove(&mut self, id: ScheduleId) -> Option<Schedule> {
        let schedule = self.all.remove(&id)?;
        self.by_name.remove(&schedule.rule.name);
        Some(schedule)
    }
}
