//! An add made in the window, as the engine takes it. The same bounds and texts as for a client's add, so that the window
//! cannot make a job that no client could.

use crate::payload::parse;
use crate::request::NewAdd;
use onceover_engine::command::{Add, Backoff, DedupRequest, NewJob};
use onceover_engine::names::JobId;
use onceover_engine::time::Millis;
use std::sync::Arc;

const NAME_CHARS_MAX: usize = 256;
const NAME_DEFAULT: &str = "default";
const ATTEMPTS_DEFAULT: u32 = 3;
const ATTEMPTS_MAX: u32 = 1_000;
const PRIORITY_MAX: i32 = 1_000_000;
const DELAY_MS_MAX: u64 = 31_536_000_000;
const TTL_MS_MAX: u64 = 9_007_199_254_740_991;
const DATA_TEXT_BYTES_MAX: usize = 10 * 1024 * 1024;

/// The add.
///
/// # Errors
/// What is wrong with it, as a client would be told.
pub fn add(new: &NewAdd) -> Result<Add, String> {
    check_queue(&new.queue)?;
    let spec = NewJob {
        queue: Arc::from(&*new.queue),
        name: name(&new.name)?,
        custom_id: filled(new.job_id.as_deref()).map(JobId::parse),
        dedup: dedup(new)?,
        priority: ranged("priority", new.priority.unwrap_or(0), -PRIORITY_MAX, PRIORITY_MAX)?,
        delay: Millis(ranged("delay", new.delay_ms.unwrap_or(0), 0, DELAY_MS_MAX)? as i64),
        max_attempts: ranged("maxAttempts", new.attempts.unwrap_or(ATTEMPTS_DEFAULT), 1, ATTEMPTS_MAX)?,
        backoff: Backoff::default(),
        lifo: false,
        remove_on_complete: false,
        remove_on_fail: false,
        durable: false,
        rare: None,
    };
    Ok(Add { spec: Arc::new(spec), data: data(&new.data_text)? })
}

/// # Errors
/// Why the queue cannot be called that.
pub fn check_queue(queue: &str) -> Result<(), String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':');
    if queue.is_empty() {
        Err("Queue name is required".to_owned())
    } else if queue.len() > NAME_CHARS_MAX {
        Err(format!("Queue name too long (max {NAME_CHARS_MAX} characters)"))
    } else if !queue.bytes().all(allowed) {
        Err("Queue name contains invalid characters".to_owned())
    } else {
        Ok(())
    }
}

fn name(name: &str) -> Result<Arc<str>, String> {
    if name.encode_utf16().count() > NAME_CHARS_MAX {
        return Err(format!("Job name must be a non-empty string of at most {NAME_CHARS_MAX} characters"));
    }
    Ok(Arc::from(if name.is_empty() { NAME_DEFAULT } else { name }))
}

fn dedup(new: &NewAdd) -> Result<Option<Box<DedupRequest>>, String> {
    let ttl = new.ttl_ms.map(|ttl| ranged("dedup.ttl", ttl, 0, TTL_MS_MAX)).transpose()?;
    let Some(key) = filled(new.dedup_id.as_deref()) else {
        if ttl.is_some() || new.extend || new.replace {
            return Err("Deduplication requires a key".to_owned());
        }
        return Ok(None);
    };
    Ok(Some(Box::new(DedupRequest {
        key: Arc::from(key),
        from_hash: false,
        ttl: ttl.map(|ttl| Millis(ttl as i64)),
        extend: new.extend,
        replace: new.replace,
        keep_last: false,
    })))
}

/// A payload from JSON text; none for an empty text.
///
/// # Errors
/// Not JSON, or too large, as a client would be told.
pub fn data(text: &str) -> Result<Option<Arc<[u8]>>, String> {
    if text.len() > DATA_TEXT_BYTES_MAX {
        return Err("Job data too large (max 10MB)".to_owned());
    }
    if text.trim().is_empty() {
        return Ok(None);
    }
    parse(text).map(|bytes| Some(Arc::from(bytes))).map_err(|error| error.to_string())
}

fn filled(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

fn ranged<T: PartialOrd + std::fmt::Display>(name: &str, value: T, min: T, max: T) -> Result<T, String> {
    if value < min {
        Err(format!("{name} must be at least {min}"))
    } else if value > max {
        Err(format!("{name} must be at most {max}"))
    } else {
        Ok(value)
    }
}

#[cfg(test)]
#[path = "send_tests.rs"]
mod send_tests;
