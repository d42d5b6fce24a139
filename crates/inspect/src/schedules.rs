//! Schedules as the window shows them, and what it can do with one.

use crate::actions::{Outcome, act_for, done, finished, look, refused};
use crate::request::{ScheduleAct, ScheduleVerb, SchedulesQuery, SchedulesSort};
use crate::view::{Failure, FailureCode, RefusalCode, ScheduleRow, SchedulesView};
use crate::words::code;
use onceover_broker::BrokerHandle;
use onceover_engine::command::Command;
use onceover_engine::reply::Reply;
use onceover_engine::schedule::{Answer, Request, RunOutcome, Schedule, Timing};
use onceover_engine::time::Millis;
use std::sync::Arc;

/// Rows of one answer.
const ROWS_MAX: usize = 200;

/// Where a schedule stands in an order: by number, then text, then name.
type Place = (i64, String, String);

fn place(schedule: &Schedule, sort: SchedulesSort) -> Place {
    let name = schedule.rule.name.to_string();
    match sort {
        SchedulesSort::Name => (0, String::new(), name),
        SchedulesSort::Queue => (0, schedule.rule.spec.queue.to_string(), name),
        SchedulesSort::Next => (schedule.next_run.0, String::new(), name),
        SchedulesSort::Executions => (-(schedule.executions as i64), String::new(), name),
    }
}

/// A page of the schedules that match.
///
/// # Errors
/// The cursor is none of ours, or the broker does not run.
pub async fn view(broker: &BrokerHandle, query: SchedulesQuery) -> Result<SchedulesView, Failure> {
    let after: Option<Place> =
        query.after.as_deref().map(serde_json::from_str).transpose().map_err(|_| bad_cursor())?;
    let SchedulesQuery { filter, sort, reverse, after: _, limit } = query;
    let (filter, limit) = (filter.to_lowercase(), (limit as usize).min(ROWS_MAX));
    let found = look(broker, move |core| {
        let is_wanted = |text: &str| filter.is_empty() || text.to_lowercase().contains(&filter);
        let order = |a: &Place, b: &Place| if reverse { b.cmp(a) } else { a.cmp(b) };
        let (mut all, mut total) = (0, 0);
        let mut places: Vec<(Place, &Schedule)> = Vec::new();
        for schedule in core.engine.schedules() {
            all += 1;
            if !is_wanted(&schedule.rule.name) && !is_wanted(&schedule.rule.spec.queue) {
                continue;
            }
            total += 1;
            let place = place(schedule, sort);
            if after.as_ref().is_none_or(|after| order(after, &place).is_lt()) {
                places.push((place, schedule));
            }
        }
        places.sort_unstable_by(|(a, _), (b, _)| order(a, b));
        let more = places.len() > limit;
        places.truncate(limit);
        let next = places.last().filter(|_| more).map(|(place, _)| place.clone());
        let rows: Vec<Schedule> = places.into_iter().map(|(_, schedule)| schedule.clone()).collect();
        let own = core.engine.config().zone.name().clone();
        (
            SchedulesView {
                revision: core.revision,
                now: core.now.0,
                all,
                total,
                hidden: all - total,
                rows: Vec::new(),
                next: None,
            },
            next,
            own,
            rows,
        )
    });
    let (view, next, own, rows) = found.await?;
    // Words are made here: the core has other things to do.
    let rows = rows.iter().map(|schedule| row(schedule, &own)).collect();
    let next = next.and_then(|place| serde_json::to_string(&place).ok());
    Ok(SchedulesView { rows, next, ..view })
}

fn bad_cursor() -> Failure {
    Failure { code: FailureCode::BadRequest, message: "after: names no place in this list".to_owned() }
}

fn row(schedule: &Schedule, own: &Arc<str>) -> ScheduleRow {
    let rule = &*schedule.rule;
    let (pattern, words, zone) = match &rule.timing {
        Timing::Every(every) => (None, format!("Every {}", span(*every)), None),
        Timing::Calendar(pattern) => {
            let zone = pattern.zone().map_or(own, |zone| zone.name());
            (Some(pattern.text().to_string()), pattern.words(), Some(zone))
        }
    };
    let last = schedule.last.as_ref();
    ScheduleRow {
        name: rule.name.to_string(),
        queue: rule.spec.queue.to_string(),
        job_name: rule.spec.name.to_string(),
        pattern,
        words,
        zone: zone.map(Arc::to_string).unwrap_or_default(),
        own_zone: zone.is_some() && rule.timezone.is_none(),
        next_run: schedule.next_run.0,
        executions: schedule.executions,
        limit: rule.limit,
        finished: schedule.is_exhausted(),
        last_at: last.map(|last| last.at.0),
        last: last.map_or("", |last| outcome(last.outcome)).to_owned(),
        last_job: last.and_then(|last| Some(last.job.as_ref()?.to_string())),
    }
}

/// What came of a run, in a word or two.
fn outcome(outcome: RunOutcome) -> &'static str {
    match outcome {
        RunOutcome::Added => "added",
        RunOutcome::Collapsed => "collapsed",
        RunOutcome::Refused => "refused",
        RunOutcome::NoWorker => "no worker",
        RunOutcome::Missed => "missed while stopped",
    }
}

/// An interval in its largest whole unit.
fn span(time: Millis) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
    match units.into_iter().find(|(unit, _)| time.0 % unit == 0) {
        Some((unit, name)) => format!("{} {name}", time.0 / unit),
        None => format!("{} ms", time.0),
    }
}

/// Runs or deletes one.
///
/// # Errors
/// The broker does not run.
pub async fn act(broker: &BrokerHandle, asked: ScheduleAct) -> Outcome {
    let name: Arc<str> = Arc::from(asked.name);
    let shown = code(&name);
    let request = match asked.act {
        ScheduleVerb::Run => Request::RunNow { name },
        ScheduleVerb::Delete => Request::Delete { name },
    };
    let result = match act_for(broker, Command::Schedule(request)).await? {
        Ok(Reply::Schedule(Answer::One(schedule))) => done(match schedule.last.as_ref().map(|last| last.outcome) {
            Some(RunOutcome::Collapsed) => format!("{shown} ran: a job of it is there already, so no other was made."),
            Some(RunOutcome::Refused) => format!("{shown} ran, and its add was refused; the log of adds says why."),
            _ => format!("{shown} ran: its job is in {}.", code(&schedule.rule.spec.queue)),
        }),
        Ok(_) => done(format!("Deleted the schedule {shown}. Jobs that it made stay.")),
        Err(_) => refused(RefusalCode::Gone, format!("There is no schedule {shown} any more.")),
    };
    finished(broker, result).await
}

#[cfg(test)]
#[path = "schedules_tests.rs"]
mod schedules_tests;
