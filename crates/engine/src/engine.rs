//! `Engine`: all queues behind one door. Only dispatch stands here; each family of rules has a file of its own.

use crate::calendar::Zone;
use crate::change::{RestoreError, Snapshot};
use crate::command::Command;
use crate::completed_ids::CompletedIds;
use crate::dedup::{DedupWindow, FreedBy};
use crate::dirty::Dirty;
use crate::effects::{Effects, Output};
use crate::event::{Event, EventKind};
use crate::flow_fail::FailedChild;
use crate::flow_values::HeldResult;
use crate::flow_wait::Family;
use crate::hashing::Keyed;
use crate::ids::Ids;
use crate::jobs::Jobs;
use crate::keys::Keys;
use crate::limits::{RESERVE_STEP, SWEEP_EVERY};
use crate::long::LongRuns;
use crate::names::{ConnId, JobId, JobKey, Origin, QueueId};
use crate::notice::tell_of;
use crate::park::Parked;
use crate::queue::Queues;
use crate::ranked::Ranked;
use crate::rejection::Rejection;
use crate::reply::{Reply, Totals};
use crate::rows::Restoring;
use crate::schedule::Schedules;
use crate::taken::TakenLists;
use crate::tallies::Tallies;
use crate::time::{Millis, Timestamp};
use crate::timers::{Timer, Timers};
use crate::webhook::Webhooks;
use crate::worker::Workers;
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::Hasher;

/// Settings of an engine.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Whether a key's window outlives its owner.
    pub dedup_window: DedupWindow,
    /// Completed jobs kept; the oldest go everywhere at once.
    pub completed_max: usize,
    /// Dead letters kept per queue that does not say itself; the oldest go.
    pub failed_max: usize,
    /// Webhooks may only call addresses of the world.
    pub strict_webhooks: bool,
    /// A number that two payloads share when they say the same, to see that a repeat carried other data. The engine does not
    /// look inside payloads; by itself it compares their bytes.
    pub fingerprint: fn(&[u8]) -> u64,
    /// The zone of calendar patterns that name none.
    pub zone: Zone,
    /// A secret, so that no client can choose ids and keys that collide in our tables, nor foretell the token of another
    /// client's delivery. Of what is told or stored only the tokens depend on it.
    pub hash_seed: u128,
}

impl Default for EngineConfig {
    fn default() -> EngineConfig {
        EngineConfig {
            dedup_window: DedupWindow::Ttl,
            completed_max: 100_000,
            failed_max: 10_000,
            strict_webhooks: false,
            fingerprint: hash_of_bytes,
            zone: Zone::utc(),
            hash_seed: 0,
        }
    }
}

fn hash_of_bytes(payload: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(payload);
    hasher.finish()
}

/// The queues: time and commands in, effects and changed rows out.
#[derive(Debug)]
pub struct Engine {
    pub(crate) config: EngineConfig,
    pub(crate) ids: Ids,
    pub(crate) jobs: Jobs,
    pub(crate) queues: Queues,
    pub(crate) keys: Keys,
    pub(crate) timers: Timers,
    pub(crate) dirty: Dirty,
    pub(crate) tallies: Tallies,
    pub(crate) parked: Parked,
    pub(crate) workers: Workers,
    pub(crate) schedules: Schedules,
    pub(crate) webhooks: Webhooks,
    /// Jobs that wait for a dependency, by each id they depend on, whether that one has completed yet or not.
    pub(crate) consumers: HashMap<JobId, BTreeSet<JobKey>, Keyed>,
    /// What is known of the dependencies of jobs that wait, or that may read of their children.
    pub(crate) families: FxHashMap<JobKey, Family>,
    /// Results that parents may read, by the generation that gave them.
    pub(crate) held: FxHashMap<JobKey, HeldResult>,
    /// Failures of this step that parents have not heard of yet.
    pub(crate) failed_children: VecDeque<FailedChild>,
    /// Active jobs by the connection that took them.
    pub(crate) taken: FxHashMap<ConnId, Ranked<JobKey>>,
    pub(crate) taken_lists: TakenLists,
    /// Completed jobs of all queues, oldest first, for retention.
    pub(crate) completed: Ranked<(Timestamp, JobKey)>,
    /// Live jobs with a custom id, oldest first: such ids are keys too.
    pub(crate) named: Ranked<(Timestamp, JobKey)>,
    pub(crate) completed_ids: CompletedIds,
    pub(crate) totals: Totals,
    pub(crate) long: LongRuns,
    /// Queues in which something became ready, to be looked at before the step ends.
    pub(crate) woken: Vec<QueueId>,
    pub(crate) deliveries: u64,
    /// Completed jobs that had to make room since the last sweep.
    pub(crate) made_room: u64,
    /// Whether the first tick has started the sweeps.
    sweeps: bool,
    /// The next generation or entry.
    next: u64,
    /// Numbers below this one may be given out without a further write.
    pub(crate) reserved: u64,
}

impl Engine {
    /// An empty engine. `seed` feeds ids, tokens and jitter.
    pub fn new(config: EngineConfig, seed: u64) -> Engine {
        let keyed = Keyed::new(config.hash_seed);
        Engine {
            config,
            ids: Ids::new(seed, keyed.clone()),
            jobs: Jobs::new(&keyed),
            queues: Queues::new(&keyed),
            keys: Keys::new(&keyed),
            timers: Timers::default(),
            dirty: Dirty::default(),
            tallies: Tallies::default(),
            parked: Parked::default(),
            workers: Workers::default(),
            schedules: Schedules::default(),
            webhooks: Webhooks::default(),
            consumers: HashMap::with_hasher(keyed.clone()),
            families: FxHashMap::default(),
            held: FxHashMap::default(),
            failed_children: VecDeque::new(),
            taken: FxHashMap::default(),
            taken_lists: TakenLists::default(),
            completed: Ranked::default(),
            named: Ranked::default(),
            completed_ids: CompletedIds::new(&keyed),
            totals: Totals::default(),
            long: LongRuns::default(),
            woken: Vec::new(),
            deliveries: 0,
            made_room: 0,
            sweeps: false,
            next: 1,
            reserved: 1,
        }
    }

    /// An engine from all of its rows at once; see `Restoring`.
    ///
    /// # Errors
    /// A row that cannot be true, named.
    pub fn restore(
        config: EngineConfig,
        seed: u64,
        rows: Snapshot,
        now: Timestamp,
        effects: &mut Effects,
    ) -> Result<Engine, RestoreError> {
        let mut restoring = Restoring::new(config, seed, now);
        restoring.take(rows);
        restoring.finish(effects)
    }

    /// Does everything that is due, and a part of what takes long.
    pub fn tick(&mut self, now: Timestamp, effects: &mut Effects) -> bool {
        if !self.sweeps {
            self.sweeps = true;
            self.timers.set(now.plus(SWEEP_EVERY), Timer::Sweep);
        }
        self.settle(now, effects);
        let went_on = self.go_on(now, effects);
        if went_on {
            self.settle(now, effects);
        }
        went_on
    }

    /// Carries out one command. Call `tick` with the same `now` first, so that nothing that is due is still there.
    pub fn handle(&mut self, now: Timestamp, origin: Origin, command: Command, effects: &mut Effects) {
        let told = Engine::to_be_told(&command, effects);
        let reply = self.dispatch(now, origin, command, effects);
        self.tell_of_new_queues(now, effects);
        match reply {
            Ok(Some(reply)) => {
                if let Some(command) = told {
                    tell_of(now, &command, &reply, effects);
                }
                effects.outputs.push(Output::Reply { to: origin, reply });
            }
            // A pull or a wait that is parked, or a command over a whole queue, which is answered after its last part.
            Ok(None) => self.long.tell_later(origin, told),
            Err(why) => effects.outputs.push(Output::Reply { to: origin, reply: Reply::Rejected(why) }),
        }
        self.settle(now, effects);
    }

    /// A connection will ask and be told nothing more: its parked requests are dropped, its workers are no longer listed.
    pub fn hang_up(&mut self, now: Timestamp, conn: ConnId, effects: &mut Effects) {
        self.drop_parked_of(conn);
        self.workers.disconnect(now, conn, effects);
    }

    /// A connection has ended: besides `hang_up`, its jobs are released by delivery (protocol-core.md 2.5).
    pub fn disconnect(&mut self, now: Timestamp, conn: ConnId, effects: &mut Effects) {
        self.hang_up(now, conn, effects);
        self.begin_release(now, conn, effects);
        self.settle(now, effects);
    }

    /// The earliest moment at which `tick` has something to do; after the first `tick` there always is one.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let key = self.keys.next_end().map(|(end, _)| end);
        self.timers.next().into_iter().chain(key).chain(self.long.next()).min()
    }

    fn dispatch(
        &mut self,
        now: Timestamp,
        origin: Origin,
        command: Command,
        effects: &mut Effects,
    ) -> Result<Option<Reply>, Rejection> {
        let reply = match command {
            Command::Push { add, replay_of } => self.push(now, origin, add, replay_of, effects)?,
            Command::PushBulk { adds } => self.push_bulk(now, origin, adds, effects)?,
            Command::Flow(request) => self.flow(now, origin, request, effects)?,
            Command::Pull(pull) => return self.pull(now, origin, pull, effects),
            Command::WaitJob { id, timeout } => return self.wait_job(now, origin, &id, timeout),
            Command::Ack(ack) => self.ack(now, ack, effects)?,
            Command::Fail(fail) => self.fail(now, fail, effects)?,
            Command::JobHeartbeat(renewal) => self.job_heartbeat(now, &renewal)?,
            Command::JobHeartbeatBulk { renewals } => self.job_heartbeats(now, &renewals),
            Command::ExtendLock(renewal) => self.extend_lock(now, &renewal)?,
            Command::ExtendLocks { renewals } => self.extend_locks(now, &renewals),
            Command::RegisterWorker(info) => self.register_worker(now, origin, info)?,
            Command::WorkerHeartbeat { id, active_jobs, processed, failed } => {
                self.workers.heartbeat(now, &id, active_jobs, processed, failed)?
            }
            Command::UnregisterWorker { id } => self.workers.unregister(&id)?,
            Command::ListWorkers => self.workers.list(now),
            Command::Limit(request) => self.dispatch_limit(now, request),
            Command::Group(request) => self.dispatch_group(now, request),
            Command::Webhook(request) => self.webhook(now, request, effects)?,
            long if long.is_long() => {
                let work = self.long_work(now, long);
                return self.begin(now, origin, work, effects).transpose();
            }
            Command::AckBulk { acks } => self.ack_bulk(now, acks, effects)?,
            other => return self.dispatch_change(now, other, effects).map(Some),
        };
        Ok(Some(reply))
    }

    /// The next number for a generation or an entry; never given out twice, not even after a crash.
    pub(crate) fn next_number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        if self.next > self.reserved {
            self.reserved = self.next + RESERVE_STEP;
            self.dirty.reserve();
        }
        number
    }

    /// Numbers below this one have been given out.
    pub(crate) fn next_at_least(&mut self, number: u64) {
        self.next = self.next.max(number);
        self.reserved = self.reserved.max(self.next);
    }

    /// Every step ends with it: what is due is done, a job that was added too late to be taken at all included, and what
    /// became ready is handed to those who wait for it.
    pub(crate) fn settle(&mut self, now: Timestamp, effects: &mut Effects) {
        self.tell_parents(now, effects);
        loop {
            // Keys first among equals: an ended key is gone before anything else looks at it.
            if let Some((end, entry)) = self.keys.next_end().filter(|(end, _)| end.is_due(now))
                && self.timers.next().is_none_or(|next| end <= next)
            {
                self.free_key(entry, FreedBy::WindowEnded, now);
                continue;
            }
            let Some((at, timer)) = self.timers.pop_due(now) else { break };
            match timer {
                Timer::JobExpiry(job) => self.job_expired(job, at, now, effects),
                Timer::JobTimeout(job) => self.job_timed_out(job, at, now, effects),
                Timer::RateEnd(queue) => self.rate_ended(queue, at),
                Timer::GroupEnd(queue) => self.group_ended(queue, at, now),
                Timer::Refill(queue) => self.refilled(queue),
                Timer::Promote(job) => self.matured(job, at, now),
                Timer::Schedule(schedule) => self.schedule_due(schedule, now, effects),
                Timer::DeadRetry(job) => self.dead_retry_due(job, at, now, effects),
                Timer::DeadEnd(job) => self.dead_letter_ended(job, at, now, effects),
                Timer::ParkEnd(park) => self.park_ended(park, at, effects),
                Timer::Tallies => self.tallies_due(now),
                Timer::Sweep => {
                    self.sweep(now, effects);
                    self.timers.set(now.plus(SWEEP_EVERY), Timer::Sweep);
                }
            }
            self.tell_parents(now, effects);
        }
        while let Some(queue) = self.woken.pop() {
            self.serve_parked(queue, now, effects);
        }
        self.tell_of_queues(now, effects);
    }

    pub(crate) fn emit(
        &self,
        effects: &mut Effects,
        queue: QueueId,
        job: Option<&JobId>,
        at: Timestamp,
        kind: EventKind,
    ) {
        let queue = self.queues.get(queue).name.clone();
        effects.outputs.push(Output::Event(Event { queue, job: job.cloned(), at, kind }));
    }

    /// A random factor, for backoff.
    pub(crate) fn jitter(&mut self, base: f64, low: f64, high: f64) -> Millis {
        Millis((base * self.ids.between(low, high)) as i64)
    }
}
