//! How long adds, deliveries and delays take at a steady, moderate rate: what users feel, not what the broker can bear.
//!
//! Requests leave at their moments whether or not earlier ones were answered, so a broker that stands still cannot hide it.

use crate::figures::{Table, quantile_us, time};
use crate::frame::{Answer, request};
use crate::load::{Lines, Shape, Traffic};
use crate::server::{Data, Server, Target};
use crate::work::{QUEUE, data};
use anyhow::{Context, Result, bail};
use bytes::BytesMut;
use onceover_wire::msgpack::write;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Adds per second.
const RATE: f64 = 500.0;
/// Adds in flight at most. As many as come in an eighth of a second.
const PRODUCERS: usize = 64;
/// Pulls that wait at the same time.
const CONSUMERS: usize = 16;
/// How long each waits, in ms.
const PULL_TIMEOUT: i64 = 2_000;
/// Beside the others: payloads whose writing makes the log be merged into the file about once a second.
const BULKY: (f64, usize) = (250.0, 16 * 1024);
/// For the page to be there and to have shown its first list.
const PAGE_OPENS_IN: Duration = Duration::from_secs(4);

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timed {
    /// From the add to its answer.
    Add,
    /// From the add to its job in the hands of a waiting worker.
    Delivery,
    /// From the moment a delay ends to the job in the hands of a waiting worker.
    Delay,
}

/// What else happens meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    Nothing,
    Page,
    Bulk,
}

const ROWS: [(&str, Timed, Beside); 6] = [
    ("add", Timed::Add, Beside::Nothing),
    ("add, page open", Timed::Add, Beside::Page),
    ("add, beside 250 adds/s of 16 KiB", Timed::Add, Beside::Bulk),
    ("add to delivery", Timed::Delivery, Beside::Nothing),
    ("add to delivery, page open", Timed::Delivery, Beside::Page),
    ("lateness of a delayed job", Timed::Delay, Beside::Nothing),
];

/// Bytes of an add on the wire, about.
const ADD_BYTES: usize = 180;

/// Measures all rows on each broker, in turns, and what the way to a broker and back takes alone. `page` is a browser's program;
/// without one no page is opened.
///
/// # Errors
/// A broker or the browser fails.
pub fn latency(brokers: &[(String, Target)], rounds: usize, lasts: Duration, page: Option<&str>) -> Result<Table> {
    let mut heads = vec!["at 500 adds/s"];
    brokers.iter().for_each(|(name, _)| heads.extend([name.as_str(), "p99", "max"]));
    let mut table = Table::new(&heads);
    for (name, timed, beside) in ROWS {
        let mut cells = vec![name.to_owned()];
        let mut took = vec![Vec::new(); brokers.len()];
        for _ in 0..rounds {
            for (which, (_, target)) in brokers.iter().enumerate() {
                // Only ours has a page of this kind.
                if beside != Beside::Page || (which == 0 && page.is_some()) {
                    took[which].extend(measure(target, timed, beside, lasts, page)?);
                }
            }
        }
        took.iter_mut().for_each(|took| cells.extend(figures(took)));
        eprintln!("{}", cells.join("  "));
        table.row(cells);
    }
    let mut cells = vec!["an echo instead of a broker".to_owned()];
    cells.extend(figures(&mut echo(lasts)?));
    cells.resize(heads.len(), "–".to_owned());
    table.row(cells);
    Ok(table)
}

/// Median, 99th percentile and the longest.
fn figures(took: &mut [u32]) -> [String; 3] {
    [0.5, 0.99, 1.0].map(|share| match took.is_empty() {
        true => "–".to_owned(),
        false => time(quantile_us(took, share)),
    })
}

/// A round trip over loopback at the same rate, between two threads that do nothing else.
fn echo(lasts: Duration) -> Result<Vec<u32>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut client = TcpStream::connect(listener.local_addr()?)?;
    let (mut server, _) = listener.accept()?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let other = std::thread::spawn(move || -> std::io::Result<()> {
        let mut bytes = [0; ADD_BYTES];
        while server.read_exact(&mut bytes).is_ok() {
            server.write_all(&bytes)?;
        }
        Ok(())
    });
    let (began, every) = (Instant::now(), Duration::from_secs_f64(1.0 / RATE));
    let (mut bytes, mut took) = ([0; ADD_BYTES], Vec::new());
    while began.elapsed() < lasts {
        std::thread::sleep(every);
        let asked = Instant::now();
        client.write_all(&bytes)?;
        client.read_exact(&mut bytes)?;
        took.push(u32::try_from(asked.elapsed().as_nanos()).unwrap_or(u32::MAX));
    }
    drop(client);
    other.join().expect("the echo panicked")?;
    Ok(took)
}

fn measure(target: &Target, timed: Timed, beside: Beside, lasts: Duration, page: Option<&str>) -> Result<Vec<u32>> {
    let data = Data::new()?;
    let target = if beside == Beside::Page { target.with_page() } else { target.clone() };
    let server = Server::start(&target, &data)?;
    let _browser = match (beside, page) {
        (Beside::Page, Some(program)) => Some(Browser::open(program, &server.page(&data)?)?),
        _ => None,
    };
    let mut paced = Paced::new(timed, RATE, 100);
    // Producers and consumers have a connection each, so that no answer waits behind another kind's.
    let conns = if timed == Timed::Add { 1 } else { 2 };
    let mut lines = Lines::connect(server.address, Shape { conns, window: PRODUCERS })?;
    let outcome = std::thread::scope(|scope| {
        let bulk = scope.spawn(|| match beside {
            Beside::Bulk => {
                let mut lines = Lines::connect(server.address, Shape { conns: 1, window: PRODUCERS })?;
                lines.drive(&mut Paced::new(Timed::Add, BULKY.0, BULKY.1), lasts).map(drop)
            }
            Beside::Nothing | Beside::Page => Ok(()),
        });
        let outcome = lines.drive(&mut paced, lasts);
        bulk.join().expect("the second load panicked")?;
        outcome
    })?;
    server.stop()?;
    let wanted = (lasts.as_secs_f64() * RATE * 0.8) as u64;
    if paced.added < wanted {
        bail!("only {} of {wanted} adds could be sent in time", paced.added);
    }
    Ok(if timed == Timed::Add { outcome.took_ns } else { paced.took_ns })
}

/// Adds at their moments, and consumers that wait for their jobs.
struct Paced {
    timed: Timed,
    every: Duration,
    pad: Vec<u8>,
    next_at: Instant,
    added: u64,
    /// When each job should be delivered, by its number.
    due: Vec<Instant>,
    /// The job and lease that a consumer holds.
    held: Vec<Option<(Vec<u8>, Vec<u8>)>>,
    took_ns: Vec<u32>,
}

impl Paced {
    fn new(timed: Timed, rate: f64, payload_bytes: usize) -> Paced {
        let every = Duration::from_secs_f64(1.0 / rate);
        let (pad, held) = (vec![b'x'; payload_bytes], vec![None; CONSUMERS]);
        Paced { timed, every, pad, next_at: Instant::now(), added: 0, due: Vec::new(), held, took_ns: Vec::new() }
    }

    fn add(&mut self, slot: usize, out: &mut BytesMut) -> bool {
        let now = Instant::now();
        if now < self.next_at {
            return false;
        }
        self.next_at += self.every;
        let delay = if self.timed == Timed::Delay { 50 + self.added * 37 % 200 } else { 0 };
        request(out, slot, "PUSH", |map| {
            map.str("queue", QUEUE);
            map.str("name", "task");
            data(map.key("data"), self.added, &self.pad);
            if delay > 0 {
                map.int("delay", delay as i64);
            }
        });
        self.added += 1;
        self.due.push(now + Duration::from_millis(delay));
        true
    }

    fn consume(&self, slot: usize, out: &mut BytesMut) -> bool {
        match self.held.get(slot - PRODUCERS) {
            None => return false,
            Some(None) => request(out, slot, "PULL", |map| {
                map.str("queue", QUEUE);
                map.str("owner", "bench-worker");
                map.int("timeout", PULL_TIMEOUT);
            }),
            Some(Some((id, token))) => request(out, slot, "ACK", |map| {
                write::str_bytes(map.key("id"), id);
                write::str_bytes(map.key("token"), token);
            }),
        }
        true
    }
}

impl Traffic for Paced {
    fn ask(&mut self, slot: usize, out: &mut BytesMut) -> bool {
        if slot < PRODUCERS { self.add(slot, out) } else { self.consume(slot, out) }
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Result<u32> {
        let Some(consumer) = answer.slot.checked_sub(PRODUCERS) else { return Ok(1) };
        let pulled = answer.job.zip(answer.token).map(|(id, token)| (id.to_vec(), token.to_vec()));
        if pulled.is_some() {
            let number = answer.number.context("a pulled job without its number")?;
            let late = Instant::now().saturating_duration_since(self.due[number as usize]);
            self.took_ns.push(u32::try_from(late.as_nanos()).unwrap_or(u32::MAX));
        }
        self.held[consumer] = pulled;
        Ok(0)
    }

    fn next_at(&self) -> Option<Instant> {
        Some(self.next_at)
    }
}

/// A browser without a window that shows the page until it is dropped.
struct Browser {
    child: Child,
    /// Its files, which go when it has gone.
    _profile: Data,
}

impl Browser {
    fn open(program: &str, url: &str) -> Result<Browser> {
        let profile = Data::new()?;
        let mut command = Command::new(program);
        command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]);
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg(url);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.with_context(|| format!("cannot start {program}"))?;
        std::thread::sleep(PAGE_OPENS_IN);
        Ok(Browser { child, _profile: profile })
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
