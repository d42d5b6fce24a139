//! The thread of the core: runs the turns that nobody else runs, and those that are due by the clock.
//!
//! A turn begins as soon as there is something to do; nothing waits for a batch to fill. If the core fails or panics, the
//! thread ends, all connections close, and the status says what to do.

use crate::driver::{Driver, ThreadEnd};
use crate::mail::Mail;
use std::thread;

/// Runs turns until the end. The storage is closed when this returns.
pub fn run(driver: Driver, mail: &Mail) -> ThreadEnd {
    wake_on_time();
    mail.drive(driver);
    loop {
        let mut guard = mail.driver();
        let Some(driver) = guard.as_mut() else { return ThreadEnd::Panicked };
        mail.take(driver.arrived());
        driver.turn();
        if let Some(end) = driver.take_end() {
            return end;
        }
        let (rest, sleep) = (driver.rest(), driver.sleep());
        drop(guard);
        if !rest.is_zero() {
            thread::sleep(rest);
        } else if !sleep.is_zero() && mail.is_empty() {
            thread::park_timeout(sleep);
        }
    }
}

/// Linux lets a sleep last 50 µs longer, to wake threads together; a delayed job would be late by as much.
fn wake_on_time() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::set_current_timer_slack(Some(std::num::NonZeroU64::MIN)) {
        tracing::debug!(%error, "delayed jobs may be 50 µs later");
    }
}
