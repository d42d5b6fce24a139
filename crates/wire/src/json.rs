//! MessagePack as JSON and JSON as MessagePack, for the HTTP interface and for webhooks.
//!
//! Members keep their order. What JSON cannot say is written as JavaScript would: `undefined` members are left out and
//! `undefined` elsewhere is null, as are NaN and the infinities; binary is its base64 behind `data:`, another extension
//! its base64 behind `ext:<type>:`. Bytes that are not UTF-8 are replaced, because a text for people is better than none.

use crate::canonical::base64;
use crate::msgpack::{Raw, Value, write};
use bytes::BytesMut;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use std::fmt;

/// The largest integer up to which a double counts exactly.
const EXACT: u64 = 1 << 53;

/// A MessagePack value that is written as JSON.
#[derive(Clone, Copy, Debug)]
pub struct AsJson<'a>(pub Raw<'a>);

impl Serialize for AsJson<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0.value() {
            Value::Absent | Value::Nil => to.serialize_unit(),
            Value::Bool(value) => to.serialize_bool(value),
            // Both signs: a tree holds 64 bits of either, and no more can come.
            Value::Int(value) => match i64::try_from(value) {
                Ok(value) => to.serialize_i64(value),
                Err(_) => to.serialize_u64(value as u64),
            },
            // JSON has one kind of number, and clients count with integers where a double holds one.
            Value::Float(value) if value.fract() == 0.0 && value.abs() <= EXACT as f64 => {
                to.serialize_i64(value as i64)
            }
            Value::Float(value) => to.serialize_f64(value),
            Value::Str(text) => to.serialize_str(&String::from_utf8_lossy(text)),
            Value::Bin(bytes) => to.serialize_str(&base64("data:", bytes)),
            Value::Ext(kind, bytes) => to.serialize_str(&base64(&format!("ext:{kind}:"), bytes)),
            Value::Array(items) => {
                let mut list = to.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(&AsJson(item)))?;
                list.end()
            }
            Value::Map(pairs) => {
                let mut map = to.serialize_map(None)?;
                for (name, value) in pairs.iter().filter(|(_, value)| !value.is_undefined()) {
                    map.serialize_entry(&String::from_utf8_lossy(&name), &AsJson(value))?;
                }
                map.end()
            }
        }
    }
}

/// The JSON text of one MessagePack value. Bytes that are none read as null.
#[must_use]
pub fn to_json(value: &[u8]) -> String {
    let raw = Raw::parse(value).ok();
    raw.and_then(|raw| serde_json::to_string(&AsJson(raw)).ok()).unwrap_or_else(|| "null".to_owned())
}

/// The same as a tree; bytes that are none are null.
#[must_use]
pub fn to_tree(value: &[u8]) -> serde_json::Value {
    let raw = Raw::parse(value).ok();
    raw.and_then(|raw| serde_json::to_value(AsJson(raw)).ok()).unwrap_or_default()
}

/// One JSON value as MessagePack.
///
/// # Errors
/// The text is not exactly one JSON value, or is nested deeper than 128 levels.
pub fn from_json(text: &[u8]) -> Result<BytesMut, serde_json::Error> {
    let mut out = BytesMut::with_capacity(text.len());
    let mut json = serde_json::Deserializer::from_slice(text);
    json.deserialize_any(Writing(&mut out))?;
    json.end()?;
    Ok(out)
}

/// Appends a tree of JSON.
pub fn write_json(out: &mut BytesMut, value: &serde_json::Value) {
    value.deserialize_any(Writing(out)).expect("a tree in memory can be written as it stands");
}

/// Appends what it is shown.
struct Writing<'o>(&'o mut BytesMut);

impl<'de> DeserializeSeed<'de> for Writing<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Writing<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        write::nil(self.0);
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        write::bool(self.0, value);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        match i64::try_from(value) {
            Ok(value) => integer(self.0, value),
            Err(_) => write::uint64(self.0, value),
        }
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        integer(self.0, value);
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        write::float(self.0, value);
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        write::str(self.0, text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let start = begin(self.0, 0xdd);
        let mut count = 0_u32;
        while items.next_element_seed(Writing(self.0))?.is_some() {
            count += 1;
        }
        end(self.0, start, count);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let start = begin(self.0, 0xdf);
        let mut count = 0_u32;
        while members.next_key_seed(Writing(self.0))?.is_some() {
            members.next_value_seed(Writing(self.0))?;
            count = count.checked_add(1).ok_or_else(|| A::Error::custom("too many members"))?;
        }
        end(self.0, start, count);
        Ok(())
    }
}

/// As JavaScript clients do: beyond 32 bits a double, so that their like read no BigInt; beyond 2^53 every digit.
fn integer(out: &mut BytesMut, value: i64) {
    if value.unsigned_abs() <= EXACT { write::int(out, value) } else { write::int64(out, value) }
}

/// Room for a header whose number is not known yet.
fn begin(out: &mut BytesMut, tag: u8) -> usize {
    out.extend_from_slice(&[tag, 0, 0, 0, 0]);
    out.len() - 4
}

fn end(out: &mut BytesMut, at: usize, count: u32) {
    out[at..at + 4].copy_from_slice(&count.to_be_bytes());
}
