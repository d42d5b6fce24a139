//! Who is connected, and what went wrong with whom. For the window only: nothing is decided by it.

use crate::access::Admission;
use crate::clock::wall_now;
use crate::figures::Timed;
use crate::inbox::Problem;
use crate::limits::{PROBLEMS_MAX, PROBLEMS_OF_ONE_MAX, SHOWN_TEXT_BYTES_MAX};
use crate::rate::Rate;
use crate::run::RunMark;
use onceover_engine::command::Command;
use onceover_engine::names::ConnId;
use onceover_engine::time::Timestamp;
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// A client's identity, shared by its connection and by what it did.
#[derive(Debug)]
pub struct Client {
    /// Its connection's number, from 1, never used twice while the process runs.
    pub conn: ConnId,
    /// The other end.
    pub peer: SocketAddr,
    /// When it connected.
    pub connected_at: Timestamp,
    /// What let it in.
    pub(crate) admission: Admission,
    process: OnceLock<Process>,
    run: OnceLock<RunMark>,
    has_left: AtomicBool,
}

/// The program at the other end, when the system tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its process id.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

impl Client {
    /// A client that connects now.
    #[must_use]
    pub fn new(conn: ConnId, peer: SocketAddr) -> Client {
        Client {
            conn,
            peer,
            connected_at: wall_now(),
            admission: Admission::default(),
            process: OnceLock::new(),
            run: OnceLock::new(),
            has_left: AtomicBool::new(false),
        }
    }

    /// The program at the other end. Not known in the first milliseconds, and never for another machine.
    #[must_use]
    pub fn process(&self) -> Option<&Process> {
        self.process.get()
    }

    /// The program was found. A second answer changes nothing.
    pub fn found(&self, process: Process) {
        // An earlier answer stands: the program at the other end of a connection does not change.
        let _ = self.process.set(process);
    }

    /// Whether both are connections of one program or, while it is not known, of one address.
    fn is_of_the_program_of(&self, other: &Client) -> bool {
        let pid = |client: &Client| client.process().map(|process| process.pid);
        self.peer.ip() == other.peer.ip() && pid(self) == pid(other)
    }

    /// The run of the window whose connection it is.
    #[must_use]
    pub fn run(&self) -> Option<RunMark> {
        self.run.get().copied()
    }

    /// It is a connection of a run.
    pub fn belongs_to(&self, mark: RunMark) {
        // Said once, before the connection is served.
        let _ = self.run.set(mark);
    }

    /// Its connection has ended.
    pub fn leaves(&self) {
        self.has_left.store(true, Ordering::Relaxed);
    }

    /// Whether its connection is open, or was until some milliseconds ago.
    #[must_use]
    pub fn is_there(&self) -> bool {
        !self.has_left.load(Ordering::Relaxed)
    }

    /// `node #3`, or the address while the program is not known.
    #[must_use]
    pub fn label(&self) -> String {
        match self.process() {
            Some(process) => format!("{} #{}", process.name, self.conn.0),
            None => format!("{} #{}", self.peer, self.conn.0),
        }
    }
}

/// An open connection.
#[derive(Clone, Debug)]
pub struct ConnInfo {
    /// Who.
    pub client: Arc<Client>,
    /// Frames that came.
    pub commands: u64,
    /// Frames that came per second.
    pub commands_rate: Rate,
    /// Of them, adds (a batch counts as one).
    pub adds: u64,
    /// Of them, asks for jobs.
    pub pulls: u64,
    /// Name of the last command.
    pub last_cmd: Option<Cow<'static, str>>,
    /// When it came.
    pub last_at: Option<Timestamp>,
    /// Frames that were answered with an error.
    pub errors: u64,
    /// The queue whose events it gets.
    pub subscribed: Option<Arc<str>>,
}

/// What one message brought.
#[derive(Debug, Default)]
pub(crate) struct FrameTally {
    /// Frames.
    pub frames: u64,
    /// Of them, adds.
    pub adds: u64,
    /// Of them, asks for jobs.
    pub pulls: u64,
    /// Of them, answers to deliveries.
    pub acks: u64,
    /// Of them, frames that never reached the engine.
    pub errors: u64,
    /// Name of the last one.
    pub last_cmd: Option<Cow<'static, str>>,
}

impl FrameTally {
    /// One more command.
    pub(crate) fn count(&mut self, command: &Command) {
        self.adds += u64::from(command.is_add());
        self.pulls += u64::from(matches!(command, Command::Pull(_)));
        self.acks += u64::from(matches!(command, Command::Ack(_) | Command::AckBulk { .. } | Command::Fail(_)));
    }

    /// What it says about how long clients wait.
    pub(crate) fn timed(&self, read_at: Instant) -> Timed {
        Timed { read_at, adds: self.adds, pulls: self.pulls, acks: self.acks }
    }
}

/// Something a client's author should know of.
#[derive(Clone, Debug)]
pub struct ProblemEntry {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub client: Arc<Client>,
    /// What.
    pub problem: Problem,
}

/// All open connections, and the last problems.
#[derive(Debug, Default)]
pub struct ConnTable {
    conns: BTreeMap<ConnId, ConnInfo>,
    problems: VecDeque<ProblemEntry>,
    /// Clients that left in this turn: the adds they made in it are still to be recorded.
    just_gone: Vec<Arc<Client>>,
    connected_ever: u64,
    newest: Option<Arc<Client>>,
}

impl ConnTable {
    /// Open connections, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = &ConnInfo> {
        self.conns.values()
    }

    /// An open connection.
    #[must_use]
    pub fn get(&self, conn: ConnId) -> Option<&ConnInfo> {
        self.conns.get(&conn)
    }

    /// How many are open.
    #[must_use]
    pub fn len(&self) -> usize {
        self.conns.len()
    }

    /// Whether none is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.conns.is_empty()
    }

    /// How many there have been since the start.
    #[must_use]
    pub fn connected_ever(&self) -> u64 {
        self.connected_ever
    }

    /// Who connected last, whether or not it is still there.
    #[must_use]
    pub fn newest(&self) -> Option<&Arc<Client>> {
        self.newest.as_ref()
    }

    /// The last problems, newest first.
    pub fn problems(&self) -> impl Iterator<Item = &ProblemEntry> {
        self.problems.iter().rev()
    }

    /// The history of a table whose connections have all been closed.
    pub(crate) fn take_over(&mut self, before: ConnTable) {
        self.problems = before.problems;
        self.connected_ever = before.connected_ever;
        self.newest = before.newest;
    }

    pub(crate) fn connect(&mut self, client: Arc<Client>) {
        self.connected_ever += 1;
        self.newest = Some(Arc::clone(&client));
        let info = ConnInfo {
            client: Arc::clone(&client),
            commands: 0,
            commands_rate: Rate::default(),
            adds: 0,
            pulls: 0,
            last_cmd: None,
            last_at: None,
            errors: 0,
            subscribed: None,
        };
        self.conns.insert(client.conn, info);
    }

    /// False when it was gone already.
    pub(crate) fn disconnect(&mut self, conn: ConnId) -> bool {
        let Some(info) = self.conns.remove(&conn) else { return false };
        self.just_gone.push(info.client);
        true
    }

    /// A client that is connected, or was until a moment ago.
    pub(crate) fn client(&self, conn: ConnId) -> Option<Arc<Client>> {
        let open = self.conns.get(&conn).map(|info| &info.client);
        let gone = || self.just_gone.iter().find(|client| client.conn == conn);
        open.or_else(gone).map(Arc::clone)
    }

    /// Nothing asks for those that are gone any more.
    pub(crate) fn forget_gone(&mut self) {
        self.just_gone.clear();
    }

    pub(crate) fn frames(&mut self, conn: ConnId, now: Timestamp, tally: FrameTally) {
        let Some(info) = self.conns.get_mut(&conn) else { return };
        info.commands += tally.frames;
        info.commands_rate.add(now, tally.frames);
        info.adds += tally.adds;
        info.pulls += tally.pulls;
        info.errors += tally.errors;
        info.last_at = Some(now);
        info.last_cmd = tally.last_cmd.map(shortened);
    }

    pub(crate) fn error(&mut self, conn: ConnId) {
        if let Some(info) = self.conns.get_mut(&conn) {
            info.errors += 1;
        }
    }

    pub(crate) fn subscribe(&mut self, conn: ConnId, queue: Option<Arc<str>>) {
        if let Some(info) = self.conns.get_mut(&conn) {
            info.subscribed = queue;
        }
    }

    /// The subscription of `conn` ends because its client is too slow.
    pub(crate) fn slow_subscriber(&mut self, now: Timestamp, conn: ConnId, queue: &str) {
        self.subscribe(conn, None);
        let Some(client) = self.client(conn) else { return };
        let text = format!(
            "Too many events of queue {queue} wait for this client; its connection is closed once it has read them. It has \
             to read faster than events are made."
        );
        tracing::warn!(conn = conn.0, "{text}");
        self.problem(now, client, Problem { label: "slow subscriber", text, bytes: Vec::new() });
    }

    pub(crate) fn problem(&mut self, now: Timestamp, client: Arc<Client>, mut problem: Problem) {
        problem.text = shortened(problem.text.into()).into_owned();
        let is_own = |entry: &ProblemEntry| entry.client.is_of_the_program_of(&client);
        let own = self.problems.iter().filter(|entry| is_own(entry)).count();
        if own >= PROBLEMS_OF_ONE_MAX {
            let oldest = self.problems.iter().position(is_own).expect("there are some");
            self.problems.remove(oldest);
        } else if self.problems.len() == PROBLEMS_MAX {
            self.problems.pop_front();
        }
        self.problems.push_back(ProblemEntry { at: now, client, problem });
    }
}

/// At most [`SHOWN_TEXT_BYTES_MAX`] of a text, cut between two characters.
pub(crate) fn shortened(text: Cow<'static, str>) -> Cow<'static, str> {
    if text.len() <= SHOWN_TEXT_BYTES_MAX {
        return text;
    }
    let end = text.floor_char_boundary(SHOWN_TEXT_BYTES_MAX);
    Cow::Owned(format!("{}…", &text[..end]))
}

#[cfg(test)]
#[path = "conn_table_tests.rs"]
mod conn_table_tests;
