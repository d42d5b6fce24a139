//! A long batch of adds, taken in parts so that others have their turns in between.
//!
//! Allowed because a batch is admitted one by one and what came before a refusal stays (protocol-core.md 6.4). Its answer
//! is one: the ids of all parts, or the first refusal, after which the rest is not tried.

use crate::portion::Size;
use onceover_engine::Engine;
use onceover_engine::command::{Add, Command};
use onceover_engine::effects::{Effects, Output};
use onceover_engine::names::{ConnId, Origin};
use onceover_engine::reply::{Added, Reply};
use onceover_engine::time::Timestamp;
use std::collections::{HashMap, VecDeque};

/// A part of a batch.
pub struct Part {
    /// In order.
    pub adds: VecDeque<Add>,
    /// Adds of the batch in front of them.
    pub before: u32,
    /// Adds of the whole batch.
    pub of: u32,
    /// No other part follows.
    pub last: bool,
}

impl Part {
    /// All of a batch, to be cut as turns have room. A batch with dependencies is none: they are checked before anything of it
    /// is stored, and may name each other.
    pub fn all(adds: Vec<Add>) -> Result<Part, Vec<Add>> {
        let depends = |add: &Add| add.spec.rare.as_ref().is_some_and(|rare| !rare.depends_on.is_empty());
        if adds.iter().any(depends) {
            return Err(adds);
        }
        let of = u32::try_from(adds.len()).unwrap_or(u32::MAX);
        Ok(Part { adds: adds.into(), before: 0, of, last: true })
    }

    /// Takes the first adds, as many as `most` covers but at least one; none when that would be all.
    pub fn cut(&mut self, most: Size) -> Option<Part> {
        let size = |add: &Add| Size { commands: 1, bytes: add.data.as_ref().map_or(0, |data| data.len()) };
        let fitting = most.fitting(self.adds.iter().map(size)).max(1);
        if fitting >= self.adds.len() {
            return None;
        }
        let adds: VecDeque<Add> = self.adds.drain(..fitting).collect();
        let first = Part { adds, before: self.before, of: self.of, last: false };
        self.before += fitting as u32;
        Some(first)
    }
}

/// Batches of which parts are still to come.
#[derive(Default)]
pub struct Bulks {
    begun: HashMap<(ConnId, u64), Begun>,
}

enum Begun {
    Admitted(Vec<Added>),
    Refused,
}

impl Bulks {
    /// Has the engine admit a part. The outputs get the answer to the whole batch once it is known.
    pub fn take(
        &mut self,
        now: Timestamp,
        (conn, request): (ConnId, u64),
        Part { adds, before, of, last }: Part,
        engine: &mut Engine,
        effects: &mut Effects,
    ) {
        if self.goes_on(conn, request, last) {
            let origin = Origin::Client { conn, request };
            engine.handle(now, origin, Command::PushBulk { adds: adds.into() }, effects);
            // The engine knows of the part only; the log counts in the batch as its client sent it.
            let own = effects.adds.iter_mut().filter(|record| record.origin == origin);
            own.filter_map(|record| record.bulk.as_mut()).for_each(|(at, size)| (*at, *size) = (*at + before, of));
            self.answered(conn, request, last, &mut effects.outputs);
        }
    }

    /// Whether the next part of a batch should still be tried.
    fn goes_on(&mut self, conn: ConnId, request: u64, last: bool) -> bool {
        let refused = matches!(self.begun.get(&(conn, request)), Some(Begun::Refused));
        if refused && last {
            self.begun.remove(&(conn, request));
        }
        !refused
    }

    /// Takes the answer to a part out of `outputs`, and puts the answer to the whole there once it is known.
    fn answered(&mut self, conn: ConnId, request: u64, last: bool, outputs: &mut Vec<Output>) {
        let origin = Origin::Client { conn, request };
        let is_answer = |output: &Output| matches!(output, Output::Reply { to, .. } if *to == origin);
        let Some(at) = outputs.iter().rposition(is_answer) else { return };
        let Output::Reply { reply: Reply::AddedBulk(added), .. } = &mut outputs[at] else {
            // A refusal is the answer.
            let before = if last {
                self.begun.remove(&(conn, request))
            } else {
                self.begun.insert((conn, request), Begun::Refused)
            };
            drop(before);
            return;
        };
        let added = std::mem::take(added);
        let mut all = match self.begun.remove(&(conn, request)) {
            Some(Begun::Admitted(before)) => before,
            Some(Begun::Refused) | None => Vec::new(),
        };
        all.extend(added);
        if last {
            outputs[at] = Output::Reply { to: origin, reply: Reply::AddedBulk(all) };
        } else {
            outputs.remove(at);
            self.begun.insert((conn, request), Begun::Admitted(all));
        }
    }

    /// The connection is gone.
    pub fn forget(&mut self, conn: ConnId) {
        self.begun.retain(|(of, _), _| *of != conn);
    }

    /// All connections are gone.
    pub fn clear(&mut self) {
        self.begun.clear();
    }
}

#[cfg(test)]
#[path = "bulk_tests.rs"]
mod bulk_tests;
