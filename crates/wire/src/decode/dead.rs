//! Dead letters: what there is, what becomes of it, and what is set about it (protocol-admin.md 4 and 5).

use super::fields::{Bounds, Fields};
use super::{Hints, Result, engine, names};
use crate::request::Request;
use onceover_engine::command::{Command, DlqFilter, DlqPatch, dead};
use onceover_engine::time::Millis;

/// Counts of retries and entries: what is above is taken for the highest.
const COUNT_MAX: f64 = u32::MAX as f64;

pub fn list(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let queue = names::queue(fields)?;
    let filter = filter(fields)?.unwrap_or_default();
    letters(dead::Request::List { queue, count: fields.count("count")?, filter })
}

pub fn stats(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    letters(dead::Request::Stats { queue: names::queue(fields)? })
}

pub fn retry(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    letters(dead::Request::Retry {
        queue: names::queue(fields)?,
        id: names::optional_job_id(fields, "jobId")?,
        count: fields.count("count")?,
        filter: filter(fields)?,
    })
}

pub fn purge(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    letters(dead::Request::Purge { queue: names::queue(fields)? })
}

pub fn remove(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    letters(dead::Request::Remove { queue: names::queue(fields)?, id: fields.job_id("jobId")? })
}

pub fn config(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    letters(dead::Request::Config { queue: names::queue(fields)? })
}

/// Numbers below their least are taken for it, as 2.9.5 does; of `maxAge` nil means never, unlike absent.
pub fn set_config(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let queue = names::queue(fields)?;
    let config = fields.map("config", "config.")?.ok_or_else(|| fields.required("config"))?;
    let whole = |name: &str, least: f64, most: f64| -> Result<Option<f64>> {
        Ok(config.number(name)?.map(|number| number.floor().clamp(least, most)))
    };
    let millis = |name: &str| Ok(whole(name, 0.0, Bounds::NATURAL.max as f64)?.map(|number| Millis(number as i64)));
    let count = |name: &str, least: f64| Ok(whole(name, least, COUNT_MAX)?.map(|number| number as u32));
    let max_age = match config.raw("maxAge") {
        Some(raw) if raw.is_nil() => Some(None),
        Some(_) | None => millis("maxAge")?.map(Some),
    };
    let patch = DlqPatch {
        auto_retry: config.flag("autoRetry")?,
        auto_retry_interval: millis("autoRetryInterval")?,
        max_auto_retries: count("maxAutoRetries", 0.0)?,
        max_age,
        max_entries: count("maxEntries", 1.0)?,
    };
    letters(dead::Request::Configure { queue, patch })
}

/// The field `filter`. Zero, false and empty texts mean "not set", as in 2.9.5.
fn filter(fields: &Fields<'_>) -> Result<Option<DlqFilter>> {
    let Some(filter) = fields.map("filter", "filter.")? else { return Ok(None) };
    let moment = |name: &str| Ok(names::moment(&filter, name)?.filter(|at| at.0 != 0));
    let limit = filter.count("limit")?.filter(|limit| *limit > 0);
    // What is due for a retry or past its age is retried or removed before anybody can ask.
    let none_can_match = filter.truthy("retriable") || filter.truthy("expired");
    Ok(Some(DlqFilter {
        reason: filter.filled_text("reason")?.map(str::to_owned),
        older_than: moment("olderThan")?,
        newer_than: moment("newerThan")?,
        offset: filter.count("offset")?.unwrap_or(0),
        limit: if none_can_match { Some(0) } else { limit },
    }))
}

fn letters(request: dead::Request) -> Result<Request> {
    engine(Command::Dead(request))
}
