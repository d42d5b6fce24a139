//! Which rows changed since the last commit. A row is written as it stands at the turn's end, however often it changed.

use crate::change::Change;
use crate::dedup::KeyEntry;
use crate::engine::Engine;
use crate::groups::GroupSettings;
use crate::job::Blob;
use crate::names::{EntryId, JobId, JobKey};
use crate::schedule::ScheduleId;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What of a job's row changed.
#[derive(Clone, Copy, Debug, Default)]
struct JobDirt {
    fresh: bool,
    data: bool,
    result: bool,
}

/// The rows to write, in the order of their first change.
#[derive(Debug, Default)]
pub(crate) struct Dirty {
    jobs: FxHashMap<JobKey, JobDirt>,
    job_order: Vec<JobKey>,
    /// With whether the result stays.
    jobs_gone: Vec<(JobKey, bool)>,
    jobs_taken: Vec<JobKey>,
    lists_gone: Vec<JobKey>,
    ends: Vec<(JobKey, JobId)>,
    ends_gone: Vec<u64>,
    /// Results whose jobs left before they were written.
    orphans: Vec<JobKey>,
    orphans_gone: Vec<JobKey>,
    keys: FxHashMap<EntryId, ()>,
    key_order: Vec<EntryId>,
    keys_gone: Vec<EntryId>,
    /// Jobs whose rows may tell of a key that they own no more.
    taken_keys_gone: Vec<JobKey>,
    queues: Vec<Arc<str>>,
    groups: BTreeSet<(Arc<str>, Arc<str>)>,
    webhooks: BTreeSet<Arc<str>>,
    completed_ids: Vec<JobKey>,
    completed_ids_gone: Vec<JobKey>,
    /// Whether the whole row must be written.
    schedules: BTreeMap<ScheduleId, bool>,
    schedules_gone: Vec<ScheduleId>,
    reserve: bool,
}

impl Dirty {
    pub(crate) fn is_empty(&self) -> bool {
        self.job_order.is_empty()
            && self.jobs_gone.is_empty()
            && self.lists_gone.is_empty()
            && self.ends.is_empty()
            && self.ends_gone.is_empty()
            && self.orphans.is_empty()
            && self.orphans_gone.is_empty()
            && self.key_order.is_empty()
            && self.keys_gone.is_empty()
            && self.taken_keys_gone.is_empty()
            && self.queues.is_empty()
            && self.groups.is_empty()
            && self.webhooks.is_empty()
            && self.completed_ids.is_empty()
            && self.completed_ids_gone.is_empty()
            && self.schedules.is_empty()
            && self.schedules_gone.is_empty()
            && !self.reserve
    }

    /// The job or the key that was changed last stands in the file already: a million of them are not to be listed here.
    pub(crate) fn was_read(&mut self) {
        self.jobs.clear();
        self.job_order.clear();
        self.keys.clear();
        self.key_order.clear();
    }

    fn touch(&mut self, key: JobKey) -> &mut JobDirt {
        let order = &mut self.job_order;
        self.jobs.entry(key).or_insert_with(|| {
            order.push(key);
            JobDirt::default()
        })
    }

    /// The job is new: everything of it must be written.
    pub(crate) fn job_fresh(&mut self, key: JobKey) {
        *self.touch(key) = JobDirt { fresh: true, data: true, result: false };
    }

    /// The job was handed out.
    pub(crate) fn job_taken(&mut self, key: JobKey) {
        self.jobs_taken.push(key);
    }

    /// Those that were handed out since the last commit, whatever became of them.
    pub(crate) fn jobs_taken(&self) -> &[JobKey] {
        &self.jobs_taken
    }

    pub(crate) fn list_gone(&mut self, list: JobKey) {
        self.lists_gone.push(list);
    }

    /// Whether the job has no row yet.
    fn is_fresh(&self, key: JobKey) -> bool {
        self.jobs.get(&key).is_some_and(|dirt| dirt.fresh)
    }

    pub(crate) fn job(&mut self, key: JobKey) {
        self.touch(key);
    }

    pub(crate) fn job_data(&mut self, key: JobKey) {
        self.touch(key).data = true;
    }

    pub(crate) fn job_result(&mut self, key: JobKey) {
        self.touch(key).result = true;
    }

    /// The job is gone. Its row is deleted, if it ever had one; so is its result's, unless that stays or there is none.
    pub(crate) fn job_gone(&mut self, key: JobKey, keep_result: bool, has_result: bool) {
        let dirt = self.jobs.remove(&key).unwrap_or_default();
        if !dirt.fresh {
            self.jobs_gone.push((key, keep_result || !(has_result || dirt.result)));
        }
    }

    pub(crate) fn end(&mut self, waiting: JobKey, id: JobId) {
        self.ends.push((waiting, id));
    }

    pub(crate) fn end_gone(&mut self, number: u64) {
        self.ends_gone.push(number);
    }

    /// A result that stays without its job has never been written.
    pub(crate) fn orphan(&mut self, key: JobKey) {
        self.orphans.push(key);
    }

    pub(crate) fn orphan_gone(&mut self, key: JobKey) {
        self.orphans_gone.push(key);
    }

    pub(crate) fn key(&mut self, entry: EntryId) {
        if self.keys.insert(entry, ()).is_none() {
            self.key_order.push(entry);
        }
    }

    /// Whether the key's row is written with the present turn.
    pub(crate) fn has_key(&self, entry: EntryId) -> bool {
        self.keys.contains_key(&entry)
    }

    pub(crate) fn key_gone(&mut self, entry: EntryId) {
        self.keys.remove(&entry);
        self.keys_gone.push(entry);
    }

    pub(crate) fn taken_key_gone(&mut self, job: JobKey) {
        self.taken_keys_gone.push(job);
    }

    pub(crate) fn queue(&mut self, name: &Arc<str>) {
        if !self.queues.contains(name) {
            self.queues.push(name.clone());
        }
    }

    pub(crate) fn group(&mut self, queue: &Arc<str>, group: &Arc<str>) {
        self.groups.insert((queue.clone(), group.clone()));
    }

    pub(crate) fn webhook(&mut self, id: &Arc<str>) {
        self.webhooks.insert(id.clone());
    }

    pub(crate) fn completed_id(&mut self, key: JobKey) {
        self.completed_ids.push(key);
    }

    pub(crate) fn completed_id_gone(&mut self, key: JobKey) {
        self.completed_ids_gone.push(key);
    }

    /// `whole` = it is new, or a client changed it.
    pub(crate) fn schedule(&mut self, id: ScheduleId, whole: bool) {
        *self.schedules.entry(id).or_default() |= whole;
    }

    pub(crate) fn schedule_gone(&mut self, id: ScheduleId) {
        self.schedules.remove(&id);
        self.schedules_gone.push(id);
    }

    pub(crate) fn reserve(&mut self) {
        self.reserve = true;
    }
}

impl Engine {
    /// Whether rows changed since `committed`.
    pub fn has_changes(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// All rows that changed since `committed`, deletions first.
    pub fn for_each_change<E>(&self, write: &mut dyn FnMut(Change<'_>) -> Result<(), E>) -> Result<(), E> {
        let dirty = &self.dirty;
        if dirty.reserve {
            write(Change::Reserve(self.reserved))?;
        }
        for (key, keep_result) in &dirty.jobs_gone {
            write(Change::DeleteJob { key: *key, keep_result: *keep_result })?;
        }
        dirty.lists_gone.iter().try_for_each(|list| write(Change::DeleteTaken(*list)))?;
        dirty.ends_gone.iter().try_for_each(|number| write(Change::DeleteEnd(*number)))?;
        dirty.orphans_gone.iter().try_for_each(|key| write(Change::DeleteResult(*key)))?;
        dirty.keys_gone.iter().try_for_each(|entry| write(Change::DeleteKey(*entry)))?;
        dirty.completed_ids_gone.iter().try_for_each(|key| write(Change::DeleteCompletedId(*key)))?;
        dirty.schedules_gone.iter().try_for_each(|id| write(Change::DeleteSchedule(*id)))?;
        for key in dirty.taken_keys_gone.iter().filter(|key| self.jobs.get(**key).is_some() && !dirty.is_fresh(**key)) {
            write(Change::DropTakenKey(*key))?;
        }
        self.for_each_changed_job(write)?;
        for (job, id) in &dirty.ends {
            let end = self.families.get(job).and_then(|family| family.ends.get(id));
            if let Some(end) = end {
                write(Change::PutEnd { job: *job, dependency: &id.to_string(), end })?;
            }
        }
        for key in &dirty.orphans {
            if let Some(Blob::Here(bytes)) = self.held.get(key).and_then(|held| held.orphan.as_ref()) {
                write(Change::PutResult { key: *key, result: bytes })?;
            }
        }
        for entry in dirty.key_order.iter().filter_map(|entry| self.keys.get(*entry)) {
            let told_by_job = self.is_told_by_job(Some(entry));
            write(Change::PutKey { entry, queue: &self.queues.get(entry.queue).name, told_by_job })?;
        }
        for name in &dirty.queues {
            match self.queues.find(name).filter(|queue| queue.registered) {
                Some(queue) => write(Change::PutQueue { name, settings: &queue.settings })?,
                None => write(Change::DeleteQueue(name))?,
            }
        }
        for (queue, group) in &dirty.groups {
            let settings =
                self.queues.find(queue).map_or(GroupSettings::default(), |found| found.groups.settings(group));
            if settings == GroupSettings::default() {
                write(Change::DeleteGroup { queue, group })?;
            } else {
                write(Change::PutGroup { queue, group, settings })?;
            }
        }
        for (id, whole) in &dirty.schedules {
            let schedule = self.schedules.get(*id).expect("a changed schedule that is not gone is there");
            write(Change::PutSchedule { schedule, whole: *whole })?;
        }
        for id in &dirty.webhooks {
            match self.webhooks.get(id) {
                Some(webhook) => write(Change::PutWebhook(webhook))?,
                None => write(Change::DeleteWebhook(id))?,
            }
        }
        for key in &dirty.completed_ids {
            if let Some(id) = self.completed_ids.id_of(*key) {
                write(Change::PutCompletedId { n: *key, id: &id.to_string() })?;
            }
        }
        Ok(())
    }

    fn for_each_changed_job<E>(&self, write: &mut dyn FnMut(Change<'_>) -> Result<(), E>) -> Result<(), E> {
        let list = self.taken_list();
        for (key, dirt) in self.dirty.job_order.iter().filter_map(|key| self.dirty.jobs.get_key_value(key)) {
            let job = self.jobs.get(*key).expect("a changed job that is not gone is there");
            let queue = &*self.queues.get(job.queue).name;
            let JobDirt { fresh, data, result } = *dirt;
            let took_key = fresh && job.dedup_key.is_some() && self.is_told_by_job(self.keys.get(key.first_entry()));
            let told_by_list = Engine::is_told_by_list(job, list.as_ref());
            write(Change::PutJob { job, queue, fresh, data, result, took_key, told_by_list })?;
        }
        list.map_or(Ok(()), |list| write(Change::PutTaken { at: list.at, jobs: &list.jobs }))
    }

    /// Whether the row of a new job tells all of a key.
    fn is_told_by_job(&self, entry: Option<&KeyEntry>) -> bool {
        let owner = entry.filter(|entry| self.dirty.is_fresh(entry.owner)).map(|entry| entry.owner);
        let owner = owner.and_then(|owner| self.jobs.get(owner));
        entry.zip(owner).is_some_and(|(entry, owner)| entry.is_as_taken(owner))
    }

    /// The changes are safe on disk: they are forgotten, and payloads and results that the file can give back leave the
    /// memory (architecture, 8).
    pub fn committed(&mut self) {
        let list = self.taken_list();
        let dirty = std::mem::take(&mut self.dirty);
        for key in dirty.orphans {
            if let Some(held) = self.held.get_mut(&key).filter(|held| matches!(held.orphan, Some(Blob::Here(_)))) {
                held.orphan = Some(Blob::OnDisk);
            }
        }
        for key in dirty.job_order {
            let Some(job) = self.jobs.get_mut(key) else { continue };
            let is_fresh = dirty.jobs.get(&key).is_some_and(|dirt| dirt.fresh);
            let has_none = is_fresh && job.is_as_added() || Engine::is_told_by_list(job, list.as_ref());
            job.has_state_row |= !has_none;
            if job.is_live() {
                continue;
            }
            // A repeating job that is tried again hands its payload on to the next run.
            if matches!(job.data, Blob::Here(_)) && !job.repeats() {
                job.data = Blob::OnDisk;
            }
            if matches!(job.result, Blob::Here(_)) {
                job.result = Blob::OnDisk;
            }
        }
        if let Some(list) = list {
            self.keep_list(&list);
        }
    }
}

#[cfg(test)]
#[path = "dirty_tests.rs"]
mod dirty_tests;
