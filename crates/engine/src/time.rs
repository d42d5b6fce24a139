//! Wall-clock moments and durations, both in whole milliseconds.
//!
//! The engine never reads a clock: every moment in it was passed in. Windows outlive the process, so moments are wall-clock.

use serde::{Deserialize, Serialize};

/// A moment: milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// A duration in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Timestamp {
    /// This moment moved later by `by`; saturates instead of overflowing.
    pub fn plus(self, by: Millis) -> Timestamp {
        Timestamp(self.0.saturating_add(by.0))
    }

    /// How long after `earlier` this moment is; negative when it is before it.
    pub fn since(self, earlier: Timestamp) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }

    /// The one rule for deadlines: due when `self <= now`.
    pub fn is_due(self, now: Timestamp) -> bool {
        self <= now
    }
}
