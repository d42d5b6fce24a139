//! Figures of the running broker for monitoring: totals since the start, rates, and how long clients waited.
//!
//! They live as long as the process, also when a failed commit makes the engine be read back from the file. Durations
//! are counted in classes, so that a figure costs an addition whatever the load.

use crate::rate::Rate;
use onceover_engine::reply::Totals;
use onceover_engine::time::{Millis, Timestamp};
use std::time::{Duration, Instant};

/// Upper ends of the classes of durations, in microseconds; what is longer is in one more class.
pub const CLASS_ENDS_US: [u64; 14] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 5_000_000];

/// How long something took, counted in classes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Durations {
    /// By class; the last one has no end.
    pub counts: [u64; CLASS_ENDS_US.len() + 1],
    /// Of all of them.
    pub sum: Duration,
}

impl Durations {
    /// `n` of them took `took`.
    pub fn add(&mut self, took: Duration, n: u64) {
        if n == 0 {
            return;
        }
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.counts[CLASS_ENDS_US.partition_point(|end| *end < micros)] += n;
        self.sum += took.saturating_mul(u32::try_from(n).unwrap_or(u32::MAX));
    }

    /// How many there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Their mean, in milliseconds; 0 when there were none.
    #[must_use]
    pub fn mean_ms(&self) -> f64 {
        let count = self.count();
        if count == 0 { 0.0 } else { self.sum.as_secs_f64() * 1_000.0 / count as f64 }
    }

    /// The duration that a share of them did not pass, in milliseconds: the end of its class; 0 when there were none.
    #[must_use]
    pub fn percentile_ms(&self, share: f64) -> f64 {
        let wanted = (self.count() as f64 * share).ceil() as u64;
        let mut below = 0;
        let class = self.counts.iter().position(|count| {
            below += count;
            below >= wanted
        });
        match class {
            Some(_) if wanted == 0 => 0.0,
            Some(class) => CLASS_ENDS_US[class.min(CLASS_ENDS_US.len() - 1)] as f64 / 1_000.0,
            None => 0.0,
        }
    }
}

/// What came in one message of a connection, and when it had been read.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// When the read that completed it returned.
    pub read_at: Instant,
    /// Adds in it; a batch counts as one.
    pub adds: u64,
    /// Asks for jobs.
    pub pulls: u64,
    /// Completions and failures; a batch counts as one.
    pub acks: u64,
}

/// All of them.
#[derive(Clone, Debug)]
pub struct Figures {
    started: Instant,
    /// Totals of the engine when they were looked at last.
    seen: Totals,
    /// Totals since the start.
    pub totals: Totals,
    /// Jobs made.
    pub pushed: Rate,
    /// Deliveries.
    pub pulled: Rate,
    /// Completions.
    pub completed: Rate,
    /// Final failures.
    pub failed: Rate,
    /// From the read of an add to the commit of what it did.
    pub push: Durations,
    /// The same of asks for jobs; one that waits for a job counts to the moment at which it began to wait.
    pub pull: Durations,
    /// The same of completions and failures.
    pub ack: Durations,
}

impl Default for Figures {
    fn default() -> Figures {
        Figures {
            started: Instant::now(),
            seen: Totals::default(),
            totals: Totals::default(),
            pushed: Rate::default(),
            pulled: Rate::default(),
            completed: Rate::default(),
            failed: Rate::default(),
            push: Durations::default(),
            pull: Durations::default(),
            ack: Durations::default(),
        }
    }
}

impl Figures {
    /// How long the broker has run.
    #[must_use]
    pub fn uptime(&self) -> Millis {
        Millis(i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX))
    }

    /// How long completed jobs were worked on, from their delivery on, in milliseconds; none before the first.
    #[must_use]
    pub fn mean_work_ms(&self) -> Option<f64> {
        let Totals { worked, worked_ms, .. } = self.totals;
        (worked > 0).then(|| worked_ms as f64 / worked as f64)
    }

    /// The engine was read anew: it counts from 0.
    pub(crate) fn engine_is_new(&mut self) {
        self.seen = Totals::default();
    }

    /// A turn was committed.
    pub(crate) fn turned(&mut self, now: Timestamp, totals: Totals, timed: &[Timed]) {
        for Timed { read_at, adds, pulls, acks } in timed {
            let took = read_at.elapsed();
            self.push.add(took, *adds);
            self.pull.add(took, *pulls);
            self.ack.add(took, *acks);
        }
        if totals == self.seen {
            return;
        }
        let seen = std::mem::replace(&mut self.seen, totals);
        let grown = |of: fn(&Totals) -> u64| of(&totals).saturating_sub(of(&seen));
        let (pushed, pulled) = (grown(|totals| totals.pushed), grown(|totals| totals.pulled));
        let (completed, failed) = (grown(|totals| totals.completed), grown(|totals| totals.failed));
        self.totals.pushed += pushed;
        self.totals.collapsed += grown(|totals| totals.collapsed);
        self.totals.pulled += pulled;
        self.totals.completed += completed;
        self.totals.failed += failed;
        self.totals.worked += grown(|totals| totals.worked);
        self.totals.worked_ms += grown(|totals| totals.worked_ms);
        self.pushed.add(now, pushed);
        self.pulled.add(now, pulled);
        self.completed.add(now, completed);
        self.failed.add(now, failed);
    }
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod figures_tests;
