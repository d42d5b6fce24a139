//! What clients ask for. Each world has habits of its own, so that rare things meet often in some of them.

use crate::client::Held;
use crate::ledger::{QUIET, QUIET_KEYS};
use crate::random::Random;
use crate::throttles;
use crate::ticks::{self, TIMED};
use crate::trees::{self, TREES};
use onceover_engine::command::{
    Ack, Add, Claim, CleanState, Command, DedupRequest, DlqPatch, Fail, NewJob, Payload, Pull, RareOptions, Renewal,
    dead,
};
use onceover_engine::names::JobId;
use onceover_engine::time::Millis;
use onceover_engine::webhook;
use onceover_store::PIECE_BYTES;
use std::sync::Arc;

const QUEUES: [&str; 3] = ["a", "b", "c"];

/// Tastes of one world.
#[derive(Debug)]
pub struct Habits {
    /// Weight of each kind of command, see [`Habits::command`].
    kinds: [usize; 21],
    keys: usize,
    ids: usize,
    with_key: usize,
    with_id: usize,
    with_ttl: usize,
    extend: usize,
    replace: usize,
    keep_last: usize,
    durable: usize,
    delayed: usize,
    after: usize,
    rare: usize,
    locked: usize,
    long: usize,
}

impl Habits {
    /// Habits of a world: about half of the kinds of commands do not occur in it.
    pub fn new(random: &mut Random) -> Habits {
        let mut kinds = [30, 8, 24, 14, 10, 8, 4, 4, 3, 4, 2, 3, 3, 6, 8, 3, 12, 16, 3, 4, 2];
        for (at, weight) in kinds.iter_mut().enumerate() {
            if at >= 4 && at != 16 && random.chance(50) {
                *weight = 0;
            }
        }
        Habits {
            kinds,
            keys: random.pick(&[1, 2, 5]),
            ids: random.pick(&[1, 3, 8]),
            with_key: random.pick(&[20, 60, 100]),
            with_id: random.pick(&[0, 30, 70]),
            with_ttl: random.pick(&[0, 50, 100]),
            extend: random.pick(&[0, 30]),
            replace: random.pick(&[0, 30]),
            keep_last: random.pick(&[0, 0, 40]),
            durable: random.pick(&[0, 10, 100]),
            delayed: random.pick(&[0, 10, 40]),
            after: random.pick(&[0, 0, 20]),
            rare: random.pick(&[0, 20]),
            locked: random.pick(&[30, 90, 100]),
            long: random.pick(&[0, 0, 10]),
        }
    }

    /// One command of a client that holds `held` and knows of these webhooks.
    pub fn command(&self, random: &mut Random, held: &[Held], webhooks: &[Arc<str>]) -> Command {
        let some = held.get(random.below(held.len().max(1))).cloned();
        // Nothing but the work itself is done to jobs of these queues.
        let is_own = |queue: &str| [QUIET, TREES, TIMED].contains(&queue) || throttles::is_own(queue);
        let loud = some.as_ref().filter(|held| !is_own(&held.queue));
        let id = self.some_id(random, loud);
        match (random.weighted(&self.kinds), &some) {
            (0, _) | (3..=5, None) => Command::Push { add: self.add(random), replay_of: None },
            (1, _) => Command::PushBulk { adds: (0..1 + random.below(6)).map(|_| self.add(random)).collect() },
            (2, _) => Command::Pull(self.pull(random)),
            (3, Some(held)) => Command::Ack(ack(random, held)),
            (4, Some(held)) => Command::Fail(fail(random, held)),
            (5, Some(held)) => renewal(random, held),
            (6, _) => Command::AckBulk { acks: held.iter().take(4).map(|held| ack(random, held)).collect() },
            (7, _) => Command::Cancel { id },
            (8, _) => self.change(random, id, loud),
            (9, _) => Command::RemoveDeduplicationKey { queue: queue(random), key: self.key(random) },
            (10, _) => sweep(random),
            (11, _) => Command::Dead(dead_letters(random)),
            (12, _) => match random.below(2) {
                0 => Command::Pause { queue: queue(random) },
                _ => Command::Resume { queue: queue(random) },
            },
            (13, _) => trees::flow(random, queue, true),
            (14, _) => self.tree(random),
            (15, _) => {
                let other = self.some_id(random, None);
                trees::change(random, id, other)
            }
            (17, _) => {
                let pull = self.pull(random);
                throttles::work(random, pull)
            }
            (18, _) => {
                let queue = queue(random);
                throttles::change(random, queue)
            }
            (19, _) if random.chance(50) => Command::Pull(Pull { queue: TIMED.into(), ..self.pull(random) }),
            (19, _) => ticks::request(random),
            (20, _) => webhook(random, webhooks),
            _ => self.quiet(random),
        }
    }

    /// A tree to which nothing but its work is ever done, or that work.
    fn tree(&self, random: &mut Random) -> Command {
        match random.chance(60) {
            true => Command::Pull(Pull { queue: TREES.into(), ..self.pull(random) }),
            false => trees::flow(random, |_| TREES.into(), false),
        }
    }

    /// Plain adds with a window, and workers: nothing else ever happens in the quiet queue.
    fn quiet(&self, random: &mut Random) -> Command {
        if random.chance(35) {
            return Command::Pull(Pull { queue: QUIET.into(), ..self.pull(random) });
        }
        let at = random.below(QUIET_KEYS.len());
        let (key, durable) = (QUIET_KEYS[at], at >= 2);
        let ttl = Some(Millis(random.pick(&[400, 5_000, 120_000])));
        let mut spec = NewJob::new(QUIET, "n");
        (spec.dedup.ttl, spec.durable, spec.remove_on_complete) = (ttl, durable, random.chance(50));
        let add = Add { dedup_key: Some(key.into()), data: Some(data(random)), ..Add::new(spec) };
        Command::Push { add, replay_of: None }
    }

    fn add(&self, random: &mut Random) -> Add {
        let mut spec = NewJob::new(queue(random), "n");
        let mut dedup_key = None;
        if random.chance(self.with_key) {
            let ttl = random.chance(self.with_ttl).then(|| Millis(random.pick(&[0, 300, 5_000, 3_600_000])));
            dedup_key = Some(self.key(random));
            spec.dedup = DedupRequest {
                from_hash: false,
                ttl,
                extend: random.chance(self.extend),
                replace: random.chance(self.replace),
                keep_last: random.chance(self.keep_last),
            };
        }
        let custom_id = random.chance(self.with_id).then(|| self.id(random));
        spec.priority = random.pick(&[0, 0, 0, 5, -1]);
        spec.delay = Millis(if random.chance(self.delayed) { random.pick(&[1, 500, 20_000]) } else { 0 });
        spec.max_attempts = random.pick(&[1, 2, 3]);
        spec.lifo = random.chance(10);
        spec.remove_on_complete = random.chance(20);
        spec.remove_on_fail = random.chance(20);
        spec.durable = random.chance(self.durable);
        let depends_on = if random.chance(self.after) { vec![self.id(random)] } else { Vec::new() };
        let timeout = random.chance(self.rare).then(|| Millis(random.pick(&[50, 2_000])));
        let ttl = random.chance(self.rare).then(|| Millis(random.pick(&[100, 30_000])));
        let (parent_id, parent_queue) = match random.chance(self.after) {
            true => (Some(self.id(random)), Some(queue(random))),
            false => (None, None),
        };
        let ignore_dependency_on_failure = parent_id.is_some() && random.chance(50);
        let rare = RareOptions {
            depends_on,
            timeout,
            ttl,
            parent_id,
            parent_queue,
            ignore_dependency_on_failure,
            ..RareOptions::default()
        };
        spec.rare = (rare != RareOptions::default()).then(|| Box::new(rare));
        let data = if random.chance(self.long) { long_data(random) } else { data(random) };
        Add { custom_id, dedup_key, data: Some(data), ..Add::new(spec) }
    }

    fn pull(&self, random: &mut Random) -> Pull {
        let bulk = random.chance(50);
        Pull {
            queue: queue(random),
            count: if bulk { 1 + u32::try_from(random.below(5)).expect("below 5") } else { 1 },
            bulk,
            timeout: Millis(random.pick(&[0, 0, 1_000, 60_000])),
            owner: random.chance(self.locked).then(|| Arc::from("worker")),
            lock_ttl: Millis(random.pick(&[500, 10_000, 30_000])),
            detach: false,
            group: None,
        }
    }

    fn change(&self, random: &mut Random, id: JobId, held: Option<&Held>) -> Command {
        let token = held.filter(|held| held.id == id).and_then(|held| held.token.clone());
        let claim = Claim { id: id.clone(), token };
        match random.below(9) {
            0 => Command::Promote { id },
            1 => Command::ChangePriority { id, priority: 3, lifo: None },
            2 => Command::ChangeDelay { claim, delay: Millis(700) },
            3 => Command::MoveToDelayed { claim, delay: Millis(700) },
            4 => Command::MoveToWait { claim },
            5 => Command::Discard { claim },
            6 => Command::Update { id, data: Some(data(random)) },
            7 => Command::RemoveJobDeduplicationKey { id },
            _ => Command::AddLog { id, message: "seen".to_owned(), level: "info".to_owned() },
        }
    }

    fn some_id(&self, random: &mut Random, held: Option<&Held>) -> JobId {
        match held {
            Some(held) if random.chance(50) => held.id.clone(),
            _ => self.id(random),
        }
    }

    fn id(&self, random: &mut Random) -> JobId {
        JobId::parse(&format!("id{}", random.below(self.ids)))
    }

    fn key(&self, random: &mut Random) -> Arc<str> {
        format!("k{}", random.below(self.keys)).into()
    }
}

fn queue(random: &mut Random) -> Arc<str> {
    random.pick(&QUEUES).into()
}

/// A small MessagePack integer.
fn data(random: &mut Random) -> Payload {
    Arc::from([u8::try_from(random.below(120)).expect("below 120")])
}

/// A MessagePack bin that is written in pieces, a piece a turn.
fn long_data(random: &mut Random) -> Payload {
    let bytes = 2 * PIECE_BYTES + random.below(PIECE_BYTES);
    let head = u32::try_from(bytes).expect("a few pieces").to_be_bytes();
    [0xc6].into_iter().chain(head).chain(std::iter::repeat_n(7, bytes)).collect()
}

fn ack(random: &mut Random, held: &Held) -> Ack {
    // What becomes of trees is followed by their ids.
    let remove = random.chance(10) && *held.queue != *TREES;
    Ack { id: held.id.clone(), token: held.token.clone(), result: Some(data(random)), remove }
}

fn fail(random: &mut Random, held: &Held) -> Fail {
    Fail {
        id: held.id.clone(),
        token: held.token.clone(),
        error: Some("no".to_owned()),
        unrecoverable: random.chance(20),
        stack: Vec::new(),
        remove: false,
    }
}

fn renewal(random: &mut Random, held: &Held) -> Command {
    let claim = Claim { id: held.id.clone(), token: held.token.clone() };
    let duration = Some(Millis(random.pick(&[400, 20_000])));
    // Without a token, ExtendLock changes the lock of whoever holds the job by then (protocol-core.md 7).
    match held.token.is_some() && random.chance(50) {
        true => Command::ExtendLock(Renewal { claim, duration }),
        false => Command::JobHeartbeat(Renewal { claim, duration }),
    }
}

/// A webhook is added, removed, switched, or told of its calls.
fn webhook(random: &mut Random, known: &[Arc<str>]) -> Command {
    let one = known.get(random.below(known.len().max(1))).cloned();
    Command::Webhook(match (random.below(5), one) {
        (0, Some(id)) => webhook::Request::Remove { id },
        (1, Some(id)) => webhook::Request::SetEnabled { id, enabled: random.chance(50) },
        (2, Some(id)) => {
            let (successes, failures) = (random.below(3) as u64, random.below(3) as u64);
            webhook::Request::Called { id, event: None, successes, failures, error: None }
        }
        _ => webhook::Request::Add(webhook::NewWebhook {
            url: "https://hooks.example/a".into(),
            reach: webhook::Reach::World,
            events: vec![random.pick(&webhook::WebhookEvent::ALL)],
            queue: random.chance(50).then(|| queue(random)),
            secret: random.chance(50).then(|| webhook::Secret("secret".into())),
        }),
    })
}

/// Retries by hand, and what is set about retries by themselves, age and number.
fn dead_letters(random: &mut Random) -> dead::Request {
    let queue = queue(random);
    if random.chance(50) {
        return dead::Request::Retry { queue, id: None, count: Some(2), filter: None };
    }
    let patch = DlqPatch {
        auto_retry: Some(random.chance(80)),
        auto_retry_interval: Some(Millis(random.pick(&[0, 300, 5_000, 3_600_000]))),
        max_auto_retries: Some(random.pick(&[0, 1, 3])),
        max_age: Some(random.pick(&[None, Some(Millis(2_000)), Some(Millis(604_800_000))])),
        max_entries: random.chance(30).then(|| random.pick(&[1, 3])),
    };
    dead::Request::Configure { queue, patch }
}

/// Commands about all jobs of a queue.
fn sweep(random: &mut Random) -> Command {
    let queue = queue(random);
    let state = random.pick(&[CleanState::AnyPending, CleanState::Completed, CleanState::Failed]);
    match random.below(5) {
        0 => Command::Drain { queue },
        1 => Command::Obliterate { queue },
        2 => Command::Dead(dead::Request::Purge { queue }),
        3 => Command::RetryCompleted { queue, id: None, count: Some(3), until: None },
        _ => Command::Clean { queue, grace: Millis(random.pick(&[0, 1_000])), state, limit: 5 },
    }
}
