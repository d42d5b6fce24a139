//! Rate and concurrency of a queue (protocol-admin.md 3).
//!
//! A limit of 0 stops the queue, as it does with 2.9.5: clients do not look at the answer of these commands, so that a refusal
//! would let jobs run which somebody meant to stop.

use super::fields::{Bounds, Fields};
use super::{Hints, Result, engine, names};
use crate::msgpack::Value;
use crate::request::Request;
use onceover_engine::command::Command;
use onceover_engine::limit::{Rate, Request as Limit};
use onceover_engine::time::Millis;

/// A rate's time when it is not given.
const DURATION_DEFAULT: Millis = Millis(1_000);
/// At least one, and what a double counts exactly.
const POSITIVE: Bounds = Bounds::new(1, Bounds::NATURAL.max);

pub fn set_rate(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let queue = names::queue(fields)?;
    let max = limit(fields)?;
    let duration = fields.millis("duration", POSITIVE)?.unwrap_or(DURATION_DEFAULT);
    let ttl = fields.millis("ttl", POSITIVE)?;
    engine(Command::Limit(Limit::SetRate { queue, rate: Rate { max, duration }, ttl }))
}

pub fn clear_rate(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Limit(Limit::ClearRate { queue: names::queue(fields)? }))
}

pub fn set_concurrency(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let queue = names::queue(fields)?;
    engine(Command::Limit(Limit::SetConcurrency { queue, limit: limit(fields)? }))
}

pub fn clear_concurrency(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Limit(Limit::ClearConcurrency { queue: names::queue(fields)? }))
}

pub fn get(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let queue = names::queue(fields)?;
    let max_jobs = fields.integer("maxJobs", Bounds::NATURAL)?.map(i64::unsigned_abs);
    engine(Command::Limit(Limit::Get { queue, max_jobs }))
}

/// The field `limit`: a whole number, also one written as text.
fn limit(fields: &Fields<'_>) -> Result<u64> {
    let number = match fields.given("limit") {
        Some(Value::Str(text)) => std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()),
        Some(value) => value.number(),
        None => None,
    };
    let number: f64 =
        number.filter(|number: &f64| number.is_finite()).ok_or_else(|| fields.must_be("limit", "a finite number"))?;
    if number < 0.0 {
        return Err(fields.must_be("limit", "at least 0"));
    } else if number.fract() != 0.0 {
        return Err(fields.must_be("limit", "an integer"));
    } else if number > Bounds::NATURAL.max as f64 {
        return Err(fields.must_be("limit", &format!("at most {}", Bounds::NATURAL.max)));
    }
    Ok(number as u64)
}
