//! What a broker holds, so that before and after a crash can be compared.
//!
//! A restart may change exactly this (dedup.md 7, protocol-core.md 5.10): a job that was running has used an attempt and
//! waits or failed for good, windows and jobs whose time came are gone, and what follows from the failure of a running
//! job may have followed. A dead letter whose time came is gone, or waits again, or has used up its retry.

use crate::settings::Settings;
use onceover_engine::Engine;
use onceover_engine::dead::DlqConfig;
use onceover_engine::dedup::{KeyEntry, Tally};
use onceover_engine::job::{Blob, Job, JobState};
use onceover_engine::names::{EntryId, JobId, JobKey, KeyText, QueueId};
use onceover_engine::time::{Millis, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// All jobs, keys and paused queues.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    jobs: BTreeMap<JobKey, Look>,
    keys: BTreeMap<EntryId, KeyEntry>,
    paused: BTreeSet<Arc<str>>,
    dead_letters: BTreeMap<Arc<str>, DlqConfig>,
    settings: Settings,
}

/// What the time that passed may do to dead letters.
struct Restless {
    now: Timestamp,
    /// An add that was stored with a job may follow.
    may_follow: bool,
    /// Queues that may hold more dead letters than they keep when all running jobs and the parents of such have failed.
    full: BTreeSet<Arc<str>>,
    /// Keys that jobs may take again, by queue and text.
    keys: BTreeSet<(Arc<str>, KeyText)>,
}

#[derive(Clone, Debug)]
struct Look {
    id: JobId,
    queue: Arc<str>,
    state: JobState,
    attempts: u32,
    stall_count: u32,
    max_attempts: u32,
    remove_on_fail: bool,
    /// It waits and has children, of whose failures a restart may tell it.
    may_hear: bool,
    mortal: bool,
    /// The key that it asked for.
    key: Option<KeyText>,
    /// A dead letter: when it is tried once more and when it is forgotten.
    retry_at: Option<Timestamp>,
    expires_at: Option<Timestamp>,
    /// A job that fails for good here is tried once more in the same moment.
    retried_at_once: bool,
    /// An add that follows it is stored with it.
    followed: bool,
    /// Everything else that is stored.
    rest: String,
}

impl Picture {
    /// The engine as it stands.
    #[must_use]
    pub fn of(engine: &Engine) -> Picture {
        let queues = engine.queues();
        let dead_letters: BTreeMap<_, _> = queues.iter().map(|queue| (queue.name.clone(), queue.dlq)).collect();
        // What schedules make is counted by `ticks`: a start may make up for a run.
        let jobs = engine.jobs().filter(|job| job.made_by().is_none());
        let jobs = jobs.map(|job| (job.key, Look::of(engine, &dead_letters, job)));
        let of_schedule = |owner: JobKey| engine.job_by_key(owner).is_some_and(|job| job.made_by().is_some());
        let keys = engine.keys().filter(|entry| !of_schedule(entry.owner));
        let keys = keys.map(|entry| (entry.entry, entry.clone()));
        let paused = queues.iter().filter(|queue| queue.paused).map(|queue| queue.name.clone());
        let settings = Settings::of(engine);
        Picture { jobs: jobs.collect(), keys: keys.collect(), paused: paused.collect(), dead_letters, settings }
    }

    /// How many jobs.
    #[must_use]
    pub fn jobs_len(&self) -> usize {
        self.jobs.len()
    }

    /// Compares `engine`, restored at `now` from what was stored when this picture was taken. `ran_on` = by a process that
    /// lived on.
    ///
    /// # Panics
    /// Something is different that a restart must not change.
    pub fn expect_restored(&self, engine: &Engine, now: Timestamp, ran_on: bool) {
        let after = Picture::of(engine);
        self.settings.expect_restored(&after.settings, now, ran_on);
        assert_eq!(self.paused, after.paused, "a restart changes no paused queue");
        let stored = self.jobs.values().filter(|old| old.followed && (old.mortal || old.state == JobState::Active));
        let may_follow = stored.count();
        let restless = self.restless(now, may_follow > 0);
        for (queue, config) in &after.dead_letters {
            let stored = self.dead_letters.get(queue);
            assert!(stored.is_none_or(|stored| stored == config), "a restart changes no configuration: {queue}");
        }
        for (key, old) in &self.jobs {
            old.expect(after.jobs.get(key), *key, &restless);
        }
        let new: Vec<&Look> =
            after.jobs.iter().filter(|(key, _)| !self.jobs.contains_key(key)).map(|(_, look)| look).collect();
        assert!(new.len() <= may_follow, "a restart makes no jobs: {new:?}");
        for (entry, old) in &self.keys {
            let queue = self.jobs.get(&old.owner).map(|owner| owner.queue.clone());
            let is_restless = queue.is_none_or(|queue| restless.keys.contains(&(queue, old.key.clone())));
            if after.followers(self, old) || (is_restless && restless.has_key(&old.key)) {
                continue;
            }
            self.expect_key(old, after.keys.get(entry), now, may_follow > 0);
        }
        let made = after.keys.values().filter(|entry| !self.keys.contains_key(&entry.entry));
        for entry in made {
            let is_taken_back = may_follow > 0 || restless.has_key(&entry.key);
            assert!(!self.jobs.contains_key(&entry.owner) || is_taken_back, "a restart gives no key away: {entry:?}");
        }
    }

    fn restless(&self, now: Timestamp, may_follow: bool) -> Restless {
        let is_due = |look: &&Look| look.retry_is_due(now) || (look.state == JobState::Active && look.retried_at_once);
        let keys = self.jobs.values().filter(is_due).filter_map(|look| Some((look.queue.clone(), look.key.clone()?)));
        let is_full = |(queue, config): &(&Arc<str>, &DlqConfig)| {
            let may_fail = |look: &&Look| look.may_hear || matches!(look.state, JobState::Failed | JobState::Active);
            let dead = self.jobs.values().filter(may_fail).filter(|look| look.queue == **queue).count();
            config.max_entries.is_some_and(|most| dead > most as usize)
        };
        let full = self.dead_letters.iter().filter(is_full).map(|(queue, _)| queue.clone());
        Restless { now, may_follow, full: full.collect(), keys: keys.collect() }
    }

    /// Whether an add that had been stored with a job has become a job by the restart, and taken this key.
    fn followers(&self, before: &Picture, old: &KeyEntry) -> bool {
        !self.keys.contains_key(&old.entry)
            && self.keys.values().any(|new| new.key == old.key && !before.jobs.contains_key(&new.owner))
    }

    fn expect_key(&self, old: &KeyEntry, new: Option<&KeyEntry>, now: Timestamp, may_follow: bool) {
        let owner = self.jobs.get(&old.owner);
        let Some(new) = new else {
            let ended = old.expires_at().is_some_and(|end| end.is_due(now));
            // A job that was running hands its key to the add stored with it, or ends with it when it fails for good; a
            // job whose own time is over takes its key along (dedup.md 4).
            let gone = owner.is_some_and(|owner| owner.state == JobState::Active || owner.mortal || owner.may_hear);
            assert!(ended || gone, "a key is lost at {now:?}: {old:?}, owner {owner:?}");
            return;
        };
        let plain = |entry: &KeyEntry| KeyEntry { queue: QueueId(0), tally: Tally::made_earlier(), ..entry.clone() };
        assert_eq!(plain(old), plain(new), "a restart changes no key");
        // An add that followed may have met this key, which counts.
        let (before, after) = (old.tally(), new.tally());
        let behind = after.collapsed <= before.collapsed && after.extended <= before.extended;
        assert!(behind || may_follow, "a restart counts nothing that did not happen: {before:?} became {after:?}");
    }
}

impl Restless {
    fn has_key(&self, key: &KeyText) -> bool {
        self.keys.iter().any(|(_, text)| text == key)
    }
}

impl Look {
    fn of(engine: &Engine, dead_letters: &BTreeMap<Arc<str>, DlqConfig>, job: &Job) -> Look {
        let config = dead_letters.get(engine.queue_name(job.queue)).copied().unwrap_or_default();
        let retries = job.rare().and_then(|rare| rare.auto_retries).map_or(0, |retries| retries.count);
        let is_wanted = config.auto_retry && retries < config.max_auto_retries;
        let extra = job.as_stored().extra;
        let rest = format!(
            "{:?} {} {} {} {:?} {:?} {:?} {} {} {} {extra:?}",
            job.spec,
            job.fingerprint,
            job.priority,
            job.lifo,
            job.created_at,
            job.run_at,
            job.completed_at,
            job.progress,
            job.data != Blob::Absent,
            job.result != Blob::Absent,
        );
        let rare = job.spec.rare.as_deref();
        // A job that names its parent need not have been named by it.
        let is_child = |id: &JobId| engine.job(id).is_some_and(|child| child.parent_id() == Some(&job.id));
        let has_children = !job.children_ids().is_empty() || job.depends_on().iter().any(is_child);
        Look {
            id: job.id.clone(),
            queue: Arc::clone(engine.queue_name(job.queue)),
            state: job.state,
            attempts: job.attempts,
            stall_count: job.stall_count,
            max_attempts: job.spec.max_attempts,
            remove_on_fail: job.spec.remove_on_fail,
            may_hear: matches!(job.state, JobState::Queued | JobState::Blocked) && has_children,
            mortal: rare.is_some_and(|rare| rare.ttl.is_some()),
            key: job.dedup_key.clone(),
            retry_at: job.failure().and_then(|failure| failure.next_retry_at).filter(|_| is_wanted),
            expires_at: job.failure().and_then(|failure| failure.expires_at),
            retried_at_once: is_wanted && config.auto_retry_interval == Millis(0),
            followed: job.extra.rare.as_deref().is_some_and(|rare| rare.stored_next.is_some()),
            rest,
        }
    }

    fn retry_is_due(&self, now: Timestamp) -> bool {
        self.retry_at.is_some_and(|at| at.is_due(now))
    }

    fn expect(&self, new: Option<&Look>, key: JobKey, restless: &Restless) {
        let ran = self.state == JobState::Active;
        let retried = self.retry_is_due(restless.now) || (ran && self.retried_at_once);
        let Some(new) = new else {
            let failed = ran && self.remove_on_fail;
            // What waits in the queue can expire there, and what a child's failure sets free as well.
            let may_expire = retried || self.may_hear || matches!(self.state, JobState::Queued | JobState::Active);
            let expired = self.mortal && may_expire;
            let forgotten = self.expires_at.is_some_and(|at| at.is_due(restless.now));
            let may_be_dead = ran || self.may_hear || self.state == JobState::Failed;
            let evicted = restless.full.contains(&self.queue) && may_be_dead;
            // An add that follows may take its key or its id.
            // A child that failed at the restart or expired meanwhile may take its parent with it.
            let followed_child = self.may_hear && self.remove_on_fail;
            let may_go = failed || expired || forgotten || evicted || followed_child || restless.may_follow;
            assert!(may_go, "job {key:?} is lost: {self:?}");
            return;
        };
        assert_eq!((&self.id, &self.queue), (&new.id, &new.queue), "job {key:?} is the same job");
        if self.may_hear && (new.state != self.state || self.retried_at_once) {
            let heard = matches!(new.state, JobState::Queued | JobState::Blocked | JobState::Failed);
            assert!(heard, "job {key:?} heard of a child's failure, and is {:?}", new.state);
            return;
        }
        // It may wait for its dependencies once more.
        if retried && matches!(new.state, JobState::Queued | JobState::Blocked) && new.attempts == 0 {
            return;
        }
        // An add that follows may join it.
        let was_waiting = matches!(self.state, JobState::Queued | JobState::Active | JobState::Blocked);
        let waits_later = was_waiting && new.state == JobState::Blocked;
        if restless.may_follow && waits_later {
            return;
        }
        if !ran {
            assert_eq!(self.state, new.state, "job {key:?} {} did not run, so a restart leaves it", self.id);
            assert_eq!(
                (self.attempts, self.stall_count),
                (new.attempts, new.stall_count),
                "job {key:?} used no attempt"
            );
            // A retry that found the key taken is used up.
            assert!(retried || self.rest == new.rest, "job {key:?} is as it was: {self:?} {new:?}");
            return;
        }
        let used = (self.attempts + 1, self.stall_count + 1);
        assert_eq!((new.attempts, new.stall_count), used, "job {key:?} was running, which used an attempt");
        let failed = new.attempts >= self.max_attempts || new.state == JobState::Failed;
        let wanted = if failed { JobState::Failed } else { JobState::Queued };
        assert_eq!(new.state, wanted, "job {key:?} waits for its next attempt, or had its last");
    }
}
