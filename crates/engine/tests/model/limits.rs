//! Rate and concurrency of a queue once more (protocol-admin.md 3): a level that rises with time, where the engine keeps the moment
//! at which it is full.

use crate::adding::option;
use crate::commands::{Step, queue_name};
use crate::marks::mark;
use crate::naive::{Answer, Job, Model, State};
use std::fmt;

/// The time of every rate, ms.
pub const RATE_DURATION: i64 = 50;

/// How full a bucket was at a moment, in parts: a token is `RATE_DURATION` of them.
#[derive(Clone, Copy, Debug)]
struct Level {
    max: i64,
    parts: i64,
    at: i64,
}

impl Level {
    fn new(max: u32, now: i64, taken: i64) -> Level {
        let max = i64::from(max);
        Level { max, parts: (max - taken).max(0) * RATE_DURATION, at: now }
    }

    fn now(&self, now: i64) -> i64 {
        (self.parts + (now - self.at) * self.max).min(self.max * RATE_DURATION)
    }

    fn take(&mut self, now: i64) {
        self.parts = (self.now(now) - RATE_DURATION).max(0);
        self.at = now;
    }

    fn next_at(&self) -> Option<i64> {
        (self.max > 0).then(|| self.at + ((RATE_DURATION - self.parts).max(0) + self.max - 1) / self.max)
    }
}

/// The limits of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    most: Option<u32>,
    permanent: Option<Level>,
    temporary: Option<(Level, i64)>,
}

impl Limits {
    fn temporary(&self, now: i64) -> Option<Level> {
        self.temporary.filter(|(_, end)| now < *end).map(|(level, _)| level)
    }

    /// Moments at which something of it changes.
    pub fn moments(&self) -> impl Iterator<Item = i64> {
        let levels = [self.permanent, self.temporary.map(|(level, _)| level)];
        levels.into_iter().flatten().filter_map(|level| level.next_at()).chain(self.temporary.map(|(_, end)| end))
    }
}

impl Model {
    /// Whether the limits of a queue let a job be taken from it.
    pub fn lets_take(&self, queue: u8) -> bool {
        let limits = &self.limits[usize::from(queue)];
        let is_active = |job: &&Job| job.spec.step.queue == queue && job.state == State::Active;
        let active = self.jobs.iter().filter(is_active).count();
        if limits.most.is_some_and(|most| active >= most as usize) {
            mark("limit", "no slot");
            return false;
        }
        let level = limits.temporary(self.now).or(limits.permanent);
        let has_token = level.is_none_or(|level| level.now(self.now) >= RATE_DURATION);
        if !has_token {
            mark("limit", "no token");
        }
        has_token
    }

    /// A job of the queue was taken.
    pub fn pay(&mut self, queue: u8) {
        let now = self.now;
        let limits = &mut self.limits[usize::from(queue)];
        limits.permanent.iter_mut().for_each(|level| level.take(now));
        limits.temporary.iter_mut().for_each(|(level, _)| level.take(now));
    }

    /// RateLimit and RateLimitClear.
    pub fn rate(&mut self, queue: u8, max: Option<u32>, ttl: Option<i64>) -> Answer {
        let now = self.now;
        let limits = &mut self.limits[usize::from(queue)];
        limits.temporary = match (max, ttl) {
            (Some(max), Some(ttl)) => Some((Level::new(max, now, 0), now + ttl)),
            (Some(_), None) | (None, _) => None,
        };
        match max {
            Some(max) if ttl.is_none() => {
                if limits.permanent.is_none_or(|level| level.max != i64::from(max)) {
                    limits.permanent = Some(Level::new(max, now, 0));
                }
            }
            Some(_) => {}
            None => limits.permanent = None,
        }
        Answer::Ok
    }

    /// SetConcurrency and ClearConcurrency.
    pub fn most(&mut self, queue: u8, most: Option<u32>) -> Answer {
        self.limits[usize::from(queue)].most = most;
        Answer::Ok
    }

    /// After a start a bucket misses what is known to have been started lately. Call it before jobs are put back.
    pub fn restart_limits(&mut self) {
        let now = self.now;
        for queue in 0..self.limits.len() {
            let is_late = |job: &&Job| {
                let has_run = matches!(job.state, State::Active | State::Completed | State::Failed);
                usize::from(job.spec.step.queue) == queue && has_run && now - job.started_at < RATE_DURATION
            };
            let started = self.jobs.iter().filter(is_late).count() as i64;
            let anew = |level: Level| Level::new(level.max as u32, now, started);
            let limits = &mut self.limits[queue];
            limits.permanent = limits.permanent.map(anew);
            limits.temporary = limits.temporary.filter(|(_, end)| now < *end).map(|(level, end)| (anew(level), end));
        }
    }
}

impl Step {
    /// What holds a queue back.
    pub fn fmt_held(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Rate { queue, max, ttl } => {
                write!(out, "rate {}", queue_name(*queue))?;
                option(out, "max", *max)?;
                option(out, "ttl", *ttl)
            }
            Step::Most { queue, max } => {
                write!(out, "most {}", queue_name(*queue))?;
                option(out, "max", *max)
            }
            Step::Pause(queue) => write!(out, "pause {}", queue_name(*queue)),
            Step::Resume(queue) => write!(out, "resume {}", queue_name(*queue)),
            _ => unreachable!("the other steps have their texts elsewhere"),
        }
    }
}
