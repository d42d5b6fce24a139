//! What a broker holds: memory per job and per key, the time of a start, what it costs when nothing happens.

use crate::figures::{Table, time};
use crate::measure::fill;
use crate::server::{Data, Server, Target};
use crate::work::{Flavour, QUEUE, Strategy};
use anyhow::{Context, Result};
use std::time::Duration;

/// Bytes of each payload.
const PAYLOAD_BYTES: usize = 100;
/// How long nothing happens.
const IDLE: Duration = Duration::from_secs(10);
/// Time for timers and the file to come to rest before memory is read.
const REST: Duration = Duration::from_secs(2);

/// Fills brokers with `many` jobs, then with `many` keys.
///
/// # Errors
/// A broker fails, or runs elsewhere.
pub fn scale(brokers: &[(String, Target)], many: u64) -> Result<Table> {
    let names: Vec<&str> = std::iter::once("").chain(brokers.iter().map(|(name, _)| name.as_str())).collect();
    let mut table = Table::new(&names);
    let columns = brokers.iter().map(|(_, target)| figures(target, many)).collect::<Result<Vec<_>>>()?;
    for row in 0..columns[0].len() {
        let cells = columns.iter().map(|column| column[row].1.clone());
        table.row(std::iter::once(columns[0][row].0.clone()).chain(cells).collect());
    }
    Ok(table)
}

fn figures(target: &Target, many: u64) -> Result<Vec<(String, String)>> {
    let mut figures = Vec::new();
    let mut note = |name: &str, figure: String| {
        eprintln!("{name}: {figure}");
        figures.push((name.to_owned(), figure));
    };
    let empty = {
        let data = Data::new()?;
        let server = Server::start(target, &data)?;
        note("start, empty", time(server.started_in.as_secs_f64() * 1e6));
        std::thread::sleep(REST);
        let before = cpu(&server)?;
        std::thread::sleep(IDLE);
        let share = (cpu(&server)? - before).as_secs_f64() / IDLE.as_secs_f64();
        note("processor when idle", format!("{:.1} %", share * 100.0));
        let empty = rss(&server)?;
        note("memory, empty", mib(empty));
        server.stop()?;
        empty
    };
    let kinds = [("jobs", Flavour::Plain), ("jobs with a key of their own", Flavour::Key(None, Strategy::Keep))];
    for (name, flavour) in kinds {
        let data = Data::new()?;
        let server = Server::start(target, &data)?;
        fill(&server, QUEUE, flavour, many, PAYLOAD_BYTES)?;
        std::thread::sleep(REST);
        let full = rss(&server)?;
        note(&format!("memory, {many} {name}"), per_job(full, empty, many));
        server.stop()?;
        note(&format!("disk, {many} {name}"), per_job(data.bytes()?, 0, many));
        let server = Server::start(target, &data)?;
        note(&format!("start with {many} {name}"), time(server.started_in.as_secs_f64() * 1e6));
        note(&format!("memory after it, {many} {name}"), per_job(rss(&server)?, empty, many));
        server.stop()?;
    }
    Ok(figures)
}

fn per_job(bytes: u64, empty: u64, many: u64) -> String {
    format!("{}, {} bytes each", mib(bytes), bytes.saturating_sub(empty) / many.max(1))
}

fn mib(bytes: u64) -> String {
    format!("{:.0} MiB", bytes as f64 / 1_048_576.0)
}

fn cpu(server: &Server) -> Result<Duration> {
    server.cpu().context(NOT_HERE)
}

fn rss(server: &Server) -> Result<u64> {
    server.rss().context(NOT_HERE)
}

const NOT_HERE: &str = "memory and processor time can only be read of a broker that is started here, on Linux";
