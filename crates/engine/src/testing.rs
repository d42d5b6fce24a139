//! Helpers of this crate's tests.

use crate::change::{Change, EndRow, GroupRow, JobRow, KeyRow, Snapshot};
use crate::command::NewJob;
use crate::engine::Engine;
use std::sync::Arc;

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
            Change::PutKey { entry, queue } => rows.keys.push(KeyRow { entry: entry.clone(), queue: Arc::from(queue) }),
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
