//! Ids, tokens and jitter: the engine's only randomness. Ids and jitter come from one seeded generator. Everybody sees the ids
//! and can compute the generator's state from one of them, so tokens come from a hash with a secret of its own.

use crate::hashing::Keyed;
use crate::names::{JobId, LockToken, Uuid};
use crate::time::Timestamp;
use std::hash::BuildHasher;

/// Makes UUIDv7 numbers that ascend strictly, and random fractions.
#[derive(Clone, Debug)]
pub(crate) struct Ids {
    state: u64,
    last_ms: u64,
    /// The 12 bits after the version: counts within a millisecond.
    count: u16,
    secret: Keyed,
    seed: u64,
    /// Tokens made.
    tokens: u64,
}

const COUNT_MAX: u16 = 0xfff;

impl Ids {
    /// An engine that is restored while it runs is given another seed, so that no token is made twice.
    pub(crate) fn new(seed: u64, secret: Keyed) -> Ids {
        Ids { state: seed, last_ms: 0, count: 0, secret, seed, tokens: 0 }
    }

    /// The next job id, later in order than all before it.
    pub(crate) fn job_id(&mut self, now: Timestamp) -> JobId {
        let random = self.next();
        JobId::Uuid(Uuid::new(self.uuid(now, random)).expect("the version stands in the upper half"))
    }

    /// A fresh secret: 62 of its bits cannot be foretold from anything that a client sees.
    pub(crate) fn token(&mut self, now: Timestamp) -> LockToken {
        self.tokens += 1;
        let secret = self.secret.hash_one((self.seed, self.tokens));
        LockToken(self.uuid(now, secret))
    }

    /// A number in `[low, high)`.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        low + unit * (high - low)
    }

    /// RFC 9562, version 7: 48 bits of milliseconds, a counter, random bits. A full counter borrows the next millisecond.
    fn uuid(&mut self, now: Timestamp, random: u64) -> u128 {
        let ms = u64::try_from(now.0).unwrap_or(0);
        if ms > self.last_ms {
            self.last_ms = ms;
            self.count = 0;
        } else if self.count == COUNT_MAX {
            self.last_ms += 1;
            self.count = 0;
        } else {
            self.count += 1;
        }
        let high = self.last_ms << 16 | 0x7000 | u64::from(self.count);
        let low = random >> 2 | 1 << 63;
        u128::from(high) << 64 | u128::from(low)
    }

    /// SplitMix64: one addition and a mix, full period.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

#[cfg(test)]
mod ids_tests {
    use super::*;

    #[test]
    fn tokens_depend_on_the_secret_and_ids_do_not() {
        let of = |seed, secret| {
            let mut ids = Ids::new(seed, Keyed::new(secret));
            (ids.job_id(Timestamp(5)), ids.token(Timestamp(5)), ids.token(Timestamp(5)))
        };
        let (id, token, next) = of(7, 1);
        assert_eq!(of(7, 1), (id.clone(), token, next), "the same seeds give the same");
        assert_ne!(token.0 as u64, next.0 as u64);
        let (same, other, _) = of(7, 2);
        assert_eq!(same, id);
        assert_ne!(other, token);
        assert_ne!(of(8, 1).1.0 as u64, token.0 as u64, "and a restored engine makes others");
    }
}
