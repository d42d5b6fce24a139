//! Whose messages are taken next, when more wait than one turn takes.
//!
//! Guarantees: messages of one connection keep their order; a connection that asks for little does not wait behind those
//! that ask for much. A short message of a connection that has nothing else waiting goes first, as the window's questions
//! do; the others take turns, one message each. One of these that takes long, such as a payload of megabytes, is followed by as
//! much time for those who ask for little, if there are such: a client that asks one thing after the other has several answers
//! then, and not one behind each long message. A stop and other data come after everything that arrived before them.

use crate::inbox::{Ask, Frame, Message};
use crate::limits::{
    LONG_TURN, SPARSE_BYTES_MAX, SPARSE_COMMANDS_MAX, SPARSE_LATELY, TURN_BYTES_MAX, TURN_COMMANDS_MAX,
};
use onceover_engine::names::ConnId;
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

/// What has arrived and was not taken yet. Bounded by the room of the inbox, which these messages still hold.
#[derive(Default)]
pub struct Waiting {
    first: VecDeque<Message>,
    /// Who has a message among the first.
    sparse: HashSet<ConnId>,
    backlog: HashMap<ConnId, VecDeque<Message>>,
    /// Those with a backlog, in the order of their turns.
    round: VecDeque<ConnId>,
    /// A stop or a switch: nothing behind it is looked at.
    last: Option<Message>,
    /// When a client last asked for little.
    sparse_at: Option<Instant>,
    /// What the last turn took of long messages: nothing, some, or one with more bytes than a turn should have.
    took: Took,
    /// No long message is taken before then.
    long_after: Option<Instant>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Took {
    #[default]
    NoneLong,
    Long,
    Huge,
}

impl Waiting {
    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_empty() && self.round.is_empty() && self.last.is_none()
    }

    /// In how long there is something to take. None when nothing waits.
    #[must_use]
    pub fn next_in(&self, now: Instant) -> Option<Duration> {
        if self.is_empty() {
            return None;
        }
        let only_long = self.first.is_empty() && !self.round.is_empty();
        Some(if only_long { self.long_in(now) } else { Duration::ZERO })
    }

    /// In how long something long may be done.
    #[must_use]
    pub fn long_in(&self, now: Instant) -> Duration {
        self.long_after.map_or(Duration::ZERO, |after| after.saturating_duration_since(now))
    }

    /// The turn that ends `now` took so long. `went_on`: it did a part of something long.
    pub fn took(&mut self, now: Instant, time: Duration, went_on: bool) {
        let is_long = match self.took {
            _ if went_on => true,
            // The last long one's time still counts.
            Took::NoneLong => return,
            Took::Long => time >= LONG_TURN,
            Took::Huge => true,
        };
        let is_asked = self.sparse_at.is_some_and(|at| now.saturating_duration_since(at) <= SPARSE_LATELY + time);
        self.long_after = (is_long && is_asked).then(|| now + time);
    }

    /// Adds to `messages` what one turn that begins `now` takes of everything that has arrived.
    pub fn take(&mut self, now: Instant, arrived: &mut VecDeque<Message>, messages: &mut Vec<Message>) {
        while self.last.is_none()
            && let Some(message) = arrived.pop_front()
        {
            self.put(now, message);
        }
        let with_long = self.long_in(now).is_zero();
        self.took = Took::NoneLong;
        let sizes = messages.iter().map(size);
        let (mut commands, mut bytes) = sizes.fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1));
        while commands < TURN_COMMANDS_MAX && bytes < TURN_BYTES_MAX {
            let Some(message) = self.next(with_long) else { break };
            let more = size(&message);
            commands += more.0;
            bytes += more.1;
            messages.push(message);
        }
    }

    /// Puts a message where it waits.
    fn put(&mut self, now: Instant, message: Message) {
        if matches!(message, Message::Stop | Message::Switch(_)) {
            self.last = Some(message);
            return;
        }
        let Some(conn) = sender(&message) else {
            self.first.push_back(message);
            return;
        };
        let (commands, bytes) = size(&message);
        let is_sparse = commands <= SPARSE_COMMANDS_MAX && bytes <= SPARSE_BYTES_MAX;
        if let Some(backlog) = self.backlog.get_mut(&conn) {
            backlog.push_back(message);
        } else if is_sparse && self.sparse.insert(conn) {
            self.sparse_at = Some(now);
            self.first.push_back(message);
        } else {
            self.backlog.insert(conn, VecDeque::from([message]));
            self.round.push_back(conn);
        }
    }

    fn next(&mut self, with_long: bool) -> Option<Message> {
        if let Some(message) = self.first.pop_front() {
            if let Some(conn) = sender(&message) {
                self.sparse.remove(&conn);
            }
            return Some(message);
        }
        if !with_long && !self.round.is_empty() {
            return None;
        }
        let Some(conn) = self.round.pop_front() else { return self.last.take() };
        let backlog = self.backlog.get_mut(&conn)?;
        let message = backlog.pop_front();
        let is_huge = message.as_ref().is_some_and(|message| size(message).1 > TURN_BYTES_MAX);
        self.took = self.took.max(if is_huge { Took::Huge } else { Took::Long });
        if backlog.is_empty() {
            self.backlog.remove(&conn);
        } else {
            self.round.push_back(conn);
        }
        message
    }
}

/// Whose message it is, where that matters for its order.
fn sender(message: &Message) -> Option<ConnId> {
    match message {
        Message::Connected { client, .. } => Some(client.conn),
        Message::Frames(frames) => Some(frames.conn),
        Message::HungUp(conn) | Message::Disconnected(conn) => Some(*conn),
        Message::Problem(..)
        | Message::ProgramsFound
        | Message::ClearLog
        | Message::Act { .. }
        | Message::Http { .. }
        | Message::View(_)
        | Message::AccessChanged(_)
        | Message::Switch(_)
        | Message::Stop => None,
    }
}

/// Commands and bytes of a message. The end of a connection may have to put back as many requests as it may have parked.
fn size(message: &Message) -> (usize, usize) {
    match message {
        Message::Frames(frames) => match &frames.frames[..] {
            [Frame { ask: Ask::Part(part), .. }] => (part.adds.len(), frames.bytes),
            all => (all.len(), frames.bytes),
        },
        Message::HungUp(_) => (TURN_COMMANDS_MAX / 8, 0),
        Message::Connected { .. }
        | Message::Disconnected(_)
        | Message::Problem(..)
        | Message::ProgramsFound
        | Message::ClearLog
        | Message::Act { .. }
        | Message::Http { .. }
        | Message::View(_)
        | Message::AccessChanged(_)
        | Message::Switch(_)
        | Message::Stop => (1, 0),
    }
}

#[cfg(test)]
#[path = "fair_tests.rs"]
mod fair_tests;
