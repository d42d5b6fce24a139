//! Whose messages are taken next, when more wait than one turn takes.
//!
//! Guarantees: messages of one connection keep their order; a connection that asks for little does not wait behind those
//! that ask for much. A short message of a connection that has nothing else waiting goes first, as the window's questions
//! do; the others take turns, each with what a turn has room for. While somebody asks for little turns are short, and each of
//! those with something long in it is followed by as much time for those who ask for little: whatever others do, there is one
//! short turn to wait for. The time is left although it may pass unused: a thread that needs a processor all the time is the
//! one that the system takes it from, in the middle of a turn and for some milliseconds. Who has asked for much just before, as
//! one does that sends without waiting, is not meant by this. A stop and other data come after everything that arrived before
//! them.

use crate::inbox::Message;
use crate::limits::{
    ASKED_JUST_NOW, REST_AFTER, SHORT_PART_JOBS_MAX, SHORT_TURN_BYTES_MAX, SHORT_TURN_COMMANDS_MAX, SPARSE_BYTES_MAX,
    SPARSE_COMMANDS_MAX, SPARSE_LATELY, TURN_BYTES_MAX, TURN_COMMANDS_MAX,
};
use crate::portion::{Size, cut};
use onceover_engine::limits::PART_JOBS_MAX;
use onceover_engine::names::ConnId;
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

const FULL: Size = Size { commands: TURN_COMMANDS_MAX, bytes: TURN_BYTES_MAX };
const SHORT: Size = Size { commands: SHORT_TURN_COMMANDS_MAX, bytes: SHORT_TURN_BYTES_MAX };
const SPARSE: Size = Size { commands: SPARSE_COMMANDS_MAX, bytes: SPARSE_BYTES_MAX };

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
    /// Who has asked for much, and when last.
    much_at: HashMap<ConnId, Instant>,
    /// When a client last asked for little that had not asked for much just before, as one does that sends without waiting.
    sparse_at: Option<Instant>,
    /// The last turn took something that is not among the first.
    took_long: bool,
    /// It did, or it went on with something that is done in parts.
    was_long: bool,
    /// Nothing long is taken before then.
    long_after: Option<Instant>,
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
        self.was_long = self.took_long || went_on;
        if self.was_long {
            let leaves_time = time >= REST_AFTER && self.is_asked(now, ASKED_JUST_NOW + time);
            self.long_after = leaves_time.then(|| now + time);
        }
        // Otherwise the last long one's time still counts.
    }

    /// Adds to `messages` what one turn that begins `now` takes of everything that has arrived. Says how many jobs a part of
    /// something long may concern in this turn; none: there is to be no such part.
    pub fn take(
        &mut self,
        now: Instant,
        has_long: bool,
        arrived: &mut VecDeque<Message>,
        messages: &mut Vec<Message>,
    ) -> Option<usize> {
        while self.last.is_none()
            && let Some(message) = arrived.pop_front()
        {
            self.put(now, message);
        }
        let others_first = self.was_long && !self.first.is_empty() && self.is_asked(now, ASKED_JUST_NOW);
        let is_held = others_first || !self.long_in(now).is_zero();
        let mut room = FULL;
        while room.is_some()
            && let Some(message) = self.next_of_first()
        {
            room = room.without(Size::of(&message));
            messages.push(message);
        }
        self.took_long = false;
        let part = (!is_held).then(|| self.take_long(now, has_long, room, messages));
        if self.first.is_empty() && self.round.is_empty() {
            messages.extend(self.last.take());
        }
        part
    }

    /// Takes of those that take turns. How many jobs a part of something long may concern besides.
    fn take_long(&mut self, now: Instant, has_long: bool, room: Size, messages: &mut Vec<Message>) -> usize {
        let (most, part) = match self.is_asked(now, SPARSE_LATELY) {
            true => (SHORT, SHORT_PART_JOBS_MAX),
            false => (FULL, PART_JOBS_MAX),
        };
        let share = if has_long && !self.round.is_empty() { 2 } else { 1 };
        let mut room = room.min(Size { commands: most.commands / share, bytes: most.bytes / share });
        while room.is_some()
            && let Some(message) = self.next_of_round(room)
        {
            self.took_long = true;
            room = room.without(Size::of(&message));
            messages.push(message);
        }
        part / share
    }

    /// What a turn has left of the messages it took, in their order.
    pub fn put_back(&mut self, messages: &mut Vec<Message>) {
        for message in messages.drain(..).rev() {
            match sender(&message) {
                _ if matches!(message, Message::Stop | Message::Switch(_)) => self.last = Some(message),
                None => self.first.push_front(message),
                // Not to the first, where something may stand that came later.
                Some(conn) => match self.backlog.get_mut(&conn) {
                    Some(backlog) => backlog.push_front(message),
                    None => self.put_in_round(conn, message),
                },
            }
        }
    }

    /// Whether anybody has asked for little within this time.
    fn is_asked(&self, now: Instant, lately: Duration) -> bool {
        self.sparse_at.is_some_and(|at| now.saturating_duration_since(at) <= lately)
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
        let is_end = matches!(message, Message::Disconnected(_));
        if !self.backlog.contains_key(&conn) && SPARSE.covers(Size::of(&message)) && self.sparse.insert(conn) {
            if self.much_at.get(&conn).is_none_or(|at| now.saturating_duration_since(*at) > SPARSE_LATELY) {
                self.sparse_at = Some(now);
            }
            self.first.push_back(message);
        } else {
            self.much_at.insert(conn, now);
            match self.backlog.get_mut(&conn) {
                Some(backlog) => backlog.push_back(message),
                None => self.put_in_round(conn, message),
            }
        }
        if is_end {
            self.much_at.remove(&conn);
        }
    }

    fn put_in_round(&mut self, conn: ConnId, message: Message) {
        self.backlog.insert(conn, VecDeque::from([message]));
        self.round.push_back(conn);
    }

    fn next_of_first(&mut self) -> Option<Message> {
        let message = self.first.pop_front()?;
        if let Some(conn) = sender(&message) {
            self.sparse.remove(&conn);
        }
        Some(message)
    }

    /// The next message of those that take turns, or as much of it as there is room for.
    fn next_of_round(&mut self, room: Size) -> Option<Message> {
        let conn = self.round.pop_front()?;
        let backlog = self.backlog.get_mut(&conn)?;
        let portion = match backlog.front_mut() {
            Some(Message::Frames(frames)) => cut(frames, room).map(Message::Frames),
            _ => None,
        };
        let message = portion.or_else(|| backlog.pop_front());
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

#[cfg(test)]
#[path = "fair_tests.rs"]
mod fair_tests;
