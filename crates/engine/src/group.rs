//! The group commands (protocol-admin.md 8): what holds a group's jobs back, and what is asked about it.

use crate::engine::Engine;
use crate::groups::{Group, GroupSettings};
use crate::limit::Rate;
use crate::names::QueueId;
use crate::reply::Reply;
use crate::time::{Millis, Timestamp};
use crate::timers::Timer;
use std::sync::Arc;

pub use crate::groups::{Affinity, GroupLimits, GroupWants};

/// A group command.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// GetGroupsJobsCount.
    JobsOfAll {
        /// The queue.
        queue: Arc<str>,
    },
    /// One of a single group.
    Of {
        /// The queue.
        queue: Arc<str>,
        /// The group.
        group: Arc<str>,
        /// What about it.
        about: About,
    },
}

/// A question about one group or a change of it; each variant names its wire command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// GetGroupJobsCount.
    JobsCount,
    /// GetGroupActiveCount.
    ActiveCount,
    /// SetGroupRateLimit.
    SetRate(Rate),
    /// GetGroupRateLimit.
    Rate,
    /// RemoveGroupRateLimit.
    RemoveRate,
    /// GetGroupRateLimitTtl: 0 until so many jobs were started in the window.
    RateTtl(Option<u64>),
    /// SetGroupConcurrency, at least 1.
    SetConcurrency(u64),
    /// GetGroupConcurrency.
    Concurrency,
    /// RemoveGroupConcurrency.
    RemoveConcurrency,
    /// PauseGroup.
    Pause,
    /// ResumeGroup.
    Resume,
    /// IsGroupPaused.
    IsPaused,
    /// RateLimitGroup: nothing of it for so long, at least 1 ms.
    Hold(Millis),
}

/// What a group command is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// `{ok, data: {count}}`
    Count(u64),
    /// `{ok, data: {limit: {max, duration} or nil}}`
    Rate(Option<Rate>),
    /// `{ok, data: {ttl}}`; none = -2
    Ttl(Option<Millis>),
    /// `{ok, data: {concurrency}}`, nil when none is set
    Concurrency(Option<u64>),
    /// `{ok, data: {removed: 0 or 1}}`
    Removed(bool),
    /// `{ok, data: {changed}}`
    Changed(bool),
    /// `{ok, data: {paused}}`
    Paused(bool),
    /// `{ok}`
    Done,
}

/// A group in figures.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupView {
    /// Its id.
    pub name: Arc<str>,
    /// Ready and delayed jobs.
    pub queued: u64,
    /// Active jobs.
    pub active: u64,
    /// What is set for it.
    pub settings: GroupSettings,
}

impl Engine {
    /// The groups of a queue that have jobs queued or active or something set for them, by name.
    pub fn groups(&self, queue: &str) -> impl Iterator<Item = GroupView> {
        let groups = self.queues.find(queue).map(|queue| queue.groups.iter());
        groups.into_iter().flatten().map(|(name, group)| GroupView {
            name: name.clone(),
            queued: group.queued,
            active: group.active,
            settings: group.settings,
        })
    }

    pub(crate) fn dispatch_group(&mut self, now: Timestamp, request: Request) -> Reply {
        Reply::Group(match request {
            Request::JobsOfAll { queue } => {
                Answer::Count(self.queues.find(&queue).map_or(0, |queue| queue.groups.queued()))
            }
            Request::Of { queue, group, about } => self.about_group(now, &queue, &group, about),
        })
    }

    fn about_group(&mut self, now: Timestamp, queue: &Arc<str>, name: &Arc<str>, about: About) -> Answer {
        let group = self.queues.find(queue).and_then(|queue| queue.groups.get(name));
        let settings = group.map_or(GroupSettings::default(), |group| group.settings);
        let next = match about {
            About::JobsCount => return Answer::Count(group.map_or(0, |group| group.queued)),
            About::ActiveCount => return Answer::Count(group.map_or(0, |group| group.active)),
            About::Rate => return Answer::Rate(settings.rate),
            About::RateTtl(most) => return Answer::Ttl(group.and_then(|group| time_left(group, now, most))),
            About::Concurrency => return Answer::Concurrency(settings.concurrency),
            About::IsPaused => return Answer::Paused(settings.paused),
            About::SetRate(rate) => GroupSettings { rate: Some(rate), ..settings },
            About::RemoveRate => GroupSettings { rate: None, ..settings },
            About::SetConcurrency(limit) => GroupSettings { concurrency: Some(limit), ..settings },
            About::RemoveConcurrency => GroupSettings { concurrency: None, ..settings },
            About::Pause => GroupSettings { paused: true, ..settings },
            About::Resume => GroupSettings { paused: false, ..settings },
            About::Hold(duration) => GroupSettings { held_until: Some(now.plus(duration)), ..settings },
        };
        let changed = next != settings;
        if changed {
            self.set_group(queue, name, next);
        }
        match about {
            About::RemoveRate | About::RemoveConcurrency => Answer::Removed(changed),
            About::Pause | About::Resume => Answer::Changed(changed),
            _ => Answer::Done,
        }
    }

    fn set_group(&mut self, queue: &Arc<str>, name: &Arc<str>, settings: GroupSettings) {
        let id = self.ensure_registered(queue);
        self.queues.get_mut(id).change_group(name, |group| group.settings = settings);
        self.dirty.group(queue, name);
        self.woken.push(id);
        self.watch_group_ends(id);
    }

    /// A worker with such a pull has started a job of a group.
    pub(crate) fn count_start(&mut self, id: QueueId, name: &Arc<str>, wants: &GroupWants, now: Timestamp) {
        let queue = self.queues.get_mut(id);
        queue.groups.take(name, &wants.limits, now);
        queue.ready.review(name, &queue.groups);
        self.watch_group_ends(id);
    }

    /// Keeps the queue's timer at the first moment at which something of a group ends.
    fn watch_group_ends(&mut self, id: QueueId) {
        let groups = &mut self.queues.get_mut(id).groups;
        let next = groups.next_end();
        let before = std::mem::replace(&mut groups.timer, next);
        if before != next {
            before.into_iter().for_each(|at| self.timers.cancel(at, Timer::GroupEnd(id)));
            next.into_iter().for_each(|at| self.timers.set(at, Timer::GroupEnd(id)));
        }
    }

    /// Windows or holds of groups have ended; the timer has already been taken out.
    pub(crate) fn group_ended(&mut self, id: QueueId, at: Timestamp, now: Timestamp) {
        self.timers.set(at, Timer::GroupEnd(id));
        let queue = self.queues.get_mut(id);
        let name = queue.name.clone();
        for (group, was_held) in queue.groups.end_due(now) {
            queue.ready.review(&group, &queue.groups);
            if was_held {
                self.dirty.group(&name, &group);
            }
        }
        self.woken.push(id);
        self.watch_group_ends(id);
    }

    /// Forgets what is set for the groups of a queue, and their windows.
    pub(crate) fn forget_groups(&mut self, id: QueueId) {
        let queue = self.queues.get_mut(id);
        let names: Vec<Arc<str>> = queue.groups.iter().map(|(name, _)| name.clone()).collect();
        let queue_name = queue.name.clone();
        for name in names {
            let had_row = queue.change_group(&name, |group| {
                group.windows.clear();
                std::mem::take(&mut group.settings) != GroupSettings::default()
            });
            if had_row {
                self.dirty.group(&queue_name, &name);
            }
        }
        self.watch_group_ends(id);
    }

    /// A group's row, as it was stored.
    pub(crate) fn load_group(&mut self, queue: &Arc<str>, name: &Arc<str>, settings: GroupSettings) {
        let id = self.queues.ensure(queue);
        self.queues.register(id);
        self.queues.get_mut(id).change_group(name, |group| group.settings = settings);
        self.watch_group_ends(id);
    }
}

/// Until the hold ends, else until the last window does in which at least `most` jobs were started; 0 when there are only
/// windows with fewer, none without any.
fn time_left(group: &Group, now: Timestamp, most: Option<u64>) -> Option<Millis> {
    if let Some(end) = group.settings.held_until {
        return Some(end.since(now));
    }
    let used_up = |taken: u64| most.is_none_or(|most| taken >= most);
    let windows = group.windows.iter();
    windows.map(|window| if used_up(window.taken) { window.ends_at.since(now) } else { Millis(0) }).max()
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod group_tests;
