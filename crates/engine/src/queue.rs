//! A queue: the orders its jobs stand in, and who waits for them.

use crate::change::QueueSettings;
use crate::command::{NewJob, StateName};
use crate::dead::DlqConfig;
use crate::group::{Affinity, GroupWants};
use crate::groups::{Group, GroupLimits, Groups};
use crate::hashing::Keyed;
use crate::job::{Job, JobState};
use crate::limit::{Gate, Limits, Meter};
use crate::limits::SHARED_SPECS_MAX;
use crate::names::{EntryId, JobKey, QueueId};
use crate::park::ParkedPulls;
use crate::ranked::Ranked;
use crate::ready::Ready;
use crate::rejection::Rejection;
use crate::reply::{JobCounts, StallConfig, Totals};
use crate::time::{Millis, Timestamp};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

/// One queue.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) id: QueueId,
    pub(crate) name: Arc<str>,
    /// Something was added to it or set on it; a queue that was only asked about is not listed.
    pub(crate) registered: bool,
    pub(crate) settings: QueueSettings,
    /// How far its rate is used up.
    pub(crate) meter: Meter,
    pub(crate) ready: Ready,
    pub(crate) groups: Groups,
    /// Ready and delayed jobs of each priority.
    pub(crate) priorities: BTreeMap<i32, u64>,
    pub(crate) delayed: Ranked<(Timestamp, JobKey)>,
    pub(crate) active: Ranked<JobKey>,
    pub(crate) blocked: Ranked<JobKey>,
    /// By moment of completion.
    pub(crate) completed: Ranked<(Timestamp, JobKey)>,
    /// By moment of entering the dead letters.
    pub(crate) failed: Ranked<(Timestamp, JobKey)>,
    /// The jobs of each state by creation, ties by insertion, for GetJobs. Indexed by `StateName`.
    by_age: [Ranked<(Timestamp, JobKey)>; 7],
    /// Pulls that wait, first come first served among those who want the same.
    pub(crate) parked: ParkedPulls,
    /// The keys held in it, in order of registration.
    pub(crate) keys: Ranked<EntryId>,
    pub(crate) totals: Totals,
    /// Commands that are removing all that waits in it.
    pub(crate) emptied_by: u32,
    /// Requests of the newest jobs, each kind once.
    specs: VecDeque<Arc<NewJob>>,
}

impl Queue {
    fn new(id: QueueId, name: Arc<str>) -> Queue {
        Queue {
            id,
            name,
            registered: false,
            settings: default_settings(),
            meter: Meter::default(),
            ready: Ready::default(),
            groups: Groups::default(),
            priorities: BTreeMap::new(),
            delayed: Ranked::default(),
            active: Ranked::default(),
            blocked: Ranked::default(),
            completed: Ranked::default(),
            failed: Ranked::default(),
            by_age: Default::default(),
            parked: ParkedPulls::default(),
            keys: Ranked::default(),
            totals: Totals::default(),
            emptied_by: 0,
            specs: VecDeque::new(),
        }
    }

    /// The request as another job of this queue has it already, if one of the newest kinds is the same. Most jobs of a queue ask
    /// for the same but for their payload and their identity, and a million of them then hold one request.
    pub(crate) fn shared(&mut self, spec: &Arc<NewJob>) -> Arc<NewJob> {
        if let Some(known) = self.known_spec(spec) {
            return Arc::clone(known);
        }
        if self.specs.len() == SHARED_SPECS_MAX {
            self.specs.pop_back();
        }
        self.specs.push_front(Arc::clone(spec));
        Arc::clone(spec)
    }

    /// The same request, if one of the newest kinds is it.
    pub(crate) fn known_spec(&self, spec: &Arc<NewJob>) -> Option<&Arc<NewJob>> {
        self.specs.iter().find(|known| Arc::ptr_eq(known, spec) || *known == spec)
    }

    /// Puts the job into the set of its state; `job.ready` tells ready from delayed.
    pub(crate) fn insert(&mut self, job: &Job) {
        let is_new = match job.state {
            JobState::Queued if job.ready => self.ready.insert(job, &self.groups),
            JobState::Queued => self.delayed.insert((job.run_at, job.key)),
            JobState::Blocked => self.blocked.insert(job.key),
            JobState::Active => self.active.insert(job.key),
            JobState::Completed => self.completed.insert((ended_at(job), job.key)),
            JobState::Failed => self.failed.insert((ended_at(job), job.key)),
        };
        assert!(is_new, "a job is in exactly one set: {}", job.id);
        self.by_age[listed_as(job) as usize].insert((job.created_at, job.key));
        if job.state == JobState::Queued {
            *self.priorities.entry(job.priority).or_default() += 1;
        }
        if let Some(group) = job.group() {
            match job.state {
                JobState::Queued => self.groups.change(group, |group| group.queued += 1),
                JobState::Active => self.change_group(group, |group| group.active += 1),
                JobState::Blocked | JobState::Completed | JobState::Failed => {}
            }
        }
    }

    /// Takes the job out of the set of its state.
    pub(crate) fn remove(&mut self, job: &Job) {
        let was_there = match job.state {
            JobState::Queued if job.ready => self.ready.remove(job, &self.groups),
            JobState::Queued => self.delayed.remove(&(job.run_at, job.key)),
            JobState::Blocked => self.blocked.remove(&job.key),
            JobState::Active => self.active.remove(&job.key),
            JobState::Completed => self.completed.remove(&(ended_at(job), job.key)),
            JobState::Failed => self.failed.remove(&(ended_at(job), job.key)),
        };
        assert!(was_there, "a job is in the set of its state: {}", job.id);
        let was_listed = self.by_age[listed_as(job) as usize].remove(&(job.created_at, job.key));
        assert!(was_listed, "a job is listed by its age: {}", job.id);
        if job.state == JobState::Queued {
            one_less(&mut self.priorities, &job.priority);
        }
        if let Some(group) = job.group() {
            match job.state {
                JobState::Queued => self.groups.change(group, |group| group.queued -= 1),
                JobState::Active => self.change_group(group, |group| group.active -= 1),
                JobState::Blocked | JobState::Completed | JobState::Failed => {}
            }
        }
    }

    /// Changes a group, which may let it go or hold it back.
    pub(crate) fn change_group<T>(&mut self, name: &Arc<str>, how: impl FnOnce(&mut Group) -> T) -> T {
        let changed = self.groups.change(name, how);
        self.ready.review(name, &self.groups);
        changed
    }

    /// The job that a pull takes now.
    pub(crate) fn offer(&self, wants: Option<&GroupWants>, now: Timestamp) -> Option<JobKey> {
        if self.ready.is_empty() || self.gate(now) != Gate::Open {
            return None;
        }
        self.ready.first(wants, &self.groups)
    }

    /// A pull has come that says this about groups.
    pub(crate) fn learn_wants(&mut self, wants: Option<&GroupWants>, now: Timestamp) -> Result<(), Rejection> {
        match wants {
            Some(GroupWants { affinity: Affinity::Any, limits }) => self.ready.learn(limits, now, &self.groups),
            // One group is looked at directly, and jobs without a group have no limits of a group.
            Some(GroupWants { affinity: Affinity::Ungrouped | Affinity::Group(_), .. }) | None => Ok(()),
        }
    }

    /// Forgets views of the groups that are not used any more.
    pub(crate) fn forget_unused_views(&mut self, now: Timestamp) {
        let waited: BTreeSet<GroupLimits> = self.parked.wants().filter_map(|wants| Some(wants?.limits)).collect();
        self.ready.turns_mut().forget_unused(now, |limits| waited.contains(limits));
    }

    /// The jobs of a state by creation. Ready jobs are waiting or prioritized here, whether the queue is paused or not.
    pub(crate) fn by_age(&self, state: StateName) -> &Ranked<(Timestamp, JobKey)> {
        &self.by_age[state as usize]
    }

    /// Ready and delayed jobs of a group.
    pub(crate) fn group_size(&self, group: &str) -> u64 {
        self.groups.get(group).map_or(0, |group| group.queued)
    }

    /// Jobs per state; ready ones count as paused while the queue is paused.
    pub(crate) fn counts(&self) -> JobCounts {
        let ready = self.ready.len() as u64;
        let mut counts = JobCounts {
            delayed: self.delayed.len() as u64,
            active: self.active.len() as u64,
            completed: self.completed.len() as u64,
            failed: self.failed.len() as u64,
            waiting_children: self.blocked.len() as u64,
            ..JobCounts::default()
        };
        if self.settings.paused {
            counts.paused = ready;
        } else {
            counts.prioritized = self.by_age(StateName::Prioritized).len() as u64;
            counts.waiting = self.by_age(StateName::Waiting).len() as u64;
        }
        counts
    }

    /// Every job of the queue: pending, active, blocked, finished.
    pub(crate) fn all_jobs(&self) -> impl Iterator<Item = JobKey> {
        self.by_age.iter().flatten().map(|(_, key)| *key)
    }

    /// Nothing in it, nobody waiting, nothing set: it may be forgotten.
    pub(crate) fn is_idle(&self) -> bool {
        self.all_jobs().next().is_none()
            && self.parked.is_empty()
            && self.keys.is_empty()
            && self.groups.is_empty()
            && self.emptied_by == 0
            && self.settings == QueueSettings { place: self.settings.place, ..default_settings() }
    }
}

/// The state in whose list a job stands. That a delayed job is due is seen at the next tick, which moves it.
fn listed_as(job: &Job) -> StateName {
    match job.state {
        JobState::Queued if !job.ready => StateName::Delayed,
        JobState::Queued if job.priority > 0 => StateName::Prioritized,
        JobState::Queued => StateName::Waiting,
        JobState::Blocked => StateName::WaitingChildren,
        JobState::Active => StateName::Active,
        JobState::Completed => StateName::Completed,
        JobState::Failed => StateName::Failed,
    }
}

fn one_less<K: Ord>(counts: &mut BTreeMap<K, u64>, of: &K) {
    if let Some(count) = counts.get_mut(of) {
        *count -= 1;
        if *count == 0 {
            counts.remove(of);
        }
    }
}

/// When a finished job ended.
pub(crate) fn ended_at(job: &Job) -> Timestamp {
    match job.failure() {
        Some(failure) => failure.entered_at,
        None => job.completed_at.unwrap_or(job.created_at),
    }
}

/// Settings of a queue nobody has configured (protocol-admin.md 4).
pub(crate) fn default_settings() -> QueueSettings {
    let stall =
        StallConfig { enabled: true, stall_interval: Millis(30_000), max_stalls: 3, grace_period: Millis(5_000) };
    QueueSettings { paused: false, stall, limits: Limits::default(), dlq: DlqConfig::default(), place: 0 }
}

/// All queues, in order of their first mention.
#[derive(Debug)]
pub(crate) struct Queues {
    by_id: BTreeMap<QueueId, Queue>,
    by_name: HashMap<Arc<str>, QueueId, Keyed>,
    next: u32,
    /// The last place given out.
    last_place: u64,
    /// Queues that were listed, or are not any more, since somebody was told.
    news: QueueNews,
}

/// What became of the list of queues.
#[derive(Debug, Default)]
pub(crate) struct QueueNews {
    pub(crate) created: Vec<Arc<str>>,
    pub(crate) removed: Vec<Arc<str>>,
}

impl Queues {
    pub(crate) fn new(keyed: &Keyed) -> Queues {
        Queues {
            by_id: BTreeMap::new(),
            by_name: HashMap::with_hasher(keyed.clone()),
            next: 0,
            last_place: 0,
            news: QueueNews::default(),
        }
    }

    /// Lists a queue behind all others, unless it is listed. Answers whether that changed anything.
    pub(crate) fn register(&mut self, id: QueueId) -> bool {
        let place = self.last_place + 1;
        let queue = self.get_mut(id);
        if queue.registered {
            return false;
        }
        queue.registered = true;
        queue.settings.place = place;
        let name = Arc::clone(&queue.name);
        self.last_place = place;
        self.news.created.push(name);
        true
    }

    /// Takes a queue from the list, with all that was set on it.
    pub(crate) fn reset(&mut self, id: QueueId) {
        let queue = self.get_mut(id);
        queue.settings = default_settings();
        queue.totals = Totals::default();
        if std::mem::take(&mut queue.registered) {
            let name = Arc::clone(&queue.name);
            self.news.removed.push(name);
        }
    }

    /// What there is to tell, told once.
    pub(crate) fn news(&mut self) -> &mut QueueNews {
        &mut self.news
    }

    /// A queue as it was stored.
    pub(crate) fn restore(&mut self, id: QueueId, settings: QueueSettings) {
        // A file of a version that did not count has no places: its queues stand in the order in which they are given.
        let place = settings.place.max(self.last_place + 1);
        self.last_place = place;
        let queue = self.get_mut(id);
        queue.registered = true;
        queue.settings = QueueSettings { place, ..settings };
    }

    /// Those that are listed, in order of registration.
    pub(crate) fn registered(&self) -> Vec<&Queue> {
        let mut listed: Vec<&Queue> = self.iter().filter(|queue| queue.registered).collect();
        listed.sort_by_key(|queue| queue.settings.place);
        listed
    }

    /// The queue of that name, made when it is not there.
    pub(crate) fn ensure(&mut self, name: &Arc<str>) -> QueueId {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        let id = QueueId(self.next);
        self.next += 1;
        self.by_name.insert(name.clone(), id);
        self.by_id.insert(id, Queue::new(id, name.clone()));
        id
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Queue> {
        self.by_name.get(name).map(|id| self.get(*id))
    }

    pub(crate) fn get(&self, id: QueueId) -> &Queue {
        self.by_id.get(&id).expect("a queue id in use names a queue")
    }

    pub(crate) fn get_mut(&mut self, id: QueueId) -> &mut Queue {
        self.by_id.get_mut(&id).expect("a queue id in use names a queue")
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Queue> {
        self.by_id.values()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Queue> {
        self.by_id.values_mut()
    }

    /// Forgets a queue that nothing refers to any more.
    pub(crate) fn forget(&mut self, id: QueueId) {
        let queue = self.by_id.remove(&id).expect("a queue id in use names a queue");
        self.by_name.remove(&queue.name);
        if queue.registered {
            self.news.removed.push(queue.name);
        }
    }
}
