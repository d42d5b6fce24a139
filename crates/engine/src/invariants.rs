//! What must hold after every step (architecture, 11; dedup.md 13). Linear in the number of jobs: for tests and the simulator.

use crate::command::StateName;
use crate::engine::Engine;
use crate::flow_wait::Ending;
use crate::groups::Group;
use crate::job::{Job, JobState};
use crate::limit::{Gate, Rate};
use crate::limits::SCHEDULES_MAX;
use crate::list::PAGE_ORDER;
use crate::names::{JobId, JobKey};
use crate::queue::Queue;
use crate::ranked::Ranked;
use crate::schedule::{Schedule, overlap_key};
use crate::taken::TakenLists;
use crate::time::Timestamp;
use crate::timers::Timer;
use crate::webhook::WEBHOOKS_MAX;
use std::collections::{BTreeMap, BTreeSet};

impl Engine {
    /// Panics with the invariant that does not hold. Call it after `tick(now)` and the step.
    pub fn check(&self, now: Timestamp) {
        self.check_jobs();
        self.check_waiting();
        self.check_families();
        self.check_keys(now);
        self.check_timers(now);
        self.check_queues(now);
        self.check_schedules();
        assert!(self.webhooks().count() <= WEBHOOKS_MAX, "there are only so many webhooks");
    }

    fn check_jobs(&self) {
        for job in self.jobs.iter() {
            assert_eq!(self.jobs.key_of(&job.id), Some(job.key), "every id in the index names its job");
            assert_eq!(job.state == JobState::Active, job.delivery.is_some(), "an active job has exactly one delivery");
            assert_eq!(
                job.state == JobState::Failed,
                job.failure().is_some(),
                "dead letters, and only they, have a reason"
            );
            self.check_dead_letter(job);
            if let Some(conn) = job.delivery.as_ref().and_then(|delivery| delivery.conn) {
                let is_listed = self.taken.get(&conn).is_some_and(|taken| taken.iter().any(|key| *key == job.key));
                assert!(is_listed, "a delivery stands in its connection's list");
            }
            for id in job.depends_on() {
                let is_listed = self.consumers.get(id).is_some_and(|blocked| blocked.contains(&job.key));
                let waits = job.rare().is_some_and(|rare| !rare.unresolved.is_empty());
                assert_eq!(is_listed, job.state == JobState::Blocked && waits, "consumers wait for a dependency");
            }
        }
        let named = self.jobs.iter().filter(|job| job.is_live() && job.has_custom_id);
        let named: BTreeSet<(Timestamp, JobKey)> = named.map(|job| (job.created_at, job.key)).collect();
        assert!(self.named.iter().eq(named.iter()), "the live jobs with a custom id are listed");
        let taken: usize = self.taken.values().map(Ranked::len).sum();
        let held = self.jobs.iter().filter_map(|job| job.delivery.as_ref()?.conn).count();
        assert_eq!(taken, held, "a connection's list names deliveries only");
        let mut listed = TakenLists::default();
        let lists = self.jobs.iter().filter_map(|job| job.delivery.as_ref()?.list);
        lists.for_each(|list| *listed.entry(list).or_default() += 1);
        assert_eq!(self.taken_lists, listed, "a list has as many jobs as name it");
    }

    fn check_dead_letter(&self, job: &Job) {
        if let Some(failure) = job.failure() {
            let stamps = [failure.next_retry_at, failure.expires_at];
            let is_later = stamps.into_iter().flatten().all(|at| at >= failure.entered_at);
            assert!(is_later, "a dead letter is retried or forgotten after it came: {}", job.id);
        }
        let leaves = job.rare().is_some_and(|rare| rare.remove_when_linked);
        let is_kept = !job.is_live() && job.is_parent_pending();
        assert!(!leaves || is_kept, "only what has ended is kept until its parent is named: {}", job.id);
    }

    /// Who waits for whom.
    fn check_waiting(&self) {
        assert!(self.failed_children.is_empty(), "after a step every parent has heard of its children's failures");
        let mut open: BTreeMap<&JobId, BTreeSet<&JobId>> = BTreeMap::new();
        for job in self.jobs.iter() {
            let unresolved = job.rare().map_or(&[][..], |rare| &rare.unresolved);
            let parked = job.rare().is_some_and(|rare| rare.parked_by_worker);
            assert!(unresolved.is_sorted_by(|a, b| a < b), "what a job waits for is in order: {}", job.id);
            assert!(!parked || unresolved.is_empty(), "a parked job waits for nothing: {}", job.id);
            let waits = parked || !unresolved.is_empty();
            assert_eq!(job.state == JobState::Blocked, waits, "a job is blocked by something: {}", job.id);
            let depends_on = job.depends_on();
            assert!(
                unresolved.iter().all(|id| depends_on.contains(id)),
                "dependencies only are waited for: {}",
                job.id
            );
            let its: BTreeSet<&JobId> = unresolved.iter().filter(|id| self.is_open(job.key, id)).collect();
            let counted = self.families.get(&job.key).map_or(0, |family| family.open);
            assert_eq!(its.len(), counted, "the counter of open dependencies equals a recount: {}", job.id);
            assert!(!its.is_empty() || unresolved.is_empty(), "nobody waits when all have ended: {}", job.id);
            for id in &its {
                assert!(!self.has_completed(id), "{} waits for {id}, which has completed", job.id);
            }
            open.insert(&job.id, its);
        }
        // Whoever waits for nobody can end; what is left then waits in a circle.
        open.retain(|_, its| !its.is_empty());
        let mut free: Vec<&JobId> = open.values().flatten().copied().filter(|id| !open.contains_key(id)).collect();
        while let Some(id) = free.pop() {
            for waiting in self.consumers.get(id).into_iter().flatten().map(|key| &self.known(*key).id) {
                let Some(its) = open.get_mut(waiting) else { continue };
                its.remove(id);
                if its.is_empty() {
                    open.remove(waiting);
                    free.push(waiting);
                }
            }
        }
        assert!(open.is_empty(), "jobs wait for one another in a circle: {:?}", open.keys());
    }

    /// Which results are kept, and for whom.
    fn check_families(&self) {
        let mut holders: BTreeMap<JobKey, BTreeSet<JobKey>> = BTreeMap::new();
        for (key, family) in &self.families {
            let job = self.jobs.get(*key).expect("a family belongs to a job");
            assert!(job.state != JobState::Completed, "a completed job needs nothing of its children: {}", job.id);
            assert!(family.open > 0 || !family.ends.is_empty(), "a family says something: {}", job.id);
            for id in family.ends.keys() {
                let is_related = job.children_ids().contains(id) || job.depends_on().contains(id);
                assert!(is_related, "a job knows of the ends of its children and dependencies only: {}, {id}", job.id);
            }
            for end in family.ends.values() {
                if let Ending::Value(child) = end.ending {
                    holders.entry(child).or_default().insert(*key);
                }
            }
        }
        let held = self.held.iter().map(|(child, held)| (*child, held.by.iter().copied().collect()));
        assert_eq!(
            held.collect::<BTreeMap<JobKey, BTreeSet<JobKey>>>(),
            holders,
            "results are kept for who may read them"
        );
        for (child, held) in &self.held {
            assert!(held.orphan.is_none() || self.jobs.get(*child).is_none(), "a result is not kept beside its job");
        }
    }

    fn check_keys(&self, now: Timestamp) {
        let mut owners = BTreeSet::new();
        let ends = self.keys.iter().map(|entry| (entry.expires_at().unwrap_or(Timestamp(i64::MAX)), entry.entry));
        assert!(
            self.keys.ends().iter().copied().eq(ends.collect::<BTreeSet<_>>()),
            "every window has its end in order"
        );
        assert!(self.keys.in_order().iter().eq(self.keys.by_entry(None).map(|key| &key.entry)), "every key is found");
        for entry in self.keys.iter() {
            let owner = self.jobs.get(entry.owner);
            assert!(owners.insert(entry.owner), "a job owns at most one key: {}", entry.owner_id);
            match entry.expires_at() {
                Some(end) => assert!(end > now, "after a tick no window is past its end: {}", entry.key),
                None => {
                    assert!(owner.is_some_and(Job::is_live), "a key without window has a live owner: {}", entry.key)
                }
            }
            if let Some(owner) = owner {
                assert_eq!(owner.queue, entry.queue, "a key's owner lives in the key's queue");
                assert_eq!(owner.id, entry.owner_id, "a key names its owner's id");
                assert_eq!(owner.dedup_key.as_ref(), Some(&entry.key), "a key's owner asked for it");
            }
        }
    }

    /// Every deadline in the state has its timer and every timer its state.
    fn check_timers(&self, now: Timestamp) {
        let mut wanted: BTreeSet<(Timestamp, Timer)> = BTreeSet::new();
        for job in self.jobs.iter() {
            let rare = job.spec.rare.as_deref();
            match job.state {
                JobState::Queued => {
                    if !job.ready {
                        wanted.insert((job.run_at, Timer::Promote(job.key)));
                    }
                    if let Some(ttl) = rare.and_then(|rare| rare.ttl) {
                        let end = job.created_at.plus(ttl).plus(crate::time::Millis(1));
                        wanted.insert((end, Timer::JobExpiry(job.key)));
                    }
                }
                JobState::Active => {
                    let timeout = rare.and_then(|rare| rare.timeout).filter(|timeout| timeout.0 > 0);
                    let skipped = job.delivery.as_ref().map_or(crate::time::Millis(0), |delivery| delivery.skipped);
                    if let Some((timeout, started)) = timeout.zip(job.started_at) {
                        wanted.insert((started.plus(timeout).plus(skipped), Timer::JobTimeout(job.key)));
                    }
                }
                JobState::Failed => wanted.extend(self.queues.get(job.queue).settings.dlq.timers(job)),
                JobState::Blocked | JobState::Completed => {}
            }
        }
        wanted.extend(self.schedules.iter().map(|schedule| (schedule.next_run, Timer::Schedule(schedule.id))));
        wanted.extend(self.parked.iter().map(|(park, until)| (until, Timer::ParkEnd(park))));
        for queue in self.queues.iter() {
            wanted.extend(queue.settings.limits.temporary.map(|(_, end)| (end, Timer::RateEnd(queue.id))));
            wanted.extend(queue.groups.first_end().map(|end| (end, Timer::GroupEnd(queue.id))));
            wanted.extend(queue.meter.refill_at.map(|at| (at, Timer::Refill(queue.id))));
        }
        wanted.extend(self.tallies.due().map(|due| (due, Timer::Tallies)));
        let set: BTreeSet<(Timestamp, Timer)> =
            self.timers.iter().filter(|(_, timer)| *timer != Timer::Sweep).copied().collect();
        assert_eq!(set, wanted, "every deadline has its timer and every timer its deadline");
        assert_eq!(set.iter().find(|(at, _)| at.is_due(now)), None, "after a step nothing is overdue");
    }

    fn check_schedules(&self) {
        let names = self.schedules.iter().map(|schedule| &schedule.rule.name).collect::<BTreeSet<_>>();
        assert_eq!(names.len(), self.schedules.len(), "every schedule is found by its name");
        assert!(names.len() <= SCHEDULES_MAX, "there are only so many schedules");
        for Schedule { rule, .. } in self.schedules.iter() {
            let rare = rule.spec.rare.as_ref();
            let drops = rare.is_some_and(|rare| rare.drop_if_lost);
            let own_key = rule.dedup_key.as_deref() == Some(&*overlap_key(&rule.name));
            assert!(!drops || own_key, "only jobs with their schedule's own key are dropped: {}", rule.name);
            assert!(rule.limit != Some(0), "a limit is none or above 0: {}", rule.name);
            let depends = rare.is_some_and(|rare| !rare.depends_on.is_empty() || rare.parent_id.is_some());
            assert!(!depends, "a schedule's jobs refer to no others: {}", rule.name);
            assert_eq!(rare.and_then(|rare| rare.schedule.as_ref()), Some(&rule.name), "a schedule's jobs name it");
        }
    }

    fn check_queues(&self, now: Timestamp) {
        let mut counted = 0;
        let mut keys = 0;
        let listed = self.queues.registered();
        let in_order = listed.is_sorted_by(|one, other| one.settings.place < other.settings.place);
        assert!(in_order, "each listed queue has a place of its own in the order of registration");
        for queue in self.queues.iter() {
            for key in queue.all_jobs() {
                assert_eq!(self.known(key).queue, queue.id, "a job stands in its own queue's sets");
                counted += 1;
            }
            let held = self.keys.iter().filter(|entry| entry.queue == queue.id).map(|entry| entry.entry);
            assert!(queue.keys.iter().copied().eq(held.collect::<BTreeSet<_>>()), "a queue lists the keys held in it");
            keys += queue.keys.len();
            self.check_lists(queue);
            let is_wanted = queue.parked.wants().any(|wants| queue.ready.first(wants, &queue.groups).is_some());
            let refill_at = match queue.gate(now) {
                Gate::Open => {
                    assert!(!is_wanted, "nothing is ready while a pull waits for it: {}", queue.name);
                    None
                }
                Gate::Shut => None,
                Gate::Until(at) => Some(at).filter(|_| is_wanted),
            };
            assert_eq!(queue.meter.refill_at, refill_at, "who waits for a token is looked at when it is there");
            self.check_groups(queue, now);
            assert!(queue.meter.is_of(&queue.settings.limits), "each rate has its bucket: {}", queue.name);
            let most = queue.settings.dlq.max_entries.map_or(self.config.failed_max, |most| most as usize);
            assert!(queue.failed.len() <= most, "no more dead letters than are kept: {}", queue.name);
        }
        assert_eq!(counted, self.jobs.len(), "every job is in exactly one set");
        assert_eq!(keys, self.keys.len(), "the queues' key counters equal the number of keys");
    }

    /// The counters of groups equal a recount, and whoever may be served stands in line.
    fn check_groups(&self, queue: &Queue, now: Timestamp) {
        let mut counted: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for job in queue.all_jobs().map(|key| self.known(key)) {
            let Some(group) = job.group() else { continue };
            let (queued, active) = counted.entry(group).or_default();
            *queued += u64::from(job.state == JobState::Queued);
            *active += u64::from(job.state == JobState::Active);
        }
        counted.retain(|_, counts| *counts != (0, 0));
        let kept = queue.groups.iter().map(|(name, group)| (&**name, (group.queued, group.active)));
        let kept: BTreeMap<&str, (u64, u64)> = kept.filter(|(_, counts)| *counts != (0, 0)).collect();
        assert_eq!(kept, counted, "the counters of groups equal a recount");
        assert_eq!(queue.groups.queued(), counted.values().map(|(queued, _)| queued).sum::<u64>());
        let is_default = |(_, group): (_, &Group)| *group == Group::default();
        assert!(!queue.groups.iter().any(is_default), "a group with nothing special is forgotten");
        for (name, Group { settings, windows, .. }) in queue.groups.iter() {
            let is_held = settings.held_until.is_none_or(|end| end > now);
            assert!(is_held, "after a tick no hold of a group is past its end: {name}");
            let is_open = windows.iter().all(|window| window.ends_at > now && window.taken > 0);
            assert!(is_open, "a window of a group is open and has begun with a start: {name}");
            let rates: BTreeSet<Rate> = windows.iter().map(|window| window.rate).collect();
            assert_eq!(rates.len(), windows.len(), "a group has one window of each rate: {name}");
            assert!(settings.concurrency != Some(0), "a group is paused, not limited to nothing: {name}");
        }
        let places: BTreeSet<u64> = queue.ready.line().map(|(turn, _)| turn).collect();
        assert_eq!(places.len(), queue.ready.line().count(), "each group has a place of its own in the line");
        for (limits, free) in queue.ready.turns().views() {
            let line = queue.ready.line().filter(|(_, name)| queue.groups.is_free(name, limits));
            let line: BTreeMap<u64, &str> = line.map(|(turn, name)| (turn, &**name)).collect();
            let free = free.iter().map(|(turn, name)| (*turn, &**name));
            assert!(free.eq(line), "a view has the free groups with a ready job, in their turns");
        }
    }

    /// A queue's lists of one state hold the same jobs, each in its order.
    fn check_lists(&self, queue: &Queue) {
        let ready: BTreeSet<JobKey> = queue.ready.iter().collect();
        let aged = |state: StateName| queue.by_age(state).iter().map(|(_, key)| *key).collect::<BTreeSet<_>>();
        let (prioritized, waiting): (BTreeSet<JobKey>, BTreeSet<JobKey>) =
            ready.iter().copied().partition(|key| self.known(*key).priority > 0);
        assert_eq!((aged(StateName::Prioritized), aged(StateName::Waiting)), (prioritized, waiting), "what is ready");
        for state in PAGE_ORDER {
            let listed: BTreeSet<JobKey> = queue.listed(state, None).map(|(_, key)| key).collect();
            assert_eq!(listed, aged(state), "every list of {} has the same jobs", state.as_str());
        }
        let mut priorities: BTreeMap<i32, u64> = BTreeMap::new();
        for key in queue.ready.iter().chain(queue.delayed.iter().map(|(_, key)| *key)) {
            *priorities.entry(self.known(key).priority).or_default() += 1;
        }
        assert_eq!(queue.priorities, priorities, "the counters equal a recount");
    }
}
