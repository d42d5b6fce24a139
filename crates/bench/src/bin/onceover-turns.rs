//! `onceover-turns WORKLOAD OPERATIONS`: a fixed number of operations through the core, for instruction counts and profiles.
//!
//! Jobs and keys that the workload needs are made before. What belongs to it happens inside `counted`, a name for callgrind:
//! `valgrind --tool=callgrind --toggle-collect=onceover_turns::counted …`.

use anyhow::{Context, Result};
use bytes::BytesMut;
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
    let mut work = Work::new(workload.kind, SLOTS, workload.payload_bytes);
    (work.left, work.known) = (operations, known);
    let done = drive(&mut turns, counted, &mut work, SLOTS)?;
    println!("{done}");
    Ok(())
}

fn fill(turns: &mut Turns, flavour: Flavour, many: u64, payload_bytes: usize) -> Result<Vec<Vec<u8>>> {
    let mut work = Work::new(Kind::PushBulk(flavour, 500), 1, payload_bytes);
    work.left = many;
    drive(turns, Turns::turn, &mut work, 1)?;
    Ok(work.known)
}

#[inline(never)]
fn counted(turns: &mut Turns, requests: &[u8], answers: &mut BytesMut) -> Result<()> {
    turns.turn(requests, answers)
}
