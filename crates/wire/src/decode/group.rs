//! The group commands, and what a pull says about groups (protocol-admin.md 8, protocol-core.md 6.5).

use super::fields::{Bounds, Fields, utf8};
use super::{Hints, Result, engine, names};
use crate::limits::NAME_CHARS_MAX;
use crate::msgpack::Value;
use crate::request::{DecodeError, Request};
use onceover_engine::command::Command;
use onceover_engine::group::{About, Affinity, GroupLimits, GroupWants, Request as Group};
use onceover_engine::limit::Rate;
use onceover_engine::time::Millis;
use std::sync::Arc;

pub fn jobs_of_all(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    engine(Command::Group(Group::JobsOfAll { queue: names::queue(fields)? }))
}

pub fn jobs_count(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    of(fields, |_| Ok(About::JobsCount))
}

pub fn active_count(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    of(fields, |_| Ok(About::ActiveCount))
}

pub fn set_rate(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    of(fields, |fields| Ok(About::SetRate(rate(fields)?)))
}

pub fn rate_limit(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    of(fields, |_| Ok(About::Rate))
}

pub fn remove_rate(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    of(fields, |_| Ok(About::RemoveRate))
}

pub fn rate_ttl(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    of(fields, |fields| match fields.given("maxJobs") {
        None => Ok(About::RateTtl(None)),
        Some(_) => Ok(About::RateTtl(Some(positive(fields, "maxJobs")?))),
    })
}

pub fn set_concurrency(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    of(fields, |fields| Ok(About::SetConcurrency(positive(fields, "concurrency")?)))
}

pub fn concurrency(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    of(fields, |_| Ok(About::Concurrency))
}

pub fn remove_concurrency(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    of(fields, |_| Ok(About::RemoveConcurrency))
}

pub fn pause(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    of(fields, |_| Ok(About::Pause))
}

pub fn resume(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    of(fields, |_| Ok(About::Resume))
}

pub fn is_paused(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    of(fields, |_| Ok(About::IsPaused))
}

pub fn hold(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    of(fields, |fields| Ok(About::Hold(duration(fields)?)))
}

fn of(fields: &Fields<'_>, about: impl FnOnce(&Fields<'_>) -> Result<About>) -> Result<Request> {
    let queue = names::queue(fields)?;
    let Some(id) = fields.given("groupId") else { return Err(fields.required("groupId")) };
    let group = group_id(fields, id)?;
    engine(Command::Group(Group::Of { queue, group, about: about(fields)? }))
}

/// The value of a field `groupId`.
pub fn group_id(fields: &Fields<'_>, value: Value<'_>) -> Result<Arc<str>> {
    let Value::Str(text) = value else { return Err(fields.must_be("groupId", "a string")) };
    let text = utf8(text)?;
    if text.is_empty() {
        return Err(fields.must_be("groupId", "a non-empty string"));
    } else if names::longer_than(text, NAME_CHARS_MAX) {
        return Err(fields.must_be("groupId", "at most 256 characters"));
    } else if text.contains('\0') {
        return Err(DecodeError::invalid("groupId must not contain NUL characters"));
    }
    Ok(Arc::from(text))
}

/// The field `group` of a pull.
pub fn wants(fields: &Fields<'_>) -> Result<Option<Arc<GroupWants>>> {
    let Some(raw) = fields.raw("group") else { return Ok(None) };
    let Value::Map(map) = raw.value() else { return Err(fields.must_be("group", "an object")) };
    let group = Fields::new(map, "group.")?;
    let affinity = match group.raw("affinity").map(|raw| raw.value()) {
        None => Affinity::Any,
        Some(Value::Nil) => Affinity::Ungrouped,
        Some(Value::Str(text)) => Affinity::Group(Arc::from(utf8(text)?)),
        Some(_) => return Err(group.must_be("affinity", "a string or null")),
    };
    let concurrency = match group.given("concurrency") {
        None => None,
        Some(_) => Some(positive(&group, "concurrency")?),
    };
    let rate = match group.map("limit", "group.limit.")? {
        None => None,
        Some(limit) => Some(rate(&limit)?),
    };
    let wants = GroupWants { affinity, limits: GroupLimits { concurrency, rate } };
    Ok(Some(wants).filter(|wants| *wants != GroupWants::default()).map(Arc::new))
}

fn rate(fields: &Fields<'_>) -> Result<Rate> {
    Ok(Rate { max: positive(fields, "max")?, duration: duration(fields)? })
}

fn duration(fields: &Fields<'_>) -> Result<Millis> {
    positive(fields, "duration").map(|duration| Millis(duration.cast_signed()))
}

/// The largest whole number that a double counts exactly, which clients call safe.
const SAFE_MAX: i64 = Bounds::NATURAL.max;

fn positive(fields: &Fields<'_>, name: &str) -> Result<u64> {
    match fields.given(name).and_then(Value::integer) {
        Some(number @ 1..=SAFE_MAX) => Ok(number.unsigned_abs()),
        Some(_) | None => Err(fields.must_be(name, "a positive safe integer")),
    }
}
