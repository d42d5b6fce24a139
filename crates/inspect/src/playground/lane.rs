//! A lane: a real engine, a worker, and a record of what they did.
//!
//! Guarantees: everything that is due is done at its own moment, in the same order every time; what happens comes from
//! the engine's commands and nothing else. The engine's rows are let go after each step: nothing of a lane is stored, and
//! nothing touches a broker. When a step is taken is not decided here.

use super::record::{Record, Seen};
use super::scenario::{LaneSpec, LaneStrategy, WorkerMove, WorkerSpec};
use super::title;
use crate::payload;
use crate::view::{LaneView, PlayLine};
use crate::words;
use onceover_engine::command::{Ack, Add, Backoff, Claim, Command, DedupRequest, Fail, NewJob, Payload, Pull, Renewal};
use onceover_engine::effects::{Effects, Output};
use onceover_engine::job::Job;
use onceover_engine::names::{ConnId, JobId, JobKey, Origin};
use onceover_engine::reply::{Delivered, Reply};
use onceover_engine::time::{Millis, Timestamp};
use onceover_engine::{Engine, EngineConfig};
use onceover_wire::canonical::canonical_hash;
use std::sync::Arc;

/// How often a worker says that it is alive; at least twice in a lease.
const BEAT_MS_MAX: i64 = 10_000;
/// Wait before the next attempt, in ms.
const BACKOFF_MS: i64 = 1_000;
/// Attempts of a job.
const ATTEMPTS: u32 = 3;
/// The connection that all of it goes over.
const CONN: ConnId = ConnId(1);

/// An engine with its worker.
pub struct Lane {
    spec: LaneSpec,
    worker: WorkerSpec,
    engine: Engine,
    hands: Vec<Hand>,
    /// Queues that were added to, in order; workers look into them in turn.
    queues: Vec<Arc<str>>,
    requests: u64,
    /// Attempts that ended, to know which one fails.
    attempts: u32,
    record: Record,
}

/// A job in the hands of a worker.
struct Hand {
    id: JobId,
    key: JobKey,
    /// Which delivery; a later one is another worker's.
    number: u64,
    token: Option<String>,
    /// Next heartbeat; none = the worker is gone.
    beat_at: Option<Timestamp>,
    /// When its work is done; none by hand.
    done_at: Option<Timestamp>,
}

impl Hand {
    fn is_alive(&self) -> bool {
        self.beat_at.is_some()
    }

    fn claim(&self) -> Claim {
        Claim { id: self.id.clone(), token: self.token.clone() }
    }
}

impl Lane {
    /// An empty lane; `at` is its number from 0.
    pub fn new(at: u8, spec: LaneSpec, worker: WorkerSpec) -> Lane {
        // Each lane draws other ids, so that an id in the log belongs to one lane.
        let mut engine = Engine::new(EngineConfig::default(), u64::from(at) + 1);
        // The sweep, which finds lost leases, counts from here.
        engine.tick(Timestamp(0), &mut Effects::default());
        let record = Record::new(at);
        Lane { spec, worker, engine, hands: Vec::new(), queues: Vec::new(), requests: 0, attempts: 0, record }
    }

    /// Grows with everything that happened.
    pub fn revision(&self) -> u64 {
        self.record.revision()
    }

    /// The next moment at which something is due.
    pub fn next_at(&self) -> Option<Timestamp> {
        let hands = self.hands.iter().flat_map(|hand| [hand.beat_at, hand.done_at]);
        hands.flatten().chain(self.engine.next_deadline()).min()
    }

    /// Whether something will happen without anybody's doing.
    pub fn stirs(&self) -> bool {
        self.hands.iter().any(|hand| !hand.is_alive() || hand.done_at.is_some()) || self.record.stirs()
    }

    /// Whether a job is unfinished.
    pub fn is_live(&self) -> bool {
        self.record.has_live_job()
    }

    /// Does everything that is due.
    pub fn due(&mut self, now: Timestamp) {
        let mut effects = Effects::default();
        self.engine.tick(now, &mut effects);
        self.take(now, effects);
        while let Some(at) = self.hands.iter().position(|hand| hand.done_at.is_some_and(|done| done.is_due(now))) {
            self.attempts += 1;
            let every = self.worker.fail_every;
            let fails = every > 0 && self.attempts.is_multiple_of(every);
            self.finish(now, at, fails);
        }
        self.beat(now);
        self.settle(now);
    }

    /// The same add for every lane; each makes of it what its strategy says.
    pub fn add(&mut self, now: Timestamp, v: u32, queue: &str, key: &str) {
        let data = data_of(v);
        self.record.know_version(&data, v);
        let add = job(&self.spec, queue, key, data);
        if !self.queues.iter().any(|known| **known == *queue) {
            self.queues.push(add.spec.queue.clone());
        }
        self.handle(now, Command::Push { add, replay_of: None });
        self.settle(now);
    }

    /// One thing that a worker does by hand.
    pub fn work(&mut self, now: Timestamp, what: WorkerMove) {
        let first = self.hands.iter().position(Hand::is_alive);
        match (what, first) {
            (WorkerMove::PickUp, _) => {
                if !self.pick_up(now) {
                    self.record.say(now, "No job waits to be picked up.".to_owned());
                }
            }
            (WorkerMove::Complete, Some(at)) => self.finish(now, at, false),
            (WorkerMove::Fail, Some(at)) => self.finish(now, at, true),
            (WorkerMove::Kill, Some(at)) => self.kill(now, at),
            (WorkerMove::Complete | WorkerMove::Fail | WorkerMove::Kill, None) => {
                self.record.say(now, "No worker has a job in its hands.".to_owned());
            }
        }
        self.settle(now);
    }

    /// Works otherwise from now on. What is in hand is finished the new way.
    pub fn set_worker(&mut self, now: Timestamp, worker: WorkerSpec) {
        let done_at = worker.auto.then(|| now.plus(Millis(i64::from(worker.duration_ms))));
        for hand in self.hands.iter_mut().filter(|hand| hand.is_alive()) {
            hand.done_at = done_at;
        }
        self.worker = worker;
        self.settle(now);
    }

    /// The lane as a window shows it.
    pub fn view(&self) -> LaneView {
        let counts = self.engine.counts(None);
        LaneView {
            spec: self.spec.clone(),
            title: title::of(&self.spec),
            jobs: self.record.jobs(),
            adds: self.record.adds.clone(),
            keys: self.record.keys(),
            figures: self.record.figures(),
            ready: u32::try_from(counts.waiting + counts.prioritized).unwrap_or(u32::MAX),
            held: u32::try_from(self.hands.iter().filter(|hand| hand.is_alive()).count()).unwrap_or(u32::MAX),
        }
    }

    /// Takes out the lines written since the last call.
    pub fn take_lines(&mut self) -> Vec<PlayLine> {
        self.record.take_lines()
    }

    /// Every step ends here: a free worker takes what is there, and what changed is written down.
    fn settle(&mut self, now: Timestamp) {
        while self.worker.auto && !self.hands.iter().any(Hand::is_alive) && self.pick_up(now) {}
        let engine = &self.engine;
        self.hands.retain(|hand| {
            let delivery = engine.job_by_key(hand.key).and_then(|job| job.delivery.as_ref());
            delivery.is_some_and(|delivery| delivery.number == hand.number)
        });
        let gone = |job: &Job| self.hands.iter().any(|hand| hand.key == job.key && !hand.is_alive());
        self.record.look(&Seen { engine, now, gone: &gone });
        // There is no file to write: the rows are let go, so that they do not pile up.
        self.engine.committed();
    }

    fn pick_up(&mut self, now: Timestamp) -> bool {
        for queue in self.queues.clone() {
            let lock_ttl = Millis(i64::from(self.worker.lease_ms));
            let (timeout, owner) = (Millis(0), Some(Arc::from("playground")));
            let pull = Pull { queue, count: 1, bulk: false, timeout, owner, lock_ttl, detach: false, group: None };
            if let Some(Reply::Pulled { job: Some(delivered), .. }) = self.handle(now, Command::Pull(pull)) {
                self.take_in_hand(now, *delivered);
                return true;
            }
        }
        false
    }

    fn take_in_hand(&mut self, now: Timestamp, delivered: Delivered) {
        let job = delivered.record.job;
        let delivery = self.engine.job_by_key(job.key).and_then(|job| job.delivery.as_ref());
        let number = delivery.map_or(0, |delivery| delivery.number);
        let done_at = self.worker.auto.then(|| now.plus(Millis(i64::from(self.worker.duration_ms))));
        let beat_at = Some(self.next_beat(now));
        self.hands.push(Hand { id: job.id, key: job.key, number, token: delivered.token, beat_at, done_at });
    }

    fn next_beat(&self, now: Timestamp) -> Timestamp {
        now.plus(Millis((i64::from(self.worker.lease_ms) / 2).min(BEAT_MS_MAX)))
    }

    fn finish(&mut self, now: Timestamp, at: usize, fails: bool) {
        let Claim { id, token } = self.hands.remove(at).claim();
        let command = match fails {
            false => Command::Ack(Ack { id, token, result: None, remove: false }),
            true => {
                let error = Some("Failed in the playground".to_owned());
                Command::Fail(Fail { id, token, error, unrecoverable: false, stack: Vec::new(), remove: false })
            }
        };
        self.handle(now, command);
    }

    /// The worker says nothing more. The broker is not told, so nothing is sent.
    fn kill(&mut self, now: Timestamp, at: usize) {
        let hand = &mut self.hands[at];
        (hand.beat_at, hand.done_at) = (None, None);
        let delivery = self.engine.job_by_key(hand.key).and_then(|job| job.delivery.as_ref());
        let lease = delivery.and_then(|delivery| delivery.lock.as_ref()).map(|lock| lock.expires_at.since(now));
        let lease = lease.map_or_else(String::new, |left| format!(" Its lease ends in {}.", words::duration(left)));
        let name = self.record.name_of(&hand.id);
        self.record
            .say(now, format!("The worker of {name} is gone without a word.{lease} Until then the job stays active."));
    }

    fn beat(&mut self, now: Timestamp) {
        let next = self.next_beat(now);
        let mut claims = Vec::new();
        for hand in self.hands.iter_mut().filter(|hand| hand.beat_at.is_some_and(|at| at.is_due(now))) {
            hand.beat_at = Some(next);
            claims.push(hand.claim());
        }
        for claim in claims {
            self.handle(now, Command::JobHeartbeat(Renewal { claim, duration: None }));
        }
    }

    /// Carries out a command as a client's, and gives its answer.
    fn handle(&mut self, now: Timestamp, command: Command) -> Option<Reply> {
        self.requests += 1;
        let mut effects = Effects::default();
        let origin = Origin::Client { conn: CONN, request: self.requests };
        self.engine.handle(now, origin, command, &mut effects);
        self.take(now, effects)
    }

    fn take(&mut self, now: Timestamp, effects: Effects) -> Option<Reply> {
        let (by_clients, by_broker): (Vec<_>, Vec<_>) =
            effects.adds.into_iter().partition(|add| add.origin != Origin::Internal);
        for add in by_clients {
            self.record.add(&add);
        }
        let mut answer = None;
        for output in effects.outputs {
            match output {
                Output::Reply { reply, .. } => answer = Some(reply),
                Output::Event(event) => self.record.event(now, &event, &self.engine),
            }
        }
        for add in by_broker {
            self.record.add(&add);
        }
        answer
    }
}

fn data_of(v: u32) -> Payload {
    Payload::from(payload::parse(&format!("{{\"v\": {v}}}"), None).expect("a number in an object is JSON"))
}

fn job(lane: &LaneSpec, queue: &str, key: &str, data: Payload) -> Add {
    let strategy = lane.strategy;
    let custom_id = (strategy == LaneStrategy::JobId).then(|| JobId::parse(key));
    let hash = if strategy == LaneStrategy::Hash { canonical_hash(&data).ok() } else { None };
    let dedup_key = strategy.has_key().then(|| Arc::from(hash.as_deref().unwrap_or(key)));
    let spec = NewJob {
        dedup: if strategy.has_key() { dedup(lane) } else { DedupRequest::default() },
        delay: Millis(i64::from(lane.delay_ms)),
        max_attempts: ATTEMPTS,
        backoff: Backoff { delay: Millis(BACKOFF_MS), fixed: true, as_object: true },
        ..NewJob::new(queue, "job")
    };
    Add { spec: spec.into(), custom_id, dedup_key, data: Some(data) }
}

fn dedup(lane: &LaneSpec) -> DedupRequest {
    let strategy = lane.strategy;
    DedupRequest {
        from_hash: strategy == LaneStrategy::Hash,
        ttl: lane.ttl_ms.map(|ttl| Millis(i64::from(ttl))),
        extend: matches!(strategy, LaneStrategy::Extend | LaneStrategy::ExtendReplace),
        replace: matches!(strategy, LaneStrategy::Replace | LaneStrategy::ExtendReplace),
        keep_last: strategy == LaneStrategy::KeepLast,
    }
}
