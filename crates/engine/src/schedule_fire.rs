//! When schedules fire, and what they are asked (protocol-admin.md 6).
//!
//! A firing and its job are one step and one commit: a crash loses both or neither. Each due moment is one firing at most;
//! moments that passed together (the clock jumped, nobody ran) are one firing together.

use crate::change::RestoreError;
use crate::command::StateName;
use crate::dedup::FreedBy;
use crate::effects::Effects;
use crate::engine::Engine;
use crate::event::EventKind;
use crate::job::JobState;
use crate::limits::SCHEDULES_MAX;
use crate::names::JobKey;
use crate::notice::Field;
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::schedule::{Answer, LastRun, Refused, Request, Rule, RunOutcome, Save, Schedule, ScheduleId, Timing};
use crate::time::Timestamp;
use crate::timers::Timer;
use std::sync::Arc;

/// Tells dashboards of a schedule, with one more field.
fn tell(now: Timestamp, event: &'static str, rule: &Rule, more: (&'static str, Field), effects: &mut Effects) {
    let timing = match &rule.timing {
        Timing::Every(every) => ("every", (*every).into()),
        Timing::Calendar(pattern) => ("pattern", pattern.text().into()),
    };
    effects.tell(now, event, [("name", (&rule.name).into()), ("queue", (&rule.spec.queue).into()), timing, more]);
}

impl Engine {
    /// Everything that is asked about schedules.
    pub(crate) fn dispatch_schedule(
        &mut self,
        now: Timestamp,
        request: Request,
        effects: &mut Effects,
    ) -> Result<Reply, Rejection> {
        let found = |engine: &Engine, name: &str| {
            engine.schedules.find(name).cloned().ok_or(Rejection::Schedule(Refused::NotFound))
        };
        match request {
            Request::Save(save) => self.save_schedule(now, *save, effects),
            Request::Get { name } => found(self, &name).map(|schedule| Reply::Schedule(Answer::One(schedule))),
            Request::List => Ok(Reply::Schedule(Answer::All(self.schedules.iter().cloned().collect()))),
            Request::Delete { name } => {
                let schedule = found(self, &name)?;
                self.timers.cancel(schedule.next_run, Timer::Schedule(schedule.id));
                self.forget_schedule(now, schedule.id, effects);
                Ok(Reply::Ok)
            }
            Request::RunNow { name } => {
                let schedule = found(self, &name)?;
                self.add_run(schedule.id, now, effects);
                found(self, &name).map(|schedule| Reply::Schedule(Answer::One(schedule)))
            }
        }
    }

    /// All schedules, in the order of their names.
    pub fn schedules(&self) -> impl Iterator<Item = &Schedule> {
        self.schedules.iter()
    }

    /// The schedule of this name.
    pub fn schedule(&self, name: &str) -> Option<&Schedule> {
        self.schedules.find(name)
    }

    /// A change keeps the number, what was counted, and the next run where the timing is the same: a program that saves its
    /// schedules at each start does not put them off.
    fn save_schedule(&mut self, now: Timestamp, save: Save, effects: &mut Effects) -> Result<Reply, Rejection> {
        let rule = save.rule.clone();
        let before = self.schedules.find(&rule.name).cloned();
        if before.is_none() && self.schedules.len() >= SCHEDULES_MAX {
            return Err(Rejection::Schedule(Refused::TooMany(SCHEDULES_MAX)));
        }
        let next_run = match &before {
            Some(before) if before.rule.timing == rule.timing => Some(before.next_run),
            None if save.immediately => Some(now),
            Some(_) | None => rule.timing.first(now, &self.config.zone),
        };
        let next_run = next_run.ok_or(Rejection::Schedule(Refused::Never))?;
        if let Some(before) = &before {
            self.timers.cancel(before.next_run, Timer::Schedule(before.id));
            if save.takes_back {
                self.take_back(now, &rule, effects);
            }
        }
        let (event, id, executions, last) = match before {
            Some(before) => ("cron:updated", before.id, before.executions, before.last),
            None => ("cron:created", ScheduleId(self.next_number()), 0, None),
        };
        tell(now, event, &rule, ("nextRun", Field::Number(next_run.0 as f64)), effects);
        let schedule = Schedule { id, rule, data: save.data, next_run, executions, last };
        self.timers.set(next_run, Timer::Schedule(id));
        self.schedules.put(schedule.clone());
        self.dirty.schedule(id, true);
        Ok(Reply::Schedule(Answer::One(schedule)))
    }

    /// A job that the schedule made before its change and that still waits would be made of the old rule.
    fn take_back(&mut self, now: Timestamp, rule: &Rule, effects: &mut Effects) {
        let Some(queue) = self.queues.find(&rule.spec.queue).map(|queue| queue.id) else { return };
        let key = rule.dedup_key.as_ref().and_then(|key| self.valid_key(queue, key, now));
        let Some(job) = key.and_then(|entry| self.jobs.get(entry.owner)) else { return };
        if job.state == JobState::Queued && job.made_by() == Some(&rule.name) {
            let (key, id, prev) = (job.key, job.id.clone(), job.state_name(now));
            self.remove_job(key, Some(FreedBy::Cancelled), now);
            self.emit(effects, queue, Some(&id), now, EventKind::Removed { prev });
        }
    }

    /// A schedule's moment has come; its timer has already been taken out.
    pub(crate) fn schedule_due(&mut self, id: ScheduleId, now: Timestamp, effects: &mut Effects) {
        let schedule = self.schedules.get(id).expect("a timer's schedule is there");
        let rule = schedule.rule.clone();
        let next = rule.timing.after(schedule.next_run, now, &self.config.zone);
        // One that has made all its firings goes when the next would be due, as in 2.9.5, and its row with it.
        let Some(next) = next.filter(|_| !schedule.is_exhausted()) else {
            return self.forget_schedule(now, id, effects);
        };
        self.timers.set(next, Timer::Schedule(id));
        let has_worker = self.workers.iter().any(|worker| worker.queues.contains(&rule.spec.queue));
        let schedule = self.schedules.get_mut(id).expect("a timer's schedule is there");
        schedule.next_run = next;
        if rule.skip_if_no_worker && !has_worker {
            schedule.last = Some(LastRun { at: now, outcome: RunOutcome::NoWorker, job: None });
            self.dirty.schedule(id, false);
            tell(now, "cron:skipped", &rule, ("reason", "no-worker".into()), effects);
            return;
        }
        schedule.executions += 1;
        self.add_run(id, now, effects);
    }

    fn add_run(&mut self, id: ScheduleId, now: Timestamp, effects: &mut Effects) {
        let schedule = self.schedules.get(id).expect("a schedule that runs is there");
        let (rule, add) = (schedule.rule.clone(), schedule.add());
        let added = self.admit_scheduled(now, add, effects);
        let (outcome, job) = match added {
            Ok(added) if added.duplicate.is_none() => (RunOutcome::Added, Some(added.id)),
            Ok(added) => (RunOutcome::Collapsed, Some(added.id)),
            Err(why) => {
                tell(now, "cron:missed", &rule, ("error", why.to_string().as_str().into()), effects);
                return self.note_run(id, LastRun { at: now, outcome: RunOutcome::Refused, job: None });
            }
        };
        effects.tell(now, "cron:fired", [("name", (&rule.name).into()), ("queue", (&rule.spec.queue).into())]);
        self.note_run(id, LastRun { at: now, outcome, job });
    }

    fn note_run(&mut self, id: ScheduleId, last: LastRun) {
        let schedule = self.schedules.get_mut(id).expect("an add takes no schedule away");
        schedule.last = Some(last);
        self.dirty.schedule(id, false);
    }

    fn forget_schedule(&mut self, now: Timestamp, id: ScheduleId, effects: &mut Effects) {
        let gone = self.schedules.remove(id).expect("a schedule that is to be forgotten is there");
        self.dirty.schedule_gone(id);
        effects.tell(now, "cron:deleted", [("name", (&gone.rule.name).into())]);
    }

    /// A job whose delivery was lost is dropped where its schedule makes the next one (dedup.md 6). False = it is not such a
    /// job, or no schedule makes another.
    pub(crate) fn drop_lost(&mut self, key: JobKey, now: Timestamp, effects: &mut Effects) -> bool {
        let job = self.known(key);
        let drops = job.spec.rare.as_ref().is_some_and(|rare| rare.drop_if_lost);
        let schedule = job.made_by().filter(|_| drops).and_then(|name| self.schedules.find(name));
        if schedule.is_none_or(Schedule::is_exhausted) {
            return false;
        }
        let (id, queue) = (job.id.clone(), job.queue);
        // What somebody else stored with it was acknowledged.
        let stored = self.known_mut(key).extra.rare.as_deref_mut().and_then(|rare| rare.stored_next.take());
        self.remove_job(key, Some(FreedBy::Stalled), now);
        self.emit(effects, queue, Some(&id), now, EventKind::Removed { prev: StateName::Active });
        if let Some(stored) = stored {
            self.admit_stored(now, *stored, effects);
        }
        true
    }

    /// Takes the rows in.
    pub(crate) fn load_schedules(&mut self, rows: Vec<Schedule>) -> Result<(), RestoreError> {
        for schedule in rows {
            if self.schedules.find(&schedule.rule.name).is_some() {
                return Err(RestoreError { message: format!("the schedule {} is there twice", schedule.rule.name) });
            }
            self.next_at_least(schedule.id.0 + 1);
            self.timers.set(schedule.next_run, Timer::Schedule(schedule.id));
            self.schedules.put(schedule);
        }
        Ok(())
    }

    /// After a start: runs that came due while nobody ran are left out where that was asked for.
    pub(crate) fn skip_missed_runs(&mut self, now: Timestamp) {
        let is_missed = |schedule: &&Schedule| {
            let rule: &Arc<Rule> = &schedule.rule;
            schedule.next_run.is_due(now)
                && !schedule.is_exhausted()
                && (rule.skip_missed_on_restart || rule.skip_if_no_worker)
        };
        let missed: Vec<Schedule> = self.schedules.iter().filter(is_missed).cloned().collect();
        for mut schedule in missed {
            let Some(next) = schedule.rule.timing.after(schedule.next_run, now, &self.config.zone) else { continue };
            self.timers.cancel(schedule.next_run, Timer::Schedule(schedule.id));
            self.timers.set(next, Timer::Schedule(schedule.id));
            schedule.last = Some(LastRun { at: schedule.next_run, outcome: RunOutcome::Missed, job: None });
            schedule.next_run = next;
            self.dirty.schedule(schedule.id, false);
            self.schedules.put(schedule);
        }
    }
}
