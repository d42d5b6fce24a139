//! What has arrived for the core, and who runs the turn for it.
//!
//! To wake another thread takes longer than most commands. So a connection that brings one short command while nothing else
//! is to do runs the turn on its own thread. The core's thread does everything else: what is long, what comes together with
//! more, what is due by the clock. One of them has the driver at a time, and nobody waits for it but the core's thread: the
//! others leave their message to whoever has it, who looks once more after letting go.

use crate::driver::Driver;
use crate::inbox::{Ask, CoreGone, Frame, Frames, Message};
use crate::limits::SPARSE_COMMANDS_MAX;
use onceover_engine::names::ConnId;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Longest message whose turn its bringer runs, in bytes.
const BRIEF_BYTES_MAX: usize = 16 * 1024;

/// Since nobody else asked for so long, a client is alone. With several that ask at the same time one commit for what all of
/// them change is better than one each: the core's thread collects it.
const ALONE_AFTER: Duration = Duration::from_micros(300);

/// What has arrived, and the driver that takes it.
#[derive(Default)]
pub struct Mail {
    arrived: Mutex<Arrived>,
    /// None until there is a core, and after its end.
    driver: Mutex<Option<Driver>>,
    /// The core's thread waits for the driver: nobody else takes it.
    wanted: AtomicBool,
    /// The core's.
    thread: OnceLock<Thread>,
}

#[derive(Default)]
struct Arrived {
    messages: VecDeque<Message>,
    /// Not all of them are brief.
    has_long: bool,
    closed: bool,
    /// Who asked last, and since when nobody else has.
    last: Option<(ConnId, Instant)>,
}

impl Mail {
    /// Hands a message over. If it is brief its turn may have been run when this returns.
    ///
    /// # Errors
    /// The core has ended.
    pub fn send(&self, message: Message) -> Result<(), CoreGone> {
        if !self.arrived().put(message)? || !self.serve() {
            self.wake();
        }
        Ok(())
    }

    /// Runs turns as long as what has arrived is brief and nobody else runs them. False when the core's thread has to look.
    fn serve(&self) -> bool {
        loop {
            // It takes what has arrived once it has the driver.
            if self.wanted.load(Ordering::SeqCst) {
                return true;
            }
            let mut driver = match self.driver.try_lock() {
                Ok(driver) => driver,
                // Whoever has it looks once more after letting go.
                Err(TryLockError::WouldBlock) => return true,
                Err(TryLockError::Poisoned(_)) => return false,
            };
            let Some(free) = driver.as_mut().filter(|driver| driver.is_free()) else { return false };
            if !self.take_brief(free.arrived()) {
                return false;
            }
            if !free.arrived().is_empty() {
                free.turn();
                if !free.is_free() || free.has_earlier_deadline() {
                    return false;
                }
            }
            drop(driver);
            if self.is_empty() {
                return true;
            }
        }
    }

    /// Takes what has arrived if all of it is brief, and not much together.
    fn take_brief(&self, messages: &mut VecDeque<Message>) -> bool {
        let mut arrived = self.arrived();
        let fits = !arrived.has_long && arrived.messages.len() <= SPARSE_COMMANDS_MAX;
        if fits {
            messages.append(&mut arrived.messages);
        }
        fits
    }

    /// From now on turns are run by `driver`; the calling thread is the core's.
    pub fn drive(&self, driver: Driver) {
        self.thread.get_or_init(thread::current);
        *self.driver() = Some(driver);
    }

    /// Waits for the driver. For the core's thread; before it sleeps it lets go of it and looks whether the mail is empty.
    pub fn driver(&self) -> MutexGuard<'_, Option<Driver>> {
        self.wanted.store(true, Ordering::SeqCst);
        // A driver keeps its panics to itself.
        let driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        self.wanted.store(false, Ordering::SeqCst);
        driver
    }

    /// Adds what has arrived to `messages`.
    pub fn take(&self, messages: &mut VecDeque<Message>) {
        let mut arrived = self.arrived();
        arrived.has_long = false;
        messages.append(&mut arrived.messages);
    }

    /// Whether nothing has arrived that was not taken.
    pub fn is_empty(&self) -> bool {
        self.arrived().messages.is_empty()
    }

    /// The next message that has arrived.
    #[cfg(test)]
    pub fn next(&self) -> Option<Message> {
        self.arrived().messages.pop_front()
    }

    /// Nothing is accepted any more, and what has arrived is dropped.
    pub fn close(&self) {
        self.driver().take();
        let mut arrived = self.arrived();
        arrived.closed = true;
        let left = std::mem::take(&mut arrived.messages);
        drop(arrived);
        drop(left);
    }

    fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// Every change is a single step, so a panic elsewhere cannot leave it half done.
    fn arrived(&self) -> MutexGuard<'_, Arrived> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Arrived {
    /// Whether the message is brief.
    fn put(&mut self, message: Message) -> Result<bool, CoreGone> {
        if self.closed {
            return Err(CoreGone);
        }
        let is_brief = self.is_brief(&message);
        self.has_long |= !is_brief;
        self.messages.push_back(message);
        Ok(is_brief)
    }

    /// Whether a connection's thread may spend the time that the message takes.
    fn is_brief(&mut self, message: &Message) -> bool {
        let Message::Frames(Frames { conn, frames, bytes, read_at, last, .. }) = message else { return false };
        let since = self.last.filter(|(last, _)| last == conn).map_or(*read_at, |(_, since)| since);
        self.last = Some((*conn, since));
        let is_alone = read_at.saturating_duration_since(since) >= ALONE_AFTER;
        match &frames[..] {
            [Frame { ask, .. }] if *bytes <= BRIEF_BYTES_MAX && !last => match ask {
                Ask::Hello | Ask::Ping | Ask::Confirm => true,
                Ask::Engine(command) => command.only_asks() || is_alone && !command.is_long(),
                Ask::Part(_) => is_alone,
                Ask::Subscribe(_) | Ask::Unsubscribe | Ask::Monitor(_) | Ask::Refuse(_) => false,
            },
            _ => false,
        }
    }
}

#[cfg(test)]
#[path = "mail_tests.rs"]
mod mail_tests;
