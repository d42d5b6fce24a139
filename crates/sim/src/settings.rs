//! What is set and must be there after a start: limits, groups, webhooks, schedules.

use onceover_engine::Engine;
use onceover_engine::change::GroupSettings;
use onceover_engine::limit::Limits;
use onceover_engine::schedule::{Schedule, Timing};
use onceover_engine::time::Timestamp;
use onceover_engine::webhook::Webhook;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything that is set, but for what is as it is by default.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    limits: BTreeMap<Arc<str>, Limits>,
    groups: BTreeMap<(Arc<str>, Arc<str>), GroupSettings>,
    webhooks: Vec<Webhook>,
    schedules: Vec<Schedule>,
}

impl Settings {
    /// As the engine stands.
    #[must_use]
    pub fn of(engine: &Engine) -> Settings {
        let queues = engine.queues();
        let limits = queues.iter().map(|queue| (queue.name.clone(), queue.limits));
        let groups = queues.iter().flat_map(|queue| {
            engine.groups(&queue.name).map(|group| ((queue.name.clone(), group.name), group.settings))
        });
        Settings {
            limits: limits.filter(|(_, limits)| *limits != Limits::default()).collect(),
            groups: groups.filter(|(_, group)| *group != GroupSettings::default()).collect(),
            webhooks: engine.webhooks().cloned().collect(),
            schedules: engine.schedules().cloned().collect(),
        }
    }

    /// Compares with what was restored at `now`. `ran_on` = the process lived on, so that nothing was missed.
    ///
    /// # Panics
    /// Something is different that a start must not change.
    pub fn expect_restored(&self, after: &Settings, now: Timestamp, ran_on: bool) {
        let mut limits = self.limits.clone();
        limits.values_mut().for_each(|limits| limits.temporary = limits.temporary.filter(|(_, end)| !end.is_due(now)));
        limits.retain(|_, limits| *limits != Limits::default());
        assert_eq!(limits, after.limits, "a restart changes no limit but those whose time is over");
        let mut groups = self.groups.clone();
        groups.values_mut().for_each(|group| group.held_until = group.held_until.filter(|end| !end.is_due(now)));
        groups.retain(|_, group| *group != GroupSettings::default());
        assert_eq!(groups, after.groups, "a restart changes nothing that is set for a group");
        assert_eq!(self.webhooks, after.webhooks, "a restart changes no webhook");
        for old in &self.schedules {
            let new = after.schedules.iter().find(|new| new.id == old.id);
            expect_schedule(old, new, now, ran_on);
        }
    }
}

/// What came due while nobody ran is left out where that was asked for, else made up for by one firing; never by two.
fn expect_schedule(old: &Schedule, new: Option<&Schedule>, now: Timestamp, ran_on: bool) {
    let is_due = old.next_run.is_due(now);
    let Some(new) = new else {
        assert!(is_due && old.is_exhausted(), "a schedule is lost at {now:?}: {old:?}");
        return;
    };
    assert_eq!((&old.rule, &old.data), (&new.rule, &new.data), "a restart changes no schedule");
    if !is_due {
        assert_eq!(old, new, "a schedule that was not due at {now:?} is as it was");
        return;
    }
    let left_out = old.rule.skip_if_no_worker || (old.rule.skip_missed_on_restart && !ran_on);
    let fired = u64::from(!left_out);
    assert_eq!(
        new.executions,
        old.executions + fired,
        "what was missed at {now:?} is one firing or none: {old:?} {new:?}"
    );
    assert!(new.next_run > now, "the next run of {} lies ahead of {now:?}: {new:?}", old.rule.name);
    if let Timing::Every(every) = old.rule.timing {
        let ahead = new.next_run.since(old.next_run).0;
        assert!(ahead % every.0 == 0 && new.next_run.since(now) <= every, "{old:?} keeps its beat: {new:?} at {now:?}");
    }
}
