//! A client: what it has asked and not heard of, and the jobs it was given.

use onceover_broker::conn_table;
use onceover_broker::inbox::{Ask, Frame, Frames, Message};
use onceover_broker::outbox::{Line, LineEnd, Out};
use onceover_engine::command::{Command, Pull};
use onceover_engine::names::{ConnId, JobId, JobKey};
use onceover_engine::time::Millis;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

/// A job in a client's hands. It may be another's by now; the client does not know.
#[derive(Clone, Debug)]
pub struct Held {
    /// Its generation.
    pub key: JobKey,
    /// Its id.
    pub id: JobId,
    /// Its queue.
    pub queue: Arc<str>,
    /// The token, when it was taken with an owner.
    pub token: Option<String>,
}

/// One end of a connection.
#[derive(Debug)]
pub struct Client {
    /// Its connection; a client that connects again is another one.
    pub conn: ConnId,
    end: LineEnd,
    /// What was asked and not answered, by request number.
    pub open: BTreeMap<u64, Command>,
    /// Jobs it was given, newest last.
    pub held: Vec<Held>,
    next_request: u64,
    /// Whether the broker has closed it.
    pub closed: bool,
}

impl Client {
    /// A client and the message that connects it.
    ///
    /// # Panics
    /// Never: connection numbers are small.
    #[must_use]
    pub fn connect(conn: ConnId) -> (Client, Message) {
        let (line, end) = Line::new();
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 50_000));
        let client = Arc::new(conn_table::Client::new(conn, peer));
        let this = Client { conn, end, open: BTreeMap::new(), held: Vec::new(), next_request: 0, closed: false };
        (this, Message::Connected { client, line })
    }

    /// Sends these commands together.
    pub fn send(&mut self, commands: Vec<Command>) -> Message {
        let mut frames = Vec::new();
        for command in commands {
            self.next_request += 1;
            self.open.insert(self.next_request, command.clone());
            frames.push(Frame { request: self.next_request, cmd: None, ask: Ask::Engine(command) });
        }
        let bytes = frames.len() * 100;
        // The moment only feeds a figure that the window shows.
        let read_at = Instant::now();
        Message::Frames(Frames { conn: self.conn, frames, bytes, read_at, last: false, permit: None })
    }

    /// What has arrived, in order.
    pub fn read(&mut self) -> Vec<Out> {
        std::iter::from_fn(|| self.end.batches.try_recv()).flatten().collect()
    }
}

/// The jobs in a client's hands that a command is about.
#[must_use]
pub fn subjects<'a>(command: &Command, held: &'a [Held]) -> Vec<&'a Held> {
    let claims: Vec<_> = match command {
        Command::Ack(ack) => vec![(&ack.id, &ack.token)],
        Command::AckBulk { acks } => acks.iter().map(|ack| (&ack.id, &ack.token)).collect(),
        Command::Fail(fail) => vec![(&fail.id, &fail.token)],
        Command::JobHeartbeat(renewal) | Command::ExtendLock(renewal) => {
            vec![(&renewal.claim.id, &renewal.claim.token)]
        }
        Command::ChangeDelay { claim, .. }
        | Command::MoveToDelayed { claim, .. }
        | Command::MoveToWait { claim }
        | Command::Discard { claim } => vec![(&claim.id, &claim.token)],
        _ => Vec::new(),
    };
    let mut subjects: Vec<&Held> = held.iter().filter(|held| claims.contains(&(&held.id, &held.token))).collect();
    // A job that was taken twice without a lock is in the same hands twice.
    subjects.sort_by_key(|held| held.key);
    subjects.dedup_by_key(|held| held.key);
    subjects
}

/// A pull of a worker that takes everything.
#[must_use]
pub fn take_all(queue: Arc<str>) -> Pull {
    let (timeout, lock_ttl) = (Millis(0), Millis(30_000));
    Pull {
        queue,
        count: 1_000,
        bulk: true,
        timeout,
        owner: Some("worker".into()),
        lock_ttl,
        detach: false,
        group: None,
    }
}
