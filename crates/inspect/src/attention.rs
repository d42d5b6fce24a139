//! What about a key deserves a look (gui.md 3.3): its codes, and the words for them.
//!
//! Codes are found for every key of a page's pass over all keys, so they are cheap and without text; the words are made for
//! the rows that are shown. Worst first everywhere.

use crate::view::{Attention, AttentionCode, Severity};
use crate::words::{code, duration, plural, short_id};
use onceover_broker::CoreView;
use onceover_engine::dedup::{DedupWindow, KeyEntry};
use onceover_engine::job::{Delivery, Job};
use onceover_engine::limits::SWEEP_EVERY;
use onceover_engine::names::QueueId;
use onceover_engine::time::{Millis, Timestamp};
use std::sync::Arc;

/// A worker with a lease that was silent this long has left.
const SILENT_MAX: Millis = Millis(20_000);
/// A job that was ready this long in a queue without workers shows that nobody takes it.
const UNTAKEN_MAX: Millis = Millis(30_000);
/// Changes of the owner or of its window after which a job that never started is starving.
const PUSHED_BACK_MAX: u64 = 50;
/// A key without TTL whose owner runs later than this is held for long.
const LONG_HOLD: Millis = Millis(3_600_000);
/// Leases lost from which on it is said.
const LEASES_LOST_MIN: u32 = 2;

/// All codes, worst first.
const CODES: [AttentionCode; 10] = [
    AttentionCode::OwnerMissing,
    AttentionCode::OwnerEnded,
    AttentionCode::WorkerGone,
    AttentionCode::LeaseLost,
    AttentionCode::Twin,
    AttentionCode::NoWorker,
    AttentionCode::Starving,
    AttentionCode::Paused,
    AttentionCode::LongHold,
    AttentionCode::DataLost,
];

/// A set of codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Codes(u16);

impl Codes {
    fn add(&mut self, code: AttentionCode, when: bool) {
        let place = CODES.iter().position(|other| *other == code).expect("every code is in the list of all codes");
        self.0 |= u16::from(when) << place;
    }

    /// Whether there is nothing to look at.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The codes, worst first.
    pub fn iter(self) -> impl Iterator<Item = AttentionCode> {
        CODES.into_iter().enumerate().filter(move |(place, _)| self.0 >> place & 1 == 1).map(|(_, code)| code)
    }

    /// Place of the worst code among all codes; the lower, the worse.
    pub fn worst(self) -> u32 {
        self.0.trailing_zeros()
    }

    /// 0 for nothing, then as bad as its worst code.
    pub fn rank(self) -> u8 {
        match self.iter().next().map(severity) {
            None => 0,
            Some(Severity::Info) => 1,
            Some(Severity::Warn) => 2,
            Some(Severity::Error) => 3,
        }
    }
}

/// How bad a code is.
pub fn severity(code: AttentionCode) -> Severity {
    match code {
        AttentionCode::OwnerMissing | AttentionCode::OwnerEnded => Severity::Error,
        AttentionCode::WorkerGone
        | AttentionCode::LeaseLost
        | AttentionCode::Twin
        | AttentionCode::NoWorker
        | AttentionCode::Starving => Severity::Warn,
        AttentionCode::Paused | AttentionCode::LongHold | AttentionCode::DataLost => Severity::Info,
    }
}

/// The code in the word that filters and the wire use.
pub fn code_word(code: AttentionCode) -> &'static str {
    match code {
        AttentionCode::OwnerMissing => "owner_missing",
        AttentionCode::OwnerEnded => "owner_ended",
        AttentionCode::WorkerGone => "worker_gone",
        AttentionCode::LeaseLost => "lease_lost",
        AttentionCode::Twin => "twin",
        AttentionCode::NoWorker => "no_worker",
        AttentionCode::Paused => "paused",
        AttentionCode::Starving => "starving",
        AttentionCode::LongHold => "long_hold",
        AttentionCode::DataLost => "data_lost",
    }
}

/// A queue as far as its keys' health depends on it.
#[derive(Clone, Debug)]
pub struct QueueFacts {
    /// Its name.
    pub name: Arc<str>,
    /// Nothing is taken from it.
    pub paused: bool,
    /// Somebody works on it or waits for its jobs.
    pub has_worker: bool,
}

/// Looks at keys; made once per question, so that queues are asked once.
pub struct Looker<'a> {
    core: &'a CoreView<'a>,
    now: Timestamp,
    window: DedupWindow,
    /// By number of the queue, which are few and dense.
    queues: Vec<Option<QueueFacts>>,
}

impl<'a> Looker<'a> {
    /// Looks as things stand now.
    pub fn new(core: &'a CoreView<'a>) -> Looker<'a> {
        let engine = core.engine;
        let mut queues: Vec<Option<QueueFacts>> = Vec::new();
        for queue in engine.queues().into_iter().filter(|queue| queue.keys > 0) {
            let has_worker = queue.parked > 0
                || queue.counts.active > 0
                || engine.workers().any(|worker| worker.queues.contains(&queue.name));
            let place = queue.id.0 as usize;
            if queues.len() <= place {
                queues.resize(place + 1, None);
            }
            queues[place] = Some(QueueFacts { name: queue.name, paused: queue.paused, has_worker });
        }
        Looker { core, now: core.now, window: engine.config().dedup_window, queues }
    }

    /// The queue of a key.
    pub fn queue(&self, queue: QueueId) -> &QueueFacts {
        self.queues[queue.0 as usize].as_ref().expect("a queue with a key is listed and was asked")
    }

    /// What there is to look at.
    pub fn codes(&self, entry: &KeyEntry, owner: Option<&Job>) -> Codes {
        let mut codes = Codes::default();
        let may_outlive = entry.expires_at().is_some() && self.window == DedupWindow::Ttl;
        let queue = self.queue(entry.queue);
        codes.add(AttentionCode::OwnerMissing, owner.is_none() && !may_outlive);
        codes.add(AttentionCode::DataLost, entry.tally().data_differs > 0);
        codes.add(AttentionCode::Twin, self.has_twins(entry, queue));
        let Some(job) = owner else { return codes };
        codes.add(AttentionCode::OwnerEnded, !job.is_live() && !may_outlive);
        if !job.is_live() {
            return codes;
        }
        let tally = entry.tally();
        let ready = job.delivery.is_none() && job.run_at.is_due(self.now);
        let untaken = ready && tally.collapsed > 0 && self.now.since(job.run_at) >= UNTAKEN_MAX;
        codes.add(AttentionCode::WorkerGone, self.worker_left_at(job).is_some());
        codes.add(AttentionCode::LeaseLost, job.stall_count >= LEASES_LOST_MIN);
        codes.add(AttentionCode::NoWorker, untaken && !queue.paused && !queue.has_worker);
        codes.add(AttentionCode::Paused, untaken && queue.paused);
        let pushed_back = tally.replaced.max(tally.extended) > PUSHED_BACK_MAX;
        codes.add(AttentionCode::Starving, pushed_back && job.started_at.is_none());
        let runs_late = job.delivery.is_none() && job.run_at.since(self.now) > LONG_HOLD;
        codes.add(AttentionCode::LongHold, entry.expires_at().is_none() && runs_late);
        codes
    }

    /// A key that was never freed has none; asking that first spares the search for most keys.
    fn has_twins(&self, entry: &KeyEntry, queue: &QueueFacts) -> bool {
        self.core.engine.freed(&queue.name, &entry.key).is_some() && !self.core.engine.twins(entry).is_empty()
    }

    /// Since when the worker of an active job has been gone. A worker without a lease owes no sign of life while it is
    /// connected.
    pub fn worker_left_at(&self, job: &Job) -> Option<Timestamp> {
        let delivery = job.delivery.as_deref()?;
        if delivery.conn.is_none() {
            return Some(delivery.conn_lost_at.unwrap_or(job.last_heartbeat));
        }
        let silent = self.now.since(job.last_heartbeat) > SILENT_MAX;
        (silent && delivery.lock.is_some()).then_some(job.last_heartbeat)
    }

    /// The words, worst first.
    pub fn words(&self, entry: &KeyEntry, owner: Option<&Job>, codes: Codes) -> Vec<Attention> {
        codes.iter().map(|attention| self.word(attention, entry, owner)).collect()
    }

    fn word(&self, attention: AttentionCode, entry: &KeyEntry, owner: Option<&Job>) -> Attention {
        let (key, queue) = (code(&entry.key), code(&self.queue(entry.queue).name));
        let holder = short_id(&entry.owner_id);
        let absorbed = format!("{} absorbed meanwhile.", adds_were(entry.tally().collapsed));
        let run_at = owner.map_or(entry.registered_at, |job| job.run_at);
        let last_add = entry.tally().last.map_or(entry.registered_at, |last| last.at);
        let (title, text, since) = match attention {
            AttentionCode::OwnerMissing => (
                "Held by a job that is gone".to_owned(),
                "Adds with `extend` are refused although nothing is queued. This is a fault of the broker; releasing the key helps."
                    .to_owned(),
                entry.registered_at,
            ),
            AttentionCode::OwnerEnded => (
                "Its owner ended, the key stayed".to_owned(),
                format!("{holder} has ended. Releasing the key lets the next add through."),
                owner.map_or(entry.registered_at, ended_at),
            ),
            AttentionCode::WorkerGone => {
                let since = owner.and_then(|job| self.worker_left_at(job)).unwrap_or(entry.registered_at);
                ("Owner is active but its worker left".to_owned(), self.healing(owner), since)
            }
            AttentionCode::LeaseLost => {
                let (lost, more) = owner.map_or((0, 0), |job| (job.stall_count, job.spec.max_attempts.saturating_sub(job.attempts)));
                let text = format!("{more} more and it fails for good.");
                (format!("This job lost its worker {}", plural(u64::from(lost), "time")), text, last_sign(owner, entry))
            }
            AttentionCode::Twin => {
                let others = self.core.engine.twins(entry);
                let ids = others.iter().filter_map(|key| self.core.engine.job_by_key(*key)).map(|job| short_id(&job.id));
                let ids: Vec<String> = ids.take(3).collect();
                let text = format!("Only {holder} holds it; {} can run beside it.", ids.join(", "));
                (format!("{} live jobs carry {key}", others.len() + 1), text, entry.registered_at)
            }
            AttentionCode::NoWorker => (format!("Nobody takes jobs from {queue}"), absorbed, run_at),
            AttentionCode::Paused => (format!("{queue} is paused"), absorbed, run_at),
            AttentionCode::Starving => {
                let (word, times) = match entry.tally().replaced >= entry.tally().extended {
                    true => ("Replaced", entry.tally().replaced),
                    false => ("Extended", entry.tally().extended),
                };
                let title = format!("{word} {} and never ran", plural(times, "time"));
                (title, "Each add pushes it back.".to_owned(), entry.registered_at)
            }
            AttentionCode::LongHold => {
                let text = format!("Its owner runs in {}.", duration(run_at.since(self.now)));
                ("No TTL: holds until its owner ends".to_owned(), text, entry.registered_at)
            }
            AttentionCode::DataLost => {
                let number = entry.tally().data_differs;
                let were = if number == 1 { "was" } else { "were" };
                let title = format!("{} with other data {were} absorbed", plural(number, "add"));
                (title, "That data is gone; only its add in the log has it.".to_owned(), last_add)
            }
        };
        let heals_at = match attention {
            AttentionCode::WorkerGone => self.heals_at(owner).map(|at| at.0),
            _ => None,
        };
        Attention { code: attention, severity: severity(attention), title, text, since: since.0, heals_at }
    }

    /// When a job without a worker comes back by itself.
    fn heals_at(&self, owner: Option<&Job>) -> Option<Timestamp> {
        let job = owner?;
        heals_at(job, job.delivery.as_deref()?, self.core, &self.queue(job.queue).name)
    }

    /// Whether and when a job without a worker comes back by itself.
    fn healing(&self, owner: Option<&Job>) -> String {
        match self.heals_at(owner) {
            Some(at) => format!("Heals by itself in about {}.", duration(at.since(self.now))),
            None => "It does not heal by itself: the queue looks for no stalled jobs.".to_owned(),
        }
    }
}

/// A lease that ran out is found by the next sweep; a silent job without one by stall detection, which looks twice.
fn heals_at(job: &Job, delivery: &Delivery, core: &CoreView<'_>, queue: &str) -> Option<Timestamp> {
    if let Some(lock) = &delivery.lock {
        return Some(lock.expires_at.plus(SWEEP_EVERY));
    }
    let stall = core.engine.queues().into_iter().find(|view| *view.name == *queue)?.stall;
    let interval = job.spec.rare.as_ref().and_then(|rare| rare.stall_timeout).unwrap_or(stall.stall_interval);
    stall.enabled.then(|| job.last_heartbeat.plus(interval).plus(SWEEP_EVERY).plus(SWEEP_EVERY))
}

/// When a finished job ended.
pub fn ended_at(job: &Job) -> Timestamp {
    let failed = job.failure().map(|failure| failure.entered_at);
    job.completed_at.or(failed).unwrap_or(job.created_at)
}

fn last_sign(owner: Option<&Job>, entry: &KeyEntry) -> Timestamp {
    owner.map_or(entry.registered_at, |job| job.last_heartbeat)
}

fn adds_were(number: u64) -> String {
    format!("{} {}", plural(number, "add"), if number == 1 { "was" } else { "were" })
}
