//! Change hints for the window: "something is different, ask again". Coalesced, so that their number does not grow with
//! the number of changes, and never lost, because a hint says only how new the newest is.

use crate::limits::{HINT_EVERY, QUIET_HINT_AFTER};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

/// Told by the core, heard by the hint task.
#[derive(Debug, Default)]
pub struct Hints {
    revision: AtomicU64,
    changed: AtomicBool,
    wake: Notify,
}

impl Hints {
    /// Something the window shows is different.
    pub fn changed(&self, revision: u64) {
        self.revision.store(revision, Ordering::Relaxed);
        self.changed.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// The core has ended and counts no more.
    pub fn ended(&self) {
        let revision = self.revision.fetch_add(1, Ordering::Relaxed) + 1;
        self.changed(revision);
    }

    /// Only counters of connections moved: worth a hint, but not ten a second.
    pub fn counted(&self, revision: u64) {
        self.revision.store(revision, Ordering::Relaxed);
        self.wake.notify_one();
    }
}

/// Passes hints on for as long as its runtime lives.
pub async fn pass_on(hints: Arc<Hints>, to: watch::Sender<u64>) {
    loop {
        hints.wake.notified().await;
        if !hints.changed.load(Ordering::Acquire) {
            // Ends early when something more important happens.
            let _ = timeout(QUIET_HINT_AFTER, until_changed(&hints)).await;
        }
        hints.changed.store(false, Ordering::Release);
        let revision = hints.revision.load(Ordering::Relaxed);
        to.send_if_modified(|shown| std::mem::replace(shown, revision) != revision);
        sleep(HINT_EVERY).await;
    }
}

async fn until_changed(hints: &Hints) {
    while !hints.changed.load(Ordering::Acquire) {
        hints.wake.notified().await;
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod watch_tests;
