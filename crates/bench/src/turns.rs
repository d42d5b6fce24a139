//! Requests through the core without sockets and threads: decoding, turn, commit, encoding. One connection, and a clock
//! that goes on by a millisecond with each turn, so that the same requests cost the same instructions every time.

use crate::frame::Answer;
use crate::load::Traffic;
use anyhow::{Context, Result};
use bytes::BytesMut;
use onceover_broker::conn_table::Client;
use onceover_broker::core::Core;
use onceover_broker::inbox::{Ask, Frame, Frames, Message};
use onceover_broker::outbox::{Line, LineEnd, Out, Outbox};
use onceover_engine::EngineConfig;
use onceover_engine::names::ConnId;
use onceover_engine::time::{Millis, Timestamp};
use onceover_store::{SqliteStore, Storage};
use onceover_wire::decode::Decoder;
use onceover_wire::encode::{EncodeCtx, encode_reply};
use onceover_wire::frame::{FrameDecoder, NextFrame};
use onceover_wire::request::{ReqId, Request};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// A core with one client.
pub struct Turns {
    core: Core<Box<dyn Storage>>,
    decoder: Decoder,
    outbox: Outbox,
    end: LineEnd,
    now: Timestamp,
    /// The requests' own ids, by the number of the request.
    ids: Vec<Option<ReqId>>,
    answered: u64,
}

const CONN: ConnId = ConnId(1);

impl Turns {
    /// A core on a new file in `folder`.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn new(folder: &Path) -> Result<Turns> {
        let storage: Box<dyn Storage> = Box::new(SqliteStore::open(&folder.join("onceover.db"))?);
        let config = EngineConfig { fingerprint: onceover_wire::fingerprint, ..EngineConfig::default() };
        let now = Timestamp(1_700_000_000_000);
        let mut core = Core::open(storage, config, 1, now)?;
        let (line, end) = Line::new();
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 50_000));
        let mut outbox = Outbox::default();
        let client = Arc::new(Client::new(CONN, peer));
        core.turn(now, &mut vec![Message::Connected { client, line }], &mut outbox)?;
        Ok(Turns { core, decoder: Decoder::default(), outbox, end, now, ids: Vec::new(), answered: 0 })
    }

    /// Whole request frames in, answer frames out: one turn, or as many as the core makes of that many jobs.
    ///
    /// # Errors
    /// The commit fails.
    pub fn turn(&mut self, requests: &[u8], answers: &mut BytesMut) -> Result<()> {
        let mut inbox = vec![self.decode(requests)?];
        while !inbox.is_empty() {
            self.commit(&mut inbox)?;
        }
        self.encode(answers);
        Ok(())
    }

    /// The requests as a message for the core.
    ///
    /// # Errors
    /// A request is not valid, or not the engine's.
    pub fn decode(&mut self, requests: &[u8]) -> Result<Message> {
        let (mut decoder, mut frames) = (FrameDecoder::new(), Vec::new());
        decoder.feed(requests);
        while let NextFrame::Payload(payload) = decoder.next_frame() {
            let decoded = self.decoder.decode(payload, usize::MAX).context("a batch that is put off")?;
            let Request::Engine(command) = decoded.result.map_err(|error| anyhow::anyhow!(error.text))? else {
                anyhow::bail!("a request that is not the engine's");
            };
            let request = self.answered + self.ids.len() as u64;
            self.ids.push(decoded.req_id);
            frames.push(Frame { request, cmd: decoded.cmd, ask: Ask::Engine(command) });
        }
        let bytes = requests.len();
        Ok(Message::Frames(Frames { conn: CONN, frames, bytes, read_at: Instant::now(), last: false, permit: None }))
    }

    /// The core's turn.
    ///
    /// # Errors
    /// The commit fails.
    pub fn commit(&mut self, inbox: &mut Vec<Message>) -> Result<()> {
        self.now = self.now.plus(Millis(1));
        self.core.turn(self.now, inbox, &mut self.outbox)?;
        Ok(())
    }

    /// The answers that the core has released.
    pub fn encode(&mut self, answers: &mut BytesMut) {
        while let Some(batch) = self.end.batches.try_recv() {
            for out in &batch {
                let Out::Reply { request, reply } = out else { continue };
                let id = self.ids[(request - self.answered) as usize].as_ref();
                encode_reply(answers, id, reply, EncodeCtx { protocol2: false });
            }
        }
        self.answered += self.ids.len() as u64;
        self.ids.clear();
    }
}

/// How a turn is made: [`Turns::turn`], or a function around it that a tool can tell from others.
pub type Turn = fn(&mut Turns, &[u8], &mut BytesMut) -> Result<()>;

/// Runs traffic of so many slots, all of which ask in every turn, until none has anything to ask.
///
/// # Errors
/// An answer is not `ok`, or none comes.
pub fn drive(turns: &mut Turns, turn: Turn, traffic: &mut impl Traffic, slots: usize) -> Result<u64> {
    let (mut requests, mut answers, mut operations) = (BytesMut::new(), BytesMut::new(), 0);
    loop {
        requests.clear();
        let asked = (0..slots).filter(|slot| traffic.ask(*slot, &mut requests)).count();
        if asked == 0 {
            return Ok(operations);
        }
        answers.clear();
        turn(turns, &requests, &mut answers)?;
        let mut decoder = FrameDecoder::new();
        decoder.feed(&answers);
        let mut told = 0;
        while let NextFrame::Payload(payload) = decoder.next_frame() {
            operations += u64::from(traffic.answered(&Answer::parse(payload)?)?);
            told += 1;
        }
        (told == asked).then_some(()).with_context(|| format!("{asked} requests had {told} answers"))?;
    }
}
