//! One client connection: reads (see `reading.rs`), encodes and writes.
//!
//! Both directions run in one task and share what an answer needs of its request. Answers are found by number, so they
//! may leave in any order. The connection ends when the client closes or half-closes, is silent in the middle of a
//! frame, sends a frame that is too large, or does not read its answers; the core is always told, after the last frame.
//! What one connection may have in progress is bounded: beyond it the rest waits unread.

use crate::access::Access;
use crate::asked::Asked;
use crate::config::ConnSettings;
use crate::conn_table::Client;
use crate::inbox::{Inbox, Message, Problem};
use crate::limits::{LAST_WORDS_TIMEOUT, READ_BYTES, RELEASE_AFTER, WRITE_BYTES};
use crate::outbox::{Cut, Line, LineEnd, Out, Weight};
use crate::reading::{ReadEnd, read_loop};
use bytes::BytesMut;
use onceover_wire::encode::{
    EncodeCtx, encode_error, encode_event, encode_figures, encode_hello, encode_pong, encode_reply, encode_unsubscribed,
};
use onceover_wire::frame::IDLE_BUFFER_BYTES_MAX;
use std::slice::Iter;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::server::TlsStream;

/// What a subscriber reads when its subscription is ended.
const UNSUBSCRIBED: &str = "too many events wait for this subscriber; the subscription has ended";

/// What a connection needs besides its socket.
pub struct Session {
    /// Who is at the other end.
    pub client: Arc<Client>,
    /// The way to the core.
    pub inbox: Inbox,
    /// Who may ask.
    pub access: Arc<Access>,
    /// Its bounds.
    pub settings: ConnSettings,
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

/// How a connection ends.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The client has gone, or the core has.
    Gone,
    /// We close, and the client should still get what was written.
    LastWords,
    /// We close, and what the client has not read is dropped.
    Abort,
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
    match exchange(&mut socket, &session, end).await {
        End::Gone => {}
        End::LastWords => last_words(&mut socket).await,
        // An error means that there is nobody to be cut off.
        End::Abort => socket.tcp().set_zero_linger().unwrap_or(()),
    }
    drop(socket);
    // When the core has ended there is nobody to be told.
    let _ = session.inbox.send(Message::HungUp(conn));
    tokio::time::sleep(RELEASE_AFTER).await;
    let _ = session.inbox.send(Message::Disconnected(conn));
}

/// Both directions.
async fn exchange(socket: &mut impl Socket, session: &Session, end: LineEnd) -> End {
    let (read, write) = socket.halves();
    let asked = Asked::default();
    let (fill, attention) = (Arc::clone(&end.fill), end.batches.attention());
    let mut reading = std::pin::pin!(read_loop(read, session, &asked, &fill, attention));
    let mut writing = std::pin::pin!(write_loop(write, end, &asked));
    let close_when = |all_written| if all_written { End::LastWords } else { End::Gone };
    tokio::select! {
        // In this order: what the core answers while a message is handed over is written before this waits.
        biased;
        ended = &mut reading => match ended {
            ReadEnd::Gone => End::Gone,
            ReadEnd::Unfinished => {
                report(session, "unfinished frame", "A frame was begun and not finished; the connection was closed.");
                End::Abort
            }
            ReadEnd::Answered => close_when(timeout(LAST_WORDS_TIMEOUT, writing).await == Ok(true)),
        },
        all_written = &mut writing => close_when(all_written),
        why = fill.cut() => {
            let (label, text) = match why {
                Cut::Slow => ("does not read", "The client does not read its replies; its connection was closed."),
                Cut::Unfinished => {
                    ("unfinished frame", "A long frame was not finished in time, and others needed the room; its connection was closed.")
                }
                Cut::Outsider => {
                    ("access removed", "What let the client in holds no more; it needs a token that is set. Its connection was closed.")
                }
            };
            report(session, label, text);
            End::Abort
        }
    }
}

/// Writes what the core sends. True when it ended because the core closes the connection, false when the socket failed.
async fn write_loop(mut socket: impl AsyncWrite + Unpin, mut end: LineEnd, asked: &Asked) -> bool {
    let mut encoded = BytesMut::new();
    let mut unsent = Weight::default();
    while let Some(mut batch) = end.batches.recv().await {
        loop {
            let mut outs = batch.iter();
            let mut close = false;
            while outs.len() > 0 && !close {
                close = encode(&mut outs, &mut encoded, &mut unsent, asked);
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
            let Some(next) = end.batches.try_recv() else { break };
            batch = next;
        }
        if write(&mut socket, &encoded).await.is_err() {
            return false;
        }
        encoded.clear();
        end.fill.written(std::mem::take(&mut unsent));
        if encoded.capacity() > IDLE_BUFFER_BYTES_MAX {
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

/// Appends frames until a write is due. Returns whether the connection is to be closed now.
fn encode(outs: &mut Iter<'_, Out>, encoded: &mut BytesMut, unsent: &mut Weight, asked: &Asked) -> bool {
    let mut pending = asked.lock();
    let ctx = EncodeCtx { protocol2: pending.protocol2 };
    let mut close = false;
    for out in outs {
        unsent.add(out);
        match out {
            Out::Reply { request, reply } => encode_reply(encoded, pending.take(*request).as_ref(), reply, ctx),
            Out::Refused { request, text } => encode_error(encoded, pending.take(*request).as_ref(), text),
            Out::Hello { request } => encode_hello(encoded, pending.take(*request).as_ref()),
            Out::Pong { request, now } => encode_pong(encoded, pending.take(*request).as_ref(), *now),
            Out::Figures { request, body } => encode_figures(encoded, pending.take(*request).as_ref(), body),
            Out::Event(event) => encode_event(encoded, event),
            Out::Unsubscribed { queue, at } => encode_unsubscribed(encoded, queue, *at, UNSUBSCRIBED),
            Out::Close => close = true,
        }
        if close || encoded.len() >= WRITE_BYTES {
            break;
        }
    }
    drop(pending);
    asked.answered();
    close
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

#[cfg(test)]
#[path = "connection_tests.rs"]
mod connection_tests;
