//! Read-only pages and figures for inspection. Nothing here changes anything.

use crate::command::StateName;
use crate::dedup::{FreedKey, KeyEntry};
use crate::engine::{Engine, EngineConfig};
use crate::job::Job;
use crate::limits::PAGE_SCAN_MAX;
use crate::names::{JobId, JobKey, QueueId};
use crate::queue::{Queue, ended_at};
use crate::reply::{JobCounts, StallConfig, Totals, WorkerRecord};
use crate::time::Timestamp;
use std::sync::Arc;

/// A queue in figures.
#[derive(Clone, Debug)]
pub struct QueueView {
    /// Its name.
    pub name: Arc<str>,
    /// Nothing is taken from it.
    pub paused: bool,
    /// Jobs per state, as GetJobCounts gives them.
    pub counts: JobCounts,
    /// Keys held in it.
    pub keys: usize,
    /// Pulls that wait for a job.
    pub parked: usize,
    /// Its stall configuration.
    pub stall: StallConfig,
    /// When the oldest ready job was added.
    pub oldest_ready_at: Option<Timestamp>,
}

/// Which jobs a page shows. Order: active, waiting and prioritized (next to run first), delayed (soonest first),
/// waiting-children, failed and completed (newest first); within a state queue by queue.
#[derive(Clone, Debug, Default)]
pub struct JobsQuery {
    /// One queue; none = all.
    pub queue: Option<Arc<str>>,
    /// One state; none = all.
    pub state: Option<StateName>,
    /// Where the page before ended, as that page said; none = from the start.
    pub after: Option<String>,
    /// At most this many.
    pub limit: usize,
}

/// A page of jobs.
#[derive(Clone, Debug, Default)]
pub struct JobsPage {
    /// Generations, to be looked up with `Engine::job_by_key`.
    pub jobs: Vec<JobKey>,
    /// Ask again with this for what follows; none = this was the last page.
    pub next: Option<String>,
    /// Jobs looked at. When the bound was reached before the page was full, `next` is set and the page may be short.
    pub scanned: usize,
}

impl Engine {
    /// The settings.
    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// A job the broker knows, live or finished.
    pub fn job(&self, id: &JobId) -> Option<&Job> {
        self.jobs.by_id(id)
    }

    /// The same by generation.
    pub fn job_by_key(&self, key: JobKey) -> Option<&Job> {
        self.jobs.get(key)
    }

    /// How many jobs the broker knows.
    pub fn jobs_len(&self) -> usize {
        self.jobs.len()
    }

    /// A queue's name. The id comes from a job or a key of this engine.
    pub fn queue_name(&self, queue: QueueId) -> &Arc<str> {
        &self.queues.get(queue).name
    }

    /// All listed queues, in order of registration.
    pub fn queues(&self) -> Vec<QueueView> {
        let listed = self.queues.iter().filter(|queue| queue.registered);
        listed
            .map(|queue| QueueView {
                name: queue.name.clone(),
                paused: queue.settings.paused,
                counts: queue.counts(),
                keys: queue.keys,
                parked: queue.parked.len(),
                stall: queue.settings.stall,
                oldest_ready_at: queue.ready.iter().next().map(|key| self.known(key).created_at),
            })
            .collect()
    }

    /// Totals of every listed queue since this engine was made.
    pub fn queue_totals(&self) -> impl Iterator<Item = (&Arc<str>, Totals)> {
        let listed = self.queues.iter().filter(|queue| queue.registered);
        listed.map(|queue| (&queue.name, queue.totals))
    }

    /// A live key.
    pub fn key(&self, queue: &str, key: &str, now: Timestamp) -> Option<&KeyEntry> {
        self.valid_key(self.queues.find(queue)?.id, key, now)
    }

    /// All keys, in no order that means anything; ended ones leave at the next `tick`.
    pub fn keys(&self) -> impl Iterator<Item = &KeyEntry> {
        self.keys.iter()
    }

    /// How many keys are held.
    pub fn keys_len(&self) -> usize {
        self.keys.len()
    }

    /// How a key last became free, while that is remembered.
    pub fn freed(&self, queue: &str, key: &str) -> Option<&FreedKey> {
        self.keys.freed(self.queues.find(queue)?.id, key)
    }

    /// Live jobs that carry this key's text without holding it, because it was freed under them (gui.md 3.3, `twin`). Only
    /// freed keys that are still remembered count.
    pub fn twins(&self, entry: &KeyEntry) -> Vec<JobKey> {
        let lost = self.keys.all_freed(entry.queue, &entry.key).map(|freed| freed.owner);
        let mut twins: Vec<JobKey> =
            lost.filter(|key| *key != entry.owner && self.jobs.get(*key).is_some_and(Job::is_live)).collect();
        twins.sort();
        twins.dedup();
        twins
    }

    /// Whether `job` asked for a key and holds it now.
    pub fn holds_key(&self, job: &Job) -> bool {
        self.owned_key(job).is_some()
    }

    /// Registered workers.
    pub fn workers(&self) -> impl Iterator<Item = &WorkerRecord> {
        self.workers.iter()
    }

    /// Jobs per state of one queue or of all; ready jobs of a paused queue count as paused.
    pub fn counts(&self, queue: Option<&str>) -> JobCounts {
        match queue {
            Some(name) => self.queues.find(name).map_or(JobCounts::default(), Queue::counts),
            None => self.queues.iter().map(Queue::counts).fold(JobCounts::default(), JobCounts::plus),
        }
    }

    /// Totals since this engine was made.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// A page of jobs; `accept` filters. At most `PAGE_SCAN_MAX` jobs are looked at.
    pub fn jobs_page(&self, query: &JobsQuery, now: Timestamp, accept: &mut dyn FnMut(&Job) -> bool) -> JobsPage {
        let mut page = JobsPage::default();
        let after = query.after.as_deref().and_then(Cursor::parse);
        for (at, state) in PAGE_ORDER.iter().enumerate() {
            if query.state.is_some_and(|wanted| wanted != *state) || after.is_some_and(|after| at < after.state) {
                continue;
            }
            for queue in self.queues.iter() {
                let here = Cursor { state: at, queue: queue.id.0, job: JobKey(0) };
                if query.queue.as_ref().is_some_and(|wanted| *wanted != queue.name)
                    || after.is_some_and(|after| (here.state, here.queue) < (after.state, after.queue))
                {
                    continue;
                }
                let from = after.filter(|after| (after.state, after.queue) == (here.state, here.queue));
                for key in self.in_page_order(queue, *state, from.map(|from| from.job)) {
                    let job = self.known(key);
                    page.scanned += 1;
                    if job.state_name(now) == *state && accept(job) {
                        page.jobs.push(key);
                    }
                    if page.jobs.len() == query.limit || page.scanned == PAGE_SCAN_MAX {
                        page.next = Some(Cursor { job: key, ..here }.to_string());
                        return page;
                    }
                }
            }
        }
        page
    }

    /// The jobs of one set, in the order of a page, after `from`. A job that has left the set meanwhile still marks its place
    /// where that can be told; otherwise the page starts over at the front.
    fn in_page_order<'a>(
        &'a self,
        queue: &'a Queue,
        state: StateName,
        from: Option<JobKey>,
    ) -> Box<dyn Iterator<Item = JobKey> + 'a> {
        use std::ops::Bound::{Excluded, Unbounded};
        let job = from.and_then(|key| self.jobs.get(key));
        let due = job.map_or(Unbounded, |job| Excluded((job.run_at, job.key)));
        let ended = job.map_or(Unbounded, |job| Excluded((ended_at(job), job.key)));
        let older = from.map_or(Unbounded, Excluded);
        match state {
            StateName::Waiting | StateName::Prioritized => queue.ready.after(job),
            StateName::Delayed => Box::new(queue.delayed.range((due, Unbounded)).map(|(_, key)| *key)),
            StateName::WaitingChildren => Box::new(queue.blocked.range((older, Unbounded)).copied()),
            StateName::Active => Box::new(queue.active.range((older, Unbounded)).copied()),
            StateName::Completed => Box::new(queue.completed.range((Unbounded, ended)).rev().map(|(_, key)| *key)),
            StateName::Failed => Box::new(queue.failed.range((Unbounded, ended)).rev().map(|(_, key)| *key)),
        }
    }
}

const PAGE_ORDER: [StateName; 7] = [
    StateName::Active,
    StateName::Prioritized,
    StateName::Waiting,
    StateName::Delayed,
    StateName::WaitingChildren,
    StateName::Failed,
    StateName::Completed,
];

/// Where a page of jobs ended.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    state: usize,
    queue: u32,
    job: JobKey,
}

impl Cursor {
    fn parse(text: &str) -> Option<Cursor> {
        let mut parts = text.split('.');
        let state = parts.next()?.parse().ok()?;
        let queue = parts.next()?.parse().ok()?;
        let job = JobKey(parts.next()?.parse().ok()?);
        Some(Cursor { state, queue, job })
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}.{}.{}", self.state, self.queue, self.job.0)
    }
}
