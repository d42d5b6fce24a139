//! Pages of keys, and choices of many of them.
//!
//! A page in the order of attention or of time left is cut out of the engine's own order. Any other order, and any filter, looks
//! at all keys, in steps of bounded work, between which the core serves its clients; only the page's rows are kept on the way.

use crate::attention::Looker;
use crate::health::Health;
use crate::job_ids;
use crate::keys::{EXPIRING, Held, Question, ended, row};
use crate::limits::KEY_STEP_MAX;
use crate::order::Place;
use crate::request::{KeysChip, KeysSort};
use crate::view::{KeyCounts, KeysPage};
use onceover_broker::CoreView;
use onceover_engine::dedup::KeyEntry;
use onceover_engine::names::EntryId;
use onceover_engine::time::Timestamp;
use std::sync::Arc;

/// A page in the making.
pub struct Search {
    question: Question,
    health: Arc<Health>,
    /// The last key that was looked at.
    looked: Option<EntryId>,
    /// The best rows so far, in order.
    kept: Vec<(Place, EntryId)>,
    /// Whether there are rows behind those.
    more: bool,
    total: u64,
    page: Option<KeysPage>,
}

impl Search {
    /// Nothing is found yet.
    #[must_use]
    pub fn new(question: Question, health: Arc<Health>) -> Search {
        Search { question, health, looked: None, kept: Vec::new(), more: false, total: 0, page: None }
    }

    /// Looks on. Runs on the core thread.
    #[must_use]
    pub fn step(mut self, core: &CoreView<'_>) -> Search {
        if self.question.chip == KeysChip::JobIds {
            self.page = Some(job_ids::page(core, &self.question, self.counts(core)));
        } else if self.is_ordered() {
            self.cut(core);
            self.page = Some(self.made(core));
        } else if self.scan(core) {
            self.page = Some(self.made(core));
        }
        self
    }

    /// The page, once it is made.
    ///
    /// # Errors
    /// The search itself: it has to go on.
    pub fn page(self) -> Result<KeysPage, Box<Search>> {
        match self.page {
            Some(page) => Ok(page),
            None => Err(Box::new(self)),
        }
    }

    /// Whether the engine knows the order. Where very many keys have something to look at, all are looked at instead.
    fn is_ordered(&self) -> bool {
        let question = &self.question;
        let known = match question.sort {
            KeysSort::TimeLeft => true,
            KeysSort::Attention => self.health.attention() <= KEY_STEP_MAX as u64,
            KeysSort::Key
            | KeysSort::Queue
            | KeysSort::Collapsed
            | KeysSort::Owner
            | KeysSort::Age
            | KeysSort::Extended
            | KeysSort::Replaced
            | KeysSort::Strategy
            | KeysSort::LastDecision => false,
        };
        known && question.filter.is_empty() && question.chip == KeysChip::All && !question.window.reverse
    }

    fn cut(&mut self, core: &CoreView<'_>) {
        let Question { sort, window, .. } = &self.question;
        let by_attention = *sort == KeysSort::Attention;
        let wanted = window.limit + 1;
        if by_attention {
            let worst = self.health.worst_first().filter(|(rank, entry)| {
                window.after.as_ref().is_none_or(|after| rank.is_after(after))
                    && core.engine.key_by_entry(*entry).is_some()
            });
            self.kept.extend(worst.take(wanted).map(|(rank, entry)| (rank.place(), entry)));
        }
        // Behind the last one that has something to look at, or behind a key without.
        let from = window.after.as_ref().and_then(|after| match (by_attention, after.numbers()) {
            (true, (0, end)) | (false, (end, _)) => Some((Timestamp(end), EntryId(after.own()))),
            (true, _) => None,
        });
        let from = from.map(|(end, entry)| (Some(end).filter(|end| end.0 != i64::MAX), entry));
        let rest = core.engine.keys_by_end(from);
        let rest = rest.filter(|entry| !by_attention || self.health.codes(entry).is_empty());
        for entry in rest.take(wanted.saturating_sub(self.kept.len())) {
            let held = Held { core, entry, queue: "", codes: Default::default() };
            self.kept.push((held.rank(*sort).place(), entry.entry));
        }
        self.more = self.kept.len() > window.limit;
        self.kept.truncate(window.limit);
        self.total = core.engine.keys_len() as u64;
    }

    /// Whether all keys were looked at.
    fn scan(&mut self, core: &CoreView<'_>) -> bool {
        let looker = Looker::new(core);
        let mut rows = Vec::new();
        let mut looked = 0;
        for entry in core.engine.keys_by_entry(self.looked).take(KEY_STEP_MAX) {
            looked += 1;
            self.looked = Some(entry.entry);
            let held = Held { core, entry, queue: &looker.queue(entry.queue).name, codes: self.health.codes(entry) };
            if is_in(self.question.chip, &held, &self.health) && self.question.filter.accepts(&held) {
                rows.push((held.rank(self.question.sort), entry.entry));
            }
        }
        self.total += rows.len() as u64;
        let (rows, next) = self.question.window.cut(rows);
        self.kept.extend(rows.into_iter().map(|(rank, entry)| (rank.place(), entry)));
        self.more |= self.question.window.keep(&mut self.kept) || next.is_some();
        looked < KEY_STEP_MAX
    }

    fn made(&mut self, core: &CoreView<'_>) -> KeysPage {
        let looker = Looker::new(core);
        let counts = self.counts(core);
        let next = self.kept.last().filter(|_| self.more).map(|(place, _)| place.cursor());
        let known = self.kept.iter().filter_map(|(_, entry)| core.engine.key_by_entry(*entry));
        let held = |entry| {
            row(&looker, &Held { core, entry, queue: &looker.queue(entry.queue).name, codes: self.health.codes(entry) })
        };
        KeysPage {
            revision: core.revision,
            now: core.now.0,
            rows: known.map(held).collect(),
            next,
            total: self.total,
            hidden: counts.all.saturating_sub(self.total),
            ended: ended(core),
            counts,
        }
    }

    fn counts(&self, core: &CoreView<'_>) -> KeyCounts {
        let engine = core.engine;
        KeyCounts {
            all: engine.keys_len() as u64,
            attention: self.health.attention(),
            expiring: engine.keys_ending_before(core.now.plus(EXPIRING)) as u64,
            no_ttl: (engine.keys_len() - engine.keys_ending_before(Timestamp(i64::MAX))) as u64,
            hot: self.health.hot(),
            job_ids: engine.custom_ids_len() as u64,
        }
    }
}

fn is_in(chip: KeysChip, held: &Held<'_>, health: &Health) -> bool {
    match chip {
        KeysChip::All => true,
        KeysChip::Attention => !held.codes.is_empty(),
        KeysChip::Expiring => held.left().is_some_and(|left| left < EXPIRING),
        KeysChip::NoTtl => held.entry.expires_at().is_none(),
        KeysChip::Hot => health.is_hot(held.entry),
        KeysChip::JobIds => false,
    }
}

/// The keys that a question means, in the making.
pub struct Matching {
    question: Question,
    health: Arc<Health>,
    looked: Option<EntryId>,
    max: usize,
    /// Those found, in order of registration.
    pub keys: Vec<EntryId>,
    /// Whether there are more than the bound.
    pub more: bool,
    /// Whether all are found, or as many as were wanted.
    pub done: bool,
}

impl Matching {
    /// At most `max`.
    #[must_use]
    pub fn new(question: Question, health: Arc<Health>, max: usize) -> Matching {
        Matching { question, health, looked: None, max, keys: Vec::new(), more: false, done: false }
    }

    /// Looks on. Runs on the core thread.
    #[must_use]
    pub fn step(mut self, core: &CoreView<'_>) -> Matching {
        let looker = Looker::new(core);
        let mut looked = 0;
        for entry in core.engine.keys_by_entry(self.looked).take(KEY_STEP_MAX) {
            looked += 1;
            self.looked = Some(entry.entry);
            if !self.means(core, &looker, entry) {
                continue;
            }
            self.more = self.keys.len() == self.max;
            if self.more {
                break;
            }
            self.keys.push(entry.entry);
        }
        self.done = self.more || looked < KEY_STEP_MAX;
        self
    }

    fn means(&self, core: &CoreView<'_>, looker: &Looker<'_>, entry: &KeyEntry) -> bool {
        let held = Held { core, entry, queue: &looker.queue(entry.queue).name, codes: self.health.codes(entry) };
        is_in(self.question.chip, &held, &self.health) && self.question.filter.accepts(&held)
    }
}

#[cfg(test)]
#[path = "key_search_tests.rs"]
mod key_search_tests;
