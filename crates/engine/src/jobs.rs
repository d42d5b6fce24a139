//! The jobs themselves, found by generation or by id.

use crate::hashing::Keyed;
use crate::index::Index;
use crate::job::Job;
use crate::names::{JobId, JobKey};
use crate::slab::Slab;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// All jobs the engine knows, live and finished. An id names at most one of them.
#[derive(Debug)]
pub(crate) struct Jobs {
    slab: Slab<Job>,
    by_key: Index,
    by_id: Index,
    keyed: Keyed,
}

/// Generations are ours, so they need no seed.
fn hash_of(key: JobKey) -> u64 {
    FxBuildHasher.hash_one(key)
}

impl Jobs {
    pub(crate) fn new(keyed: &Keyed) -> Jobs {
        let (by_key, by_id) = (Index::default(), Index::default());
        Jobs { slab: Slab::default(), by_key, by_id, keyed: keyed.clone() }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Takes a job in. Its generation is new and its id free: the caller has seen to that.
    pub(crate) fn insert(&mut self, job: Job) {
        let (key_hash, id_hash) = (hash_of(job.key), self.keyed.hash_one(&job.id));
        let Jobs { slab, by_key, by_id, keyed } = self;
        let has_it = |slot| at(slab, slot).id == job.id;
        assert!(by_id.find(id_hash, has_it).is_none(), "an id names at most one job: {}", job.id);
        let slot = slab.insert(job);
        by_key.insert(key_hash, slot, |slot| hash_of(at(slab, slot).key));
        by_id.insert(id_hash, slot, |slot| keyed.hash_one(&at(slab, slot).id));
    }

    /// Makes room in the indexes for so many more.
    pub(crate) fn reserve(&mut self, more: usize) {
        let Jobs { slab, by_key, by_id, keyed } = self;
        by_key.reserve(more, |slot| hash_of(at(slab, slot).key));
        by_id.reserve(more, |slot| keyed.hash_one(&at(slab, slot).id));
    }

    pub(crate) fn remove(&mut self, key: JobKey) -> Option<Job> {
        let Jobs { slab, by_key, by_id, keyed } = self;
        let slot = by_key.remove(hash_of(key), |slot| at(slab, slot).key == key)?;
        let by_its_id = by_id.remove(keyed.hash_one(&at(slab, slot).id), |other| other == slot);
        by_its_id.expect("every job is found by its id");
        slab.remove(slot)
    }

    pub(crate) fn get(&self, key: JobKey) -> Option<&Job> {
        let slot = self.by_key.find(hash_of(key), |slot| at(&self.slab, slot).key == key)?;
        self.slab.get(slot)
    }

    pub(crate) fn get_mut(&mut self, key: JobKey) -> Option<&mut Job> {
        let slot = self.by_key.find(hash_of(key), |slot| at(&self.slab, slot).key == key)?;
        self.slab.get_mut(slot)
    }

    pub(crate) fn by_id(&self, id: &JobId) -> Option<&Job> {
        let slot = self.by_id.find(self.keyed.hash_one(id), |slot| at(&self.slab, slot).id == *id)?;
        self.slab.get(slot)
    }

    pub(crate) fn key_of(&self, id: &JobId) -> Option<JobKey> {
        self.by_id(id).map(|job| job.key)
    }

    /// In no order that may reach an output.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Job> {
        self.slab.iter()
    }
}

fn at(slab: &Slab<Job>, slot: u32) -> &Job {
    slab.get(slot).expect("an indexed slot holds a job")
}
