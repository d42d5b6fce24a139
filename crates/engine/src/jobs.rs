//! The jobs themselves: a slab that grows without moving any, found by generation or by id.

use crate::hashing::Keyed;
use crate::job::Job;
use crate::names::{JobId, JobKey};
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

const CHUNK: usize = 1024;

/// All jobs the engine knows, live and finished. An id names at most one of them.
#[derive(Debug)]
pub(crate) struct Jobs {
    chunks: Vec<Vec<Option<Box<Job>>>>,
    free: Vec<u32>,
    by_key: HashTable<u32>,
    by_id: HashTable<u32>,
    keyed: Keyed,
}

/// Generations are ours, so they need no seed.
fn hash_of(key: JobKey) -> u64 {
    FxBuildHasher.hash_one(key)
}

impl Jobs {
    pub(crate) fn new(keyed: &Keyed) -> Jobs {
        let (by_key, by_id) = (HashTable::new(), HashTable::new());
        Jobs { chunks: Vec::new(), free: Vec::new(), by_key, by_id, keyed: keyed.clone() }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Takes a job in. Its generation is new and its id free: the caller has seen to that.
    pub(crate) fn insert(&mut self, job: Job) {
        assert!(self.key_of(&job.id).is_none(), "an id names at most one job: {}", job.id);
        let (key_hash, id_hash) = (hash_of(job.key), self.keyed.hash_one(&job.id));
        let slot = self.take_slot();
        *self.cell(slot) = Some(Box::new(job));
        let Jobs { chunks, by_key, by_id, keyed, .. } = self;
        by_key.insert_unique(key_hash, slot, |slot| hash_of(at(chunks, *slot).key));
        by_id.insert_unique(id_hash, slot, |slot| keyed.hash_one(&at(chunks, *slot).id));
    }

    pub(crate) fn remove(&mut self, key: JobKey) -> Option<Job> {
        let Jobs { chunks, by_key, by_id, keyed, .. } = self;
        let found = by_key.find_entry(hash_of(key), |slot| at(chunks, *slot).key == key).ok()?;
        let slot = found.remove().0;
        let id = &at(chunks, slot).id;
        let entry = by_id.find_entry(keyed.hash_one(id), |other| *other == slot);
        entry.expect("every job is found by its id").remove();
        let job = self.cell(slot).take().expect("an indexed slot holds a job");
        self.free.push(slot);
        Some(*job)
    }

    pub(crate) fn get(&self, key: JobKey) -> Option<&Job> {
        let slot = self.by_key.find(hash_of(key), |slot| at(&self.chunks, *slot).key == key)?;
        Some(at(&self.chunks, *slot))
    }

    pub(crate) fn get_mut(&mut self, key: JobKey) -> Option<&mut Job> {
        let slot = *self.by_key.find(hash_of(key), |slot| at(&self.chunks, *slot).key == key)?;
        self.cell(slot).as_deref_mut()
    }

    pub(crate) fn by_id(&self, id: &JobId) -> Option<&Job> {
        let slot = self.by_id.find(self.keyed.hash_one(id), |slot| at(&self.chunks, *slot).id == *id)?;
        Some(at(&self.chunks, *slot))
    }

    pub(crate) fn key_of(&self, id: &JobId) -> Option<JobKey> {
        self.by_id(id).map(|job| job.key)
    }

    /// In no order that may reach an output.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Job> {
        self.chunks.iter().flatten().filter_map(Option::as_deref)
    }

    fn take_slot(&mut self) -> u32 {
        if let Some(slot) = self.free.pop() {
            return slot;
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let base = (self.chunks.len() - 1) * CHUNK;
        let chunk = self.chunks.last_mut().expect("a chunk with room was just made sure of");
        chunk.push(None);
        u32::try_from(base + chunk.len() - 1).expect("fewer than 2^32 jobs fit in memory")
    }

    fn cell(&mut self, slot: u32) -> &mut Option<Box<Job>> {
        &mut self.chunks[slot as usize / CHUNK][slot as usize % CHUNK]
    }
}

fn at(chunks: &[Vec<Option<Box<Job>>>], slot: u32) -> &Job {
    let cell = &chunks[slot as usize / CHUNK][slot as usize % CHUNK];
    cell.as_deref().expect("an indexed slot holds a job")
}
