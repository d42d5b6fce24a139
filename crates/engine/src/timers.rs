//! One ordered set of moments at which something must be looked at again.
//!
//! Every deadline in the state has its timer and every timer its state: whoever changes a deadline cancels the old timer. Only
//! the ends of keys' windows stand elsewhere: `keys.rs` has them in order anyway, and there may be a million.

use crate::names::{JobKey, ParkId, QueueId};
use crate::schedule::ScheduleId;
use crate::time::Timestamp;
use std::collections::BTreeSet;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A queued job's own ttl has run out.
    JobExpiry(JobKey),
    /// An attempt has run too long.
    JobTimeout(JobKey),
    /// A queue's temporary rate ends.
    RateEnd(QueueId),
    /// Something that held groups of a queue back ends.
    GroupEnd(QueueId),
    /// A token is there for the parked pulls of a queue.
    Refill(QueueId),
    /// A delayed job becomes ready.
    Promote(JobKey),
    /// A schedule fires.
    Schedule(ScheduleId),
    /// A dead letter is tried once more by itself.
    DeadRetry(JobKey),
    /// A dead letter has been kept long enough. After its retry, so that one that is due counts.
    DeadEnd(JobKey),
    /// A parked request has waited long enough.
    ParkEnd(ParkId),
    /// Locks and stalls are looked at.
    Sweep,
    /// Counters of keys are written.
    Tallies,
}

/// The timers, soonest first.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    due: BTreeSet<(Timestamp, Timer)>,
}

impl Timers {
    pub(crate) fn set(&mut self, at: Timestamp, timer: Timer) {
        self.due.insert((at, timer));
    }

    pub(crate) fn cancel(&mut self, at: Timestamp, timer: Timer) {
        let was_set = self.due.remove(&(at, timer));
        debug_assert!(was_set, "a deadline in the state has its timer: {timer:?} at {at:?}");
    }

    /// The next timer with `at <= now`, taken out.
    pub(crate) fn pop_due(&mut self, now: Timestamp) -> Option<(Timestamp, Timer)> {
        let first = *self.due.first()?;
        if !first.0.is_due(now) {
            return None;
        }
        self.due.pop_first()
    }

    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(Timestamp, Timer)> {
        self.due.iter()
    }
}
