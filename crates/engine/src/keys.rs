//! The live deduplication keys and their life (dedup.md 4): who owns which text, until when, how a key ends.
//!
//! What an add with a key means is decided in `dedup.rs`.

use crate::dedup::{DedupWindow, FreedBy, FreedKey, KeyEntry, KeyTally, Tally, Window};
use crate::engine::Engine;
use crate::hashing::Keyed;
use crate::index::Index;
use crate::job::Job;
use crate::limits::{FREED_KEYS_MAX, RELEASED_KEYS_MAX};
use crate::names::{EntryId, JobKey, KeyText, QueueId};
use crate::ranked::Ranked;
use crate::slab::Slab;
use crate::time::{Millis, Timestamp};
use hashbrown::{Equivalent, HashMap};
use rustc_hash::FxBuildHasher;
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hash, Hasher};

/// A key's text in its scope.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Scoped {
    queue: QueueId,
    key: KeyText,
}

/// The same, borrowed for a look-up.
struct ScopedRef<'a> {
    queue: QueueId,
    key: &'a str,
}

impl Hash for Scoped {
    fn hash<H: Hasher>(&self, to: &mut H) {
        ScopedRef { queue: self.queue, key: &self.key }.hash(to);
    }
}

impl Hash for ScopedRef<'_> {
    fn hash<H: Hasher>(&self, to: &mut H) {
        self.queue.hash(to);
        self.key.hash(to);
    }
}

impl Equivalent<Scoped> for ScopedRef<'_> {
    fn equivalent(&self, other: &Scoped) -> bool {
        self.queue == other.queue && *self.key == *other.key
    }
}

/// All live keys; there is no cap on their number (dedup.md 4).
#[derive(Debug)]
pub(crate) struct Keys {
    slab: Slab<KeyEntry>,
    by_entry: Index,
    by_text: Index,
    keyed: Keyed,
    /// In order of registration.
    order: Ranked<EntryId>,
    /// By the end of their windows, so these are the timers too; those without one last, at `NO_END`.
    ends: Ranked<(Timestamp, EntryId)>,
    freed: FreedKeys,
    /// Those released by hand once more: an undo must find them however many keys end by themselves meanwhile.
    released: FreedKeys,
}

/// Where keys without a window stand in the order of ends.
const NO_END: Timestamp = Timestamp(i64::MAX);

fn end_of(entry: &KeyEntry) -> (Timestamp, EntryId) {
    (entry.expires_at().unwrap_or(NO_END), entry.entry)
}

/// Numbers of entries are ours, so they need no seed.
fn hash_of(entry: EntryId) -> u64 {
    FxBuildHasher.hash_one(entry)
}

fn hash_of_text(keyed: &Keyed, entry: &KeyEntry) -> u64 {
    keyed.hash_one(ScopedRef { queue: entry.queue, key: &entry.key })
}

fn at(slab: &Slab<KeyEntry>, slot: u32) -> &KeyEntry {
    slab.get(slot).expect("an indexed slot holds a key")
}

/// How the last keys became free. Every add with a free key asks, so the newest of each is found without a search.
#[derive(Debug)]
struct FreedKeys {
    max: usize,
    /// Oldest first; the first one has the number `first`.
    list: VecDeque<FreedKey>,
    first: u64,
    newest: HashMap<Scoped, u64, Keyed>,
}

impl FreedKeys {
    fn new(max: usize, keyed: &Keyed) -> FreedKeys {
        FreedKeys { max, list: VecDeque::new(), first: 0, newest: HashMap::with_hasher(keyed.clone()) }
    }

    fn push(&mut self, freed: FreedKey) {
        if self.list.len() == self.max
            && let Some(oldest) = self.list.pop_front()
        {
            let scoped = ScopedRef { queue: oldest.entry.queue, key: &oldest.entry.key };
            if self.newest.get(&scoped) == Some(&self.first) {
                self.newest.remove(&scoped);
            }
            self.first += 1;
        }
        let number = self.first + self.list.len() as u64;
        self.newest.insert(Scoped { queue: freed.entry.queue, key: freed.entry.key.clone() }, number);
        self.list.push_back(freed);
    }

    fn newest(&self, queue: QueueId, key: &str) -> Option<&FreedKey> {
        let number = self.newest.get(&ScopedRef { queue, key })?;
        self.list.get(usize::try_from(number - self.first).ok()?)
    }
}

impl Keys {
    pub(crate) fn new(keyed: &Keyed) -> Keys {
        Keys {
            slab: Slab::default(),
            by_entry: Index::default(),
            by_text: Index::default(),
            keyed: keyed.clone(),
            order: Ranked::default(),
            ends: Ranked::default(),
            freed: FreedKeys::new(FREED_KEYS_MAX, keyed),
            released: FreedKeys::new(RELEASED_KEYS_MAX, keyed),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &KeyEntry> {
        self.slab.iter()
    }

    pub(crate) fn get(&self, entry: EntryId) -> Option<&KeyEntry> {
        self.slab.get(self.slot(entry)?)
    }

    fn get_mut(&mut self, entry: EntryId) -> Option<&mut KeyEntry> {
        let slot = self.slot(entry)?;
        self.slab.get_mut(slot)
    }

    fn slot(&self, entry: EntryId) -> Option<u32> {
        self.by_entry.find(hash_of(entry), |slot| at(&self.slab, slot).entry == entry)
    }

    /// Changes a key's counters; answers whether it is held.
    pub(crate) fn count(&mut self, entry: EntryId, change: impl FnOnce(&mut KeyTally)) -> bool {
        let Some(held) = self.get_mut(entry) else { return false };
        let mut tally = held.tally();
        change(&mut tally);
        held.set_tally(tally);
        true
    }

    pub(crate) fn find(&self, queue: QueueId, key: &str) -> Option<&KeyEntry> {
        let is_it = |slot| {
            let entry = at(&self.slab, slot);
            entry.queue == queue && *entry.key == *key
        };
        let slot = self.by_text.find(self.keyed.hash_one(ScopedRef { queue, key }), is_it)?;
        self.slab.get(slot)
    }

    /// How this key became free, newest first.
    pub(crate) fn all_freed(&self, queue: QueueId, key: &str) -> impl Iterator<Item = &FreedKey> {
        self.freed.list.iter().rev().filter(move |freed| freed.entry.queue == queue && *freed.entry.key == *key)
    }

    pub(crate) fn freed(&self, queue: QueueId, key: &str) -> Option<&FreedKey> {
        self.freed.newest(queue, key)
    }

    /// The keys that became free last, newest first.
    pub(crate) fn freed_lately(&self) -> impl Iterator<Item = &FreedKey> {
        self.freed.list.iter().rev()
    }

    /// How this key was last released by hand.
    pub(crate) fn released(&self, queue: QueueId, key: &str) -> Option<&FreedKey> {
        self.released.newest(queue, key)
    }

    pub(crate) fn insert(&mut self, entry: KeyEntry) {
        let (entry_hash, text_hash) = (hash_of(entry.entry), hash_of_text(&self.keyed, &entry));
        self.order.insert(entry.entry);
        self.ends.insert(end_of(&entry));
        let Keys { slab, by_entry, by_text, keyed, .. } = self;
        let is_it = |slot| {
            let other = at(slab, slot);
            other.queue == entry.queue && other.key == entry.key
        };
        assert!(by_text.find(text_hash, is_it).is_none(), "a key is in its queue once: {}", entry.key);
        let slot = slab.insert(entry);
        by_entry.insert(entry_hash, slot, |slot| hash_of(at(slab, slot).entry));
        by_text.insert(text_hash, slot, |slot| hash_of_text(keyed, at(slab, slot)));
    }

    /// Makes room in the indexes for so many more.
    pub(crate) fn reserve(&mut self, more: usize) {
        let Keys { slab, by_entry, by_text, keyed, .. } = self;
        by_entry.reserve(more, |slot| hash_of(at(slab, slot).entry));
        by_text.reserve(more, |slot| hash_of_text(keyed, at(slab, slot)));
    }

    fn remove(&mut self, entry: EntryId) -> Option<KeyEntry> {
        let Keys { slab, by_entry, by_text, keyed, .. } = self;
        let slot = by_entry.remove(hash_of(entry), |slot| at(slab, slot).entry == entry)?;
        let by_its_text = by_text.remove(hash_of_text(keyed, at(slab, slot)), |other| other == slot);
        by_its_text.expect("every key is found by its text");
        let entry = slab.remove(slot)?;
        self.order.remove(&entry.entry);
        self.ends.remove(&end_of(&entry));
        Some(entry)
    }

    fn set_window(&mut self, entry: EntryId, window: Window) {
        let Some(held) = self.get_mut(entry) else { return };
        let before = end_of(held);
        held.window = window;
        let after = end_of(held);
        self.ends.remove(&before);
        self.ends.insert(after);
    }

    /// The window that ends next.
    pub(crate) fn next_end(&self) -> Option<(Timestamp, EntryId)> {
        self.ends.first().copied().filter(|(end, _)| *end < NO_END)
    }

    /// By the end of their windows, those without one last.
    pub(crate) fn ends(&self) -> &Ranked<(Timestamp, EntryId)> {
        &self.ends
    }

    /// In order of registration.
    pub(crate) fn in_order(&self) -> &Ranked<EntryId> {
        &self.order
    }

    /// In order of registration, behind `after`.
    pub(crate) fn by_entry(&self, after: Option<EntryId>) -> impl Iterator<Item = &KeyEntry> {
        let from = after.map_or(0, |after| self.order.rank(&EntryId(after.0.saturating_add(1))));
        self.order.slice(from..self.order.len()).filter_map(|entry| self.get(*entry))
    }

    /// In the order in which windows end, behind `after`.
    pub(crate) fn by_end(&self, after: Option<(Option<Timestamp>, EntryId)>) -> impl Iterator<Item = &KeyEntry> {
        let behind =
            |(end, entry): (Option<Timestamp>, EntryId)| (end.unwrap_or(NO_END), EntryId(entry.0.saturating_add(1)));
        let from = after.map_or(0, |after| self.ends.rank(&behind(after)));
        self.ends.slice(from..self.ends.len()).filter_map(|(_, entry)| self.get(*entry))
    }

    /// How many windows end before `end`.
    pub(crate) fn ending_before(&self, end: Timestamp) -> usize {
        self.ends.rank(&(end, EntryId(0)))
    }
}

/// How an owner ended, for its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnerEnd {
    /// Completed or failed for good: a window stays open (dedup.md 4).
    Finished,
    /// Taken out of the broker by hand: the key goes with it, window or not.
    Removed,
}

impl Engine {
    /// The valid entry of a key: with an expiry `now < expires_at`, without one its owner lives (dedup.md 4).
    pub(crate) fn valid_key(&self, queue: QueueId, key: &str, now: Timestamp) -> Option<&KeyEntry> {
        let entry = self.keys.find(queue, key)?;
        let is_valid = match entry.expires_at() {
            Some(end) => !end.is_due(now),
            None => self.jobs.get(entry.owner).is_some_and(Job::is_live),
        };
        is_valid.then_some(entry)
    }

    /// The entry that this job owns, if it owns one: ownership is by generation.
    pub(crate) fn owned_key(&self, job: &Job) -> Option<&KeyEntry> {
        let entry = self.keys.find(job.queue, job.dedup_key.as_ref()?)?;
        (entry.owner == job.key).then_some(entry)
    }

    /// Gives the key that `job` asked for to it, with a window of its own from `now`. A ttl of 0 is never valid, so
    /// nothing is registered; keepLastIfActive has no window (dedup.md 4, 10).
    pub(crate) fn register_key(&mut self, job: JobKey, now: Timestamp) {
        let Some(taken) = self.jobs.get(job).and_then(|job| KeyEntry::of(job, EntryId(0), now)) else { return };
        let before = self.keys.find(taken.queue, &taken.key).map(|entry| entry.entry);
        let counted = match before.and_then(|entry| self.unlink_key(entry)) {
            Some(entry) if entry.owner != job => {
                KeyTally { replaced: entry.tally().replaced + 1, ..KeyTally::default() }
            }
            Some(_) | None => KeyTally::default(),
        };
        if taken.ttl() == Some(Millis(0)) {
            return;
        }
        let entry = EntryId(self.next_number());
        self.link_key(KeyEntry { entry, tally: Tally::new(counted), ..taken });
    }

    /// Restarts a window (or gives one to a key without), or lifts it.
    pub(crate) fn set_key_window(&mut self, entry: EntryId, ttl: Option<Millis>, until: Option<Timestamp>) {
        self.keys.set_window(entry, Window::new(ttl, until));
        self.dirty.key(entry);
    }

    /// What becomes of the key when its owner ends. Does nothing for a job that owns none (any more).
    pub(crate) fn end_key_of(&mut self, job: JobKey, end: OwnerEnd, by: FreedBy, now: Timestamp) {
        let Some(entry) = self.jobs.get(job).and_then(|job| self.owned_key(job)) else { return };
        let window_stays = entry.expires_at().is_some_and(|end| !end.is_due(now))
            && self.config.dedup_window == DedupWindow::Ttl
            && end == OwnerEnd::Finished;
        if !window_stays {
            self.free_key(entry.entry, by, now);
        }
    }

    /// The key is free from now on; how it became so is remembered.
    pub(crate) fn free_key(&mut self, entry: EntryId, by: FreedBy, now: Timestamp) {
        let Some(entry) = self.unlink_key(entry) else { return };
        let freed = FreedKey {
            owner: entry.owner,
            owner_id: entry.owner_id.clone(),
            by,
            at: now,
            would_end_at: entry.expires_at(),
            entry,
        };
        if by == FreedBy::ReleasedByHand {
            self.keys.released.push(freed.clone());
        }
        self.keys.freed.push(freed);
    }

    /// A finished job that comes back takes its key again with a full window, unless another live job owns it (dedup.md 4).
    /// Answers whether the job may come back.
    pub(crate) fn reclaim_key(&mut self, job: JobKey, now: Timestamp) -> bool {
        let Some(found) = self.jobs.get(job) else { return false };
        let Some(key) = &found.dedup_key else { return true };
        if let Some(entry) = self.valid_key(found.queue, key, now)
            && entry.owner != job
            && self.jobs.get(entry.owner).is_some_and(Job::is_live)
        {
            return false;
        }
        self.register_key(job, now);
        true
    }

    /// Puts an entry among the live keys.
    pub(crate) fn link_key(&mut self, entry: KeyEntry) {
        self.queues.get_mut(entry.queue).keys.insert(entry.entry);
        self.dirty.key(entry.entry);
        self.keys.insert(entry);
    }

    fn unlink_key(&mut self, entry: EntryId) -> Option<KeyEntry> {
        let entry = self.keys.remove(entry)?;
        self.queues.get_mut(entry.queue).keys.remove(&entry.entry);
        self.dirty.key_gone(entry.entry);
        if entry.entry == entry.owner.first_entry() {
            self.dirty.taken_key_gone(entry.owner);
        }
        Some(entry)
    }

    /// The job's row, which may tell of its key, goes: a key that stays gets a row of its own.
    pub(crate) fn keep_key_without(&mut self, job: JobKey) {
        let entry = job.first_entry();
        if self.keys.get(entry).is_some_and(|entry| entry.owner == job) {
            self.dirty.key(entry);
        }
    }
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod keys_tests;
