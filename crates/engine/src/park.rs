//! Requests that could not be answered at once: pulls that found nothing and waits for a job's end.
//!
//! They are entries with a deadline, not threads: replies may overtake them, effects do not.

use crate::command::Pull;
use crate::effects::{Effects, Output};
use crate::engine::Engine;
use crate::group::GroupWants;
use crate::job::{Blob, JobState};
use crate::limit::Gate;
use crate::limits::{PARKED_PER_CONN_MAX, PARKED_WISHES_MAX};
use crate::names::{ConnId, JobId, JobKey, Origin, ParkId, QueueId};
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::time::{Millis, Timestamp};
use crate::timers::Timer;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a parked request waits for.
#[derive(Clone, Debug)]
enum Waits {
    /// A job in the queue.
    Pull { queue: QueueId, pull: Pull },
    /// The end of a job.
    Job(JobKey),
}

#[derive(Debug)]
struct ParkedRequest {
    origin: Origin,
    until: Timestamp,
    waits: Waits,
}

/// The pulls that wait on one queue. Those who want the same of groups stand in one line.
#[derive(Debug, Default)]
pub(crate) struct ParkedPulls {
    lines: BTreeMap<Option<Arc<GroupWants>>, BTreeSet<ParkId>>,
    len: usize,
}

impl ParkedPulls {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What the lines want.
    pub(crate) fn wants(&self) -> impl Iterator<Item = Option<&GroupWants>> {
        self.lines.keys().map(Option::as_deref)
    }

    /// The first that came of those for whom there is something.
    fn first_of(&self, is_served: impl Fn(Option<&GroupWants>) -> bool) -> Option<ParkId> {
        let served = self.lines.iter().filter(|(wants, _)| is_served(wants.as_deref()));
        served.filter_map(|(_, line)| line.first()).min().copied()
    }

    fn has_room(&self, wants: &Option<Arc<GroupWants>>) -> Result<(), Rejection> {
        match self.lines.len() < PARKED_WISHES_MAX || self.lines.contains_key(wants) {
            true => Ok(()),
            false => Err(Rejection::TooManyGroupLimits(PARKED_WISHES_MAX)),
        }
    }

    fn insert(&mut self, wants: Option<Arc<GroupWants>>, park: ParkId) {
        self.len += usize::from(self.lines.entry(wants).or_default().insert(park));
    }

    fn remove(&mut self, wants: &Option<Arc<GroupWants>>, park: ParkId) {
        let Some(line) = self.lines.get_mut(wants) else { return };
        self.len -= usize::from(line.remove(&park));
        if line.is_empty() {
            self.lines.remove(wants);
        }
    }
}

/// All parked requests, in order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Parked {
    requests: BTreeMap<ParkId, ParkedRequest>,
    per_conn: FxHashMap<ConnId, BTreeSet<ParkId>>,
    waits_for: FxHashMap<JobKey, BTreeSet<ParkId>>,
    next: u64,
}

impl Parked {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ParkId, Timestamp)> {
        self.requests.iter().map(|(park, request)| (*park, request.until))
    }
}

impl Engine {
    /// Parks a pull until a job comes or its time is over.
    pub(crate) fn park_pull(
        &mut self,
        now: Timestamp,
        origin: Origin,
        queue: QueueId,
        pull: Pull,
    ) -> Result<(), Rejection> {
        let wants = pull.group.clone();
        self.queues.get(queue).parked.has_room(&wants)?;
        let until = now.plus(pull.timeout);
        let park = self.park(origin, until, Waits::Pull { queue, pull })?;
        self.queues.get_mut(queue).parked.insert(wants, park);
        // It may be a limit that it waits for, which ends at a moment.
        self.woken.push(queue);
        Ok(())
    }

    /// WaitJob: answered at once for a finished job; parked otherwise. It also ends when the job fails or is removed, for
    /// then it never completes (2.9.5 waits on to the timeout).
    pub(crate) fn wait_job(
        &mut self,
        now: Timestamp,
        origin: Origin,
        id: &JobId,
        timeout: Millis,
    ) -> Result<Option<Reply>, Rejection> {
        let Some(job) = self.jobs.by_id(id) else {
            let removed = Reply::Waited { key: None, completed: true, result: Blob::Absent, failed: None };
            return if self.completed_ids.contains(id) { Ok(Some(removed)) } else { Err(Rejection::JobNotFound) };
        };
        if !job.is_live() {
            return Ok(Some(waited(job)));
        }
        let key = job.key;
        if timeout.0 == 0 {
            return Ok(Some(Reply::Waited { key: None, completed: false, result: Blob::Absent, failed: None }));
        }
        let park = self.park(origin, now.plus(timeout), Waits::Job(key))?;
        self.parked.waits_for.entry(key).or_default().insert(park);
        Ok(None)
    }

    fn park(&mut self, origin: Origin, until: Timestamp, waits: Waits) -> Result<ParkId, Rejection> {
        let park = ParkId(self.parked.next);
        if let Origin::Client { conn, .. } = origin {
            let its = self.parked.per_conn.entry(conn).or_default();
            if its.len() >= PARKED_PER_CONN_MAX {
                return Err(Rejection::TooManyParked(PARKED_PER_CONN_MAX));
            }
            its.insert(park);
        }
        self.parked.next += 1;
        self.timers.set(until, Timer::ParkEnd(park));
        self.parked.requests.insert(park, ParkedRequest { origin, until, waits });
        Ok(park)
    }

    /// Takes a parked request out, with its timer and its place in line.
    fn unpark(&mut self, park: ParkId) -> Option<ParkedRequest> {
        let request = self.parked.requests.remove(&park)?;
        self.timers.cancel(request.until, Timer::ParkEnd(park));
        if let Origin::Client { conn, .. } = request.origin
            && let Some(its) = self.parked.per_conn.get_mut(&conn)
        {
            its.remove(&park);
            if its.is_empty() {
                self.parked.per_conn.remove(&conn);
            }
        }
        match &request.waits {
            Waits::Pull { queue, pull } => {
                self.queues.get_mut(*queue).parked.remove(&pull.group, park);
                self.review_refill(*queue);
            }
            Waits::Job(key) => {
                if let Some(waiting) = self.parked.waits_for.get_mut(key) {
                    waiting.remove(&park);
                    if waiting.is_empty() {
                        self.parked.waits_for.remove(key);
                    }
                }
            }
        }
        Some(request)
    }

    /// A parked request has waited long enough; its timer has already been taken out.
    pub(crate) fn park_ended(&mut self, park: ParkId, at: Timestamp, effects: &mut Effects) {
        self.timers.set(at, Timer::ParkEnd(park));
        let Some(request) = self.unpark(park) else { return };
        let reply = match request.waits {
            Waits::Pull { pull, .. } => Engine::empty_pull(&pull),
            Waits::Job(_) => Reply::Waited { key: None, completed: false, result: Blob::Absent, failed: None },
        };
        effects.outputs.push(Output::Reply { to: request.origin, reply });
    }

    /// Hands ready jobs to the pulls that wait for them, first come first served. When only a token is missing, they are looked
    /// at again at the moment it is there (D-4).
    pub(crate) fn serve_parked(&mut self, queue: QueueId, now: Timestamp, effects: &mut Effects) {
        loop {
            let found = self.queues.get(queue);
            let wanted = || found.parked.first_of(|wants| found.ready.first(wants, &found.groups).is_some());
            let (park, refill_at) = match found.gate(now) {
                Gate::Open => (wanted(), None),
                Gate::Shut => (None, None),
                Gate::Until(at) => (None, wanted().map(|_| at)),
            };
            self.wait_for_refill(queue, refill_at);
            let Some(park) = park else { return };
            let Some(request) = self.unpark(park) else { return };
            let Waits::Pull { pull, .. } = request.waits else { unreachable!("only pulls stand in a queue's line") };
            let reply = self.deliver(now, request.origin, &pull, effects);
            effects.outputs.push(Output::Reply { to: request.origin, reply });
        }
    }

    /// Answers those who wait for the end of this job, which has ended.
    pub(crate) fn answer_waits(&mut self, key: JobKey, effects: &mut Effects) {
        let Some(parks) = self.parked.waits_for.get(&key).cloned() else { return };
        let reply = waited(self.known(key));
        for park in parks {
            let Some(request) = self.unpark(park) else { continue };
            effects.outputs.push(Output::Reply { to: request.origin, reply: reply.clone() });
        }
    }

    /// The job is about to leave the broker: who still waits for it learns that it will not complete. The entries lose their
    /// job here.
    pub(crate) fn end_waits(&mut self, key: JobKey) {
        let parks = self.parked.waits_for.remove(&key).unwrap_or_default();
        for park in parks {
            // Due at once: the end of this step answers `completed: false`.
            if let Some(request) = self.parked.requests.get_mut(&park) {
                self.timers.cancel(request.until, Timer::ParkEnd(park));
                request.until = Timestamp(0);
                self.timers.set(request.until, Timer::ParkEnd(park));
            }
        }
    }

    /// The clock went ahead without the time having passed: everybody waits as long as before.
    pub(crate) fn skip_parked(&mut self, by: Millis) {
        for (park, request) in &mut self.parked.requests {
            self.timers.cancel(request.until, Timer::ParkEnd(*park));
            request.until = request.until.plus(by);
            self.timers.set(request.until, Timer::ParkEnd(*park));
        }
    }

    /// Forgets what a connection had parked.
    pub(crate) fn drop_parked_of(&mut self, conn: ConnId) {
        for park in self.parked.per_conn.get(&conn).cloned().unwrap_or_default() {
            self.unpark(park);
        }
    }
}

/// The answer to a wait for a finished job.
fn waited(job: &crate::job::Job) -> Reply {
    let completed = job.state == JobState::Completed;
    let failed = job.failure().map(|failure| failure.error.clone().unwrap_or_default());
    Reply::Waited { key: Some(job.key), completed, result: job.result.clone(), failed }
}
