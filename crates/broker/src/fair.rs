//! Whose messages are taken next, when more wait than one turn takes.
//!
//! Guarantees: messages of one connection keep their order; a connection that asks for little does not wait behind those
//! that ask for much. A short message of a connection that has nothing else waiting goes first, as the window's questions
//! do; the others take turns, one message each. A stop and other data come after everything that arrived before them.

use crate::inbox::{Ask, Frame, Message};
use crate::limits::{SPARSE_COMMANDS_MAX, TURN_BYTES_MAX, TURN_COMMANDS_MAX};
use onceover_engine::names::ConnId;
use std::collections::{HashMap, HashSet, VecDeque};

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
}

impl Waiting {
    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_empty() && self.round.is_empty() && self.last.is_none()
    }

    /// Adds to `messages` what one turn takes of everything that has arrived.
    pub fn take(&mut self, arrived: &mut VecDeque<Message>, messages: &mut Vec<Message>) {
        while self.last.is_none()
            && let Some(message) = arrived.pop_front()
        {
            self.put(message);
        }
        let sizes = messages.iter().map(size);
        let (mut commands, mut bytes) = sizes.fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1));
        while commands < TURN_COMMANDS_MAX && bytes < TURN_BYTES_MAX {
            let Some(message) = self.next() else { break };
            let more = size(&message);
            commands += more.0;
            bytes += more.1;
            messages.push(message);
        }
    }

    /// Puts a message where it waits.
    pub fn put(&mut self, message: Message) {
        if matches!(message, Message::Stop | Message::Switch(_)) {
            self.last = Some(message);
            return;
        }
        let Some(conn) = sender(&message) else {
            self.first.push_back(message);
            return;
        };
        if let Some(backlog) = self.backlog.get_mut(&conn) {
            backlog.push_back(message);
        } else if size(&message).0 <= SPARSE_COMMANDS_MAX && self.sparse.insert(conn) {
            self.first.push_back(message);
        } else {
            self.backlog.insert(conn, VecDeque::from([message]));
            self.round.push_back(conn);
        }
    }

    fn next(&mut self) -> Option<Message> {
        if let Some(message) = self.first.pop_front() {
            if let Some(conn) = sender(&message) {
                self.sparse.remove(&conn);
            }
            return Some(message);
        }
        let Some(conn) = self.round.pop_front() else { return self.last.take() };
        let backlog = self.backlog.get_mut(&conn)?;
        let message = backlog.pop_front();
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
