//! The older envelope: protocol-2 clients send a job's name inside its data and look for it there.
//!
//! [`lift`] takes the name out of the data of an add, [`restore`] puts it back into what such a client is sent. Both
//! work on the raw bytes of the map; the other members are copied as they are.

use crate::msgpack::write;
use crate::msgpack::{Map, Raw, Value};
use bytes::BytesMut;

const NAME: &[u8] = b"name";
/// Where protocol-2 clients put data that is not a map.
const PAYLOAD: &str = "payload";

/// Finds a name in the data of an add that has none of its own, and the data without it.
///
/// None when there is no `name` member or it is not text: then it is ordinary data.
#[must_use]
pub fn lift<'a>(map: Map<'a>) -> Option<(&'a [u8], BytesMut)> {
    let is_name = |key: &Raw<'_>| key.value() == Value::Str(NAME);
    let names: Vec<Raw<'_>> = map.spans().filter(|(key, _)| is_name(key)).map(|(_, value)| value).collect();
    let Some(Value::Str(name)) = names.last().map(|last| last.value()) else { return None };
    let mut data = BytesMut::new();
    write::map(&mut data, map.len() - names.len());
    for (key, value) in map.spans().filter(|(key, _)| !is_name(key)) {
        write::raw(&mut data, key.bytes());
        write::raw(&mut data, value.bytes());
    }
    Some((name, data))
}

/// Appends job data as a protocol-2 client expects it: the name is a member of the map, and what is not a map is
/// wrapped as `{name, payload}`.
///
/// Data that has a `name` of its own stays as it is, because overwriting it would lose a value of the user's.
pub fn restore(out: &mut BytesMut, name: &str, data: Option<&[u8]>) {
    let value = data.and_then(|data| Raw::parse(data).ok()).map_or(Value::Absent, Raw::value);
    let data = data.unwrap_or_default();
    match value {
        Value::Map(map) if map.get("name").is_some() => write::raw(out, data),
        Value::Map(map) => {
            write::map(out, map.len() + 1);
            write::str_bytes(out, NAME);
            write::str(out, name);
            for (key, value) in map.spans() {
                write::raw(out, key.bytes());
                write::raw(out, value.bytes());
            }
        }
        Value::Absent => {
            write::map(out, 1);
            write::str_bytes(out, NAME);
            write::str(out, name);
        }
        Value::Nil
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Str(_)
        | Value::Bin(_)
        | Value::Ext(..)
        | Value::Array(_) => {
            write::map(out, 2);
            write::str_bytes(out, NAME);
            write::str(out, name);
            write::str(out, PAYLOAD);
            write::raw(out, data);
        }
    }
}
