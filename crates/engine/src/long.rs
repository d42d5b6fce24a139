//! What concerns many jobs: commands over a whole queue, a long ACKB, the end of a connection with many jobs, leases that ran
//! out. Done in parts, with others' commands in between.
//!
//! Whatever is in the queue at the moment of its answer counts: `Obliterate` and `Drain` go on until nothing is left, so they
//! have happened at the moment of their answer, and what was added in between has gone with the rest. Meanwhile the queue hands
//! nothing out. The others take what they mean at their start, and look at each job again when its turn comes. A stop in the
//! middle leaves what was not reached yet; nobody had been answered. A part is committed like any other step.

use crate::command::{CleanState, Command, StateName, dead};
use crate::dedup::FreedBy;
use crate::effects::{Effects, Output};
use crate::engine::Engine;
use crate::finish::Acks;
use crate::job::{Job, JobState};
use crate::limits::{CLEANED_MAX, LOOKED_AT_PER_JOB, PART_BYTES_PER_JOB, PART_JOBS_MAX};
use crate::names::{ConnId, EntryId, JobId, JobKey, Origin};
use crate::notice::tell_of;
use crate::queue::Queue;
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::time::Timestamp;
use std::collections::VecDeque;
use std::sync::Arc;

/// What is still to be done, each in its turn.
#[derive(Debug)]
pub(crate) struct LongRuns {
    line: VecDeque<LongRun>,
    /// When the last part was done.
    at: Timestamp,
    /// Jobs that a part concerns, at most.
    pub(crate) most: usize,
    /// Others have their time first.
    held: bool,
}

impl Default for LongRuns {
    fn default() -> LongRuns {
        LongRuns { line: VecDeque::new(), at: Timestamp::default(), most: PART_JOBS_MAX, held: false }
    }
}

impl LongRuns {
    /// When the next part is due: at once.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        (!self.held && !self.line.is_empty()).then_some(self.at)
    }

    /// The command that `origin` has asked for is to be told of once it is done.
    pub(crate) fn tell_later(&mut self, origin: Origin, command: Option<Box<Command>>) {
        if let Some(run) = self.line.back_mut().filter(|run| run.asked == Some(origin)) {
            run.told = command;
        }
    }
}

#[derive(Debug)]
struct LongRun {
    work: Work,
    /// Who waits for the answer.
    asked: Option<Origin>,
    /// What a dashboard is told of with the answer.
    told: Option<Box<Command>>,
}

/// What is done in parts.
#[derive(Debug)]
pub(crate) enum Work {
    /// Obliterate, Drain. `seen` counts the adds of the queue that the last part knew of.
    Empty { queue: Arc<str>, all: bool, count: u64, seen: Option<u64> },
    /// Clean: `left` at most, those that were in that state by `until`; completed jobs up to `after` were looked at.
    Clean {
        queue: Arc<str>,
        state: CleanState,
        until: Timestamp,
        left: usize,
        after: Option<(Timestamp, JobKey)>,
        ids: Vec<JobId>,
    },
    /// One thing for each of these.
    Each { jobs: VecDeque<JobKey>, what: Each, count: u64 },
    /// ACKB.
    Acks(Acks),
    /// The jobs of a connection that has ended go back.
    Release(ConnId),
    /// Those that were active are looked at: leases that ran out, stalls.
    Sweep(VecDeque<JobKey>),
}

/// What is done with a job that is still in its state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Each {
    /// RetryCompleted, RetryDlq: those whose key has another live owner by now are left alone.
    Revive(JobState),
    /// PurgeDlq.
    Purge,
    /// PromoteJobs.
    Promote,
}

impl Engine {
    /// What a command means that is done in parts ([`Command::is_long`]).
    pub(crate) fn long_work(&self, now: Timestamp, command: Command) -> Work {
        let each = |jobs, what| Work::Each { jobs, what, count: 0 };
        match command {
            Command::Obliterate { queue } => Work::Empty { queue, all: true, count: 0, seen: None },
            Command::Drain { queue } => Work::Empty { queue, all: false, count: 0, seen: None },
            Command::Clean { queue, grace, state, limit } => {
                let until = Timestamp(now.0.saturating_sub(grace.0));
                Work::Clean { queue, state, until, left: limit.min(CLEANED_MAX), after: None, ids: Vec::new() }
            }
            Command::PromoteJobs { queue, count } => each(self.delayed_in(&queue, count), Each::Promote),
            Command::AckBulk { acks } => Work::Acks(Acks::new(acks)),
            Command::RetryCompleted { queue, id, count, until } => {
                each(self.completed_in(&queue, id, count, until), Each::Revive(JobState::Completed))
            }
            Command::Dead(dead::Request::Retry { queue, id, count, filter }) => {
                each(self.to_retry(&queue, id, count, filter), Each::Revive(JobState::Failed))
            }
            Command::Dead(dead::Request::Purge { queue }) => each(self.dead(&queue, &Default::default()), Each::Purge),
            _ => unreachable!("every other command is done at once"),
        }
    }

    /// Does the first part. The answer, if that was all.
    pub(crate) fn begin(
        &mut self,
        now: Timestamp,
        origin: Origin,
        work: Work,
        effects: &mut Effects,
    ) -> Option<Result<Reply, Rejection>> {
        self.begin_run(now, LongRun { work, asked: Some(origin), told: None }, effects)
    }

    /// The jobs that a closed connection had taken go back.
    pub(crate) fn begin_release(&mut self, now: Timestamp, conn: ConnId, effects: &mut Effects) {
        self.begin_run(now, LongRun { work: Work::Release(conn), asked: None, told: None }, effects);
    }

    /// All active jobs are looked at, unless that is still being done.
    pub(crate) fn begin_sweep(&mut self, now: Timestamp, effects: &mut Effects) {
        if self.long.line.iter().any(|run| matches!(run.work, Work::Sweep(_))) {
            return;
        }
        let active = self.queues.iter().flat_map(|queue| queue.active.iter().copied()).collect();
        self.begin_run(now, LongRun { work: Work::Sweep(active), asked: None, told: None }, effects);
    }

    fn begin_run(
        &mut self,
        now: Timestamp,
        mut run: LongRun,
        effects: &mut Effects,
    ) -> Option<Result<Reply, Rejection>> {
        self.hold(&run.work, true);
        let done = self.part(now, &mut run.work, effects);
        match done {
            true => self.hold(&run.work, false),
            false => {
                self.long.at = now;
                self.long.line.push_back(run);
                return None;
            }
        }
        Some(run.work.answer())
    }

    /// Whether something is still to be done in parts.
    pub fn has_long(&self) -> bool {
        !self.long.line.is_empty()
    }

    /// From now on a part of it concerns `most` jobs at most, 1 or more; with none, `tick` does no part.
    pub fn pace_long(&mut self, most: Option<usize>) {
        self.long.held = most.is_none();
        self.long.most = most.unwrap_or(self.long.most).max(1);
    }

    /// Does one part of what is still to be done. Whether there was anything.
    pub(crate) fn go_on(&mut self, now: Timestamp, effects: &mut Effects) -> bool {
        if self.long.held {
            return false;
        }
        let Some(mut run) = self.long.line.pop_front() else { return false };
        self.long.at = now;
        if !self.part(now, &mut run.work, effects) {
            self.long.line.push_back(run);
            return true;
        }
        self.hold(&run.work, false);
        if let Some(to) = run.asked {
            let answer = run.work.answer();
            if let (Some(command), Ok(reply)) = (run.told, &answer) {
                tell_of(now, &command, reply, effects);
            }
            let reply = answer.unwrap_or_else(Reply::Rejected);
            effects.outputs.push(Output::Reply { to, reply });
        }
        true
    }

    /// Before a stop: all jobs of ended connections go back, whatever it takes.
    pub fn finish_releases(&mut self, now: Timestamp, effects: &mut Effects) {
        let runs = std::mem::take(&mut self.long.line);
        for run in runs {
            match run.work {
                Work::Release(conn) => while !self.release_some(conn, now, effects) {},
                _ => self.long.line.push_back(run),
            }
        }
    }

    /// A queue that is being emptied hands nothing out.
    fn hold(&mut self, work: &Work, begins: bool) {
        let Work::Empty { queue, .. } = work else { return };
        let Some(id) = self.queues.find(queue).map(|queue| queue.id) else { return };
        let queue = self.queues.get_mut(id);
        match begins {
            true => queue.emptied_by += 1,
            false => queue.emptied_by -= 1,
        }
        // Pulls that waited for a token of the queue need not be looked at when it is there, or have to again.
        self.woken.push(id);
    }

    /// Whether that was the last part.
    fn part(&mut self, now: Timestamp, work: &mut Work, effects: &mut Effects) -> bool {
        let most = self.long.most;
        match work {
            Work::Empty { queue, all, count, seen } => {
                let Some(found) = self.queues.find(queue) else {
                    effects.obliterated.extend(all.then(|| Arc::clone(queue)));
                    return true;
                };
                // As many again as were added since the last part, so that it comes to its end.
                let added = found.totals.pushed.saturating_sub(seen.unwrap_or(found.totals.pushed));
                *seen = Some(found.totals.pushed);
                let least = usize::try_from(added).map_or(usize::MAX, |added| 2 * added);
                let (removed, is_last) =
                    if *all { self.obliterate_some(now, queue, least) } else { self.drain_some(now, queue, least) };
                effects.handled += removed;
                *count += removed as u64;
                if is_last && *all {
                    effects.obliterated.push(Arc::clone(queue));
                }
                is_last
            }
            Work::Clean { queue, state, until, left, after, ids } => {
                let wanted = most.min(*left);
                let (found, is_all) = self.to_clean(queue, *state, *until, wanted, after);
                effects.handled += found.len();
                *left -= found.len();
                let is_last = is_all || *left == 0;
                for key in found {
                    ids.push(self.known(key).id.clone());
                    self.remove_job(key, Some(FreedBy::Cleaned), now);
                }
                is_last
            }
            Work::Each { jobs, what, count } => {
                let (part, is_all) = self.first_of(jobs.iter().copied(), most, 0);
                effects.handled += part.len();
                jobs.drain(..part.len());
                for key in part {
                    *count += u64::from(self.one_of_each(now, key, *what));
                }
                is_all
            }
            Work::Acks(acks) => self.ack_some(now, acks, most, effects),
            Work::Release(conn) => self.release_some(*conn, now, effects),
            Work::Sweep(active) => {
                let mut lost = 0;
                for _ in 0..most.saturating_mul(LOOKED_AT_PER_JOB) {
                    if lost == most {
                        break;
                    }
                    let Some(key) = active.pop_front() else { return true };
                    lost += usize::from(self.look_at_lease(key, now, effects));
                }
                active.is_empty()
            }
        }
    }

    /// As many of these as one part takes, `most` unless `least` is more, and whether that was all of them. Those that are gone
    /// count, too.
    fn first_of(&self, keys: impl Iterator<Item = JobKey>, most: usize, least: usize) -> (Vec<JobKey>, bool) {
        let (mut part, mut bytes) = (Vec::new(), 0);
        for key in keys {
            let is_full = part.len() >= most || part.len() + bytes / PART_BYTES_PER_JOB >= self.long.most;
            if is_full && part.len() >= least {
                return (part, false);
            }
            bytes += self.jobs.get(key).map_or(0, Job::payload_bytes);
            part.push(key);
        }
        (part, true)
    }

    fn one_of_each(&mut self, now: Timestamp, key: JobKey, what: Each) -> bool {
        let Some(job) = self.jobs.get(key) else { return false };
        match what {
            Each::Revive(state) => job.state == state && self.revive(key, now),
            Each::Purge if job.state == JobState::Failed => {
                self.remove_job(key, Some(FreedBy::Cleaned), now);
                true
            }
            Each::Promote if job.state == JobState::Queued && !job.ready => {
                self.make_due(key, now);
                true
            }
            Each::Purge | Each::Promote => false,
        }
    }

    /// Removes what is ready or delayed; keys go with their owners. How many, and whether those were the last.
    fn drain_some(&mut self, now: Timestamp, name: &str, least: usize) -> (usize, bool) {
        let Some(queue) = self.queues.find(name) else { return (0, true) };
        let pending = queue.ready.iter().chain(queue.delayed.iter().map(|(_, key)| *key));
        let (pending, is_all) = self.first_of(pending, self.long.most, least);
        for key in &pending {
            self.remove_job(*key, Some(FreedBy::Drained), now);
        }
        (pending.len(), is_all)
    }

    /// Removes jobs and keys, active jobs included; with the last of them goes what was set. Schedules that add to the queue
    /// stay, as in 2.9.5: they are the broker's, and their next firing makes the queue anew.
    fn obliterate_some(&mut self, now: Timestamp, name: &Arc<str>, least: usize) -> (usize, bool) {
        let Some(queue) = self.queues.find(name) else { return (0, true) };
        let id = queue.id;
        let (jobs, mut is_all) = self.first_of(queue.all_jobs(), self.long.most, least);
        for key in &jobs {
            self.remove_job(*key, Some(FreedBy::Obliterated), now);
        }
        let mut removed = jobs.len();
        if is_all {
            // Windows of jobs that were gone already.
            let most = self.long.most.max(least).saturating_sub(removed);
            let rest: Vec<EntryId> = self.queues.get(id).keys.iter().copied().take(most).collect();
            for entry in &rest {
                self.free_key(*entry, FreedBy::Obliterated, now);
            }
            removed += rest.len();
            is_all = rest.len() < most;
        }
        if is_all {
            self.forget_rate(id);
            self.forget_groups(id);
            self.queues.reset(id);
            self.dirty.queue(name);
        }
        (removed, is_all)
    }

    /// The next jobs that Clean means, oldest first. Completed ones that are still needed stay and are not looked at again;
    /// `after` is none once all were looked at. And whether those are all.
    fn to_clean(
        &self,
        name: &str,
        state: CleanState,
        until: Timestamp,
        most: usize,
        after: &mut Option<(Timestamp, JobKey)>,
    ) -> (Vec<JobKey>, bool) {
        let Some(queue) = self.queues.find(name) else { return (Vec::new(), true) };
        let oldest = |states: &[StateName]| {
            let of = |state: &StateName| queue.by_age(*state).iter().take(most + 1).take_while(|(at, _)| *at <= until);
            let mut found: Vec<(Timestamp, JobKey)> = states.iter().flat_map(of).copied().collect();
            found.sort_unstable();
            self.first_of(found.into_iter().map(|(_, key)| key), most, 0)
        };
        match state {
            CleanState::AnyPending => oldest(&[StateName::Waiting, StateName::Prioritized, StateName::Delayed]),
            CleanState::Waiting => oldest(&[StateName::Waiting]),
            CleanState::Prioritized => oldest(&[StateName::Prioritized]),
            CleanState::Delayed => oldest(&[StateName::Delayed]),
            CleanState::Completed => {
                let found = self.completed_to_clean(queue, until, most, after);
                let is_all = found.len() < most && after.is_none();
                (found, is_all)
            }
            CleanState::Failed => {
                let old = queue.failed.iter().take_while(|(at, _)| *at <= until);
                self.first_of(old.map(|(_, key)| *key), most, 0)
            }
            CleanState::Nothing => (Vec::new(), true),
        }
    }

    /// A blocked job may need the result of one of them.
    fn completed_to_clean(
        &self,
        queue: &Queue,
        until: Timestamp,
        most: usize,
        after: &mut Option<(Timestamp, JobKey)>,
    ) -> Vec<JobKey> {
        let start = after.map_or(0, |after| queue.completed.rank(&after));
        let mut found = Vec::new();
        for (looked_at, entry) in queue.completed.slice(start..usize::MAX).enumerate() {
            if entry.0 > until {
                break;
            }
            if found.len() == most || looked_at == self.long.most {
                *after = Some(*entry);
                return found;
            }
            if !self.is_needed(entry.1) {
                found.push(entry.1);
            }
        }
        *after = None;
        found
    }
}

impl Work {
    /// What is told once all is done.
    fn answer(&mut self) -> Result<Reply, Rejection> {
        match self {
            Work::Empty { all: true, .. } | Work::Release(_) | Work::Sweep(_) => Ok(Reply::Ok),
            Work::Empty { count, .. } | Work::Each { count, .. } => Ok(Reply::Count(*count)),
            Work::Clean { ids, .. } => Ok(Reply::Cleaned(std::mem::take(ids))),
            Work::Acks(acks) => acks.answer(),
        }
    }
}

#[cfg(test)]
#[path = "long_tests.rs"]
mod long_tests;
