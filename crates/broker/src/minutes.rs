//! How many jobs of each queue completed or failed for good in each minute, for `Metrics` (protocol-admin.md 11).
//!
//! Kept in memory since the start of the process and fed by [`crate::history`] once a second, so that a job costs nothing.
//! What came after the last second is added when somebody asks.

use crate::limits::{MINUTES_MAX, MINUTES_QUEUES_MAX, MINUTES_TOGETHER_MAX};
use onceover_engine::reply::Totals;
use onceover_engine::time::Timestamp;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// One number per minute of one queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Minutes {
    /// Since the start of the process.
    pub total: u64,
    /// When something happened last, to the second; none when nothing has.
    pub last_at: Option<Timestamp>,
    /// Minutes since the epoch in which something happened, oldest first, with how often.
    counts: VecDeque<(i64, u32)>,
}

impl Minutes {
    /// So many more at this moment, which is not before that of the last ones.
    pub(crate) fn add(&mut self, at: Timestamp, grown: u64) {
        if grown == 0 {
            return;
        }
        self.total += grown;
        self.last_at = Some(at);
        let (minute, grown) = (at.0.div_euclid(60_000), u32::try_from(grown).unwrap_or(u32::MAX));
        match self.counts.back_mut() {
            Some((newest, count)) if *newest >= minute => *count = count.saturating_add(grown),
            Some(_) | None => self.counts.push_back((minute, grown)),
        }
        while self.counts.front().is_some_and(|(oldest, _)| minute - oldest >= MINUTES_MAX as i64) {
            self.counts.pop_front();
        }
    }

    fn last_minute(&self) -> Option<i64> {
        self.counts.back().map(|(minute, _)| *minute)
    }

    /// Of the newest minute in which something happened.
    #[must_use]
    pub fn newest(&self) -> u32 {
        self.counts.back().map_or(0, |(_, count)| *count)
    }

    /// One number per minute, newest first, from the newest minute in which something happened back to the oldest.
    #[must_use]
    pub fn data(&self) -> Vec<u32> {
        let (Some((oldest, _)), Some((newest, _))) = (self.counts.front(), self.counts.back()) else {
            return Vec::new();
        };
        let mut data = vec![0; usize::try_from(newest - oldest).unwrap_or(0) + 1];
        for (minute, count) in &self.counts {
            data[usize::try_from(newest - minute).unwrap_or(0)] = *count;
        }
        data
    }
}

/// What is counted of a queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueMinutes {
    pub(crate) completed: Minutes,
    pub(crate) failed: Minutes,
}

impl QueueMinutes {
    fn series(&self) -> [&Minutes; 2] {
        [&self.completed, &self.failed]
    }
}

/// Of all queues; those beyond a bound have totals only.
#[derive(Debug, Default)]
pub(crate) struct AllMinutes {
    queues: HashMap<Arc<str>, QueueMinutes>,
}

impl AllMinutes {
    pub(crate) fn of(&self, queue: &str) -> Option<&QueueMinutes> {
        self.queues.get(queue)
    }

    /// What ended between two looks at a queue's totals.
    pub(crate) fn grown(&mut self, queue: &Arc<str>, at: Timestamp, now: Totals, before: Totals) {
        let completed = now.completed.saturating_sub(before.completed);
        let failed = now.failed.saturating_sub(before.failed);
        self.add(queue, at, completed, failed);
    }

    fn add(&mut self, queue: &Arc<str>, at: Timestamp, completed: u64, failed: u64) {
        if completed + failed == 0 {
            return;
        }
        if !self.queues.contains_key(queue) && self.queues.len() >= MINUTES_QUEUES_MAX {
            return;
        }
        let line = self.queues.entry(Arc::clone(queue)).or_default();
        line.completed.add(at, completed);
        line.failed.add(at, failed);
    }

    /// Gives the oldest minutes up when there are too many together. Called once a minute.
    pub(crate) fn thin(&mut self) {
        let held = |lines: &HashMap<Arc<str>, QueueMinutes>| -> usize {
            lines.values().flat_map(QueueMinutes::series).map(|series| series.counts.len()).sum()
        };
        while held(&self.queues) > MINUTES_TOGETHER_MAX {
            let series = || self.queues.values().flat_map(QueueMinutes::series);
            let oldest = series().filter_map(|series| series.counts.front()).map(|(minute, _)| *minute).min();
            let newest = series().filter_map(Minutes::last_minute).max();
            let (Some(oldest), Some(newest)) = (oldest, newest) else { return };
            // A quarter at once, so that this is not done over and over.
            let until = oldest + (newest - oldest) / 4 + 1;
            for line in self.queues.values_mut() {
                for counts in [&mut line.completed.counts, &mut line.failed.counts] {
                    counts.retain(|(minute, _)| *minute >= until);
                }
            }
        }
    }

    /// The queue was obliterated, and with it what was counted.
    pub(crate) fn forget(&mut self, queue: &str) {
        self.queues.remove(queue);
    }
}

#[cfg(test)]
#[path = "minutes_tests.rs"]
mod minutes_tests;
