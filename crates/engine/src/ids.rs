//! Ids, tokens and jitter from one seeded generator: the engine's only randomness.

use crate::names::{JobId, LockToken, Uuid};
use crate::time::Timestamp;

/// Makes UUIDv7 numbers that ascend strictly, and random fractions.
#[derive(Clone, Debug)]
pub(crate) struct Ids {
    state: u64,
    last_ms: u64,
    /// The 12 bits after the version: counts within a millisecond.
    count: u16,
}

const COUNT_MAX: u16 = 0xfff;

impl Ids {
    pub(crate) fn new(seed: u64) -> Ids {
        Ids { state: seed, last_ms: 0, count: 0 }
    }

    /// The next job id, later in order than all before it.
    pub(crate) fn job_id(&mut self, now: Timestamp) -> JobId {
        JobId::Uuid(Uuid::new(self.uuid(now)).expect("the version stands in the upper half"))
    }

    /// A fresh secret.
    pub(crate) fn token(&mut self, now: Timestamp) -> LockToken {
        LockToken(self.uuid(now))
    }

    /// A number in `[low, high)`.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        low + unit * (high - low)
    }

    /// RFC 9562, version 7: 48 bits of milliseconds, a counter, random bits. A full counter borrows the next millisecond.
    fn uuid(&mut self, now: Timestamp) -> u128 {
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
        let low = self.next() >> 2 | 1 << 63;
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
