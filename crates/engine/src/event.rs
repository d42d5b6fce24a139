//! What subscribers are told (protocol-core.md 9, dedup.md 11). In the past tense: it has happened and is committed.

use crate::command::{Payload, StateName};
use crate::job::Blob;
use crate::names::JobId;
use crate::time::{Millis, Timestamp};
use std::sync::Arc;

/// One happening in one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The queue.
    pub queue: Arc<str>,
    /// The job; none for happenings of the queue, sent as an empty text.
    pub job: Option<JobId>,
    /// When.
    pub at: Timestamp,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// A job was admitted.
    Pushed,
    /// An add was collapsed onto this job.
    Duplicated {
        /// The key that did it; none for a job id.
        key: Option<Arc<str>>,
        /// `default`, `extend`, `jobId` or `keepLast`.
        strategy: &'static str,
    },
    /// A job was delivered.
    Pulled,
    /// Its worker told its progress.
    Progress {
        /// 0 to 100.
        progress: f64,
        /// The text with it.
        message: Option<String>,
    },
    /// It completed.
    Completed {
        /// The result, if there is one.
        result: Option<Payload>,
    },
    /// An attempt failed.
    Failed {
        /// The message.
        error: Option<String>,
        /// The job's payload; not sent for a lost lease.
        data: Option<Blob>,
        /// Whether it was the last attempt; not told for a lost lease.
        terminal: Option<bool>,
    },
    /// It will be tried again.
    Retried,
    /// It stalled or lost its lease. No figures for a lost lease that goes back to the queue.
    Stalled {
        /// How often by now, and whether it is a dead letter now.
        detail: Option<(u32, bool)>,
    },
    /// Its worker put it back for later.
    Delayed {
        /// From now.
        delay: Millis,
    },
    /// It is ready again.
    Waiting {
        /// Its state before.
        prev: StateName,
    },
    /// Its worker parked it.
    WaitingChildren,
    /// It was removed.
    Removed {
        /// Its state before.
        prev: StateName,
    },
    /// The queue was paused.
    Paused,
    /// The queue was resumed.
    Resumed,
}
