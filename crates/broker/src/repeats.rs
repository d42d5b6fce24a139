//! Adds that are the same to a reader: same queue, same identity, same decision, within ten seconds. They are counted while
//! the log takes them, so that a busy log can be shown as few rows without a pass over it.
//!
//! Ten seconds are those of the clock: a group never moves among the others, it only grows until its time is over.

use crate::activity::{AddEntry, LoggedAdd};
use hashbrown::{DefaultHashBuilder, HashMap};
use onceover_engine::names::JobId;
use std::collections::VecDeque;
use std::hash::BuildHasher;

/// Length of the time that a group covers, in ms.
const SPAN_MS: i64 = 10_000;

/// Adds of the log that are the same to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its number, from 1, in the order of the first adds.
    pub number: u64,
    /// Number of its first add.
    pub oldest: u64,
    /// Number of its newest add.
    pub newest: u64,
    /// How many adds, whether the log still has them or not.
    pub count: u64,
}

/// All groups of the log.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    /// In order of their numbers, without gaps.
    groups: VecDeque<Group>,
    newest_number: u64,
    /// Groups of the present ten seconds by the hash of what makes an add the same. The hash is seeded, and two that meet
    /// in it only end each other's group; so it may be a quick one.
    open: HashMap<u64, u64>,
    span: i64,
    hasher: DefaultHashBuilder,
}

impl Repeats {
    pub(crate) fn groups(&self) -> &VecDeque<Group> {
        &self.groups
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Group> {
        self.groups.get(self.place(number)?)
    }

    fn place(&self, number: u64) -> Option<usize> {
        let first = self.groups.front()?.number;
        usize::try_from(number.checked_sub(first)?).ok()
    }

    /// Takes an add that the log has just taken. `newest_of` gives the newest add of a group by its number in the log.
    pub(crate) fn record<'a>(&mut self, entry: &AddEntry, newest_of: impl Fn(u64) -> Option<&'a AddEntry>) {
        let span = entry.at().0.div_euclid(SPAN_MS);
        if span != self.span {
            self.span = span;
            self.open.clear();
        }
        let hash = self.hasher.hash_one(what(entry));
        let known = self.open.get(&hash).and_then(|number| self.place(*number));
        if let Some(group) = known.and_then(|place| self.groups.get_mut(place))
            && newest_of(group.newest).is_some_and(|newest| same(newest, entry))
        {
            group.newest = entry.seq;
            group.count += 1;
            return;
        }
        self.newest_number += 1;
        self.open.insert(hash, self.newest_number);
        self.groups.push_back(Group { number: self.newest_number, oldest: entry.seq, newest: entry.seq, count: 1 });
    }

    /// The log was cleared.
    pub(crate) fn clear(&mut self) {
        self.groups.clear();
        self.open.clear();
    }

    /// The log has dropped everything before this number.
    pub(crate) fn forget_before(&mut self, seq: u64) {
        while self.groups.front().is_some_and(|group| group.newest < seq) {
            self.groups.pop_front();
        }
    }
}

/// What makes adds the same: where, under which identity, and what came of it. Adds without any identity are the same by name.
#[derive(PartialEq, Hash)]
struct What<'a> {
    decision: u8,
    key: Option<&'a str>,
    /// Of an add that was decided.
    id: Option<&'a JobId>,
    /// Of one that was refused.
    id_text: Option<&'a str>,
    name: Option<&'a str>,
    queue: Option<&'a str>,
}

fn what(entry: &AddEntry) -> What<'_> {
    let (queue, key) = (entry.queue(), entry.key());
    let (decision, id, id_text) = match &entry.add {
        LoggedAdd::Decided(record) => (record.decision.code as u8, record.add.custom_id.as_ref(), None),
        LoggedAdd::Refused(refused) => (u8::MAX, None, refused.add.custom_id.as_deref()),
    };
    let name = if key.is_none() && id.is_none() && id_text.is_none() { entry.name() } else { None };
    What { decision, key, id, id_text, name, queue }
}

/// Whether two adds are the same to a reader, but for their times.
pub(crate) fn same(one: &AddEntry, other: &AddEntry) -> bool {
    what(one) == what(other)
}

#[cfg(test)]
#[path = "repeats_tests.rs"]
mod repeats_tests;
