//! What all keys have to look at, found in a pass that several questions share.
//!
//! The pass asks for every key's owner, so among many keys it takes steps, between which the core serves its clients, and its
//! result is used again for a while. Among few keys it is one step, made anew whenever something has changed.

use crate::actions::look;
use crate::attention::{Codes, Looker};
use crate::keys::is_hot;
use crate::limits::KEY_STEP_MAX;
use crate::order::Rank;
use crate::view::Failure;
use onceover_broker::{BrokerHandle, CoreView};
use onceover_engine::dedup::KeyEntry;
use onceover_engine::names::EntryId;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A result is used this long, in ms.
const FRESH_MS: i64 = 1_000;
/// A pass that took longer is repeated so many times less often, so that it takes a tenth of the core's time at most.
const REST_PER_WORK: i64 = 10;
/// A pass whose asker left is not waited for longer than this, in ms.
const PASS_MS_MAX: i64 = 10_000;

/// The result of a pass.
#[derive(Debug, Default)]
pub struct Health {
    began: i64,
    ended: i64,
    revision: u64,
    /// Only keys with something to look at.
    codes: HashMap<EntryId, Codes>,
    hot: HashSet<EntryId>,
    /// The keys in `codes`, worst first, then by the end of their windows.
    worst_first: Vec<(i64, i64, EntryId)>,
}

/// Where a key stands in the order of attention: the worst first, then the soonest end.
pub fn place(entry: &KeyEntry, codes: Codes) -> (i64, i64) {
    (-i64::from(codes.rank()), entry.expires_at().map_or(i64::MAX, |end| end.0))
}

impl Health {
    /// What there is to look at about a key.
    pub fn codes(&self, entry: &KeyEntry) -> Codes {
        self.codes.get(&entry.entry).copied().unwrap_or_default()
    }

    /// Whether it is absorbing many adds.
    pub fn is_hot(&self, entry: &KeyEntry) -> bool {
        self.hot.contains(&entry.entry)
    }

    /// The keys with something to look at.
    pub fn entries(&self) -> impl Iterator<Item = (EntryId, Codes)> + '_ {
        self.codes.iter().map(|(entry, codes)| (*entry, *codes))
    }

    /// The same in the order of attention.
    pub fn worst_first(&self) -> impl Iterator<Item = (Rank<'static>, EntryId)> + '_ {
        let rank =
            |(class, end, entry): (i64, i64, EntryId)| Rank { numbers: (class, end), texts: ("", ""), own: entry.0 };
        self.worst_first.iter().map(move |place| (rank(*place), place.2))
    }

    /// How many keys have something to look at.
    pub fn attention(&self) -> u64 {
        self.codes.len() as u64
    }

    /// How many keys are absorbing many adds.
    pub fn hot(&self) -> u64 {
        self.hot.len() as u64
    }
}

/// A pass under way.
struct Pass {
    found: Health,
    /// The last key that was looked at.
    after: Option<EntryId>,
    done: bool,
}

impl Pass {
    fn step(mut self, core: &CoreView<'_>) -> Pass {
        let looker = Looker::new(core);
        let mut looked = 0;
        for entry in core.engine.keys_by_entry(self.after).take(KEY_STEP_MAX) {
            looked += 1;
            self.after = Some(entry.entry);
            let codes = looker.codes(entry, core.engine.job_by_key(entry.owner));
            if !codes.is_empty() {
                self.found.codes.insert(entry.entry, codes);
                let (class, end) = place(entry, codes);
                self.found.worst_first.push((class, end, entry.entry));
            }
            if is_hot(entry, core.now) {
                self.found.hot.insert(entry.entry);
            }
        }
        self.done = looked < KEY_STEP_MAX;
        self.found.ended = core.now.0;
        self
    }
}

enum Step {
    Known(Arc<Health>),
    Looked(Pass),
}

/// The last result, shared by all questions of an inspector.
#[derive(Clone, Debug, Default)]
pub struct HealthCache(Arc<Mutex<Last>>);

#[derive(Debug, Default)]
struct Last {
    health: Option<Arc<Health>>,
    /// When a pass that takes more than a step began; nobody else begins one meanwhile.
    passing_since: Option<i64>,
}

impl HealthCache {
    /// The last result, or a new one where it is too old.
    ///
    /// # Errors
    /// The broker does not run.
    pub async fn get(&self, broker: &BrokerHandle) -> Result<Arc<Health>, Failure> {
        let mut pass = None;
        loop {
            let cache = self.clone();
            match look(broker, move |core| cache.step(core, pass)).await? {
                Step::Known(health) => return Ok(health),
                Step::Looked(looked) if looked.done => return Ok(self.keep(looked.found)),
                Step::Looked(looked) => pass = Some(looked),
            }
        }
    }

    fn step(&self, core: &CoreView<'_>, pass: Option<Pass>) -> Step {
        if let Some(pass) = pass {
            return Step::Looked(pass.step(core));
        }
        let mut last = self.last();
        if let Some(health) = last.usable(core) {
            return Step::Known(health);
        }
        last.passing_since = (core.engine.keys_len() > KEY_STEP_MAX).then_some(core.now.0);
        drop(last);
        let found = Health { began: core.now.0, revision: core.revision, ..Health::default() };
        Step::Looked(Pass { found, after: None, done: false }.step(core))
    }

    fn keep(&self, mut found: Health) -> Arc<Health> {
        found.worst_first.sort_unstable();
        let health = Arc::new(found);
        *self.last() = Last { health: Some(Arc::clone(&health)), passing_since: None };
        health
    }

    /// It is replaced as a whole, so a panic elsewhere leaves a whole one.
    fn last(&self) -> MutexGuard<'_, Last> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Last {
    fn usable(&self, core: &CoreView<'_>) -> Option<Arc<Health>> {
        let health = self.health.as_ref()?;
        let many = core.engine.keys_len() > KEY_STEP_MAX;
        let is_passing = self.passing_since.is_some_and(|since| core.now.0 - since < PASS_MS_MAX);
        let fresh_ms = FRESH_MS.max((health.ended - health.began) * REST_PER_WORK);
        let is_fresh = core.now.0 - health.ended < fresh_ms;
        let usable = if many { is_passing || is_fresh } else { is_fresh && health.revision == core.revision };
        usable.then(|| Arc::clone(health))
    }
}
