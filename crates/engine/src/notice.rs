//! What an operator's dashboard is told besides the events of jobs: names and fields of protocol-admin.md 13.6.
//!
//! Nobody but such a dashboard reads them, so none is made unless somebody watches ([`Effects::watched`]). What follows
//! from a command alone is told here, in one table; a rule that has more to tell calls [`Effects::tell`].

use crate::command::{CleanState, Command, dead};
use crate::effects::Effects;
use crate::engine::Engine;
use crate::job::{Job, JobState};
use crate::names::JobId;
use crate::reply::Reply;
use crate::time::{Millis, Timestamp};
use std::sync::Arc;

/// One happening.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// When.
    pub at: Timestamp,
    /// Such as `queue:drained`.
    pub name: &'static str,
    /// Names and values, in order.
    pub fields: Vec<(&'static str, Field)>,
}

/// A value of a notice.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// A text.
    Text(Arc<str>),
    /// A number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
    /// Several texts.
    Texts(Vec<Arc<str>>),
    /// Settings, by name; only what was given.
    Settings(Vec<(&'static str, Option<Field>)>),
}

impl From<&str> for Field {
    fn from(text: &str) -> Field {
        Field::Text(Arc::from(text))
    }
}

impl From<&Arc<str>> for Field {
    fn from(text: &Arc<str>) -> Field {
        Field::Text(Arc::clone(text))
    }
}

impl From<&JobId> for Field {
    fn from(id: &JobId) -> Field {
        Field::Text(id.to_string().into())
    }
}

impl From<Millis> for Field {
    fn from(time: Millis) -> Field {
        Field::Number(time.0 as f64)
    }
}

impl From<u64> for Field {
    fn from(number: u64) -> Field {
        Field::Number(number as f64)
    }
}

impl From<bool> for Field {
    fn from(flag: bool) -> Field {
        Field::Flag(flag)
    }
}

impl Effects {
    /// Tells whoever watches; nobody may.
    pub(crate) fn tell<const N: usize>(
        &mut self,
        at: Timestamp,
        name: &'static str,
        fields: [(&'static str, Field); N],
    ) {
        if self.watched {
            self.notices.push(Notice { at, name, fields: fields.into() });
        }
    }
}

impl Engine {
    /// The command as it will be told of once it was carried out; none when nobody watches, or it is told of by events.
    pub(crate) fn to_be_told(command: &Command, effects: &Effects) -> Option<Box<Command>> {
        let by_events = matches!(
            command,
            Command::Push { .. }
                | Command::Ack(_)
                | Command::AckBulk { .. }
                | Command::Fail(_)
                | Command::Flow(_)
                | Command::Totals
        );
        (effects.watched && !by_events).then(|| Box::new(command.clone()))
    }

    /// Tells of queues that are listed since a moment ago.
    pub(crate) fn tell_of_new_queues(&mut self, now: Timestamp, effects: &mut Effects) {
        for queue in self.queues.news().created.drain(..) {
            effects.tell(now, "queue:created", [("queue", (&queue).into())]);
        }
    }

    /// Tells of queues that came and went.
    pub(crate) fn tell_of_queues(&mut self, now: Timestamp, effects: &mut Effects) {
        self.tell_of_new_queues(now, effects);
        for queue in self.queues.news().removed.drain(..) {
            effects.tell(now, "queue:removed", [("queue", (&queue).into())]);
        }
    }

    /// Tells how many completed jobs had to make room.
    pub(crate) fn tell_of_room(&mut self, now: Timestamp, effects: &mut Effects) {
        match std::mem::take(&mut self.made_room) {
            0 => {}
            count => effects.tell(now, "cleanup:completed-removed", [("count", count.into())]),
        }
    }
}

/// Tells of a new job that waits for others.
pub(crate) fn tell_of_waiting(at: Timestamp, job: &Job, effects: &mut Effects) {
    if job.state != JobState::Blocked || !effects.watched {
        return;
    }
    let depends_on = job.depends_on().iter().map(|id| id.to_string().into()).collect();
    let fields =
        [("jobId", (&job.id).into()), ("queue", (&job.spec.queue).into()), ("dependsOn", Field::Texts(depends_on))];
    effects.tell(at, "job:waiting-children", fields);
}

/// Tells that `command` was carried out and answered with `reply`.
pub(crate) fn tell_of(at: Timestamp, command: &Command, reply: &Reply, effects: &mut Effects) {
    let count = match reply {
        Reply::Count(count) => *count,
        Reply::Cleaned(ids) => ids.len() as u64,
        Reply::AddedBulk(added) => added.len() as u64,
        Reply::PulledBulk { jobs, .. } => jobs.len() as u64,
        _ => 0,
    };
    match command {
        Command::Promote { id } => effects.tell(at, "job:promoted", [("jobId", id.into())]),
        Command::Update { id, .. } => effects.tell(at, "job:data-updated", [("jobId", id.into())]),
        Command::Discard { claim } => effects.tell(at, "job:discarded", [("jobId", (&claim.id).into())]),
        Command::ChangePriority { id, priority, .. } => {
            let priority = Field::Number(*priority as f64);
            effects.tell(at, "job:priority-changed", [("jobId", id.into()), ("newPriority", priority)]);
        }
        Command::ChangeDelay { claim, delay } => {
            effects.tell(at, "job:delay-changed", [("jobId", (&claim.id).into()), ("newDelay", (*delay).into())]);
        }
        Command::MoveToDelayed { claim, delay } => {
            effects.tell(at, "job:moved-to-delayed", [("jobId", (&claim.id).into()), ("delay", (*delay).into())]);
        }
        Command::PushBulk { adds } => tell_of_batch(at, adds.first().map(|add| &add.spec.queue), reply, effects),
        Command::Pull(pull) if count > 1 => {
            effects.tell(at, "batch:pulled", [("queue", (&pull.queue).into()), ("count", count.into())]);
        }
        Command::RegisterWorker(_) | Command::WorkerHeartbeat { .. } | Command::UnregisterWorker { .. } => {
            tell_of_worker(at, command, reply, effects);
        }
        other => tell_of_queue(at, other, count, effects),
    }
}

fn tell_of_batch(at: Timestamp, queue: Option<&Arc<str>>, reply: &Reply, effects: &mut Effects) {
    let (Some(queue), Reply::AddedBulk(added)) = (queue, reply) else { return };
    let duplicates = added.iter().filter(|one| one.duplicate.is_some()).count() as u64;
    let total = added.len() as u64;
    let inserted = total - duplicates;
    let fields = [
        ("queue", queue.into()),
        ("total", total.into()),
        ("inserted", inserted.into()),
        ("duplicates", duplicates.into()),
    ];
    effects.tell(at, "batch:pushed", fields);
}

fn tell_of_worker(at: Timestamp, command: &Command, reply: &Reply, effects: &mut Effects) {
    match (command, reply) {
        (_, Reply::Worker(worker)) => {
            let fields = [
                ("workerId", worker.worker_id.as_str().into()),
                ("name", worker.name.as_str().into()),
                ("queues", Field::Texts(worker.queues.clone())),
                ("hostname", worker.hostname.as_str().into()),
                ("pid", worker.pid.into()),
            ];
            effects.tell(at, "worker:connected", fields);
        }
        (Command::WorkerHeartbeat { id, .. }, _) => {
            effects.tell(at, "worker:heartbeat", [("workerId", id.as_str().into())]);
        }
        (Command::UnregisterWorker { id }, _) => {
            effects.tell(at, "worker:disconnected", [("workerId", id.as_str().into())]);
        }
        _ => {}
    }
}

fn tell_of_queue(at: Timestamp, command: &Command, count: u64, effects: &mut Effects) {
    match command {
        Command::Pause { queue } => effects.tell(at, "queue:paused", [("queue", queue.into())]),
        Command::Resume { queue } => effects.tell(at, "queue:resumed", [("queue", queue.into())]),
        Command::Obliterate { queue } => effects.tell(at, "queue:obliterated", [("queue", queue.into())]),
        Command::Drain { queue } => {
            effects.tell(at, "queue:drained", [("queue", queue.into()), ("count", count.into())]);
        }
        Command::Clean { queue, state, .. } => {
            let fields = [("queue", queue.into()), ("state", clean_state(*state).into()), ("count", count.into())];
            effects.tell(at, "queue:cleaned", fields);
        }
        Command::Dead(request) => tell_of_dead_letters(at, request, count, effects),
        Command::SetStallConfig { queue, patch } => {
            let config = ("config", Field::Settings(patch.given()));
            effects.tell(at, "config:stall-changed", [("queue", queue.into()), config]);
        }
        Command::Limit(request) => crate::limit::tell_of(at, request, effects),
        // What is asked, or done by the window alone, is told to nobody.
        _ => {}
    }
}

fn tell_of_dead_letters(at: Timestamp, request: &dead::Request, count: u64, effects: &mut Effects) {
    match request {
        dead::Request::Retry { queue, id: Some(id), filter: None, .. } => {
            let fields = [("queue", queue.into()), ("jobId", id.into()), ("count", count.into())];
            effects.tell(at, "dlq:retried", fields);
        }
        dead::Request::Retry { queue, .. } => {
            effects.tell(at, "dlq:retry-all", [("queue", queue.into()), ("count", count.into())]);
        }
        dead::Request::Purge { queue } => {
            effects.tell(at, "dlq:purged", [("queue", queue.into()), ("count", count.into())]);
        }
        dead::Request::Configure { queue, patch } => {
            let config = ("config", Field::Settings(patch.given()));
            effects.tell(at, "config:dlq-changed", [("queue", queue.into()), config]);
        }
        dead::Request::List { .. }
        | dead::Request::Stats { .. }
        | dead::Request::Remove { .. }
        | dead::Request::Config { .. } => {}
    }
}

fn clean_state(state: CleanState) -> &'static str {
    match state {
        CleanState::AnyPending => "all",
        CleanState::Waiting => "waiting",
        CleanState::Prioritized => "prioritized",
        CleanState::Delayed => "delayed",
        CleanState::Completed => "completed",
        CleanState::Failed => "failed",
        CleanState::Nothing => "none",
    }
}

#[cfg(test)]
#[path = "notice_tests.rs"]
mod notice_tests;
