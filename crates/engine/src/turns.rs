//! Whose turn it is: the groups of a queue that have a ready job, in the line in which they are served.
//!
//! Which of them may be served depends on the limits that a pull brings. Each kind of limits has its own list of the free ones,
//! kept up to date when a group changes. So a pull finds its group at once, however many others are held back.

use crate::groups::{GroupLimits, Groups};
use crate::limits::{GROUP_LIMITS_IDLE, GROUP_LIMITS_MAX};
use crate::rejection::Rejection;
use crate::time::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The free groups as workers with one kind of limits see them.
#[derive(Debug, Default)]
struct View {
    limits: GroupLimits,
    free: BTreeMap<u64, Arc<str>>,
    /// The last pull with these limits.
    used_at: Timestamp,
}

/// The line. A group has the same place in every view, if it is in it at all.
#[derive(Debug)]
pub(crate) struct Turns {
    /// The first one has no limits and stays.
    views: Vec<View>,
    last: u64,
}

impl Default for Turns {
    fn default() -> Turns {
        Turns { views: vec![View::default()], last: 0 }
    }
}

impl Turns {
    /// The free group that is served next.
    pub(crate) fn first(&self, limits: &GroupLimits) -> Option<&Arc<str>> {
        let view = self.views.iter().find(|view| view.limits == *limits).expect("a view is made before it is asked");
        view.free.first_key_value().map(|(_, name)| name)
    }

    /// The place behind all others.
    pub(crate) fn line_up(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// The group leaves this place.
    pub(crate) fn leave(&mut self, turn: u64) {
        self.views.iter_mut().for_each(|view| drop(view.free.remove(&turn)));
    }

    /// The group stands in this place, in every view in which it is free.
    pub(crate) fn stand(&mut self, turn: u64, name: &Arc<str>, groups: &Groups) {
        let group = groups.get(name);
        for view in &mut self.views {
            if group.is_none_or(|group| group.is_free(&view.limits)) {
                view.free.insert(turn, name.clone());
            } else {
                view.free.remove(&turn);
            }
        }
    }

    /// A pull with these limits has come: their view is there from now on, made of `line` if it was not.
    pub(crate) fn learn<'a>(
        &mut self,
        limits: &GroupLimits,
        now: Timestamp,
        line: impl Iterator<Item = (u64, &'a Arc<str>)>,
        groups: &Groups,
    ) -> Result<(), Rejection> {
        if let Some(view) = self.views.iter_mut().find(|view| view.limits == *limits) {
            view.used_at = now;
            return Ok(());
        }
        // A view costs as much as the line is long, so clients cannot have one made with every pull.
        if self.views.len() > GROUP_LIMITS_MAX {
            return Err(Rejection::TooManyGroupLimits(GROUP_LIMITS_MAX));
        }
        let free = line.filter(|(_, name)| groups.is_free(name, limits)).map(|(turn, name)| (turn, name.clone()));
        self.views.push(View { limits: *limits, free: free.collect(), used_at: now });
        Ok(())
    }

    /// Forgets the views that no pull has used for a while and nobody waits for.
    pub(crate) fn forget_unused(&mut self, now: Timestamp, is_waited_for: impl Fn(&GroupLimits) -> bool) {
        let is_used = |view: &View| {
            view.limits == GroupLimits::default()
                || now.since(view.used_at) < GROUP_LIMITS_IDLE
                || is_waited_for(&view.limits)
        };
        self.views.retain(is_used);
    }

    /// For invariants: each view with the groups in it.
    pub(crate) fn views(&self) -> impl Iterator<Item = (&GroupLimits, &BTreeMap<u64, Arc<str>>)> {
        self.views.iter().map(|view| (&view.limits, &view.free))
    }
}
