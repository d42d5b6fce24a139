//! Runs turns of the core: with the clock it reads, the answers it lets go, and what waits for a turn.
//!
//! It has no thread of its own. The core's thread runs most turns; a connection that brings one short message while nothing
//! else is to do runs the turn itself (see [`crate::mail`]).

use crate::clock::Clock;
use crate::core::{Core, TurnEnd};
use crate::error::CoreFailure;
use crate::fair::Waiting;
use crate::inbox::{Message, Switch};
use crate::outbox::Outbox;
use crate::watch::Hints;
use onceover_engine::time::{Millis, Timestamp};
use onceover_store::Storage;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The core of any storage: the data can be changed for other data while it runs.
pub type AnyCore = Core<Box<dyn Storage>>;

/// Longest sleep: a sleep goes by the time that passes, deadlines by the wall, which may jump meanwhile.
const SLEEP_MAX: Millis = Millis(1_000);
/// Pause after a failed commit, so that a full disk does not make the thread read the file over and over.
const AFTER_FAILURE: Duration = Duration::from_millis(200);
/// A turn that took this long is told in the log.
const SLOW_TURN: Duration = Duration::from_secs(1);

/// Why there are no more turns.
#[derive(Debug)]
pub enum ThreadEnd {
    /// A stop was asked for; the file is closed.
    Stopped,
    /// The core could not go on.
    Failed(CoreFailure),
    /// A bug of ours.
    Panicked,
}

/// The core and what a turn needs besides it.
pub struct Driver {
    /// None once it has ended.
    core: Option<AnyCore>,
    clock: Clock,
    outbox: Outbox,
    hints: Arc<Hints>,
    /// What has arrived and was not looked at yet.
    arrived: VecDeque<Message>,
    waiting: Waiting,
    /// Of one turn; empty between two.
    messages: Vec<Message>,
    /// When the core's thread looks next by itself.
    wakes: Timestamp,
    /// A commit has failed: nothing is done before then.
    rests_until: Option<Instant>,
    end: Option<ThreadEnd>,
}

impl Driver {
    /// Drives `core`, and tells `hints` of what changes.
    #[must_use]
    pub fn new(core: AnyCore, hints: Arc<Hints>) -> Driver {
        Driver {
            core: Some(core),
            clock: Clock::new(),
            outbox: Outbox::default(),
            hints,
            arrived: VecDeque::new(),
            waiting: Waiting::default(),
            messages: Vec::new(),
            wakes: Timestamp::default(),
            rests_until: None,
            end: None,
        }
    }

    /// Whether nothing is left of what came, and nothing keeps a turn from being run by whoever brings the next message.
    #[must_use]
    pub fn is_free(&self) -> bool {
        let is_done = self.arrived.is_empty() && self.waiting.is_empty();
        is_done && self.rest().is_zero() && self.core.is_some() && !self.has_long()
    }

    /// Where to put what has arrived.
    pub fn arrived(&mut self) -> &mut VecDeque<Message> {
        &mut self.arrived
    }

    /// How long nothing is to be done at all, after a failed commit.
    #[must_use]
    pub fn rest(&self) -> Duration {
        self.rests_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }

    /// One turn, with what it takes of what has arrived. What is left of that waits for the next one.
    pub fn turn(&mut self) {
        // After a panic nothing of the core is looked at again, so that broken invariants stay inside.
        let end = catch_unwind(AssertUnwindSafe(|| self.turn_inside())).unwrap_or(Some(ThreadEnd::Panicked));
        if end.is_some() {
            (self.core, self.end) = (None, end);
        }
    }

    /// Why there are no more turns, once.
    pub fn take_end(&mut self) -> Option<ThreadEnd> {
        self.end.take()
    }

    /// How long the core's thread may sleep, unless something arrives.
    pub fn sleep(&mut self) -> Duration {
        let now = self.clock.now();
        let latest = now.plus(SLEEP_MAX);
        let due = self.core.as_ref().and_then(Core::next_deadline);
        self.wakes = due.map_or(latest, |due| due.min(latest));
        let until_due = Duration::from_millis(self.wakes.since(now).0.max(0).unsigned_abs());
        if !self.arrived.is_empty() {
            return Duration::ZERO;
        }
        let at = Instant::now();
        let long_in = self.has_long().then(|| self.waiting.long_in(at));
        let next_in = self.waiting.next_in(at);
        [next_in, long_in].into_iter().flatten().fold(until_due, Duration::min)
    }

    /// Whether the core's thread has to look earlier than it thought when it went to sleep.
    #[must_use]
    pub fn has_earlier_deadline(&self) -> bool {
        self.core.as_ref().and_then(Core::next_deadline).is_some_and(|due| due < self.wakes)
    }

    /// Whether something is to be done in parts.
    fn has_long(&self) -> bool {
        self.core.as_ref().is_some_and(|core| core.engine().has_long())
    }

    fn turn_inside(&mut self) -> Option<ThreadEnd> {
        let began = Instant::now();
        let long = self.waiting.take(began, self.has_long(), &mut self.arrived, &mut self.messages);
        let switch = take_switch(&mut self.messages);
        let now = self.clock.now();
        let core = self.core.as_mut()?;
        if let Some(jump) = self.clock.take_jump() {
            core.clock_jumped(now, jump);
            self.hints.changed(core.revision());
        }
        self.rests_until = None;
        core.pace_long(long);
        let turned = core.turn(now, &mut self.messages, &mut self.outbox);
        self.waiting.put_back(&mut self.messages);
        let ended = Instant::now();
        let went_on = turned.as_ref().is_ok_and(|end| end.went_on);
        self.waiting.took(ended, ended - began, went_on);
        report_slow(ended - began);
        match turned {
            Ok(end) => {
                tell(end, core.revision(), &self.hints);
                if end.stop {
                    return Some(close(self.core.take()?, &mut self.outbox));
                }
                if end.undone {
                    self.rests_until = Some(Instant::now() + AFTER_FAILURE);
                }
            }
            Err(failure) => return Some(ThreadEnd::Failed(failure)),
        }
        if let Some(Switch { core: next, answer }) = switch {
            let next = exchange(self.core.take()?, next, self.clock.now(), &mut self.outbox);
            self.hints.changed(next.revision());
            self.core = Some(next);
            // Whoever asked for it may have gone.
            let _ = answer.send(());
        }
        None
    }
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
