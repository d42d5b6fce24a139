//! Questions about jobs, queues and keys (protocol-core.md 8.1, 8.3, 8.4). Nothing here changes anything.

use crate::command::{ListState, StateName};
use crate::engine::Engine;
use crate::job::{Blob, Job, JobState};
use crate::limits::{ANSWER_BYTES_MAX, ANSWER_RECORDS_MAX};
use crate::list::PAGE_ORDER;
use crate::names::{JobId, JobKey};
use crate::queue::Queue;
use crate::ranked::{Ranked, merged};
use crate::rejection::Rejection;
use crate::reply::{JobRecord, KeyRecord, Reply};
use crate::time::Timestamp;
use std::sync::Arc;

/// The lists that GetJobs takes together, each of them once. While the queue is paused, what is ready is listed as paused only,
/// but without a filter under its own state.
fn lists_of<'a>(queue: &'a Queue, states: &[ListState]) -> Vec<&'a Ranked<(Timestamp, JobKey)>> {
    let paused = queue.settings.paused;
    let is_meant = |state: StateName| {
        let is_ready = matches!(state, StateName::Waiting | StateName::Prioritized);
        states.is_empty()
            || (is_ready && paused && states.contains(&ListState::Paused))
            || (!(is_ready && paused) && states.contains(&ListState::State(state)))
    };
    PAGE_ORDER.iter().filter(|state| is_meant(**state)).map(|state| queue.by_age(*state)).collect()
}

impl Engine {
    pub(crate) fn record(&self, job: &Job, now: Timestamp) -> JobRecord {
        JobRecord { job: job.clone(), state: job.state_name(now) }
    }

    pub(crate) fn get_job(&self, now: Timestamp, id: &JobId) -> Result<Reply, Rejection> {
        let job = self.jobs.by_id(id).ok_or(Rejection::JobNotFound)?;
        Ok(Reply::Job(Box::new(self.record(job, now))))
    }

    /// Only a live job, and only by its custom id (dedup.md 5).
    pub(crate) fn get_job_by_custom_id(&self, now: Timestamp, id: &JobId) -> Result<Reply, Rejection> {
        let job = self.jobs.by_id(id).filter(|job| job.is_live() && job.has_custom_id);
        job.map(|job| Reply::JobByCustomId(Box::new(self.record(job, now)))).ok_or(Rejection::JobNotFound)
    }

    pub(crate) fn get_state(&self, now: Timestamp, id: JobId) -> Reply {
        let state = self.jobs.by_id(&id).map(|job| job.state_name(now));
        Reply::State { id, state }
    }

    pub(crate) fn get_result(&self, id: JobId) -> Reply {
        let job = self.jobs.by_id(&id).filter(|job| job.state == JobState::Completed);
        let result = job.map_or(Blob::Absent, |job| job.result.clone());
        let key = job.map(|job| job.key);
        Reply::Result { id, key, result }
    }

    pub(crate) fn get_progress(&self, now: Timestamp, id: &JobId) -> Result<Reply, Rejection> {
        let job = self.known(self.active_or(id, now)?);
        let message = job.rare().and_then(|rare| rare.progress_message.clone());
        Ok(Reply::Progress { progress: job.progress, message })
    }

    /// Sorted by `createdAt`, ties by insertion; the slice `[offset, offset + limit)`. It is refused when it is too long: fewer
    /// than were asked for would read as the end of the list.
    pub(crate) fn get_jobs(
        &self,
        now: Timestamp,
        name: &str,
        states: &[ListState],
        offset: usize,
        limit: usize,
        ascending: bool,
    ) -> Result<Reply, Rejection> {
        let Some(queue) = self.queues.find(name) else { return Ok(Reply::Jobs(Vec::new())) };
        let lists = lists_of(queue, states);
        let total: usize = lists.iter().map(|list| list.len()).sum();
        let start = offset.min(total);
        let end = start.saturating_add(limit).min(total);
        if end - start > ANSWER_RECORDS_MAX {
            return Err(Rejection::AnswerTooLong);
        }
        let mut found = if ascending { merged(&lists, start..end) } else { merged(&lists, total - end..total - start) };
        if !ascending {
            found.reverse();
        }
        let mut bytes = 0;
        let mut records = Vec::with_capacity(found.len());
        for (_, key) in found {
            let job = self.known(key);
            bytes += job.payload_bytes();
            if bytes > ANSWER_BYTES_MAX {
                return Err(Rejection::AnswerTooLong);
            }
            records.push(self.record(job, now));
        }
        Ok(Reply::Jobs(records))
    }

    pub(crate) fn counts_per_priority(&self, name: Arc<str>) -> Reply {
        let counts = self.queues.find(&name).map(|queue| &queue.priorities);
        let counts = counts.into_iter().flatten().map(|(priority, count)| (*priority, *count)).collect();
        Reply::PriorityCounts { queue: name, counts }
    }

    pub(crate) fn count_queued(&self, name: &str) -> Reply {
        Reply::Count(self.queues.find(name).map_or(0, |queue| (queue.ready.len() + queue.delayed.len()) as u64))
    }

    pub(crate) fn get_logs(&self, id: &JobId, start: usize, end: Option<i64>) -> Reply {
        let logs = self.jobs.by_id(id).and_then(Job::rare).map_or(&[][..], |rare| rare.logs.as_slice());
        let stop = match end {
            None => logs.len(),
            Some(end) => usize::try_from(end.saturating_add(1)).unwrap_or(0).min(logs.len()),
        };
        let lines = logs.get(start.min(stop)..stop).unwrap_or_default().to_vec();
        Reply::Logs { lines, total: logs.len() as u64 }
    }

    pub(crate) fn key_owner(&self, now: Timestamp, name: &str, key: &str) -> Reply {
        let queue = self.queues.find(name).map(|queue| queue.id);
        let entry = queue.and_then(|queue| self.valid_key(queue, key, now));
        Reply::KeyOwner(entry.map(|entry| entry.owner_id.clone()))
    }

    /// In order of registration. `total` tells that there are more.
    pub(crate) fn list_keys(&self, now: Timestamp, name: Option<&str>, offset: usize, limit: usize) -> Reply {
        let list = match name {
            Some(name) => self.queues.find(name).map(|queue| &queue.keys),
            None => Some(self.keys.in_order()),
        };
        let total = list.map_or(0, |list| list.len() as u64);
        let end = offset.saturating_add(limit.min(ANSWER_RECORDS_MAX));
        let page = list.into_iter().flat_map(|list| list.slice(offset..end));
        let entries = page.map(|entry| self.keys.get(*entry).expect("a listed key is held"));
        let keys = entries.map(|entry| KeyRecord {
            queue: self.queues.get(entry.queue).name.clone(),
            key: Arc::from(&*entry.key),
            job_id: entry.owner_id.clone(),
            state: self.jobs.get(entry.owner).map(|job| job.state_name(now)),
            ttl: entry.ttl(),
            expires_at: entry.expires_at(),
            registered_at: entry.registered_at,
            hits: entry.tally().collapsed,
            last: entry.tally().last.map(|last| last.decision),
        });
        Reply::Keys { keys: keys.collect(), total, now }
    }

    pub(crate) fn list_queues(&self) -> Reply {
        Reply::Queues(self.queues.registered().into_iter().map(|queue| queue.name.clone()).collect())
    }

    pub(crate) fn broker_metrics(&self) -> Reply {
        Reply::Totals { totals: self.totals, counts: self.counts(None) }
    }
}
