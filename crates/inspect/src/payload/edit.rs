//! A payload as text that can be changed and read back (`parse.rs`). It is JSON from end to end: what JSON cannot say is an
//! object with one member whose name begins with `$`.
//!
//! `{"$bytes": "AQID"}` bytes · `{"$ext": [5, "CQ=="]}` an extension with its type · `{"$text": "Yf8="}` a text that is not
//! UTF-8 · `{"$number": "NaN"}` a number that JSON lacks · `{"$map": [[5, "five"]]}` an object with keys that are not text, or
//! one that would be read as one of these.

use super::base64;
use super::show::quote;
use onceover_wire::msgpack::{EXT_UNDEFINED, Raw, Value};
use std::fmt::Write as _;

/// Names that stand for something else than a member.
pub const TAGS: [&str; 5] = ["$bytes", "$ext", "$text", "$number", "$map"];
/// First byte of a number of 32 bits.
const FLOAT32: u8 = 0xca;

/// The text, over several lines. None when the payload is not one MessagePack value.
pub fn edit(payload: &[u8]) -> Option<String> {
    let raw = Raw::parse(payload).ok()?;
    let mut out = String::with_capacity(payload.len() * 2);
    value(&mut out, raw, 0);
    Some(out)
}

fn value(out: &mut String, raw: Raw<'_>, depth: usize) {
    match raw.value() {
        Value::Nil => out.push_str("null"),
        Value::Bool(value) => put(out, format_args!("{value}")),
        Value::Int(value) => put(out, format_args!("{value}")),
        Value::Float(value) if !value.is_finite() => put(out, format_args!("{{\"$number\": \"{}\"}}", named(value))),
        // The shortest text of the width it has: 0.1 of 32 bits is not 0.1 of 64.
        Value::Float(value) if raw.bytes()[0] == FLOAT32 => put(out, format_args!("{:?}", value as f32)),
        Value::Float(value) => put(out, format_args!("{value:?}")),
        Value::Str(bytes) => text(out, bytes),
        Value::Bin(bytes) => put(out, format_args!("{{\"$bytes\": \"{}\"}}", base64::encode(bytes))),
        Value::Absent => extension(out, EXT_UNDEFINED, undefined(raw.bytes())),
        Value::Ext(kind, bytes) => extension(out, kind, bytes),
        Value::Array(items) => list(out, depth, ('[', ']'), items.iter(), |out, item| value(out, item, depth + 1)),
        Value::Map(map) if map.spans().all(|(key, _)| is_plain(key)) && !looks_tagged(raw) => {
            list(out, depth, ('{', '}'), map.spans(), |out, (key, member)| {
                value(out, key, depth + 1);
                out.push_str(": ");
                value(out, member, depth + 1);
            });
        }
        Value::Map(map) => {
            out.push_str("{\"$map\": ");
            list(out, depth, ('[', ']'), map.spans(), |out, (key, member)| {
                out.push('[');
                value(out, key, depth + 1);
                out.push_str(", ");
                value(out, member, depth + 1);
                out.push(']');
            });
            out.push('}');
        }
    }
}

fn list<T>(
    out: &mut String,
    depth: usize,
    (open, close): (char, char),
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    out.push(open);
    let mut empty = true;
    for item in items {
        if !empty {
            out.push(',');
        }
        empty = false;
        line(out, depth + 1);
        write(out, item);
    }
    if !empty {
        line(out, depth);
    }
    out.push(close);
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a String cannot fail");
}

fn text(out: &mut String, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => quote(out, text),
        Err(_) => put(out, format_args!("{{\"$text\": \"{}\"}}", base64::encode(bytes))),
    }
}

fn extension(out: &mut String, kind: i8, bytes: &[u8]) {
    put(out, format_args!("{{\"$ext\": [{kind}, \"{}\"]}}", base64::encode(bytes)));
}

/// The content of an extension of type 0, behind its head.
fn undefined(bytes: &[u8]) -> &[u8] {
    let head = match bytes[0] {
        0xc7 => 3,
        0xc8 => 4,
        0xc9 => 6,
        _ => 2,
    };
    &bytes[head..]
}

fn named(value: f64) -> &'static str {
    match value {
        _ if value.is_nan() => "NaN",
        _ if value > 0.0 => "Infinity",
        _ => "-Infinity",
    }
}

fn is_plain(key: Raw<'_>) -> bool {
    matches!(key.value(), Value::Str(bytes) if std::str::from_utf8(bytes).is_ok())
}

/// Whether an object would be read as something else than what it is.
fn looks_tagged(raw: Raw<'_>) -> bool {
    let Value::Map(map) = raw.value() else { return false };
    let mut keys = map.spans().map(|(key, _)| key.value());
    match (keys.next(), keys.next()) {
        (Some(Value::Str(name)), None) => TAGS.iter().any(|tag| tag.as_bytes() == name),
        _ => false,
    }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod edit_tests;
