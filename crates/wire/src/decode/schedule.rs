//! Cron, CronGet, CronList, CronDelete (protocol-admin.md 6).
//!
//! Everything is checked before anything is stored. Where 2.9.5 takes anything (queue, jobOptions, an unknown zone beside an
//! interval), the rules of an add hold here.

use super::fields::{Bounds, Fields};
use super::names::{self, DAY, PRIORITY, YEAR};
use super::{Hints, Result, add, engine};
use crate::limits::SCHEDULE_NAME_CHARS_MAX;
use crate::request::{DecodeError, Request};
use onceover_engine::calendar::{BadPattern, Pattern, Zone};
use onceover_engine::command::{Command, NewJob, RareOptions};
use onceover_engine::schedule::{self, Rule, Save, Timing, overlap_key};
use onceover_engine::time::Millis;
use std::sync::Arc;

pub fn save(fields: &Fields<'_>, hints: &mut Hints) -> Result<Request> {
    let name = name(fields)?;
    let queue = names::queue(fields)?;
    if let Some(raw) = fields.raw("data") {
        names::check_payload(raw)?;
    }
    let (job_name, data) = add::name_and_data(fields, "jobName", None, hints)?;
    let timezone = fields.filled_text("timezone")?;
    let (timing, also_every) = timing(fields, timezone)?;
    let limit = fields.integer("maxLimit", Bounds::new(-Bounds::NATURAL.max, Bounds::NATURAL.max))?;
    let prevent_overlap = fields.flag("preventOverlap")?;
    let own_key = Some(overlap_key(&name)).filter(|_| prevent_overlap.unwrap_or(true));
    let (dedup_key, dedup) = add::dedup(fields, data.as_deref(), own_key.as_deref())?;
    let is_own = dedup_key.is_some() && dedup_key.as_deref() == own_key.as_deref();
    let drop_if_lost = is_own && fields.ident("uniqueKey")?.is_none();
    let spec = NewJob {
        dedup,
        priority: fields.integer("priority", PRIORITY)?.unwrap_or(0) as i32,
        ..job_options(fields, NewJob::new(queue, job_name))?
    };
    let rare =
        RareOptions { schedule: Some(name.clone()), drop_if_lost, ..spec.rare.as_deref().cloned().unwrap_or_default() };
    let rule = Rule {
        name,
        timing,
        also_every,
        timezone: timezone.map(Arc::from),
        limit: limit.and_then(|limit| u64::try_from(limit).ok()).filter(|limit| *limit > 0),
        skip_missed_on_restart: fields.flag("skipMissedOnRestart")?.unwrap_or(true),
        skip_if_no_worker: fields.flag("skipIfNoWorker")?.unwrap_or(false),
        spec: Arc::new(NewJob { rare: Some(Box::new(rare)), ..spec }),
        dedup_key,
    };
    let immediately = fields.flag("immediately")?.unwrap_or(false);
    let takes_back = prevent_overlap == Some(true);
    ask(schedule::Request::Save(Box::new(Save { rule: Arc::new(rule), data, immediately, takes_back })))
}

pub fn get(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    ask(schedule::Request::Get { name: name(fields)? })
}

pub fn list(_: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    ask(schedule::Request::List)
}

pub fn delete(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    ask(schedule::Request::Delete { name: name(fields)? })
}

fn ask(request: schedule::Request) -> Result<Request> {
    engine(Command::Schedule(request))
}

fn name(fields: &Fields<'_>) -> Result<Arc<str>> {
    let name = fields.required_ident("name")?;
    if names::longer_than(&name, SCHEDULE_NAME_CHARS_MAX) {
        return Err(fields.must_be("name", &format!("at most {SCHEDULE_NAME_CHARS_MAX} characters")));
    }
    Ok(Arc::from(&*name))
}

/// A pattern or an interval; of both, the pattern decides and the interval is only shown.
fn timing(fields: &Fields<'_>, timezone: Option<&str>) -> Result<(Timing, Option<Millis>)> {
    const NOT_POSITIVE: &str = "Cron repeatEvery must be a positive safe integer number of milliseconds";
    let every = match fields.integer("repeatEvery", Bounds { min: 1, ..Bounds::NATURAL }) {
        Ok(every) => every.map(Millis),
        Err(_) => return Err(DecodeError::invalid(NOT_POSITIVE)),
    };
    let zone = timezone.map(Zone::parse).transpose().map_err(|why| bad_pattern(&why))?;
    match (fields.filled_text("schedule")?, every) {
        (Some(text), every) => {
            let pattern = Pattern::parse(text, zone).map_err(|why| bad_pattern(&why))?;
            Ok((Timing::Calendar(pattern), every))
        }
        (None, Some(every)) => Ok((Timing::Every(every), None)),
        (None, None) => Err(DecodeError::invalid("Cron job must have either schedule or repeatEvery")),
    }
}

fn bad_pattern(why: &BadPattern) -> DecodeError {
    DecodeError::invalid(format!("Invalid cron expression: {why}"))
}

/// What each job gets besides its name, data, priority and key.
fn job_options(fields: &Fields<'_>, job: NewJob) -> Result<NewJob> {
    let Some(options) = fields.map("jobOptions", "jobOptions.")? else { return Ok(job) };
    let rare = RareOptions {
        timeout: options.millis("timeout", DAY)?,
        stall_timeout: options.millis("stallTimeout", Bounds::NATURAL)?,
        ..RareOptions::default()
    };
    Ok(NewJob {
        delay: options.millis("delay", YEAR)?.unwrap_or_default(),
        max_attempts: options
            .integer("maxAttempts", Bounds::new(1, 1000))?
            .map_or(job.max_attempts, |most| most as u32),
        backoff: add::backoff(&options)?,
        remove_on_complete: options.truthy("removeOnComplete"),
        remove_on_fail: options.truthy("removeOnFail"),
        rare: Some(Box::new(rare)),
        ..job
    })
}
