//! `SimStore`: the store's contract in memory, for tests that need failing commits, crashes and power cuts on purpose.
//!
//! A `SimDisk` outlives the stores opened on it, as a disk outlives processes. What `SqliteStore` does not keep is not kept
//! here either: deliveries, lock tokens, and the payloads of finished jobs at loading.

use crate::error::StoreError;
use crate::pieces::is;
use crate::{PIECE_BYTES, RowSource, Storage};
use onceover_engine::change::{Change, EndRow, GroupRow, GroupSettings, JobRow, KeyRow, QueueSettings, Snapshot};
use onceover_engine::command::Payload;
use onceover_engine::job::{Blob, Job};
use onceover_engine::names::{EntryId, JobKey, QueueId};
use onceover_engine::schedule::{Schedule, ScheduleId};
use onceover_engine::webhook::Webhook;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// How the next commit fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitFailure {
    /// The disk is full: nothing is stored.
    Refused,
    /// After this many rows the next one cannot be written: nothing is stored.
    Torn(usize),
    /// Everything is stored, and yet the commit reports an error; as when the process dies between commit and answer.
    StoredAllTheSame,
}

/// How many commits were stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitCount {
    /// All of them.
    pub all: u64,
    /// Those that asked to be durable.
    pub durable: u64,
}

/// What the stores opened on it have written. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct SimDisk {
    disk: Arc<Mutex<Disk>>,
}

#[derive(Debug, Default)]
struct Disk {
    rows: Rows,
    /// As they stood after the last durable commit.
    rows_on_platter: Rows,
    in_use: bool,
    commit_failure: Option<CommitFailure>,
    load_fails: bool,
    commits: CommitCount,
}

/// Rows are shared between copies, so that a copy per commit costs little.
#[derive(Clone, Debug, Default)]
struct Rows {
    jobs: BTreeMap<JobKey, Arc<JobRow>>,
    payloads: BTreeMap<JobKey, Payload>,
    results: BTreeMap<JobKey, Payload>,
    keys: BTreeMap<EntryId, Arc<KeyRow>>,
    queues: BTreeMap<Arc<str>, QueueSettings>,
    groups: BTreeMap<(Arc<str>, Arc<str>), GroupSettings>,
    webhooks: BTreeMap<Arc<str>, Webhook>,
    ends: BTreeMap<u64, Arc<EndRow>>,
    completed_ids: BTreeMap<JobKey, Arc<str>>,
    schedules: BTreeMap<ScheduleId, Arc<Schedule>>,
    reserved: u64,
}

impl SimDisk {
    /// A store on this disk.
    ///
    /// # Errors
    /// `InUse` while another one lives.
    pub fn open(&self) -> Result<SimStore, StoreError> {
        let mut disk = self.lock();
        if std::mem::replace(&mut disk.in_use, true) {
            return Err(StoreError::InUse { file: name(), lock: name(), process: None });
        }
        drop(disk);
        Ok(SimStore { disk: self.clone(), staged: Vec::new() })
    }

    /// Lets the next commit fail, once.
    pub fn fail_next_commit(&self, how: CommitFailure) {
        self.lock().commit_failure = Some(how);
    }

    /// Takes back what `fail_next_commit` asked for.
    pub fn fail_no_commit(&self) {
        self.lock().commit_failure = None;
    }

    /// Lets the next load fail, once.
    pub fn fail_next_load(&self) {
        self.lock().load_fails = true;
    }

    /// Takes back what was committed after the last durable commit. The stores that live are not told.
    pub fn cut_power(&self) {
        let mut disk = self.lock();
        disk.rows = disk.rows_on_platter.clone();
    }

    /// Commits stored since the disk was made.
    pub fn commits(&self) -> CommitCount {
        self.lock().commits
    }

    fn lock(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().expect("no test panics while it holds the simulated disk")
    }
}

/// A store on a `SimDisk`.
#[derive(Debug)]
pub struct SimStore {
    disk: SimDisk,
    /// Long payloads, and how many bytes of each would be written.
    staged: Vec<(Weak<[u8]>, usize)>,
}

impl Drop for SimStore {
    fn drop(&mut self) {
        // A poisoned lock means that a test is failing already; a second panic would hide the first.
        if let Ok(mut disk) = self.disk.disk.lock() {
            disk.in_use = false;
        }
    }
}

impl Storage for SimStore {
    fn load(&mut self) -> Result<Snapshot, StoreError> {
        self.staged.clear();
        let mut disk = self.disk.lock();
        if std::mem::take(&mut disk.load_fails) {
            return Err(StoreError::Io { operation: "read", file: name(), source: "a simulated failure".into() });
        }
        Ok(disk.rows.snapshot())
    }

    /// It takes as many calls as there are pieces, and may fail as a commit does.
    fn stage(&mut self, payload: &Payload) -> Result<bool, StoreError> {
        if payload.len() <= PIECE_BYTES {
            return Ok(true);
        }
        if self.disk.lock().commit_failure.take_if(|how| *how == CommitFailure::Refused).is_some() {
            return Err(StoreError::Full { operation: "write to", file: name() });
        }
        self.staged.retain(|(staged, _)| staged.strong_count() > 0);
        let at = self.staged.iter().position(|(staged, _)| is(staged, payload)).unwrap_or_else(|| {
            self.staged.push((Arc::downgrade(payload), 0));
            self.staged.len() - 1
        });
        let written = &mut self.staged[at].1;
        *written = payload.len().min(*written + PIECE_BYTES);
        Ok(*written == payload.len())
    }

    fn commit_rows(&mut self, durable: bool, rows: &mut RowSource<'_>) -> Result<(), StoreError> {
        let (mut next, failure) = {
            let mut disk = self.disk.lock();
            (disk.rows.clone(), disk.commit_failure.take())
        };
        let mut written = 0;
        rows(&mut |change| {
            if failure == Some(CommitFailure::Torn(written)) {
                return Err(StoreError::Full { operation: "write to", file: name() });
            }
            written += 1;
            next.apply(&change)
        })?;
        if matches!(failure, Some(CommitFailure::Refused | CommitFailure::Torn(_))) {
            return Err(StoreError::Full { operation: "write to", file: name() });
        }
        let mut disk = self.disk.lock();
        if durable {
            disk.rows_on_platter = next.clone();
            disk.commits.durable += 1;
        }
        disk.rows = next;
        disk.commits.all += 1;
        match failure {
            Some(_) => {
                Err(StoreError::Io { operation: "write to", file: name(), source: "a simulated failure".into() })
            }
            None => Ok(()),
        }
    }

    fn payload(&self, job: JobKey) -> Result<Option<Payload>, StoreError> {
        Ok(self.disk.lock().rows.payloads.get(&job).cloned())
    }

    fn result(&self, job: JobKey) -> Result<Option<Payload>, StoreError> {
        Ok(self.disk.lock().rows.results.get(&job).cloned())
    }

    fn file_bytes(&self) -> u64 {
        let disk = self.disk.lock();
        let blobs = disk.rows.payloads.values().chain(disk.rows.results.values());
        blobs.map(|bytes| bytes.len() as u64).sum()
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Rows {
    fn apply(&mut self, change: &Change<'_>) -> Result<(), StoreError> {
        match *change {
            Change::PutJob { job, queue, fresh, data, result, took_key: _, told_by_list: _ } => {
                self.put_job(job, queue, fresh)?;
                if data {
                    put_blob(&mut self.payloads, job.key, &job.data);
                }
                if result {
                    put_blob(&mut self.results, job.key, &job.result);
                }
            }
            Change::DeleteJob { key, keep_result } => {
                self.jobs.remove(&key);
                self.payloads.remove(&key);
                if !keep_result {
                    self.results.remove(&key);
                }
            }
            Change::PutResult { key, result } => drop(self.results.insert(key, result.clone())),
            Change::DeleteResult(key) => drop(self.results.remove(&key)),
            Change::PutEnd { job, dependency, end } => {
                let row = EndRow { job, dependency: Arc::from(dependency), end: end.clone() };
                self.ends.insert(end.number, Arc::new(row));
            }
            Change::DeleteEnd(number) => drop(self.ends.remove(&number)),
            Change::PutKey { entry, queue, told_by_job: _ } => {
                let mut row = KeyRow { entry: entry.clone(), queue: Arc::from(queue) };
                row.entry.queue = QueueId(0);
                self.keys.insert(entry.entry, Arc::new(row));
            }
            Change::DeleteKey(entry) => drop(self.keys.remove(&entry)),
            // Every key and every state of a job has a row of its own here.
            Change::DropTakenKey(_) | Change::PutTaken { .. } | Change::DeleteTaken(_) => {}
            Change::PutQueue { name, settings } => drop(self.queues.insert(Arc::from(name), settings.clone())),
            Change::DeleteQueue(name) => drop(self.queues.remove(name)),
            Change::PutGroup { queue, group, settings } => {
                self.groups.insert((Arc::from(queue), Arc::from(group)), settings);
            }
            Change::DeleteGroup { queue, group } => drop(self.groups.remove(&(Arc::from(queue), Arc::from(group)))),
            Change::PutWebhook(webhook) => drop(self.webhooks.insert(webhook.id.clone(), webhook.clone())),
            Change::DeleteWebhook(id) => drop(self.webhooks.remove(id)),
            Change::Reserve(below) => self.reserved = below,
            Change::PutCompletedId { n, id } => drop(self.completed_ids.insert(n, Arc::from(id))),
            Change::PutSchedule { schedule, whole } => self.put_schedule(schedule, whole)?,
            Change::DeleteSchedule(id) => drop(self.schedules.remove(&id)),
            Change::DeleteCompletedId(n) => drop(self.completed_ids.remove(&n)),
        }
        Ok(())
    }

    fn put_job(&mut self, job: &Job, queue: &str, fresh: bool) -> Result<(), StoreError> {
        let mut kept = Job { queue: QueueId(0), ready: false, ..job.as_stored() };
        (kept.data, kept.result) = (Blob::Absent, Blob::Absent);
        let mut queue = Arc::from(queue);
        match (self.jobs.get(&job.key), fresh) {
            (None, true) => {}
            (Some(row), false) => {
                queue = row.queue.clone();
                kept =
                    Job { id: row.job.id.clone(), spec: row.job.spec.clone(), created_at: row.job.created_at, ..kept };
            }
            (None, false) | (Some(_), true) => {
                let what =
                    format!("table jobs, row {}: it is {}there already", job.key.0, if fresh { "" } else { "not " });
                return Err(StoreError::Corrupt { operation: "write to", file: name(), what });
            }
        }
        self.jobs.insert(job.key, Arc::new(JobRow { job: kept, queue }));
        Ok(())
    }

    fn put_schedule(&mut self, schedule: &Schedule, whole: bool) -> Result<(), StoreError> {
        let mut kept = schedule.clone();
        if !whole {
            let Some(row) = self.schedules.get(&schedule.id) else {
                let what = format!("table schedules, row {}: it is not there", schedule.id.0);
                return Err(StoreError::Corrupt { operation: "write to", file: name(), what });
            };
            (kept.rule, kept.data) = (row.rule.clone(), row.data.clone());
        }
        self.schedules.insert(kept.id, Arc::new(kept));
        Ok(())
    }

    fn snapshot(&self) -> Snapshot {
        let with_blobs = |row: &Arc<JobRow>| {
            let mut row = JobRow::clone(row);
            let key = row.job.key;
            row.job.data = match self.payloads.get(&key) {
                Some(bytes) if row.job.is_live() || row.job.repeats() => Blob::Here(bytes.clone()),
                Some(_) => Blob::OnDisk,
                None => Blob::Absent,
            };
            if self.results.contains_key(&key) {
                row.job.result = Blob::OnDisk;
            }
            row
        };
        Snapshot {
            jobs: self.jobs.values().map(with_blobs).collect(),
            keys: self.keys.values().map(|row| KeyRow::clone(row)).collect(),
            queues: self.queues.iter().map(|(name, settings)| (name.clone(), settings.clone())).collect(),
            groups: self.groups.iter().map(group_row).collect(),
            webhooks: self.webhooks.values().cloned().collect(),
            reserved: self.reserved,
            ends: self.ends.values().map(|row| EndRow::clone(row)).collect(),
            completed_ids: self.completed_ids.iter().map(|(n, id)| (*n, id.clone())).collect(),
            schedules: self.schedules.values().map(|row| Schedule::clone(row)).collect(),
            taken_lists: Vec::new(),
            ran_on: false,
        }
    }
}

fn group_row(((queue, group), settings): (&(Arc<str>, Arc<str>), &GroupSettings)) -> GroupRow {
    GroupRow { queue: queue.clone(), group: group.clone(), settings: *settings }
}

fn put_blob(blobs: &mut BTreeMap<JobKey, Payload>, key: JobKey, blob: &Blob) {
    match blob {
        Blob::Here(bytes) => drop(blobs.insert(key, bytes.clone())),
        Blob::Absent => drop(blobs.remove(&key)),
        Blob::OnDisk => debug_assert!(false, "bytes that are only in the file are never given to be written"),
    }
}

/// What errors call this disk.
fn name() -> PathBuf {
    PathBuf::from("the simulated disk")
}

#[cfg(test)]
#[path = "sim_store_tests.rs"]
mod sim_store_tests;
