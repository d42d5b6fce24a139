//! What happened in each queue, second by second over the last minute, for the small curves in the window.
//!
//! It is fed with the engine's totals once a second and makes the differences itself, so the hot path knows nothing of it.
//! A queue takes room only while something happened in it within that minute, and only so many queues have a curve.

use crate::limits::HISTORY_QUEUES_MAX;
use crate::minutes::{AllMinutes, Minutes};
use onceover_engine::effects::Effects;
use onceover_engine::reply::Totals;
use onceover_engine::time::Timestamp;
use std::collections::HashMap;
use std::sync::Arc;

/// Seconds that are remembered.
pub const HISTORY_SECONDS: usize = 60;

/// What happened in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// Jobs made.
    pub added: u32,
    /// Adds that made none because another job stands for them.
    pub collapsed: u32,
    /// Jobs that ended, well or badly.
    pub ended: u32,
}

/// The last minute of every queue in which something happened.
#[derive(Debug, Default)]
pub struct History {
    /// The second that is still running.
    second: i64,
    /// Totals when that second began.
    seen: HashMap<Arc<str>, Totals>,
    lines: HashMap<Arc<str>, Line>,
    minutes: AllMinutes,
}

#[derive(Debug)]
struct Line {
    /// The second that was written last.
    newest: i64,
    /// By second modulo the length; seconds after `newest` are to be read as empty.
    slots: [Second; HISTORY_SECONDS],
}

impl History {
    /// Whether a new second has begun, so that [`History::roll`] has something to do.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        second_of(now) > self.second
    }

    /// A new second has begun: what the totals grew by happened in the one before.
    pub(crate) fn roll<'a>(&mut self, now: Timestamp, totals: impl Iterator<Item = (&'a Arc<str>, Totals)>) {
        let mut seen = HashMap::with_capacity(self.seen.len());
        for (queue, totals) in totals {
            let before = self.seen.get(queue).copied().unwrap_or_default();
            let grown = |now: u64, before: u64| u32::try_from(now.saturating_sub(before)).unwrap_or(u32::MAX);
            let happened = Second {
                added: grown(totals.pushed, before.pushed),
                collapsed: grown(totals.collapsed, before.collapsed),
                ended: grown(totals.completed + totals.failed, before.completed + before.failed),
            };
            if happened != Second::default() {
                self.write(queue, happened);
            }
            self.minutes.grown(queue, Timestamp(self.second * 1_000), totals, before);
            seen.insert(Arc::clone(queue), totals);
        }
        self.seen = seen;
        let minute_ends = self.second.div_euclid(60) != second_of(now).div_euclid(60);
        self.second = second_of(now);
        if minute_ends {
            self.minutes.thin();
        }
        let oldest = self.second - HISTORY_SECONDS as i64;
        self.lines.retain(|_, line| line.newest >= oldest);
    }

    /// The last full seconds of a queue, oldest first; empty when nothing happened in them.
    #[must_use]
    pub fn of(&self, queue: &str, now: Timestamp) -> Vec<Second> {
        let Some(line) = self.lines.get(queue) else { return Vec::new() };
        let end = second_of(now);
        (end - HISTORY_SECONDS as i64..end).map(|second| line.at(second)).collect()
    }

    /// What ended in each minute, completed or failed for good; `totals` are the queue's as they stand.
    #[must_use]
    pub fn minutes(&self, queue: &str, failed: bool, totals: Totals, now: Timestamp) -> Minutes {
        let of = |totals: &Totals| if failed { totals.failed } else { totals.completed };
        let line = self.minutes.of(queue);
        let mut minutes =
            line.map(|line| if failed { &line.failed } else { &line.completed }).cloned().unwrap_or_default();
        // What the running second has brought, and all of a queue that is not counted.
        let before = if line.is_none() { 0 } else { self.seen.get(queue).map_or(0, of) };
        minutes.add(now, of(&totals).saturating_sub(before));
        minutes
    }

    /// A turn may have ended with fewer queues: what came in the last second of those that are gone counts, and nothing of
    /// those that were obliterated is kept.
    pub(crate) fn leave(&mut self, now: Timestamp, effects: &Effects) {
        for (queue, totals) in &effects.forgotten {
            let before = self.seen.remove(queue).unwrap_or_default();
            self.minutes.grown(queue, now, *totals, before);
        }
        for queue in &effects.obliterated {
            self.minutes.forget(queue);
            self.seen.remove(queue);
        }
    }

    fn write(&mut self, queue: &Arc<str>, happened: Second) {
        if !self.lines.contains_key(queue) && self.lines.len() >= HISTORY_QUEUES_MAX {
            return;
        }
        let second = self.second;
        let fresh = || Line { newest: second, slots: [Second::default(); HISTORY_SECONDS] };
        let line = self.lines.entry(Arc::clone(queue)).or_insert_with(fresh);
        let skipped = (second - line.newest).clamp(0, HISTORY_SECONDS as i64);
        for back in 0..skipped {
            line.slots[slot(second - back)] = Second::default();
        }
        line.newest = second;
        line.slots[slot(second)] = happened;
    }
}

impl Line {
    fn at(&self, second: i64) -> Second {
        let kept = second > self.newest - HISTORY_SECONDS as i64 && second <= self.newest;
        if kept { self.slots[slot(second)] } else { Second::default() }
    }
}

fn second_of(now: Timestamp) -> i64 {
    now.0.div_euclid(1_000)
}

fn slot(second: i64) -> usize {
    second.rem_euclid(HISTORY_SECONDS as i64) as usize
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod history_tests;
