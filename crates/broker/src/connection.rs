//! One client connection: reads and decodes, encodes and writes.
//!
//! Both directions run in one task and share what an answer needs of its request. Answers are found by number, so they
//! may leave in any order. The connection ends when the client closes or half-closes, is silent in the middle of a
//! frame, sends a frame that is too large, or does not read its answers; the core is always told, after the last frame.

use crate::access::Access;
use crate::conn_table::Client;
use crate::gate::Gate;
use crate::inbox::{CoreGone, Frame, Frames, Inbox, Message, Problem};
use crate::limits::{
    LAST_WORDS_TIMEOUT, MESSAGE_FRAMES_MAX, PARTIAL_FRAME_TIMEOUT, READ_BYTES, RELEASE_AFTER, WRITE_BYTES,
};
use crate::outbox::{Cut, Line, LineEnd, Out};
use crate::weight;
use bytes::BytesMut;
use onceover_wire::encode::{EncodeCtx, encode_error, encode_event, encode_hello, encode_pong, encode_reply};
use onceover_wire::frame::{FrameDecoder, NextFrame};
use onceover_wire::request::ReqId;
use std::collections::HashMap;
use std::slice::Iter;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tokio_rustls::server::TlsStream;

/// What a connection needs besides its socket.
pub struct Session {
    /// Who is at the other end.
    pub client: Arc<Client>,
    /// The way to the core.
    pub inbox: Inbox,
    /// Who may ask.
    pub access: Arc<Access>,
    /// Silence in the middle of a frame after which the connection is closed.
    pub partial_frame_timeout: Duration,
}

impl Session {
    /// With the usual timeout.
    #[must_use]
    pub fn new(client: Arc<Client>, inbox: Inbox, access: Arc<Access>) -> Session {
        Session { client, inbox, access, partial_frame_timeout: PARTIAL_FRAME_TIMEOUT }
    }
}

/// What a connection runs over. A trait and not a choice at run time, so that a plain connection pays nothing for TLS.
pub trait Socket: AsyncRead + AsyncWrite + Unpin + Send {
    /// Both directions, to be used at the same time.
    fn halves(&mut self) -> (impl AsyncRead + Unpin + Send, impl AsyncWrite + Unpin + Send);

    /// The connection below.
    fn tcp(&self) -> &TcpStream;
}

impl Socket for TcpStream {
    fn halves(&mut self) -> (impl AsyncRead + Unpin + Send, impl AsyncWrite + Unpin + Send) {
        self.split()
    }

    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Socket for TlsStream<TcpStream> {
    fn halves(&mut self) -> (impl AsyncRead + Unpin + Send, impl AsyncWrite + Unpin + Send) {
        tokio::io::split(self)
    }

    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// Why reading ended.
#[derive(Debug, PartialEq, Eq)]
enum ReadEnd {
    /// The client has gone, or the core has.
    Gone,
    /// The stream cannot be followed; the answer says why and is still to be written.
    Answered,
}

/// Requests that are not answered yet.
#[derive(Default)]
struct Pending {
    requests: HashMap<u64, ReqId>,
    protocol2: bool,
}

/// Serves a client until its connection ends.
pub async fn serve(mut socket: impl Socket, session: Session) {
    // Without this an answer waits for the acknowledgement of the one before. An error means that the client is gone.
    let _ = socket.tcp().set_nodelay(true);
    let (line, end) = Line::new();
    let conn = session.client.conn;
    if session.inbox.send(Message::Connected { client: Arc::clone(&session.client), line }).is_err() {
        return;
    }
    if exchange(&mut socket, &session, end).await {
        last_words(&mut socket).await;
    }
    drop(socket);
    // When the core has ended there is nobody to be told.
    let _ = session.inbox.send(Message::HungUp(conn));
    tokio::time::sleep(RELEASE_AFTER).await;
    let _ = session.inbox.send(Message::Disconnected(conn));
}

/// Both directions. True when we close and the client should still get what was written.
async fn exchange(socket: &mut impl Socket, session: &Session, end: LineEnd) -> bool {
    let (read, write) = socket.halves();
    let pending = Mutex::new(Pending::default());
    let fill = Arc::clone(&end.fill);
    let mut reading = std::pin::pin!(read_loop(read, session, &pending));
    let mut writing = std::pin::pin!(write_loop(write, end, &pending));
    tokio::select! {
        ended = &mut reading => match ended {
            ReadEnd::Gone => false,
            ReadEnd::Answered => timeout(LAST_WORDS_TIMEOUT, writing).await == Ok(true),
        },
        written = &mut writing => written,
        why = fill.cut() => {
            let (label, text) = match why {
                Cut::Slow => ("does not read", "The client does not read its replies; its connection was closed."),
                Cut::Outsider => {
                    ("access removed", "What let the client in holds no more; its connection was closed. It needs a token that is set.")
                }
            };
            report(session, label, text);
            false
        }
    }
}

async fn read_loop(mut socket: impl AsyncRead + Unpin, session: &Session, pending: &Mutex<Pending>) -> ReadEnd {
    let mut decoder = FrameDecoder::new();
    let mut gate = Gate::new(Arc::clone(&session.access), Arc::clone(&session.client));
    loop {
        let in_frame = decoder.has_partial_frame();
        let buffer = decoder.buffer();
        if buffer.capacity() - buffer.len() < READ_BYTES / 4 {
            buffer.reserve(READ_BYTES);
        }
        let read = socket.read_buf(buffer);
        let read = if in_frame {
            let Ok(read) = timeout(session.partial_frame_timeout, read).await else {
                report(session, "unfinished frame", "A frame was begun and not finished; the connection was closed.");
                return ReadEnd::Gone;
            };
            read
        } else {
            read.await
        };
        match read {
            Ok(0) | Err(_) => return ReadEnd::Gone,
            Ok(_) => {}
        }
        match forward(&mut decoder, &mut gate, session, pending).await {
            Ok(false) => {}
            Ok(true) => return ReadEnd::Answered,
            Err(CoreGone) => return ReadEnd::Gone,
        }
    }
}

/// Sends all complete frames to the core. True when the stream cannot be followed any further.
async fn forward(
    decoder: &mut FrameDecoder,
    gate: &mut Gate,
    session: &Session,
    pending: &Mutex<Pending>,
) -> Result<bool, CoreGone> {
    let read_at = Instant::now();
    let buffered = decoder.buffer().len();
    let mut room: Option<OwnedSemaphorePermit> = None;
    loop {
        let (mut frames, mut bytes) = (Vec::new(), 0);
        let last = loop {
            if frames.len() == MESSAGE_FRAMES_MAX {
                break false;
            }
            match decoder.next_frame() {
                NextFrame::Payload(payload) => {
                    if room.is_none() {
                        // For all of this read at once: to take permits bit by bit could leave everybody waiting.
                        room = Some(session.inbox.room_for(buffered).await);
                    }
                    bytes += payload.len() + onceover_wire::frame::FRAME_HEADER_BYTES;
                    frames.push(admit(gate, payload, pending));
                }
                NextFrame::Oversize { payload_bytes } => {
                    frames.push(gate.oversize(payload_bytes, decoder.buffer()));
                    break true;
                }
                NextFrame::Incomplete => break false,
            }
        };
        if frames.is_empty() {
            return Ok(false);
        }
        let permit = room.as_mut().and_then(|room| room.split(bytes.min(room.num_permits())));
        let conn = session.client.conn;
        session.inbox.send(Message::Frames(Frames { conn, frames, bytes, read_at, last, permit }))?;
        if last {
            return Ok(true);
        }
    }
}

fn admit(gate: &mut Gate, payload: &[u8], pending: &Mutex<Pending>) -> Frame {
    let admitted = gate.admit(payload);
    let mut pending = lock(pending);
    pending.protocol2 |= admitted.protocol2;
    if let Some(req_id) = admitted.req_id {
        pending.requests.insert(admitted.frame.request, req_id);
    }
    admitted.frame
}

/// Writes what the core sends. True when it ended because the core closes the connection, false when the socket failed.
async fn write_loop(mut socket: impl AsyncWrite + Unpin, mut end: LineEnd, pending: &Mutex<Pending>) -> bool {
    let mut encoded = BytesMut::new();
    let mut unsent = 0;
    while let Some(mut batch) = end.batches.recv().await {
        loop {
            let mut outs = batch.iter();
            let mut close = false;
            while outs.len() > 0 && !close {
                (close, unsent) = encode(&mut outs, &mut encoded, unsent, pending);
                if encoded.len() < WRITE_BYTES && !close {
                    continue;
                }
                if write(&mut socket, &encoded).await.is_err() {
                    return false;
                }
                encoded.clear();
                end.fill.written(std::mem::take(&mut unsent));
            }
            if close {
                return true;
            }
            // Small batches that wait already leave in the same write.
            let Ok(next) = end.batches.try_recv() else { break };
            batch = next;
        }
        if write(&mut socket, &encoded).await.is_err() {
            return false;
        }
        encoded.clear();
        end.fill.written(std::mem::take(&mut unsent));
        if encoded.capacity() > 4 * WRITE_BYTES {
            encoded = BytesMut::new();
        }
    }
    true
}

/// TLS keeps a record back until it is flushed; a plain socket has nothing to flush.
async fn write(socket: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> std::io::Result<()> {
    socket.write_all(bytes).await?;
    socket.flush().await
}

/// Appends frames until a write is due. Returns whether the connection is to be closed now, and the weight so far.
fn encode(
    outs: &mut Iter<'_, Out>,
    encoded: &mut BytesMut,
    mut unsent: usize,
    pending: &Mutex<Pending>,
) -> (bool, usize) {
    let mut pending = lock(pending);
    let ctx = EncodeCtx { protocol2: pending.protocol2 };
    let mut req_id = |request: &u64| pending.requests.remove(request);
    for out in outs {
        unsent += weight::of_out(out);
        match out {
            Out::Reply { request, reply } => encode_reply(encoded, req_id(request).as_ref(), reply, ctx),
            Out::Refused { request, text } => encode_error(encoded, req_id(request).as_ref(), text),
            Out::Hello { request } => encode_hello(encoded, req_id(request).as_ref()),
            Out::Pong { request, now } => encode_pong(encoded, req_id(request).as_ref(), *now),
            Out::Event(event) => encode_event(encoded, event),
            Out::Close => return (true, unsent),
        }
        if encoded.len() >= WRITE_BYTES {
            break;
        }
    }
    (false, unsent)
}

/// Closes so that the client gets what was written: a socket closed with unread bytes in it is reset, and a reset makes
/// the client's system drop what it has not read yet.
pub async fn last_words(socket: &mut (impl AsyncRead + AsyncWrite + Unpin)) {
    let until_gone = async {
        if socket.shutdown().await.is_err() {
            return;
        }
        let mut unread = vec![0; READ_BYTES];
        while matches!(socket.read(&mut unread).await, Ok(1..)) {}
    };
    // A client that does not close either is left alone after a while.
    let _ = timeout(LAST_WORDS_TIMEOUT, until_gone).await;
}

fn report(session: &Session, label: &'static str, text: &str) {
    tracing::warn!(conn = session.client.conn.0, "{text}");
    let problem = Problem { label, text: text.to_owned(), bytes: Vec::new() };
    // When the core has ended there is no window to show it.
    let _ = session.inbox.send(Message::Problem(Arc::clone(&session.client), problem));
}

/// A poisoned lock means that encoding panicked; the connection ends with its task then, so its state does not matter.
fn lock(pending: &Mutex<Pending>) -> MutexGuard<'_, Pending> {
    pending.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "connection_tests.rs"]
mod connection_tests;
