//! What a broker holds, so that before and after a crash can be compared.
//!
//! A restart may change exactly this (dedup.md 7, protocol-core.md 5.10): a job that was running has used an attempt and
//! waits or failed for good, windows and jobs whose time came are gone, and what follows from the failure of a running
//! job may have followed.

use onceover_engine::Engine;
use onceover_engine::dedup::KeyEntry;
use onceover_engine::job::{Blob, Job, JobState};
use onceover_engine::names::{EntryId, JobId, JobKey, QueueId};
use onceover_engine::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// All jobs, keys and paused queues.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    jobs: BTreeMap<JobKey, Look>,
    keys: BTreeMap<EntryId, KeyEntry>,
    paused: BTreeSet<Arc<str>>,
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
    mortal: bool,
    /// An add that follows it is stored with it.
    followed: bool,
    /// Everything else that is stored.
    rest: String,
}

impl Picture {
    /// The engine as it stands.
    #[must_use]
    pub fn of(engine: &Engine) -> Picture {
        let jobs = engine.jobs().map(|job| (job.key, Look::of(engine, job)));
        let keys = engine.keys().map(|entry| (entry.entry, entry.clone()));
        let paused = engine.queues().into_iter().filter(|queue| queue.paused).map(|queue| queue.name);
        Picture { jobs: jobs.collect(), keys: keys.collect(), paused: paused.collect() }
    }

    /// How many jobs.
    #[must_use]
    pub fn jobs_len(&self) -> usize {
        self.jobs.len()
    }

    /// Compares `engine`, restored at `now` from what was stored when this picture was taken.
    ///
    /// # Panics
    /// Something is different that a restart must not change.
    pub fn expect_restored(&self, engine: &Engine, now: Timestamp) {
        let after = Picture::of(engine);
        assert_eq!(self.paused, after.paused, "a restart changes no paused queue");
        let stored = self.jobs.values().filter(|old| old.followed && (old.mortal || old.state == JobState::Active));
        let may_follow = stored.count();
        for (key, old) in &self.jobs {
            old.expect(after.jobs.get(key), *key, may_follow > 0);
        }
        let new: Vec<&Look> =
            after.jobs.iter().filter(|(key, _)| !self.jobs.contains_key(key)).map(|(_, look)| look).collect();
        assert!(new.len() <= may_follow, "a restart makes no jobs: {new:?}");
        for (entry, old) in &self.keys {
            if after.followers(self, old) {
                continue;
            }
            self.expect_key(old, after.keys.get(entry), now, may_follow > 0);
        }
        let made = after.keys.values().filter(|entry| !self.keys.contains_key(&entry.entry));
        for entry in made {
            assert!(!self.jobs.contains_key(&entry.owner) || may_follow > 0, "a restart gives no key away: {entry:?}");
        }
    }

    /// Whether an add that had been stored with a job has become a job by the restart, and taken this key.
    fn followers(&self, before: &Picture, old: &KeyEntry) -> bool {
        !self.keys.contains_key(&old.entry)
            && self.keys.values().any(|new| new.key == old.key && !before.jobs.contains_key(&new.owner))
    }

    fn expect_key(&self, old: &KeyEntry, new: Option<&KeyEntry>, now: Timestamp, may_follow: bool) {
        let owner = self.jobs.get(&old.owner);
        let Some(new) = new else {
            let ended = old.expires_at.is_some_and(|end| end.is_due(now));
            // A job that was running hands its key to the add stored with it, or ends with it when it fails for good; a
            // job whose own time is over takes its key along (dedup.md 4).
            let gone = owner.is_some_and(|owner| owner.state == JobState::Active || owner.mortal);
            assert!(ended || gone, "a key is lost at {now:?}: {old:?}, owner {owner:?}");
            return;
        };
        let plain = KeyEntry { queue: QueueId(0), ..new.clone() };
        // An add that followed may have met this key, which counts.
        let behind = new.tally.collapsed <= old.tally.collapsed && new.tally.extended <= old.tally.extended;
        assert!(behind || may_follow, "a restart counts nothing that did not happen: {old:?} became {new:?}");
        let tally = new.tally.clone();
        assert_eq!(KeyEntry { queue: QueueId(0), tally, ..old.clone() }, plain, "a restart changes no key");
    }
}

impl Look {
    fn of(engine: &Engine, job: &Job) -> Look {
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
        Look {
            id: job.id.clone(),
            queue: Arc::clone(engine.queue_name(job.queue)),
            state: job.state,
            attempts: job.attempts,
            stall_count: job.stall_count,
            max_attempts: job.spec.max_attempts,
            remove_on_fail: job.spec.remove_on_fail,
            mortal: rare.is_some_and(|rare| rare.ttl.is_some()),
            followed: job.extra.rare.as_deref().is_some_and(|rare| rare.stored_next.is_some()),
            rest,
        }
    }

    fn expect(&self, new: Option<&Look>, key: JobKey, may_follow: bool) {
        let ran = self.state == JobState::Active;
        let Some(new) = new else {
            let failed = ran && self.remove_on_fail;
            let expired = self.mortal && matches!(self.state, JobState::Queued | JobState::Active);
            // An add that follows may take its key or its id.
            assert!(failed || expired || may_follow, "job {key:?} is lost: {self:?}");
            return;
        };
        assert_eq!((&self.id, &self.queue), (&new.id, &new.queue), "job {key:?} is the same job");
        if !ran {
            assert_eq!(self.state, new.state, "job {key:?} {} did not run, so a restart leaves it", self.id);
            assert_eq!(
                (self.attempts, self.stall_count),
                (new.attempts, new.stall_count),
                "job {key:?} used no attempt"
            );
            assert_eq!(self.rest, new.rest, "job {key:?} is as it was");
            return;
        }
        let used = (self.attempts + 1, self.stall_count + 1);
        assert_eq!((new.attempts, new.stall_count), used, "job {key:?} was running, which used an attempt");
        let failed = new.attempts >= self.max_attempts || new.state == JobState::Failed;
        let wanted = if failed { JobState::Failed } else { JobState::Queued };
        assert_eq!(new.state, wanted, "job {key:?} waits for its next attempt, or had its last");
    }
}
