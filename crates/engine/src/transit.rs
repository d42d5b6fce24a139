//! How a job leaves one place and enters another. Every change of state is `leave`, change, `enter`; nothing else touches the
//! sets, the timers of queued jobs, or the index of who depends on whom.

use crate::command::StateName;
use crate::dedup::FreedBy;
use crate::effects::Effects;
use crate::engine::Engine;
use crate::job::{Blob, Job, JobState, TimelineEntry};
use crate::keys::OwnerEnd;
use crate::limits::{COMPLETED_IDS_MAX, TIMELINE_MAX};
use crate::names::{JobId, JobKey};
use crate::time::{Millis, Timestamp};
use crate::timers::Timer;

/// A queued job is dropped one millisecond after `createdAt + ttl` (protocol-core.md 5.4: expired = now > createdAt + ttl).
fn expires_at(job: &Job) -> Option<Timestamp> {
    let ttl = job.spec.rare.as_ref()?.ttl?;
    Some(job.created_at.plus(Millis(ttl.0.saturating_add(1))))
}

impl Engine {
    pub(crate) fn known(&self, key: JobKey) -> &Job {
        self.jobs.get(key).expect("a generation in a set names a job")
    }

    pub(crate) fn known_mut(&mut self, key: JobKey) -> &mut Job {
        self.jobs.get_mut(key).expect("a generation in a set names a job")
    }

    /// Takes the job out of the set of its state, with its timers.
    pub(crate) fn leave(&mut self, key: JobKey) {
        let job = self.jobs.get(key).expect("a generation in a set names a job");
        self.queues.get_mut(job.queue).remove(job);
        if job.is_live() && job.has_custom_id {
            self.named.remove(&(job.created_at, key));
        }
        match job.state {
            JobState::Queued => {
                if !job.ready {
                    self.timers.cancel(job.run_at, Timer::Promote(key));
                }
                if let Some(at) = expires_at(job) {
                    self.timers.cancel(at, Timer::JobExpiry(key));
                }
                let (queue, was_ready) = (job.queue, job.ready);
                if was_ready {
                    self.review_refill(queue);
                }
            }
            JobState::Blocked => self.stop_to_wait(key),
            JobState::Active => {
                // A slot is free for whoever waits for it.
                let queue = self.queues.get(job.queue);
                if !queue.ready.is_empty() && !queue.parked.is_empty() {
                    self.woken.push(queue.id);
                }
                self.end_delivery(key);
            }
            JobState::Completed => {
                self.completed.remove(&(crate::queue::ended_at(job), key));
            }
            JobState::Failed => {
                let timers = self.queues.get(job.queue).settings.dlq.timers(job);
                timers.for_each(|(at, timer)| self.timers.cancel(at, timer));
            }
        }
    }

    /// Puts the job into the set of its state, with its timers, and sees to it that its row is written.
    pub(crate) fn enter(&mut self, key: JobKey, now: Timestamp) {
        self.place(key, now);
        self.dirty.job(key);
    }

    fn place(&mut self, key: JobKey, now: Timestamp) {
        let job = self.jobs.get_mut(key).expect("a generation in a set names a job");
        job.ready = job.run_at.is_due(now);
        let job = &*job;
        match job.state {
            JobState::Queued => {
                if job.ready {
                    if self.woken.last() != Some(&job.queue) {
                        self.woken.push(job.queue);
                    }
                } else {
                    self.timers.set(job.run_at, Timer::Promote(key));
                }
                if let Some(at) = expires_at(job) {
                    self.timers.set(at, Timer::JobExpiry(key));
                }
            }
            JobState::Blocked => self.begin_to_wait(key),
            JobState::Completed => {
                self.completed.insert((crate::queue::ended_at(job), key));
            }
            JobState::Failed => {
                let timers = self.queues.get(job.queue).settings.dlq.timers(job);
                timers.for_each(|(at, timer)| self.timers.set(at, timer));
            }
            JobState::Active => {}
        }
        let job = self.jobs.get(key).expect("a generation in a set names a job");
        self.queues.get_mut(job.queue).insert(job);
        if job.is_live() && job.has_custom_id {
            self.named.insert((job.created_at, key));
        }
    }

    /// Appends to the timeline while it has room.
    pub(crate) fn note(
        &mut self,
        key: JobKey,
        state: StateName,
        at: Timestamp,
        error: Option<String>,
        attempt: Option<u32>,
    ) {
        let timeline = &mut self.known_mut(key).extra.timeline;
        // The admission is the first entry and is not stored.
        if timeline.len() + 1 < TIMELINE_MAX {
            timeline.push(TimelineEntry { state, at, error, attempt });
        }
    }

    /// A delayed job's moment has come; its timer has already been taken out. Its row says as much already.
    pub(crate) fn matured(&mut self, key: JobKey, at: Timestamp, now: Timestamp) {
        self.timers.set(at, Timer::Promote(key));
        self.leave(key);
        self.place(key, now);
    }

    /// A queued job was not taken in time: it is dropped and its key is free (dedup.md 4).
    pub(crate) fn job_expired(&mut self, key: JobKey, at: Timestamp, now: Timestamp, effects: &mut Effects) {
        self.timers.set(at, Timer::JobExpiry(key));
        let job = self.known(key);
        if let Some(ttl) = job.spec.rare.as_ref().and_then(|rare| rare.ttl) {
            let (queue, age) = (&job.spec.queue, now.since(job.created_at));
            let fields =
                [("queue", queue.into()), ("jobId", (&job.id).into()), ("ttl", ttl.into()), ("age", age.into())];
            effects.tell(now, "job:expired", fields);
        }
        self.tell_parent(key, Some("Job expired before it was taken".to_owned()));
        self.remove_job(key, Some(FreedBy::JobExpired), now);
    }

    /// Takes a job out of the broker. `by` says how its key becomes free; without it the key is left as it is
    /// (retention, `removeOnComplete`, a reused id: a window outlives them).
    pub(crate) fn remove_job(&mut self, key: JobKey, by: Option<FreedBy>, now: Timestamp) {
        if let Some(by) = by {
            self.end_key_of(key, OwnerEnd::Removed, by, now);
        }
        self.leave(key);
        self.end_waits(key);
        self.drop_family(key);
        let keep_result = self.orphan_result(key);
        let job = self.jobs.remove(key);
        if job.as_ref().is_some_and(|job| job.dedup_key.is_some()) {
            self.keep_key_without(key);
        }
        let has_result = job.is_some_and(|job| !matches!(job.result, Blob::Absent));
        self.dirty.job_gone(key, keep_result, has_result);
    }

    /// Whether a dependency on this id can be waited for or has been met.
    pub(crate) fn is_known_id(&self, id: &JobId) -> bool {
        self.jobs.by_id(id).is_some() || self.completed_ids.contains(id)
    }

    /// Whether a dependency on this id has been met.
    pub(crate) fn has_completed(&self, id: &JobId) -> bool {
        match self.jobs.by_id(id) {
            Some(job) => job.state == JobState::Completed,
            None => self.completed_ids.contains(id),
        }
    }

    /// Remembers that a removed job had completed.
    pub(crate) fn remember_completed(&mut self, key: JobKey, id: JobId) {
        if let Some(before) = self.completed_ids.insert(key, id) {
            self.dirty.completed_id_gone(before);
        }
        self.dirty.completed_id(key);
        while let Some(oldest) = self.completed_ids.pop_over(COMPLETED_IDS_MAX) {
            self.dirty.completed_id_gone(oldest);
        }
    }
}
