//! Read-only pages and figures for inspection. Nothing here changes anything.

use crate::command::StateName;
use crate::dead::DlqConfig;
use crate::dedup::{FreedKey, KeyEntry};
use crate::engine::{Engine, EngineConfig};
use crate::job::Job;
use crate::limit::Limits;
use crate::limits::PAGE_SCAN_MAX;
use crate::list::{Cursor, PAGE_ORDER};
use crate::names::{EntryId, JobId, JobKey, QueueId};
use crate::queue::Queue;
use crate::reply::{JobCounts, StallConfig, Totals, WorkerRecord};
use crate::time::Timestamp;
use std::sync::Arc;

/// A queue in figures.
#[derive(Clone, Debug)]
pub struct QueueView {
    /// Its number; keys carry it.
    pub id: QueueId,
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
    /// What becomes of its dead letters; `max_entries` is set.
    pub dlq: DlqConfig,
    /// What limits it.
    pub limits: Limits,
    /// How many groups have something to tell.
    pub groups: usize,
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

/// What becomes of a job that a page looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// It is in the page.
    Take,
    /// It is not.
    Pass,
    /// It was not looked at: the page ends before it.
    Stop,
}

impl Look {
    /// In the page, if it is meant.
    pub fn take_if(meant: bool) -> Look {
        if meant { Look::Take } else { Look::Pass }
    }
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

    /// All jobs, in no order that means anything.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter()
    }

    /// How many jobs the broker knows.
    pub fn jobs_len(&self) -> usize {
        self.jobs.len()
    }

    /// A queue's name. The id comes from a job or a key of this engine.
    pub fn queue_name(&self, queue: QueueId) -> &Arc<str> {
        &self.queues.get(queue).name
    }

    /// Whether a queue of that name is listed.
    pub fn lists_queue(&self, name: &str) -> bool {
        self.queues.find(name).is_some_and(|queue| queue.registered)
    }

    /// All listed queues, in order of registration.
    pub fn queues(&self) -> Vec<QueueView> {
        let listed = self.queues.registered().into_iter();
        listed
            .map(|queue| QueueView {
                id: queue.id,
                name: queue.name.clone(),
                paused: queue.settings.paused,
                counts: queue.counts(),
                keys: queue.keys.len(),
                parked: queue.parked.len(),
                stall: queue.settings.stall,
                dlq: self.dlq_config(queue.settings.dlq),
                limits: queue.settings.limits,
                groups: queue.groups.len(),
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

    /// A key by its number.
    pub fn key_by_entry(&self, entry: EntryId) -> Option<&KeyEntry> {
        self.keys.get(entry)
    }

    /// Keys in the order in which their windows end, those without a window last; behind `after`, which may be gone.
    pub fn keys_by_end(&self, after: Option<(Option<Timestamp>, EntryId)>) -> impl Iterator<Item = &KeyEntry> {
        self.keys.by_end(after)
    }

    /// How many windows end before `end`.
    pub fn keys_ending_before(&self, end: Timestamp) -> usize {
        self.keys.ending_before(end)
    }

    /// Keys in order of registration, behind `after`, which may be gone.
    pub fn keys_by_entry(&self, after: Option<EntryId>) -> impl Iterator<Item = &KeyEntry> {
        self.keys.by_entry(after)
    }

    /// How many keys are held.
    pub fn keys_len(&self) -> usize {
        self.keys.len()
    }

    /// The keys that became free last, newest first, as far as that is remembered.
    pub fn freed_lately(&self) -> impl Iterator<Item = &FreedKey> {
        self.keys.freed_lately()
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

    /// How many live jobs have a custom id.
    pub fn custom_ids_len(&self) -> usize {
        self.named.len()
    }

    /// Live jobs with a custom id, newest first, behind `after`, which may be gone.
    pub fn custom_ids(&self, after: Option<(Timestamp, JobKey)>) -> impl Iterator<Item = &Job> {
        let end = after.map_or(self.named.len(), |after| self.named.rank(&after));
        self.named.slice(0..end).rev().map(|(_, key)| self.known(*key))
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

    /// Ready and delayed jobs of a queue by priority, ascending.
    pub fn priorities(&self, queue: &str) -> impl Iterator<Item = (i32, u64)> {
        let counts = self.queues.find(queue).map(|queue| &queue.priorities);
        counts.into_iter().flatten().map(|(priority, count)| (*priority, *count))
    }

    /// Totals of a queue since this engine was made, or the queue was obliterated.
    pub fn totals_of(&self, queue: &str) -> Totals {
        self.queues.find(queue).map_or(Totals::default(), |queue| queue.totals)
    }

    /// Of the whole broker, since it was read from its file.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// How many jobs a page of this queue and state can show; none = all.
    pub fn listed_len(&self, queue: Option<&str>, state: Option<StateName>) -> usize {
        let of = |queue: &Queue| {
            let states = PAGE_ORDER.iter().filter(|known| state.is_none_or(|wanted| wanted == **known));
            states.map(|state| queue.by_age(*state).len()).sum::<usize>()
        };
        match queue {
            Some(name) => self.queues.find(name).map_or(0, of),
            None => self.queues.iter().map(of).sum(),
        }
    }

    /// A page of jobs; `look` filters. At most `PAGE_SCAN_MAX` jobs are looked at.
    pub fn jobs_page(&self, query: &JobsQuery, now: Timestamp, look: &mut dyn FnMut(&Job) -> Look) -> JobsPage {
        let mut page = JobsPage::default();
        let after = query.after.as_deref().and_then(Cursor::parse);
        let mut last: Option<Cursor> = after.clone();
        for (at, state) in PAGE_ORDER.iter().enumerate() {
            if query.state.is_some_and(|wanted| wanted != *state) {
                continue;
            }
            for queue in self.queues.iter() {
                let is_before = after.as_ref().is_some_and(|after| after.is_behind(at, queue.id));
                if is_before || query.queue.as_ref().is_some_and(|wanted| *wanted != queue.name) {
                    continue;
                }
                let from = after.as_ref().filter(|after| after.is_in(at, queue.id)).cloned();
                for (place, key) in queue.listed(*state, from.map(|from| from.place)) {
                    let job = self.known(key);
                    let looked = if job.state_name(now) == *state { look(job) } else { Look::Pass };
                    if looked == Look::Stop || page.jobs.len() == query.limit || page.scanned == PAGE_SCAN_MAX {
                        page.next = Some(last.map_or_else(Cursor::start, |last| last.to_string()));
                        return page;
                    }
                    page.scanned += 1;
                    last = Some(Cursor { state: at, queue: queue.id, place });
                    if looked == Look::Take {
                        page.jobs.push(key);
                    }
                }
            }
        }
        page
    }
}
