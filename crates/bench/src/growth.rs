//! What an operation costs as the broker fills: it must not grow with what is there.
//!
//! The quickest of some short rounds is compared, which other programs on the machine disturb least. What lists and the
//! window's views cost is measured by `tests/budget/growth.py`, which knows the window's door.

use crate::figures::{Table, time};
use crate::load::{Lines, Shape};
use crate::measure::{ENOUGH, fill};
use crate::server::{Data, Server, Target};
use crate::work::{Flavour, Kind, QUEUE, Strategy, Work};
use anyhow::Result;

/// The cost at the largest size may be this many times that at the smallest: what a processor pays when what it needs is
/// not in its cache any more.
const RATIO_MAX: f64 = 1.5;
const ROUNDS: usize = 9;
const OPERATIONS: u64 = 1_000;
const SHAPE: Shape = Shape { conns: 2, window: 16 };
const PAYLOAD_BYTES: usize = 100;

/// Jobs with keys wait in a queue of their own, from which nothing is taken: their keys stay held.
const KEYED: &str = "bench-keys";

/// Every round adds as much as it takes, so that the size stays.
const QUESTIONS: [(&str, Kind); 7] = [
    ("add", Kind::Push(Flavour::Plain)),
    ("take and acknowledge", Kind::PullAck),
    ("repeated add", Kind::Push(Flavour::Key(Some(100), Strategy::Keep))),
    ("add that extends", Kind::Push(Flavour::Key(Some(100), Strategy::Extend))),
    ("add that replaces", Kind::Push(Flavour::Key(Some(100), Strategy::Replace))),
    ("GetJobCounts", Kind::Counts),
    ("GetJobs, first page", Kind::Page { offset: 0 }),
];

/// Fills a broker to each size and asks. Returns the table and the names of what grows.
///
/// # Errors
/// The broker fails.
pub fn growth(target: &Target, sizes: &[u64]) -> Result<(Table, Vec<&'static str>)> {
    let data = Data::new()?;
    let server = Server::start(target, &data)?;
    let mut costs = vec![Vec::new(); QUESTIONS.len()];
    let mut have = 0;
    for size in sizes {
        // Every tenth job has a key of its own.
        fill(&server, KEYED, Flavour::Key(None, Strategy::Keep), (size - have) / 10, PAYLOAD_BYTES)?;
        fill(&server, QUEUE, Flavour::Plain, size - have - (size - have) / 10, PAYLOAD_BYTES)?;
        have = *size;
        for _ in 0..ROUNDS {
            for ((_, kind), costs) in QUESTIONS.iter().zip(&mut costs) {
                costs.push((*size, cost_us(&server, *kind)?));
            }
        }
        eprintln!("measured with {size} jobs");
    }
    let heads: Vec<String> = sizes.iter().map(|size| format!("{size} jobs")).collect();
    let heads = std::iter::once("each").chain(heads.iter().map(String::as_str)).chain(["ratio"]);
    let (mut table, mut grown) = (Table::new(&heads.collect::<Vec<_>>()), Vec::new());
    for ((name, _), costs) in QUESTIONS.iter().zip(costs) {
        let at = |size: u64| costs.iter().filter(|(of, _)| *of == size).map(|(_, us)| *us).fold(f64::MAX, f64::min);
        let ratio = at(sizes[sizes.len() - 1]) / at(sizes[0]);
        if ratio > RATIO_MAX {
            grown.push(*name);
        }
        let cells = sizes.iter().map(|size| time(at(*size)));
        table.row(std::iter::once((*name).to_owned()).chain(cells).chain([format!("{ratio:.2}")]).collect());
    }
    server.stop()?;
    Ok((table, grown))
}

fn cost_us(server: &Server, kind: Kind) -> Result<f64> {
    let mut work = Work::new(kind, SHAPE.conns * SHAPE.window, PAYLOAD_BYTES);
    work.left = OPERATIONS;
    if let Kind::Push(Flavour::Key(..)) = kind {
        work.queue = KEYED;
    }
    let outcome = Lines::connect(server.address, SHAPE)?.drive(&mut work, ENOUGH)?;
    Ok(outcome.seconds * 1e6 / outcome.operations as f64)
}
