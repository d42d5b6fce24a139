//! What a clock that went ahead ends, and what it leaves alone.

use crate::command::{Add, Claim, Command, DedupRequest, Pull, RareOptions, Renewal, WorkerInfo};
use crate::effects::{Effects, Output};
use crate::engine::{Engine, EngineConfig};
use crate::names::{ConnId, Origin};
use crate::reply::Reply;
use crate::testing::new_job;
use crate::time::{Millis, Timestamp};
use std::sync::Arc;

const DAY: Millis = Millis(86_400_000);

struct Bench {
    engine: Engine,
    now: Timestamp,
}

impl Bench {
    fn new() -> Bench {
        let mut bench = Bench { engine: Engine::new(EngineConfig::default(), 7), now: Timestamp(1_000_000) };
        bench.at(0);
        bench
    }

    fn at(&mut self, later: i64) -> Vec<Reply> {
        self.now = self.now.plus(Millis(later));
        let mut effects = Effects::default();
        self.engine.tick(self.now, &mut effects);
        self.engine.check(self.now);
        replies(effects)
    }

    fn ask(&mut self, command: Command) -> Vec<Reply> {
        let mut effects = Effects::default();
        let origin = Origin::Client { conn: ConnId(1), request: 1 };
        self.engine.handle(self.now, origin, command, &mut effects);
        self.engine.check(self.now);
        replies(effects)
    }

    /// The clock goes ahead by a day, and the broker sees it.
    fn day_ahead(&mut self) -> Vec<Reply> {
        self.engine.skip(DAY);
        self.at(DAY.0)
    }

    fn active(&self) -> u64 {
        self.engine.counts(None).active
    }
}

fn replies(effects: Effects) -> Vec<Reply> {
    let reply = |output| match output {
        Output::Reply { reply, .. } => Some(reply),
        Output::Event(_) => None,
    };
    effects.outputs.into_iter().filter_map(reply).collect()
}

fn push(rare: Option<RareOptions>, dedup: Option<DedupRequest>) -> Command {
    let dedup_key = dedup.is_some().then(|| Arc::from("k"));
    let dedup = dedup.unwrap_or_default();
    let spec = crate::command::NewJob { rare: rare.map(Box::new), dedup, ..new_job("q") };
    Command::Push { add: Add { dedup_key, ..Add::new(spec) }, replay_of: None }
}

fn pull(timeout: i64) -> Command {
    let (timeout, lock_ttl) = (Millis(timeout), Millis(30_000));
    let owner = Some("w".into());
    Command::Pull(Pull {
        queue: "q".into(),
        count: 1,
        bulk: false,
        timeout,
        owner,
        lock_ttl,
        detach: false,
        group: None,
    })
}

#[test]
fn a_lease_lasts_as_long_as_before() {
    let mut bench = Bench::new();
    bench.ask(push(None, None));
    bench.ask(pull(0));
    bench.at(20_000);
    bench.day_ahead();
    bench.at(9_000);
    assert_eq!(bench.active(), 1, "29 s have passed of 30");
    bench.at(6_001);
    assert_eq!(bench.active(), 0, "35 s have passed");
}

#[test]
fn a_lease_can_be_renewed_after_it() {
    let mut bench = Bench::new();
    bench.ask(push(None, None));
    let pulled = bench.ask(pull(0));
    let Some(Reply::Pulled { job: Some(job), .. }) = pulled.into_iter().next() else { panic!("a job was ready") };
    bench.day_ahead();
    let claim = Claim { id: job.record.job.id.clone(), token: job.token.clone() };
    let renewed = bench.ask(Command::JobHeartbeat(Renewal { claim, duration: None }));
    assert!(matches!(renewed[..], [Reply::DataOk]), "{renewed:?}");
}

#[test]
fn an_attempt_may_last_as_long_as_before() {
    let mut bench = Bench::new();
    bench.ask(push(Some(RareOptions { timeout: Some(Millis(10_000)), ..RareOptions::default() }), None));
    bench.ask(pull(0));
    bench.at(5_000);
    bench.day_ahead();
    bench.day_ahead();
    bench.at(4_999);
    assert_eq!(bench.active(), 1);
    bench.at(1);
    assert_eq!(bench.active(), 0);
}

#[test]
fn a_request_waits_as_long_as_before() {
    let mut bench = Bench::new();
    assert!(bench.ask(pull(1_000)).is_empty());
    assert!(bench.day_ahead().is_empty());
    assert!(bench.at(999).is_empty());
    assert_eq!(bench.at(1).len(), 1);
}

#[test]
fn a_worker_stays_registered() {
    let mut bench = Bench::new();
    let info = WorkerInfo {
        worker_id: None,
        name: "w".to_owned(),
        queues: Vec::new(),
        concurrency: 1,
        hostname: String::new(),
        pid: 1,
        started_at: None,
    };
    bench.ask(Command::RegisterWorker(info));
    bench.day_ahead();
    bench.at(5_000);
    let listed = bench.ask(Command::ListWorkers);
    assert!(matches!(&listed[..], [Reply::Workers { workers, .. }] if workers.len() == 1), "{listed:?}");
}

#[test]
fn windows_and_delays_follow_the_clock() {
    let mut bench = Bench::new();
    let ttl = Some(Millis(3_600_000));
    let dedup = DedupRequest { from_hash: false, ttl, extend: false, replace: false, keep_last: false };
    bench.ask(push(None, Some(dedup)));
    let spec = crate::command::NewJob { delay: Millis(3_600_000), ..new_job("later") };
    bench.ask(Command::Push { add: Add::new(spec), replay_of: None });
    let counts = bench.engine.counts(None);
    assert_eq!((bench.engine.keys_len(), counts.waiting, counts.delayed), (1, 1, 1));
    bench.day_ahead();
    let counts = bench.engine.counts(None);
    assert_eq!((bench.engine.keys_len(), counts.waiting, counts.delayed), (0, 2, 0));
}
