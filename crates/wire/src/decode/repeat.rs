//! The `repeat` option of an add: a job that makes its successor when it completes.
//!
//! The first job is an add like any other; what is said here is about the later ones.

use super::Result;
use super::fields::{Bounds, Fields};
use crate::request::DecodeError;
use onceover_engine::calendar::{Pattern, Zone};
use onceover_engine::command::{RareOptions, Repeat};
use onceover_engine::schedule::Timing;
use onceover_engine::time::{Millis, Timestamp};
use std::sync::Arc;

/// `immediately` needs nothing: the first job is always there at once, as in 2.9.5.
pub fn repeat(fields: &Fields<'_>) -> Result<Option<Repeat>> {
    let Some(options) = fields.map("repeat", "repeat.")? else { return Ok(None) };
    if options.given("every").is_some() == options.given("pattern").is_some() {
        return Err(DecodeError::invalid("repeat requires exactly one of every or pattern"));
    }
    options.flag("immediately")?;
    let timing = timing(&options)?;
    Ok(Some(Repeat {
        timing,
        limit: options.integer("limit", Bounds::NATURAL)?.map(|limit| limit as u64),
        count: options.integer("count", Bounds::NATURAL)?.unwrap_or(0) as u64,
        start: moment(&options, "startDate")?,
        end: moment(&options, "endDate")?,
        offset: offset(&options)?,
        job_id: options.ident("jobId")?.filter(|id| !id.is_empty()).map(|id| Arc::from(&*id)),
    }))
}

fn timing(options: &Fields<'_>) -> Result<Timing> {
    let bad = |why| DecodeError::invalid(format!("Invalid repeat pattern: {why}"));
    let zone = options.filled_text("tz")?.map(Zone::parse).transpose().map_err(bad)?;
    if options.given("pattern").is_some() {
        let text = options.text("pattern")?.unwrap_or_default();
        return Pattern::parse(text, zone).map(Timing::Calendar).map_err(bad);
    }
    match options.number("every") {
        // Less than a millisecond is not zero, which would be no interval.
        Ok(Some(every)) if every > 0.0 => Ok(Timing::Every(Millis((every.floor() as i64).max(1)))),
        Ok(_) | Err(_) => Err(options.must_be("every", "a positive finite number")),
    }
}

/// A part of a day, mostly; not more than a year, so that no sum is out of range.
fn offset(options: &Fields<'_>) -> Result<Millis> {
    const YEAR: i64 = 31_536_000_000;
    match options.number("offset") {
        Ok(None) => Ok(Millis(0)),
        Ok(Some(offset)) if offset.abs() <= YEAR as f64 => Ok(Millis(offset.floor() as i64)),
        Ok(Some(_)) => Err(options.must_be("offset", "at most 31536000000 either way")),
        Err(_) => Err(options.must_be("offset", "a finite number")),
    }
}

fn moment(options: &Fields<'_>, name: &str) -> Result<Option<Timestamp>> {
    let moment = super::names::moment(options, name);
    moment.map_err(|_| options.must_be(name, "a finite timestamp"))
}

/// A repeating job cannot have a fixed id, which its successor could not take, nor relations, which that would not
/// inherit.
pub fn check_alone(rare: &RareOptions, has_custom_id: bool) -> Result<()> {
    if has_custom_id {
        let text = "repeat jobs cannot use JobOptions.jobId; use repeat.jobId instead";
        return Err(DecodeError::invalid(text));
    }
    if rare.parent_id.is_some() || !rare.depends_on.is_empty() || !rare.children_ids.is_empty() {
        let text = "repeat jobs cannot participate in parent or dependency relationships";
        return Err(DecodeError::invalid(text));
    }
    Ok(())
}
