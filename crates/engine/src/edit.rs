//! Changes of one job outside the add, take, finish path (protocol-core.md 8.2, 8.3).

use crate::command::{Claim, Payload, StateName};
use crate::dedup::FreedBy;
use crate::effects::Effects;
use crate::engine::Engine;
use crate::event::EventKind;
use crate::finish::Burial;
use crate::job::{Blob, FailureReason, JobState, LogLine};
use crate::limits::{GROUP_PRIORITY_MAX, LOGS_MAX, PRIORITY_MAX, TEXT_BYTES_MAX};
use crate::names::{JobId, JobKey};
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::time::{Millis, Timestamp};
use crate::work::cut;

impl Engine {
    pub(crate) fn set_progress(
        &mut self,
        now: Timestamp,
        id: &JobId,
        progress: f64,
        message: Option<Option<String>>,
        effects: &mut Effects,
    ) -> Result<Reply, Rejection> {
        let key = self.active_or(id, now)?;
        let job = self.known_mut(key);
        job.progress = progress.clamp(0.0, 100.0);
        job.last_heartbeat = now;
        if let Some(message) = message {
            job.rare_mut().progress_message = message.map(|message| cut(message, TEXT_BYTES_MAX));
        }
        if let Some(delivery) = job.delivery.as_deref_mut() {
            delivery.stall_candidate = false;
        }
        let (queue, progress) = (job.queue, job.progress);
        let message = job.rare().and_then(|rare| rare.progress_message.clone());
        self.dirty.job(key);
        self.emit(effects, queue, Some(id), now, EventKind::Progress { progress, message });
        Ok(Reply::Ok)
    }

    /// The active job of that id, or the refusal that names its state.
    pub(crate) fn active_or(&self, id: &JobId, now: Timestamp) -> Result<JobKey, Rejection> {
        let job = self.jobs.by_id(id).ok_or(Rejection::JobNotFound)?;
        match job.state {
            JobState::Active => Ok(job.key),
            JobState::Queued | JobState::Blocked | JobState::Completed | JobState::Failed => {
                Err(Rejection::NotActiveBut(job.state_name(now).as_str()))
            }
        }
    }

    pub(crate) fn update_data(&mut self, id: &JobId, data: Option<Payload>) -> Result<Reply, Rejection> {
        let key = self.current_run(id).ok_or(Rejection::CannotUpdate)?;
        let fingerprint = self.fingerprint(data.as_ref());
        let job = self.known_mut(key);
        job.fingerprint = fingerprint;
        job.data = Blob::from(data);
        // What clients read of the links in the data is not lost with it.
        if job.parent_id().is_some() || !job.children_ids().is_empty() {
            job.links_mut();
        }
        self.dirty.job_data(key);
        Ok(Reply::Ok)
    }

    /// The live job of that id; of a repeating job that has completed, the run that waits now (protocol-core.md 8.2).
    fn current_run(&self, id: &JobId) -> Option<JobKey> {
        let mut job = self.jobs.by_id(id)?;
        // Each run has a higher generation than the one before, so this ends.
        while let Some(next) = job.rare().and_then(|rare| rare.next_run).filter(|_| !job.is_live()) {
            job = self.jobs.get(next)?;
        }
        job.is_live().then_some(job.key)
    }

    pub(crate) fn change_priority(
        &mut self,
        now: Timestamp,
        id: &JobId,
        priority: i64,
        lifo: Option<bool>,
    ) -> Result<Reply, Rejection> {
        let key = self.queued(id).ok_or(Rejection::NotInQueue)?;
        let grouped = self.known(key).group().is_some();
        let bounds = if grouped { 0..=GROUP_PRIORITY_MAX } else { -PRIORITY_MAX..=PRIORITY_MAX };
        let fitting = i32::try_from(priority).ok().filter(|_| bounds.contains(&priority));
        let priority = fitting.ok_or(Rejection::PriorityOutOfBounds { priority, grouped })?;
        self.leave(key);
        let job = self.known_mut(key);
        job.priority = priority;
        job.lifo = lifo.unwrap_or(job.lifo);
        self.enter(key, now);
        Ok(Reply::Ok)
    }

    fn queued(&self, id: &JobId) -> Option<JobKey> {
        self.jobs.by_id(id).filter(|job| job.state == JobState::Queued).map(|job| job.key)
    }

    pub(crate) fn change_delay(
        &mut self,
        now: Timestamp,
        claim: &Claim,
        delay: Millis,
        effects: &mut Effects,
    ) -> Result<Reply, Rejection> {
        if let Some(key) = self.queued(&claim.id) {
            self.leave(key);
            self.known_mut(key).run_at = now.plus(delay);
            self.enter(key, now);
            return Ok(Reply::Ok);
        }
        let key = self.claimed(claim)?.ok_or(Rejection::CannotChangeDelay)?;
        self.put_back(key, now, delay, effects);
        Ok(Reply::Ok)
    }

    pub(crate) fn move_to_delayed(
        &mut self,
        now: Timestamp,
        claim: &Claim,
        delay: Millis,
        effects: &mut Effects,
    ) -> Result<Reply, Rejection> {
        let key = self.active_or(&claim.id, now)?;
        self.claimed(claim)?;
        self.put_back(key, now, delay, effects);
        Ok(Reply::Ok)
    }

    /// An active job goes back for later. It is live and keeps its key (dedup.md 4).
    fn put_back(&mut self, key: JobKey, now: Timestamp, delay: Millis, effects: &mut Effects) {
        self.leave(key);
        let job = self.known_mut(key);
        job.state = JobState::Queued;
        job.started_at = None;
        job.run_at = now.plus(delay);
        let (id, queue) = (job.id.clone(), job.queue);
        self.enter(key, now);
        self.emit(effects, queue, Some(&id), now, EventKind::Delayed { delay });
    }

    pub(crate) fn move_to_wait(
        &mut self,
        now: Timestamp,
        claim: &Claim,
        effects: &mut Effects,
    ) -> Result<Reply, Rejection> {
        let Some(job) = self.jobs.by_id(&claim.id) else { return Err(Rejection::CannotMoveToWait("unknown")) };
        let (key, queue, state) = (job.key, job.queue, job.state_name(now));
        match job.state {
            JobState::Active => {
                self.claimed(claim)?;
                self.leave(key);
                let job = self.known_mut(key);
                job.state = JobState::Queued;
                job.started_at = None;
                job.run_at = now;
                self.enter(key, now);
                self.emit(effects, queue, Some(&claim.id), now, EventKind::Waiting { prev: StateName::Active });
                Ok(Reply::Ok)
            }
            JobState::Queued => {
                if state == StateName::Delayed {
                    self.make_due(key, now);
                }
                Ok(Reply::Ok)
            }
            JobState::Failed => match self.revive(key, now) {
                true => Ok(Reply::Ok),
                false => Err(Rejection::NotInDlq),
            },
            JobState::Blocked | JobState::Completed => Err(Rejection::CannotMoveToWait(state.as_str())),
        }
    }

    /// A queued job may run from now on.
    pub(crate) fn make_due(&mut self, key: JobKey, now: Timestamp) {
        self.leave(key);
        self.known_mut(key).run_at = now;
        self.enter(key, now);
    }

    /// The worker parks its job; it keeps its key (dedup.md 4) and waits for its children that have not ended, or for those that
    /// are linked later.
    pub(crate) fn move_to_waiting_children(
        &mut self,
        now: Timestamp,
        claim: &Claim,
        effects: &mut Effects,
    ) -> Result<Reply, Rejection> {
        let key = self.claimed(claim)?.ok_or(Rejection::NotActive)?;
        self.leave(key);
        let waits_for = self.children_to_wait_for(key);
        let job = self.known_mut(key);
        job.state = JobState::Blocked;
        job.started_at = None;
        let rare = job.rare_mut();
        rare.parked_by_worker = waits_for.is_empty();
        rare.unresolved = waits_for;
        let queue = job.queue;
        self.enter(key, now);
        self.emit(effects, queue, Some(&claim.id), now, EventKind::WaitingChildren);
        Ok(Reply::Moved)
    }

    pub(crate) fn promote(&mut self, now: Timestamp, id: &JobId) -> Result<Reply, Rejection> {
        let job = self.jobs.by_id(id).filter(|job| job.state_name(now) == StateName::Delayed);
        let key = job.map(|job| job.key).ok_or(Rejection::NotDelayed)?;
        self.make_due(key, now);
        Ok(Reply::Ok)
    }

    pub(crate) fn cancel(&mut self, now: Timestamp, id: &JobId, effects: &mut Effects) -> Result<Reply, Rejection> {
        let job = self.jobs.by_id(id).filter(|job| job.is_live() && job.state != JobState::Active);
        let (key, queue) = job.map(|job| (job.key, job.queue)).ok_or(Rejection::CannotCancel)?;
        self.remove_job(key, Some(FreedBy::Cancelled), now);
        // Always this state: clients of 2.9.5 know it so (protocol-core.md 4.3).
        self.emit(effects, queue, Some(id), now, EventKind::Removed { prev: StateName::Waiting });
        Ok(Reply::Ok)
    }

    /// The window's Remove: any job but an active one.
    pub(crate) fn remove_by_hand(
        &mut self,
        now: Timestamp,
        id: &JobId,
        effects: &mut Effects,
    ) -> Result<Reply, Rejection> {
        let job = self.jobs.by_id(id).ok_or(Rejection::JobNotFound)?;
        let (key, queue, prev) = (job.key, job.queue, job.state_name(now));
        if job.state == JobState::Active {
            return Err(Rejection::CannotCancel);
        }
        self.remove_job(key, Some(FreedBy::Cancelled), now);
        self.emit(effects, queue, Some(id), now, EventKind::Removed { prev });
        Ok(Reply::Ok)
    }

    /// The window's Edit: a job that has started, ended or changed meanwhile stays as it is.
    pub(crate) fn edit_by_hand(
        &mut self,
        now: Timestamp,
        id: &JobId,
        generation: JobKey,
        seen: u64,
        data: Option<Payload>,
    ) -> Result<Reply, Rejection> {
        let job = self.jobs.by_id(id).filter(|job| job.key == generation).ok_or(Rejection::JobNotFound)?;
        match job.state {
            JobState::Queued | JobState::Blocked => {}
            JobState::Active | JobState::Completed | JobState::Failed => {
                return Err(Rejection::Changed(format!("Job {id} is {} now", job.state_name(now).as_str())));
            }
        }
        if job.fingerprint != seen {
            return Err(Rejection::Changed(format!("The data of job {id} changed meanwhile")));
        }
        self.update_data(id, data)
    }

    /// The window's Retry: a finished job waits again, unless another live job owns its key.
    pub(crate) fn retry_by_hand(&mut self, now: Timestamp, id: &JobId) -> Result<Reply, Rejection> {
        let job = self.jobs.by_id(id).ok_or(Rejection::JobNotFound)?;
        let key = job.key;
        if job.is_live() {
            let state = job.state_name(now).as_str();
            return Err(Rejection::Changed(format!(
                "Job {id} is {state}: only completed and failed jobs can be retried"
            )));
        }
        let holder = job.dedup_key.as_ref().and_then(|text| self.valid_key(job.queue, text, now));
        let refusal = holder.map(|entry| {
            Rejection::Changed(format!(
                "Job {id} cannot come back: its key {} belongs to {}",
                entry.key, entry.owner_id
            ))
        });
        match self.revive(key, now) {
            true => Ok(Reply::Ok),
            false => Err(refusal.unwrap_or(Rejection::NotInDlq)),
        }
    }

    /// A final failure by the client's wish: attempts unchanged, no event (protocol-core.md 8.2).
    pub(crate) fn discard(&mut self, now: Timestamp, claim: &Claim, effects: &mut Effects) -> Result<Reply, Rejection> {
        let job = self.jobs.by_id(&claim.id).ok_or(Rejection::JobNotFound)?;
        let key = match job.state {
            JobState::Queued => job.key,
            JobState::Active => self.claimed(claim)?.ok_or(Rejection::JobNotFound)?,
            JobState::Blocked | JobState::Completed | JobState::Failed => return Err(Rejection::JobNotFound),
        };
        let remove = self.known(key).spec.remove_on_fail;
        let burial = Burial { reason: FailureReason::Unknown, error: None, freed: FreedBy::Discarded, remove };
        self.bury(key, now, burial, effects);
        Ok(Reply::Ok)
    }

    pub(crate) fn add_log(
        &mut self,
        now: Timestamp,
        id: &JobId,
        message: String,
        level: String,
    ) -> Result<Reply, Rejection> {
        let key = self.jobs.key_of(id).ok_or(Rejection::JobNotFound)?;
        let logs = &mut self.known_mut(key).rare_mut().logs;
        if logs.len() == LOGS_MAX {
            logs.remove(0);
        }
        let (level, message) = (cut(level, TEXT_BYTES_MAX), cut(message, TEXT_BYTES_MAX));
        logs.push(LogLine { at: now, level, message });
        self.dirty.job(key);
        Ok(Reply::LogAdded)
    }

    pub(crate) fn clear_logs(&mut self, id: &JobId, keep: usize) -> Reply {
        if let Some(key) = self.jobs.key_of(id) {
            let logs = &mut self.known_mut(key).rare_mut().logs;
            let gone = logs.len().saturating_sub(keep);
            logs.drain(..gone);
            self.dirty.job(key);
        }
        Reply::Ok
    }
}
