//! Ids of jobs that completed and were removed at once: they still satisfy a later `dependsOn` (protocol-core.md 5.9).

use crate::hashing::Keyed;
use crate::names::{JobId, JobKey};
use std::collections::{BTreeMap, HashMap};

/// The newest of them, oldest first.
#[derive(Debug)]
pub(crate) struct CompletedIds {
    by_key: BTreeMap<JobKey, JobId>,
    by_id: HashMap<JobId, JobKey, Keyed>,
}

impl CompletedIds {
    pub(crate) fn new(keyed: &Keyed) -> CompletedIds {
        CompletedIds { by_key: BTreeMap::new(), by_id: HashMap::with_hasher(keyed.clone()) }
    }

    pub(crate) fn contains(&self, id: &JobId) -> bool {
        self.by_id.contains_key(id)
    }

    pub(crate) fn id_of(&self, key: JobKey) -> Option<&JobId> {
        self.by_key.get(&key)
    }

    /// Remembers an id; an older mention of it is answered, for it must go.
    pub(crate) fn insert(&mut self, key: JobKey, id: JobId) -> Option<JobKey> {
        let before = self.by_id.insert(id.clone(), key);
        if let Some(before) = before {
            self.by_key.remove(&before);
        }
        self.by_key.insert(key, id);
        before
    }

    /// Forgets an id, which is in use again.
    pub(crate) fn remove(&mut self, id: &JobId) -> Option<JobKey> {
        let key = self.by_id.remove(id)?;
        self.by_key.remove(&key);
        Some(key)
    }

    /// Forgets the oldest while there are more than `most`.
    pub(crate) fn pop_over(&mut self, most: usize) -> Option<JobKey> {
        if self.by_key.len() <= most {
            return None;
        }
        let (key, id) = self.by_key.pop_first()?;
        self.by_id.remove(&id);
        Some(key)
    }
}
