//! Dead letters: what is set about them, retries by themselves, expiry, and what clients ask (protocol-admin.md 4 and 5).
//!
//! When a job fails for good, two moments of the wall clock are stamped on it: when it is tried once more by itself, and when
//! it is forgotten. Both are timers, so they are kept to the millisecond and not looked for now and then.

use crate::dedup::FreedBy;
use crate::effects::Effects;
use crate::engine::Engine;
use crate::job::{AutoRetries, FailureReason, Job, JobState};
use crate::limits::ANSWER_RECORDS_MAX;
use crate::names::{JobId, JobKey, QueueId};
use crate::notice::Field;
use crate::queue::default_settings;
use crate::rejection::Rejection;
use crate::reply::{DlqStats, Reply};
use crate::time::{Millis, Timestamp};
use crate::timers::Timer;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What is asked about a queue's dead letters. Each variant names its wire command.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Dlq.
    List {
        /// The queue.
        queue: Arc<str>,
        /// At most this many.
        count: Option<usize>,
        /// Which.
        filter: DlqFilter,
    },
    /// GetDlqStats.
    Stats {
        /// The queue.
        queue: Arc<str>,
    },
    /// RetryDlq.
    Retry {
        /// The queue.
        queue: Arc<str>,
        /// One job.
        id: Option<JobId>,
        /// At most this many.
        count: Option<usize>,
        /// Which; set = `id` and `count` are ignored.
        filter: Option<DlqFilter>,
    },
    /// PurgeDlq.
    Purge {
        /// The queue.
        queue: Arc<str>,
    },
    /// RemoveDlqJob.
    Remove {
        /// The queue.
        queue: Arc<str>,
        /// The job.
        id: JobId,
    },
    /// GetDlqConfig.
    Config {
        /// The queue.
        queue: Arc<str>,
    },
    /// SetDlqConfig.
    Configure {
        /// The queue.
        queue: Arc<str>,
        /// What changes.
        patch: DlqPatch,
    },
}

/// Which dead letters Dlq and RetryDlq mean; all given parts must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DlqFilter {
    /// The exact reason.
    pub reason: Option<String>,
    /// Entered at or before.
    pub older_than: Option<Timestamp>,
    /// Entered at or after.
    pub newer_than: Option<Timestamp>,
    /// Skip this many.
    pub offset: usize,
    /// At most this many.
    pub limit: Option<usize>,
}

/// What becomes of a queue's dead letters (protocol-admin.md 4). Stored with the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DlqConfig {
    /// Dead letters are tried once more by themselves.
    pub auto_retry: bool,
    /// Time from the failure to the first retry; each further one waits twice as long as the one before.
    pub auto_retry_interval: Millis,
    /// Retries that a job gets by itself.
    pub max_auto_retries: u32,
    /// Time after which a dead letter is forgotten; none = never.
    pub max_age: Option<Millis>,
    /// Dead letters kept, at least 1; the oldest go. None = as many as the broker keeps of a queue (`EngineConfig`).
    pub max_entries: Option<u32>,
}

impl Default for DlqConfig {
    fn default() -> DlqConfig {
        DlqConfig {
            auto_retry: false,
            auto_retry_interval: Millis(3_600_000),
            max_auto_retries: 3,
            max_age: Some(Millis(604_800_000)),
            max_entries: None,
        }
    }
}

/// A change of what is set; only given parts change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DlqPatch {
    /// See [`DlqConfig`].
    pub auto_retry: Option<bool>,
    /// From 0.
    pub auto_retry_interval: Option<Millis>,
    /// See [`DlqConfig`].
    pub max_auto_retries: Option<u32>,
    /// From 0; `Some(None)` = never.
    pub max_age: Option<Option<Millis>>,
    /// From 1.
    pub max_entries: Option<u32>,
}

impl DlqPatch {
    /// What is given, in the names of SetDlqConfig.
    pub(crate) fn given(&self) -> Vec<(&'static str, Option<Field>)> {
        let mut given = Vec::new();
        given.extend(self.auto_retry.map(|value| ("autoRetry", Some(value.into()))));
        given.extend(self.auto_retry_interval.map(|value| ("autoRetryInterval", Some(value.into()))));
        given.extend(self.max_auto_retries.map(|value| ("maxAutoRetries", Some(u64::from(value).into()))));
        given.extend(self.max_age.map(|value| ("maxAge", value.map(Field::from))));
        given.extend(self.max_entries.map(|value| ("maxEntries", Some(u64::from(value).into()))));
        given
    }

    fn apply(self, to: DlqConfig) -> DlqConfig {
        DlqConfig {
            auto_retry: self.auto_retry.unwrap_or(to.auto_retry),
            auto_retry_interval: self.auto_retry_interval.unwrap_or(to.auto_retry_interval),
            max_auto_retries: self.max_auto_retries.unwrap_or(to.max_auto_retries),
            max_age: self.max_age.unwrap_or(to.max_age),
            max_entries: self.max_entries.or(to.max_entries),
        }
    }
}

impl DlqConfig {
    /// When a job that fails for good at `now` is tried once more by itself.
    pub(crate) fn next_retry_at(&self, retries: Option<AutoRetries>, now: Timestamp) -> Option<Timestamp> {
        let count = retries.map_or(0, |retries| retries.count);
        let doubled = 1_i64.checked_shl(count.min(62)).unwrap_or(i64::MAX);
        let wait = Millis(self.auto_retry_interval.0.saturating_mul(doubled));
        (self.auto_retry && count < self.max_auto_retries).then(|| now.plus(wait))
    }

    /// When a job that fails for good at `now` is forgotten.
    pub(crate) fn expires_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.max_age.map(|age| now.plus(age))
    }

    /// When a dead letter is tried once more: what was stamped counts, as long as its queue still wants retries.
    fn retry_due_at(&self, job: &Job) -> Option<Timestamp> {
        let retries = job.rare().and_then(|rare| rare.auto_retries).map_or(0, |retries| retries.count);
        let at = job.failure().and_then(|failure| failure.next_retry_at);
        at.filter(|_| self.auto_retry && retries < self.max_auto_retries)
    }

    /// The timers of a dead letter.
    pub(crate) fn timers(&self, job: &Job) -> impl Iterator<Item = (Timestamp, Timer)> {
        let retry = self.retry_due_at(job).map(|at| (at, Timer::DeadRetry(job.key)));
        let end = job.failure().and_then(|failure| failure.expires_at).map(|at| (at, Timer::DeadEnd(job.key)));
        retry.into_iter().chain(end)
    }
}

impl Engine {
    pub(crate) fn dead_letters(&mut self, now: Timestamp, request: Request) -> Result<Reply, Rejection> {
        Ok(match request {
            Request::List { queue, count, filter } => {
                let mut keys = self.dead(&queue, &filter);
                keys.truncate(count.unwrap_or(usize::MAX));
                if keys.len() > ANSWER_RECORDS_MAX {
                    return Err(Rejection::AnswerTooLong);
                }
                Reply::Dlq(keys.into_iter().map(|key| self.record(self.known(key), now)).collect())
            }
            Request::Stats { queue } => self.dlq_stats(queue),
            Request::Retry { .. } | Request::Purge { .. } => unreachable!("what is done in parts was begun before"),
            Request::Remove { queue, id } => self.remove_dlq_job(now, &queue, &id),
            Request::Config { queue } => {
                let config = self.queues.find(&queue).map_or(default_settings().dlq, |queue| queue.settings.dlq);
                Reply::DlqConfig(self.dlq_config(config))
            }
            Request::Configure { queue, patch } => self.set_dlq_config(now, &queue, patch),
        })
    }

    /// The dead letters that a filter means, oldest first.
    pub(crate) fn dead(&self, name: &str, filter: &DlqFilter) -> VecDeque<JobKey> {
        let Some(queue) = self.queues.find(name) else { return VecDeque::new() };
        let meant = |(at, key): &&(Timestamp, JobKey)| {
            let reason = self.known(*key).failure().map(|failure| failure.reason.as_str());
            filter.reason.as_deref().is_none_or(|wanted| reason == Some(wanted))
                && filter.older_than.is_none_or(|until| *at <= until)
                && filter.newer_than.is_none_or(|from| *at >= from)
        };
        let found = queue.failed.iter().filter(meant).skip(filter.offset).take(filter.limit.unwrap_or(usize::MAX));
        found.map(|(_, key)| *key).collect()
    }

    /// What RetryDlq means, oldest first.
    pub(crate) fn to_retry(
        &self,
        name: &str,
        id: Option<JobId>,
        count: Option<usize>,
        filter: Option<DlqFilter>,
    ) -> VecDeque<JobKey> {
        match (filter, id) {
            (Some(filter), _) => self.dead(name, &filter),
            (None, Some(id)) => {
                let queue = self.queues.find(name).map(|queue| queue.id);
                queue.and_then(|queue| self.finished_in(queue, &id, JobState::Failed)).into_iter().collect()
            }
            (None, None) => self.dead(name, &DlqFilter { limit: count, ..DlqFilter::default() }),
        }
    }

    fn remove_dlq_job(&mut self, now: Timestamp, name: &str, id: &JobId) -> Reply {
        let queue = self.queues.find(name).map(|queue| queue.id);
        let Some(key) = queue.and_then(|queue| self.finished_in(queue, id, JobState::Failed)) else {
            return Reply::Removed(false);
        };
        self.remove_job(key, Some(FreedBy::Cancelled), now);
        Reply::Removed(true)
    }

    fn dlq_stats(&self, name: Arc<str>) -> Reply {
        let mut stats = DlqStats::default();
        let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
        if let Some(queue) = self.queues.find(&name) {
            stats.total = queue.failed.len() as u64;
            stats.oldest = queue.failed.first().map(|(at, _)| *at);
            stats.newest = queue.failed.last().map(|(at, _)| *at);
            for (_, key) in &queue.failed {
                let job = self.known(*key);
                let reason = job.failure().map_or(FailureReason::Unknown, |failure| failure.reason);
                *counts.entry(reason.as_str()).or_default() += 1;
                stats.pending_retry += u64::from(queue.settings.dlq.retry_due_at(job).is_some());
            }
        }
        stats.by_reason = counts.into_iter().collect();
        Reply::DlqStats { queue: name, stats }
    }

    /// As it is shown: with the number of entries that are kept.
    pub(crate) fn dlq_config(&self, config: DlqConfig) -> DlqConfig {
        let of_broker = u32::try_from(self.config.failed_max).unwrap_or(u32::MAX);
        DlqConfig { max_entries: Some(config.max_entries.unwrap_or(of_broker)), ..config }
    }

    /// SetDlqConfig. Moments that were stamped stay, but a retry only comes while the queue wants any. What changes nothing
    /// makes no queue.
    fn set_dlq_config(&mut self, now: Timestamp, name: &Arc<str>, patch: DlqPatch) -> Reply {
        let old = self.queues.find(name).map_or(default_settings().dlq, |queue| queue.settings.dlq);
        let mut new = patch.apply(old);
        // Saying what holds anyway is no setting.
        let of_broker = self.dlq_config(DlqConfig { max_entries: None, ..new }).max_entries;
        new.max_entries = new.max_entries.filter(|most| Some(*most) != of_broker);
        if new == old {
            return Reply::Ok;
        }
        let id = self.ensure_registered(name);
        for (_, key) in &self.queues.get(id).failed {
            let job = self.jobs.get(*key).expect("a generation in a set names a job");
            old.timers(job).for_each(|(at, timer)| self.timers.cancel(at, timer));
            new.timers(job).for_each(|(at, timer)| self.timers.set(at, timer));
        }
        self.queues.get_mut(id).settings.dlq = new;
        self.dirty.queue(name);
        self.evict_dead(id, now);
        Reply::Ok
    }

    /// Dead letters above what is kept go, the oldest first; a window outlives its owner.
    pub(crate) fn evict_dead(&mut self, queue: QueueId, now: Timestamp) {
        let most = self.queues.get(queue).settings.dlq.max_entries.map_or(self.config.failed_max, |most| most as usize);
        while self.queues.get(queue).failed.len() > most {
            let oldest = self.queues.get(queue).failed.first().expect("more than the bound are there").1;
            self.remove_job(oldest, None, now);
        }
    }

    /// A dead letter is tried once more; its timer has already been taken out. Where another live job owns its key the retry
    /// is used up all the same, and the next one waits twice as long.
    pub(crate) fn dead_retry_due(&mut self, key: JobKey, at: Timestamp, now: Timestamp, effects: &mut Effects) {
        self.timers.set(at, Timer::DeadRetry(key));
        let job = self.known(key);
        let queue = job.queue;
        let before = job.rare().and_then(|rare| rare.auto_retries).map_or(0, |retries| retries.count);
        let retries = Some(AutoRetries { count: before + 1, last_at: now });
        if self.wait_again(key, now, retries) {
            effects.tell(
                now,
                "dlq:auto-retried",
                [("queue", (&self.queues.get(queue).name).into()), ("count", 1_u64.into())],
            );
            return;
        }
        let next = self.queues.get(queue).settings.dlq.next_retry_at(retries, now);
        self.leave(key);
        let rare = self.known_mut(key).rare_mut();
        rare.auto_retries = retries;
        if let Some(failure) = rare.failure.as_mut() {
            failure.next_retry_at = next;
        }
        self.enter(key, now);
    }

    /// A dead letter has been kept long enough; its timer has already been taken out. A window outlives its owner.
    pub(crate) fn dead_letter_ended(&mut self, key: JobKey, at: Timestamp, now: Timestamp, effects: &mut Effects) {
        self.timers.set(at, Timer::DeadEnd(key));
        let queue = self.known(key).queue;
        effects.tell(now, "dlq:expired", [("queue", (&self.queues.get(queue).name).into()), ("count", 1_u64.into())]);
        self.remove_job(key, None, now);
    }
}
