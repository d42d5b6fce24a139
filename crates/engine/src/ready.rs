//! The ready jobs of a queue, in the order in which they are taken (protocol-core.md 5.1).
//!
//! Jobs without a group come first: priority descending; lifo jobs before others, newest first; then by `runAt`, ties by
//! insertion. Then the groups take turns; within a group the lower priority number goes first, then `runAt`.

use crate::job::Job;
use crate::names::JobKey;
use crate::ranked::Ranked;
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
    /// Groups with a ready job, the next to be served first.
    turns: BTreeMap<u64, Arc<str>>,
    next_turn: u64,
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
        let grouped = || {
            let (_, group) = self.turns.first_key_value()?;
            self.lanes.get(group)?.places.first().map(|place| place.key)
        };
        self.ungrouped.first().map(|place| place.key).or_else(grouped)
    }

    /// Whether the job was not there yet.
    pub(crate) fn insert(&mut self, job: &Job) -> bool {
        let Some(group) = job.group() else { return self.ungrouped.insert(Place::of(job)) };
        let Some(lane) = self.lanes.get_mut(group) else {
            let turn = self.line_up(group);
            self.lanes.insert(group.clone(), Lane { turn, places: BTreeSet::from([LanePlace::of(job)]) });
            self.grouped += 1;
            return true;
        };
        self.grouped += 1;
        lane.places.insert(LanePlace::of(job))
    }

    /// Whether the job was there. The group it leaves goes to the end of the line.
    pub(crate) fn remove(&mut self, job: &Job) -> bool {
        let Some(group) = job.group() else { return self.ungrouped.remove(&Place::of(job)) };
        let Some(lane) = self.lanes.get_mut(group) else { return false };
        let was_there = lane.places.remove(&LanePlace::of(job));
        self.grouped -= usize::from(was_there);
        let (turn, is_over) = (lane.turn, lane.places.is_empty());
        self.turns.remove(&turn);
        if is_over {
            self.lanes.remove(group);
            return was_there;
        }
        let turn = self.line_up(group);
        if let Some(lane) = self.lanes.get_mut(group) {
            lane.turn = turn;
        }
        was_there
    }

    /// Puts a group at the end of the line.
    fn line_up(&mut self, group: &Arc<str>) -> u64 {
        self.next_turn += 1;
        self.turns.insert(self.next_turn, group.clone());
        self.next_turn
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
