//! The ready jobs of a queue, in the order in which they are taken (protocol-core.md 5.1).
//!
//! Jobs without a group come first: priority descending; lifo jobs before others, newest first; then by `runAt`, ties by
//! insertion. Then the groups take turns; within a group the lower priority number goes first, then `runAt`.

use crate::groups::{Affinity, GroupLimits, GroupWants, Groups};
use crate::job::Job;
use crate::names::JobKey;
use crate::ranked::Ranked;
use crate::rejection::Rejection;
use crate::time::Timestamp;
use crate::turns::Turns;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::Arc;

/// A place in the order of jobs without a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) priority: Reverse<i32>,
    pub(crate) fifo: bool,
    pub(crate) order: i64,
    pub(crate) key: JobKey,
}

impl Place {
    /// In front of all that are waiting, behind all that are prioritized.
    const FIRST_WAITING: Place = Place { priority: Reverse(0), fifo: false, order: i64::MIN, key: JobKey(0) };

    pub(crate) fn of(job: &Job) -> Place {
        let order = if job.lifo { -(job.key.0.cast_signed()) } else { job.run_at.0 };
        Place { priority: Reverse(job.priority), fifo: !job.lifo, order, key: job.key }
    }
}

/// A place in a group's lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LanePlace {
    pub(crate) priority: i32,
    pub(crate) run_at: i64,
    pub(crate) key: JobKey,
}

impl LanePlace {
    /// In front of all that are prioritized, behind all that are waiting.
    const FIRST_PRIORITIZED: LanePlace = LanePlace { priority: 1, run_at: i64::MIN, key: JobKey(0) };

    pub(crate) fn of(job: &Job) -> LanePlace {
        LanePlace { priority: job.priority, run_at: job.run_at.0, key: job.key }
    }
}

/// Where a list of ready jobs goes on.
#[derive(Clone, Debug)]
pub(crate) enum After {
    /// Behind a job without a group.
    Ungrouped(Place),
    /// Behind a job of a group.
    InLane(Arc<str>, LanePlace),
}

/// A group's ready jobs.
#[derive(Debug)]
struct Lane {
    /// Its place among the groups.
    turn: u64,
    places: BTreeSet<LanePlace>,
}

/// The ready jobs of one queue.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    ungrouped: Ranked<Place>,
    lanes: BTreeMap<Arc<str>, Lane>,
    turns: Turns,
    grouped: usize,
}

impl Ready {
    pub(crate) fn len(&self) -> usize {
        self.ungrouped.len() + self.grouped
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The job that a pull takes next; none = any job of the queue is meant and no group is limited.
    pub(crate) fn first(&self, wants: Option<&GroupWants>, groups: &Groups) -> Option<JobKey> {
        let (affinity, limits) = wants.map_or((&Affinity::Any, &GroupLimits::NONE), |it| (&it.affinity, &it.limits));
        let ungrouped = || self.ungrouped.first().map(|place| place.key);
        let of_group = |name: &Arc<str>| self.lanes.get(name)?.places.first().map(|place| place.key);
        match affinity {
            Affinity::Any => ungrouped().or_else(|| of_group(self.turns.first(limits)?)),
            Affinity::Ungrouped => ungrouped(),
            Affinity::Group(name) => of_group(name).filter(|_| groups.is_free(name, limits)),
        }
    }

    /// A pull with these limits has come.
    pub(crate) fn learn(&mut self, limits: &GroupLimits, now: Timestamp, groups: &Groups) -> Result<(), Rejection> {
        let line = self.lanes.iter().map(|(name, lane)| (lane.turn, name));
        self.turns.learn(limits, now, line, groups)
    }

    pub(crate) fn turns(&self) -> &Turns {
        &self.turns
    }

    pub(crate) fn turns_mut(&mut self) -> &mut Turns {
        &mut self.turns
    }

    /// The groups with a ready job, with their places in the line.
    pub(crate) fn line(&self) -> impl Iterator<Item = (u64, &Arc<str>)> {
        self.lanes.iter().map(|(name, lane)| (lane.turn, name))
    }

    /// Something of the group has changed that may hold it back or let it go.
    pub(crate) fn review(&mut self, group: &Arc<str>, groups: &Groups) {
        if let Some(lane) = self.lanes.get(group) {
            self.turns.stand(lane.turn, group, groups);
        }
    }

    /// Whether the job was not there yet.
    pub(crate) fn insert(&mut self, job: &Job, groups: &Groups) -> bool {
        let Some(group) = job.group() else { return self.ungrouped.insert(Place::of(job)) };
        self.grouped += 1;
        if let Some(lane) = self.lanes.get_mut(group) {
            return lane.places.insert(LanePlace::of(job));
        }
        let turn = self.turns.line_up();
        self.turns.stand(turn, group, groups);
        self.lanes.insert(group.clone(), Lane { turn, places: BTreeSet::from([LanePlace::of(job)]) });
        true
    }

    /// Whether the job was there. The group it leaves goes to the end of the line.
    pub(crate) fn remove(&mut self, job: &Job, groups: &Groups) -> bool {
        let Some(group) = job.group() else { return self.ungrouped.remove(&Place::of(job)) };
        let Some(lane) = self.lanes.get_mut(group) else { return false };
        let was_there = lane.places.remove(&LanePlace::of(job));
        self.grouped -= usize::from(was_there);
        self.turns.leave(lane.turn);
        if lane.places.is_empty() {
            self.lanes.remove(group);
        } else {
            lane.turn = self.turns.line_up();
            self.turns.stand(lane.turn, group, groups);
        }
        was_there
    }

    /// Those without a group in order, then lane by lane.
    pub(crate) fn iter(&self) -> impl Iterator<Item = JobKey> {
        let lanes = self.lanes.values().flat_map(|lane| &lane.places);
        self.ungrouped.iter().map(|place| place.key).chain(lanes.map(|place| place.key))
    }

    /// The prioritized or the waiting ones in the order of `iter`, behind `after`; all of them when there is none. What is not
    /// there any more marks its place all the same.
    pub(crate) fn listed(&self, prioritized: bool, after: Option<After>) -> impl Iterator<Item = (After, JobKey)> + '_ {
        let waiting_from = self.ungrouped.rank(&Place::FIRST_WAITING);
        let whole = if prioritized { 0..waiting_from } else { waiting_from..self.ungrouped.len() };
        let (places, lanes_from, within) = match after {
            None => (whole, Unbounded, None),
            Some(After::Ungrouped(place)) => {
                // The first place that is greater; the place itself may be gone.
                let next = self.ungrouped.rank(&Place { key: JobKey(place.key.0.saturating_add(1)), ..place });
                (next.clamp(whole.start, whole.end)..whole.end, Unbounded, None)
            }
            Some(After::InLane(group, place)) => (0..0, Included(group.clone()), Some((group, place))),
        };
        let ungrouped = self.ungrouped.slice(places).map(|place| (After::Ungrouped(*place), place.key));
        let lanes = self.lanes.range::<Arc<str>, _>((lanes_from, Unbounded)).flat_map(move |(group, lane)| {
            let first = if prioritized { Included(LanePlace::FIRST_PRIORITIZED) } else { Unbounded };
            let end = if prioritized { Unbounded } else { Excluded(LanePlace::FIRST_PRIORITIZED) };
            let fits = |place: &LanePlace| (*place >= LanePlace::FIRST_PRIORITIZED) == prioritized;
            let behind = within.as_ref().filter(|(here, place)| here == group && fits(place));
            let from = behind.map_or(first, |(_, place)| Excluded(*place));
            let places = lane.places.range((from, end));
            places.map(|place| (After::InLane(group.clone(), *place), place.key))
        });
        ungrouped.chain(lanes)
    }
}
