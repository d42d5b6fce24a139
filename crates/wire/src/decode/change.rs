//! Changes of one job: progress, data, priority, place, logs, its key.

use super::fields::{Bounds, Fields};
use super::names::{self, YEAR, claim};
use super::query::deduplication_key;
use super::{Hints, Result, engine};
use crate::request::Request;
use onceover_engine::command::Command;
use onceover_engine::time::Millis;

/// Any number; the engine bounds it.
const ANY: Bounds = Bounds::new(i64::MIN, i64::MAX);

pub fn progress(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let id = fields.job_id("id")?;
    let progress = fields.number_in("progress", ANY)?.ok_or_else(|| fields.must_be("progress", "a number"))?;
    let message = match fields.raw("message") {
        None => None,
        Some(_) => Some(fields.prose("message")?),
    };
    engine(Command::Progress { id, progress, message })
}

pub fn update(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let id = fields.job_id("id")?;
    let data = fields.raw("data");
    if let Some(raw) = data {
        names::check_payload(raw)?;
    }
    engine(Command::Update { id, data: data.map(names::payload) })
}

pub fn change_priority(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let id = fields.job_id("id")?;
    // Its bounds depend on the job: the engine knows whether it has a group.
    let priority = fields.integer("priority", ANY)?.ok_or_else(|| fields.required("priority"))?;
    let lifo = fields.given("lifo").map(|_| fields.truthy("lifo"));
    engine(Command::ChangePriority { id, priority, lifo })
}

pub fn change_delay(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::ChangeDelay { claim: claim(fields)?, delay: delay(fields)? })
}

pub fn move_to_delayed(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::MoveToDelayed { claim: claim(fields)?, delay: delay(fields)? })
}

fn delay(fields: &Fields<'_>) -> Result<Millis> {
    fields.millis("delay", YEAR)?.ok_or_else(|| fields.required("delay"))
}

pub fn move_to_wait(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::MoveToWait { claim: claim(fields)? })
}

pub fn move_to_waiting_children(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::MoveToWaitingChildren { claim: claim(fields)? })
}

pub fn promote(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Promote { id: fields.job_id("id")? })
}

pub fn cancel(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Cancel { id: fields.job_id("id")? })
}

pub fn discard(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Discard { claim: claim(fields)? })
}

pub fn add_log(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::AddLog {
        id: fields.job_id("id")?,
        message: fields.prose("message")?.ok_or_else(|| fields.required("message"))?,
        level: fields.prose("level")?.unwrap_or_else(|| "info".to_owned()),
    })
}

pub fn clear_logs(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::ClearLogs { id: fields.job_id("id")?, keep: fields.count("keepLogs")?.unwrap_or(0) })
}

pub fn remove_deduplication_key(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let queue = names::queue(fields)?;
    engine(Command::RemoveDeduplicationKey { queue, key: deduplication_key(fields)? })
}

pub fn remove_job_deduplication_key(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::RemoveJobDeduplicationKey { id: fields.job_id("id")? })
}
