//! One workload on one fresh broker.

use crate::frame::{Answer, request};
use crate::load::{Lines, Outcome, Shape, Traffic};
use crate::server::{Data, Server, Target};
use crate::work::{Flavour, Kind, QUEUE, Work};
use crate::workload::{Before, Workload};
use anyhow::{Context, Result, bail};
use bytes::BytesMut;
use std::time::Duration;

const FILL: Shape = Shape { conns: 2, window: 2 };
const FILL_BATCH: u64 = 500;
/// Jobs of the first look at how fast jobs are taken.
const PROBE: u64 = 3_000;
/// Time for what has to be done whole.
pub const ENOUGH: Duration = Duration::from_secs(3_600);
/// More than any broker takes in one measurement.
const BACKLOG_MAX: u64 = 1_000_000;

/// What came of a round.
#[derive(Debug)]
pub struct Round {
    /// What was measured.
    pub outcome: Outcome,
    /// Processor time of the broker while the clock ran.
    pub cpu: Option<Duration>,
}

impl Round {
    /// Operations per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.outcome.operations as f64 / self.outcome.seconds.max(1e-9)
    }

    /// Processor time of the broker per operation, in microseconds.
    #[must_use]
    pub fn cpu_us(&self) -> Option<f64> {
        Some(self.cpu?.as_secs_f64() * 1e6 / self.outcome.operations.max(1) as f64)
    }
}

/// Jobs that are enough for a measurement of `time`, from a short one; 0 for a workload that takes none.
///
/// # Errors
/// As `measure`.
pub fn backlog(target: &Target, workload: &Workload, time: Duration) -> Result<u64> {
    if workload.before != Before::Backlog {
        return Ok(0);
    }
    let rate = measure(target, workload, PROBE, time)?.rate();
    Ok(((rate * time.as_secs_f64() * 1.5) as u64 + PROBE).min(BACKLOG_MAX))
}

/// Starts a broker, prepares it, measures.
///
/// # Errors
/// The broker fails, or an answer is not what it should be.
pub fn measure(target: &Target, workload: &Workload, backlog: u64, time: Duration) -> Result<Round> {
    let data = Data::new()?;
    let server = Server::start(target, &data)?;
    let mut work = Work::new(workload.kind, workload.shape.conns * workload.shape.window, workload.payload_bytes);
    match workload.before {
        Before::Nothing => {}
        Before::Adds(flavour, many) => work.known = fill(&server, QUEUE, flavour, many, workload.payload_bytes)?,
        Before::Backlog => {
            fill(&server, QUEUE, Flavour::Plain, backlog, workload.payload_bytes)?;
            work.left = backlog;
        }
    }
    let mut lines = Lines::connect(server.address, workload.shape)?;
    let before = server.cpu();
    let outcome = lines.drive(&mut work, time).with_context(|| format!("{}: {target:?}", workload.name))?;
    let cpu = server.cpu().zip(before).map(|(after, before)| after - before);
    if outcome.operations == 0 {
        bail!("{}: nothing was done", workload.name);
    }
    prove(&server, workload, &work)?;
    if let Target::Address(_) = target {
        obliterate(&server)?;
    }
    server.stop()?;
    Ok(Round { outcome, cpu })
}

/// Adds so many jobs. Returns some of their ids.
///
/// # Errors
/// As `measure`.
pub fn fill(
    server: &Server,
    queue: &'static str,
    flavour: Flavour,
    many: u64,
    payload_bytes: usize,
) -> Result<Vec<Vec<u8>>> {
    let kind = Kind::PushBulk(flavour, FILL_BATCH);
    let mut work = Work::new(kind, FILL.conns * FILL.window, payload_bytes);
    (work.queue, work.left) = (queue, many);
    Lines::connect(server.address, FILL)?.drive(&mut work, ENOUGH)?;
    if work.acked != many {
        bail!("{} of {many} jobs were added", work.acked);
    }
    Ok(work.known)
}

/// What was acknowledged is there.
fn prove(server: &Server, workload: &Workload, work: &Work) -> Result<()> {
    let (Kind::Push(Flavour::Plain | Flavour::Durable) | Kind::PushBulk(Flavour::Plain, _)) = workload.kind else {
        return Ok(());
    };
    let waiting = once(server, "GetJobCounts")?.waiting;
    if waiting != Some(work.acked) {
        bail!("{}: {} adds were answered with ok, {waiting:?} jobs wait", workload.name, work.acked);
    }
    Ok(())
}

fn obliterate(server: &Server) -> Result<()> {
    once(server, "Obliterate").map(drop)
}

/// The figures of an answer to one command about the queue.
struct Told {
    waiting: Option<u64>,
}

struct Once {
    cmd: &'static str,
    asked: bool,
    told: Told,
}

impl Traffic for Once {
    fn ask(&mut self, slot: usize, out: &mut BytesMut) -> bool {
        if std::mem::replace(&mut self.asked, true) {
            return false;
        }
        request(out, slot, self.cmd, |map| map.str("queue", QUEUE));
        true
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Result<u32> {
        self.told.waiting = answer.waiting;
        Ok(1)
    }
}

fn once(server: &Server, cmd: &'static str) -> Result<Told> {
    let mut once = Once { cmd, asked: false, told: Told { waiting: None } };
    Lines::connect(server.address, Shape { conns: 1, window: 1 })?.drive(&mut once, ENOUGH)?;
    Ok(once.told)
}
