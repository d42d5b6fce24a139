//! `onceover-turns WORKLOAD OPERATIONS`: a fixed number of operations through the core, for instruction counts and profiles.
//!
//! Jobs and keys that the workload needs are made before; callgrind counts them too unless it is told to collect only
//! inside `drive`.

use anyhow::{Context, Result};
use onceover_bench::server::Data;
use onceover_bench::turns::{Turns, drive};
use onceover_bench::work::{Flavour, Kind, Work};
use onceover_bench::workload::{Before, WORKLOADS};

/// As many as ask at once with four connections of 32.
const SLOTS: usize = 128;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let name = args.next().context("the first argument is a workload")?;
    let operations: u64 = args.next().context("the second argument is a number of operations")?.parse()?;
    let workload = WORKLOADS.iter().find(|workload| workload.name == name).context("no such workload")?;
    let data = Data::new()?;
    let mut turns = Turns::new(data.path())?;
    let known = match workload.before {
        Before::Nothing => Vec::new(),
        Before::Adds(flavour, many) => fill(&mut turns, flavour, many, workload.payload_bytes)?,
        Before::Backlog => fill(&mut turns, Flavour::Plain, operations, workload.payload_bytes)?,
    };
    measured(&mut turns, workload.kind, operations, workload.payload_bytes, known)
}

fn fill(turns: &mut Turns, flavour: Flavour, many: u64, payload_bytes: usize) -> Result<Vec<Vec<u8>>> {
    let mut work = Work::new(Kind::PushBulk(flavour, 500), 1, payload_bytes);
    work.left = many;
    drive(turns, &mut work, 1)?;
    Ok(work.known)
}

#[inline(never)]
fn measured(turns: &mut Turns, kind: Kind, operations: u64, payload_bytes: usize, known: Vec<Vec<u8>>) -> Result<()> {
    let mut work = Work::new(kind, SLOTS, payload_bytes);
    (work.left, work.known) = (operations, known);
    let done = drive(turns, &mut work, SLOTS)?;
    println!("{done}");
    Ok(())
}
