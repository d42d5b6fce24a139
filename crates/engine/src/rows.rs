//! From rows to an engine (dedup.md 7 and 13): ended windows stay ended, only the stored owner owns, nothing starts anew.

use crate::change::{EndRow, JobRow, KeyRow, QueueSettings, RestoreError, Snapshot};
use crate::dedup::KeyEntry;
use crate::effects::Effects;
use crate::engine::{Engine, EngineConfig};
use crate::flow_wait::Ending;
use crate::job::{Blob, Job, JobState};
use crate::names::{JobId, JobKey, QueueId};
use crate::schedule::Schedule;
use crate::time::Timestamp;
use std::sync::Arc;

fn cannot_be(message: String) -> Result<(), RestoreError> {
    Err(RestoreError { message })
}

/// An engine that takes its rows in, part by part: a store need not hold all of them at once.
///
/// Settings, completed ids and ends come before jobs, and jobs before keys.
#[derive(Debug)]
pub struct Restoring {
    engine: Engine,
    now: Timestamp,
    were_active: Vec<JobKey>,
    /// Made when their jobs are there.
    schedules: Vec<Schedule>,
    taken_lists: Vec<JobKey>,
    ran_on: bool,
    failed: Option<RestoreError>,
}

impl Restoring {
    /// Nothing was read yet. `seed` feeds ids, tokens and jitter.
    pub fn new(config: EngineConfig, seed: u64, now: Timestamp) -> Restoring {
        let engine = Engine::new(config, seed);
        let (were_active, schedules, taken_lists) = (Vec::new(), Vec::new(), Vec::new());
        Restoring { engine, now, were_active, schedules, taken_lists, ran_on: false, failed: None }
    }

    /// Takes some rows in. After one that cannot be true, which `finish` names, nothing more is looked at.
    pub fn take(&mut self, rows: Snapshot) {
        if self.failed.is_none() {
            self.failed = self.try_take(rows).err();
        }
    }

    fn try_take(&mut self, rows: Snapshot) -> Result<(), RestoreError> {
        let Snapshot {
            jobs,
            keys,
            queues,
            groups,
            webhooks,
            reserved,
            ends,
            completed_ids,
            schedules,
            taken_lists,
            ran_on,
        } = rows;
        let Restoring { engine, now, .. } = self;
        engine.next_at_least(reserved);
        webhooks.into_iter().for_each(|webhook| engine.webhooks.insert(webhook));
        engine.load_queues(queues);
        for row in groups {
            engine.load_group(&row.queue, &row.group, row.settings);
        }
        for (key, id) in completed_ids {
            engine.completed_ids.insert(key, JobId::parse(&id));
        }
        for row in ends {
            engine.load_end(row);
        }
        engine.jobs.reserve(jobs.len());
        engine.keys.reserve(keys.len());
        for row in jobs {
            if row.job.state == JobState::Active {
                self.were_active.push(row.job.key);
            }
            engine.load_job(row, *now)?;
            engine.dirty.was_read();
        }
        for row in keys {
            engine.load_key(row)?;
            engine.dirty.was_read();
        }
        self.schedules.extend(schedules);
        self.taken_lists.extend(taken_lists);
        self.ran_on |= ran_on;
        Ok(())
    }

    /// All rows were taken in. Formerly active jobs are put back or fail for good; `effects` carries what followed from
    /// that. Loading twice changes nothing more (dedup.md 13).
    ///
    /// # Errors
    /// A row that cannot be true, named.
    pub fn finish(self, effects: &mut Effects) -> Result<Engine, RestoreError> {
        let Restoring { mut engine, now, were_active, schedules, taken_lists, ran_on, failed } = self;
        failed.map_or(Ok(()), Err)?;
        engine.load_limits(now);
        engine.load_schedules(schedules)?;
        // What was read stands in the file already; what follows must be written.
        engine.dirty = crate::dirty::Dirty::default();
        // Their jobs are put back below.
        taken_lists.into_iter().for_each(|list| engine.dirty.list_gone(list));
        engine.drop_ended_keys(now);
        engine.settle_ends(now);
        if !ran_on {
            engine.skip_missed_runs(now);
        }
        for key in were_active {
            // What the end of an earlier one brought about may have replaced this one.
            if engine.jobs.get(key).is_some() {
                engine.recover_active(key, now, effects);
            }
        }
        // Fewer may be kept than by the broker that wrote the file.
        let queues: Vec<QueueId> = engine.queues.iter().map(|queue| queue.id).collect();
        queues.into_iter().for_each(|queue| engine.evict_dead(queue, now));
        engine.settle(now, effects);
        Ok(engine)
    }
}

impl Engine {
    /// In order of registration.
    fn load_queues(&mut self, mut queues: Vec<(Arc<str>, QueueSettings)>) {
        queues.sort_by(|(name, one), (other, two)| (one.place, name).cmp(&(two.place, other)));
        for (name, settings) in queues {
            let id = self.queues.ensure(&name);
            self.queues.restore(id, settings);
        }
    }

    fn load_job(&mut self, row: JobRow, now: Timestamp) -> Result<(), RestoreError> {
        let JobRow { mut job, queue } = row;
        if let Some(other) = self.jobs.by_id(&job.id) {
            return cannot_be(format!("jobs {} and {} have the same id {}", other.key.0, job.key.0, job.id));
        }
        if self.jobs.get(job.key).is_some() {
            return cannot_be(format!("job {} is there twice", job.key.0));
        }
        if (job.state == JobState::Failed) != job.failure().is_some() {
            return cannot_be(format!("job {} is a dead letter in one column and none in another", job.key.0));
        }
        self.never_again(job.key.0);
        job.queue = self.queues.ensure(&queue);
        self.queues.register(job.queue);
        job.spec = self.queues.get_mut(job.queue).shared(&job.spec);
        job.delivery = None;
        if let Some(rare) = job.extra.rare.as_deref_mut() {
            rare.unresolved.sort_unstable();
            rare.unresolved.dedup();
        }
        if job.state == JobState::Active {
            job.state = JobState::Queued;
        }
        let key = job.key;
        self.jobs.insert(job);
        self.enter(key, now);
        Ok(())
    }

    /// Jobs come later: those that wait for something count what is still open.
    fn load_end(&mut self, row: EndRow) {
        let EndRow { job, dependency, end } = row;
        self.never_again(end.number);
        if let Ending::Value(child) = end.ending {
            self.hold_result(child, job);
        }
        self.families.entry(job).or_default().ends.insert(JobId::parse(&dependency), end);
    }

    /// Results without their jobs lie in the file; what belongs to a job that is not there is dropped.
    fn settle_ends(&mut self, now: Timestamp) {
        for (key, held) in &mut self.held {
            if self.jobs.get(*key).is_none() {
                held.orphan = Some(Blob::OnDisk);
            }
        }
        let mut stray: Vec<JobKey> =
            self.families.keys().filter(|key| self.jobs.get(**key).is_none()).copied().collect();
        stray.sort_unstable();
        stray.into_iter().for_each(|key| self.drop_family(key));
        let is_done = |job: &&Job| {
            let waits = job.rare().is_some_and(|rare| !rare.unresolved.is_empty());
            job.state == JobState::Blocked && waits && self.families.get(&job.key).is_none_or(|family| family.open == 0)
        };
        let mut done: Vec<JobKey> = self.jobs.iter().filter(is_done).map(|job| job.key).collect();
        done.sort_unstable();
        done.into_iter().for_each(|key| self.unblock(key, now));
    }

    fn load_key(&mut self, row: KeyRow) -> Result<(), RestoreError> {
        let queue = self.queues.ensure(&row.queue);
        let entry = KeyEntry { queue, ..row.entry };
        self.never_again(entry.entry.0);
        self.never_again(entry.owner.0);
        if self.keys.find(queue, &entry.key).is_some() {
            return cannot_be(format!("the key {} is in queue {} twice", entry.key, row.queue));
        }
        self.link_key(entry);
        Ok(())
    }

    /// Windows that ended while nobody ran, and keys without a window whose owner is not live.
    fn drop_ended_keys(&mut self, now: Timestamp) {
        let ended = self.keys.iter().filter(|entry| match entry.expires_at() {
            Some(end) => end.is_due(now),
            None => !self.jobs.get(entry.owner).is_some_and(Job::is_live),
        });
        let ended: Vec<_> = ended.map(|entry| entry.entry).collect();
        for entry in ended {
            self.free_key(entry, crate::dedup::FreedBy::WindowEnded, now);
        }
    }

    /// The number was given out: the next one is higher.
    fn never_again(&mut self, number: u64) {
        self.next_at_least(number + 1);
    }
}
