//! What holds jobs back: concurrency and rate of queues, groups and their turns, judged by what is stored and delivered.
//!
//! While nobody changes a limit, no queue and no group has more active jobs than its limit says, unless it had them before;
//! nothing of a group that is paused or held is delivered; and a rate's bucket gives no more than it can hold and get back.
//! In the queue of turns nothing but adds, pulls and answers of workers happens: no group is served there twice while another
//! one with a ready job waits.

use crate::random::Random;
use onceover_engine::Engine;
use onceover_engine::command::{Add, Command, Group, NewJob, Pull, RareOptions};
use onceover_engine::group::{About, Affinity, GroupLimits, GroupView, GroupWants, Request as GroupRequest};
use onceover_engine::job::{Job, JobState};
use onceover_engine::limit::{Limits, Rate, Request as LimitRequest};
use onceover_engine::names::JobKey;
use onceover_engine::time::{Millis, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The queue in which groups take turns and nothing else holds them back.
pub const TURNS: &str = "turns";
/// The queue in which every pull brings the same limits for each group.
pub const LIMITED: &str = "limited";
/// Jobs of a group at once for every worker there, where nothing is set for the group.
const OWN_CONCURRENCY: u64 = 2;
const GROUPS: [&str; 3] = ["g0", "g1", "g2"];

/// A queue as it stood after the last turn that was committed.
#[derive(Clone, Debug)]
struct Stood {
    limits: Limits,
    active: u64,
    groups: BTreeMap<Arc<str>, GroupView>,
}

/// What was seen so far.
#[derive(Debug, Default)]
pub struct Throttles {
    queues: BTreeMap<Arc<str>, Stood>,
    /// A change of a limit or group may be among what the next turn applies.
    changing: bool,
    /// The number of the last delivery.
    delivered: u64,
    /// Deliveries of each queue since its rate was set or the broker started.
    starts: BTreeMap<Arc<str>, Vec<Timestamp>>,
    /// Nobody holds to the limits any more.
    over: bool,
    /// In the queue of turns: the jobs that were ready,
    ready: BTreeSet<JobKey>,
    /// and those that were active.
    active: BTreeSet<JobKey>,
    /// There: each group with a ready job, and how often the others were served since.
    waiting: BTreeMap<Arc<str>, BTreeMap<Arc<str>, u32>>,
    /// Deliveries that were compared with a limit or with the turns.
    pub checked: u64,
}

impl Throttles {
    /// A client asks for it.
    pub fn asked(&mut self, command: &Command) {
        let changes = matches!(command, Command::Limit(_) | Command::Group(_) | Command::Obliterate { .. });
        self.changing |= changes;
    }

    /// The process ended, or what was done last may not have been stored: nothing is known of what was before.
    pub fn restarted(&mut self) {
        let Throttles { delivered, .. } = self;
        *delivered = 0;
        self.queues.clear();
        self.starts.clear();
        self.waiting.clear();
        self.ready.clear();
        self.active.clear();
        self.changing = false;
    }

    /// The world winds up: whoever takes what is left takes all of it.
    pub fn wind_up(&mut self) {
        self.over = true;
    }

    /// Jobs may have been put back between two deliveries.
    pub fn hung_up(&mut self) {
        self.waiting.clear();
    }

    /// After a turn that was committed.
    ///
    /// # Panics
    /// More was delivered than a limit allows, or a group was passed over.
    pub fn committed(&mut self, engine: &Engine, now: Timestamp) {
        if self.over {
            return;
        }
        let number = |job: &Job| job.delivery.as_ref().map_or(0, |delivery| delivery.number);
        let mut new: Vec<&Job> = engine.jobs().filter(|job| number(job) > self.delivered).collect();
        new.sort_by_key(|job| number(job));
        let delivered_before = self.delivered;
        self.delivered = new.last().map_or(self.delivered, |job| number(job));
        if self.delivered - delivered_before != new.len() as u64 {
            // A job was delivered and put back, delivered again or completed in the same turn: who knows of which group.
            self.waiting.clear();
        }
        for view in engine.queues() {
            let groups = engine.groups(&view.name).map(|group| (group.name.clone(), group)).collect();
            let stands = Stood { limits: view.limits, active: view.counts.active, groups };
            let before = self.queues.insert(view.name.clone(), stands.clone());
            let new: Vec<&Job> = new.iter().filter(|job| job.queue == view.id).copied().collect();
            if let Some(before) = before.filter(|before| !self.changing && before.limits == stands.limits) {
                self.checked += new.len() as u64;
                self.check_rate(&view.name, &stands.limits, &new, now);
                check_limits(&view.name, &before, &stands, &new, now);
            } else {
                self.starts.remove(&view.name);
            }
            if *view.name == *TURNS {
                self.check_turns(engine, &new, delivered_before, now);
            }
        }
        self.changing = false;
    }

    /// A bucket of `max` tokens that gets as many back in `duration`.
    fn check_rate(&mut self, queue: &Arc<str>, limits: &Limits, new: &[&Job], now: Timestamp) {
        let Some(Rate { max, duration }) = limits.rate.filter(|_| limits.temporary.is_none()) else { return };
        let starts = self.starts.entry(queue.clone()).or_default();
        starts.extend(new.iter().map(|_| now));
        let longest = starts.len().saturating_sub(100);
        starts.drain(..longest);
        for (at, start) in starts.iter().enumerate() {
            let taken = (starts.len() - at) as u64;
            let back = max.saturating_mul(now.since(*start).0.max(0).unsigned_abs()) / duration.0.unsigned_abs();
            assert!(
                taken <= max + back,
                "{queue}: {taken} starts since {start:?} at {now:?} under {max} per {duration:?}"
            );
        }
    }

    fn check_turns(&mut self, engine: &Engine, new: &[&Job], delivered_before: u64, now: Timestamp) {
        // A group whose ready job left without being delivered (it completed late) has lost its turn; one that was removed
        // with its completion may have been late.
        let was_taken = |job: &Job| job.delivery.as_ref().is_some_and(|delivery| delivery.number > delivered_before);
        let stayed = |job: &Job| job.state == JobState::Queued || was_taken(job);
        let is_late =
            |job: &&Job| *job.spec.queue == *TURNS && job.completed_at == Some(now) && job.started_at.is_none();
        let is_gone = |key: &JobKey| engine.job_by_key(*key).is_none();
        let has_late = engine.jobs().any(|job| is_late(&job)) || self.active.iter().any(is_gone);
        if has_late || !self.ready.iter().all(|key| engine.job_by_key(*key).is_some_and(stayed)) {
            self.waiting.clear();
        }
        let group = |job: &Job| job.group().cloned();
        for served in new.iter().filter_map(|job| group(job)) {
            self.waiting.remove(&served);
            for (waiting, others) in &mut self.waiting {
                let times = others.entry(served.clone()).or_default();
                *times += 1;
                assert!(*times == 1, "group {served} is served again at {now:?} while {waiting} waits");
            }
        }
        let is_ready =
            |job: &&Job| *job.spec.queue == *TURNS && job.state == JobState::Queued && job.run_at.is_due(now);
        self.ready = engine.jobs().filter(is_ready).map(|job| job.key).collect();
        let is_active = |job: &&Job| *job.spec.queue == *TURNS && job.state == JobState::Active;
        self.active = engine.jobs().filter(is_active).map(|job| job.key).collect();
        let ready: Vec<Arc<str>> = engine.jobs().filter(is_ready).filter_map(group).collect();
        self.waiting.retain(|group, _| ready.contains(group));
        for group in ready {
            self.waiting.entry(group).or_default();
        }
    }
}

fn check_limits(queue: &str, before: &Stood, stands: &Stood, new: &[&Job], now: Timestamp) {
    if let Some(most) = stands.limits.concurrency {
        let allowed = most.max(before.active);
        assert!(stands.active <= allowed, "{queue}: {} active at {now:?}, {allowed} are allowed", stands.active);
    }
    for (name, group) in &stands.groups {
        let settings = group.settings;
        let was = before.groups.get(name);
        if settings.paused || settings.held_until.is_some_and(|end| !end.is_due(now)) {
            let delivered = new.iter().any(|job| job.group() == Some(name));
            assert!(!delivered, "{queue}: a job of group {name} was delivered at {now:?}: {settings:?}");
        }
        if queue == LIMITED {
            let most = settings.concurrency.unwrap_or(OWN_CONCURRENCY).max(was.map_or(0, |was| was.active));
            assert!(group.active <= most, "{queue}: {} of group {name} are active, {most} are allowed", group.active);
        }
    }
}

/// Whether nothing but work is done to jobs of this queue.
pub fn is_own(queue: &str) -> bool {
    queue == TURNS || queue == LIMITED
}

/// A job of a group.
fn grouped(random: &mut Random, queue: &str) -> Command {
    let group = Group { id: random.pick(&GROUPS).into(), max_size: random.chance(10).then_some(4) };
    let rare = RareOptions { group: Some(group), ..RareOptions::default() };
    let spec = NewJob { rare: Some(Box::new(rare)), max_attempts: 2, ..NewJob::new(queue, "n") };
    Command::Push { add: Add::new(spec), replay_of: None }
}

/// Adds and pulls in the two queues of this file.
pub fn work(random: &mut Random, pull: Pull) -> Command {
    let queue = random.pick(&[TURNS, LIMITED]);
    if random.chance(45) {
        return grouped(random, queue);
    }
    let limits = GroupLimits { concurrency: Some(OWN_CONCURRENCY), rate: None };
    let group = (queue == LIMITED).then(|| Arc::new(GroupWants { affinity: Affinity::Any, limits }));
    // Whoever holds no lock could complete a job that has been delivered to somebody else.
    let owner = pull.owner.or_else(|| Some("worker".into()));
    Command::Pull(Pull { queue: queue.into(), group, owner, ..pull })
}

/// A change of what holds a queue or a group back.
pub fn change(random: &mut Random, queue: Arc<str>) -> Command {
    let queue = if random.chance(60) { LIMITED.into() } else { queue };
    let rate = Rate { max: random.pick(&[0, 1, 3]) as u64, duration: Millis(random.pick(&[400, 5_000])) };
    if random.chance(50) {
        return Command::Limit(match random.below(6) {
            0 => LimitRequest::SetRate { queue, rate, ttl: Some(Millis(random.pick(&[300, 6_000]))) },
            1 => LimitRequest::SetRate { queue, rate, ttl: None },
            2 => LimitRequest::ClearRate { queue },
            3 => LimitRequest::SetConcurrency { queue, limit: random.below(4) as u64 },
            4 => LimitRequest::ClearConcurrency { queue },
            _ => LimitRequest::Get { queue, max_jobs: None },
        });
    }
    let rate = Rate { max: rate.max.max(1), ..rate };
    let about = match random.below(8) {
        0 | 1 => About::Pause,
        2 | 3 => About::Resume,
        4 => About::Hold(Millis(random.pick(&[300, 6_000]))),
        5 => About::SetConcurrency(1 + random.below(3) as u64),
        6 => About::SetRate(rate),
        _ => random.pick(&[About::RemoveConcurrency, About::RemoveRate]),
    };
    Command::Group(GroupRequest::Of { queue, group: random.pick(&GROUPS).into(), about })
}

/// Everything that holds jobs back for good is taken away.
pub fn let_go(engine: &Engine) -> Vec<Command> {
    let mut all = Vec::new();
    for view in engine.queues() {
        let queue = view.name;
        for group in engine.groups(&queue).filter(|group| group.settings.paused) {
            let (queue, group) = (queue.clone(), group.name);
            all.push(Command::Group(GroupRequest::Of { queue, group, about: About::Resume }));
        }
        all.push(Command::Limit(LimitRequest::ClearRate { queue: queue.clone() }));
        all.push(Command::Limit(LimitRequest::ClearConcurrency { queue }));
    }
    all
}
