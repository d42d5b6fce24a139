//! Commands over a whole queue while others come in between.

use crate::command::*;
use crate::effects::{Effects, Output};
use crate::engine::{Engine, EngineConfig};
use crate::limit::{self, Rate};
use crate::limits::{ACKS_AT_ONCE_MAX, LOOKED_AT_PER_JOB, PART_BYTES_PER_JOB};
use crate::names::{ConnId, JobId, Origin};
use crate::rejection::Rejection;
use crate::reply::{Delivered, Reply};
use crate::testing::new_job;
use crate::time::{Millis, Timestamp};
use std::sync::Arc;

const NOW: Timestamp = Timestamp(1_000_000);
/// Of a part.
const PART_JOBS: usize = 200;
const MANY: usize = 5 * PART_JOBS / 2;
/// Of a payload that is as much as a part takes.
const PART_BYTES: usize = PART_JOBS * PART_BYTES_PER_JOB;

struct Stage {
    engine: Engine,
    now: Timestamp,
    requests: u64,
}

impl Stage {
    /// With so many jobs, each with a key of its own.
    fn with_jobs(number: usize) -> Stage {
        let mut stage = Stage { engine: Engine::new(EngineConfig::default(), 7), now: NOW, requests: 0 };
        stage.engine.pace_long(Some(PART_JOBS));
        stage.tick();
        (0..number).for_each(|at| stage.push(&at.to_string(), Millis(0)));
        stage
    }

    fn push(&mut self, key: &str, delay: Millis) {
        let add = Add { dedup_key: Some(Arc::from(key)), ..Add::new(NewJob { delay, ..new_job("q") }) };
        let added = self.ask(Command::Push { add, replay_of: None });
        assert!(matches!(added, Some(Reply::Added(_))), "{added:?}");
    }

    fn tick(&mut self) -> Vec<Reply> {
        let mut effects = Effects::default();
        self.engine.tick(self.now, &mut effects);
        self.engine.check(self.now);
        self.engine.committed();
        replies(effects)
    }

    /// The answer, if it comes at once.
    fn ask(&mut self, command: Command) -> Option<Reply> {
        let mut effects = Effects::default();
        self.requests += 1;
        let origin = Origin::Client { conn: ConnId(1), request: self.requests };
        self.engine.handle(self.now, origin, command, &mut effects);
        self.engine.check(self.now);
        replies(effects).pop()
    }

    /// The answer of what goes on, and after how many parts.
    fn go_on(&mut self) -> (Reply, usize) {
        for parts in 1.. {
            assert!(self.engine.next_deadline() <= Some(self.now), "the next part is due at once");
            if let Some(reply) = self.tick().pop() {
                return (reply, parts);
            }
            assert!(parts < 100, "it comes to its end");
        }
        unreachable!("it ends or fails above")
    }

    fn pull(&mut self, count: u32) -> Vec<JobId> {
        let pull = Pull { count, bulk: true, ..pull_of("q") };
        match self.ask(Command::Pull(pull)) {
            Some(Reply::PulledBulk { jobs, .. }) => jobs.into_iter().map(|job| job.record.job.id).collect(),
            other => panic!("{other:?}"),
        }
    }

    fn counts(&self) -> crate::reply::JobCounts {
        self.engine.counts(Some("q"))
    }
}

fn pull_of(queue: &str) -> Pull {
    Pull {
        queue: Arc::from(queue),
        owner: None,
        lock_ttl: Millis(30_000),
        timeout: Millis(0),
        count: 1,
        bulk: false,
        detach: false,
        group: None,
    }
}

fn replies(effects: Effects) -> Vec<Reply> {
    let reply = |output| match output {
        Output::Reply { reply, .. } => Some(reply),
        Output::Event(_) => None,
    };
    effects.outputs.into_iter().filter_map(reply).collect()
}

/// To be compared.
fn said(what: &impl std::fmt::Debug) -> String {
    format!("{what:?}")
}

fn queue() -> Arc<str> {
    Arc::from("q")
}

#[test]
fn a_large_queue_is_drained_in_parts_and_hands_nothing_out_meanwhile() {
    let mut stage = Stage::with_jobs(MANY);
    assert!(stage.ask(Command::Drain { queue: queue() }).is_none(), "there is more than one part");
    assert_eq!(stage.counts().waiting as usize, MANY - PART_JOBS);
    assert_eq!(stage.pull(10), [], "what is being removed is not handed out");
    stage.push("late", Millis(0));
    stage.push("late and delayed", Millis(5_000));
    assert_eq!(said(&stage.go_on()), said(&(Reply::Count(MANY as u64 + 2), 2)), "what was added in between went, too");
    assert_eq!(stage.counts().waiting + stage.counts().delayed, 0);
    stage.push("0", Millis(0));
    assert_eq!(stage.pull(10).len(), 1, "its key is free, and the queue hands out again");
}

#[test]
fn a_pull_that_waits_gets_what_is_added_after_the_queue_was_emptied() {
    let mut stage = Stage::with_jobs(MANY);
    assert!(stage.ask(Command::Obliterate { queue: queue() }).is_none());
    assert!(stage.ask(Command::Pull(Pull { timeout: Millis(60_000), ..pull_of("q") })).is_none());
    assert_eq!(said(&stage.go_on().0), said(&Reply::Ok));
    let add = Add::new(new_job("q"));
    let mut effects = Effects::default();
    stage.engine.handle(stage.now, Origin::Internal, Command::Push { add, replay_of: None }, &mut effects);
    let served = replies(effects);
    assert!(served.iter().any(|reply| matches!(reply, Reply::Pulled { job: Some(_), .. })), "{served:?}");
}

#[test]
fn obliterate_leaves_nothing_whatever_is_added_meanwhile() {
    let mut stage = Stage::with_jobs(MANY);
    let active = stage.pull(10);
    assert_eq!(said(&stage.ask(Command::Pause { queue: queue() })), said(&Some(Reply::Ok)));
    assert!(stage.ask(Command::Obliterate { queue: queue() }).is_none());
    // More than a part takes: it still comes to its end.
    (0..3 * PART_JOBS).for_each(|at| stage.push(&format!("late {at}"), Millis(0)));
    assert_eq!(said(&stage.go_on().0), said(&Reply::Ok));
    assert_eq!(stage.counts(), crate::reply::JobCounts::default());
    assert_eq!(stage.engine.jobs_len(), 0, "{} active ones went, too", active.len());
    assert_eq!(said(&stage.ask(Command::IsPaused { queue: queue() })), said(&Some(Reply::Paused(false))));
    assert_eq!(said(&stage.ask(Command::ListQueues)), said(&Some(Reply::Queues(Vec::new()))));
}

#[test]
fn two_commands_over_one_queue_are_answered_when_both_are_done() {
    let mut stage = Stage::with_jobs(MANY);
    assert!(stage.ask(Command::Drain { queue: queue() }).is_none());
    assert!(stage.ask(Command::Obliterate { queue: queue() }).is_none());
    let (first, _) = stage.go_on();
    let (second, _) = stage.go_on();
    assert!(
        matches!((&first, &second), (Reply::Count(_), Reply::Ok) | (Reply::Ok, Reply::Count(_))),
        "{first:?} {second:?}"
    );
    stage.push("after", Millis(0));
    assert_eq!(stage.pull(1).len(), 1, "nothing holds the queue any more");
}

#[test]
fn clean_takes_the_oldest_up_to_its_limit() {
    let mut stage = Stage::with_jobs(MANY);
    let limit = MANY - 5;
    let clean = Command::Clean { queue: queue(), grace: Millis(0), state: CleanState::AnyPending, limit };
    assert!(stage.ask(clean).is_none());
    let (Reply::Cleaned(ids), 2) = stage.go_on() else { panic!("the ids, after two more parts") };
    assert_eq!(ids.len(), limit);
    assert!(ids.is_sorted(), "the oldest first");
    assert_eq!(stage.counts().waiting, 5);
}

#[test]
fn clean_passes_completed_jobs_that_are_needed() {
    let mut stage = Stage::with_jobs(MANY);
    let done = stage.pull(MANY as u32);
    // A parent that waits for one more child may read the results of the others.
    let mut parent = new_job("parents");
    parent.rare = Some(Box::new(RareOptions { depends_on: done.clone(), ..RareOptions::default() }));
    assert!(matches!(stage.ask(Command::Push { add: Add::new(parent), replay_of: None }), Some(Reply::Added(_))));
    for id in &done[..MANY - 1] {
        let ack = Ack { id: id.clone(), token: None, result: None, remove: false };
        assert_eq!(said(&stage.ask(Command::Ack(ack))), said(&Some(Reply::Ok)));
    }
    let clean = Command::Clean { queue: queue(), grace: Millis(0), state: CleanState::Completed, limit: 1_000_000 };
    let reply = stage.ask(clean).unwrap_or_else(|| stage.go_on().0);
    let Reply::Cleaned(ids) = reply else { panic!("{reply:?}") };
    assert_eq!(ids.len() + stage.counts().completed as usize, MANY - 1);
}

#[test]
fn all_delayed_jobs_are_promoted_in_parts() {
    let mut stage = Stage::with_jobs(0);
    (0..MANY).for_each(|at| stage.push(&at.to_string(), Millis(50_000)));
    assert!(stage.ask(Command::PromoteJobs { queue: queue(), count: None }).is_none());
    assert_eq!(stage.pull(1).len(), 1, "what is ready already can be taken");
    assert_eq!(said(&stage.go_on()), said(&(Reply::Count(MANY as u64), 2)));
}

#[test]
fn the_jobs_of_an_ended_connection_go_back_in_parts() {
    let mut stage = Stage::with_jobs(MANY);
    assert_eq!(stage.pull(MANY as u32).len(), MANY);
    let mut effects = Effects::default();
    stage.engine.disconnect(stage.now, ConnId(1), &mut effects);
    stage.engine.check(stage.now);
    assert_eq!(stage.counts().waiting as usize, PART_JOBS);
    stage.tick();
    stage.engine.finish_releases(stage.now, &mut effects);
    stage.engine.check(stage.now);
    assert_eq!(stage.counts().waiting as usize, MANY, "a stop leaves none");
    assert!(stage.engine.next_deadline() > Some(stage.now), "nothing is left to do");
}

#[test]
fn a_part_ends_with_the_bytes_of_its_payloads_too() {
    let large = |at: usize| {
        let data = Payload::from(vec![at as u8; PART_BYTES / 2]);
        Add { data: Some(data), ..Add::new(new_job("q")) }
    };
    let commands = || {
        let queue = || Arc::<str>::from("q");
        let clean = Command::Clean { queue: queue(), grace: Millis(0), state: CleanState::Waiting, limit: 100 };
        [Command::Obliterate { queue: queue() }, Command::Drain { queue: queue() }, clean]
    };
    for command in commands() {
        let mut stage = Stage::with_jobs(0);
        for at in 0..5 {
            stage.ask(Command::Push { add: large(at), replay_of: None });
        }
        assert!(stage.ask(command.clone()).is_none(), "{command:?}");
        assert_eq!(stage.counts().waiting, 3, "two of them are as much as one part takes");
        let (_, parts) = stage.go_on();
        assert_eq!((parts, stage.counts().waiting), (2, 0));
    }
}

#[test]
fn large_jobs_that_are_added_meanwhile_do_not_keep_it_from_its_end() {
    let mut stage = Stage::with_jobs(MANY);
    assert!(stage.ask(Command::Obliterate { queue: "q".into() }).is_none());
    for at in 0..20 {
        for _ in 0..4 {
            let data = Some(Payload::from(vec![at; PART_BYTES]));
            stage.ask(Command::Push { add: Add { data, ..Add::new(new_job("q")) }, replay_of: None });
        }
        if !stage.tick().is_empty() {
            return;
        }
    }
    panic!("it does not end");
}

/// Jobs that were taken under a lease of 30 s, and what completes each.
fn taken(stage: &mut Stage, number: usize) -> Vec<Ack> {
    let mut acks = Vec::new();
    while acks.len() < number {
        let pull = Pull { count: 1_000, bulk: true, owner: Some(Arc::from("w")), ..pull_of("q") };
        let Some(Reply::PulledBulk { jobs, .. }) = stage.ask(Command::Pull(pull)) else { panic!("there are jobs") };
        let ack = |job: Delivered| Ack { id: job.record.job.id.clone(), token: job.token, result: None, remove: false };
        acks.extend(jobs.into_iter().map(ack));
    }
    acks
}

#[test]
fn many_jobs_are_acknowledged_in_parts_and_answered_at_the_end() {
    let number = MANY;
    assert!(number > ACKS_AT_ONCE_MAX);
    let mut stage = Stage::with_jobs(number);
    let acks = taken(&mut stage, number);
    let last = acks[number - 1].clone();
    assert!(stage.ask(Command::AckBulk { acks }).is_none());
    assert!(stage.ask(Command::Ack(last)).is_some(), "others go on meanwhile");
    let (reply, parts) = stage.go_on();
    assert_eq!(stage.counts().active, 0);
    assert_eq!(parts, number.div_ceil(PART_JOBS) - 1, "the first was done at once");
    assert!(
        matches!(reply, Reply::Rejected(Rejection::NotInProcessing(_))),
        "one of them was completed before: {reply:?}"
    );
}

#[test]
fn a_wrong_token_among_many_completes_nothing() {
    let number = PART_JOBS * LOOKED_AT_PER_JOB + 1;
    let mut stage = Stage::with_jobs(number);
    let mut acks = taken(&mut stage, number);
    acks[number - 1].token = Some("another".into());
    assert!(stage.ask(Command::AckBulk { acks }).is_none());
    let (reply, _) = stage.go_on();
    assert!(matches!(reply, Reply::Rejected(Rejection::TokenInvalid(_))), "{reply:?}");
    assert_eq!(stage.counts().active as usize, number);
}

#[test]
fn many_leases_that_ran_out_are_looked_at_in_parts() {
    let mut stage = Stage::with_jobs(MANY);
    let _acks = taken(&mut stage, MANY);
    stage.now = NOW.plus(Millis(36_000));
    stage.tick();
    assert_eq!(stage.counts().active as usize, MANY - 2 * PART_JOBS, "the first two parts");
    while stage.engine.next_deadline() <= Some(stage.now) {
        stage.tick();
    }
    assert_eq!((stage.counts().active, stage.counts().waiting as usize), (0, MANY));
}

#[test]
fn what_is_held_goes_on_later() {
    let mut stage = Stage::with_jobs(MANY);
    assert!(stage.ask(Command::Drain { queue: queue() }).is_none());
    stage.engine.pace_long(None);
    let waiting = stage.counts().waiting;
    assert!(stage.tick().is_empty() && stage.engine.has_long());
    assert!(stage.engine.next_deadline() > Some(stage.now), "it does not ask for a turn meanwhile");
    assert_eq!(stage.counts().waiting, waiting);
    stage.engine.pace_long(Some(7));
    stage.tick();
    assert_eq!(stage.counts().waiting, waiting - 7);
    stage.go_on();
    assert!(!stage.engine.has_long());
}

#[test]
fn while_a_queue_is_emptied_nobody_in_it_waits_for_a_token() {
    let mut stage = Stage::with_jobs(MANY);
    let rate = Rate { max: 1, duration: Millis(5_000) };
    stage.ask(Command::Limit(limit::Request::SetRate { queue: "q".into(), rate, ttl: None }));
    assert_eq!(stage.pull(1).len(), 1);
    let waits = Command::Pull(Pull { timeout: Millis(60_000), ..pull_of("q") });
    assert!(stage.ask(waits).is_none(), "the token is used");
    // Each of these steps looks whether a moment is set exactly when somebody waits for it.
    assert!(stage.ask(Command::Drain { queue: "q".into() }).is_none());
    assert_eq!(said(&stage.go_on().0), said(&Reply::Count(MANY as u64 - 1)));
    stage.push("later", Millis(0));
    stage.now = stage.now.plus(rate.duration);
    assert!(matches!(&stage.tick()[..], [Reply::Pulled { job: Some(_), .. }]));
}
