//! Questions about the broker as a whole.

use super::fields::Fields;
use super::{Hints, Result, names};
use crate::msgpack::{Raw, Value};
use crate::request::{DecodeError, Monitor, Request};

/// Jobs of each state that DashboardQueue shows when it does not say, and at most.
const JOBS_DEFAULT: usize = 10;
const JOBS_MAX: usize = 50;

pub fn stats(_: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    Ok(Request::Monitor(Monitor::Stats))
}

pub fn prometheus(_: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    Ok(Request::Monitor(Monitor::Prometheus))
}

pub fn storage_status(_: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    Ok(Request::Monitor(Monitor::StorageStatus))
}

pub fn compact_memory(_: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    Ok(Request::Monitor(Monitor::CompactMemory))
}

pub fn overview(_: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    Ok(Request::Monitor(Monitor::Overview))
}

pub fn queues(_: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    Ok(Request::Monitor(Monitor::Queues))
}

pub fn queue(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    let queue = names::queue(fields)?;
    let limit = fields.count("jobsLimit")?.unwrap_or(JOBS_DEFAULT).min(JOBS_MAX);
    let jobs = fields.flag("includeJobs")?.unwrap_or(false).then_some(limit);
    Ok(Request::Monitor(Monitor::Queue { queue, jobs }))
}

/// The fields are checked although nothing is ever removed, so that a mistake is found here and not on another server.
pub fn trim_events(fields: &Fields<'_>, _: &mut Hints) -> Result<Request> {
    names::queue(fields)?;
    let most = fields.raw("maxLength").map(Raw::value).and_then(Value::integer);
    match most {
        Some(0..=9_007_199_254_740_991) => Ok(Request::Monitor(Monitor::TrimEvents)),
        Some(_) | None => Err(DecodeError::invalid("maxLength must be a non-negative safe integer")),
    }
}
