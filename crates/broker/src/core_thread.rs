//! The thread that owns the core: waits for messages or the next deadline, reads the clock, runs turns.
//!
//! A turn begins as soon as there is something to do; nothing waits for a batch to fill. If the core fails or panics, the
//! thread ends, all connections close, and the status says what to do.

use crate::clock::Clock;
use crate::core::{Core, TurnEnd};
use crate::error::CoreFailure;
use crate::fair::Waiting;
use crate::inbox::{Message, Switch};
use crate::outbox::Outbox;
use crate::pace::Pace;
use crate::watch::Hints;
use onceover_engine::time::Timestamp;
use onceover_store::Storage;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The core of any storage: the data can be changed for other data while the thread runs.
pub type AnyCore = Core<Box<dyn Storage>>;

/// Longest sleep: a sleep goes by the time that passes, deadlines by the wall, which may jump meanwhile.
const SLEEP_MAX: Duration = Duration::from_secs(1);
/// Pause after a failed commit, so that a full disk does not make the thread read the file over and over.
const AFTER_FAILURE: Duration = Duration::from_millis(200);

/// A turn that took this long is told in the log.
const SLOW_TURN: Duration = Duration::from_secs(1);

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
pub fn run(core: AnyCore, inbox: &Receiver<Message>, hints: &Hints) -> ThreadEnd {
    // After a panic nothing of the core is looked at again, so that broken invariants stay inside.
    catch_unwind(AssertUnwindSafe(|| turns(core, inbox, hints))).unwrap_or(ThreadEnd::Panicked)
}

fn turns(mut core: AnyCore, inbox: &Receiver<Message>, hints: &Hints) -> ThreadEnd {
    let mut clock = Clock::new();
    let mut outbox = Outbox::default();
    let (mut waiting, mut messages, mut pace) = (Waiting::default(), Vec::new(), Pace::default());
    loop {
        if !wait(&core, &mut clock, inbox, &mut pace, &mut waiting, &mut messages) {
            return ThreadEnd::Stopped;
        }
        pace.note(&messages);
        let switch = take_switch(&mut messages);
        let began = Instant::now();
        let now = clock.now();
        if let Some(jump) = clock.take_jump() {
            core.clock_jumped(now, jump);
            hints.changed(core.revision());
        }
        let turned = core.turn(now, &mut messages, &mut outbox);
        report_slow(began.elapsed());
        match turned {
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
        if let Some(Switch { core: next, answer }) = switch {
            core = exchange(core, next, clock.now(), &mut outbox);
            hints.changed(core.revision());
            // Whoever asked for it may have gone.
            let _ = answer.send(());
        }
    }
}

/// Waits for something to do, then takes what there is, up to a turn's bound. False when nobody can send any more.
fn wait(
    core: &AnyCore,
    clock: &mut Clock,
    inbox: &Receiver<Message>,
    pace: &mut Pace,
    waiting: &mut Waiting,
    messages: &mut Vec<Message>,
) -> bool {
    // What the last turn has left needs no waiting.
    if waiting.is_empty() && messages.is_empty() {
        let until_due = core.next_deadline().map_or(SLEEP_MAX, |due| {
            let left = due.since(clock.now()).0.max(0);
            Duration::from_millis(left.unsigned_abs()).min(SLEEP_MAX)
        });
        match pace.next(inbox).map_or_else(|| inbox.recv_timeout(until_due), Ok) {
            Ok(message) => waiting.put(message),
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
    waiting.take(inbox, messages);
    true
}

/// A switch is always the last of its turn.
fn take_switch(messages: &mut Vec<Message>) -> Option<Switch> {
    match messages.pop()? {
        Message::Switch(switch) => Some(*switch),
        other => {
            messages.push(other);
            None
        }
    }
}

/// Lets go of `before` as a stop does, its connections closed, and goes on with `next`.
fn exchange(mut before: AnyCore, mut next: AnyCore, now: Timestamp, outbox: &mut Outbox) -> AnyCore {
    if let Err(failure) = before.turn(now, &mut vec![Message::Stop], outbox) {
        tracing::error!(%failure, "the jobs of the connected workers could not be put back in the file before");
    }
    outbox.close_all();
    if let Err(error) = next.take_over(before) {
        // Nothing is lost: what was committed is in the file or in its log.
        tracing::warn!(%error, "the file before was not merged");
    }
    next
}

/// Everybody waits for a slow turn; the usual reason is a disk that is busy with something else.
fn report_slow(took: Duration) {
    if took >= SLOW_TURN {
        tracing::warn!(ms = took.as_millis(), "everything stood still: the disk was slow, or a command was very large");
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
fn close(core: AnyCore, outbox: &mut Outbox) -> ThreadEnd {
    outbox.close_all();
    if let Err(error) = core.close() {
        // Nothing is lost: what was committed is in the file or in its log.
        tracing::warn!(%error, "the data file was not merged");
    }
    ThreadEnd::Stopped
}
