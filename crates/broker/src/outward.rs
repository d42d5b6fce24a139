//! What leaves the core besides replies: news for watchers and figures. Held back until the turn's commit, like replies.

use crate::figures::{Figures, Timed};
use crate::news::{News, Told, without_data};
use onceover_engine::Engine;
use onceover_engine::effects::Effects;
use onceover_engine::event::Event;
use onceover_engine::notice::Notice;
use onceover_engine::time::Timestamp;
use onceover_wire::request::Monitor;

/// All of it.
#[derive(Default)]
pub(crate) struct Outward {
    /// Who watches.
    pub(crate) news: News,
    /// Since the start.
    pub(crate) figures: Figures,
    told: Vec<Told>,
}

impl Outward {
    /// The effects of a new turn.
    pub(crate) fn effects(&self) -> Effects {
        Effects { watched: self.news.is_watched(), ..Effects::default() }
    }

    /// An event of the turn.
    pub(crate) fn event(&mut self, event: &Event, watched: bool) {
        if watched {
            self.told.push(Told::Event(without_data(event)));
        }
    }

    /// What else the turn has to tell.
    pub(crate) fn notices(&mut self, effects: &mut Effects) {
        self.told.extend(effects.notices.drain(..).map(Told::Notice));
    }

    /// A question about the broker was answered.
    pub(crate) fn monitored(&mut self, now: Timestamp, question: &Monitor, watched: bool) {
        if watched && *question == Monitor::CompactMemory {
            let notice = Notice { at: now, name: "memory:compacted", fields: Vec::new() };
            self.told.push(Told::Notice(notice));
        }
    }

    /// The turn was committed.
    pub(crate) fn release(&mut self, now: Timestamp, engine: &Engine, timed: &[Timed]) {
        self.figures.turned(now, engine.totals(), timed);
        self.told.drain(..).for_each(|told| self.news.tell(told));
    }

    /// The turn did not happen, and the engine is read anew.
    pub(crate) fn discard(&mut self) {
        self.told.clear();
        self.figures.engine_is_new();
    }
}
