//! Room for frames that are not complete yet, bounded over all connections together.
//!
//! A connection holds what one read may bring without asking. A longer frame takes room from a common budget as its bytes
//! arrive, never by the length that was announced. When there is none left, whoever wants more waits unread, and the frame
//! that was begun first and has had its time is given up: its connection is closed. So clients that begin large frames and
//! do not finish them hold others up for as long as that time, and only those with large frames of their own.

use crate::limits::{READ_BYTES, UNFINISHED_BYTES_MAX, UNFINISHED_PATIENCE, UNFINISHED_STEP_BYTES};
use crate::outbox::{Cut, Fill};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::timeout;

/// Time after which one who waits looks again whether another frame has had its time.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The budget.
#[derive(Debug, Default)]
pub struct Unfinished {
    begun: Mutex<Begun>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Begun {
    bytes: usize,
    ever: u64,
    /// The oldest first.
    frames: BTreeMap<u64, LongFrame>,
}

#[derive(Debug)]
struct LongFrame {
    at: Instant,
    /// Its connection, unless the frame is complete or given up: then it ends without help.
    waits_for_client: Option<Arc<Fill>>,
}

/// What one connection holds of it.
#[derive(Debug)]
pub struct Share {
    all: Arc<Unfinished>,
    fill: Arc<Fill>,
    number: Option<u64>,
    bytes: usize,
}

impl Unfinished {
    /// Bytes that are taken.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, Begun> {
        // Only counted in; a panic elsewhere leaves nothing half done.
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Begun {
    /// Gives up the oldest frame that has had its time.
    fn give_up_one(&mut self) {
        let had_its_time = |frame: &&mut LongFrame| frame.at.elapsed() >= UNFINISHED_PATIENCE;
        let mut waiting = self.frames.values_mut().take_while(had_its_time);
        if let Some(fill) = waiting.find_map(|frame| frame.waits_for_client.take()) {
            fill.cut_off(Cut::Unfinished);
        }
    }
}

impl Share {
    /// Nothing, for the connection of this line.
    #[must_use]
    pub fn new(all: Arc<Unfinished>, fill: Arc<Fill>) -> Share {
        Share { all, fill, number: None, bytes: 0 }
    }

    /// Waits until a buffer with `waiting_bytes` in it may take another read.
    pub async fn cover(&mut self, waiting_bytes: usize) {
        if waiting_bytes <= READ_BYTES {
            self.give_back();
            return;
        }
        while self.bytes < waiting_bytes + READ_BYTES {
            if !self.take_step() {
                // Something may be given back before this waits for it; then the next look finds it.
                let _ = timeout(LOOK_EVERY, self.all.freed.notified()).await;
            }
        }
    }

    /// One step more. False when there is no room for it.
    fn take_step(&mut self) -> bool {
        let mut begun = self.all.lock();
        if begun.bytes + UNFINISHED_STEP_BYTES > UNFINISHED_BYTES_MAX {
            begun.give_up_one();
            return false;
        }
        begun.bytes += UNFINISHED_STEP_BYTES;
        self.bytes += UNFINISHED_STEP_BYTES;
        if self.number.is_none() {
            begun.ever += 1;
            let number = begun.ever;
            let frame = LongFrame { at: Instant::now(), waits_for_client: Some(Arc::clone(&self.fill)) };
            begun.frames.insert(number, frame);
            self.number = Some(number);
        }
        true
    }

    /// The frame is complete: the client has done its part, and it keeps its room until it has been decoded.
    pub fn complete(&mut self) {
        let Some(number) = self.number else { return };
        if let Some(frame) = self.all.lock().frames.get_mut(&number) {
            frame.waits_for_client = None;
        }
    }

    /// The frame is gone.
    pub fn give_back(&mut self) {
        let Some(number) = self.number.take() else { return };
        let mut begun = self.all.lock();
        begun.frames.remove(&number);
        begun.bytes -= std::mem::take(&mut self.bytes);
        drop(begun);
        self.all.freed.notify_waiters();
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
#[path = "unfinished_tests.rs"]
mod unfinished_tests;
