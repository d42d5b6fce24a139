//! How many frames a connection may send in a time that slides along. Off unless asked for: an idle worker of the npm
//! client already sends twenty a second (protocol-core.md 2.1).

use crate::config::RateLimit;
use std::collections::VecDeque;
use std::time::Instant;

/// The frames of one connection that count.
pub struct RateWindow {
    limit: RateLimit,
    /// When each came, oldest first; at most `limit.frames_max`.
    taken: VecDeque<Instant>,
    refusing: bool,
    reported: bool,
}

impl RateWindow {
    /// Nothing has come yet.
    #[must_use]
    pub fn new(limit: RateLimit) -> RateWindow {
        RateWindow { limit, taken: VecDeque::new(), refusing: false, reported: false }
    }

    /// A frame comes. Refused ones do not count.
    pub fn allows(&mut self, now: Instant) -> bool {
        while self.taken.front().is_some_and(|oldest| now.duration_since(*oldest) >= self.limit.window) {
            self.taken.pop_front();
        }
        self.refusing = self.taken.len() >= self.limit.frames_max as usize;
        if !self.refusing {
            self.reported = false;
            self.taken.push_back(now);
        }
        !self.refusing
    }

    /// Whether this refusal is the first since a frame was allowed: the others need not be told of.
    pub fn is_first_refusal(&mut self) -> bool {
        self.refusing && !std::mem::replace(&mut self.reported, true)
    }
}

#[cfg(test)]
#[path = "rate_window_tests.rs"]
mod rate_window_tests;
