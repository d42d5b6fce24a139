//! Jobs that were just taken, many of them in one row of the file.
//!
//! A row for each would be half of what is written about a job that is taken and acknowledged. So the jobs of a turn whose only
//! news is that they were taken now for the first time stand in one list together. What happens to one of them afterwards is
//! written about that job alone and counts before the list, which goes once none of its jobs is active any more.

use crate::engine::Engine;
use crate::job::{Job, JobState, TimelineEntry};
use crate::names::JobKey;
use crate::state::StateName;
use crate::time::Timestamp;
use rustc_hash::FxHashMap;

/// For fewer, rows of their own cost less than a list that is written and deleted.
const LIST_MIN: usize = 4;

/// How many jobs of each list are active, by the first job of the list.
pub(crate) type TakenLists = FxHashMap<JobKey, usize>;

/// A list to be written with the present turn.
#[derive(Debug)]
pub(crate) struct TakenList {
    /// When they were taken.
    pub(crate) at: Timestamp,
    /// `LIST_MIN` or more.
    pub(crate) jobs: Vec<JobKey>,
}

impl TakenList {
    /// Its name in the file. A job is in no second list while it exists.
    pub(crate) fn first(&self) -> JobKey {
        self.jobs[0]
    }
}

impl Job {
    /// It waits as it was added: a store has nothing to write but what was asked for.
    #[must_use]
    pub fn is_as_added(&self) -> bool {
        self.state == JobState::Queued
            && self.started_at.is_none()
            && self.last_heartbeat == self.created_at
            && self.extra.timeline.is_empty()
            && self.is_untroubled()
    }

    /// All that ever happened to it is that it was taken, and it has no row of its own that tells anything else.
    pub(crate) fn is_only_taken(&self) -> bool {
        let is_this = |step: &TimelineEntry| step.state == StateName::Active && Some(step.at) == self.started_at;
        self.state == JobState::Active
            && !self.has_state_row
            && self.started_at == Some(self.last_heartbeat)
            && matches!(&self.extra.timeline[..], [step] if is_this(step))
            && self.is_untroubled()
    }

    /// As it was asked for, at its first attempt, and nothing more to tell.
    fn is_untroubled(&self) -> bool {
        self.attempts == 0
            && self.stall_count == 0
            && self.progress == 0.0
            && self.completed_at.is_none()
            && self.priority == self.spec.priority
            && self.lifo == self.spec.lifo
            && self.run_at == self.created_at.plus(self.spec.delay)
            && self.extra.rare.is_none()
    }

    /// The list that it stands in already.
    fn list(&self) -> Option<JobKey> {
        self.delivery.as_ref()?.list
    }
}

impl Engine {
    /// The list of the present turn, if enough jobs belong into one.
    pub(crate) fn taken_list(&self) -> Option<TakenList> {
        let mut found = TakenList { at: Timestamp(0), jobs: Vec::new() };
        for job in self.dirty.jobs_taken().iter().filter_map(|key| self.jobs.get(*key)) {
            let Some(at) = job.started_at.filter(|_| job.is_only_taken() && job.list().is_none()) else { continue };
            if found.jobs.is_empty() {
                found.at = at;
            }
            if found.at == at {
                found.jobs.push(job.key);
            }
        }
        (found.jobs.len() >= LIST_MIN).then_some(found)
    }

    /// Whether a list tells what became of the job; `list` is that of the present turn.
    pub(crate) fn is_told_by_list(job: &Job, list: Option<&TakenList>) -> bool {
        let joins = || list.is_some_and(|list| job.started_at == Some(list.at));
        job.is_only_taken() && (job.list().is_some() || joins())
    }

    /// The list was written.
    pub(crate) fn keep_list(&mut self, list: &TakenList) {
        self.taken_lists.insert(list.first(), list.jobs.len());
        for key in &list.jobs {
            self.known_mut(*key).delivery.as_deref_mut().expect("a taken job has a delivery").list = Some(list.first());
        }
    }

    /// A job of the list is not active any more.
    pub(crate) fn leave_list(&mut self, list: JobKey) {
        let left = self.taken_lists.get_mut(&list).expect("a list has as many jobs as name it");
        *left -= 1;
        if *left == 0 {
            self.taken_lists.remove(&list);
            self.dirty.list_gone(list);
        }
    }
}
