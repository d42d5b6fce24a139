//! The ready jobs of a queue, in the order in which they are taken (protocol-core.md 5.1).
//!
//! Jobs without a group come first: priority descending; lifo jobs before others, newest first; then by `runAt`, ties by
//! insertion. Then the groups take turns; within a group the lower priority number goes first, then `runAt`.

use crate::job::Job;
use crate::names::JobKey;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A place in the order of jobs without a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    priority: Reverse<i32>,
    fifo: bool,
    order: i64,
    key: JobKey,
}

impl Place {
    fn of(job: &Job) -> Place {
        let order = if job.lifo { -(job.key.0.cast_signed()) } else { job.run_at.0 };
        Place { priority: Reverse(job.priority), fifo: !job.lifo, order, key: job.key }
    }
}

/// A place in a group's lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LanePlace {
    priority: i32,
    run_at: i64,
    key: JobKey,
}

impl LanePlace {
    fn of(job: &Job) -> LanePlace {
        LanePlace { priority: job.priority, run_at: job.run_at.0, key: job.key }
    }
}

/// The ready jobs of one queue.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    ungrouped: BTreeMap<Place, JobKey>,
    lanes: BTreeMap<Arc<str>, BTreeMap<LanePlace, JobKey>>,
    /// Groups with a ready job, the next to be served first.
    turns: VecDeque<Arc<str>>,
    grouped: usize,
}

impl Ready {
    pub(crate) fn len(&self) -> usize {
        self.ungrouped.len() + self.grouped
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The job that is taken next.
    pub(crate) fn first(&self) -> Option<JobKey> {
        let ungrouped = self.ungrouped.first_key_value().map(|(_, key)| *key);
        ungrouped.or_else(|| self.lanes.get(self.turns.front()?)?.first_key_value().map(|(_, key)| *key))
    }

    /// Whether the job was not there yet.
    pub(crate) fn insert(&mut self, job: &Job) -> bool {
        let Some(group) = job.group() else { return self.ungrouped.insert(Place::of(job), job.key).is_none() };
        let lane = self.lanes.entry(group.clone()).or_default();
        if lane.is_empty() {
            self.turns.push_back(group.clone());
        }
        self.grouped += 1;
        lane.insert(LanePlace::of(job), job.key).is_none()
    }

    /// Whether the job was there. The group it leaves goes to the end of the line.
    pub(crate) fn remove(&mut self, job: &Job) -> bool {
        let Some(group) = job.group() else { return self.ungrouped.remove(&Place::of(job)).is_some() };
        let Some(lane) = self.lanes.get_mut(group) else { return false };
        let was_there = lane.remove(&LanePlace::of(job)).is_some();
        let is_over = lane.is_empty();
        self.grouped -= usize::from(was_there);
        self.turns.retain(|other| other != group);
        if is_over {
            self.lanes.remove(group);
        } else {
            self.turns.push_back(group.clone());
        }
        was_there
    }

    /// Those without a group in order, then lane by lane.
    pub(crate) fn iter(&self) -> impl Iterator<Item = JobKey> {
        self.ungrouped.values().chain(self.lanes.values().flat_map(BTreeMap::values)).copied()
    }

    /// What follows `job` in the order of `iter`; all of it when there is none.
    pub(crate) fn after(&self, job: Option<&Job>) -> Box<dyn Iterator<Item = JobKey> + '_> {
        use std::ops::Bound::{Excluded, Unbounded};
        let Some(job) = job else { return Box::new(self.iter()) };
        let lanes =
            |from| self.lanes.range::<Arc<str>, _>((from, Unbounded)).flat_map(|(_, lane)| lane.values().copied());
        match job.group() {
            None => {
                let rest = self.ungrouped.range((Excluded(Place::of(job)), Unbounded)).map(|(_, key)| *key);
                Box::new(rest.chain(lanes(Unbounded)))
            }
            Some(group) => {
                let lane = self.lanes.get(group).into_iter();
                let rest = lane.flat_map(move |lane| lane.range((Excluded(LanePlace::of(job)), Unbounded)));
                let rest: Vec<JobKey> = rest.map(|(_, key)| *key).collect();
                Box::new(rest.into_iter().chain(lanes(Excluded(group.clone()))))
            }
        }
    }
}
