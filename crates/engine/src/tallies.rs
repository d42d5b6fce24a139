//! Counters of keys on their way to the file.
//!
//! An add that is absorbed changes nothing but the counters of its key. To write a row for each would cost more than
//! everything else about such an add, and nothing that a client was told depends on them. So they are written a moment
//! later, a bounded number at once, or with the key's next change; an orderly stop writes them all. A killed process loses
//! the counts of its last second, or of its last seconds when thousands of keys were met in it.

use crate::dedup::KeyTally;
use crate::engine::Engine;
use crate::names::EntryId;
use crate::time::{Millis, Timestamp};
use crate::timers::Timer;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// How long after its first new count a key's counters are written.
const WRITTEN_AFTER: Millis = Millis(1_000);
/// Keys whose counters are written in one turn, so that no turn becomes long by them.
const AT_ONCE_MAX: usize = 512;
/// Time between such turns while more keys wait.
const BETWEEN: Millis = Millis(100);

/// Keys whose counters in the file are behind.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    /// In the order of their first new count. Some may have ended meanwhile.
    waiting: VecDeque<EntryId>,
    is_waiting: FxHashSet<EntryId>,
    /// The timer that is set while any wait.
    due: Option<Timestamp>,
}

impl Tallies {
    /// When the next are to be written.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        self.due
    }
}

impl Engine {
    /// Changes a key's counters.
    pub(crate) fn tally_key(&mut self, entry: EntryId, now: Timestamp, change: impl FnOnce(&mut KeyTally)) {
        if !self.keys.count(entry, change) {
            return;
        }
        if self.dirty.has_key(entry) || !self.tallies.is_waiting.insert(entry) {
            return;
        }
        self.tallies.waiting.push_back(entry);
        if self.tallies.due.is_none() {
            self.set_tallies_due(now.plus(WRITTEN_AFTER));
        }
    }

    /// Writes the counters that have waited longest, at the moment `tallies.due`, whose timer has been taken out.
    pub(crate) fn tallies_due(&mut self, now: Timestamp) {
        self.tallies.due = None;
        self.write_tallies(AT_ONCE_MAX);
        if !self.tallies.waiting.is_empty() {
            self.set_tallies_due(now.plus(BETWEEN));
        }
    }

    /// Everything that is held back is to be written with the present turn: there may be no other.
    pub fn write_all(&mut self) {
        self.write_tallies(usize::MAX);
        if let Some(due) = self.tallies.due.take() {
            self.timers.cancel(due, Timer::Tallies);
        }
    }

    fn write_tallies(&mut self, most: usize) {
        for _ in 0..most {
            let Some(entry) = self.tallies.waiting.pop_front() else { return };
            self.tallies.is_waiting.remove(&entry);
            if self.keys.get(entry).is_some() {
                self.dirty.key(entry);
            }
        }
    }

    fn set_tallies_due(&mut self, at: Timestamp) {
        self.tallies.due = Some(at);
        self.timers.set(at, Timer::Tallies);
    }
}

#[cfg(test)]
#[path = "tallies_tests.rs"]
mod tallies_tests;
