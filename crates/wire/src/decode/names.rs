//! Names and numbers that several commands check alike: queue names, job names, payloads.

use super::Result;
use super::fields::{Bounds, Fields, utf8};
use crate::canonical::CanonicalError;
use crate::json_size::json_units;
use crate::limits::{NAME_CHARS_MAX, PAYLOAD_JSON_UNITS_MAX};
use crate::msgpack::{Raw, Value};
use crate::request::DecodeError;
use onceover_engine::command::{Claim, Payload};
use onceover_engine::limits::{GROUP_PRIORITY_MAX, PRIORITY_MAX};
use onceover_engine::names::JobId;
use onceover_engine::time::Timestamp;
use std::sync::Arc;

/// Longest delay and ttl: 365 days in milliseconds.
pub const YEAR: Bounds = Bounds::new(0, 31_536_000_000);
/// Longest timeout and backoff: 24 hours in milliseconds.
pub const DAY: Bounds = Bounds::new(0, 86_400_000);
/// Priorities of jobs without a group.
pub const PRIORITY: Bounds = Bounds::new(-PRIORITY_MAX, PRIORITY_MAX);
/// Priorities of jobs in a group.
pub const GROUP_PRIORITY: Bounds = Bounds::new(0, GROUP_PRIORITY_MAX);
/// Moments that JavaScript can name, which is what clients send.
const MOMENT: Bounds = Bounds::new(-8_640_000_000_000_000, 8_640_000_000_000_000);

/// The field `queue`, as every command with a queue checks it.
pub fn queue(fields: &Fields<'_>) -> Result<Arc<str>> {
    queue_text(fields).map(Arc::from)
}

/// The same, as it stands in the frame.
pub fn queue_text<'a>(fields: &Fields<'a>) -> Result<&'a str> {
    let name = fields.text("queue")?.unwrap_or_default();
    check_queue(name).map(|()| name)
}

/// Whether a text can name a queue.
pub fn check_queue(name: &str) -> Result<()> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':');
    if name.is_empty() {
        Err(DecodeError::invalid("Queue name is required"))
    } else if longer_than(name, NAME_CHARS_MAX) {
        Err(DecodeError::invalid(format!("Queue name too long (max {NAME_CHARS_MAX} characters)")))
    } else if !name.bytes().all(allowed) {
        Err(DecodeError::invalid("Queue name contains invalid characters"))
    } else {
        Ok(())
    }
}

/// A job's name from the value of its field.
pub fn job_name(value: Value<'_>) -> Result<&str> {
    let text = match value {
        Value::Str(text) => utf8(text)?,
        Value::Absent | Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) => "",
        Value::Bin(_) | Value::Ext(..) | Value::Array(_) | Value::Map(_) => "",
    };
    if text.is_empty() || longer_than(text, NAME_CHARS_MAX) {
        let error = format!("Job name must be a non-empty string of at most {NAME_CHARS_MAX} characters");
        return Err(DecodeError::invalid(error));
    }
    Ok(text)
}

/// Counts as JavaScript does, in UTF-16 units, and stops early.
pub fn longer_than(text: &str, chars_max: usize) -> bool {
    // A UTF-16 unit takes at most three bytes of UTF-8 and at least one.
    text.len() > chars_max && text.encode_utf16().take(chars_max + 1).count() > chars_max
}

/// Refuses a payload whose JSON text is longer than clients may send.
pub fn check_payload(raw: Raw<'_>) -> Result<()> {
    // The longest text that a byte can become is six units: a control character, escaped.
    const UNITS_PER_BYTE_MAX: usize = 6;
    if raw.bytes().len() <= PAYLOAD_JSON_UNITS_MAX / UNITS_PER_BYTE_MAX {
        return Ok(());
    }
    let units = match json_units(raw.bytes(), PAYLOAD_JSON_UNITS_MAX) {
        Ok(units) => units,
        Err(CanonicalError::TooLong) => usize::MAX,
        // Text that is not UTF-8 travels on as it is; its bytes are counted instead.
        Err(CanonicalError::NotText | CanonicalError::Malformed) => raw.bytes().len(),
    };
    if units > PAYLOAD_JSON_UNITS_MAX {
        return Err(DecodeError::invalid("Job data too large (max 10MB)"));
    }
    Ok(())
}

/// Copies a payload out of the read buffer: a slice of it would keep the whole buffer alive for one small job.
pub fn payload(raw: Raw<'_>) -> Payload {
    Arc::from(raw.bytes())
}

/// The fields `id` and `token`. An empty token is none.
pub fn claim(fields: &Fields<'_>) -> Result<Claim> {
    let id = fields.job_id("id")?;
    let token = fields.filled_text("token")?.map(str::to_owned);
    Ok(Claim { id, token })
}

/// The id of a job that may be missing.
pub fn optional_job_id(fields: &Fields<'_>, name: &str) -> Result<Option<JobId>> {
    Ok(fields.ident(name)?.map(|text| JobId::parse(&text)))
}

/// A moment in milliseconds since the epoch.
pub fn moment(fields: &Fields<'_>, name: &str) -> Result<Option<Timestamp>> {
    Ok(fields.number_in(name, MOMENT)?.map(|number| Timestamp(number.floor() as i64)))
}
