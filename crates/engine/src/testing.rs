//! Helpers of this crate's tests.

use crate::change::{Change, EndRow, GroupRow, JobRow, KeyRow, Snapshot};
use crate::command::{Command, NewJob};
use crate::effects::{Effects, Output};
use crate::engine::{Engine, EngineConfig};
use crate::names::{ConnId, Origin};
use crate::reply::Reply;
use crate::time::Timestamp;
use std::sync::Arc;

/// When a stage begins.
pub(crate) const START: Timestamp = Timestamp(1_700_000_000_000);

/// An engine and its moment, asked step by step.
pub(crate) struct Stage {
    pub(crate) engine: Engine,
    pub(crate) now: Timestamp,
    /// The number of the last request. Each connection makes 500.
    pub(crate) asked: u64,
    /// Whether the invariants are looked at after each step.
    pub(crate) checked: bool,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        Stage { engine: Engine::new(EngineConfig::default(), 1), now: START, asked: 0, checked: true }
    }

    /// The answers that come by asking this, those to parked pulls included: the number of what was asked, and the answer.
    pub(crate) fn step(&mut self, command: Option<Command>) -> Vec<(u64, Reply)> {
        let mut effects = Effects::default();
        self.engine.tick(self.now, &mut effects);
        if let Some(command) = command {
            self.asked += 1;
            let origin = Origin::Client { conn: ConnId(self.asked / 500), request: self.asked };
            self.engine.handle(self.now, origin, command, &mut effects);
        }
        if self.checked {
            self.engine.check(self.now);
        }
        let replies = effects.outputs.into_iter().filter_map(|output| match output {
            Output::Reply { to: Origin::Client { request, .. }, reply } => Some((request, reply)),
            Output::Reply { .. } | Output::Event(_) => None,
        });
        replies.collect()
    }

    pub(crate) fn ask(&mut self, command: Command) -> Reply {
        self.step(Some(command)).pop().expect("an answer").1
    }

    /// When a parked request is answered, looking only when the engine says that something is due, and with what.
    pub(crate) fn answer_to(&mut self, request: u64) -> (Timestamp, Reply) {
        loop {
            self.now = self.engine.next_deadline().expect("a deadline");
            let mut replies = self.step(None);
            if let Some(at) = replies.iter().position(|(to, _)| *to == request) {
                return (self.now, replies.swap_remove(at).1);
            }
        }
    }
}

/// A job with defaults.
pub(crate) fn new_job(queue: &str) -> NewJob {
    NewJob::new(queue, "job")
}

/// The rows of an engine that has never been committed: everything it holds, as a store would give it back.
pub(crate) fn project(engine: &Engine) -> Snapshot {
    let mut rows = Snapshot::default();
    let none: Result<(), ()> = engine.for_each_change(&mut |change| {
        match change {
            Change::PutJob { job, queue, .. } => {
                rows.jobs.push(JobRow { job: job.as_stored(), queue: Arc::from(queue) });
            }
            Change::PutKey { entry, queue, .. } => {
                rows.keys.push(KeyRow { entry: entry.clone(), queue: Arc::from(queue) })
            }
            Change::PutQueue { name, settings } => rows.queues.push((Arc::from(name), settings.clone())),
            Change::PutGroup { queue, group, settings } => {
                rows.groups.push(GroupRow { queue: Arc::from(queue), group: Arc::from(group), settings });
            }
            Change::PutWebhook(webhook) => rows.webhooks.push(webhook.clone()),
            Change::DeleteWebhook(_) => {}
            Change::Reserve(number) => rows.reserved = number,
            Change::PutEnd { job, dependency, end } => {
                rows.ends.push(EndRow { job, dependency: Arc::from(dependency), end: end.clone() });
            }
            Change::PutCompletedId { n, id } => rows.completed_ids.push((n, Arc::from(id))),
            Change::PutSchedule { schedule, .. } => rows.schedules.push(schedule.clone()),
            Change::DeleteJob { .. }
            | Change::DeleteKey(_)
            | Change::DropTakenKey(_)
            | Change::PutTaken { .. }
            | Change::DeleteTaken(_)
            | Change::DeleteQueue(_)
            | Change::DeleteGroup { .. }
            | Change::DeleteSchedule(_)
            | Change::DeleteCompletedId(_)
            | Change::PutResult { .. }
            | Change::DeleteResult(_)
            | Change::DeleteEnd(_) => {}
        }
        Ok(())
    });
    none.expect("collecting cannot fail");
    rows.jobs.sort_by_key(|row| row.job.key);
    rows
}
