//! The naive model's dead letters: what is set about them, retries by themselves, expiry (protocol-admin.md 4 and 5).

use crate::marks::mark;
use crate::naive::{Answer, Generation, Job, Model, State};
use onceover_engine::command::DlqPatch;

const WEEK: i64 = 604_800_000;
const HOUR: i64 = 3_600_000;

impl Model {
    fn set_of(&self, job: &Job) -> DlqPatch {
        self.dlq[usize::from(job.spec.step.queue)]
    }

    /// Whether a dead letter's stamped retry still comes.
    pub fn wants_retry(&self, job: &Job) -> bool {
        let set = self.set_of(job);
        set.auto_retry == Some(true) && job.retried < set.max_auto_retries.unwrap_or(3)
    }

    /// Stamps the moments of a job that has failed for good.
    pub fn stamp(&mut self, at: Generation) {
        let job = &self.jobs[at];
        let set = self.set_of(job);
        let first = set.auto_retry_interval.map_or(HOUR, |interval| interval.0);
        let retry_at = self.wants_retry(job).then(|| self.now + first * (1 << job.retried));
        let age = set.max_age.map_or(Some(WEEK), |age| age.map(|age| age.0));
        let gone_at = age.map(|age| self.now + age);
        let job = &mut self.jobs[at];
        (job.retry_at, job.gone_at) = (retry_at, gone_at);
    }

    /// A stamped retry's moment has come. Where the key is another live job's, it is used up all the same.
    pub fn retry_by_itself(&mut self, at: Generation) {
        let retried = self.jobs[at].retried + 1;
        let comes_back = self.retry(at);
        mark("dead letter", if comes_back { "retried by itself" } else { "cannot come back" });
        self.jobs[at].retried = retried;
        if !comes_back {
            let gone_at = self.jobs[at].gone_at;
            self.stamp(at);
            self.jobs[at].gone_at = gone_at;
        }
    }

    /// The job is forgotten; a window stays.
    pub fn forget(&mut self, at: Generation) {
        self.jobs[at].state = State::Gone;
        if self.entries.iter().any(|entry| entry.owner == at && entry.expires_at > Some(self.now)) {
            mark("evicted", "window stays");
        }
    }

    /// SetDlqConfig.
    pub fn set_dlq(&mut self, queue: u8, patch: DlqPatch) -> Answer {
        let set = &mut self.dlq[usize::from(queue)];
        *set = DlqPatch {
            auto_retry: patch.auto_retry.or(set.auto_retry),
            auto_retry_interval: patch.auto_retry_interval.or(set.auto_retry_interval),
            max_auto_retries: patch.max_auto_retries.or(set.max_auto_retries),
            max_age: patch.max_age.or(set.max_age),
            max_entries: patch.max_entries.or(set.max_entries),
        };
        self.evict_dead(queue);
        Answer::Ok
    }

    /// Of the dead letters above what is kept the oldest go.
    pub fn evict_dead(&mut self, queue: u8) {
        let most = self.dlq[usize::from(queue)].max_entries.map_or(self.retain, |most| most as usize);
        let dead = |at: &Generation| self.jobs[*at].spec.step.queue == queue && self.jobs[*at].state == State::Failed;
        let mut dead: Vec<Generation> = (0..self.jobs.len()).filter(dead).collect();
        dead.sort_by_key(|at| (self.jobs[*at].ended_at, *at));
        for at in dead.iter().take(dead.len().saturating_sub(most)) {
            mark("dead letter", "evicted");
            self.forget(*at);
        }
    }
}
