//! A store of rows in memory: what a file would hold after each commit, and what it would give back at a start.

use onceover_engine::change::{Change, EndRow, GroupRow, GroupSettings, JobRow, KeyRow, QueueSettings, Snapshot};
use onceover_engine::engine::Engine;
use onceover_engine::job::{Blob, JobState};
use onceover_engine::names::{EntryId, JobKey};
use onceover_engine::schedule::{Schedule, ScheduleId};
use onceover_engine::webhook::Webhook;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All rows, and the payloads beside them.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    jobs: BTreeMap<JobKey, JobRow>,
    data: BTreeMap<JobKey, Blob>,
    results: BTreeMap<JobKey, Vec<u8>>,
    keys: BTreeMap<EntryId, KeyRow>,
    queues: BTreeMap<String, QueueSettings>,
    groups: BTreeMap<(String, String), GroupSettings>,
    webhooks: BTreeMap<Arc<str>, Webhook>,
    reserved: u64,
    completed_ids: BTreeMap<JobKey, Arc<str>>,
    schedules: BTreeMap<ScheduleId, Schedule>,
    ends: BTreeMap<u64, EndRow>,
}

impl Rows {
    /// Writes what changed, strictly: a row that should be new is new, one that goes was there.
    pub fn write(&mut self, engine: &Engine) -> Result<(), String> {
        engine.for_each_change(&mut |change| self.apply(change))
    }

    fn apply(&mut self, change: Change<'_>) -> Result<(), String> {
        match change {
            Change::PutJob { job, queue, fresh, data, result, .. } => {
                let row = JobRow { job: job.as_stored(), queue: Arc::from(queue) };
                if data {
                    if job.data == Blob::OnDisk {
                        return Err(format!("{}: a payload that is not in memory cannot be written", job.id));
                    }
                    self.data.insert(job.key, job.data.clone());
                }
                match &job.result {
                    Blob::Here(bytes) if result => drop(self.results.insert(job.key, bytes.to_vec())),
                    Blob::Absent if result => drop(self.results.remove(&job.key)),
                    Blob::OnDisk if result => return Err(format!("{}: a result that is not in memory", job.id)),
                    _ => {}
                }
                if self.jobs.insert(job.key, row).is_some() == fresh {
                    return Err(format!("{}: fresh is {fresh}, the rows say otherwise", job.id));
                }
                let twin = self.jobs.values().find(|row| row.job.id == job.id && row.job.key != job.key);
                if let Some(twin) = twin {
                    return Err(format!("{} has two rows, {:?} and {:?}", job.id, twin.job.key, job.key));
                }
            }
            Change::DeleteJob { key, keep_result } => {
                if !keep_result {
                    self.results.remove(&key);
                }
                self.jobs.remove(&key);
                self.data.remove(&key);
            }
            Change::PutKey { entry, queue, .. } => {
                self.keys.insert(entry.entry, KeyRow { entry: entry.clone(), queue: Arc::from(queue) });
            }
            Change::DeleteKey(entry) => drop(self.keys.remove(&entry)),
            Change::DropTakenKey(_) | Change::PutTaken { .. } | Change::DeleteTaken(_) => {}
            Change::PutQueue { name, settings } => drop(self.queues.insert(name.to_owned(), settings.clone())),
            Change::DeleteQueue(name) => drop(self.queues.remove(name)),
            Change::PutGroup { queue, group, settings } => {
                self.groups.insert((queue.to_owned(), group.to_owned()), settings);
            }
            Change::DeleteGroup { queue, group } => drop(self.groups.remove(&(queue.to_owned(), group.to_owned()))),
            Change::PutWebhook(webhook) => drop(self.webhooks.insert(webhook.id.clone(), webhook.clone())),
            Change::DeleteWebhook(id) => drop(self.webhooks.remove(id)),
            Change::Reserve(number) => self.reserved = number,
            Change::PutEnd { job, dependency, end } => {
                let row = EndRow { job, dependency: Arc::from(dependency), end: end.clone() };
                self.ends.insert(end.number, row);
            }
            Change::DeleteEnd(number) => drop(self.ends.remove(&number)),
            Change::PutResult { key, result } => drop(self.results.insert(key, result.to_vec())),
            Change::DeleteResult(key) => drop(self.results.remove(&key)),
            Change::PutCompletedId { n, id } => drop(self.completed_ids.insert(n, Arc::from(id))),
            Change::PutSchedule { schedule, whole } => {
                if self.schedules.insert(schedule.id, schedule.clone()).is_none() && !whole {
                    return Err(format!("{}: no row, and only a part was written", schedule.rule.name));
                }
            }
            Change::DeleteSchedule(id) => drop(self.schedules.remove(&id)),
            Change::DeleteCompletedId(n) => drop(self.completed_ids.remove(&n)),
        }
        Ok(())
    }

    /// What a job completed with, as it is stored.
    pub fn result(&self, key: JobKey) -> Option<&[u8]> {
        self.results.get(&key).map(|bytes| &bytes[..])
    }

    /// As a store reads it: payloads of live jobs in memory, those of finished jobs not.
    pub fn snapshot(&self) -> Snapshot {
        let jobs = self.jobs.values().map(|row| {
            let mut row = row.clone();
            let data = self.data.get(&row.job.key).cloned().unwrap_or_default();
            let has_ended = matches!(row.job.state, JobState::Completed | JobState::Failed);
            row.job.result = if self.results.contains_key(&row.job.key) { Blob::OnDisk } else { Blob::Absent };
            row.job.data = if has_ended && data != Blob::Absent { Blob::OnDisk } else { data };
            row
        });
        Snapshot {
            jobs: jobs.collect(),
            keys: self.keys.values().cloned().collect(),
            queues: self.queues.iter().map(|(name, settings)| (Arc::from(name.as_str()), settings.clone())).collect(),
            groups: self
                .groups
                .iter()
                .map(|((queue, group), settings)| GroupRow {
                    queue: Arc::from(queue.as_str()),
                    group: Arc::from(group.as_str()),
                    settings: *settings,
                })
                .collect(),
            webhooks: self.webhooks.values().cloned().collect(),
            reserved: self.reserved,
            ends: self.ends.values().cloned().collect(),
            completed_ids: self.completed_ids.iter().map(|(n, id)| (*n, id.clone())).collect(),
            schedules: self.schedules.values().cloned().collect(),
            taken_lists: Vec::new(),
            ran_on: false,
        }
    }
}
