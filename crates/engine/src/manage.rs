//! Queues as a whole: pause, what is set, which jobs are meant; and keys by hand (protocol-admin.md 2 and 4, dedup.md 4).

use crate::command::{StallPatch, StateName, WindowChange};
use crate::dedup::FreedBy;
use crate::effects::Effects;
use crate::engine::Engine;
use crate::event::EventKind;
use crate::job::{Job, JobState};
use crate::names::{EntryId, JobId, JobKey, QueueId};
use crate::queue::default_settings;
use crate::rejection::Rejection;
use crate::reply::{Reply, StallConfig};
use crate::time::Timestamp;
use std::collections::VecDeque;
use std::sync::Arc;

impl Engine {
    /// The queue of that name, listed from now on.
    pub(crate) fn ensure_registered(&mut self, name: &Arc<str>) -> QueueId {
        let id = self.queues.ensure(name);
        self.register(id);
        id
    }

    /// Lists a queue that is there.
    pub(crate) fn register(&mut self, id: QueueId) {
        if self.queues.register(id) {
            self.dirty.queue(&self.queues.get(id).name);
        }
    }

    pub(crate) fn pause(&mut self, now: Timestamp, name: &Arc<str>, effects: &mut Effects) -> Reply {
        let id = self.ensure_registered(name);
        self.queues.get_mut(id).settings.paused = true;
        self.wait_for_refill(id, None);
        self.dirty.queue(name);
        self.emit(effects, id, None, now, EventKind::Paused);
        Reply::Ok
    }

    pub(crate) fn resume(&mut self, now: Timestamp, name: &Arc<str>, effects: &mut Effects) -> Reply {
        let Some(id) = self.queues.find(name).map(|queue| queue.id) else { return Reply::Ok };
        self.queues.get_mut(id).settings.paused = false;
        self.woken.push(id);
        self.dirty.queue(name);
        self.emit(effects, id, None, now, EventKind::Resumed);
        Reply::Ok
    }

    /// Oldest first.
    pub(crate) fn delayed_in(&self, name: &str, count: Option<usize>) -> VecDeque<JobKey> {
        let Some(queue) = self.queues.find(name) else { return VecDeque::new() };
        let delayed = queue.by_age(StateName::Delayed).slice(0..count.unwrap_or(usize::MAX));
        delayed.map(|(_, key)| *key).collect()
    }

    /// What RetryCompleted means, the first to be completed first.
    pub(crate) fn completed_in(
        &self,
        name: &str,
        id: Option<JobId>,
        count: Option<usize>,
        until: Option<Timestamp>,
    ) -> VecDeque<JobKey> {
        let Some(queue) = self.queues.find(name) else { return VecDeque::new() };
        match id {
            Some(id) => self.finished_in(queue.id, &id, JobState::Completed).into_iter().collect(),
            None => {
                let in_time = queue.completed.iter().take_while(|(at, _)| until.is_none_or(|until| *at <= until));
                in_time.map(|(_, key)| *key).take(count.unwrap_or(usize::MAX)).collect()
            }
        }
    }

    pub(crate) fn finished_in(&self, queue: QueueId, id: &JobId, state: JobState) -> Option<JobKey> {
        self.jobs.by_id(id).filter(|job| job.queue == queue && job.state == state).map(|job| job.key)
    }

    /// SetStallConfig. What changes nothing makes no queue.
    pub(crate) fn set_stall_config(&mut self, name: &Arc<str>, patch: StallPatch) -> Reply {
        let mut stall = self.stall_of(name);
        stall.enabled = patch.enabled.unwrap_or(stall.enabled);
        stall.stall_interval = patch.stall_interval.unwrap_or(stall.stall_interval);
        stall.max_stalls = patch.max_stalls.unwrap_or(stall.max_stalls);
        stall.grace_period = patch.grace_period.unwrap_or(stall.grace_period);
        if stall != self.stall_of(name) {
            let id = self.ensure_registered(name);
            self.queues.get_mut(id).settings.stall = stall;
            self.dirty.queue(name);
        }
        Reply::Ok
    }

    /// A queue's stall configuration, or the defaults.
    pub(crate) fn stall_of(&self, name: &str) -> StallConfig {
        self.queues.find(name).map_or(default_settings().stall, |queue| queue.settings.stall)
    }

    /// RemoveDeduplicationKey: the job stays.
    pub(crate) fn remove_key(&mut self, now: Timestamp, name: &str, key: &str) -> Reply {
        let queue = self.queues.find(name).map(|queue| queue.id);
        let entry = queue.and_then(|queue| self.valid_key(queue, key, now)).map(|entry| entry.entry);
        if let Some(entry) = entry {
            self.free_key(entry, FreedBy::ReleasedByClient, now);
        }
        Reply::KeysRemoved(u64::from(entry.is_some()))
    }

    /// RemoveJobDeduplicationKey: only if that very job still owns it.
    pub(crate) fn remove_key_of_job(&mut self, now: Timestamp, id: &JobId) -> Reply {
        let job = self.jobs.by_id(id);
        let valid = job.and_then(|job| {
            self.valid_key(job.queue, job.dedup_key.as_ref()?, now).filter(|entry| entry.owner == job.key)
        });
        let entry = valid.map(|entry| entry.entry);
        if let Some(entry) = entry {
            self.free_key(entry, FreedBy::ReleasedByClient, now);
        }
        Reply::Removed(entry.is_some())
    }

    /// The window's Release: nothing happens unless owner and generation are what was on screen (gui.md 3.4).
    pub(crate) fn release_key(
        &mut self,
        now: Timestamp,
        name: &str,
        key: &str,
        owner: &JobId,
        generation: JobKey,
    ) -> Result<Reply, Rejection> {
        let queue = self.queues.find(name).map(|queue| queue.id);
        let entry = self.seen_key(now, queue, key, owner, generation)?;
        self.free_key(entry, FreedBy::ReleasedByHand, now);
        Ok(Reply::Ok)
    }

    /// The entry of a key, if its owner and generation are what was on screen.
    fn seen_key(
        &self,
        now: Timestamp,
        queue: Option<QueueId>,
        key: &str,
        owner: &JobId,
        generation: JobKey,
    ) -> Result<EntryId, Rejection> {
        let Some(entry) = queue.and_then(|queue| self.valid_key(queue, key, now)) else {
            return Err(Rejection::Changed(format!("The key {key} is free already")));
        };
        if entry.owner != generation || entry.owner_id != *owner {
            let text = format!("This key changed while you looked: it belongs to {} now", entry.owner_id);
            return Err(Rejection::Changed(text));
        }
        Ok(entry.entry)
    }

    /// The window's Extend: another window for a key that is what was on screen. Without `until` the key is held as long as
    /// its owner lives, so it needs one that does.
    pub(crate) fn set_window_by_hand(&mut self, now: Timestamp, change: WindowChange) -> Result<Reply, Rejection> {
        let queue = self.queues.find(&change.queue).map(|queue| queue.id);
        let entry = self.seen_key(now, queue, &change.key, &change.owner, change.generation)?;
        let owner_lives = self.jobs.get(change.generation).is_some_and(Job::is_live);
        match change.until {
            None if !owner_lives => {
                let text = "The owner has ended, so the key needs a window";
                return Err(Rejection::Changed(text.to_owned()));
            }
            Some(until) if until.is_due(now) => {
                return Err(Rejection::Changed("That window would have ended already".to_owned()));
            }
            Some(_) | None => {}
        }
        self.set_key_window(entry, change.ttl, change.until);
        Ok(Reply::Ok)
    }

    /// Undo of a release: the same owner and the remaining time, only while the key is free and the owner still has a
    /// right to it: it lives, or its window is open.
    pub(crate) fn restore_key(
        &mut self,
        now: Timestamp,
        name: &str,
        key: &str,
        generation: JobKey,
    ) -> Result<Reply, Rejection> {
        let changed = |text: String| Err(Rejection::Changed(text));
        let Some(queue) = self.queues.find(name).map(|queue| queue.id) else {
            return changed(format!("The queue {name} is gone"));
        };
        if let Some(entry) = self.valid_key(queue, key, now) {
            return changed(format!("The key {key} is held by {} now", entry.owner_id));
        }
        let freed = self.keys.released(queue, key).filter(|freed| freed.owner == generation);
        let Some(entry) = freed.map(|freed| freed.entry.clone()) else {
            return changed(format!("The release of {key} is too long ago to be undone"));
        };
        let window_open = entry.expires_at().is_some_and(|end| !end.is_due(now));
        let owner_lives = self.jobs.get(generation).is_some_and(Job::is_live);
        if entry.expires_at().is_some() && !window_open {
            return changed(format!("The window of {key} has ended meanwhile"));
        }
        if entry.expires_at().is_none() && !owner_lives {
            return changed(format!("The owner of {key} has ended meanwhile"));
        }
        let entry = crate::dedup::KeyEntry { entry: EntryId(self.next_number()), ..entry };
        self.link_key(entry);
        Ok(Reply::Ok)
    }
}
