//! What the core is told, and the bounded way to tell it.
//!
//! Messages of one sender arrive in the order in which they were sent. Frames of clients are bounded by bytes: a
//! connection takes a permit before it decodes, so a full inbox stops it from reading and TCP slows its client down. Long
//! frames have room of their own and are decoded one at a time; nobody waits for them but who sends them. Calls of the window are few and not counted.

use crate::access::Access;
use crate::bulk::Part;
use crate::conn_table::Client;
use crate::core::Core;
use crate::core_view::CoreView;
use crate::error::BrokerDown;
use crate::limits::{INBOX_BYTES_MAX, INBOX_LONG_BYTES_MAX};
use crate::mail::Mail;
use crate::outbox::Line;
use crate::unfinished::Unfinished;
use onceover_engine::command::Command;
use onceover_engine::names::ConnId;
use onceover_engine::reply::Reply;
use onceover_store::Storage;
use onceover_wire::request::{Monitor, RefusedAdd};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// A question that the core thread answers between two turns.
pub type View = Box<dyn FnOnce(&CoreView<'_>) + Send>;

/// One thing for the core to do.
pub enum Message {
    /// A client connected; its replies go down `line`.
    Connected {
        /// Who.
        client: Arc<Client>,
        /// How to answer.
        line: Line,
    },
    /// Frames of one connection, in order.
    Frames(Frames),
    /// A connection will ask and be told nothing more.
    HungUp(ConnId),
    /// A connection ended.
    Disconnected(ConnId),
    /// A client was turned away, or did something that its author should know of, outside of a frame.
    Problem(Arc<Client>, Problem),
    /// The programs of some clients were found; their [`Client`]s know them now.
    ProgramsFound,
    /// An action of the window.
    Act {
        /// What.
        command: Box<Command>,
        /// Where its answer goes, after the commit.
        answer: oneshot::Sender<Result<Reply, BrokerDown>>,
    },
    /// A command that came over HTTP.
    Http {
        /// What.
        command: Box<Command>,
        /// Where its answer goes, after the commit.
        answer: oneshot::Sender<Result<Reply, BrokerDown>>,
    },
    /// The window forgets the log of adds.
    ClearLog,
    /// A question of the window.
    View(View),
    /// Who may ask has changed: clients that may not any more are to be closed.
    AccessChanged(Arc<Access>),
    /// Finish this turn, let go of the file, and go on with another core.
    Switch(Box<Switch>),
    /// Finish this turn, then stop.
    Stop,
}

/// Other data, opened already.
pub struct Switch {
    /// What goes on.
    pub core: Core<Box<dyn Storage>>,
    /// Told once it has begun.
    pub answer: oneshot::Sender<()>,
}

/// Frames that arrived together.
pub struct Frames {
    /// Whose.
    pub conn: ConnId,
    /// In order.
    pub frames: Vec<Frame>,
    /// Their size on the wire or, where that is more, in memory, in bytes.
    pub bytes: usize,
    /// When the read that completed them returned.
    pub read_at: Instant,
    /// The stream cannot be followed any further: close once all of this is answered.
    pub last: bool,
    /// Their share of the inbox, given back when they are dropped.
    pub permit: Option<OwnedSemaphorePermit>,
}

/// One decoded frame.
pub struct Frame {
    /// Counts the connection's frames, from 0.
    pub request: u64,
    /// The command's name, for the window; none when it has none.
    pub cmd: Option<Cow<'static, str>>,
    /// What to do.
    pub ask: Ask,
}

/// What a frame asks for. Whether the connection may ask has been decided by the connection.
pub enum Ask {
    /// Hello.
    Hello,
    /// Ping.
    Ping,
    /// Auth with a good token: `{ok: true}`.
    Confirm,
    /// SubscribeEvents: this queue instead of the one before.
    Subscribe(Arc<str>),
    /// UnsubscribeEvents.
    Unsubscribe,
    /// For the engine.
    Engine(Command),
    /// Some adds of a batch; the others come as parts of the same request.
    Part(Box<Part>),
    /// Figures of the broker.
    Monitor(Box<Monitor>),
    /// Nothing: it is answered with an error.
    Refuse(Box<Refusal>),
}

/// A frame that is answered with an error without reaching the engine.
pub struct Refusal {
    /// The answer's text.
    pub text: String,
    /// The add in it, as far as it could be read.
    pub add: Option<Box<RefusedAdd>>,
    /// What to show among the protocol problems.
    pub problem: Option<Problem>,
}

/// Something a client's author should know of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A few words, such as `unknown command`.
    pub label: &'static str,
    /// One sentence.
    pub text: String,
    /// The start of the frame; empty when it holds a secret or does not exist.
    pub bytes: Vec<u8>,
}

/// The sending side. Cheap to clone.
#[derive(Clone)]
pub struct Inbox {
    mail: Arc<Mail>,
    room: Arc<Semaphore>,
    room_long: Arc<Semaphore>,
    decoding_long: Arc<Semaphore>,
    unfinished: Arc<Unfinished>,
}

/// The core has ended; nothing will be answered any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreGone;

impl Inbox {
    /// An inbox and what the core reads from.
    #[must_use]
    pub fn new() -> (Inbox, Arc<Mail>) {
        let mail = Arc::new(Mail::default());
        let room = |permits| Arc::new(Semaphore::new(permits));
        let inbox = Inbox {
            mail: Arc::clone(&mail),
            room: room(INBOX_BYTES_MAX),
            room_long: room(INBOX_LONG_BYTES_MAX),
            decoding_long: room(1),
            unfinished: Arc::default(),
        };
        (inbox, mail)
    }

    /// Waits until there is room for `bytes`. More than the whole inbox counts as the whole inbox.
    pub async fn room_for(&self, bytes: usize) -> OwnedSemaphorePermit {
        acquire(&self.room, bytes.clamp(1, INBOX_BYTES_MAX)).await
    }

    /// Room for `bytes` more at once, or not at all.
    #[must_use]
    pub fn try_room_for(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.room).try_acquire_many_owned(u32::try_from(bytes).ok()?).ok()
    }

    /// Waits until nobody else decodes a long frame.
    pub async fn turn_to_decode(&self) -> OwnedSemaphorePermit {
        acquire(&self.decoding_long, 1).await
    }

    /// As [`Inbox::room_for`], for a long frame. To be asked for by the one whose turn it is to decode.
    pub async fn room_for_long(&self, bytes: usize) -> OwnedSemaphorePermit {
        acquire(&self.room_long, bytes.clamp(1, INBOX_LONG_BYTES_MAX)).await
    }

    /// The budget of unfinished frames.
    #[must_use]
    pub fn unfinished(&self) -> &Arc<Unfinished> {
        &self.unfinished
    }

    /// Hands a message to the core.
    ///
    /// # Errors
    /// The core has ended.
    pub fn send(&self, message: Message) -> Result<(), CoreGone> {
        self.mail.send(message)
    }
}

async fn acquire(room: &Arc<Semaphore>, permits: usize) -> OwnedSemaphorePermit {
    let permits = u32::try_from(permits).expect("every room is smaller than 4 GiB");
    Arc::clone(room).acquire_many_owned(permits).await.expect("the inbox's semaphores are never closed")
}

#[cfg(test)]
#[path = "inbox_tests.rs"]
mod inbox_tests;
