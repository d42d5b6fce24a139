//! Schedules in the world: every firing is counted once, whatever happens around it, and those of one kind make one job each.
//!
//! Nobody touches the jobs of the schedules called "tick …" before the world winds up, so what was counted can be counted again.
//! Others come from clients. A commit that fails at a due moment must not lose the firing; what a start makes of missed runs is
//! judged by [`crate::settings`].

use crate::random::Random;
use onceover_engine::Engine;
use onceover_engine::calendar::Pattern;
use onceover_engine::command::{Command, NewJob, RareOptions};
use onceover_engine::schedule::{Request, Rule, Save, Schedule, ScheduleId, Timing, overlap_key};
use onceover_engine::time::{Millis, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The queue of the jobs that clients' schedules make.
pub const TIMED: &str = "timed";
/// Firings of one "tick"; a world that only grows would spend its time on comparing.
const LIMIT: u64 = 5;
/// "Ticks" of one world.
const TICKS_MAX: usize = 4;

/// What was seen of the schedules after the last turn that was committed.
#[derive(Debug, Default)]
pub struct Ticks {
    made: usize,
    seen: BTreeMap<ScheduleId, Seen>,
    /// Schedules that somebody asked to delete, since then.
    deleting: BTreeSet<Arc<str>>,
    /// Firings that were counted.
    pub fired: u64,
}

#[derive(Debug)]
struct Seen {
    name: Arc<str>,
    executions: u64,
    next_run: Timestamp,
    exhausted: bool,
    needs_worker: bool,
}

fn is_tick(name: &str) -> bool {
    name.starts_with("tick ")
}

fn save(name: &str, timing: Timing, limit: Option<u64>) -> Rule {
    let name: Arc<str> = name.into();
    let rare = RareOptions { schedule: Some(name.clone()), ..RareOptions::default() };
    let queue = if is_tick(&name) { "ticks" } else { TIMED };
    let spec = NewJob { rare: Some(Box::new(rare)), ..NewJob::new(queue, "tick") };
    Rule {
        name,
        timing,
        also_every: None,
        timezone: None,
        limit,
        skip_missed_on_restart: true,
        skip_if_no_worker: false,
        spec: Arc::new(spec),
        dedup_key: None,
    }
}

/// A client saves a schedule or deletes one.
pub fn request(random: &mut Random) -> Command {
    let name = random.pick(&["s0", "s1", "s2"]);
    if random.chance(20) {
        return Command::Schedule(Request::Delete { name: name.into() });
    }
    let timing = match random.below(4) {
        0 => Timing::Calendar(Pattern::parse("*/5 * * * * *", None).expect("a pattern")),
        1 => Timing::Calendar(Pattern::parse("@hourly", None).expect("a pattern")),
        _ => Timing::Every(Millis(random.pick(&[700, 7_000, 60_000]))),
    };
    let mut rule = save(name, timing, random.pick(&[None, Some(1), Some(3)]));
    rule.skip_missed_on_restart = random.chance(50);
    rule.skip_if_no_worker = random.chance(10);
    if random.chance(70) {
        rule.dedup_key = Some(overlap_key(name).into());
        let mut spec = (*rule.spec).clone();
        spec.rare.as_mut().expect("it names its schedule").drop_if_lost = true;
        rule.spec = Arc::new(spec);
    }
    let (immediately, takes_back) = (random.chance(30), random.chance(30));
    Command::Schedule(Request::Save(Box::new(Save { rule: Arc::new(rule), data: None, immediately, takes_back })))
}

impl Ticks {
    /// Saves a "tick" where there is none, until the world has had enough of them.
    pub fn save(&mut self, engine: &Engine) -> Option<Command> {
        if self.made >= TICKS_MAX || engine.schedules().any(|schedule| is_tick(&schedule.rule.name)) {
            return None;
        }
        self.made += 1;
        let rule = save(&format!("tick {}", self.made), Timing::Every(Millis(7_000)), Some(LIMIT));
        let save = Save { rule: Arc::new(rule), data: None, immediately: false, takes_back: false };
        Some(Command::Schedule(Request::Save(Box::new(save))))
    }

    /// Deletes all schedules, so that no more jobs come.
    pub fn stop(engine: &Engine) -> Vec<Command> {
        let delete = |name: &Arc<str>| Command::Schedule(Request::Delete { name: name.clone() });
        engine.schedules().map(|schedule| delete(&schedule.rule.name)).collect()
    }

    /// A client asks for it.
    pub fn asked(&mut self, command: &Command) {
        if let Command::Schedule(Request::Delete { name }) = command {
            self.deleting.insert(name.clone());
        }
    }

    /// After a turn that was committed.
    ///
    /// # Panics
    /// A firing was lost or counted twice, or made no job or two; or a schedule is gone that nobody deleted.
    pub fn committed(&mut self, engine: &Engine, now: Timestamp) {
        let stands: BTreeMap<ScheduleId, &Schedule> = engine.schedules().map(|it| (it.id, it)).collect();
        for (id, before) in &self.seen {
            let Seen { name, executions, next_run, exhausted, needs_worker } = before;
            let is_due = next_run.is_due(now);
            let Some(schedule) = stands.get(id) else {
                let ended = (is_due && *exhausted) || self.deleting.contains(name);
                assert!(ended, "{name} is gone at {now:?}, and nobody deleted it: {before:?}");
                continue;
            };
            assert!(!is_due || !exhausted, "{name} has made all its firings and goes: {before:?}");
            let fired = u64::from(is_due && !needs_worker);
            assert_eq!(schedule.executions, executions + fired, "{name}: due {next_run:?}, now {now:?}");
            self.fired += fired;
        }
        for Schedule { rule, executions, next_run, .. } in stands.values().copied() {
            assert!(*next_run > now, "{}: {next_run:?} at {now:?}", rule.name);
            if is_tick(&rule.name) {
                let jobs = engine.jobs().filter(|job| job.made_by() == Some(&rule.name)).count() as u64;
                assert_eq!(jobs, *executions, "{}: each firing makes a job, each job is of a firing", rule.name);
            }
        }
        let seen = |it: &Schedule| Seen {
            name: it.rule.name.clone(),
            executions: it.executions,
            next_run: it.next_run,
            exhausted: it.is_exhausted(),
            needs_worker: it.rule.skip_if_no_worker,
        };
        self.seen = stands.into_iter().map(|(id, schedule)| (id, seen(schedule))).collect();
        self.deleting.clear();
    }

    /// The process ended.
    pub fn crashed(&mut self) {
        self.seen.clear();
        self.deleting.clear();
    }
}
