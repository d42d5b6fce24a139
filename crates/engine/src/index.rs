//! Where values stand, by the hash of their names, in parts that grow one by one.
//!
//! A table doubles by hashing all its names once more: with a hundred thousand texts everybody would wait for 30 ms. Here a
//! five-hundredth of them is hashed at a time.

use hashbrown::HashTable;

/// Parts, a power of two. With a million values one part grows in half a millisecond.
const PARTS: usize = 512;
/// Room of a part from the start: small tables double often. 100 bytes each.
const ROOM: usize = 14;

/// Slots by hash.
#[derive(Debug)]
pub(crate) struct Index {
    parts: Vec<HashTable<u32>>,
    len: usize,
}

impl Default for Index {
    fn default() -> Index {
        Index { parts: (0..PARTS).map(|_| HashTable::with_capacity(ROOM)).collect(), len: 0 }
    }
}

impl Index {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The slot with that hash for which `is_it` holds.
    pub(crate) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        self.parts[part_of(hash)].find(hash, |slot| is_it(*slot)).copied()
    }

    /// Takes in a slot that is not there yet. `hash_of` gives the hash of any that is.
    pub(crate) fn insert(&mut self, hash: u64, slot: u32, hash_of: impl Fn(u32) -> u64) {
        self.parts[part_of(hash)].insert_unique(hash, slot, |slot| hash_of(*slot));
        self.len += 1;
    }

    /// Takes out the slot with that hash for which `is_it` holds.
    pub(crate) fn remove(&mut self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let found = self.parts[part_of(hash)].find_entry(hash, |slot| is_it(*slot)).ok()?;
        self.len -= 1;
        Some(found.remove().0)
    }

    /// Makes room for so many more, as evenly as hashes fall.
    pub(crate) fn reserve(&mut self, more: usize, hash_of: impl Fn(u32) -> u64) {
        self.parts.iter_mut().for_each(|part| part.reserve(more / PARTS, |slot| hash_of(*slot)));
    }
}

/// A table uses the lowest bits and the highest ones.
fn part_of(hash: u64) -> usize {
    (hash >> 32) as usize % PARTS
}

#[cfg(test)]
mod index_tests {
    use super::*;
    use rustc_hash::FxBuildHasher;
    use std::hash::BuildHasher;

    fn hash_of(slot: u32) -> u64 {
        FxBuildHasher.hash_one(u64::from(slot) * 2)
    }

    #[test]
    fn what_is_put_in_is_found_until_it_is_taken_out() {
        let mut index = Index::default();
        (0..50_000).for_each(|slot| index.insert(hash_of(slot), slot, hash_of));
        assert_eq!(index.len(), 50_000);
        assert_eq!(index.find(hash_of(7), |slot| slot == 7), Some(7));
        assert_eq!(index.find(hash_of(7), |_| false), None);
        assert_eq!(index.remove(hash_of(7), |slot| slot == 7), Some(7));
        assert_eq!(index.remove(hash_of(7), |slot| slot == 7), None);
        index.reserve(100_000, hash_of);
        assert_eq!(index.len(), 49_999);
        assert!((8..50_000).all(|slot| index.find(hash_of(slot), |other| other == slot) == Some(slot)));
    }

    #[test]
    fn no_part_is_much_fuller_than_the_others() {
        let mut index = Index::default();
        (0..100_000).for_each(|slot| index.insert(hash_of(slot), slot, hash_of));
        let fullest = index.parts.iter().map(HashTable::len).max();
        assert!(fullest < Some(400), "{fullest:?} of 195 on average: all of them would be hashed at a time");
    }
}
