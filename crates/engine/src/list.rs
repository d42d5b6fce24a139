//! The order of jobs in the window's pages, and where a page goes on.
//!
//! A cursor holds the place of the last job that was looked at, not only the job: whatever became of it meanwhile, the next page
//! goes on where this one ended.

use crate::command::StateName;
use crate::names::{JobKey, QueueId};
use crate::queue::Queue;
use crate::ready::{After, LanePlace, Place};
use crate::time::Timestamp;
use std::cmp::Reverse;
use std::sync::Arc;

/// States in the order of a page.
pub(crate) const PAGE_ORDER: [StateName; 7] = [
    StateName::Active,
    StateName::Prioritized,
    StateName::Waiting,
    StateName::Delayed,
    StateName::WaitingChildren,
    StateName::Failed,
    StateName::Completed,
];

/// The place of a job among those of its queue and state.
#[derive(Clone, Debug)]
pub(crate) enum ListPlace {
    /// Waiting and prioritized: as they are taken.
    Ready(After),
    /// Delayed, failed and completed: by their moment.
    At(Timestamp, JobKey),
    /// The others: by insertion.
    Nth(JobKey),
}

/// Where a page ended.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    /// Index into `PAGE_ORDER`.
    pub(crate) state: usize,
    pub(crate) queue: QueueId,
    pub(crate) place: ListPlace,
}

impl Cursor {
    /// The text that stands for the start of a list: a page ended before it looked at anything.
    pub(crate) fn start() -> String {
        "start".to_owned()
    }

    /// Whether all of this state and queue lies before the cursor.
    pub(crate) fn is_behind(&self, state: usize, queue: QueueId) -> bool {
        (state, queue) < (self.state, self.queue)
    }

    pub(crate) fn is_in(&self, state: usize, queue: QueueId) -> bool {
        (state, queue) == (self.state, self.queue)
    }

    /// None for the start and for what is no cursor.
    pub(crate) fn parse(text: &str) -> Option<Cursor> {
        let mut parts = text.splitn(7, '.');
        let mut number = || parts.next()?.parse::<i64>().ok();
        let state = usize::try_from(number()?).ok()?;
        let queue = QueueId(u32::try_from(number()?).ok()?);
        let key = JobKey(u64::try_from(number()?).ok()?);
        let (at, priority, fifo) = (number()?, i32::try_from(number()?).ok()?, number()? == 1);
        let place = match (PAGE_ORDER.get(state)?, parts.next()) {
            (StateName::Waiting | StateName::Prioritized, Some(group)) => {
                ListPlace::Ready(After::InLane(Arc::from(group), LanePlace { priority, run_at: at, key }))
            }
            (StateName::Waiting | StateName::Prioritized, None) => {
                ListPlace::Ready(After::Ungrouped(Place { priority: Reverse(priority), fifo, order: at, key }))
            }
            (StateName::Delayed | StateName::Failed | StateName::Completed, _) => ListPlace::At(Timestamp(at), key),
            (StateName::Active | StateName::WaitingChildren, _) => ListPlace::Nth(key),
        };
        Some(Cursor { state, queue, place })
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (key, at, priority, fifo, group) = match &self.place {
            ListPlace::Ready(After::Ungrouped(place)) => {
                (place.key, place.order, place.priority.0, i32::from(place.fifo), None)
            }
            ListPlace::Ready(After::InLane(group, place)) => (place.key, place.run_at, place.priority, 0, Some(group)),
            ListPlace::At(at, key) => (*key, at.0, 0, 0, None),
            ListPlace::Nth(key) => (*key, 0, 0, 0, None),
        };
        write!(out, "{}.{}.{}.{at}.{priority}.{fifo}", self.state, self.queue.0, key.0)?;
        group.map_or(Ok(()), |group| write!(out, ".{group}"))
    }
}

impl ListPlace {
    fn moment(&self) -> Option<(Timestamp, JobKey)> {
        match self {
            ListPlace::At(at, key) => Some((*at, *key)),
            ListPlace::Ready(_) | ListPlace::Nth(_) => None,
        }
    }

    fn nth(&self) -> Option<JobKey> {
        match self {
            ListPlace::Nth(key) => Some(*key),
            ListPlace::Ready(_) | ListPlace::At(..) => None,
        }
    }
}

/// The generation after one.
fn next(key: JobKey) -> JobKey {
    JobKey(key.0.saturating_add(1))
}

impl Queue {
    /// The jobs of a state in the order of a page, behind `after`.
    pub(crate) fn listed(
        &self,
        state: StateName,
        after: Option<ListPlace>,
    ) -> Box<dyn Iterator<Item = (ListPlace, JobKey)> + '_> {
        let at = |(at, key): &(Timestamp, JobKey)| (ListPlace::At(*at, *key), *key);
        let moment = after.as_ref().and_then(ListPlace::moment);
        match state {
            StateName::Waiting | StateName::Prioritized => {
                let after = match after {
                    Some(ListPlace::Ready(after)) => Some(after),
                    Some(ListPlace::At(..) | ListPlace::Nth(_)) | None => None,
                };
                let listed = self.ready.listed(state == StateName::Prioritized, after);
                Box::new(listed.map(|(place, key)| (ListPlace::Ready(place), key)))
            }
            StateName::Delayed => {
                let from = moment.map_or(0, |(at, key)| self.delayed.rank(&(at, next(key))));
                Box::new(self.delayed.slice(from..self.delayed.len()).map(at))
            }
            StateName::Failed | StateName::Completed => {
                let list = if state == StateName::Failed { &self.failed } else { &self.completed };
                let end = moment.map_or(list.len(), |moment| list.rank(&moment));
                Box::new(list.slice(0..end).rev().map(at))
            }
            StateName::WaitingChildren => {
                let from = after.and_then(|after| after.nth()).map_or(0, |key| self.blocked.rank(&next(key)));
                Box::new(self.blocked.slice(from..self.blocked.len()).map(|key| (ListPlace::Nth(*key), *key)))
            }
            StateName::Active => {
                let from = after.and_then(|after| after.nth()).map_or(0, |key| self.active.rank(&next(key)));
                Box::new(self.active.slice(from..self.active.len()).map(|key| (ListPlace::Nth(*key), *key)))
            }
        }
    }
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod list_tests;
