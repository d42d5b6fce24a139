//! How fast jobs are taken from a queue, and how many at once (protocol-admin.md 3).
//!
//! The concurrency counts every active job of the queue, also those that were active before it was set. The bucket lives in
//! memory; a restart fills it but for the starts of the last `duration` that are still known.

use crate::bucket::Bucket;
use crate::effects::Effects;
use crate::engine::Engine;
use crate::names::QueueId;
use crate::queue::Queue;
use crate::reply::Reply;
use crate::time::{Millis, Timestamp};
use crate::timers::Timer;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub use crate::bucket::Rate;

/// What a queue's workers are held to. Stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Until it is cleared.
    pub rate: Option<Rate>,
    /// A rate that counts instead until its moment; then the other one counts again.
    pub temporary: Option<(Rate, Timestamp)>,
    /// Active jobs at once; 0 = none.
    pub concurrency: Option<u64>,
}

/// A question or change; each variant names its wire command.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// RateLimit.
    SetRate {
        /// The queue.
        queue: Arc<str>,
        /// The rate.
        rate: Rate,
        /// Only for this long, at least 1 ms; none = until it is cleared.
        ttl: Option<Millis>,
    },
    /// RateLimitClear.
    ClearRate {
        /// The queue.
        queue: Arc<str>,
    },
    /// SetConcurrency.
    SetConcurrency {
        /// The queue.
        queue: Arc<str>,
        /// 0 = nothing is taken any more.
        limit: u64,
    },
    /// ClearConcurrency.
    ClearConcurrency {
        /// The queue.
        queue: Arc<str>,
    },
    /// GetQueueLimits.
    Get {
        /// The queue.
        queue: Arc<str>,
        /// For the time: 0 until so many tokens are used up.
        max_jobs: Option<u64>,
    },
}

/// GetQueueLimits: `{ok, data: {limits: {rateLimit, rateLimitTtl, concurrencyLimit, maxed}}}`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The rate that counts now.
    pub rate: Option<Rate>,
    /// Until a temporary rate ends, else until a token is there; none without a rate.
    pub wait: Option<Millis>,
    /// Active jobs at once.
    pub concurrency: Option<u64>,
    /// Whether that many are active.
    pub maxed: bool,
}

/// Tells a dashboard of a limit that was set or cleared.
pub(crate) fn tell_of(at: Timestamp, request: &Request, effects: &mut Effects) {
    match request {
        Request::SetRate { queue, rate, ttl: None } => {
            let fields = [("queue", queue.into()), ("max", rate.max.into()), ("duration", rate.duration.into())];
            effects.tell(at, "ratelimit:set", fields);
        }
        Request::SetRate { queue, rate, ttl: Some(ttl) } => {
            let [max, duration] = [("max", rate.max.into()), ("duration", rate.duration.into())];
            effects.tell(at, "ratelimit:set", [("queue", queue.into()), max, duration, ("ttl", (*ttl).into())]);
        }
        Request::ClearRate { queue } => effects.tell(at, "ratelimit:cleared", [("queue", queue.into())]),
        Request::SetConcurrency { queue, limit } => {
            effects.tell(at, "concurrency:set", [("queue", queue.into()), ("concurrency", (*limit).into())]);
        }
        Request::ClearConcurrency { queue } => effects.tell(at, "concurrency:cleared", [("queue", queue.into())]),
        Request::Get { .. } => {}
    }
}

/// What a queue's limits stand at. Memory only.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    permanent: Option<Bucket>,
    temporary: Option<Bucket>,
    /// When a parked pull is looked at again, because a token is there then.
    pub(crate) refill_at: Option<Timestamp>,
}

impl Meter {
    /// The bucket that counts now.
    pub(crate) fn bucket(&self) -> Option<&Bucket> {
        self.temporary.as_ref().or(self.permanent.as_ref())
    }

    /// A job is delivered: both buckets pay, so that the permanent one is not full when the temporary one ends.
    pub(crate) fn take(&mut self, now: Timestamp) {
        self.temporary.iter_mut().chain(&mut self.permanent).for_each(|bucket| bucket.take(now));
    }

    /// For invariants: each rate that is set has a bucket, and there is no other.
    pub(crate) fn is_of(&self, settings: &Limits) -> bool {
        let rates = [self.permanent, self.temporary].map(|bucket| bucket.map(|bucket| bucket.rate()));
        rates == [settings.rate, settings.temporary.map(|(rate, _)| rate)]
    }

    /// As stored; `taken` is how many jobs were started in the last `duration` of the permanent rate.
    pub(crate) fn of(settings: &Limits, now: Timestamp, taken: u64) -> Meter {
        let bucket = |rate: Rate| Bucket::new(rate, now, taken);
        let temporary = settings.temporary.map(|(rate, _)| bucket(rate));
        Meter { permanent: settings.rate.map(bucket), temporary, refill_at: None }
    }
}

/// Whether a queue gives anything now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Yes.
    Open,
    /// No, until something happens to it.
    Shut,
    /// No, until this moment.
    Until(Timestamp),
}

impl Queue {
    /// Tells a dashboard that a pull which is not given a job would have been without a limit.
    pub(crate) fn tell_of_refusal(&self, now: Timestamp, effects: &mut Effects) {
        if self.settings.paused || self.emptied_by > 0 || self.ready.is_empty() {
            return;
        }
        let name = match self.gate(now) {
            Gate::Open => return,
            Gate::Shut if self.has_no_slot() => "concurrency:rejected",
            Gate::Shut | Gate::Until(_) => "ratelimit:rejected",
        };
        effects.tell(now, name, [("queue", (&self.name).into())]);
    }

    fn has_no_slot(&self) -> bool {
        self.settings.limits.concurrency.is_some_and(|most| self.active.len() as u64 >= most)
    }

    /// The order of the contract: pause, then a concurrency slot, then a token. Nothing is taken, so nothing is given back.
    /// What is being removed is not handed out.
    pub(crate) fn gate(&self, now: Timestamp) -> Gate {
        if self.settings.paused || self.emptied_by > 0 || self.has_no_slot() {
            return Gate::Shut;
        }
        match self.meter.bucket() {
            Some(bucket) if bucket.tokens(now) == 0 => bucket.next_at().map_or(Gate::Shut, Gate::Until),
            Some(_) | None => Gate::Open,
        }
    }
}

impl Engine {
    pub(crate) fn dispatch_limit(&mut self, now: Timestamp, request: Request) -> Reply {
        match request {
            Request::SetRate { queue, rate, ttl } => self.set_rate(now, &queue, rate, ttl),
            Request::ClearRate { queue } => self.clear_rate(&queue),
            Request::SetConcurrency { queue, limit } => self.set_concurrency(&queue, limit),
            Request::ClearConcurrency { queue } => self.clear_concurrency(&queue),
            Request::Get { queue, max_jobs } => return Reply::Limits(self.limits(now, &queue, max_jobs)),
        }
        Reply::Ok
    }

    /// A rate that is set already goes on as it stands: workers that set it when they start do not fill the bucket anew.
    fn set_rate(&mut self, now: Timestamp, name: &Arc<str>, rate: Rate, ttl: Option<Millis>) {
        let id = self.ensure_registered(name);
        match ttl {
            Some(ttl) => {
                self.end_temporary(id);
                let end = now.plus(ttl);
                let queue = self.queues.get_mut(id);
                queue.settings.limits.temporary = Some((rate, end));
                queue.meter.temporary = Some(Bucket::new(rate, now, 0));
                self.timers.set(end, Timer::RateEnd(id));
            }
            None => {
                self.end_temporary(id);
                let queue = self.queues.get_mut(id);
                queue.settings.limits.rate = Some(rate);
                if queue.meter.permanent.is_none_or(|bucket| bucket.rate() != rate) {
                    queue.meter.permanent = Some(Bucket::new(rate, now, 0));
                }
            }
        }
        self.limits_changed(id);
    }

    fn clear_rate(&mut self, name: &Arc<str>) {
        let Some(id) = self.queues.find(name).map(|queue| queue.id) else { return };
        self.forget_rate(id);
        self.limits_changed(id);
    }

    /// Takes the rates away, with their timers.
    pub(crate) fn forget_rate(&mut self, id: QueueId) {
        self.end_temporary(id);
        let queue = self.queues.get_mut(id);
        queue.settings.limits.rate = None;
        queue.meter.permanent = None;
        self.wait_for_refill(id, None);
    }

    fn end_temporary(&mut self, id: QueueId) {
        let queue = self.queues.get_mut(id);
        queue.meter.temporary = None;
        if let Some((_, end)) = queue.settings.limits.temporary.take() {
            self.timers.cancel(end, Timer::RateEnd(id));
        }
    }

    /// A temporary rate has ended; its timer has already been taken out.
    pub(crate) fn rate_ended(&mut self, id: QueueId, at: Timestamp) {
        self.timers.set(at, Timer::RateEnd(id));
        self.end_temporary(id);
        self.limits_changed(id);
    }

    fn set_concurrency(&mut self, name: &Arc<str>, limit: u64) {
        let id = self.ensure_registered(name);
        self.queues.get_mut(id).settings.limits.concurrency = Some(limit);
        self.limits_changed(id);
    }

    fn clear_concurrency(&mut self, name: &Arc<str>) {
        let Some(id) = self.queues.find(name).map(|queue| queue.id) else { return };
        self.queues.get_mut(id).settings.limits.concurrency = None;
        self.limits_changed(id);
    }

    fn limits_changed(&mut self, id: QueueId) {
        let name = self.queues.get(id).name.clone();
        self.dirty.queue(&name);
        self.woken.push(id);
    }

    fn limits(&self, now: Timestamp, name: &str, max_jobs: Option<u64>) -> Standing {
        let Some(queue) = self.queues.find(name) else {
            return Standing { rate: None, wait: None, concurrency: None, maxed: false };
        };
        let limits = &queue.settings.limits;
        let wait = queue.meter.bucket().map(|bucket| {
            let used = bucket.rate().max - bucket.tokens(now);
            match limits.temporary {
                _ if max_jobs.is_some_and(|most| used < most) => Millis(0),
                Some((_, end)) => end.since(now),
                // What never comes is asked for again after the rate's time.
                None => bucket.next_at().map_or(bucket.rate().duration, |at| Millis(at.since(now).0.max(0))),
            }
        });
        let maxed = queue.has_no_slot();
        Standing { rate: queue.meter.bucket().map(Bucket::rate), wait, concurrency: limits.concurrency, maxed }
    }

    /// Sets or takes away the moment at which the parked pulls of a queue are looked at again.
    pub(crate) fn wait_for_refill(&mut self, id: QueueId, at: Option<Timestamp>) {
        let before = std::mem::replace(&mut self.queues.get_mut(id).meter.refill_at, at);
        if before == at {
            return;
        }
        if let Some(before) = before {
            self.timers.cancel(before, Timer::Refill(id));
        }
        if let Some(at) = at {
            self.timers.set(at, Timer::Refill(id));
        }
    }

    /// A job or a parked pull has left: the moment of the refill goes when nobody wants what is ready.
    pub(crate) fn review_refill(&mut self, id: QueueId) {
        let queue = self.queues.get(id);
        let is_wanted = || queue.parked.wants().any(|wants| queue.ready.first(wants, &queue.groups).is_some());
        if queue.meter.refill_at.is_some() && !is_wanted() {
            self.wait_for_refill(id, None);
        }
    }

    /// A token is there for those who wait; its timer has already been taken out.
    pub(crate) fn refilled(&mut self, id: QueueId) {
        self.queues.get_mut(id).meter.refill_at = None;
        self.woken.push(id);
    }

    /// After all jobs of the file are in their places: buckets as full as the starts of the last `duration` leave them, and
    /// the ends of what is temporary.
    pub(crate) fn load_limits(&mut self, now: Timestamp) {
        let limited = self.queues.iter().filter(|queue| queue.settings.limits != Limits::default());
        let limited: Vec<QueueId> = limited.map(|queue| queue.id).collect();
        for id in limited {
            let queue = self.queues.get(id);
            let limits = queue.settings.limits;
            let rate = limits.temporary.map(|(rate, _)| rate).or(limits.rate);
            let started = rate.map_or(0, |rate| {
                let is_late = |key| {
                    let started_at = self.known(key).started_at;
                    started_at.is_some_and(|at| now.since(at) < rate.duration)
                };
                queue.all_jobs().filter(|key| is_late(*key)).count() as u64
            });
            self.queues.get_mut(id).meter = Meter::of(&limits, now, started);
            if let Some((_, end)) = limits.temporary {
                self.timers.set(end, Timer::RateEnd(id));
            }
        }
    }
}

#[cfg(test)]
#[path = "limit_tests.rs"]
mod limit_tests;
