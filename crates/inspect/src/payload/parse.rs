//! JSON text to a MessagePack payload, for adds that are written in the window. Integers up to 64 bits stay exact, keys
//! keep their order, and a mistake is named with its line and column.

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// The text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The data is not valid JSON: {0}")]
pub struct ParseError(String);

/// The payload that `text` describes.
///
/// # Errors
/// The text is not one JSON value, or is nested deeper than 128 levels.
pub fn parse(text: &str) -> Result<Vec<u8>, ParseError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let bytes = json.deserialize_any(Packed).map_err(|error| ParseError(error.to_string()))?;
    json.end().map_err(|error| ParseError(error.to_string()))?;
    Ok(bytes)
}

/// Writes each value as MessagePack while it is read; a container's head is known only after its members.
struct Packed;

impl<'de> serde::de::DeserializeSeed<'de> for Packed {
    type Value = Vec<u8>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Vec<u8>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Packed {
    type Value = Vec<u8>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Vec<u8>, E> {
        Ok(vec![0xc0])
    }

    fn visit_bool<E>(self, value: bool) -> Result<Vec<u8>, E> {
        Ok(vec![if value { 0xc3 } else { 0xc2 }])
    }

    fn visit_u64<E>(self, value: u64) -> Result<Vec<u8>, E> {
        let mut out = Vec::new();
        match (u8::try_from(value), u16::try_from(value), u32::try_from(value)) {
            (Ok(small @ 0..=0x7f), _, _) => out.push(small),
            (Ok(byte), _, _) => out.extend([0xcc, byte]),
            (_, Ok(short), _) => put(&mut out, 0xcd, &short.to_be_bytes()),
            (_, _, Ok(word)) => put(&mut out, 0xce, &word.to_be_bytes()),
            _ => put(&mut out, 0xcf, &value.to_be_bytes()),
        }
        Ok(out)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Vec<u8>, E> {
        if let Ok(natural) = u64::try_from(value) {
            return self.visit_u64(natural);
        }
        let mut out = Vec::new();
        match (i8::try_from(value), i16::try_from(value), i32::try_from(value)) {
            (Ok(small @ -32..), _, _) => out.push(small as u8),
            (Ok(byte), _, _) => put(&mut out, 0xd0, &byte.to_be_bytes()),
            (_, Ok(short), _) => put(&mut out, 0xd1, &short.to_be_bytes()),
            (_, _, Ok(word)) => put(&mut out, 0xd2, &word.to_be_bytes()),
            _ => put(&mut out, 0xd3, &value.to_be_bytes()),
        }
        Ok(out)
    }

    fn visit_f64<E>(self, value: f64) -> Result<Vec<u8>, E> {
        let mut out = Vec::new();
        put(&mut out, 0xcb, &value.to_be_bytes());
        Ok(out)
    }

    fn visit_str<E>(self, value: &str) -> Result<Vec<u8>, E> {
        let mut out = Vec::with_capacity(value.len() + 5);
        match value.len() {
            length @ 0..=31 => out.push(0xa0 | length as u8),
            length @ 32..=0xff => out.extend([0xd9, length as u8]),
            length @ 0x100..=0xffff => put(&mut out, 0xda, &(length as u16).to_be_bytes()),
            length => put(&mut out, 0xdb, &(length as u32).to_be_bytes()),
        }
        out.extend_from_slice(value.as_bytes());
        Ok(out)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> Result<Vec<u8>, A::Error> {
        let (mut count, mut body) = (0, Vec::new());
        while let Some(member) = members.next_element_seed(Packed)? {
            body.extend(member);
            count += 1;
        }
        Ok(container(count, 0x90, 0xdc, body))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Vec<u8>, A::Error> {
        let (mut count, mut body) = (0, Vec::new());
        while let Some(key) = members.next_key_seed(Packed)? {
            body.extend(key);
            body.extend(members.next_value_seed(Packed)?);
            count += 1;
        }
        Ok(container(count, 0x80, 0xde, body))
    }
}

/// The head of an array or map in its shortest form, then its members.
fn container(count: u32, short: u8, medium: u8, body: Vec<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 5);
    match count {
        0..=15 => out.push(short | count as u8),
        16..=0xffff => put(&mut out, medium, &(count as u16).to_be_bytes()),
        _ => put(&mut out, medium + 1, &count.to_be_bytes()),
    }
    out.extend(body);
    out
}

fn put(out: &mut Vec<u8>, head: u8, bytes: &[u8]) {
    out.push(head);
    out.extend_from_slice(bytes);
}
