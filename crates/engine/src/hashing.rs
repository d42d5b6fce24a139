//! Hashing of what clients choose: ids, deduplication keys, names of queues.
//!
//! Guarantee: who does not know the seed cannot find texts that collide. With a hash that everybody can compute, forty
//! thousand such texts make every look-up walk through all of them, and the broker stands still. Numbers that the engine
//! gives out itself (generations, entries, connections) need none of this and are hashed faster.
//!
//! The seed comes from outside, so an engine that is given the same one does the same; no order that may reach an output
//! depends on it.

use std::hash::{BuildHasher, DefaultHasher, Hasher};

/// Makes hashers from one secret seed. The standard library's hasher (SipHash 1-3), which has taken in the seed first:
/// made for this purpose, and no library more. Its cost is 20 ns a text, of several thousand that an add takes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keyed {
    seeded: DefaultHasher,
}

impl Keyed {
    pub(crate) fn new(seed: u128) -> Keyed {
        let mut seeded = DefaultHasher::new();
        seeded.write(&seed.to_ne_bytes());
        Keyed { seeded }
    }
}

impl BuildHasher for Keyed {
    type Hasher = DefaultHasher;

    fn build_hasher(&self) -> DefaultHasher {
        self.seeded.clone()
    }
}

#[cfg(test)]
mod hashing_tests {
    use super::*;

    #[test]
    fn the_seed_decides_where_a_text_lies() {
        let of = |seed, text: &str| Keyed::new(seed).hash_one(text);
        assert_eq!(of(7, "text"), of(7, "text"));
        assert_ne!(of(7, "text"), of(8, "text"));
        assert_ne!(of(7, "text"), of(7 << 64, "text"));
    }

    #[test]
    fn texts_that_collide_without_a_seed_do_not() {
        // What hides the halves of a multiplication from each other: see the stage `hostile` of the tests.
        let texts = (0..1_000).map(|number| format!("XLYo4nhV9VMfGlHzmmmmmmmmmmmmmmmmc/${{#VXk{number:08}"));
        let (mut keyed, mut plain) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
        for text in texts {
            keyed.insert(Keyed::new(1).hash_one(&text));
            plain.insert(rustc_hash::FxBuildHasher.hash_one(&text));
        }
        assert_eq!((keyed.len(), plain.len()), (1_000, 1));
    }
}
