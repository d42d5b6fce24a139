//! The naive model's jobs that are moved, retried by hand, or lose their key by hand.

use crate::marks::mark;
use crate::naive::{Answer, Generation, Id, Model, Refusal, State};
use onceover_engine::command::StateName;

impl Model {
    fn state_text(&self, id: Id) -> &'static str {
        let shown = self.by_id(id).and_then(|at| self.jobs[at].shown(self.now));
        shown.map_or("unknown", StateName::as_str)
    }

    fn put_back(&mut self, at: Generation, run_at: i64) {
        let job = &mut self.jobs[at];
        job.state = State::Queued;
        job.delivery = None;
        job.run_at = run_at;
        self.touch(at);
    }

    /// Promote.
    pub fn promote(&mut self, id: Id) -> Answer {
        let delayed = |at: &Generation| self.jobs[*at].shown(self.now) == Some(StateName::Delayed);
        match self.by_id(id).filter(delayed) {
            Some(at) => {
                self.jobs[at].run_at = self.now;
                self.touch(at);
                Answer::Ok
            }
            None => Answer::No(Refusal::NotDelayed),
        }
    }

    /// ChangePriority.
    pub fn priority(&mut self, id: Id, priority: i32) -> Answer {
        match self.by_id(id).filter(|at| self.jobs[*at].state == State::Queued) {
            // Groups know no priority below 0.
            Some(at) if self.jobs[at].group().is_some() && priority < 0 => Answer::No(Refusal::Some),
            Some(at) => {
                self.jobs[at].priority = priority;
                self.touch(at);
                Answer::Ok
            }
            None => Answer::No(Refusal::NotInQueue),
        }
    }

    /// ChangeDelay.
    pub fn delay(&mut self, id: Id, token: Option<usize>, delay: i64) -> Answer {
        let known = self.by_id(id).filter(|at| matches!(self.jobs[*at].state, State::Queued | State::Active));
        let Some(at) = known else { return Answer::No(Refusal::CannotChangeDelay) };
        if self.jobs[at].state == State::Active
            && let Err(why) = self.fits(at, token)
        {
            return Answer::No(why);
        }
        self.put_back(at, self.now + delay);
        Answer::Ok
    }

    /// MoveToDelayed.
    pub fn move_to_delayed(&mut self, id: Id, token: Option<usize>, delay: i64) -> Answer {
        let Some(at) = self.by_id(id) else { return Answer::No(Refusal::NotFound) };
        if self.jobs[at].state != State::Active {
            return Answer::No(Refusal::NotActiveBut(self.state_text(id)));
        }
        if let Err(why) = self.fits(at, token) {
            return Answer::No(why);
        }
        self.put_back(at, self.now + delay);
        Answer::Ok
    }

    /// MoveToWait.
    pub fn move_to_wait(&mut self, id: Id, token: Option<usize>) -> Answer {
        let Some(at) = self.by_id(id) else { return Answer::No(Refusal::CannotMoveToWait("unknown")) };
        let state = self.jobs[at].state;
        match state {
            State::Active => {
                if let Err(why) = self.fits(at, token) {
                    return Answer::No(why);
                }
                self.put_back(at, self.now);
                Answer::Ok
            }
            State::Queued => {
                if self.jobs[at].run_at > self.now {
                    self.jobs[at].run_at = self.now;
                    self.touch(at);
                }
                Answer::Ok
            }
            State::Failed if self.retry(at) => Answer::Ok,
            State::Failed => Answer::No(Refusal::NotInDlq),
            State::Blocked | State::Completed | State::Gone => {
                Answer::No(Refusal::CannotMoveToWait(self.state_text(id)))
            }
        }
    }

    /// MoveToWaitingChildren.
    pub fn move_to_waiting_children(&mut self, id: Id, token: Option<usize>) -> Answer {
        let Some(at) = self.by_id(id).filter(|at| self.jobs[*at].state == State::Active) else {
            return Answer::No(Refusal::NotActive);
        };
        if let Err(why) = self.fits(at, token) {
            return Answer::No(why);
        }
        let children = self.jobs[at].children.clone();
        let unresolved = self.live_ones(at, children);
        if !unresolved.is_empty() {
            mark("parked", "waits for its children");
        }
        let job = &mut self.jobs[at];
        let missing: Vec<Id> = unresolved.iter().copied().filter(|id| !job.depends_on.contains(id)).collect();
        job.depends_on.extend(missing);
        job.state = State::Blocked;
        job.parked = unresolved.is_empty();
        job.unresolved = unresolved;
        job.delivery = None;
        Answer::Moved
    }

    /// Back by hand: the key is taken again with a full window, unless another live job has it (dedup.md 4).
    pub fn retry(&mut self, at: Generation) -> bool {
        if self.is_taken(at) {
            mark("retry", "refused");
            return false;
        }
        let step = &self.jobs[at].spec.step;
        if let Some(entry) = step.key.and_then(|key| self.valid(step.queue, key)) {
            let is_own = self.entries[entry].owner == at;
            mark("retry", if is_own { "own window" } else { "moves a window without a live owner" });
        }
        let now = self.now;
        let job = &mut self.jobs[at];
        job.state = State::Queued;
        job.run_at = now;
        job.attempts = 0;
        job.stalls = 0;
        job.late = None;
        job.timed_out.clear();
        job.retried = 0;
        job.has_result = false;
        job.leaves = false;
        self.take_key(at);
        self.wait_again(at);
        true
    }

    /// A retried job waits for those of its dependencies that are live, but for none that waits for it (protocol-admin.md 7).
    fn wait_again(&mut self, at: Generation) {
        let unresolved = self.live_ones(at, self.jobs[at].depends_on.clone());
        if !unresolved.is_empty() {
            mark("retry", "waits again");
            self.jobs[at].state = State::Blocked;
        }
        self.jobs[at].unresolved = unresolved;
        self.touch(at);
    }

    /// RetryDlq and RetryCompleted: oldest first, each sees what its predecessors did.
    pub fn retry_all(&mut self, queue: u8, state: State, id: Option<Id>, count: Option<u32>) -> Answer {
        let wanted = |at: &Generation| {
            let job = &self.jobs[*at];
            job.spec.step.queue == queue && job.state == state && id.is_none_or(|id| job.id == id)
        };
        let mut jobs: Vec<Generation> = (0..self.jobs.len()).filter(wanted).collect();
        jobs.sort_by_key(|at| (self.jobs[*at].ended_at, *at));
        if id.is_none() {
            jobs.truncate(count.map_or(usize::MAX, |count| count as usize));
        }
        let retried = jobs.into_iter().filter(|at| self.retry(*at)).count();
        Answer::Count(retried as u64)
    }

    /// PurgeDlq.
    pub fn purge_dlq(&mut self, queue: u8) -> Answer {
        let dead = |at: &Generation| self.jobs[*at].spec.step.queue == queue && self.jobs[*at].state == State::Failed;
        let dead: Vec<Generation> = (0..self.jobs.len()).filter(dead).collect();
        dead.iter().for_each(|at| self.remove_job(*at));
        Answer::Count(dead.len() as u64)
    }

    /// RemoveDlqJob.
    pub fn remove_dlq(&mut self, queue: u8, id: Id) -> Answer {
        let dead = |at: &Generation| self.jobs[*at].spec.step.queue == queue && self.jobs[*at].state == State::Failed;
        match self.by_id(id).filter(dead) {
            Some(at) => {
                self.remove_job(at);
                Answer::Removed(true)
            }
            None => Answer::Removed(false),
        }
    }

    /// GetDeduplicationJobId.
    pub fn owner(&self, queue: u8, key: u8) -> Answer {
        Answer::Owner(self.valid(queue, key).map(|entry| self.entries[entry].owner_id))
    }

    /// RemoveDeduplicationKey.
    pub fn remove_key(&mut self, queue: u8, key: u8) -> Answer {
        let valid = self.valid(queue, key).map(|at| self.entries.remove(at));
        Answer::KeysRemoved(u64::from(valid.is_some()))
    }

    /// RemoveJobDeduplicationKey: only what the job still owns.
    pub fn remove_job_key(&mut self, id: Id) -> Answer {
        let Some(at) = self.by_id(id) else { return Answer::Removed(false) };
        let step = &self.jobs[at].spec.step;
        let owned =
            step.key.and_then(|key| self.valid(step.queue, key)).filter(|entry| self.entries[*entry].owner == at);
        if let Some(entry) = owned {
            self.entries.remove(entry);
        }
        Answer::Removed(owned.is_some())
    }
}
