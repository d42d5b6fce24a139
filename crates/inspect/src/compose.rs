//! Between the form and an add: a logged add as a draft, and a draft as an add, with where its payload comes from and what is
//! wrong with it.

use crate::actions::look;
use crate::adds::{can_replay, whole_data};
use crate::new_add::NewAdd;
use crate::view::{DraftView, Failure};
use crate::{draft, payload, send};
use onceover_broker::{BrokerHandle, CoreView};
use onceover_engine::command::{Add, Payload};

/// Largest text of a payload, in bytes; what the payload itself may be is for the frame's decoder to say.
const DATA_TEXT_BYTES_MAX: usize = 30 * 1024 * 1024;

/// A logged add as a draft, or why it cannot be one. None when it is not in the log.
pub fn draft(core: &CoreView<'_>, seq: u64) -> Option<Result<DraftView, String>> {
    let entry = core.activity.get(seq)?;
    let can = can_replay(entry, whole_data(core, entry).is_some());
    let draft = match (entry.decided(), can.reason) {
        (Some(record), None) => Ok(DraftView {
            revision: core.revision,
            add: NewAdd { origin: Some(seq), ..draft::options(&record.spec) },
            data_bytes: entry.data_bytes as u64,
        }),
        (_, reason) => Err(reason.unwrap_or_default()),
    };
    Some(draft)
}

/// The add, or what is wrong with it, as a client would be told.
///
/// # Errors
/// The broker could not be asked for the payload that the add was made from.
pub async fn add(broker: &BrokerHandle, new: &NewAdd) -> Result<Result<Add, String>, Failure> {
    let origin = match new.origin {
        Some(seq) => look(broker, move |core| origin(core, seq)).await?,
        None => Ok(None),
    };
    Ok(data(new, origin).and_then(|data| send::add(new, data.as_deref())))
}

/// The payload of the add that the draft was made from, or why it is not there.
fn origin(core: &CoreView<'_>, seq: u64) -> Result<Option<Payload>, String> {
    let Some(entry) = core.activity.get(seq) else { return Err(format!("Add #{seq} is not in the log any more.")) };
    let data = whole_data(core, entry);
    let can = can_replay(entry, data.is_some());
    can.reason.map_or(Ok(data), Err)
}

/// A payload that is written in full needs no other, whatever became of the one it was made from.
fn data(new: &NewAdd, origin: Result<Option<Payload>, String>) -> Result<Option<Payload>, String> {
    match &new.data_text {
        Some(text) => typed(text),
        None => origin,
    }
}

/// A payload from its text; none for an empty text.
///
/// # Errors
/// Not JSON, or too large, as a client would be told.
pub fn typed(text: &str) -> Result<Option<Payload>, String> {
    if text.len() > DATA_TEXT_BYTES_MAX {
        return Err("Job data too large (max 10MB)".to_owned());
    }
    if text.trim().is_empty() {
        return Ok(None);
    }
    payload::parse(text).map(|bytes| Some(Payload::from(bytes))).map_err(|error| error.to_string())
}
