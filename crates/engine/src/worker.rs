//! Registered workers: memory only, by their own account (protocol-admin.md 9).

use crate::command::WorkerInfo;
use crate::effects::Effects;
use crate::engine::Engine;
use crate::limits::{WORKER_BYTES_MAX, WORKER_OVERLOADED_AFTER, WORKER_SILENT_MAX, WORKERS_MAX};
use crate::names::{ConnId, Origin};
use crate::rejection::Rejection;
use crate::reply::{Reply, WorkerRecord};
use crate::time::{Millis, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The workers, by id.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    by_id: BTreeMap<String, WorkerRecord>,
    /// Jobs completed and failed since the start, by all workers' own account, those included that are gone.
    processed: u64,
    failed: u64,
}

/// What a counter has grown by. One that fell was begun anew: the worker restarted under its id.
fn grown(before: u64, now: u64) -> u64 {
    if now < before { now } else { now - before }
}

impl Workers {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &WorkerRecord> {
        self.by_id.values()
    }

    pub(crate) fn heartbeat(
        &mut self,
        now: Timestamp,
        id: &str,
        active: Option<u64>,
        processed: Option<u64>,
        failed: Option<u64>,
    ) -> Result<Reply, Rejection> {
        let worker = self.by_id.get_mut(id).ok_or(Rejection::WorkerNotFound)?;
        worker.last_seen = now;
        worker.active_jobs = active.unwrap_or(worker.active_jobs);
        let is_full = worker.active_jobs > 0 && worker.active_jobs >= u64::from(worker.concurrency);
        worker.full_since = is_full.then(|| worker.full_since.unwrap_or(now));
        let processed = processed.unwrap_or(worker.processed);
        let failed = failed.unwrap_or(worker.failed);
        self.processed = self.processed.saturating_add(grown(worker.processed, processed));
        self.failed = self.failed.saturating_add(grown(worker.failed, failed));
        (worker.processed, worker.failed) = (processed, failed);
        Ok(Reply::DataOk)
    }

    pub(crate) fn unregister(&mut self, id: &str) -> Result<Reply, Rejection> {
        self.by_id.remove(id).map(|_| Reply::WorkerRemoved).ok_or(Rejection::WorkerNotFound)
    }

    pub(crate) fn list(&self, now: Timestamp) -> Reply {
        let workers = self.by_id.values().cloned().collect();
        Reply::Workers { workers, processed: self.processed, failed: self.failed, now }
    }

    /// A registration belongs to its connection and ends with it.
    pub(crate) fn disconnect(&mut self, now: Timestamp, conn: ConnId, effects: &mut Effects) {
        let client: Arc<str> = conn.0.to_string().into();
        for (id, worker) in self.by_id.extract_if(.., |_, worker| worker.conn == conn.0) {
            let [id, name] = [("workerId", id.as_str().into()), ("name", worker.name.as_str().into())];
            effects.tell(now, "worker:disconnected", [id, name, ("clientId", (&client).into())]);
        }
    }

    /// The clock went ahead without the time having passed.
    pub(crate) fn skip(&mut self, by: Millis) {
        self.by_id.values_mut().for_each(|worker| worker.last_seen = worker.last_seen.plus(by));
    }

    /// Drops those that were silent for too long, and tells of those that have had no slot free for long.
    pub(crate) fn review(&mut self, now: Timestamp, effects: &mut Effects) {
        for (id, _) in self.by_id.extract_if(.., |_, worker| now.since(worker.last_seen) > WORKER_SILENT_MAX) {
            effects.tell(now, "worker:removed-stale", [("workerId", id.as_str().into())]);
        }
        for (id, worker) in &mut self.by_id {
            if worker.full_since.is_some_and(|since| now.since(since) >= WORKER_OVERLOADED_AFTER) {
                // Told once a period.
                worker.full_since = Some(now);
                let (active, slots) = (worker.active_jobs.into(), u64::from(worker.concurrency).into());
                let fields = [("workerId", id.as_str().into()), ("activeJobs", active), ("concurrency", slots)];
                effects.tell(now, "worker:overloaded", fields);
            }
        }
    }
}

impl Engine {
    /// Registers, or refreshes a known id: the name and the first moment stay, the newest connection owns it.
    pub(crate) fn register_worker(
        &mut self,
        now: Timestamp,
        origin: Origin,
        info: WorkerInfo,
    ) -> Result<Reply, Rejection> {
        let id = info.worker_id.filter(|id| !id.is_empty()).unwrap_or_else(|| self.ids.job_id(now).to_string());
        let texts = [&id, &info.name, &info.hostname].map(String::len);
        let bytes = texts.iter().sum::<usize>() + info.queues.iter().map(|queue| queue.len()).sum::<usize>();
        if bytes > WORKER_BYTES_MAX {
            return Err(Rejection::WorkerTooLarge(WORKER_BYTES_MAX));
        }
        if self.workers.by_id.len() >= WORKERS_MAX && !self.workers.by_id.contains_key(&id) {
            return Err(Rejection::TooManyWorkers(WORKERS_MAX));
        }
        let conn = match origin {
            Origin::Client { conn, .. } => conn.0,
            Origin::Inspector { .. } | Origin::Internal => 0,
        };
        let worker = self.workers.by_id.entry(id.clone()).or_insert_with(|| WorkerRecord {
            worker_id: id,
            name: info.name,
            queues: Vec::new(),
            concurrency: 1,
            hostname: String::new(),
            pid: 0,
            registered_at: info.started_at.unwrap_or(now),
            last_seen: now,
            active_jobs: 0,
            processed: 0,
            failed: 0,
            full_since: None,
            conn,
        });
        worker.queues = info.queues;
        worker.concurrency = info.concurrency;
        worker.hostname = info.hostname;
        worker.pid = info.pid;
        worker.last_seen = now;
        worker.conn = conn;
        Ok(Reply::Worker(Box::new(worker.clone())))
    }
}
