//! The `repeat` option of an add: a job that makes its successor when it completes.
//!
//! Intervals only. A calendar pattern or one of the finer options is refused by name rather than ignored.

use super::Result;
use super::fields::{Bounds, Fields};
use crate::request::DecodeError;
use onceover_engine::command::{RareOptions, Repeat};
use onceover_engine::time::Millis;

/// Options of bunqueue's `repeat` that change when a job runs and are not there yet.
const UNSUPPORTED: [&str; 6] = ["startDate", "endDate", "tz", "immediately", "offset", "jobId"];

pub fn repeat(fields: &Fields<'_>) -> Result<Option<Repeat>> {
    let Some(options) = fields.map("repeat", "repeat.")? else { return Ok(None) };
    if options.given("every").is_some() == options.given("pattern").is_some() {
        return Err(DecodeError::invalid("repeat requires exactly one of every or pattern"));
    }
    if options.given("pattern").is_some() {
        return Err(options.unsupported("pattern"));
    }
    // False, zero and empty texts are the defaults of these options, which some clients spell out.
    if let Some(name) = UNSUPPORTED.into_iter().find(|name| options.truthy(name)) {
        return Err(options.unsupported(name));
    }
    let every = match options.number("every") {
        Ok(Some(every)) if every > 0.0 => every,
        Ok(_) | Err(_) => return Err(options.must_be("every", "a positive finite number")),
    };
    Ok(Some(Repeat {
        // Less than a millisecond is not zero, which would be no interval.
        every: Millis((every.floor() as i64).max(1)),
        limit: options.integer("limit", Bounds::NATURAL)?.map(|limit| limit as u64),
        count: options.integer("count", Bounds::NATURAL)?.unwrap_or(0) as u64,
    }))
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
