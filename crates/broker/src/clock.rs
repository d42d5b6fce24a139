//! The wall clock, made monotonic.
//!
//! Windows outlive the process, so moments are wall-clock; but a clock that is set back must not make time run
//! backwards inside the broker. The clock follows the wall when that is ahead (also after the machine slept) and
//! otherwise counts on from the last moment it gave.

use onceover_engine::time::Timestamp;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Gives the time of each turn. Owned by the core thread.
#[derive(Debug)]
pub struct Clock {
    last: Duration,
    last_read: Instant,
}

impl Clock {
    /// A clock that starts at the wall's time.
    #[must_use]
    pub fn new() -> Clock {
        Clock { last: wall(), last_read: Instant::now() }
    }

    /// The time: never before an earlier answer.
    pub fn now(&mut self) -> Timestamp {
        self.read(wall(), Instant::now())
    }

    fn read(&mut self, wall: Duration, at: Instant) -> Timestamp {
        self.last = wall.max(self.last + at.saturating_duration_since(self.last_read));
        self.last_read = at;
        timestamp(self.last)
    }
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::new()
    }
}

/// The wall's time as it stands, for moments that are only shown.
#[must_use]
pub fn wall_now() -> Timestamp {
    timestamp(wall())
}

fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn timestamp(since_epoch: Duration) -> Timestamp {
    Timestamp(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod clock_tests;
