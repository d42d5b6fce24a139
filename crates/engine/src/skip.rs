//! A clock that went ahead without the time having passed: it was set, or the machine slept.
//!
//! Windows, delays and other moments of the wall clock are what the clock says they are. What lasts while somebody works or
//! waits lasts as long as before: leases, signs of life, the time limits of attempts and of parked requests.

use crate::engine::Engine;
use crate::names::JobKey;
use crate::time::Millis;
use crate::timers::Timer;

impl Engine {
    /// The clock went ahead by `by` (not negative) at once. Call it before the first `tick` with the new time.
    pub fn skip(&mut self, by: Millis) {
        debug_assert!(by.0 >= 0, "a clock that is set back is counted on from");
        let active: Vec<JobKey> = self.queues.iter().flat_map(|queue| queue.active.iter().copied()).collect();
        for key in active {
            let job = self.known_mut(key);
            let end = job.attempt_ends_at();
            job.last_heartbeat = job.last_heartbeat.plus(by);
            let delivery = job.delivery.as_deref_mut().expect("an active job has exactly one delivery");
            delivery.skipped = Millis(delivery.skipped.0.saturating_add(by.0));
            if let Some(lock) = delivery.lock.as_mut() {
                lock.expires_at = lock.expires_at.plus(by);
            }
            if let Some(end) = end {
                self.timers.cancel(end, Timer::JobTimeout(key));
                self.timers.set(end.plus(by), Timer::JobTimeout(key));
            }
        }
        self.skip_parked(by);
        self.workers.skip(by);
    }
}

#[cfg(test)]
#[path = "skip_tests.rs"]
mod skip_tests;
