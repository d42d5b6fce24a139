//! The workloads by name, with the goal of each: how many times as fast as bunqueue 2.9.5 in the same run.

use crate::load::Shape;
use crate::work::{Flavour, Kind, Strategy};

/// Something to measure.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Its name.
    pub name: &'static str,
    /// What is asked.
    pub kind: Kind,
    /// How many ask.
    pub shape: Shape,
    /// Bytes of each payload, without some 10 around them.
    pub payload_bytes: usize,
    /// What is there before.
    pub before: Before,
    /// Operations per second, ours by bunqueue's: at least this.
    pub goal: f64,
}

/// What is there before the clock starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Nothing.
    Nothing,
    /// So many adds of a kind.
    Adds(Flavour, u64),
    /// More jobs than can be taken while the clock runs.
    Backlog,
}

const SEQUENTIAL: Shape = Shape { conns: 1, window: 1 };
const CONCURRENT: Shape = Shape { conns: 8, window: 1 };
const PIPELINED: Shape = Shape { conns: 4, window: 32 };
const BATCHES: Shape = Shape { conns: 4, window: 1 };
const LIST: Before = Before::Adds(Flavour::Plain, 100_000);

const fn workload(name: &'static str, kind: Kind, shape: Shape, before: Before, goal: f64) -> Workload {
    Workload { name, kind, shape, payload_bytes: 100, before, goal }
}

const fn push(name: &'static str, flavour: Flavour, shape: Shape, goal: f64) -> Workload {
    workload(name, Kind::Push(flavour), shape, Before::Nothing, goal)
}

/// Adds all of which meet a job or a key that is there already.
const fn repeat(name: &'static str, flavour: Flavour, many: u64, goal: f64) -> Workload {
    workload(name, Kind::Push(flavour), PIPELINED, Before::Adds(flavour, many), goal)
}

/// All of them, in the order of the table.
pub const WORKLOADS: &[Workload] = &[
    push("push_seq", Flavour::Plain, SEQUENTIAL, 1.6),
    push("push_conc", Flavour::Plain, CONCURRENT, 4.0),
    push("push_pipe", Flavour::Plain, PIPELINED, 20.0),
    workload("pushb_100", Kind::PushBulk(Flavour::Plain, 100), BATCHES, Before::Nothing, 5.0),
    workload("pushb_1000", Kind::PushBulk(Flavour::Plain, 1_000), BATCHES, Before::Nothing, 5.0),
    push("durable_pipe", Flavour::Durable, PIPELINED, 12.0),
    Workload { payload_bytes: 16 * 1024, ..push("push_16k", Flavour::Plain, PIPELINED, 2.5) },
    push("push_prio", Flavour::Priority, PIPELINED, 15.0),
    push("push_delayed", Flavour::Delayed, PIPELINED, 15.0),
    push("jobid_unique", Flavour::JobId(None), PIPELINED, 15.0),
    repeat("jobid_dup", Flavour::JobId(Some(100)), 100, 6.0),
    push("dedup_unique", Flavour::Key(None, Strategy::Keep), PIPELINED, 15.0),
    repeat("dedup_dup", Flavour::Key(Some(100), Strategy::Keep), 100, 50.0),
    repeat("dedup_dup_100k", Flavour::Key(Some(100_000), Strategy::Keep), 100_000, 40.0),
    repeat("dedup_extend", Flavour::Key(Some(100), Strategy::Extend), 100, 4.0),
    repeat("dedup_replace", Flavour::Key(Some(100), Strategy::Replace), 100, 15.0),
    workload("pull_ack_seq", Kind::PullAck, SEQUENTIAL, Before::Backlog, 4.0),
    workload("pull_ack_pipe", Kind::PullAck, PIPELINED, Before::Backlog, 30.0),
    workload("pullb_ackb_100", Kind::PullAckBulk(100), BATCHES, Before::Backlog, 20.0),
    workload("e2e_max", Kind::EndToEnd, PIPELINED, Before::Nothing, 20.0),
    workload("mixed", Kind::Mixed, PIPELINED, Before::Adds(Flavour::Key(Some(100), Strategy::Keep), 100), 15.0),
    workload("counts", Kind::Counts, BATCHES, LIST, 50.0),
    workload("list_page", Kind::Page { offset: 0 }, BATCHES, LIST, 5.0),
    workload("deep_page", Kind::Page { offset: 90_000 }, BATCHES, LIST, 100.0),
    workload("getjob", Kind::GetJob, BATCHES, LIST, 2.0),
];
