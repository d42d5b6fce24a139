//! The log of adds: what came in lately and what was decided, kept for the window and for replay.
//!
//! A ring bounded by entries and by bytes. It lives in memory only and starts empty. An entry is made after the commit
//! of its add, so it never shows what did not happen.

use crate::conn_table::Client;
use crate::limits::{ACTIVITY_BYTES_MAX, ACTIVITY_ENTRIES_MAX, ACTIVITY_PAYLOAD_BYTES_MAX};
use crate::rate::Rate;
pub use crate::repeats::Group;
use crate::repeats::{Repeats, same};
use onceover_engine::command::Add;
use onceover_engine::dedup::Outcome;
use onceover_engine::effects::AddRecord;
use onceover_engine::names::Origin;
use onceover_engine::time::Timestamp;
use onceover_wire::request::RefusedAdd;
use std::collections::VecDeque;
use std::sync::Arc;

/// One add in the log.
#[derive(Clone, Debug)]
pub struct AddEntry {
    /// Its number, from 1, ascending without gaps.
    pub seq: u64,
    /// What came and what was decided.
    pub add: LoggedAdd,
    /// Who sent it.
    pub source: AddSource,
    /// From the read that brought its frame to its release, in microseconds; 0 for adds of the broker itself.
    pub took_us: u64,
    /// Size of its payload, in bytes. The payload itself is cut after 256 KiB.
    pub data_bytes: usize,
}

/// What is known of an add.
#[derive(Clone, Debug)]
pub enum LoggedAdd {
    /// The engine decided it.
    Decided(Box<AddRecord>),
    /// It was not valid, so there was nothing to decide.
    Refused(Box<RefusedEntry>),
}

/// An add that was refused before the engine saw it.
#[derive(Clone, Debug)]
pub struct RefusedEntry {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub origin: Origin,
    /// The text the client received.
    pub text: String,
    /// As far as it could be read.
    pub add: RefusedAdd,
}

/// Who sent an add.
#[derive(Clone, Debug)]
pub enum AddSource {
    /// A client.
    Client(Arc<Client>),
    /// The window.
    Window,
    /// A client of the HTTP interface.
    Http,
    /// The broker itself: a follower, the next run of a repeating job.
    Broker,
}

impl AddSource {
    /// `node #3`, `window` or `broker`.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            AddSource::Client(client) => client.label(),
            AddSource::Window => "window".to_owned(),
            AddSource::Http => "HTTP".to_owned(),
            AddSource::Broker => "broker".to_owned(),
        }
    }
}

impl AddEntry {
    /// When it was decided or refused.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        match &self.add {
            LoggedAdd::Decided(record) => record.at,
            LoggedAdd::Refused(refused) => refused.at,
        }
    }

    /// The record of a decided add.
    #[must_use]
    pub fn decided(&self) -> Option<&AddRecord> {
        match &self.add {
            LoggedAdd::Decided(record) => Some(record),
            LoggedAdd::Refused(_) => None,
        }
    }

    /// The queue, as far as it is known.
    #[must_use]
    pub fn queue(&self) -> Option<&str> {
        match &self.add {
            LoggedAdd::Decided(record) => Some(&record.add.spec.queue),
            LoggedAdd::Refused(refused) => refused.add.queue.as_deref(),
        }
    }

    /// The deduplication key it asked for.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match &self.add {
            LoggedAdd::Decided(record) => record.add.dedup_key.as_deref(),
            LoggedAdd::Refused(refused) => refused.add.key.as_deref(),
        }
    }

    /// The custom job id it asked for, as text.
    #[must_use]
    pub fn custom_id(&self) -> Option<String> {
        match &self.add {
            LoggedAdd::Decided(record) => record.add.custom_id.as_ref().map(ToString::to_string),
            LoggedAdd::Refused(refused) => refused.add.custom_id.clone(),
        }
    }

    /// The job name, as far as it is known.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.add {
            LoggedAdd::Decided(record) => Some(&record.add.spec.name),
            LoggedAdd::Refused(refused) => refused.add.name.as_deref(),
        }
    }

    /// Whether only the start of the payload was kept, so that the add cannot be sent again.
    #[must_use]
    pub fn data_is_cut(&self) -> bool {
        self.data_bytes > ACTIVITY_PAYLOAD_BYTES_MAX
    }

    /// Whether it has the mark.
    #[must_use]
    pub fn is(&self, mark: Mark) -> bool {
        let Some(record) = self.decided() else { return mark == Mark::Rejected };
        match mark {
            Mark::Collapsed => record.decision.code.outcome() == Outcome::Collapsed,
            Mark::Rejected => record.decision.code.outcome() == Outcome::Rejected,
            Mark::DataDiffers => record.decision.facts.data_differs,
            Mark::Replay => record.replay_of.is_some(),
        }
    }

    fn weight(&self) -> usize {
        const ENTRY: usize = 512;
        let variable = match &self.add {
            LoggedAdd::Decided(record) => add_bytes(&record.add),
            LoggedAdd::Refused(refused) => {
                let RefusedAdd { queue, name, key, custom_id } = &refused.add;
                let texts = [queue, name, key, custom_id].map(|text| text.as_ref().map_or(0, String::len));
                texts.iter().sum::<usize>() + refused.text.len()
            }
        };
        ENTRY + variable
    }
}

fn add_bytes(add: &Add) -> usize {
    let spec = &add.spec;
    let key = add.dedup_key.as_ref().map_or(0, |key| key.len());
    let data = add.data.as_ref().map_or(0, |data| data.len());
    let rare = spec.rare.as_ref().map_or(0, |rare| {
        let ids = rare.depends_on.len() + rare.children_ids.len();
        ids * 48 + rare.tags.iter().map(|tag| tag.len() + 24).sum::<usize>()
    });
    spec.queue.len() + spec.name.len() + key + data + rare
}

/// What entries are picked by. The log keeps the numbers of each mark's entries, so that a page of them needs no search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It made no new job.
    Collapsed,
    /// It was answered with an error.
    Rejected,
    /// It was absorbed with other data than the owner's.
    DataDiffers,
    /// The window sent it again.
    Replay,
}

impl Mark {
    const ALL: [Mark; 4] = [Mark::Collapsed, Mark::Rejected, Mark::DataDiffers, Mark::Replay];
}

/// The ring.
#[derive(Debug, Default)]
pub struct Activity {
    entries: VecDeque<AddEntry>,
    /// Numbers of the entries with each mark, ascending. Indexed by `Mark`.
    marked: [VecDeque<u64>; 4],
    repeats: Repeats,
    bytes: usize,
    newest_seq: u64,
    /// Numbers that were given out for other data.
    numbered_elsewhere: u64,
    rate: Rate,
}

impl Activity {
    /// The entry with this number, if it is still kept.
    #[must_use]
    pub fn get(&self, seq: u64) -> Option<&AddEntry> {
        let oldest = self.entries.front()?.seq;
        self.entries.get(usize::try_from(seq.checked_sub(oldest)?).ok()?)
    }

    /// Forgets every entry. Numbers go on.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.marked.iter_mut().for_each(VecDeque::clear);
        self.repeats.clear();
        self.bytes = 0;
    }

    /// How many entries are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of the newest entry; 0 before the first. Also the number of adds since the start.
    #[must_use]
    pub fn newest_seq(&self) -> u64 {
        self.newest_seq
    }

    /// Number of the oldest entry that is kept.
    #[must_use]
    pub fn oldest_seq(&self) -> Option<u64> {
        self.entries.front().map(|entry| entry.seq)
    }

    /// How many entries had to make room.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.newest_seq - self.numbered_elsewhere - self.entries.len() as u64
    }

    /// Newest first; reverse it for oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &AddEntry> + ExactSizeIterator {
        self.entries.iter().rev()
    }

    /// Entries with a smaller number than `before`, newest first.
    pub fn before(&self, before: u64) -> impl Iterator<Item = &AddEntry> {
        let oldest = self.entries.front().map_or(before, |entry| entry.seq);
        let count = usize::try_from(before.saturating_sub(oldest)).unwrap_or(usize::MAX).min(self.entries.len());
        self.entries.range(..count).rev()
    }

    /// Numbers of the entries with a mark, ascending.
    #[must_use]
    pub fn marked(&self, mark: Mark) -> &VecDeque<u64> {
        &self.marked[mark as usize]
    }

    /// Adds that asked for this key, newest first, among the newest `scan_max` entries.
    pub fn of_key(&self, queue: &str, key: &str, scan_max: usize) -> impl Iterator<Item = &AddEntry> {
        self.iter().take(scan_max).filter(move |entry| entry.queue() == Some(queue) && entry.key() == Some(key))
    }

    /// Adds per second, over the last seconds.
    #[must_use]
    pub fn per_second(&self, now: Timestamp) -> f64 {
        self.rate.per_second(now)
    }

    /// The numbers go on behind `before`, whose entries belong to other data: a number never means two adds.
    pub(crate) fn take_over(&mut self, before: &Activity) {
        self.newest_seq += before.newest_seq;
        self.numbered_elsewhere = before.newest_seq;
        for entry in &mut self.entries {
            entry.seq += before.newest_seq;
        }
    }

    /// Adds that are the same to a reader, in the order of the first of each.
    #[must_use]
    pub fn groups(&self) -> &VecDeque<Group> {
        self.repeats.groups()
    }

    /// The adds of a group that the log still has, newest first; none for a group that it has forgotten.
    pub fn members(&self, number: u64) -> impl Iterator<Item = &AddEntry> {
        let group = self.repeats.get(number).copied();
        let newest = group.and_then(|group| self.get(group.newest));
        let (oldest, below) = group.map_or((0, 0), |group| (group.oldest, group.newest + 1));
        let range = self.before(below).take_while(move |entry| entry.seq >= oldest);
        range.filter(move |entry| newest.is_some_and(|newest| same(newest, entry)))
    }

    pub(crate) fn record(&mut self, now: Timestamp, add: LoggedAdd, source: AddSource, took_us: u64) -> u64 {
        self.newest_seq += 1;
        self.rate.add(now, 1);
        let (add, data_bytes) = with_short_data(add);
        let entry = AddEntry { seq: self.newest_seq, add, source, took_us, data_bytes };
        self.bytes += entry.weight();
        for mark in Mark::ALL.into_iter().filter(|mark| entry.is(*mark)) {
            self.marked[mark as usize].push_back(entry.seq);
        }
        let (entries, first) = (&self.entries, self.newest_seq - self.entries.len() as u64);
        self.repeats.record(&entry, |seq| entries.get(usize::try_from(seq.checked_sub(first)?).ok()?));
        self.entries.push_back(entry);
        while self.entries.len() > ACTIVITY_ENTRIES_MAX || self.bytes > ACTIVITY_BYTES_MAX {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.weight();
            for numbers in &mut self.marked {
                numbers.pop_front_if(|seq| *seq == oldest.seq);
            }
        }
        self.repeats.forget_before(self.newest_seq + 1 - self.entries.len() as u64);
        self.newest_seq
    }
}

/// Cuts a long payload; the number is its size before.
fn with_short_data(mut add: LoggedAdd) -> (LoggedAdd, usize) {
    let LoggedAdd::Decided(record) = &mut add else { return (add, 0) };
    let Some(data) = &record.add.data else { return (add, 0) };
    let data_bytes = data.len();
    if data_bytes > ACTIVITY_PAYLOAD_BYTES_MAX {
        record.add.data = Some(Arc::from(&data[..ACTIVITY_PAYLOAD_BYTES_MAX]));
    }
    (add, data_bytes)
}

#[cfg(test)]
#[path = "activity_tests.rs"]
mod activity_tests;
