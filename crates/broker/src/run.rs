//! One add sent many times from the window, over real connections of our own to the broker's own port: so a race between
//! them is a race, and each add is decided, logged and answered as any client's.
//!
//! One run at a time, bounded in number, pace and connections. It belongs to the broker, not to the window that started it:
//! it goes on when that closes, and ends with the broker. It decides nothing and keeps only figures.

use crate::run_client::exchange;
use crate::server::Door;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How many adds a run may have.
pub const RUN_TIMES: RangeInclusive<u32> = 1..=1_000;
/// Over how many connections.
pub const RUN_CONNECTIONS: RangeInclusive<u32> = 1..=16;
/// Longest time between two adds.
pub const RUN_GAP_MAX: Duration = Duration::from_secs(60);

/// What is sent.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// A PUSH command as MessagePack.
    pub command: Vec<u8>,
    /// How often, see [`RUN_TIMES`].
    pub times: u32,
    /// Time from one add to the next, over all connections.
    pub gap: Duration,
    /// Over how many connections, see [`RUN_CONNECTIONS`].
    pub connections: u32,
    /// The logged add that is repeated.
    pub origin: Option<u64>,
}

/// What a connection of a run is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunMark {
    /// The run's number, from 1.
    pub run: u64,
    /// The logged add that it repeats.
    pub origin: Option<u64>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// It sends.
    Going,
    /// Every add was answered.
    Done,
    /// It was stopped before all were sent.
    Stopped,
    /// Connections were lost before all were sent.
    Failed,
}

/// A run in figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFigures {
    /// Its number and what it repeats.
    pub mark: RunMark,
    /// Adds it was to send.
    pub times: u32,
    /// Over how many connections.
    pub connections: u32,
    /// Answered with a new job.
    pub created: u32,
    /// Answered with a new job that took another one's place.
    pub replaced: u32,
    /// Answered with a job that was there.
    pub returned: u32,
    /// Answered with an error.
    pub rejected: u32,
    /// Since its start, or from start to end.
    pub took: Duration,
    /// How far it is.
    pub state: RunState,
    /// The first error: the text of a rejected add, or why a connection was lost.
    pub error: Option<String>,
}

impl RunFigures {
    /// Adds that were answered.
    #[must_use]
    pub fn answered(&self) -> u32 {
        self.created + self.replaced + self.returned + self.rejected
    }
}

/// Why a run did not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunRefused {
    /// One at a time.
    #[error("Run {0} is still sending. Stop it, or wait for its end.")]
    Busy(u64),
    /// There is no port to connect to.
    #[error("No client can connect to the broker now, so nothing was sent.")]
    NotListening,
}

/// The runs of a broker: the last one, and who belongs to it.
#[derive(Default)]
pub struct Runs {
    state: Mutex<RunsState>,
}

#[derive(Default)]
struct RunsState {
    last: Option<Arc<Run>>,
    /// Our ends of the connections of runs.
    ours: HashMap<SocketAddr, RunMark>,
}

impl Runs {
    /// Whose connection it is whose other end is `peer`, when it is one of ours.
    #[must_use]
    pub fn mark_of(&self, peer: SocketAddr) -> Option<RunMark> {
        self.state().ours.get(&canonical(peer)).copied()
    }

    /// The last run.
    #[must_use]
    pub fn figures(&self) -> Option<RunFigures> {
        self.state().last.as_ref().map(|run| run.figures())
    }

    /// Ends a run before its time. False when it has ended or is not the last one.
    pub fn stop(&self, id: u64) -> bool {
        let last = self.state().last.clone();
        let Some(run) = last.filter(|run| run.mark.run == id && run.is_going()) else { return false };
        // Nobody listens when its connections have just ended.
        run.stop.send_replace(true);
        true
    }

    pub(crate) fn is_ours(&self, local: SocketAddr, mark: RunMark) {
        self.state().ours.insert(canonical(local), mark);
    }

    pub(crate) fn is_gone(&self, local: SocketAddr) {
        self.state().ours.remove(&canonical(local));
    }

    fn begin(&self, plan: &RunPlan) -> Result<Arc<Run>, RunRefused> {
        let mut state = self.state();
        if let Some(going) = state.last.as_ref().filter(|run| run.is_going()) {
            return Err(RunRefused::Busy(going.mark.run));
        }
        let number = state.last.as_ref().map_or(1, |run| run.mark.run + 1);
        let run = Arc::new(Run::new(plan, number));
        state.last = Some(Arc::clone(&run));
        Ok(run)
    }

    /// The state is only replaced as a whole, so a panic elsewhere cannot leave it half changed.
    fn state(&self) -> MutexGuard<'_, RunsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An address as both ends call it: a listener for both families sees IPv4 addresses inside IPv6 ones.
fn canonical(addr: SocketAddr) -> SocketAddr {
    SocketAddr::new(addr.ip().to_canonical(), addr.port())
}

/// What came back for one add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunAnswer {
    /// A new job.
    Created,
    /// A new job in another one's place.
    Replaced,
    /// A job that was there.
    Returned,
    /// An error.
    Rejected(String),
}

/// A run at work.
pub(crate) struct Run {
    pub(crate) mark: RunMark,
    times: u32,
    gap: Duration,
    connections: u32,
    started: Instant,
    /// Adds whose turn has come.
    begun: AtomicU32,
    stop: watch::Sender<bool>,
    tally: Mutex<Tally>,
}

#[derive(Default)]
struct Tally {
    created: u32,
    replaced: u32,
    returned: u32,
    rejected: u32,
    error: Option<String>,
    /// From start to end, once it has ended.
    took: Option<Duration>,
}

impl Run {
    fn new(plan: &RunPlan, number: u64) -> Run {
        Run {
            mark: RunMark { run: number, origin: plan.origin },
            times: plan.times,
            gap: plan.gap,
            connections: plan.connections,
            started: Instant::now(),
            begun: AtomicU32::new(0),
            stop: watch::channel(false).0,
            tally: Mutex::default(),
        }
    }

    /// Waits for the turn of the next add. False when none is left to send.
    pub(crate) async fn turn(&self) -> bool {
        let mut stop = self.stop.subscribe();
        let at = self.begun.fetch_add(1, Ordering::Relaxed);
        if at >= self.times {
            return false;
        }
        let due = tokio::time::Instant::from_std(self.started + self.gap * at);
        tokio::select! {
            biased;
            // The sender lives as long as the run.
            _ = stop.wait_for(|stopped| *stopped) => false,
            () = tokio::time::sleep_until(due) => true,
        }
    }

    pub(crate) fn answered(&self, answer: RunAnswer) {
        let mut tally = self.tally();
        match answer {
            RunAnswer::Created => tally.created += 1,
            RunAnswer::Replaced => tally.replaced += 1,
            RunAnswer::Returned => tally.returned += 1,
            RunAnswer::Rejected(text) => {
                tally.rejected += 1;
                tally.error.get_or_insert(text);
            }
        }
    }

    fn lost(&self, why: String) {
        self.tally().error = Some(why);
    }

    fn is_going(&self) -> bool {
        self.tally().took.is_none()
    }

    fn figures(&self) -> RunFigures {
        let tally = self.tally();
        let mut figures = RunFigures {
            mark: self.mark,
            times: self.times,
            connections: self.connections,
            created: tally.created,
            replaced: tally.replaced,
            returned: tally.returned,
            rejected: tally.rejected,
            took: tally.took.unwrap_or_else(|| self.started.elapsed()),
            state: RunState::Going,
            error: tally.error.clone(),
        };
        figures.state = match tally.took {
            None => RunState::Going,
            Some(_) if figures.answered() == self.times => RunState::Done,
            Some(_) if *self.stop.borrow() => RunState::Stopped,
            Some(_) => RunState::Failed,
        };
        figures
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a run against `addr`, the address that the broker has bound. Must be called inside a tokio runtime.
///
/// # Errors
/// Another one still sends.
pub(crate) fn start(door: &Arc<Door>, addr: SocketAddr, plan: RunPlan) -> Result<RunMark, RunRefused> {
    let run = door.runs.begin(&plan)?;
    let (mark, door) = (run.mark, Arc::clone(door));
    tokio::spawn(async move {
        let command: Arc<[u8]> = plan.command.into();
        let mut connections = JoinSet::new();
        for _ in 0..plan.connections.min(plan.times) {
            let (door, run, command) = (Arc::clone(&door), Arc::clone(&run), Arc::clone(&command));
            connections.spawn(async move {
                if let Err(error) = exchange(&door, addr, &run, &command).await {
                    run.lost(format!("A connection was lost: {error}."));
                }
            });
        }
        while connections.join_next().await.is_some() {}
        let took = run.started.elapsed();
        run.tally().took = Some(took);
    });
    Ok(mark)
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod run_tests;
