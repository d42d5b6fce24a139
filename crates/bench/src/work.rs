//! What a workload asks, slot by slot.

use crate::frame::{Answer, id, request, text};
use crate::load::Traffic;
use anyhow::{Context, Result, bail};
use bytes::BytesMut;
use onceover_wire::msgpack::write::{self, MapWriter};

/// The queue of everything that does not name another.
pub const QUEUE: &str = "bench";
/// How long a consumer waits for a job, in ms.
const PULL_TIMEOUT: i64 = 100;
/// Longer than any measurement, in ms.
const LATER: i64 = 3_600_000;
/// Names of a worker's leases.
const OWNER: &str = "bench-worker";

/// A kind of add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// Nothing but a payload.
    Plain,
    /// Safe against a power cut when it is answered.
    Durable,
    /// With one of ten priorities.
    Priority,
    /// Not ready for an hour.
    Delayed,
    /// With one of so many job ids; none = each its own.
    JobId(Option<u64>),
    /// With one of so many deduplication keys; none = each its own.
    Key(Option<u64>, Strategy),
}

/// What becomes of an add whose key is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// It is absorbed.
    Keep,
    /// The window begins anew.
    Extend,
    /// It takes the place of the owner.
    Replace,
}

/// What a slot does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One add after the other.
    Push(Flavour),
    /// Batches of so many adds; an operation is one add.
    PushBulk(Flavour, u64),
    /// Takes a job, acknowledges it.
    PullAck,
    /// The same in batches; an operation is one job.
    PullAckBulk(u64),
    /// The first half of the slots adds, the other takes and acknowledges; an operation is a job that went all the way.
    EndToEnd,
    /// Of ten slots four add, two repeat a key, three take and acknowledge, one asks for the counts.
    Mixed,
    /// GetJobCounts.
    Counts,
    /// A page of 50 jobs.
    Page {
        /// So many are skipped.
        offset: u64,
    },
    /// One job after the other of those that were added first.
    GetJob,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Add(Flavour),
    AddMany(Flavour, u64),
    Take,
    TakeMany(u64),
    Counts,
    Page(u64),
    GetJob,
}

/// The traffic of a workload.
pub struct Work {
    kind: Kind,
    payload: Vec<u8>,
    /// For each slot, jobs that it has taken and not acknowledged: id and lease.
    held: Vec<Vec<(Vec<u8>, Vec<u8>)>>,
    roles: Vec<Role>,
    /// Adds that were asked for.
    pub added: u64,
    /// Adds and acknowledgements that were answered with `ok`.
    pub acked: u64,
    /// The queue.
    pub queue: &'static str,
    /// How many operations may still be begun.
    pub left: u64,
    /// Ids to ask for.
    pub known: Vec<Vec<u8>>,
    asked: usize,
}

impl Work {
    /// Traffic for so many slots with payloads of so many bytes.
    #[must_use]
    pub fn new(kind: Kind, slots: usize, payload_bytes: usize) -> Work {
        let roles: Vec<Role> = (0..slots).map(|slot| role(kind, slot, slots)).collect();
        let payload = vec![b'x'; payload_bytes];
        let held = vec![Vec::new(); slots];
        Work {
            queue: QUEUE,
            kind,
            payload,
            held,
            roles,
            added: 0,
            acked: 0,
            left: u64::MAX,
            known: Vec::new(),
            asked: 0,
        }
    }

    fn add_fields(&mut self, map: &mut MapWriter<'_>, flavour: Flavour, bulk: bool) {
        let number = self.added;
        self.added += 1;
        map.str("name", "task");
        data(map.key("data"), number, &self.payload);
        match flavour {
            Flavour::Plain => {}
            Flavour::Durable => map.bool("durable", true),
            Flavour::Priority => map.int("priority", (number % 10) as i64),
            Flavour::Delayed => map.int("delay", LATER),
            Flavour::JobId(of) => {
                let id = format!("order-{}", of.map_or(number, |of| number % of));
                map.str(if bulk { "customId" } else { "jobId" }, &id);
            }
            Flavour::Key(of, strategy) => {
                map.str("uniqueKey", &format!("user-{}", of.map_or(number, |of| number % of)));
                let mut dedup = map.map("dedup");
                dedup.int("ttl", LATER);
                match strategy {
                    Strategy::Keep => {}
                    Strategy::Extend => dedup.bool("extend", true),
                    Strategy::Replace => dedup.bool("replace", true),
                }
            }
        }
    }

    fn add_many(&mut self, out: &mut BytesMut, slot: usize, flavour: Flavour, count: u64) {
        request(out, slot, "PUSHB", |map| {
            map.str("queue", self.queue);
            map.list("jobs", 0..count as usize, |out, _| self.add_fields(&mut MapWriter::begin(out), flavour, true));
        });
    }

    /// Acknowledges what the slot holds.
    fn acknowledge(&mut self, slot: usize, out: &mut BytesMut, many: bool) {
        let held = &self.held[slot];
        if !many {
            let (id, token) = &held[0];
            return request(out, slot, "ACK", |map| {
                write::str_bytes(map.key("id"), id);
                write::str_bytes(map.key("token"), token);
            });
        }
        request(out, slot, "ACKB", |map| {
            map.list("ids", held.iter(), |out, (id, _)| write::str_bytes(out, id));
            map.list("tokens", held.iter(), |out, (_, token)| write::str_bytes(out, token));
        });
    }

    fn pull(&self, slot: usize, out: &mut BytesMut, many: Option<u64>) {
        let waits = matches!(self.kind, Kind::EndToEnd | Kind::Mixed);
        request(out, slot, if many.is_some() { "PULLB" } else { "PULL" }, |map| {
            map.str("queue", self.queue);
            map.str("owner", OWNER);
            if let Some(count) = many {
                map.int("count", count as i64);
            }
            if waits {
                map.int("timeout", PULL_TIMEOUT);
            }
        });
    }

    fn pulled(&mut self, answer: &Answer<'_>) -> Result<()> {
        let held = &mut self.held[answer.slot];
        if let (Some(ids), Some(tokens)) = (answer.jobs, answer.tokens) {
            for (job, token) in ids.iter().zip(tokens.iter()) {
                let pair = id(job).zip(text(token)).context("a pulled job without an id or a token")?;
                held.push((pair.0.to_vec(), pair.1.to_vec()));
            }
        } else if let (Some(id), Some(token)) = (answer.job, answer.token) {
            held.push((id.to_vec(), token.to_vec()));
        }
        if held.is_empty() && !matches!(self.kind, Kind::EndToEnd | Kind::Mixed) {
            bail!("the queue ran empty though {} jobs were to be left", self.left);
        }
        Ok(())
    }
}

impl Traffic for Work {
    fn ask(&mut self, slot: usize, out: &mut BytesMut) -> bool {
        let role = self.roles[slot];
        if let (Role::Take | Role::TakeMany(_), false) = (role, self.held[slot].is_empty()) {
            self.acknowledge(slot, out, role != Role::Take);
            return true;
        }
        let begins = match role {
            Role::AddMany(_, count) | Role::TakeMany(count) => count.min(self.left),
            Role::Add(_) | Role::Take | Role::Counts | Role::Page(_) | Role::GetJob => self.left.min(1),
        };
        if begins == 0 {
            return false;
        }
        self.left -= begins;
        match role {
            Role::Add(flavour) => request(out, slot, "PUSH", |map| {
                map.str("queue", self.queue);
                self.add_fields(map, flavour, false);
            }),
            Role::AddMany(flavour, _) => self.add_many(out, slot, flavour, begins),
            Role::Take => self.pull(slot, out, None),
            Role::TakeMany(_) => self.pull(slot, out, Some(begins)),
            Role::Counts => request(out, slot, "GetJobCounts", |map| map.str("queue", self.queue)),
            Role::Page(offset) => request(out, slot, "GetJobs", |map| {
                map.str("queue", self.queue);
                map.int("offset", offset as i64);
                map.int("limit", 50);
            }),
            Role::GetJob => {
                let id = &self.known[self.asked % self.known.len()];
                self.asked += 1;
                request(out, slot, "GetJob", |map| write::str_bytes(map.key("id"), id));
            }
        }
        true
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Result<u32> {
        let done = match self.roles[answer.slot] {
            Role::Add(_) => 1,
            Role::AddMany(..) => {
                let ids = answer.ids.context("a batch was answered without ids")?;
                if self.kind == Kind::GetJob || self.known.len() < 1_000 {
                    self.known.extend(ids.iter().filter_map(text).map(<[u8]>::to_vec));
                }
                ids.len() as u32
            }
            Role::Take | Role::TakeMany(_) if self.held[answer.slot].is_empty() => {
                self.pulled(answer)?;
                return Ok(0);
            }
            Role::Take | Role::TakeMany(_) => {
                let acked = self.held[answer.slot].len() as u32;
                self.held[answer.slot].clear();
                acked
            }
            Role::Counts => {
                answer.waiting.context("no counts in an answer")?;
                1
            }
            Role::Page(_) => {
                let listed = answer.jobs.context("no jobs in a page")?.len();
                if listed != 50 {
                    bail!("a page of 50 jobs had {listed}");
                }
                1
            }
            Role::GetJob => {
                answer.job.context("no job in an answer")?;
                1
            }
        };
        self.acked += u64::from(done);
        // What went only half the way is no operation of this workload.
        let counts = self.kind != Kind::EndToEnd || self.roles[answer.slot] == Role::Take;
        Ok(if counts { done } else { 0 })
    }
}

fn role(kind: Kind, slot: usize, slots: usize) -> Role {
    let repeat = Flavour::Key(Some(100), Strategy::Keep);
    match kind {
        Kind::Push(flavour) => Role::Add(flavour),
        Kind::PushBulk(flavour, count) => Role::AddMany(flavour, count),
        Kind::PullAck => Role::Take,
        Kind::PullAckBulk(count) => Role::TakeMany(count),
        Kind::EndToEnd if slot < slots / 2 => Role::Add(Flavour::Plain),
        Kind::EndToEnd => Role::Take,
        Kind::Mixed => match slot % 10 {
            0..=3 => Role::Add(Flavour::Plain),
            4..=5 => Role::Add(repeat),
            6..=8 => Role::Take,
            _ => Role::Counts,
        },
        Kind::Counts => Role::Counts,
        Kind::Page { offset } => Role::Page(offset),
        Kind::GetJob => Role::GetJob,
    }
}

/// `{n, pad}`, the pad as long as the payload is to be.
pub fn data(out: &mut BytesMut, number: u64, pad: &[u8]) {
    write::map(out, 2);
    write::str(out, "n");
    write::int(out, number as i64);
    write::str(out, "pad");
    write::str_bytes(out, pad);
}
