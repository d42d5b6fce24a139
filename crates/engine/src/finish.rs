//! The end of a delivery: completion, failure, retry with backoff, dead letters, retention (protocol-core.md 5.5, 5.9, 6.7 to 6.9).

use crate::command::{Ack, Add, Fail, StateName};
use crate::dedup::FreedBy;
use crate::effects::Effects;
use crate::engine::Engine;
use crate::event::EventKind;
use crate::job::{AutoRetries, Blob, FailedAttempt, Failure, FailureReason, Job, JobState};
use crate::keys::OwnerEnd;
use crate::limits::{
    BACKOFF_MAX, FAILED_ATTEMPTS_MAX, LOOKED_AT_PER_JOB, STACK_LINE_BYTES_MAX, STACK_TRACE_LIMIT_DEFAULT,
    TEXT_BYTES_MAX, TIMED_OUT_TOKENS_MAX,
};
use crate::lock::given;
use crate::names::{JobId, JobKey, LockToken};
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::time::Timestamp;
use crate::timers::Timer;
use crate::work::cut;
use std::collections::VecDeque;
use std::sync::Arc;

/// What an answer about a delivery means now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// The job is active and the token holds.
    Current(JobKey),
    /// The delivery ended by a lost lease or a stall and the job waits to be taken again: its result still counts.
    Late(JobKey),
    /// The delivery ran into the job's timeout: its answer is ignored, not refused.
    TimedOut,
}

/// A final failure.
#[derive(Clone, Debug)]
pub(crate) struct Burial {
    pub(crate) reason: FailureReason,
    pub(crate) error: Option<String>,
    /// What the key's memory says, if the key goes free.
    pub(crate) freed: FreedBy,
    /// Forget the job instead of keeping it among the dead letters.
    pub(crate) remove: bool,
}

/// The jobs of an ACKB, and what came of them so far.
#[derive(Debug)]
pub(crate) struct Acks {
    left: VecDeque<Ack>,
    /// Of these at the end the tokens were not looked at yet.
    unchecked: usize,
    done: usize,
    ignored: Vec<(usize, JobId)>,
    refusal: Option<Rejection>,
}

impl Acks {
    pub(crate) fn new(acks: Vec<Ack>) -> Acks {
        Acks { unchecked: acks.len(), left: acks.into(), done: 0, ignored: Vec::new(), refusal: None }
    }

    /// Of all of them, after the last step.
    pub(crate) fn answer(&mut self) -> Result<Reply, Rejection> {
        match self.refusal.take() {
            Some(why) => Err(why),
            None if self.ignored.is_empty() => Ok(Reply::Ok),
            None => Ok(Reply::AckBulkIgnored { ignored: std::mem::take(&mut self.ignored) }),
        }
    }
}

impl Engine {
    fn standing(&self, id: &JobId, token: Option<&str>) -> Result<Standing, Rejection> {
        let unknown = || Rejection::NotInProcessing(id.clone());
        let job = self.jobs.by_id(id).ok_or_else(unknown)?;
        let is_given = |other: &LockToken| given(token).is_some_and(|token| other.matches(token));
        if job.rare().is_some_and(|rare| rare.timed_out.iter().any(is_given)) {
            return Ok(Standing::TimedOut);
        }
        match job.state {
            JobState::Active => self.check_token(job, token).map(|()| Standing::Current(job.key)),
            JobState::Queued if job.rare().and_then(|rare| rare.late_token.as_ref()).is_some_and(is_given) => {
                Ok(Standing::Late(job.key))
            }
            JobState::Queued | JobState::Blocked | JobState::Completed | JobState::Failed => Err(unknown()),
        }
    }

    /// ACK.
    pub(crate) fn ack(&mut self, now: Timestamp, ack: Ack, effects: &mut Effects) -> Result<Reply, Rejection> {
        match self.standing(&ack.id, ack.token.as_deref())? {
            Standing::Current(key) | Standing::Late(key) => {
                self.complete(key, now, ack, effects);
                Ok(Reply::Ok)
            }
            Standing::TimedOut => Ok(Reply::AlreadyFinalized),
        }
    }

    /// ACKB: one bad token refuses the whole call; then every job that can be completed is, and the first that could not is
    /// told (2.9.5 may leave later ones undone).
    pub(crate) fn ack_bulk(
        &mut self,
        now: Timestamp,
        acks: Vec<Ack>,
        effects: &mut Effects,
    ) -> Result<Reply, Rejection> {
        let mut acks = Acks::new(acks);
        while !self.ack_some(now, &mut acks, usize::MAX, effects) {}
        acks.answer()
    }

    /// Looks at tokens and, once all were looked at, completes `most` jobs. Whether that was the last step.
    pub(crate) fn ack_some(&mut self, now: Timestamp, acks: &mut Acks, most: usize, effects: &mut Effects) -> bool {
        if acks.unchecked > 0 {
            let first = acks.left.len() - acks.unchecked;
            let part = acks.unchecked.min(most.saturating_mul(LOOKED_AT_PER_JOB));
            acks.unchecked -= part;
            for ack in acks.left.range(first..first + part) {
                if let Err(why @ (Rejection::TokenRequired(_) | Rejection::TokenInvalid(_))) =
                    self.standing(&ack.id, ack.token.as_deref())
                {
                    acks.refusal = Some(why);
                    return true;
                }
            }
            if acks.unchecked > 0 {
                return false;
            }
        }
        let part = acks.left.len().min(most);
        effects.handled += part;
        for ack in acks.left.drain(..part) {
            let id = ack.id.clone();
            match self.ack(now, ack, effects) {
                Ok(Reply::AlreadyFinalized) => acks.ignored.push((acks.done, id)),
                Ok(_) => {}
                Err(why) => acks.refusal = acks.refusal.take().or(Some(why)),
            }
            acks.done += 1;
        }
        acks.left.is_empty()
    }

    /// FAIL.
    pub(crate) fn fail(&mut self, now: Timestamp, fail: Fail, effects: &mut Effects) -> Result<Reply, Rejection> {
        let key = match self.standing(&fail.id, fail.token.as_deref())? {
            Standing::Current(key) => key,
            // The job was put back already: there is nothing left to fail.
            Standing::Late(_) | Standing::TimedOut => return Ok(Reply::AlreadyFinalized),
        };
        let job = self.known_mut(key);
        let limit = job.spec.rare.as_ref().and_then(|rare| rare.stack_trace_limit).unwrap_or(STACK_TRACE_LIMIT_DEFAULT);
        if !fail.stack.is_empty() {
            let lines = fail.stack.into_iter().take(limit as usize);
            job.rare_mut().stacktrace = lines.map(|line| cut(line, STACK_LINE_BYTES_MAX)).collect();
        }
        let remove = fail.remove || job.spec.remove_on_fail;
        let error = fail.error.map(|error| cut(error, TEXT_BYTES_MAX));
        self.attempt_failed(key, now, error, FailureReason::ExplicitFail, fail.unrecoverable, remove, effects);
        Ok(Reply::Ok)
    }

    /// An attempt ran longer than the job allows; its timer has already been taken out. Counts as a failure, and what its
    /// worker says later is ignored.
    pub(crate) fn job_timed_out(&mut self, key: JobKey, at: Timestamp, now: Timestamp, effects: &mut Effects) {
        self.timers.set(at, Timer::JobTimeout(key));
        let job = self.known_mut(key);
        let token = job.delivery.as_ref().and_then(|delivery| delivery.lock.as_ref()).map(|lock| lock.token);
        if let Some(token) = token {
            let timed_out = &mut job.rare_mut().timed_out;
            if timed_out.len() == TIMED_OUT_TOKENS_MAX {
                timed_out.remove(0);
            }
            timed_out.push(token);
        }
        let remove = job.spec.remove_on_fail;
        if let Some(timeout) = job.spec.rare.as_ref().and_then(|rare| rare.timeout) {
            let queue = &job.spec.queue;
            let fields = [("jobId", (&job.id).into()), ("queue", queue.into()), ("timeout", timeout.into())];
            effects.tell(now, "job:timeout", fields);
        }
        let error = Some("Job timeout exceeded".to_owned());
        self.attempt_failed(key, now, error, FailureReason::Timeout, false, remove, effects);
    }

    /// One attempt is over: the next one after the backoff, or none.
    #[expect(clippy::too_many_arguments, reason = "each argument is one fact of the failure, named at both callers")]
    fn attempt_failed(
        &mut self,
        key: JobKey,
        now: Timestamp,
        error: Option<String>,
        reason: FailureReason,
        unrecoverable: bool,
        remove: bool,
        effects: &mut Effects,
    ) {
        let job = self.known_mut(key);
        job.attempts += 1;
        let (id, queue, attempts) = (job.id.clone(), job.queue, job.attempts);
        let terminal = unrecoverable || attempts >= job.spec.max_attempts;
        let data = Some(job.data.clone());
        let failed = EventKind::Failed { error: error.clone(), data, terminal: Some(terminal) };
        self.emit(effects, queue, Some(&id), now, failed);
        if terminal {
            let (reason, freed) = match reason {
                FailureReason::Timeout => (FailureReason::Timeout, FreedBy::TimedOut),
                FailureReason::ExplicitFail
                | FailureReason::MaxAttemptsExceeded
                | FailureReason::Stalled
                | FailureReason::Unknown => (FailureReason::MaxAttemptsExceeded, FreedBy::FailedForGood),
            };
            self.bury(key, now, Burial { reason, error, freed, remove }, effects);
            return;
        }
        self.note_attempt(key, now, reason, error.clone());
        self.note(key, StateName::Failed, now, error, Some(attempts));
        self.retry_later(key, now);
        self.emit(effects, queue, Some(&id), now, EventKind::Retried);
    }

    /// Back to the queue after the backoff. The job is live and keeps its key (dedup.md 1, 4).
    pub(crate) fn retry_later(&mut self, key: JobKey, now: Timestamp) {
        let (backoff, attempts) = (self.known(key).spec.backoff, self.known(key).attempts);
        let base = backoff.delay.0 as f64;
        let delay = match backoff.fixed {
            true => self.jitter(base, 0.8, 1.2),
            // 2^30 times the smallest base is past the cap already.
            false => self.jitter(base * 2f64.powi(attempts.min(30) as i32), 0.5, 1.5),
        };
        self.leave(key);
        let job = self.known_mut(key);
        // At a start, what an earlier job's end brought about may have joined it before it was put back.
        let waits = job.rare().is_some_and(|rare| !rare.unresolved.is_empty());
        job.state = if waits { JobState::Blocked } else { JobState::Queued };
        job.started_at = None;
        job.run_at = now.plus(delay.min(BACKOFF_MAX));
        self.note(key, StateName::Waiting, now, None, Some(attempts + 1));
        self.enter(key, now);
    }

    pub(crate) fn note_attempt(&mut self, key: JobKey, now: Timestamp, reason: FailureReason, error: Option<String>) {
        let job = self.known_mut(key);
        let entry = FailedAttempt { attempt: job.attempts, started_at: job.started_at, failed_at: now, reason, error };
        let attempts = &mut job.rare_mut().failed_attempts;
        if attempts.len() == FAILED_ATTEMPTS_MAX {
            attempts.remove(0);
        }
        attempts.push(entry);
    }

    /// The final failure: into the dead letters or away; a window stays open, a key without one is free (dedup.md 4).
    pub(crate) fn bury(&mut self, key: JobKey, now: Timestamp, burial: Burial, effects: &mut Effects) {
        let Burial { reason, error, freed, remove } = burial;
        if reason != FailureReason::Unknown {
            self.note_attempt(key, now, reason, error.clone());
        }
        self.leave(key);
        let attempts = self.known(key).attempts;
        self.note(key, StateName::Failed, now, error.clone(), Some(attempts));
        let queue = self.known(key).queue;
        let dlq = self.queues.get(queue).settings.dlq;
        let job = self.known_mut(key);
        job.state = JobState::Failed;
        let next_retry_at = dlq.next_retry_at(job.rare().and_then(|rare| rare.auto_retries), now);
        let expires_at = dlq.expires_at(now);
        let rare = job.rare_mut();
        rare.failure = Some(Failure { reason, error: error.clone(), entered_at: now, next_retry_at, expires_at });
        rare.unresolved.clear();
        rare.parked_by_worker = false;
        self.enter(key, now);
        self.totals.failed += 1;
        self.queues.get_mut(queue).totals.failed += 1;
        self.end_key_of(key, OwnerEnd::Finished, freed, now);
        self.after_end(key, now, effects);
        self.tell_parent(key, error);
        if remove && !self.leaves_later(key) {
            self.remove_job(key, None, now);
        } else if effects.watched {
            let job = self.known(key);
            let fields =
                [("queue", (&job.spec.queue).into()), ("jobId", (&job.id).into()), ("reason", reason.as_str().into())];
            effects.tell(now, "dlq:added", fields);
        }
        self.evict_dead(queue, now);
    }

    /// The completion: result kept or forgotten, dependants freed, the next of the line made.
    fn complete(&mut self, key: JobKey, now: Timestamp, ack: Ack, effects: &mut Effects) {
        self.leave(key);
        self.note(key, StateName::Completed, now, None, None);
        if let Some(started) = self.known(key).started_at {
            self.totals.worked += 1;
            self.totals.worked_ms += now.since(started).0.max(0).unsigned_abs();
        }
        let job = self.known_mut(key);
        job.state = JobState::Completed;
        job.completed_at = Some(now);
        job.progress = 100.0;
        let earlier = std::mem::replace(&mut job.result, Blob::from(ack.result.clone()));
        let has_result = [&earlier, &job.result].into_iter().any(|result| !matches!(result, Blob::Absent));
        let (id, queue) = (job.id.clone(), job.queue);
        let remove = ack.remove || job.spec.remove_on_complete;
        if let Some(rare) = job.extra.rare.as_deref_mut() {
            rare.late_token = None;
        }
        self.enter(key, now);
        if has_result {
            self.dirty.job_result(key);
        }
        self.totals.completed += 1;
        self.queues.get_mut(queue).totals.completed += 1;
        self.emit(effects, queue, Some(&id), now, EventKind::Completed { result: ack.result });
        self.end_key_of(key, OwnerEnd::Finished, FreedBy::Completed, now);
        let freed = self.resolve_dependants(key, now);
        self.tell_of_completion(key, &freed, now, effects);
        self.drop_family(key);
        let next = self.next_run(self.known(key), now);
        self.after_end(key, now, effects);
        if remove && !self.leaves_later(key) {
            self.remove_job(key, None, now);
            self.remember_completed(key, id);
        }
        if let Some(next) = next {
            let next = self.admit_repeat(now, &next, effects);
            if let Some(job) = self.jobs.get_mut(key) {
                job.rare_mut().next_run = Some(next);
            }
        }
        while self.completed.len() > self.config.completed_max {
            let oldest = self.completed.first().expect("more than the bound are there").1;
            self.remove_job(oldest, None, now);
            self.made_room += 1;
        }
    }

    /// A job that ends before its parent was named stays until it is, for the parent must hear of it.
    fn leaves_later(&mut self, key: JobKey) -> bool {
        let job = self.known_mut(key);
        let is_pending = job.is_parent_pending();
        if is_pending {
            job.rare_mut().remove_when_linked = true;
        }
        is_pending
    }

    /// Who waited for the end learns of it; what keepLastIfActive kept follows now (dedup.md 10).
    fn after_end(&mut self, key: JobKey, now: Timestamp, effects: &mut Effects) {
        self.answer_waits(key, effects);
        let next = self.known_mut(key).extra.rare.as_deref_mut().and_then(|rare| rare.stored_next.take());
        if let Some(next) = next {
            self.admit_stored(now, *next, effects);
        }
    }

    /// The next occurrence of a repeating job: a new id, due when its timing says, its count one higher. None after the last.
    fn next_run(&self, job: &Job, now: Timestamp) -> Option<Add> {
        let repeat = job.spec.rare.as_ref()?.repeat.as_ref()?;
        if repeat.limit.is_some_and(|limit| repeat.count >= limit) {
            return None;
        }
        let mut spec = (*job.spec).clone();
        spec.delay = repeat.next(now, &self.config.zone)?.since(now);
        let rare = spec.rare.as_mut()?;
        rare.timestamp = Some(now);
        rare.repeat.as_mut()?.count += 1;
        let data = match &job.data {
            Blob::Here(bytes) => Some(bytes.clone()),
            Blob::Absent | Blob::OnDisk => None,
        };
        Some(Add { dedup_key: job.dedup_key.as_deref().map(Arc::from), data, ..Add::new(spec) })
    }

    /// A finished job waits again by somebody's wish, so that what it had been through is forgotten.
    pub(crate) fn revive(&mut self, key: JobKey, now: Timestamp) -> bool {
        self.wait_again(key, now, None)
    }

    /// A finished job waits again: attempts and result forgotten, its key taken with a full window. A dead letter that is
    /// retried by itself (`retries`) keeps its history. Answers false when another live job owns the key (dedup.md 4).
    pub(crate) fn wait_again(&mut self, key: JobKey, now: Timestamp, retries: Option<AutoRetries>) -> bool {
        if !self.reclaim_key(key, now) {
            return false;
        }
        self.leave(key);
        let waits_for = self.waits_again_for(key);
        let job = self.known_mut(key);
        job.state = if waits_for.is_empty() { JobState::Queued } else { JobState::Blocked };
        job.attempts = 0;
        job.stall_count = 0;
        job.progress = 0.0;
        job.started_at = None;
        job.completed_at = None;
        job.run_at = now;
        let had_result = !matches!(std::mem::take(&mut job.result), Blob::Absent);
        if let Some(rare) = job.extra.rare.as_deref_mut() {
            rare.failure = None;
            rare.auto_retries = retries;
            if retries.is_none() {
                rare.failed_attempts.clear();
            }
            rare.late_token = None;
            rare.timed_out.clear();
            rare.remove_when_linked = false;
        }
        let waits = !waits_for.is_empty();
        if waits {
            job.rare_mut().unresolved = waits_for;
        }
        self.note(key, if waits { StateName::WaitingChildren } else { StateName::Waiting }, now, None, None);
        self.enter(key, now);
        if had_result {
            self.dirty.job_result(key);
        }
        true
    }

    /// A job whose attempts were not counted when the broker stopped: one attempt used, then its backoff, or dead.
    pub(crate) fn recover_active(&mut self, key: JobKey, now: Timestamp, effects: &mut Effects) {
        if self.drop_lost(key, now, effects) {
            return;
        }
        let queue = self.known(key).queue;
        let max_stalls = self.queues.get(queue).settings.stall.max_stalls;
        let job = self.known_mut(key);
        job.attempts += 1;
        job.stall_count += 1;
        let (attempts, stalls, max_attempts) = (job.attempts, job.stall_count, job.spec.max_attempts);
        let (reason, text) = if attempts >= max_attempts {
            let text = format!("Job reached max attempts ({attempts}) during startup recovery");
            (FailureReason::MaxAttemptsExceeded, text)
        } else if stalls >= max_stalls {
            (FailureReason::Stalled, format!("Job stalled {stalls} times (recovered at startup)"))
        } else {
            self.note_attempt(key, now, FailureReason::Stalled, Some("broker restarted".to_owned()));
            self.retry_later(key, now);
            return;
        };
        self.bury(key, now, Burial { reason, error: Some(text), freed: FreedBy::Stalled, remove: false }, effects);
    }
}
