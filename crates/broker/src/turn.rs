//! What one turn of the core collects, and when it is over.

use crate::figures::Timed;
use crate::inbox::View;
use crate::limits::TURN_JOBS_MAX;
use crate::new_entry::NewEntry;
use crate::outbox::Outbox;
use onceover_engine::effects::Effects;
use onceover_engine::names::ConnId;
use onceover_engine::reply::Reply;
use onceover_store::StoreError;

/// How a turn ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnEnd {
    /// The window could show something new.
    pub changed: bool,
    /// Counters of connections moved.
    pub counted: bool,
    /// The commit failed; the engine was read back from the file.
    pub undone: bool,
    /// A part of something long was done.
    pub went_on: bool,
    /// A stop was asked for.
    pub stop: bool,
}

/// What a turn collects until its commit.
#[derive(Default)]
pub(crate) struct Turn {
    /// What the engine brought about.
    pub(crate) effects: Effects,
    /// Every request that came, for the case that the commit fails.
    pub(crate) asked: Vec<(ConnId, u64)>,
    /// For the log of adds.
    pub(crate) adds: Vec<NewEntry>,
    /// For calls.
    pub(crate) answers: Vec<(u64, Reply)>,
    /// Questions, answered after the commit.
    pub(crate) views: Vec<View>,
    /// How long clients wait.
    pub(crate) timed: Vec<Timed>,
    /// Calls that came over HTTP.
    pub(crate) http: Vec<u64>,
    /// A piece of a payload was written, and there are more.
    pub(crate) is_staging: bool,
    /// A piece of a payload could not be written: the turn fails as when its commit does.
    pub(crate) failed: Option<StoreError>,
    /// How it ends.
    pub(crate) end: TurnEnd,
}

impl Turn {
    /// Whether a command has to wait for the next turn, because only a piece of its payload was written. A turn that has failed
    /// goes on with it: all of it will be undone, and told.
    pub(crate) fn stages(&mut self, staged: Result<bool, StoreError>) -> bool {
        match staged {
            Ok(whole) => self.is_staging = !whole,
            Err(error) => self.failed = Some(error),
        }
        self.is_staging
    }

    /// Whether what is left of its commands waits for the next one.
    pub(crate) fn is_over(&self, outbox: &Outbox) -> bool {
        self.end.stop
            || self.is_staging
            || self.failed.is_some()
            || outbox.is_full()
            || self.effects.handled >= TURN_JOBS_MAX
    }
}
