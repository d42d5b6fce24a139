//! A schedule in the world: every firing is counted once and makes one job, whatever happens around it.
//!
//! Nobody touches the jobs it makes before the world winds up, so what was counted can be counted again. A commit that fails at a
//! due moment must not lose the firing; a crash may, for runs that come due while nobody runs are left out.

use onceover_engine::Engine;
use onceover_engine::command::{Command, NewJob, RareOptions};
use onceover_engine::schedule::{Request, Rule, Save, Timing};
use onceover_engine::time::{Millis, Timestamp};
use std::sync::Arc;

/// Firings of one schedule; a world that only grows would spend its time on comparing.
const LIMIT: u64 = 5;
/// Schedules of one world.
const SCHEDULES_MAX: usize = 4;

/// What was seen of the schedule after the last turn that was committed.
#[derive(Debug, Default)]
pub struct Ticks {
    made: usize,
    seen: Option<Seen>,
}

#[derive(Debug)]
struct Seen {
    name: Arc<str>,
    executions: u64,
    next_run: Timestamp,
}

impl Ticks {
    /// Saves a schedule where there is none, until the world has had enough of them.
    pub fn save(&mut self, engine: &Engine) -> Option<Command> {
        if self.made >= SCHEDULES_MAX || engine.schedules().next().is_some() {
            return None;
        }
        self.made += 1;
        let name: Arc<str> = format!("tick {}", self.made).into();
        let rare = RareOptions { schedule: Some(name.clone()), ..RareOptions::default() };
        let spec = NewJob { rare: Some(Box::new(rare)), ..NewJob::new("ticks", "tick") };
        let rule = Rule {
            name,
            timing: Timing::Every(Millis(7_000)),
            also_every: None,
            timezone: None,
            limit: Some(LIMIT),
            skip_missed_on_restart: true,
            skip_if_no_worker: false,
            spec: Arc::new(spec),
            dedup_key: None,
        };
        let save = Save { rule: Arc::new(rule), data: None, immediately: false, takes_back: false };
        Some(Command::Schedule(Request::Save(Box::new(save))))
    }

    /// Deletes the schedule, so that no more jobs come.
    pub fn stop(engine: &Engine) -> Vec<Command> {
        let delete = |name: &Arc<str>| Command::Schedule(Request::Delete { name: name.clone() });
        engine.schedules().map(|schedule| delete(&schedule.rule.name)).collect()
    }

    /// After a turn that was committed.
    ///
    /// # Panics
    /// A firing was lost or counted twice, or made no job or two.
    pub fn committed(&mut self, engine: &Engine, now: Timestamp) {
        let before = self.seen.take();
        let Some(schedule) = engine.schedules().next() else { return };
        let name = schedule.rule.name.clone();
        let jobs = engine.jobs().filter(|job| job.made_by() == Some(&name)).count() as u64;
        assert_eq!(jobs, schedule.executions, "{name}: each firing makes a job, each job is of a firing");
        assert!(schedule.executions <= LIMIT && schedule.next_run > now, "{name}: {schedule:?} at {now:?}");
        if let Some(before) = before.filter(|before| before.name == name) {
            let due = u64::from(before.next_run.is_due(now));
            assert_eq!(schedule.executions, before.executions + due, "{name}: due {:?}, now {now:?}", before.next_run);
        }
        self.seen = Some(Seen { name, executions: schedule.executions, next_run: schedule.next_run });
    }

    /// The process ended.
    pub fn crashed(&mut self) {
        self.seen = None;
    }
}
