//! Between the form and an add: a logged add as a draft, and a draft as an add, with where its payload comes from and what is
//! wrong with it.

use crate::actions::look;
use crate::adds::{can_replay, whole_data};
use crate::new_add::NewAdd;
use crate::send::OPTIONS;
use crate::view::{AddRead, DraftView, DryRun, Failure, Text};
use crate::{draft, dry_run, payload, send};
use onceover_broker::{BrokerHandle, CoreView};
use onceover_engine::command::{Add, Command, Payload};
use onceover_engine::effects::AddRecord;
use onceover_wire::decode;
use onceover_wire::msgpack::{Raw, Value};
use onceover_wire::request::{DecodeErrorKind, Request};

/// Largest text of a payload, in bytes; what the payload itself may be is for the frame's decoder to say.
const DATA_TEXT_BYTES_MAX: usize = 30 * 1024 * 1024;

/// A logged add as a draft, or why it cannot be one. None when it is not in the log.
pub fn draft(core: &CoreView<'_>, seq: u64) -> Option<Result<DraftView, String>> {
    let entry = core.activity.get(seq)?;
    let can = can_replay(entry, whole_data(core, entry).is_some());
    let draft = match (entry.decided(), can.reason) {
        (Some(record), None) => Ok(DraftView {
            revision: core.revision,
            add: NewAdd { origin: Some(seq), ..draft::options(&record.add) },
            data_bytes: entry.data_bytes as u64,
            notes: notes(record),
        }),
        (_, reason) => Err(reason.unwrap_or_default()),
    };
    Some(draft)
}

/// What is different when a logged add is sent again.
fn notes(record: &AddRecord) -> Vec<String> {
    let spec = &record.add.spec;
    let mut notes = Vec::new();
    if let Some((index, of)) = record.bulk {
        notes.push(format!("It was entry {index} of {of} of one bulk add; it is sent alone."));
    }
    if spec.delay.0 > 0 || spec.dedup.ttl.is_some() {
        notes.push("`delay` and `ttl` count from the moment it is sent.".to_owned());
    }
    let rare = spec.rare.as_deref();
    if rare.is_some_and(|rare| rare.parent_id.is_some() && rare.parent_queue.is_none()) {
        notes.push("The parent's ID is stored with the job; it links nothing.".to_owned());
    }
    if rare.is_some_and(|rare| rare.parent_queue.is_some()) {
        notes.push("It joins its parent, which must wait in its queue or for children.".to_owned());
    }
    if rare.is_some_and(|rare| rare.timestamp.is_some()) {
        notes.push("Its `timestamp` stays the one it had, and `delay` counts from there.".to_owned());
    }
    notes
}

/// The whole payload of a logged add, as text that can be changed.
pub fn data_text(data: Option<&[u8]>) -> Text {
    let data = data.unwrap_or_default();
    let text = payload::edit(data);
    Text { complete: text.is_some() || data.is_empty(), text: text.unwrap_or_default(), bytes: data.len() as u64 }
}

/// A command from its JSON text.
pub fn read(text: &str, origin: Option<u64>) -> AddRead {
    let blank = AddRead { revision: 0, add: None, error: None, ignored: Vec::new() };
    let command = match payload::parse(text, None) {
        Ok(command) => command,
        Err(error) => return AddRead { error: Some(error.to_string().replace("The data is", "This is")), ..blank },
    };
    let Ok(Value::Map(members)) = Raw::parse(&command).map(Raw::value) else {
        return AddRead { error: Some("The command must be an object.".to_owned()), ..blank };
    };
    let names = members.iter().map(|(name, _)| String::from_utf8_lossy(&name).into_owned());
    let ignored = names.filter(|name| !OPTIONS.contains(&name.as_str())).collect();
    let added = match decode(&command).result {
        Ok(Request::Engine(Command::Push { add, .. })) => Ok(add),
        Ok(_) => Err("cmd must be \"PUSH\"".to_owned()),
        Err(error) if error.kind == DecodeErrorKind::Invalid => Err(error.text),
        Err(_) => Err("cmd must be \"PUSH\"".to_owned()),
    };
    match added {
        Ok(add) => {
            let data_text = Some(add.data.as_deref().and_then(payload::edit).unwrap_or_default());
            AddRead { add: Some(NewAdd { origin, data_text, ..draft::options(&add) }), ignored, ..blank }
        }
        Err(error) => AddRead { error: Some(error), ignored, ..blank },
    }
}

/// What would become of the add now.
///
/// # Errors
/// The broker could not be asked.
pub async fn dry_run(broker: &BrokerHandle, new: &NewAdd) -> Result<DryRun, Failure> {
    match add(broker, new).await? {
        Ok(add) => {
            let foreseen = look(broker, move |core| dry_run::foresee(core, &add)).await?;
            Ok(dry_run::view(new, &foreseen))
        }
        Err(why) => {
            let (revision, now) = look(broker, |core| (core.revision, core.now.0)).await?;
            Ok(dry_run::invalid(revision, now, why))
        }
    }
}

/// The add, or what is wrong with it, as a client would be told.
///
/// # Errors
/// The broker could not be asked for the payload that the add was made from.
pub async fn add(broker: &BrokerHandle, new: &NewAdd) -> Result<Result<Add, String>, Failure> {
    Ok(data(broker, new).await?.and_then(|data| send::add(new, data.as_deref())))
}

/// The payload of an add, or what is wrong with it.
///
/// # Errors
/// The broker could not be asked for the payload that it was made from.
pub async fn data(broker: &BrokerHandle, new: &NewAdd) -> Result<Result<Option<Payload>, String>, Failure> {
    let origin = match new.origin {
        Some(seq) => look(broker, move |core| origin(core, seq)).await?,
        None => Ok(None),
    };
    // A payload that is written in full needs no other, whatever became of the one it was made from.
    Ok(match &new.data_text {
        Some(text) => typed(text, origin.ok().flatten().as_deref()),
        None => origin,
    })
}

/// The payload of the add that the draft was made from, or why it is not there.
pub fn origin(core: &CoreView<'_>, seq: u64) -> Result<Option<Payload>, String> {
    let Some(entry) = core.activity.get(seq) else { return Err(format!("Add #{seq} is not in the log any more.")) };
    let data = whole_data(core, entry);
    let can = can_replay(entry, data.is_some());
    can.reason.map_or(Ok(data), Err)
}

/// A payload from its text, none for an empty text. What was not changed of `base` stays as it is there.
///
/// # Errors
/// Not JSON, or too large, as a client would be told.
pub fn typed(text: &str, base: Option<&[u8]>) -> Result<Option<Payload>, String> {
    if text.len() > DATA_TEXT_BYTES_MAX {
        return Err("Job data too large (max 10MB)".to_owned());
    }
    if text.trim().is_empty() {
        return Ok(None);
    }
    payload::parse(text, base).map(|bytes| Some(Payload::from(bytes))).map_err(|error| error.to_string())
}

#[cfg(test)]
#[path = "compose_tests.rs"]
mod compose_tests;
