//! What leaves the core besides replies: news for watchers, calls of webhooks, and figures. Held back until the turn's commit, like replies.

use crate::blobs::fill_event;
use crate::figures::{Figures, Timed};
use crate::gate::{REFUSED_AUTH, TOO_FAST};
use crate::inbox::Problem;
use crate::news::{News, Told, without_data};
use crate::webhook::Courier;
use onceover_engine::Engine;
use onceover_engine::effects::Effects;
use onceover_engine::event::Event;
use onceover_engine::names::ConnId;
use onceover_engine::notice::{Field, Notice};
use onceover_engine::time::Timestamp;
use onceover_store::Storage;
use onceover_wire::request::Monitor;
use std::sync::Arc;

/// All of it.
#[derive(Default)]
pub(crate) struct Outward {
    /// Who watches.
    pub(crate) news: News,
    /// Since the start.
    pub(crate) figures: Figures,
    told: Vec<Told>,
    /// Calls webhooks; a core without sockets has none.
    pub(crate) courier: Option<Courier>,
    to_call: Vec<Arc<Event>>,
}

impl Outward {
    /// The effects of a new turn.
    pub(crate) fn effects(&self) -> Effects {
        Effects { watched: self.news.is_watched(), ..Effects::default() }
    }

    /// An event of the turn.
    pub(crate) fn event(&mut self, engine: &Engine, event: &Event, watched: bool) {
        if watched {
            self.told.push(Told::Event(without_data(event)));
        }
        let Some(courier) = &mut self.courier else { return };
        courier.learn(engine);
        if courier.wants(event) {
            self.to_call.push(Arc::new(event.clone()));
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

    /// A client came or went.
    pub(crate) fn client(&mut self, now: Timestamp, conn: ConnId, name: &'static str, watched: bool) {
        if watched {
            let fields = vec![client_id(conn), ("transport", "tcp".into())];
            self.told.push(Told::Notice(Notice { at: now, name, fields }));
        }
    }

    /// Something a client's author should know of.
    pub(crate) fn problem(&mut self, now: Timestamp, conn: ConnId, problem: &Problem, watched: bool) {
        let name = match problem.label {
            REFUSED_AUTH => "auth:failed",
            TOO_FAST => "ratelimit:hit",
            _ => return,
        };
        if watched {
            self.told.push(Told::Notice(Notice { at: now, name, fields: vec![client_id(conn)] }));
        }
    }

    /// The turn was committed.
    pub(crate) fn release(&mut self, now: Timestamp, engine: &Engine, storage: &dyn Storage, timed: &[Timed]) {
        if let Some(courier) = &mut self.courier {
            for mut event in self.to_call.drain(..) {
                // Without its payload the call is better than none.
                if let Err(error) = fill_event(&mut event, storage, engine) {
                    tracing::error!(%error, "a payload could not be read");
                }
                courier.call(&event);
            }
            courier.learn(engine);
        }
        self.figures.turned(now, engine.totals(), timed);
        self.told.drain(..).for_each(|told| self.news.tell(told));
    }

    /// The turn did not happen, and the engine is read anew.
    pub(crate) fn discard(&mut self) {
        self.told.clear();
        self.to_call.clear();
        if let Some(courier) = &mut self.courier {
            courier.forget();
        }
        self.figures.engine_is_new();
    }
}

fn client_id(conn: ConnId) -> (&'static str, Field) {
    ("clientId", conn.0.to_string().as_str().into())
}
