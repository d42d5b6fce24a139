//! The reading half of a connection: bytes to frames, frames to requests, requests to the core.
//!
//! What one connection reads is bounded, and how long it keeps the thread that it shares with others: bytes of unfinished
//! long frames come out of a common budget, long frames are decoded elsewhere, one of them at a time in the whole broker.

use crate::asked::Asked;
use crate::batches::Attention;
use crate::bulk::Part;
use crate::connection::Session;
use crate::gate::Gate;
use crate::inbox::{Ask, CoreGone, Frame, Frames, Inbox, Message};
use crate::limits::{
    INBOX_BYTES_MAX, LONG_FRAME_BYTES, MESSAGE_BYTES_MAX, MESSAGE_FRAMES_MAX, PROBLEM_FRAME_BYTES_MAX, READ_BYTES,
    READ_ON_BYTES, SHORT_BATCH_JOBS_MAX,
};
use crate::outbox::Fill;
use crate::unfinished::Share;
use crate::weight;
use bytes::{BufMut, BytesMut};
use onceover_engine::command::Command;
use onceover_wire::decode::{Decoder, decode};
use onceover_wire::frame::{FRAME_HEADER_BYTES, FrameDecoder, NextFrame};
use onceover_wire::request::Decoded;
use std::sync::Arc;
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::{spawn_blocking, yield_now};
use tokio::time::timeout;

/// Why reading ended.
#[derive(Debug, PartialEq, Eq)]
pub enum ReadEnd {
    /// The client has gone, or the core has.
    Gone,
    /// The client is silent in the middle of a frame.
    Unfinished,
    /// The stream cannot be followed; the answer says why and is still to be written.
    Answered,
}

/// Reads until the end.
pub async fn read_loop(
    mut socket: impl AsyncRead + Unpin,
    session: &Session,
    asked: &Asked,
    fill: &Arc<Fill>,
    attention: Attention,
) -> ReadEnd {
    let mut decoder = FrameDecoder::new();
    let gate = Gate::new(Arc::clone(&session.access), Arc::clone(&session.client), session.settings.rate_limit);
    let mut forward = Forward { gate, session, asked, attention, requests: Decoder::default() };
    let mut share = Share::new(Arc::clone(session.inbox.unfinished()), Arc::clone(fill));
    let mut read_on = 0;
    loop {
        share.cover(decoder.waiting_bytes()).await;
        let silence_max = session.settings.partial_frame_timeout.filter(|_| decoder.has_partial_frame());
        let buffer = decoder.buffer();
        if buffer.capacity() - buffer.len() < READ_BYTES / 4 {
            buffer.reserve(READ_BYTES);
        }
        let mut buffer = buffer.limit(READ_BYTES);
        let read = socket.read_buf(&mut buffer);
        let read = match silence_max {
            Some(silence_max) => match timeout(silence_max, read).await {
                Ok(read) => read,
                Err(_elapsed) => return ReadEnd::Unfinished,
            },
            None => read.await,
        };
        match read {
            Ok(0) | Err(_) => return ReadEnd::Gone,
            Ok(bytes) => read_on += bytes,
        }
        match forward.all(&mut decoder, &mut share).await {
            Ok(false) => {}
            Ok(true) => return ReadEnd::Answered,
            Err(CoreGone) => return ReadEnd::Gone,
        }
        if decoder.waiting_bytes() <= READ_BYTES {
            read_on = 0;
        } else if read_on >= READ_ON_BYTES {
            read_on = 0;
            yield_now().await;
        }
    }
}

/// The way from frames to the core.
struct Forward<'a> {
    gate: Gate,
    session: &'a Session,
    asked: &'a Asked,
    attention: Attention,
    requests: Decoder,
}

/// Frames that go to the core as one message, and what comes behind them.
struct Batch {
    frames: Vec<Frame>,
    bytes: usize,
    then: Then,
}

enum Then {
    /// Nothing that is complete.
    Read,
    /// Perhaps more, once this has been sent.
    GoOn,
    /// A frame that is decoded elsewhere.
    Long(BytesMut),
    /// A frame that needs so much room.
    Room(usize),
    /// The stream cannot be followed any further.
    End,
}

impl Forward<'_> {
    /// Sends all complete frames to the core. True when the stream cannot be followed any further.
    async fn all(&mut self, decoder: &mut FrameDecoder, share: &mut Share) -> Result<bool, CoreGone> {
        let read_at = Instant::now();
        let mut room: Option<OwnedSemaphorePermit> = None;
        loop {
            let Batch { frames, bytes, then } = self.collect(decoder, &mut room).await;
            let last = matches!(then, Then::End);
            if !frames.is_empty() {
                let permit = room.as_mut().and_then(|room| room.split(bytes.min(room.num_permits())));
                self.send(Frames { conn: self.session.client.conn, frames, bytes, read_at, last, permit })?;
            }
            match then {
                Then::Read => return Ok(false),
                Then::End => return Ok(true),
                Then::GoOn => {
                    if self.asked.is_full() {
                        // Others need the inbox meanwhile.
                        room = None;
                        self.asked.room().await;
                    }
                }
                Then::Long(payload) => {
                    room = None;
                    share.complete();
                    self.long(payload, share, read_at).await?;
                }
                Then::Room(bytes) => {
                    // To hold some and wait for more could leave everybody waiting.
                    drop(room.take());
                    room = Some(self.session.inbox.room_for(bytes).await);
                }
            }
        }
    }

    async fn collect(&mut self, decoder: &mut FrameDecoder, room: &mut Option<OwnedSemaphorePermit>) -> Batch {
        let (mut frames, mut bytes) = (Vec::new(), 0);
        let then = loop {
            if frames.len() == MESSAGE_FRAMES_MAX || bytes > MESSAGE_BYTES_MAX || self.asked.is_full() {
                break Then::GoOn;
            }
            if let Some(payload) = decoder.take_longer_than(LONG_FRAME_BYTES) {
                break Then::Long(payload);
            }
            let buffered = decoder.buffer().len();
            match decoder.next_frame() {
                NextFrame::Payload(payload) => {
                    if room.is_none() {
                        // For all of this read at once: to take permits bit by bit could leave everybody waiting.
                        *room = Some(self.session.inbox.room_for(buffered).await);
                    }
                    let Some(decoded) = self.requests.decode(payload, SHORT_BATCH_JOBS_MAX) else {
                        break Then::Long(BytesMut::from(payload));
                    };
                    let its_bytes = weight_of(&decoded, payload.len());
                    if !covers(room, bytes + its_bytes, &self.session.inbox) {
                        decoder.keep();
                        break Then::Room(its_bytes);
                    }
                    bytes += its_bytes;
                    frames.push(self.admit(decoded, payload));
                }
                NextFrame::Oversize { payload_bytes } => {
                    let frame = self.gate.oversize(payload_bytes, decoder.buffer());
                    self.asked.ask(frame.request, None, false);
                    frames.push(frame);
                    break Then::End;
                }
                NextFrame::Incomplete => break Then::Read,
            }
        };
        Batch { frames, bytes, then }
    }

    /// Decodes a frame away from the threads that serve all connections, when it is its turn, and sends it.
    async fn long(&mut self, payload: BytesMut, share: &mut Share, read_at: Instant) -> Result<(), CoreGone> {
        let inbox = &self.session.inbox;
        let turn = inbox.turn_to_decode().await;
        let payload_bytes = payload.len();
        let away = spawn_blocking(move || {
            let decoded = decode(&payload);
            let start = payload[..payload.len().min(PROBLEM_FRAME_BYTES_MAX)].to_vec();
            // To give back this much memory takes its time too.
            drop(payload);
            (decoded, start)
        });
        let (decoded, start) = match away.await {
            Ok(decoded) => decoded,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime is being shut down.
            Err(_) => return Err(CoreGone),
        };
        share.give_back();
        let bytes = weight_of(&decoded, payload_bytes);
        let permit = Some(inbox.room_for_long(bytes).await);
        drop(turn);
        let (conn, frames) = (self.session.client.conn, vec![self.admit(decoded, &start)]);
        self.send(Frames { conn, frames, bytes, read_at, last: false, permit })
    }

    fn admit(&mut self, decoded: Decoded, payload: &[u8]) -> Frame {
        let admitted = self.gate.admit(decoded, payload);
        self.asked.ask(admitted.frame.request, admitted.req_id, admitted.protocol2);
        if matches!(&admitted.frame.ask, Ask::Engine(command) if command.is_long()) {
            self.asked.wait_for(admitted.frame.request);
        }
        in_parts(admitted.frame)
    }

    fn send(&self, frames: Frames) -> Result<(), CoreGone> {
        self.attention.during(|| self.session.inbox.send(Message::Frames(frames)))
    }
}

/// A batch may be cut where the others may not.
fn in_parts(frame: Frame) -> Frame {
    let Frame { request, cmd, ask } = frame;
    let ask = match ask {
        Ask::Engine(Command::PushBulk { adds }) if adds.len() > 1 => match Part::all(adds) {
            Ok(part) => Ask::Part(Box::new(part)),
            Err(adds) => Ask::Engine(Command::PushBulk { adds }),
        },
        other => other,
    };
    Frame { request, cmd, ask }
}

/// The bytes of a frame or, where that is more, of what was decoded from it.
fn weight_of(decoded: &Decoded, payload_bytes: usize) -> usize {
    let frame_bytes = payload_bytes + FRAME_HEADER_BYTES;
    decoded.result.as_ref().map_or(frame_bytes, |request| frame_bytes.max(weight::of_request(request)))
}

/// Whether there is room for so much, more of it being taken when there is some at once.
fn covers(room: &mut Option<OwnedSemaphorePermit>, bytes: usize, inbox: &Inbox) -> bool {
    let Some(room) = room else { return false };
    let missing = bytes.min(INBOX_BYTES_MAX).saturating_sub(room.num_permits());
    if missing > 0 {
        let Some(more) = inbox.try_room_for(missing) else { return false };
        room.merge(more);
    }
    true
}
