//! Helpers of this crate's tests.

use crate::change::{Change, JobRow, KeyRow, Snapshot};
use crate::command::{Backoff, NewJob};
use crate::engine::Engine;
use std::sync::Arc;

/// A job with defaults.
pub(crate) fn new_job(queue: &str) -> NewJob {
    NewJob {
        queue: Arc::from(queue),
        name: Arc::from("job"),
        custom_id: None,
        dedup: None,
        priority: 0,
        delay: crate::time::Millis(0),
        max_attempts: 3,
        backoff: Backoff::default(),
        lifo: false,
        remove_on_complete: false,
        remove_on_fail: false,
        durable: false,
        rare: None,
    }
}

/// The rows of an engine that has never been committed: everything it holds, as a store would give it back.
pub(crate) fn project(engine: &Engine) -> Snapshot {
    let mut rows = Snapshot::default();
    let none: Result<(), ()> = engine.for_each_change(&mut |change| {
        match change {
            Change::PutJob { job, queue, .. } => {
                let mut job = job.clone();
                job.delivery = None;
                if let Some(rare) = job.extra.rare.as_deref_mut() {
                    rare.late_token = None;
                    rare.timed_out.clear();
                }
                rows.jobs.push(JobRow { job, queue: Arc::from(queue) });
            }
            Change::PutKey { entry, queue } => rows.keys.push(KeyRow { entry: entry.clone(), queue: Arc::from(queue) }),
            Change::PutQueue { name, settings } => rows.queues.push((Arc::from(name), settings.clone())),
            Change::Reserve(number) => rows.reserved = number,
            Change::PutCompletedId { n, id } => rows.completed_ids.push((n, Arc::from(id))),
            Change::DeleteJob(_) | Change::DeleteKey(_) | Change::DeleteQueue(_) | Change::DeleteCompletedId(_) => {}
        }
        Ok(())
    });
    none.expect("collecting cannot fail");
    rows.jobs.sort_by_key(|row| row.job.key);
    rows
}
