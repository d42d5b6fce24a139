//! The wall clock, made monotonic.
//!
//! Windows outlive the process, so moments are wall-clock; but a clock that is set back must not make time run
//! backwards inside the broker. The clock follows the wall when that is ahead (also after the machine slept) and
//! otherwise counts on from the last moment it gave.

use onceover_engine::time::{Millis, Timestamp};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A difference between the wall and the time that passed which is worth a word; smaller ones are corrections of drift.
const JUMP_MIN: Duration = Duration::from_secs(2);

/// The wall's time moved by another amount than the time that passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jump {
    /// It was set ahead, or the machine slept.
    Ahead(Millis),
    /// It was set back. The clock does not follow.
    Back(Millis),
}

/// Gives the time of each turn. Owned by who drives the core.
#[derive(Debug)]
pub struct Clock {
    last: Duration,
    last_read: Instant,
    last_wall: Duration,
    jump: Option<Jump>,
}

impl Clock {
    /// A clock that starts at the wall's time.
    #[must_use]
    pub fn new() -> Clock {
        let wall = wall();
        Clock { last: wall, last_read: Instant::now(), last_wall: wall, jump: None }
    }

    /// The time: never before an earlier answer.
    pub fn now(&mut self) -> Timestamp {
        self.read(wall(), Instant::now())
    }

    /// The last jump that was seen since this was asked.
    pub fn take_jump(&mut self) -> Option<Jump> {
        self.jump.take()
    }

    fn read(&mut self, wall: Duration, at: Instant) -> Timestamp {
        let passed = at.saturating_duration_since(self.last_read);
        let expected = self.last + passed;
        let ahead = wall.saturating_sub(expected);
        let back = (self.last_wall + passed).saturating_sub(wall);
        if ahead > JUMP_MIN {
            self.jump = Some(Jump::Ahead(millis(ahead)));
        } else if back > JUMP_MIN {
            self.jump = Some(Jump::Back(millis(back)));
        }
        self.last = wall.max(expected);
        (self.last_read, self.last_wall) = (at, wall);
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

fn millis(duration: Duration) -> Millis {
    Millis(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
}

fn timestamp(since_epoch: Duration) -> Timestamp {
    Timestamp(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod clock_tests;
