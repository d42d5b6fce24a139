//! What a turn changed, as rows: the projection that the store writes and reads back (architecture, 8).
//!
//! There is no event format: a changed row is written as it stands at the turn's end.

use crate::dead::DlqConfig;
use crate::dedup::KeyEntry;
use crate::flow_wait::End;
use crate::job::Job;
use crate::limit::Limits;
use crate::names::{EntryId, JobKey};
use crate::new_job::Payload;
use crate::reply::StallConfig;
use crate::schedule::{Schedule, ScheduleId};
use crate::time::Timestamp;
use crate::webhook::Webhook;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub use crate::groups::GroupSettings;

/// One row to write or delete. `for_each_change` gives deletions of a kind before the insertions that may take their place.
#[derive(Debug)]
pub enum Change<'a> {
    /// Write the job's row.
    PutJob {
        /// The job as it stands.
        job: &'a Job,
        /// Its queue's name.
        queue: &'a str,
        /// The row does not exist yet: write `spec` too.
        fresh: bool,
        /// Write `job.data` to the payload table (delete there when `Absent`; `OnDisk` never comes with this flag).
        data: bool,
        /// Write `job.result` to the result table (delete there when `Absent`; `OnDisk` never comes with this flag).
        result: bool,
        /// Only with `fresh`: it took its key as it was added, and the row can tell of that one (`KeyEntry::is_as_taken`).
        took_key: bool,
        /// It was taken, and a list tells so: nothing else became of it.
        told_by_list: bool,
    },
    /// Write when these jobs were taken; none of them stands in a list already.
    PutTaken {
        /// When.
        at: Timestamp,
        /// The first of them names the list.
        jobs: &'a [JobKey],
    },
    /// Delete the list that this job names.
    DeleteTaken(JobKey),
    /// What the job's row may tell of a key does not hold any more.
    DropTakenKey(JobKey),
    /// Delete the job's row and payload.
    DeleteJob {
        /// The job.
        key: JobKey,
        /// There is no result to delete: it has none, or a parent may still read it.
        keep_result: bool,
    },
    /// Write a result whose job is gone.
    PutResult {
        /// The job that gave it.
        key: JobKey,
        /// The result.
        result: &'a Payload,
    },
    /// Delete a result whose job is gone.
    DeleteResult(JobKey),
    /// Write how a dependency ended for a job.
    PutEnd {
        /// The job that depends on it.
        job: JobKey,
        /// The dependency's id.
        dependency: &'a str,
        /// How it ended.
        end: &'a End,
    },
    /// Delete the end with that number.
    DeleteEnd(u64),
    /// Write the entry's row.
    PutKey {
        /// The entry as it stands.
        entry: &'a KeyEntry,
        /// Its queue's name.
        queue: &'a str,
        /// The owner's `PutJob` in this turn has `took_key`.
        told_by_job: bool,
    },
    /// Delete the entry's row, if it has one.
    DeleteKey(EntryId),
    /// Write a queue's settings.
    PutQueue {
        /// Its name.
        name: &'a str,
        /// As they stand.
        settings: &'a QueueSettings,
    },
    /// Delete a queue's settings.
    DeleteQueue(&'a str),
    /// Write what is set for a group.
    PutGroup {
        /// Its queue's name.
        queue: &'a str,
        /// Its id.
        group: &'a str,
        /// As they stand.
        settings: GroupSettings,
    },
    /// Delete a group's settings.
    DeleteGroup {
        /// Its queue's name.
        queue: &'a str,
        /// Its id.
        group: &'a str,
    },
    /// Write a webhook.
    PutWebhook(&'a Webhook),
    /// Delete a webhook.
    DeleteWebhook(&'a str),
    /// No generation or entry below this number may be given out after a restart.
    Reserve(u64),
    /// A job that completed and was removed at once: its id still satisfies `dependsOn`. `n` is its row id.
    PutCompletedId {
        /// The generation, the row id.
        n: JobKey,
        /// The job's id.
        id: &'a str,
    },
    /// Write a schedule's row.
    PutSchedule {
        /// As it stands.
        schedule: &'a Schedule,
        /// New or changed by a client: write its rule and payload too.
        whole: bool,
    },
    /// Delete a schedule's row.
    DeleteSchedule(ScheduleId),
    /// The id is in use again, or too old to be kept.
    DeleteCompletedId(JobKey),
}

/// What is stored of a queue besides its jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueSettings {
    /// Nothing is taken from it.
    pub paused: bool,
    /// Its stall configuration.
    pub stall: StallConfig,
    /// Its rate and concurrency.
    pub limits: Limits,
    /// What becomes of its dead letters.
    pub dlq: DlqConfig,
    /// Its place in the order of registration, ascending from 1; 0 = not registered, or by a version that did not count.
    pub place: u64,
}

/// A group's row as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupRow {
    /// Its queue's name.
    pub queue: Arc<str>,
    /// Its id.
    pub group: Arc<str>,
    /// What is set for it.
    pub settings: GroupSettings,
}

/// A job's row as it was read.
#[derive(Clone, Debug)]
pub struct JobRow {
    /// The job. Its `queue`, `ready` and `delivery` mean nothing yet; `has_state_row` says whether it has one. Payloads of finished jobs and all results are `OnDisk`
    /// where a row exists.
    pub job: Job,
    /// Its queue's name.
    pub queue: Arc<str>,
}

/// A key's row as it was read.
#[derive(Clone, Debug)]
pub struct KeyRow {
    /// The entry. Its `queue` means nothing yet.
    pub entry: KeyEntry,
    /// Its queue's name.
    pub queue: Arc<str>,
}

/// How a dependency ended, as it was read.
#[derive(Clone, Debug)]
pub struct EndRow {
    /// The job that depends on it.
    pub job: JobKey,
    /// The dependency's id.
    pub dependency: Arc<str>,
    /// How it ended.
    pub end: End,
}

/// Everything the store read at start.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// In ascending order of generation.
    pub jobs: Vec<JobRow>,
    /// In any order.
    pub keys: Vec<KeyRow>,
    /// In any order.
    pub queues: Vec<(Arc<str>, QueueSettings)>,
    /// In any order.
    pub groups: Vec<GroupRow>,
    /// In any order.
    pub webhooks: Vec<Webhook>,
    /// The last `Change::Reserve`.
    pub reserved: u64,
    /// In ascending order of number.
    pub ends: Vec<EndRow>,
    /// Completed and removed jobs, ascending.
    pub completed_ids: Vec<(JobKey, Arc<str>)>,
    /// In any order.
    pub schedules: Vec<Schedule>,
    /// The first jobs of lists of taken jobs. What they tell stands with the jobs.
    pub taken_lists: Vec<JobKey>,
    /// The broker has run all the time: what came due meanwhile was not missed.
    pub ran_on: bool,
}

impl Snapshot {
    /// Adds what was read after it.
    pub fn append(&mut self, later: Snapshot) {
        let Snapshot {
            jobs,
            keys,
            queues,
            groups,
            webhooks,
            reserved,
            ends,
            completed_ids,
            schedules,
            taken_lists,
            ran_on,
        } = later;
        self.taken_lists.extend(taken_lists);
        self.jobs.extend(jobs);
        self.keys.extend(keys);
        self.queues.extend(queues);
        self.groups.extend(groups);
        self.webhooks.extend(webhooks);
        self.ends.extend(ends);
        self.completed_ids.extend(completed_ids);
        self.schedules.extend(schedules);
        self.reserved = self.reserved.max(reserved);
        self.ran_on |= ran_on;
    }
}

/// A row that cannot be true.
#[derive(Clone, Debug, PartialEq)]
pub struct RestoreError {
    /// Which row and what is wrong with it.
    pub message: String,
}

impl std::fmt::Display for RestoreError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for RestoreError {}
