//! The naive model's schedules (protocol-admin.md 6): when they fire, what is counted, what a start leaves out.

use crate::marks::mark;
use crate::naive::{Answer, Generation, Model, Refusal, Spec, State};
use std::rc::Rc;

/// When a schedule fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    Every(i64),
    /// One of `PATTERNS`.
    Pattern(u8),
}

/// Whether a time of day (hours are left out: all of them fit) is one that a pattern names.
type Fits = fn(second: i64, minute: i64) -> bool;

/// Cron texts and what they mean.
pub const PATTERNS: [(&str, Fits); 6] = [
    ("*/7 * * * * *", |second, _| second % 7 == 0),
    ("10-12,40 * * * * *", |second, _| matches!(second, 10..=12 | 40)),
    ("0 */3 * * * *", |second, minute| second == 0 && minute % 3 == 0),
    ("30 5,20 * * * *", |second, minute| second == 30 && matches!(minute, 5 | 20)),
    ("*/2 * * * *", |second, minute| second == 0 && minute % 2 == 0),
    ("@hourly", |second, minute| second == 0 && minute == 0),
];

impl Timing {
    /// The first moment after `after`, looked for second by second; an interval begins at `after`.
    fn first(self, after: i64) -> i64 {
        let (_, fits) = match self {
            Timing::Every(every) => return after + every,
            Timing::Pattern(at) => PATTERNS[usize::from(at)],
        };
        let mut seconds = after.div_euclid(1_000) + 1;
        while !fits(seconds % 60, seconds / 60 % 60) {
            seconds += 1;
        }
        seconds * 1_000
    }

    /// The first moment after `now` of what was due at `due`.
    fn after(self, due: i64, now: i64) -> i64 {
        let mut next = due;
        while next <= now {
            next = match self {
                Timing::Every(every) => next + every,
                Timing::Pattern(_) => self.first(now),
            };
        }
        next
    }
}

/// What is asked of a schedule.
#[derive(Clone, Debug)]
pub struct Rule {
    pub name: u8,
    pub timing: Timing,
    pub limit: Option<u64>,
    pub skips_missed: bool,
    /// It needs a worker that is registered; here none ever is.
    pub needs_worker: bool,
    pub spec: Rc<Spec>,
}

#[derive(Clone, Debug)]
pub struct Schedule {
    pub rule: Rule,
    pub next_run: i64,
    pub executions: u64,
    /// Older ones fire first.
    pub number: usize,
}

impl Schedule {
    fn is_exhausted(&self) -> bool {
        self.rule.limit.is_some_and(|limit| self.executions >= limit)
    }
}

impl Model {
    fn schedule(&self, name: u8) -> Option<usize> {
        self.schedules.iter().position(|schedule| schedule.rule.name == name)
    }

    fn schedule_answer(&self, name: u8) -> Answer {
        let schedule = self.schedule(name).map(|at| &self.schedules[at]);
        schedule.map_or(Answer::No(Refusal::NoSchedule), |it| Answer::Schedule(it.next_run, it.executions))
    }

    /// Cron.
    pub fn save(&mut self, rule: Rule, immediately: bool, takes_back: bool) -> Answer {
        let (name, now) = (rule.name, self.now);
        match self.schedule(name) {
            Some(at) => {
                if takes_back {
                    self.take_back(&rule);
                }
                let same = self.schedules[at].rule.timing == rule.timing;
                mark("schedule", if same { "saved again" } else { "changed" });
                let schedule = &mut self.schedules[at];
                schedule.next_run = if same { schedule.next_run } else { rule.timing.first(now) };
                schedule.rule = rule;
            }
            None => {
                let next_run = if immediately { now } else { rule.timing.first(now) };
                self.schedules_made += 1;
                self.schedules.push(Schedule { rule, next_run, executions: 0, number: self.schedules_made });
            }
        }
        let answer = self.schedule_answer(name);
        mark("schedule", "saved");
        answer
    }

    /// The job of the old rule that still waits goes.
    fn take_back(&mut self, rule: &Rule) {
        let step = &rule.spec.step;
        let Some(entry) = step.key.and_then(|key| self.valid(step.queue, key)) else { return };
        let owner = self.entries[entry].owner;
        let made_by = self.jobs[owner].spec.made_by.map(|(name, _)| name);
        if self.jobs[owner].state == State::Queued && made_by == Some(rule.name) {
            mark("schedule", "takes its job back");
            self.remove_job(owner);
        }
    }

    /// CronDelete.
    pub fn delete_schedule(&mut self, name: u8) -> Answer {
        match self.schedule(name) {
            Some(at) => {
                self.schedules.remove(at);
                Answer::Ok
            }
            None => Answer::No(Refusal::NoSchedule),
        }
    }

    /// The window's Run now.
    pub fn run_now(&mut self, name: u8) -> Answer {
        let spec = self.schedule(name).map(|at| self.schedules[at].rule.spec.clone());
        if let Some(spec) = spec {
            self.fire(&spec);
        }
        self.schedule_answer(name)
    }

    fn fire(&mut self, spec: &Rc<Spec>) {
        let made = self.jobs.len();
        // Nobody waits for the answer.
        let is_taken = self.admit_scheduled(spec);
        mark("schedule", if self.jobs.len() > made { "makes a job" } else { is_taken });
    }

    /// A schedule's moment has come.
    pub fn schedule_due(&mut self, number: usize) {
        let now = self.now;
        let at = self.schedules.iter().position(|schedule| schedule.number == number).expect("what is due is there");
        let schedule = &mut self.schedules[at];
        if schedule.is_exhausted() {
            mark("schedule", "goes");
            self.schedules.remove(at);
            return;
        }
        schedule.next_run = schedule.rule.timing.after(schedule.next_run, now);
        if schedule.rule.needs_worker {
            mark("schedule", "has no worker");
            return;
        }
        schedule.executions += 1;
        let spec = schedule.rule.spec.clone();
        self.fire(&spec);
    }

    /// After a start.
    pub fn skip_missed(&mut self) {
        let now = self.now;
        for schedule in &mut self.schedules {
            let skips = schedule.rule.skips_missed || schedule.rule.needs_worker;
            if schedule.next_run <= now && !schedule.is_exhausted() {
                mark("schedule", if skips { "leaves out what was missed" } else { "makes up for what was missed" });
                if skips {
                    schedule.next_run = schedule.rule.timing.after(schedule.next_run, now);
                }
            }
        }
    }

    /// A job whose delivery was lost goes where its schedule makes another; what was stored with it follows.
    pub fn drop_lost(&mut self, at: Generation) -> bool {
        let name = self.jobs[at].spec.made_by.filter(|(_, drops)| *drops).map(|(name, _)| name);
        let makes_another = name.and_then(|name| self.schedule(name)).map(|at| !self.schedules[at].is_exhausted());
        if makes_another != Some(true) {
            return false;
        }
        mark("schedule", "drops a job whose delivery was lost");
        let stored = self.jobs[at].stored_next.take();
        self.remove_job(at);
        if let Some(stored) = stored {
            self.follow(&stored);
        }
        true
    }
}
