//! The thread that owns the core: waits for messages or the next deadline, reads the clock, runs turns.
//!
//! A turn begins as soon as there is something to do; nothing waits for a batch to fill. If the core fails or panics, the
//! thread ends, all connections close, and the status says what to do.

use crate::clock::Clock;
use crate::core::{Core, TurnEnd};
use crate::error::CoreFailure;
use crate::inbox::Message;
use crate::limits::{TURN_BYTES_MAX, TURN_COMMANDS_MAX};
use crate::outbox::Outbox;
use crate::watch::Hints;
use onceover_store::Storage;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Longest sleep without a deadline; only keeps the arithmetic small.
const IDLE: Duration = Duration::from_secs(3600);
/// Pause after a failed commit, so that a full disk does not make the thread read the file over and over.
const AFTER_FAILURE: Duration = Duration::from_millis(200);

/// Why the thread ended.
#[derive(Debug)]
pub enum ThreadEnd {
    /// A stop was asked for; the file is closed.
    Stopped,
    /// The core could not go on.
    Failed(CoreFailure),
    /// A bug of ours.
    Panicked,
}

/// Runs turns until the end. The storage is closed when this returns.
pub fn run<S: Storage>(core: Core<S>, inbox: &Receiver<Message>, hints: &Hints) -> ThreadEnd {
    // After a panic nothing of the core is looked at again, so that broken invariants stay inside.
    catch_unwind(AssertUnwindSafe(|| turns(core, inbox, hints))).unwrap_or(ThreadEnd::Panicked)
}

fn turns<S: Storage>(mut core: Core<S>, inbox: &Receiver<Message>, hints: &Hints) -> ThreadEnd {
    let mut clock = Clock::new();
    let mut outbox = Outbox::default();
    let mut messages = Vec::new();
    loop {
        if !wait(&core, &mut clock, inbox, &mut messages) {
            return ThreadEnd::Stopped;
        }
        match core.turn(clock.now(), &mut messages, &mut outbox) {
            Ok(end) => {
                tell(end, core.revision(), hints);
                if end.stop {
                    return close(core, &mut outbox);
                }
                if end.undone {
                    thread::sleep(AFTER_FAILURE);
                }
            }
            Err(failure) => return ThreadEnd::Failed(failure),
        }
    }
}

/// Waits for something to do, then takes all that is there, up to a turn's bound. False when nobody can send any more.
fn wait<S: Storage>(core: &Core<S>, clock: &mut Clock, inbox: &Receiver<Message>, messages: &mut Vec<Message>) -> bool {
    let until_due = core.next_deadline().map_or(IDLE, |due| {
        let left = due.since(clock.now()).0.max(0);
        Duration::from_millis(left.unsigned_abs()).min(IDLE)
    });
    match inbox.recv_timeout(until_due) {
        Ok(message) => messages.push(message),
        Err(RecvTimeoutError::Timeout) => return true,
        Err(RecvTimeoutError::Disconnected) => return false,
    }
    let (mut commands, mut bytes) = size(&messages[0]);
    while commands < TURN_COMMANDS_MAX && bytes < TURN_BYTES_MAX {
        let Ok(message) = inbox.try_recv() else { break };
        let more = size(&message);
        commands += more.0;
        bytes += more.1;
        messages.push(message);
    }
    true
}

/// Commands and bytes of a message.
fn size(message: &Message) -> (usize, usize) {
    match message {
        Message::Frames(frames) => (frames.frames.len(), frames.bytes),
        Message::Connected { .. }
        | Message::HungUp(_)
        | Message::Disconnected(_)
        | Message::Problem(..)
        | Message::ProgramsFound
        | Message::Act { .. }
        | Message::View(_)
        | Message::Stop => (1, 0),
    }
}

fn tell(end: TurnEnd, revision: u64, hints: &Hints) {
    if end.changed {
        hints.changed(revision);
    } else if end.counted {
        hints.counted(revision);
    }
}

/// Lets the connections write what they have, and merges the file.
fn close<S: Storage>(core: Core<S>, outbox: &mut Outbox) -> ThreadEnd {
    outbox.close_all();
    if let Err(error) = core.close() {
        // Nothing is lost: what was committed is in the file or in its log.
        tracing::warn!(%error, "the data file was not merged");
    }
    ThreadEnd::Stopped
}
