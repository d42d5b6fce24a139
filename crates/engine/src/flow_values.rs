//! What a parent reads of its children: results, also of those that are gone, and failures.
//!
//! A result that a parent may still read outlives its job: it stays where it lies, under its generation, until the last
//! parent that needs it has completed or left.

use crate::effects::Effects;
use crate::engine::Engine;
use crate::flow::{ChildFailure, ChildValue};
use crate::flow_wait::{End, Ending};
use crate::job::{Blob, JobState};
use crate::names::{JobId, JobKey};
use crate::time::Timestamp;

/// A result that jobs may still read.
#[derive(Debug, Default)]
pub(crate) struct HeldResult {
    /// The jobs, each once.
    pub(crate) by: Vec<JobKey>,
    /// The result, once its job is gone.
    pub(crate) orphan: Option<Blob>,
}

impl Engine {
    /// What of a completed job is kept for one that waits for it: the result, if that is its parent.
    pub(crate) fn ending_of(&self, completed: JobKey, waiting: JobKey) -> Ending {
        let (child, parent) = (self.known(completed), self.known(waiting));
        let is_child = child.parent_id() == Some(&parent.id) || parent.children_ids().contains(&child.id);
        match is_child && child.result != Blob::Absent {
            true => Ending::Value(completed),
            false => Ending::Met,
        }
    }

    /// The result of a completed child of a parent that does not wait for it (any more) but may read it.
    pub(crate) fn keep_for_parent(&mut self, completed: JobKey) {
        let child = self.known(completed);
        let parent = child.parent_id().and_then(|id| self.jobs.by_id(id)).filter(|parent| parent.is_live());
        let Some(parent) = parent.filter(|parent| !self.is_open(parent.key, &child.id)) else { return };
        if child.result == Blob::Absent || !parent.children_ids().contains(&child.id) {
            return;
        }
        let (id, queue, parent) = (child.id.clone(), self.queues.get(child.queue).name.clone(), parent.key);
        self.record_end(parent, id, queue, Ending::Value(completed));
    }

    /// A new parent may read the results of children that have completed already.
    pub(crate) fn note_past_of_children(&mut self, parent: JobKey) {
        let children = self.known(parent).children_ids().to_vec();
        for child in children {
            let done = self.jobs.by_id(&child).filter(|job| job.state == JobState::Completed);
            if let Some(job) = done.filter(|job| job.result != Blob::Absent) {
                let (key, queue) = (job.key, self.queues.get(job.queue).name.clone());
                self.record_end(parent, child, queue, Ending::Value(key));
            }
        }
    }

    /// Dashboards are told of jobs that wait for nothing any more, and of a tree whose children have all completed.
    pub(crate) fn tell_of_completion(&self, child: JobKey, freed: &[JobKey], now: Timestamp, effects: &mut Effects) {
        if !effects.watched {
            return;
        }
        for job in freed.iter().map(|key| self.known(*key)) {
            let queue = &self.queues.get(job.queue).name;
            effects.tell(now, "job:dependencies-resolved", [("jobId", (&job.id).into()), ("queue", queue.into())]);
        }
        let Some(parent) = self.known(child).parent_id().and_then(|id| self.jobs.by_id(id)) else { return };
        let is_open = self.families.get(&parent.key).is_some_and(|family| family.open > 0);
        let children = parent.children_ids();
        if !is_open && children.contains(&self.known(child).id) && children.iter().all(|id| self.has_completed(id)) {
            let (queue, count) = (&self.queues.get(parent.queue).name, children.len() as u64);
            let fields =
                [("parentJobId", (&parent.id).into()), ("queue", queue.into()), ("childrenCount", count.into())];
            effects.tell(now, "flow:completed", fields);
        }
    }

    pub(crate) fn hold_result(&mut self, child: JobKey, by: JobKey) {
        let held = self.held.entry(child).or_default();
        if !held.by.contains(&by) {
            held.by.push(by);
        }
    }

    pub(crate) fn release_result(&mut self, child: JobKey, by: JobKey) {
        let Some(held) = self.held.get_mut(&child) else { return };
        held.by.retain(|other| *other != by);
        if held.by.is_empty() {
            let held = self.held.remove(&child).expect("it was just there");
            if held.orphan.is_some() {
                self.dirty.orphan_gone(child);
            }
        }
    }

    /// The job is about to leave: its result stays if a parent may read it.
    pub(crate) fn orphan_result(&mut self, key: JobKey) -> bool {
        let result = self.known(key).result.clone();
        let Some(held) = self.held.get_mut(&key).filter(|_| result != Blob::Absent) else { return false };
        if matches!(result, Blob::Here(_)) {
            self.dirty.orphan(key);
        }
        held.orphan = Some(result);
        true
    }

    /// Whether a blocked job needs this one's result.
    pub(crate) fn is_needed(&self, key: JobKey) -> bool {
        let is_blocked = |by: &JobKey| self.jobs.get(*by).is_some_and(|job| job.state == JobState::Blocked);
        self.held.get(&key).is_some_and(|held| held.by.iter().any(is_blocked))
    }

    /// GetChildrenValues: what children completed with, in their order. Of an unknown job there are none.
    pub(crate) fn children_values(&self, id: &JobId) -> Vec<ChildValue> {
        let Some(parent) = self.jobs.by_id(id) else { return Vec::new() };
        let ends = self.families.get(&parent.key).map(|family| &family.ends);
        let value = |child: &JobId| {
            if let Some(End { queue, ending: Ending::Value(key), .. }) = ends.and_then(|ends| ends.get(child)) {
                let value = self.result_of(*key)?;
                return Some(ChildValue { queue: queue.clone(), id: child.clone(), key: *key, value });
            }
            let job = self.jobs.by_id(child)?;
            let queue = self.queues.get(job.queue).name.clone();
            Some(ChildValue { queue, id: child.clone(), key: job.key, value: self.result_of(job.key)? })
        };
        parent.children_ids().iter().filter_map(value).collect()
    }

    fn result_of(&self, key: JobKey) -> Option<Blob> {
        let result = match self.jobs.get(key) {
            Some(job) => (job.state == JobState::Completed).then(|| job.result.clone())?,
            None => self.held.get(&key)?.orphan.clone()?,
        };
        (result != Blob::Absent).then_some(result)
    }

    /// GetFailedChildrenValues.
    pub(crate) fn failed_children(&self, id: &JobId) -> Vec<ChildFailure> {
        self.failures(id, |ending| match ending {
            Ending::Continued(error) => Some(error),
            _ => None,
        })
    }

    /// GetIgnoredChildrenFailures.
    pub(crate) fn ignored_children(&self, id: &JobId) -> Vec<ChildFailure> {
        self.failures(id, |ending| match ending {
            Ending::Ignored(error) => Some(error),
            _ => None,
        })
    }

    /// In the order in which they happened.
    fn failures(&self, id: &JobId, is_meant: impl Fn(&Ending) -> Option<&String>) -> Vec<ChildFailure> {
        let family = self.jobs.key_of(id).and_then(|key| self.families.get(&key));
        let mut ends: Vec<(&JobId, &End)> = family.into_iter().flat_map(|family| &family.ends).collect();
        ends.sort_by_key(|(_, end)| end.number);
        let failure = |(id, end): (&JobId, &End)| {
            let error = is_meant(&end.ending)?.clone();
            Some(ChildFailure { queue: end.queue.clone(), id: id.clone(), error })
        };
        ends.into_iter().filter_map(failure).collect()
    }
}
