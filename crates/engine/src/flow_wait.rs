//! Who waits for whom: a blocked job, what it still waits for, and how each dependency ended that has.
//!
//! `RareState::unresolved` says what a blocked job waited for when it began to wait. How one of these ended is a row of its
//! own, so that a parent of ten thousand children is not written anew for each of them. The rows live until the job
//! completes or leaves; they also keep the results of children that are gone (`flow_values.rs`).

use crate::engine::Engine;
use crate::job::{Job, JobState};
use crate::names::{JobId, JobKey};
use crate::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How a dependency ended for a job that depends on it.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// It completed, and there is nothing to be read of it.
    Met,
    /// This generation completed, a child whose result is kept.
    Value(JobKey),
    /// The child failed, and the parent ran at once; the error.
    Continued(String),
    /// The child failed, which is ignored; the error.
    Ignored(String),
    /// It is not waited for any more.
    Dropped,
}

/// The end of one dependency of one job, a row of the store.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// Ascending, the row id.
    pub number: u64,
    /// The queue the dependency lived in.
    pub queue: Arc<str>,
    /// How it ended.
    pub ending: Ending,
}

/// What is known of a job's dependencies besides its links.
#[derive(Debug, Default)]
pub(crate) struct Family {
    /// How many it waits for; above 0 exactly while it is blocked by some.
    pub(crate) open: usize,
    pub(crate) ends: BTreeMap<JobId, End>,
}

impl Engine {
    /// Whether the job waits for a dependency on this id.
    pub(crate) fn is_open(&self, waiting: JobKey, id: &JobId) -> bool {
        let Some(job) = self.jobs.get(waiting).filter(|job| job.state == JobState::Blocked) else { return false };
        let waited_for = job.rare().is_some_and(|rare| rare.unresolved.binary_search(id).is_ok());
        waited_for && !self.families.get(&waiting).is_some_and(|family| family.ends.contains_key(id))
    }

    /// What a blocked job waits for now, in the order of its dependencies.
    pub fn waits_for(&self, waiting: JobKey) -> Vec<&JobId> {
        let ids = self.jobs.get(waiting).map_or(&[][..], |job| job.depends_on());
        ids.iter().filter(|id| self.is_open(waiting, id)).collect()
    }

    /// Those of `ids` that a job would wait for, each once, ascending.
    pub(crate) fn to_wait_for(&self, ids: &[JobId], is_met: impl Fn(&JobId) -> bool) -> Vec<JobId> {
        let mut open: Vec<JobId> = ids.iter().filter(|id| !is_met(id)).cloned().collect();
        open.sort_unstable();
        open.dedup();
        open
    }

    /// What a retried job waits for: those of its dependencies that are live. One that failed, left or completed does not keep
    /// it, nor one that waits for the job itself.
    pub(crate) fn waits_again_for(&mut self, key: JobKey) -> Vec<JobId> {
        let open = self.live_ones(key, self.known(key).depends_on());
        for id in &open {
            self.forget_dependency(key, id);
        }
        open
    }

    /// Those of `ids` that are live and do not wait for the job itself, each once, ascending.
    fn live_ones(&self, key: JobKey, ids: &[JobId]) -> Vec<JobId> {
        let is_live = |id: &&JobId| self.jobs.by_id(id).is_some_and(Job::is_live);
        let ids: Vec<JobId> = ids.iter().filter(is_live).cloned().collect();
        if ids.is_empty() {
            return ids;
        }
        let waiting = self.waiting_on(&self.known(key).id);
        self.to_wait_for(&ids, |id| waiting.contains(id))
    }

    /// What a job waits for that its worker parks: those of its children that have not ended and do not wait for it.
    pub(crate) fn children_to_wait_for(&mut self, key: JobKey) -> Vec<JobId> {
        let open = self.live_ones(key, self.known(key).children_ids());
        for id in &open {
            self.forget_dependency(key, id);
        }
        let missing = |id: &&JobId| !self.known(key).depends_on().contains(id);
        let missing: Vec<JobId> = open.iter().filter(missing).cloned().collect();
        if !missing.is_empty() {
            self.known_mut(key).links_mut().depends_on.extend(missing);
        }
        open
    }

    /// A blocked job begins to wait: it is found by each id it depends on, whether that one has ended or not.
    pub(crate) fn begin_to_wait(&mut self, key: JobKey) {
        let job = self.jobs.get(key).expect("a generation in a set names a job");
        let unresolved = job.rare().map_or(&[][..], |rare| &rare.unresolved);
        // A job that only its worker parked waits for none of them.
        if unresolved.is_empty() {
            return;
        }
        let family = self.families.entry(key).or_default();
        family.open = unresolved.iter().filter(|id| !family.ends.contains_key(*id)).count();
        for id in job.depends_on() {
            self.consumers.entry(id.clone()).or_default().insert(key);
        }
    }

    /// It waits no more, or its dependencies are about to change.
    pub(crate) fn stop_to_wait(&mut self, key: JobKey) {
        let job = self.jobs.get(key).expect("a generation in a set names a job");
        if job.rare().is_none_or(|rare| rare.unresolved.is_empty()) {
            return;
        }
        for id in job.depends_on() {
            if let Some(blocked) = self.consumers.get_mut(id) {
                blocked.remove(&key);
                if blocked.is_empty() {
                    self.consumers.remove(id);
                }
            }
        }
        if let Some(family) = self.families.get_mut(&key) {
            family.open = 0;
            if family.ends.is_empty() {
                self.families.remove(&key);
            }
        }
    }

    /// Frees the jobs that waited for this one, which has completed, and answers which ones wait for nothing any more.
    pub(crate) fn resolve_dependants(&mut self, completed: JobKey, now: Timestamp) -> Vec<JobKey> {
        let job = self.known(completed);
        let (id, queue) = (job.id.clone(), self.queues.get(job.queue).name.clone());
        self.keep_for_parent(completed);
        let mut freed = Vec::new();
        for key in self.consumers.get(&id).cloned().unwrap_or_default() {
            let ending = self.ending_of(completed, key);
            if self.dependency_ended(key, &id, &queue, ending, now) {
                freed.push(key);
            }
        }
        freed
    }

    /// A dependency ended: nothing happens unless the job waits for it. Answers whether that was the last one.
    pub(crate) fn dependency_ended(
        &mut self,
        waiting: JobKey,
        id: &JobId,
        queue: &Arc<str>,
        ending: Ending,
        now: Timestamp,
    ) -> bool {
        if !self.is_open(waiting, id) {
            return false;
        }
        let family = self.families.get_mut(&waiting).expect("a job that waits has a family");
        family.open -= 1;
        let was_last = family.open == 0;
        // The last one needs no row if there is nothing to be read of it: the job's own row says that it waits no more.
        if !was_last || !matches!(ending, Ending::Met | Ending::Dropped) {
            self.record_end(waiting, id.clone(), queue.clone(), ending);
        }
        if was_last {
            self.unblock(waiting, now);
        }
        was_last
    }

    /// The job waits for nothing any more.
    pub(crate) fn unblock(&mut self, key: JobKey, now: Timestamp) {
        self.leave(key);
        let job = self.known_mut(key);
        job.state = JobState::Queued;
        let rare = job.rare_mut();
        rare.unresolved.clear();
        rare.parked_by_worker = false;
        self.enter(key, now);
    }

    /// Notes how a dependency ended, for a restart and for the parent to read; what was noted before is forgotten.
    pub(crate) fn record_end(&mut self, waiting: JobKey, id: JobId, queue: Arc<str>, ending: Ending) {
        let before = self.families.get_mut(&waiting).and_then(|family| family.ends.remove(&id));
        if let Some(before) = before {
            self.forget_end(waiting, &before);
        }
        if let Ending::Value(child) = ending {
            self.hold_result(child, waiting);
        }
        self.dirty.end(waiting, id.clone());
        let number = self.next_number();
        self.families.entry(waiting).or_default().ends.insert(id, End { number, queue, ending });
    }

    fn forget_end(&mut self, waiting: JobKey, end: &End) {
        self.dirty.end_gone(end.number);
        if let Ending::Value(child) = end.ending {
            self.release_result(child, waiting);
        }
    }

    /// The job needs nothing of its dependencies any more: it completed or leaves.
    pub(crate) fn drop_family(&mut self, key: JobKey) {
        let Some(family) = self.families.remove(&key) else { return };
        let mut ends: Vec<&End> = family.ends.values().collect();
        ends.sort_by_key(|end| end.number);
        for end in ends {
            self.forget_end(key, end);
        }
    }

    /// One dependency is neither waited for nor remembered any more; its link is changed by the caller.
    pub(crate) fn forget_dependency(&mut self, waiting: JobKey, id: &JobId) {
        let Some(family) = self.families.get_mut(&waiting) else { return };
        let end = family.ends.remove(id);
        if family.ends.is_empty() && family.open == 0 {
            self.families.remove(&waiting);
        }
        if let Some(end) = end {
            self.forget_end(waiting, &end);
        }
    }

    /// The ids of all jobs that wait for `id`, or for one that does, however far away.
    pub(crate) fn waiting_on(&self, id: &JobId) -> BTreeSet<JobId> {
        let mut found = BTreeSet::default();
        let mut next = vec![id.clone()];
        while let Some(id) = next.pop() {
            for key in self.consumers.get(&id).into_iter().flatten().filter(|key| self.is_open(**key, &id)) {
                let waiting = &self.known(*key).id;
                if found.insert(waiting.clone()) {
                    next.push(waiting.clone());
                }
            }
        }
        found
    }

    /// Whether jobs that are about to be added, each with its id and what it depends on, would wait in a circle among
    /// themselves or with those that wait for them already.
    pub(crate) fn would_wait_in_circle(&self, jobs: &[(&JobId, &[JobId])]) -> bool {
        let at: BTreeMap<&JobId, usize> = jobs.iter().enumerate().map(|(at, (id, _))| (*id, at)).collect();
        // Jobs of before that wait for one of these: to depend on them is to depend on that one.
        let mut stand_for: BTreeMap<JobId, Vec<usize>> = BTreeMap::default();
        for (place, (id, _)) in jobs.iter().enumerate() {
            for waiting in self.waiting_on(id) {
                stand_for.entry(waiting).or_default().push(place);
            }
        }
        let mut dependants: Vec<Vec<usize>> = vec![Vec::new(); jobs.len()];
        let mut open: Vec<usize> = vec![0; jobs.len()];
        for (place, (_, depends_on)) in jobs.iter().enumerate() {
            for id in *depends_on {
                let through = stand_for.get(id).into_iter().flatten().copied();
                for dependency in at.get(id).copied().into_iter().chain(through) {
                    dependants[dependency].push(place);
                    open[place] += 1;
                }
            }
        }
        let mut ready: Vec<usize> = (0..jobs.len()).filter(|place| open[*place] == 0).collect();
        let mut done = 0;
        while let Some(place) = ready.pop() {
            done += 1;
            for dependant in std::mem::take(&mut dependants[place]) {
                open[dependant] -= 1;
                if open[dependant] == 0 {
                    ready.push(dependant);
                }
            }
        }
        done < jobs.len()
    }
}
