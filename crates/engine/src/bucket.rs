//! A token bucket, in whole numbers: no token is lost or made by rounding, and the moment of the next one is exact.

use crate::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};

/// So many jobs in so much time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rate {
    /// Jobs; 0 = none at all.
    pub max: u64,
    /// In this time, at least 1 ms.
    pub duration: Millis,
}

/// A bucket of `rate.max` tokens, of which `rate.max` come back per `rate.duration`.
///
/// All that changes is the moment at which it is full. It is counted in parts of a millisecond, `rate.max` parts to each, so
/// that a token is `rate.duration` parts. Tokens now = (max * duration - parts until full) / duration, rounded down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bucket {
    rate: Rate,
    full_at: i128,
}

impl Bucket {
    /// A bucket from which `taken` tokens are missing; not more than it holds.
    pub(crate) fn new(rate: Rate, now: Timestamp, taken: u64) -> Bucket {
        let missing = i128::from(taken.min(rate.max)) * i128::from(rate.duration.0);
        Bucket { rate, full_at: parts(rate, now) + missing }
    }

    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    fn capacity(&self) -> i128 {
        i128::from(self.rate.max) * i128::from(self.rate.duration.0)
    }

    fn missing(&self, now: Timestamp) -> i128 {
        (self.full_at - parts(self.rate, now)).clamp(0, self.capacity())
    }

    /// 0 to `rate.max`.
    pub(crate) fn tokens(&self, now: Timestamp) -> u64 {
        ((self.capacity() - self.missing(now)) / i128::from(self.rate.duration.0)) as u64
    }

    /// Takes one token; of an empty bucket nothing.
    pub(crate) fn take(&mut self, now: Timestamp) {
        let missing = (self.missing(now) + i128::from(self.rate.duration.0)).min(self.capacity());
        self.full_at = parts(self.rate, now) + missing;
    }

    /// The first millisecond at which a token is there; in the past when one is there already, none when there never is.
    pub(crate) fn next_at(&self) -> Option<Timestamp> {
        if self.rate.max == 0 {
            return None;
        }
        let last_empty = self.full_at - (self.capacity() - i128::from(self.rate.duration.0));
        let max = i128::from(self.rate.max);
        let at = last_empty.div_euclid(max) + i128::from(last_empty.rem_euclid(max) != 0);
        Some(Timestamp(at.clamp(0, i128::from(i64::MAX)) as i64))
    }
}

fn parts(rate: Rate, at: Timestamp) -> i128 {
    i128::from(at.0) * i128::from(rate.max)
}

#[cfg(test)]
#[path = "bucket_tests.rs"]
mod bucket_tests;
