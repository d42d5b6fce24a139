//! Rate and concurrency of a queue (protocol-admin.md 3).
//!
//! A limit of 0 stops the queue, as it does with 2.9.5: clients do not look at the answer of these commands, so that a refusal
//! would let jobs run which somebody meant to stop. For the same reason less than 0 is 0, and parts are taken as 2.9.5 takes
//! them: a bucket that never holds a whole token gives nothing, and half a job more than one may run is a second one.

use super::fields::{Bounds, Fields};
use super::{Hints, Result, engine, names};
use crate::msgpack::Value;
use crate::request::Request;
use onceover_engine::command::Command;
use onceover_engine::limit::{Rate, Request as Limit};
use onceover_engine::time::Millis;

/// A rate's time when it is not given.
const DURATION_DEFAULT: Millis = Millis(1_000);

pub fn set_rate(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let queue = names::queue(fields)?;
    let max = limit(fields)?.floor() as u64;
    let duration = time(fields, "duration")?.unwrap_or(DURATION_DEFAULT);
    let ttl = time(fields, "ttl")?;
    engine(Command::Limit(Limit::SetRate { queue, rate: Rate { max, duration }, ttl }))
}

pub fn clear_rate(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Limit(Limit::ClearRate { queue: names::queue(fields)? }))
}

pub fn set_concurrency(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let queue = names::queue(fields)?;
    engine(Command::Limit(Limit::SetConcurrency { queue, limit: limit(fields)?.ceil() as u64 }))
}

pub fn clear_concurrency(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Limit(Limit::ClearConcurrency { queue: names::queue(fields)? }))
}

pub fn get(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let queue = names::queue(fields)?;
    let max_jobs = fields.integer("maxJobs", Bounds::NATURAL)?.map(i64::unsigned_abs);
    engine(Command::Limit(Limit::Get { queue, max_jobs }))
}

/// A time above 0. Parts of a millisecond count as a whole one, so that no job comes sooner than asked.
fn time(fields: &Fields<'_>, name: &str) -> Result<Option<Millis>> {
    match fields.number_in(name, Bounds::NATURAL)? {
        Some(time) if time > 0.0 => Ok(Some(Millis(time.ceil() as i64))),
        Some(_) => Err(fields.must_be(name, "above 0")),
        None => Ok(None),
    }
}

/// The field `limit`, from 0: a number, also one written as text.
fn limit(fields: &Fields<'_>) -> Result<f64> {
    let number = match fields.given("limit") {
        Some(Value::Str(text)) => std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()),
        Some(value) => value.number(),
        None => None,
    };
    let number: f64 =
        number.filter(|number: &f64| number.is_finite()).ok_or_else(|| fields.must_be("limit", "a finite number"))?;
    if number > Bounds::NATURAL.max as f64 {
        return Err(fields.must_be("limit", &format!("at most {}", Bounds::NATURAL.max)));
    }
    Ok(number.max(0.0))
}
