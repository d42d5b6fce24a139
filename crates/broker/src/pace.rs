//! Whether one client asks one thing after the other while nobody else asks: then the core's thread looks for the next message
//! for a moment before it sleeps.
//!
//! To wake a thread takes longer than most commands. With several clients the processors are needed elsewhere: the same then
//! made four of them a third slower. Who asks slower than that is waited for in one turn of nine at most.

use crate::inbox::Message;
use onceover_engine::names::ConnId;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

/// Turns in a row with one command of the same connection, after which that counts as alone.
const ALONE_AFTER: u32 = 8;
/// Longer than an answer's way to a client on the same machine and the way of its next command back.
const PATIENCE: Duration = Duration::from_micros(100);

/// Who asked in the last turns.
#[derive(Debug, Default)]
pub struct Pace {
    conn: Option<ConnId>,
    turns: u32,
}

impl Pace {
    /// A turn takes these. One without messages tells nothing.
    pub fn note(&mut self, messages: &[Message]) {
        let conn = match messages {
            [] => return,
            [Message::Frames(frames)] if frames.frames.len() == 1 => Some(frames.conn),
            _ => None,
        };
        self.turns = if conn.is_some() && conn == self.conn { self.turns.saturating_add(1) } else { 0 };
        self.conn = conn;
    }

    /// The next message, if a client is alone and it comes within a moment.
    pub fn next(&mut self, inbox: &Receiver<Message>) -> Option<Message> {
        if self.turns < ALONE_AFTER {
            return None;
        }
        let until = Instant::now() + PATIENCE;
        loop {
            if let Ok(message) = inbox.try_recv() {
                return Some(message);
            }
            if Instant::now() >= until {
                self.turns = 0;
                return None;
            }
            // Whoever has something to do goes first.
            thread::yield_now();
        }
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod pace_tests;
