//! What leaves the core: replies and events, held back until the turn's commit.
//!
//! Per connection everything leaves in the order in which the core put it in, so an event stands before the reply of
//! the command that caused it. One message per connection and turn. A client that does not read is bounded: once more
//! than [`UNSENT_BYTES_MAX`] wait for it, its line is cut and the connection closes. Events have a smaller bound of their
//! own ([`UNSENT_EVENT_BYTES_MAX`]), so that a subscriber that is too slow costs little and still learns of it. All
//! clients together are bounded too ([`UNSENT_TOTAL_BYTES_MAX`]): those for whom the most waits go first.

use crate::batches::{BatchReceiver, BatchSender, batches};
use crate::limits::{TURN_ANSWER_BYTES_MAX, UNSENT_BYTES_MAX, UNSENT_EVENT_BYTES_MAX, UNSENT_TOTAL_BYTES_MAX};
use crate::weight;
use onceover_engine::event::Event;
use onceover_engine::names::ConnId;
use onceover_engine::reply::Reply;
use onceover_engine::time::Timestamp;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::sync::Notify;

/// One thing for a connection to write.
#[derive(Clone, Debug)]
pub enum Out {
    /// The answer to a request.
    Reply {
        /// Which request of this connection.
        request: u64,
        /// The answer.
        reply: Reply,
    },
    /// The same as an error text.
    Refused {
        /// Which request of this connection.
        request: u64,
        /// The text.
        text: Arc<str>,
    },
    /// The answer to Hello.
    Hello {
        /// Which request of this connection.
        request: u64,
    },
    /// The answer to Ping.
    Pong {
        /// Which request of this connection.
        request: u64,
        /// The broker's time.
        now: Timestamp,
    },
    /// The answer to a question about the broker as a whole.
    Figures {
        /// Which request of this connection.
        request: u64,
        /// The answer's members.
        body: Arc<serde_json::Value>,
    },
    /// An event of the subscribed queue.
    Event(Arc<Event>),
    /// The subscription has ended because too many events wait for it.
    Unsubscribed {
        /// Of which queue.
        queue: Arc<str>,
        /// When.
        at: Timestamp,
    },
    /// Write what came before, then close.
    Close,
}

/// The core's end of a connection.
#[derive(Debug)]
pub struct Line {
    batches: BatchSender,
    fill: Arc<Fill>,
}

/// The connection's end of a line.
#[derive(Debug)]
pub struct LineEnd {
    /// What to write; ends when the core has let go of the connection.
    pub batches: BatchReceiver,
    /// How full the line is.
    pub fill: Arc<Fill>,
}

/// What both ends of a line know about it.
#[derive(Debug, Default)]
pub struct Fill {
    unsent_bytes: AtomicUsize,
    /// Of them, events.
    unsent_event_bytes: AtomicUsize,
    cut: Notify,
    why: OnceLock<Cut>,
    /// Unsent bytes of all lines, once the core knows this one.
    all: OnceLock<Arc<AtomicUsize>>,
}

/// How much of a line something is, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// All of it.
    pub bytes: usize,
    /// Of it, events.
    pub event_bytes: usize,
}

impl Weight {
    /// With one more thing to write.
    pub fn add(&mut self, out: &Out) {
        let bytes = weight::of_out(out);
        self.bytes += bytes;
        if let Out::Event(_) = out {
            self.event_bytes += bytes;
        }
    }
}

/// Why a connection is closed without its last replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Too much waits for it.
    Slow,
    /// It may not ask any more.
    Outsider,
    /// It holds room for a frame that it does not finish, and others need it.
    Unfinished,
}

impl Line {
    /// A line and its other end.
    #[must_use]
    pub fn new() -> (Line, LineEnd) {
        let (sender, receiver) = batches();
        let fill = Arc::new(Fill::default());
        (Line { batches: sender, fill: Arc::clone(&fill) }, LineEnd { batches: receiver, fill })
    }

    /// False when the line had to be cut.
    fn send(&self, batch: Vec<Out>, weight: Weight) -> bool {
        let Weight { bytes, event_bytes } = weight;
        self.fill.unsent_event_bytes.fetch_add(event_bytes, Ordering::Relaxed);
        let before = self.fill.unsent_bytes.fetch_add(bytes, Ordering::Relaxed);
        if let Some(all) = self.fill.all.get() {
            all.fetch_add(bytes, Ordering::Relaxed);
        }
        // A single answer may be larger than the bound when nothing else waits: it is what the client asked for.
        let single = before == 0 && batch.len() == 1;
        if before + bytes > UNSENT_BYTES_MAX && !single {
            self.fill.cut_off(Cut::Slow);
            return false;
        }
        self.batches.send(batch);
        true
    }

    fn unsent_bytes(&self) -> usize {
        self.fill.unsent_bytes.load(Ordering::Relaxed)
    }
}

impl Fill {
    /// Ends the connection without its last replies.
    pub fn cut_off(&self, why: Cut) {
        // The first reason stands.
        let _ = self.why.set(why);
        self.cut.notify_one();
    }

    /// Waits until the line is cut.
    pub async fn cut(&self) -> Cut {
        self.cut.notified().await;
        *self.why.get().expect("the reason is set before the line is cut")
    }

    /// So much has been written.
    pub fn written(&self, weight: Weight) {
        self.unsent_event_bytes.fetch_sub(weight.event_bytes, Ordering::Relaxed);
        self.unsent_bytes.fetch_sub(weight.bytes, Ordering::Relaxed);
        if let Some(all) = self.all.get() {
            all.fetch_sub(weight.bytes, Ordering::Relaxed);
        }
    }
}

/// Both ends are gone, and what was not written with them.
impl Drop for Fill {
    fn drop(&mut self) {
        let left = *self.unsent_bytes.get_mut();
        if let Some(all) = self.all.get() {
            all.fetch_sub(left, Ordering::Relaxed);
        }
    }
}

/// The lines of all connections and what the current turn has for them.
#[derive(Debug, Default)]
pub struct Outbox {
    /// By numbers that we give out, so no client can choose them to collide.
    lines: FxHashMap<ConnId, Queued>,
    /// Connections with something in their batch, in the order of the first thing.
    touched: Vec<ConnId>,
    /// Of all batches of the turn.
    turn_bytes: usize,
    /// Unsent bytes of all lines together.
    unsent_bytes: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Queued {
    line: Line,
    batch: Vec<Out>,
    /// Of the batch.
    bytes: usize,
    /// Of the batch, events.
    event_bytes: usize,
}

impl Queued {
    fn is_cut(&self) -> bool {
        self.line.fill.why.get().is_some()
    }

    /// Forgets the batch.
    fn clear(&mut self) -> Vec<Out> {
        (self.bytes, self.event_bytes) = (0, 0);
        std::mem::take(&mut self.batch)
    }
}

impl Outbox {
    /// A connection came.
    pub fn connect(&mut self, conn: ConnId, line: Line) {
        // A line has one outbox; a second one would count what the first has counted.
        let _ = line.fill.all.set(Arc::clone(&self.unsent_bytes));
        self.lines.insert(conn, Queued { line, batch: Vec::new(), bytes: 0, event_bytes: 0 });
    }

    /// A connection is gone; what waited for it is dropped.
    pub fn disconnect(&mut self, conn: ConnId) {
        self.lines.remove(&conn);
    }

    /// Holds `out` back for `conn` until [`Outbox::release`]. Nothing happens when the connection is gone, or when it has
    /// asked for more in one turn than may wait for it: then it is cut off at once.
    pub fn push(&mut self, conn: ConnId, out: Out) {
        let Some(queued) = self.lines.get_mut(&conn).filter(|queued| !queued.is_cut()) else { return };
        if queued.batch.is_empty() {
            self.touched.push(conn);
        }
        let bytes = weight::of_out(&out);
        if queued.bytes + bytes > UNSENT_BYTES_MAX && !queued.batch.is_empty() {
            queued.line.fill.cut_off(Cut::Slow);
            queued.clear();
            return;
        }
        queued.bytes += bytes;
        self.turn_bytes += bytes;
        queued.batch.push(out);
    }

    /// Whether the turn has made so many answers that the rest of its commands should wait for the next one.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.turn_bytes > TURN_ANSWER_BYTES_MAX
    }

    /// As [`Outbox::push`], for an event. False when too many wait for this connection already: then it is not taken.
    #[must_use]
    pub fn push_event(&mut self, conn: ConnId, event: &Arc<Event>) -> bool {
        let Some(queued) = self.lines.get_mut(&conn) else { return true };
        let out = Out::Event(Arc::clone(event));
        let event_bytes = queued.event_bytes + weight::of_out(&out);
        if event_bytes + queued.line.fill.unsent_event_bytes.load(Ordering::Relaxed) > UNSENT_EVENT_BYTES_MAX {
            return false;
        }
        queued.event_bytes = event_bytes;
        self.push(conn, out);
        true
    }

    /// Closes a connection without its last replies.
    pub fn cut(&self, conn: ConnId, why: Cut) {
        if let Some(queued) = self.lines.get(&conn) {
            queued.line.fill.cut_off(why);
        }
    }

    /// Lets everything go. Returns the connections that had to be cut off because they do not read.
    pub fn release(&mut self) -> Vec<ConnId> {
        self.release_filled(|_| {})
    }

    /// The same, with everything completed by `fill` just before it leaves: what it adds is bounded too.
    pub fn release_filled(&mut self, mut fill: impl FnMut(&mut Out)) -> Vec<ConnId> {
        let mut cut = Vec::new();
        self.turn_bytes = 0;
        for conn in std::mem::take(&mut self.touched) {
            let Some(queued) = self.lines.get_mut(&conn) else { continue };
            let mut batch = queued.clear();
            let mut filled = Weight::default();
            let fits = batch.iter_mut().enumerate().all(|(at, out)| {
                fill(out);
                filled.add(out);
                at == 0 || filled.bytes <= UNSENT_BYTES_MAX
            });
            if !fits {
                queued.line.fill.cut_off(Cut::Slow);
            }
            if queued.is_cut() || (!batch.is_empty() && !queued.line.send(batch, filled)) {
                cut.push(conn);
            }
        }
        if self.unsent_bytes.load(Ordering::Relaxed) > UNSENT_TOTAL_BYTES_MAX {
            self.cut_fullest(&mut cut);
        }
        cut
    }

    /// Cuts those off for whom the most waits, until the rest is within its bound.
    fn cut_fullest(&self, cut: &mut Vec<ConnId>) {
        let open = self.lines.iter().filter(|(_, queued)| !queued.is_cut());
        let mut fullest: Vec<(usize, ConnId)> =
            open.map(|(conn, queued)| (queued.line.unsent_bytes(), *conn)).collect();
        let mut waiting: usize = fullest.iter().map(|(bytes, _)| bytes).sum();
        fullest.sort_unstable();
        while waiting > UNSENT_TOTAL_BYTES_MAX
            && let Some((bytes, conn)) = fullest.pop()
        {
            waiting -= bytes;
            self.cut(conn, Cut::Slow);
            cut.push(conn);
        }
    }

    /// Drops everything that waits: its turn did not happen.
    pub fn discard(&mut self) {
        for conn in self.touched.drain(..) {
            if let Some(queued) = self.lines.get_mut(&conn) {
                queued.clear();
            }
        }
        self.turn_bytes = 0;
    }

    /// Every connection writes what it has, then closes.
    pub fn close_all(&mut self) {
        let conns: Vec<ConnId> = self.conns().collect();
        conns.iter().for_each(|conn| self.push(*conn, Out::Close));
        self.release();
        self.lines.clear();
    }

    /// All connections, in no order.
    pub fn conns(&self) -> impl Iterator<Item = ConnId> {
        self.lines.keys().copied()
    }
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod outbox_tests;
