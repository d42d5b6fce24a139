//! Leases: who may finish a job, renewal, and the sweep that finds lost leases and stalls (protocol-core.md 5.6, 5.7).

use crate::command::{Claim, Renewal, StateName};
use crate::dedup::FreedBy;
use crate::effects::Effects;
use crate::engine::Engine;
use crate::event::EventKind;
use crate::finish::Burial;
use crate::job::{FailureReason, Job, JobState};
use crate::names::{JobId, JobKey};
use crate::queue::Queue;
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::time::{Millis, Timestamp};
use std::sync::Arc;

/// A token as it came; an empty one is none.
pub(crate) fn given(token: Option<&str>) -> Option<&str> {
    token.filter(|token| !token.is_empty())
}

impl Engine {
    /// While a job is locked, only the holder of its token may finish or move it.
    pub(crate) fn check_token(&self, job: &Job, token: Option<&str>) -> Result<(), Rejection> {
        let Some(lock) = job.delivery.as_ref().and_then(|delivery| delivery.lock.as_ref()) else { return Ok(()) };
        match given(token) {
            None => Err(Rejection::TokenRequired(job.id.clone())),
            Some(token) if lock.token.matches(token) => Ok(()),
            Some(_) => Err(Rejection::TokenInvalid(job.id.clone())),
        }
    }

    /// The active job that a claim names, if the claim holds.
    pub(crate) fn claimed(&self, claim: &Claim) -> Result<Option<JobKey>, Rejection> {
        let Some(job) = self.jobs.by_id(&claim.id) else { return Ok(None) };
        if job.state != JobState::Active {
            return Ok(None);
        }
        self.check_token(job, claim.token.as_deref())?;
        Ok(Some(job.key))
    }

    /// JobHeartbeat. Without a token only the sign of life counts, the lock is not renewed.
    pub(crate) fn job_heartbeat(&mut self, now: Timestamp, renewal: &Renewal) -> Result<Reply, Rejection> {
        match self.renew(now, renewal, given(renewal.claim.token.as_deref())) {
            true => Ok(Reply::DataOk),
            false => Err(Rejection::HeartbeatRefused),
        }
    }

    /// JobHeartbeatB: bad ones are skipped.
    pub(crate) fn job_heartbeats(&mut self, now: Timestamp, renewals: &[Renewal]) -> Reply {
        let mut count = 0;
        for renewal in renewals {
            count += u64::from(self.renew(now, renewal, given(renewal.claim.token.as_deref())));
        }
        Reply::Renewed { count }
    }

    /// ExtendLock: without a token the current lock is extended.
    pub(crate) fn extend_lock(&mut self, now: Timestamp, renewal: &Renewal) -> Result<Reply, Rejection> {
        match self.extend(now, renewal) {
            true => Ok(Reply::Ok),
            false => Err(Rejection::LockNotFound),
        }
    }

    /// ExtendLocks: bad ones are skipped.
    pub(crate) fn extend_locks(&mut self, now: Timestamp, renewals: &[Renewal]) -> Reply {
        let mut count = 0;
        for renewal in renewals {
            count += u64::from(self.extend(now, renewal));
        }
        Reply::Count(count)
    }

    fn extend(&mut self, now: Timestamp, renewal: &Renewal) -> bool {
        let lock = self.jobs.by_id(&renewal.claim.id).and_then(|job| job.delivery.as_ref()?.lock.as_ref());
        let Some(own) = lock.map(|lock| lock.token.to_string()) else { return false };
        let token = given(renewal.claim.token.as_deref()).unwrap_or(&own).to_owned();
        self.renew(now, renewal, Some(&token))
    }

    /// A sign of life; with a token it renews the lock. A lock that has run out is not renewed but dropped: from then on
    /// only stall detection guards the job (protocol-core.md 5.6).
    fn renew(&mut self, now: Timestamp, renewal: &Renewal, token: Option<&str>) -> bool {
        let Some(key) = self.jobs.key_of(&renewal.claim.id) else { return false };
        let job = self.known_mut(key);
        let Some(delivery) = job.delivery.as_deref_mut() else { return false };
        if let Some(token) = token {
            let Some(lock) = delivery.lock.as_mut().filter(|lock| lock.token.matches(token)) else { return false };
            if lock.expires_at.is_due(now) {
                delivery.lock = None;
                return false;
            }
            lock.expires_at = now.plus(renewal.duration.unwrap_or(lock.ttl));
            lock.renewals += 1;
        }
        delivery.stall_candidate = false;
        job.last_heartbeat = now;
        true
    }

    /// Every 5 s: leases that ran out, and jobs that gave no sign of life for too long.
    pub(crate) fn sweep(&mut self, now: Timestamp, effects: &mut Effects) {
        self.begin_sweep(now, effects);
        self.workers.review(now, effects);
        self.tell_of_room(now, effects);
        self.queues.iter_mut().for_each(|queue| queue.forget_unused_views(now));
        self.forget_idle_queues(effects);
    }

    /// Whether the job was active and its delivery has ended now.
    pub(crate) fn look_at_lease(&mut self, key: JobKey, now: Timestamp, effects: &mut Effects) -> bool {
        let Some(job) = self.jobs.get(key).filter(|job| job.state == JobState::Active) else { return false };
        let lock = job.delivery.as_ref().and_then(|delivery| delivery.lock.as_ref());
        if lock.is_some_and(|lock| lock.expires_at.is_due(now)) {
            self.lose_lock(key, now, effects);
            return true;
        }
        self.check_stall(key, now, effects)
    }

    /// A lease ran out: one attempt and one stall used; back at once to the old place, or dead. The key stays with a live
    /// owner (dedup.md 4).
    fn lose_lock(&mut self, key: JobKey, now: Timestamp, effects: &mut Effects) {
        if self.drop_lost(key, now, effects) {
            return;
        }
        let lock = self.known(key).delivery.as_ref().and_then(|delivery| delivery.lock.clone());
        let (queue, id) = (self.known(key).queue, self.known(key).id.clone());
        let max_stalls = self.queues.get(queue).settings.stall.max_stalls;
        let job = self.known_mut(key);
        job.attempts += 1;
        job.stall_count += 1;
        job.last_heartbeat = now;
        let stalls = job.stall_count;
        if effects.watched {
            let renewals = lock.as_ref().map_or(0, |lock| u64::from(lock.renewals));
            let fields =
                [("jobId", (&job.id).into()), ("queue", (&job.spec.queue).into()), ("renewalCount", renewals.into())];
            effects.tell(now, "job:lock-expired", fields);
        }
        let out_of_attempts = job.attempts >= job.spec.max_attempts;
        if out_of_attempts || stalls >= max_stalls {
            let (reason, text) = match out_of_attempts {
                true => (FailureReason::MaxAttemptsExceeded, "Lock expired (max attempts reached)"),
                false => (FailureReason::Stalled, "Lock expired (max stalls reached)"),
            };
            let detail = Some((stalls, true));
            self.emit(effects, queue, Some(&id), now, EventKind::Stalled { detail });
            let failed = EventKind::Failed { error: Some(text.to_owned()), data: None, terminal: None };
            self.emit(effects, queue, Some(&id), now, failed);
            let burial = Burial { reason, error: Some(text.to_owned()), freed: FreedBy::Stalled, remove: false };
            self.bury(key, now, burial, effects);
            return;
        }
        self.emit(effects, queue, Some(&id), now, EventKind::Stalled { detail: None });
        self.note_attempt(key, now, FailureReason::Stalled, Some("Lock expired".to_owned()));
        self.release(key, now);
        self.known_mut(key).rare_mut().late_token = lock.map(|lock| lock.token);
    }

    /// Two looks: too silent at the first makes a candidate, still silent at the second is a stall. Whether it is one.
    fn check_stall(&mut self, key: JobKey, now: Timestamp, effects: &mut Effects) -> bool {
        let job = self.known(key);
        let stall = self.queues.get(job.queue).settings.stall;
        let interval = job.spec.rare.as_ref().and_then(|rare| rare.stall_timeout).unwrap_or(stall.stall_interval);
        let skipped = job.delivery.as_ref().map_or(Millis(0), |delivery| delivery.skipped);
        let started = job.started_at.unwrap_or(now).plus(skipped);
        let silent =
            stall.enabled && now.since(started) > stall.grace_period && now.since(job.last_heartbeat) > interval;
        let delivery = self.known_mut(key).delivery.as_deref_mut().expect("an active job has exactly one delivery");
        if silent && delivery.stall_candidate {
            self.stalled(key, now, effects);
            return true;
        }
        delivery.stall_candidate = silent;
        false
    }

    fn stalled(&mut self, key: JobKey, now: Timestamp, effects: &mut Effects) {
        if self.drop_lost(key, now, effects) {
            return;
        }
        let job = self.known(key);
        let (queue, id): (_, JobId) = (job.queue, job.id.clone());
        let token = job.delivery.as_ref().and_then(|delivery| delivery.lock.as_ref()).map(|lock| lock.token);
        let max_stalls = self.queues.get(queue).settings.stall.max_stalls;
        let job = self.known_mut(key);
        job.attempts += 1;
        job.stall_count += 1;
        let (attempts, stalls) = (job.attempts, job.stall_count);
        let out_of_stalls = stalls >= max_stalls;
        let is_dead = out_of_stalls || attempts >= job.spec.max_attempts;
        let detail = Some((stalls, is_dead));
        self.emit(effects, queue, Some(&id), now, EventKind::Stalled { detail });
        if !is_dead {
            self.note_attempt(key, now, FailureReason::Stalled, Some("stalled".to_owned()));
            self.note(key, StateName::Failed, now, Some("stalled".to_owned()), Some(attempts));
            self.retry_later(key, now);
            self.known_mut(key).rare_mut().late_token = token;
            return;
        }
        let (reason, text) = match out_of_stalls {
            true => (FailureReason::Stalled, format!("Job stalled {stalls} times")),
            false => (FailureReason::MaxAttemptsExceeded, format!("Job stalled at max attempts ({attempts})")),
        };
        let burial = Burial { reason, error: Some(text), freed: FreedBy::Stalled, remove: false };
        self.bury(key, now, burial, effects);
    }

    /// Forgets queues that nothing refers to and nobody configured (protocol-admin.md 0.5).
    fn forget_idle_queues(&mut self, effects: &mut Effects) {
        let idle: Vec<_> = self.queues.iter().filter(|queue| queue.is_idle()).map(|queue| queue.id).collect();
        for queue in idle {
            let Queue { name, totals, .. } = self.queues.get(queue);
            let name = Arc::clone(name);
            effects.forgotten.push((Arc::clone(&name), *totals));
            self.queues.forget(queue);
            // A job that became ready may have been dropped in the same step.
            self.woken.retain(|other| *other != queue);
            self.dirty.queue(&name);
        }
    }
}
