//! The load generator: one thread, a few connections, on each a number of slots that ask one thing after the other.
//!
//! A slot asks, waits for its answer, asks the next. So the requests in flight are bounded by the slots, and a broker that
//! is slower gets fewer. One thread, because the machine's other processor is the broker's.

use crate::frame::Answer;
use anyhow::{Context, Result, bail};
use bytes::{Buf, BytesMut};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How long a broker may be silent while something is in flight.
const SILENCE_MAX: Duration = Duration::from_secs(120);
const READ_BYTES: usize = 256 * 1024;

/// What is asked.
pub trait Traffic {
    /// Appends the next request of a slot; false when the slot has nothing to ask now or any more.
    fn ask(&mut self, slot: usize, out: &mut BytesMut) -> bool;

    /// Takes a good answer. Returns how many operations it ends, 0 for a half of one.
    ///
    /// # Errors
    /// It is not the answer that it should be.
    fn answered(&mut self, answer: &Answer<'_>) -> Result<u32>;

    /// When a slot that had nothing to ask should be asked again.
    fn next_at(&self) -> Option<Instant> {
        None
    }
}

/// Connections and slots on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Connections.
    pub conns: usize,
    /// Requests in flight on each.
    pub window: usize,
}

/// What was measured.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Operations that ended in time, each with good answers.
    pub operations: u64,
    /// From the first request to the end.
    pub seconds: f64,
    /// Of each request, in nanoseconds, in no order.
    pub took_ns: Vec<u32>,
}

struct Line {
    socket: TcpStream,
    out: BytesMut,
    into: BytesMut,
    in_flight: usize,
}

/// The connections of a load.
pub struct Lines {
    lines: Vec<Line>,
    window: usize,
    sent_at: Vec<Instant>,
    busy: Vec<bool>,
    /// Lines with something to read.
    readable: Vec<usize>,
    scratch: Box<[u8]>,
}

impl Lines {
    /// Connects.
    ///
    /// # Errors
    /// Nobody listens.
    pub fn connect(address: SocketAddr, shape: Shape) -> Result<Lines> {
        let lines = (0..shape.conns).map(|_| {
            let socket = TcpStream::connect(address).with_context(|| format!("no broker at {address}"))?;
            socket.set_nodelay(true)?;
            socket.set_nonblocking(true)?;
            Ok(Line { socket, out: BytesMut::new(), into: BytesMut::new(), in_flight: 0 })
        });
        let slots = shape.conns * shape.window;
        let (sent_at, busy) = (vec![Instant::now(); slots], vec![false; slots]);
        let (lines, scratch) = (lines.collect::<Result<_>>()?, vec![0; READ_BYTES].into());
        Ok(Lines { lines, window: shape.window, sent_at, busy, readable: Vec::new(), scratch })
    }

    /// Asks for `time` or until no slot has anything to ask, then waits for what is in flight, which is not counted any more.
    ///
    /// # Errors
    /// An answer is not `ok`, or the broker is gone or silent.
    pub fn drive(&mut self, traffic: &mut impl Traffic, time: Duration) -> Result<Outcome> {
        let (began, mut outcome) = (Instant::now(), Outcome::default());
        let end = began + time;
        (0..self.busy.len()).for_each(|slot| self.ask_idle(traffic, slot));
        self.flush()?;
        loop {
            let now = Instant::now();
            let wake = traffic.next_at();
            if now >= end || (self.is_quiet() && wake.is_none()) {
                outcome.seconds = now.min(end).duration_since(began).as_secs_f64();
                break;
            }
            self.wait(end.min(wake.unwrap_or(end)).saturating_duration_since(now))?;
            self.receive(traffic, &mut outcome, true)?;
            if traffic.next_at().is_some_and(|at| at <= Instant::now()) {
                (0..self.busy.len()).for_each(|slot| self.ask_idle(traffic, slot));
            }
            self.flush()?;
        }
        let mut late = Outcome::default();
        let given_up = Instant::now() + SILENCE_MAX;
        while !self.is_quiet() {
            if Instant::now() > given_up {
                bail!("no answer for {} s", SILENCE_MAX.as_secs());
            }
            self.wait(Duration::from_secs(1))?;
            self.receive(traffic, &mut late, false)?;
            self.flush()?;
        }
        Ok(outcome)
    }

    fn is_quiet(&self) -> bool {
        self.lines.iter().all(|line| line.in_flight == 0)
    }

    fn ask_idle(&mut self, traffic: &mut impl Traffic, slot: usize) {
        if !self.busy[slot] {
            self.ask(traffic, slot);
        }
    }

    fn ask(&mut self, traffic: &mut impl Traffic, slot: usize) {
        let line = &mut self.lines[slot / self.window];
        if traffic.ask(slot, &mut line.out) {
            line.in_flight += 1;
            self.busy[slot] = true;
            self.sent_at[slot] = Instant::now();
        }
    }

    fn wait(&mut self, longest: Duration) -> Result<()> {
        let flags = |line: &Line| match line.out.is_empty() {
            true => PollFlags::IN,
            false => PollFlags::IN | PollFlags::OUT,
        };
        let mut fds: Vec<PollFd<'_>> = self.lines.iter().map(|line| PollFd::new(&line.socket, flags(line))).collect();
        let longest = Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: i64::from(longest.subsec_nanos()) };
        match poll(&mut fds, Some(&longest)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        self.readable.clear();
        let told = |fd: &PollFd<'_>| !(fd.revents() & !PollFlags::OUT).is_empty();
        self.readable.extend(fds.iter().enumerate().filter(|(_, fd)| told(fd)).map(|(number, _)| number));
        Ok(())
    }

    fn receive(&mut self, traffic: &mut impl Traffic, outcome: &mut Outcome, go_on: bool) -> Result<()> {
        for number in std::mem::take(&mut self.readable) {
            let line = &mut self.lines[number];
            match line.socket.read(&mut self.scratch) {
                Ok(0) => bail!("the broker closed a connection"),
                Ok(read) => line.into.extend_from_slice(&self.scratch[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error).context("reading from the broker"),
            }
            let now = Instant::now();
            while let Some(payload) = next_payload(&mut self.lines[number].into) {
                let answer = Answer::parse(&payload)?;
                let slot = answer.slot;
                outcome.took_ns.push(u32::try_from((now - self.sent_at[slot]).as_nanos()).unwrap_or(u32::MAX));
                outcome.operations += u64::from(traffic.answered(&answer)?);
                self.busy[slot] = false;
                self.lines[number].in_flight -= 1;
                if go_on {
                    self.ask(traffic, slot);
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        for line in &mut self.lines {
            while !line.out.is_empty() {
                match line.socket.write(&line.out) {
                    Ok(sent) => line.out.advance(sent),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error).context("writing to the broker"),
                }
            }
        }
        Ok(())
    }
}

fn next_payload(into: &mut BytesMut) -> Option<BytesMut> {
    let header = into.first_chunk::<4>()?;
    let length = u32::from_be_bytes(*header) as usize;
    if into.len() < 4 + length {
        return None;
    }
    into.advance(4);
    Some(into.split_to(length))
}
