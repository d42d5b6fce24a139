//! What a queue knows of its groups: how many jobs of each are queued and active, and what holds a group back.
//!
//! A group is there as long as something of it is not as it is by default. Whether it may be served depends on the limits that a
//! worker brings along with its pull (protocol-admin.md 8): what is stored for the group counts instead of the worker's own
//! limit, but only where the worker has one. A pause and a hold always count.

use crate::limit::Rate;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is set for a group. Stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSettings {
    /// Nothing of it is taken.
    pub paused: bool,
    /// Nothing of it is taken before this moment (RateLimitGroup).
    pub held_until: Option<Timestamp>,
    /// Counts instead of a worker's own rate.
    pub rate: Option<Rate>,
    /// Counts instead of a worker's own number of jobs at once; at least 1.
    pub concurrency: Option<u64>,
}

/// The limits per group that a worker asks for with its pull.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupLimits {
    /// Active jobs of a group at once.
    pub concurrency: Option<u64>,
    /// Starts of a group in a window of time. The window begins with its first start.
    pub rate: Option<Rate>,
}

impl GroupLimits {
    /// A worker that asks for none.
    pub const NONE: GroupLimits = GroupLimits { concurrency: None, rate: None };
}

/// Which jobs a pull means.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Affinity {
    /// Any.
    #[default]
    Any,
    /// Those without a group.
    Ungrouped,
    /// Those of this group.
    Group(Arc<str>),
}

/// What a pull says about groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupWants {
    /// Which jobs it means.
    pub affinity: Affinity,
    /// The worker's limits.
    pub limits: GroupLimits,
}

/// A count of starts. It belongs to a rate, so that workers with different rates do not end each other's windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) rate: Rate,
    pub(crate) ends_at: Timestamp,
    /// Starts since it began, those of pulls with another rate included.
    pub(crate) taken: u64,
}

/// One group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    /// Ready and delayed jobs.
    pub(crate) queued: u64,
    pub(crate) active: u64,
    pub(crate) settings: GroupSettings,
    /// Memory only. None of them is over: their ends have timers.
    pub(crate) windows: Vec<Window>,
}

impl Group {
    /// Whether a worker with these limits may take a job of it now.
    pub(crate) fn is_free(&self, limits: &GroupLimits) -> bool {
        let GroupSettings { paused, held_until, rate, concurrency } = self.settings;
        if paused || held_until.is_some() {
            return false;
        }
        let most = limits.concurrency.map(|own| concurrency.unwrap_or(own));
        let rate = limits.rate.map(|own| rate.unwrap_or(own));
        let window = rate.and_then(|rate| self.windows.iter().find(|window| window.rate == rate));
        most.is_none_or(|most| self.active < most) && window.is_none_or(|window| window.taken < window.rate.max)
    }

    /// The moments at which something of it ends by itself.
    fn ends(&self) -> impl Iterator<Item = Timestamp> {
        self.settings.held_until.into_iter().chain(self.windows.iter().map(|window| window.ends_at))
    }
}

/// The groups of one queue.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    by_name: BTreeMap<Arc<str>, Group>,
    /// Every moment at which something of a group ends.
    ends: BTreeSet<(Timestamp, Arc<str>)>,
    /// The timer that is set for the first of them.
    pub(crate) timer: Option<Timestamp>,
    /// Ready and delayed jobs of all groups.
    queued: u64,
}

impl Groups {
    pub(crate) fn get(&self, name: &str) -> Option<&Group> {
        self.by_name.get(name)
    }

    pub(crate) fn settings(&self, name: &str) -> GroupSettings {
        self.get(name).map_or(GroupSettings::default(), |group| group.settings)
    }

    /// By name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Group)> {
        self.by_name.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    pub(crate) fn queued(&self) -> u64 {
        self.queued
    }

    pub(crate) fn is_free(&self, name: &str, limits: &GroupLimits) -> bool {
        self.get(name).is_none_or(|group| group.is_free(limits))
    }

    /// Changes a group, which is made or forgotten as it needs to be.
    pub(crate) fn change<T>(&mut self, name: &Arc<str>, how: impl FnOnce(&mut Group) -> T) -> T {
        let group = self.by_name.entry(name.clone()).or_default();
        for end in group.ends() {
            self.ends.remove(&(end, name.clone()));
        }
        self.queued -= group.queued;
        let changed = how(group);
        self.queued += group.queued;
        for end in group.ends() {
            self.ends.insert((end, name.clone()));
        }
        if *group == Group::default() {
            self.by_name.remove(name);
        }
        changed
    }

    /// A worker with these limits starts a job of the group. Every window counts it; a window of its rate begins with it.
    pub(crate) fn take(&mut self, name: &Arc<str>, limits: &GroupLimits, now: Timestamp) {
        let Some(own) = limits.rate else { return };
        self.change(name, |group| {
            let rate = group.settings.rate.unwrap_or(own);
            if !group.windows.iter().any(|window| window.rate == rate) {
                group.windows.push(Window { rate, ends_at: now.plus(rate.duration), taken: 0 });
            }
            group.windows.iter_mut().for_each(|window| window.taken += 1);
        });
    }

    /// The first moment at which something ends, looked for from the start.
    pub(crate) fn first_end(&self) -> Option<Timestamp> {
        self.by_name.values().flat_map(Group::ends).min()
    }

    pub(crate) fn next_end(&self) -> Option<Timestamp> {
        self.ends.first().map(|(at, _)| *at)
    }

    /// Ends what is over. Names the groups of which something ended, and whether their row changed.
    pub(crate) fn end_due(&mut self, now: Timestamp) -> Vec<(Arc<str>, bool)> {
        let mut ended = Vec::new();
        while let Some((_, name)) = self.ends.first().filter(|(at, _)| at.is_due(now)).cloned() {
            let was_held = self.change(&name, |group| {
                group.windows.retain(|window| !window.ends_at.is_due(now));
                let over = group.settings.held_until.filter(|end| end.is_due(now));
                group.settings.held_until = group.settings.held_until.filter(|end| !end.is_due(now));
                over.is_some()
            });
            ended.push((name, was_held));
        }
        ended
    }
}
