//! Whole queues, stall configuration, and what concerns the connection itself.

use super::fields::{Bounds, Fields};
use super::{Hints, Result, engine, names};
use crate::msgpack::Value;
use crate::request::Request;
use onceover_engine::command::{CleanState, Command, StallPatch};
use onceover_engine::time::Millis;

/// Jobs that one Clean removes when it does not say.
const CLEAN_LIMIT_DEFAULT: usize = 1000;

pub fn hello(_: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    Ok(Request::Hello)
}

pub fn ping(_: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    Ok(Request::Ping)
}

pub fn auth(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    // A token of a wrong type is a wrong token, not a malformed request: nobody is told more than "Invalid token".
    let token = fields.text("token").ok().flatten().unwrap_or_default().to_owned();
    Ok(Request::Auth { token })
}

pub fn subscribe(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    Ok(Request::Subscribe { queue: names::queue(fields)? })
}

pub fn unsubscribe(_: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    Ok(Request::Unsubscribe)
}

pub fn pause(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Pause { queue: names::queue(fields)? })
}

pub fn resume(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Resume { queue: names::queue(fields)? })
}

pub fn is_paused(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::IsPaused { queue: names::queue(fields)? })
}

pub fn drain(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Drain { queue: names::queue(fields)? })
}

pub fn obliterate(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Obliterate { queue: names::queue(fields)? })
}

pub fn list_queues(_: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::ListQueues)
}

pub fn promote_jobs(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::PromoteJobs { queue: names::queue(fields)?, count: fields.count("count")? })
}

pub fn clean(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let queue = names::queue(fields)?;
    let grace = fields.millis("grace", Bounds::NATURAL)?.ok_or_else(|| fields.required("grace"))?;
    let limit = match fields.given("limit").and_then(Value::number) {
        // No limit is not "all": 2.9.5 removes nothing then, and a client that errs must not lose more than it meant.
        Some(limit) if !limit.is_finite() => 0,
        Some(_) | None => fields.count("limit")?.unwrap_or(CLEAN_LIMIT_DEFAULT),
    };
    engine(Command::Clean { queue, grace, state: clean_state(fields.text("state")?), limit })
}

fn clean_state(text: Option<&str>) -> CleanState {
    match text {
        None => CleanState::AnyPending,
        // What counts as paused while a queue is paused is waiting otherwise.
        Some("waiting" | "wait" | "paused") => CleanState::Waiting,
        Some("prioritized") => CleanState::Prioritized,
        Some("delayed") => CleanState::Delayed,
        Some("completed") => CleanState::Completed,
        Some("failed") => CleanState::Failed,
        Some(_) => CleanState::Nothing,
    }
}

pub fn retry_completed(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::RetryCompleted {
        queue: names::queue(fields)?,
        id: names::optional_job_id(fields, "id")?,
        count: fields.count("count")?,
        until: names::moment(fields, "timestamp")?,
    })
}

pub fn stall_config(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::GetStallConfig { queue: names::queue(fields)? })
}

pub fn set_stall_config(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let queue = names::queue(fields)?;
    let patch = match fields.map("config", "config.")? {
        None => StallPatch::default(),
        Some(config) => StallPatch {
            enabled: match config.given("enabled") {
                Some(Value::Bool(enabled)) => Some(enabled),
                Some(_) | None => None,
            },
            stall_interval: coerced(&config, "stallInterval").map(|number| Millis(number as i64)),
            max_stalls: coerced(&config, "maxStalls").map(|number| number as u32),
            grace_period: coerced(&config, "gracePeriod").map(|number| Millis(number as i64)),
        },
    };
    engine(Command::SetStallConfig { queue, patch })
}

/// A number, also one written as text; what is no such number, or negative, changes nothing.
fn coerced(fields: &Fields<'_>, name: &str) -> Option<f64> {
    let number = match fields.given(name)? {
        Value::Str(text) => std::str::from_utf8(text).ok()?.trim().parse().ok()?,
        value => value.number()?,
    };
    (number.is_finite() && number >= 0.0).then_some(number)
}
