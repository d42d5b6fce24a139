//! Handing jobs out and taking them back: pulls, deliveries, release when a connection ends (protocol-core.md 2.5, 5.1, 5.3).

use crate::command::{Pull, StateName};
use crate::effects::Effects;
use crate::engine::Engine;
use crate::event::EventKind;
use crate::job::{Delivery, JobLock, JobState};
use crate::limits::DELIVERY_BYTES_MAX;
use crate::names::{ConnId, JobKey, Origin};
use crate::ranked::Ranked;
use crate::rejection::Rejection;
use crate::reply::{Delivered, JobRecord, Reply};
use crate::time::{Millis, Timestamp};
use crate::timers::Timer;

impl Engine {
    /// PULL and PULLB: what is there, or parked until something is.
    pub(crate) fn pull(
        &mut self,
        now: Timestamp,
        origin: Origin,
        pull: Pull,
        effects: &mut Effects,
    ) -> Result<Option<Reply>, Rejection> {
        let found = self.queues.find(&pull.queue).map(|queue| queue.id);
        let may_wait = pull.timeout.0 > 0 && pull.count > 0;
        let queue = match found {
            Some(queue) => queue,
            None if may_wait => self.queues.ensure(&pull.queue),
            None => return Ok(Some(Engine::empty_pull(&pull))),
        };
        self.queues.get_mut(queue).learn_wants(pull.group.as_deref(), now)?;
        let has_work = self.queues.get(queue).offer(pull.group.as_deref(), now).is_some();
        if !has_work {
            self.queues.get(queue).tell_of_refusal(now, effects);
        }
        if has_work || !may_wait {
            return Ok(Some(self.deliver(now, origin, &pull, effects)));
        }
        self.park_pull(now, origin, queue, pull)?;
        Ok(None)
    }

    pub(crate) fn empty_pull(pull: &Pull) -> Reply {
        let locked = pull.owner.is_some();
        match pull.bulk {
            true => Reply::PulledBulk { jobs: Vec::new(), locked },
            false => Reply::Pulled { job: None, locked },
        }
    }

    /// Delivers at most `pull.count` ready jobs, fewer when their payloads are long.
    pub(crate) fn deliver(&mut self, now: Timestamp, origin: Origin, pull: &Pull, effects: &mut Effects) -> Reply {
        let (mut jobs, mut bytes) = (Vec::new(), 0);
        while jobs.len() < pull.count as usize && bytes < DELIVERY_BYTES_MAX {
            let queue = self.queues.find(&pull.queue);
            let Some(key) = queue.and_then(|queue| queue.offer(pull.group.as_deref(), now)) else { break };
            bytes += self.known(key).payload_bytes();
            jobs.push(self.deliver_one(now, origin, pull, key, effects));
        }
        effects.handled += jobs.len();
        let locked = pull.owner.is_some();
        match pull.bulk {
            true => Reply::PulledBulk { jobs, locked },
            false => Reply::Pulled { job: jobs.pop().map(Box::new), locked },
        }
    }

    fn deliver_one(
        &mut self,
        now: Timestamp,
        origin: Origin,
        pull: &Pull,
        key: JobKey,
        effects: &mut Effects,
    ) -> Delivered {
        let conn = match origin {
            Origin::Client { conn, .. } => Some(conn),
            Origin::Inspector { .. } | Origin::Internal => None,
        };
        let lock = pull.owner.as_ref().map(|owner| JobLock {
            token: self.ids.token(now),
            owner: owner.clone(),
            ttl: pull.lock_ttl,
            expires_at: now.plus(pull.lock_ttl),
            renewals: 0,
        });
        let token = lock.as_ref().map(|lock| lock.token.to_string());
        self.deliveries += 1;
        let number = self.deliveries;
        let detached = pull.detach && lock.is_none() && !pull.bulk;
        self.leave(key);
        self.note(key, StateName::Active, now, None, None);
        let job = self.known_mut(key);
        job.state = JobState::Active;
        job.started_at = Some(now);
        job.last_heartbeat = now;
        // Who runs it is told by the token.
        let record = JobRecord { job: job.clone(), state: StateName::Active };
        job.delivery = Some(Box::new(Delivery {
            number,
            conn,
            conn_lost_at: None,
            lock,
            detached,
            stall_candidate: false,
            skipped: Millis(0),
            list: None,
        }));
        if let Some(rare) = job.extra.rare.as_deref_mut() {
            // Only this delivery's result counts from now on.
            rare.late_token = None;
        }
        let attempt_ends_at = job.attempt_ends_at();
        self.enter(key, now);
        self.dirty.job_taken(key);
        if let Some(end) = attempt_ends_at {
            self.timers.set(end, Timer::JobTimeout(key));
        }
        if let Some(conn) = conn {
            self.taken.entry(conn).or_default().insert(key);
        }
        let job = self.known(key);
        let (id, queue, group) = (job.id.clone(), job.queue, job.group().cloned());
        self.totals.pulled += 1;
        let home = self.queues.get_mut(queue);
        home.totals.pulled += 1;
        home.meter.take(now);
        if let Some((group, wants)) = group.zip(pull.group.as_deref()) {
            self.count_start(queue, &group, wants, now);
        }
        self.emit(effects, queue, Some(&id), now, EventKind::Pulled);
        Delivered { record, token }
    }

    /// Ends the delivery of a job that leaves the active state, with its timer. Called by `leave`.
    pub(crate) fn end_delivery(&mut self, key: JobKey) {
        let job = self.known_mut(key);
        let attempt_ends_at = job.attempt_ends_at();
        let delivery = job.delivery.take().expect("an active job has exactly one delivery");
        if let Some(end) = attempt_ends_at {
            self.timers.cancel(end, Timer::JobTimeout(key));
        }
        if let Some(list) = delivery.list {
            self.leave_list(list);
        }
        if let Some(conn) = delivery.conn
            && let Some(taken) = self.taken.get_mut(&conn)
        {
            taken.remove(&key);
            if taken.is_empty() {
                self.taken.remove(&conn);
            }
        }
    }

    /// Some of the jobs that a closed connection had taken go back, but for those whose lock was renewed (the lease decides)
    /// and detached ones (stall detection decides); a job whose schedule makes another is dropped instead. Keys stay with
    /// their owners (dedup.md 4). Whether these were the last.
    pub(crate) fn release_some(&mut self, conn: ConnId, now: Timestamp, effects: &mut Effects) -> bool {
        for _ in 0..self.long.most {
            let Some(key) = self.taken.get_mut(&conn).and_then(Ranked::pop_first) else { break };
            let delivery = self.known_mut(key).delivery.as_deref_mut().expect("an active job has exactly one delivery");
            let stays = match &delivery.lock {
                Some(lock) => lock.renewals > 0,
                None => delivery.detached,
            };
            delivery.conn = None;
            effects.handled += 1;
            if stays {
                delivery.conn_lost_at = Some(now);
            } else if !self.drop_lost(key, now, effects) {
                self.release(key, now);
            }
        }
        let is_last = self.taken.get(&conn).is_none_or(Ranked::is_empty);
        if is_last {
            self.taken.remove(&conn);
        }
        is_last
    }

    /// Back to its old place, as if it had not been taken: no attempt used, nothing in the timeline.
    pub(crate) fn release(&mut self, key: JobKey, now: Timestamp) {
        self.leave(key);
        let job = self.known_mut(key);
        job.state = JobState::Queued;
        job.started_at = None;
        job.last_heartbeat = now;
        self.enter(key, now);
    }
}
