//! The naive model's jobs: taken, finished, moved, removed, retried, and what time and a restart do to them.
//!
//! States and texts are protocol-core.md 4 to 8 and protocol-admin.md 2 and 5; what becomes of keys is dedup.md 4 and 7.

use crate::groups::Wants;
use crate::limits::Limits;
use crate::marks::mark;
use crate::naive::{Answer, Delivery, Generation, Id, Job, Lock, Model, Refusal, State};
use onceover_engine::command::{CleanState, DlqPatch};

/// The start of a job that has none.
const NEVER: i64 = i64::MIN / 2;
const STALL_INTERVAL: i64 = 30_000;
const STALL_GRACE: i64 = 5_000;
const STALLS_MAX: u32 = 3;
const SWEEP_EVERY: i64 = 5_000;

/// What came due.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Expiry(Generation),
    Timeout(Generation),
    Promote(Generation),
    Schedule(usize),
    Retry(Generation),
    Forgotten(Generation),
    Sweep,
}

/// How a claim stands.
enum Right {
    /// It is the active job's.
    Active(Generation),
    /// The job was put back when the lease was lost.
    Late(Generation),
    /// The delivery ran into its timeout.
    TimedOut,
}

impl Model {
    /// Everything that is due happens, in order of time.
    pub fn begin(&mut self, now: i64) {
        self.now = now;
        self.next_sweep.get_or_insert(now + SWEEP_EVERY);
        self.tell_parents();
        while let Some((_, due)) = self.deadlines().into_iter().min().filter(|(at, _)| *at <= now) {
            match due {
                Due::Expiry(job) => {
                    mark("time", "job ttl");
                    self.will_tell_parent(job);
                    self.remove_job(job);
                }
                Due::Timeout(job) => {
                    mark("time", "timeout");
                    let number = self.jobs[job].delivery.as_ref().map(|delivery| delivery.number);
                    self.jobs[job].timed_out.extend(number);
                    self.attempt_failed(job, false, false);
                }
                Due::Promote(job) => self.touch(job),
                Due::Schedule(number) => self.schedule_due(number),
                Due::Retry(job) => self.retry_by_itself(job),
                Due::Forgotten(job) => {
                    mark("dead letter", "forgotten");
                    self.forget(job);
                }
                Due::Sweep => self.sweep(),
            }
            self.tell_parents();
        }
    }

    fn deadlines(&self) -> Vec<(i64, Due)> {
        let mut all = Vec::new();
        for (at, job) in self.jobs.iter().enumerate() {
            let step = &job.spec.step;
            if let (State::Queued, Some(ttl)) = (job.state, step.job_ttl) {
                all.push((job.created_at + ttl + 1, Due::Expiry(at)));
            }
            if job.state == State::Queued && !job.lined && job.group().is_some() {
                all.push((job.run_at, Due::Promote(at)));
            }
            if let (State::Active, Some(timeout)) = (job.state, step.timeout.filter(|timeout| *timeout > 0)) {
                all.push((job.started_at + timeout, Due::Timeout(at)));
            }
            if job.state == State::Failed {
                let retry = job.retry_at.filter(|_| self.wants_retry(job));
                all.extend(retry.map(|retry| (retry, Due::Retry(at))));
                all.extend(job.gone_at.map(|end| (end, Due::Forgotten(at))));
            }
        }
        all.extend(self.schedules.iter().map(|schedule| (schedule.next_run, Due::Schedule(schedule.number))));
        all.extend(self.next_sweep.map(|at| (at, Due::Sweep)));
        all
    }

    /// Moments worth looking at, ascending: a step goes to one of them exactly.
    pub fn moments(&self) -> Vec<i64> {
        let mut all: Vec<i64> = self.deadlines().into_iter().map(|(at, _)| at).collect();
        all.extend(self.entries.iter().filter_map(|entry| entry.expires_at));
        all.extend(self.jobs.iter().filter(|job| job.state == State::Queued).map(|job| job.run_at));
        let leases = self.jobs.iter().filter_map(|job| job.delivery.as_ref()?.lock.as_ref());
        all.extend(leases.map(|lock| lock.expires_at));
        all.extend(self.group_moments());
        all.extend(self.limits.iter().flat_map(Limits::moments));
        // What is kept for a week would take most steps there.
        all.retain(|at| *at > self.now && *at < self.now + 1_000_000);
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Lost leases and silent workers (protocol-core.md 5.6 and 5.7).
    fn sweep(&mut self) {
        self.next_sweep = Some(self.now + SWEEP_EVERY);
        let mut active: Vec<Generation> = (0..self.jobs.len()).filter(|at| self.jobs[*at].delivery.is_some()).collect();
        let place = |queue: u8| self.sweep_order.iter().position(|other| *other == queue);
        active.sort_by_key(|at| (place(self.jobs[*at].spec.step.queue), *at));
        for at in active {
            let now = self.now;
            let job = &mut self.jobs[at];
            let silent = now - job.heartbeat_at > STALL_INTERVAL && now - job.started_at > STALL_GRACE;
            let Some(delivery) = job.delivery.as_mut() else { continue };
            let lease = delivery.lock.as_ref().map(|lock| lock.expires_at);
            if lease.is_some_and(|end| end <= now) {
                self.lease_lost(at, true);
            } else if silent && delivery.silent_once {
                self.lease_lost(at, false);
            } else {
                delivery.silent_once = silent;
            }
        }
    }

    /// A lost lease puts back at once with the old runAt, a stall with the ordinary backoff.
    fn lease_lost(&mut self, at: Generation, at_once: bool) {
        let now = self.now;
        if self.drop_lost(at) {
            return;
        }
        mark("time", if at_once { "lease lost" } else { "stalled" });
        let job = &mut self.jobs[at];
        job.attempts += 1;
        job.stalls += 1;
        job.heartbeat_at = now;
        let delivery = job.delivery.take().expect("only active jobs lose a lease");
        if job.attempts >= job.spec.step.attempts || job.stalls >= STALLS_MAX {
            // removeOnFail belongs to FAIL only (protocol-core.md 4.3).
            self.ended(at, State::Failed, false);
            return;
        }
        job.state = State::Queued;
        job.late = delivery.lock.as_ref().map(|_| delivery.number);
        if at_once {
            self.touch(at);
        } else {
            self.back_off(at);
        }
    }

    /// The next attempt is due now, or within known bounds.
    fn back_off(&mut self, at: Generation) {
        let job = &mut self.jobs[at];
        job.run_at = self.now;
        if job.spec.step.slow {
            job.run_at += 100_000;
            self.loose.push((at, self.now + 80_000, self.now + 120_000));
        }
        self.touch(at);
    }

    fn attempt_failed(&mut self, at: Generation, unrecoverable: bool, remove: bool) {
        let job = &mut self.jobs[at];
        job.attempts += 1;
        if unrecoverable || job.attempts >= job.spec.step.attempts {
            let remove = remove || job.spec.step.forget_failed;
            return self.ended(at, State::Failed, remove);
        }
        job.state = State::Queued;
        job.delivery = None;
        self.back_off(at);
    }

    /// A clean stop and a start: active jobs have used an attempt (dedup.md 7, protocol-core.md 5.10).
    pub fn restart(&mut self, now: i64) {
        self.now = now;
        self.next_sweep = None;
        self.restart_limits();
        let mut were_active = Vec::new();
        // No worker runs any more: a job that fails for good here meets no active one.
        for (at, job) in self.jobs.iter_mut().enumerate() {
            job.late = None;
            job.timed_out.clear();
            job.delivery = None;
            if job.state == State::Active {
                job.state = State::Queued;
                were_active.push(at);
            }
        }
        self.line_up_anew();
        self.skip_missed();
        for at in were_active {
            let job = &mut self.jobs[at];
            if job.state == State::Gone {
                // What followed an earlier one has replaced it.
                continue;
            }
            if self.drop_lost(at) {
                continue;
            }
            let job = &mut self.jobs[at];
            job.attempts += 1;
            job.stalls += 1;
            if job.attempts >= job.spec.step.attempts || job.stalls >= STALLS_MAX {
                mark("restart", "failed for good");
                self.ended(at, State::Failed, false);
            } else {
                mark("restart", "put back");
                self.back_off(at);
            }
        }
    }

    /// PULL.
    pub fn pull(&mut self, queue: u8, conn: u8, lock: Option<i64>, detach: bool, wants: Option<Wants>) -> Answer {
        let now = self.now;
        let first = self.first_for(queue, wants.unwrap_or_default());
        let first = first.filter(|_| !self.paused[usize::from(queue)] && self.lets_take(queue));
        let Some(at) = first else { return Answer::Pulled(None) };
        self.pay(queue);
        let number = self.deliveries;
        self.deliveries += 1;
        let job = &mut self.jobs[at];
        job.state = State::Active;
        self.touch(at);
        self.count_start(at, wants);
        let job = &mut self.jobs[at];
        job.started_at = now;
        job.heartbeat_at = now;
        job.late = None;
        let detached = detach && lock.is_none();
        let lock = lock.map(|ttl| Lock { expires_at: now + ttl, ttl, renewed: false });
        let token = lock.as_ref().map(|_| number);
        job.delivery = Some(Delivery { number, conn: Some(conn), lock, detached, silent_once: false });
        if token.is_some() {
            self.given.push((job.id, number));
        }
        Answer::Pulled(Some((at, token)))
    }

    /// Whether the token fits the active job (protocol-core.md 5.6).
    pub fn fits(&self, at: Generation, token: Option<usize>) -> Result<(), Refusal> {
        let job = &self.jobs[at];
        let delivery = job.delivery.as_ref().expect("an active job has a delivery");
        match (&delivery.lock, token) {
            (None, _) => Ok(()),
            (Some(_), None) => Err(Refusal::TokenRequired(job.id)),
            (Some(_), Some(token)) if token == delivery.number => Ok(()),
            (Some(_), Some(_)) => Err(Refusal::TokenInvalid(job.id)),
        }
    }

    fn right(&self, id: Id, token: Option<usize>) -> Result<Right, Refusal> {
        let at = self.by_id(id).ok_or(Refusal::NotInProcessing(id))?;
        let job = &self.jobs[at];
        if token.is_some_and(|token| job.timed_out.contains(&token)) {
            return Ok(Right::TimedOut);
        }
        if job.state == State::Active {
            return self.fits(at, token).map(|()| Right::Active(at));
        }
        if job.state == State::Queued && job.late.is_some() && job.late == token {
            return Ok(Right::Late(at));
        }
        Err(Refusal::NotInProcessing(id))
    }

    /// ACK.
    pub fn ack(&mut self, id: Id, token: Option<usize>, remove: bool) -> Answer {
        match self.right(id, token) {
            Ok(Right::TimedOut) => Answer::Finalized,
            Ok(right @ (Right::Active(at) | Right::Late(at))) => {
                if matches!(right, Right::Late(_)) {
                    mark("late", "completed");
                    // It was put back, and what was put back has not been started.
                    self.jobs[at].started_at = NEVER;
                }
                let remove = remove || self.jobs[at].spec.step.forget_done;
                self.ended(at, State::Completed, remove);
                Answer::Ok
            }
            Err(why) => Answer::No(why),
        }
    }

    /// FAIL.
    pub fn fail(&mut self, id: Id, token: Option<usize>, unrecoverable: bool, remove: bool) -> Answer {
        match self.right(id, token) {
            Ok(Right::TimedOut | Right::Late(_)) => Answer::Finalized,
            Ok(Right::Active(at)) => {
                self.attempt_failed(at, unrecoverable, remove);
                Answer::Ok
            }
            Err(why) => Answer::No(why),
        }
    }

    /// JobHeartbeat: on a lease that has run out it fails and takes the lock away.
    pub fn heartbeat(&mut self, id: Id, token: Option<usize>) -> Answer {
        let now = self.now;
        let Some(at) = self.by_id(id).filter(|at| self.jobs[*at].state == State::Active) else {
            return Answer::No(Refusal::Heartbeat);
        };
        let job = &mut self.jobs[at];
        let delivery = job.delivery.as_mut().expect("an active job has a delivery");
        if let Some(token) = token {
            let Some(lock) = delivery.lock.as_mut().filter(|_| token == delivery.number) else {
                return Answer::No(Refusal::Heartbeat);
            };
            if lock.expires_at <= now {
                delivery.lock = None;
                return Answer::No(Refusal::Heartbeat);
            }
            lock.expires_at = now + lock.ttl;
            lock.renewed = true;
        }
        delivery.silent_once = false;
        job.heartbeat_at = now;
        Answer::DataOk
    }

    /// The connection ends (protocol-core.md 2.5).
    pub fn disconnect(&mut self, conn: u8) {
        for at in 0..self.jobs.len() {
            let job = &mut self.jobs[at];
            let Some(delivery) = job.delivery.as_mut().filter(|delivery| delivery.conn == Some(conn)) else { continue };
            let stays = delivery.lock.as_ref().map_or(delivery.detached, |lock| lock.renewed);
            mark("disconnect", if stays { "stays" } else { "released" });
            if stays {
                delivery.conn = None;
                continue;
            }
            if self.drop_lost(at) {
                continue;
            }
            let job = &mut self.jobs[at];
            job.delivery = None;
            job.state = State::Queued;
            job.heartbeat_at = self.now;
            self.touch(at);
        }
    }

    /// Cancel.
    pub fn cancel(&mut self, id: Id) -> Answer {
        let pending = |state| matches!(state, State::Queued | State::Blocked);
        match self.by_id(id).filter(|at| pending(self.jobs[*at].state)) {
            Some(at) => {
                self.remove_job(at);
                Answer::Ok
            }
            None => Answer::No(Refusal::CannotCancel),
        }
    }

    /// The window's Remove: any job that is not active.
    pub fn remove(&mut self, id: Id) -> Answer {
        match self.by_id(id).filter(|at| self.jobs[*at].state != State::Active) {
            Some(at) => {
                self.remove_job(at);
                Answer::Ok
            }
            None => Answer::No(Refusal::Some),
        }
    }

    /// Discard: a final failure.
    pub fn discard(&mut self, id: Id, token: Option<usize>) -> Answer {
        let known = self.by_id(id).filter(|at| matches!(self.jobs[*at].state, State::Queued | State::Active));
        let Some(at) = known else { return Answer::No(Refusal::NotFound) };
        if self.jobs[at].state == State::Active
            && let Err(why) = self.fits(at, token)
        {
            return Answer::No(why);
        }
        let remove = self.jobs[at].spec.step.forget_failed;
        self.ended(at, State::Failed, remove);
        Answer::Ok
    }

    fn all_in(&self, queue: u8, wanted: impl Fn(&Job) -> bool) -> Vec<Generation> {
        let is_there = |job: &Job| job.spec.step.queue == queue && job.state != State::Gone && wanted(job);
        (0..self.jobs.len()).filter(|at| is_there(&self.jobs[*at])).collect()
    }

    fn remove_all(&mut self, jobs: &[Generation]) -> u64 {
        jobs.iter().for_each(|at| self.remove_job(*at));
        jobs.len() as u64
    }

    /// Drain: everything that is queued.
    pub fn drain(&mut self, queue: u8) -> Answer {
        let jobs = self.all_in(queue, |job| job.state == State::Queued);
        Answer::Count(self.remove_all(&jobs))
    }

    /// Clean without a grace period.
    pub fn clean(&mut self, queue: u8, state: CleanState, limit: usize) -> Answer {
        use onceover_engine::command::StateName::{Delayed, Prioritized, Waiting};
        let now = self.now;
        let queued = |wanted| move |job: &Job| job.shown(now) == Some(wanted);
        let mut jobs = match state {
            CleanState::AnyPending => self.all_in(queue, |job| job.state == State::Queued),
            CleanState::Waiting => self.all_in(queue, queued(Waiting)),
            CleanState::Prioritized => self.all_in(queue, queued(Prioritized)),
            CleanState::Delayed => self.all_in(queue, queued(Delayed)),
            CleanState::Completed => self.all_in(queue, |job| job.state == State::Completed),
            CleanState::Failed => self.all_in(queue, |job| job.state == State::Failed),
            CleanState::Nothing => Vec::new(),
        };
        if state == CleanState::Completed {
            jobs.retain(|at| !self.is_needed(*at));
        }
        let has_ended = matches!(state, CleanState::Completed | CleanState::Failed);
        let age = |at: &Generation| if has_ended { self.jobs[*at].ended_at } else { self.jobs[*at].created_at };
        jobs.sort_by_key(|at| (age(at), *at));
        jobs.truncate(limit);
        let ids = jobs.iter().map(|at| self.jobs[*at].id).collect();
        self.remove_all(&jobs);
        Answer::Cleaned(ids)
    }

    /// Obliterate: jobs, keys, pause.
    pub fn obliterate(&mut self, queue: u8) -> Answer {
        let jobs = self.all_in(queue, |_| true);
        self.remove_all(&jobs);
        self.entries.retain(|entry| entry.queue != queue);
        self.paused[usize::from(queue)] = false;
        self.dlq[usize::from(queue)] = DlqPatch::default();
        self.limits[usize::from(queue)] = Limits::default();
        self.forget_groups(queue);
        Answer::Ok
    }
}
