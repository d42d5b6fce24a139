//! What all keys have to look at, found in one pass that several questions share.
//!
//! The pass asks for every key's owner. Among many keys that takes some milliseconds of the core's time, so its result is
//! used again for a second; among few it is made anew whenever something has changed.

use crate::attention::{Codes, Looker};
use onceover_broker::CoreView;
use onceover_engine::dedup::KeyEntry;
use onceover_engine::names::EntryId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A result is never used longer than this.
const FRESH_MS: i64 = 1_000;
/// Among more keys than this a result is used again although something has changed.
const KEYS_FEW_MAX: usize = 10_000;

/// The result of a pass.
#[derive(Debug)]
pub struct Health {
    at: i64,
    revision: u64,
    /// Only keys with something to look at.
    codes: HashMap<EntryId, Codes>,
    /// Custom ids of unfinished jobs.
    pub job_ids: u64,
}

impl Health {
    fn of(core: &CoreView<'_>) -> Health {
        let looker = Looker::new(core);
        let looked =
            core.engine.keys().map(|entry| (entry.entry, looker.codes(entry, core.engine.job_by_key(entry.owner))));
        Health {
            at: core.now.0,
            revision: core.revision,
            codes: looked.filter(|(_, codes)| !codes.is_empty()).collect(),
            job_ids: core.engine.custom_ids_len() as u64,
        }
    }

    /// What there is to look at about a key.
    pub fn codes(&self, entry: &KeyEntry) -> Codes {
        self.codes.get(&entry.entry).copied().unwrap_or_default()
    }

    /// The keys with something to look at.
    pub fn entries(&self) -> impl Iterator<Item = (EntryId, Codes)> + '_ {
        self.codes.iter().map(|(entry, codes)| (*entry, *codes))
    }

    /// How many keys have something to look at.
    pub fn attention(&self) -> u64 {
        self.codes.len() as u64
    }
}

/// The last result, shared by all questions of an inspector.
#[derive(Clone, Debug, Default)]
pub struct HealthCache(Arc<Mutex<Option<Arc<Health>>>>);

impl HealthCache {
    /// The last result, or a new one where it is too old.
    pub fn get(&self, core: &CoreView<'_>) -> Arc<Health> {
        // A result is replaced as a whole, so a panic elsewhere leaves a whole one.
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let many = core.engine.keys_len() > KEYS_FEW_MAX;
        let usable =
            |health: &&mut Arc<Health>| core.now.0 - health.at < FRESH_MS && (many || health.revision == core.revision);
        match last.as_mut().filter(usable) {
            Some(health) => Arc::clone(health),
            None => Arc::clone(last.insert(Arc::new(Health::of(core)))),
        }
    }
}
