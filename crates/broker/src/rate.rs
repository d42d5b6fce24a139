//! A moving rate per second, for figures in the window.

use onceover_engine::time::Timestamp;

/// Seconds that a rate looks back.
pub const RATE_SECONDS: usize = 5;

/// How much happened per second, over the last [`RATE_SECONDS`] full seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rate {
    second: i64,
    /// What happened in `second` and in the full seconds before it, by second modulo the length.
    counts: [u64; RATE_SECONDS + 1],
}

impl Rate {
    /// Counts `n` happenings at `now`.
    pub fn add(&mut self, now: Timestamp, n: u64) {
        self.advance(now);
        self.counts[slot(self.second)] += n;
    }

    /// Happenings per second; the second that is still running does not count.
    #[must_use]
    pub fn per_second(&self, now: Timestamp) -> f64 {
        let mut copy = *self;
        copy.advance(now);
        let full: u64 = copy.counts.iter().sum::<u64>() - copy.counts[slot(copy.second)];
        full as f64 / RATE_SECONDS as f64
    }

    fn advance(&mut self, now: Timestamp) {
        let second = now.0.div_euclid(1000);
        let steps = (second - self.second).clamp(0, self.counts.len() as i64);
        for step in 0..steps {
            self.counts[slot(second - step)] = 0;
        }
        self.second = self.second.max(second);
    }
}

fn slot(second: i64) -> usize {
    second.rem_euclid(RATE_SECONDS as i64 + 1) as usize
}

#[cfg(test)]
#[path = "rate_tests.rs"]
mod rate_tests;
