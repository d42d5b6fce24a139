//! Text to a MessagePack payload, for adds that are written in the window: JSON, and the objects of `edit.rs` for what JSON
//! cannot say. Integers up to 64 bits stay exact, keys keep their order, and a mistake is named with its line and column.
//!
//! With the payload that the text was made from, what was not changed stays as it was, bit for bit: two clients write the
//! same number in different ways.

use super::base64;
use super::merge::write;
use onceover_wire::msgpack::Raw;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// The text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The data is not valid JSON: {0}")]
pub struct ParseError(String);

/// A value as it was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Nil,
    Bool(bool),
    UInt(u64),
    /// Negative.
    Int(i64),
    Float(f64),
    /// Bytes of a text, which may not be UTF-8.
    Str(Box<[u8]>),
    Bin(Box<[u8]>),
    Ext(i8, Box<[u8]>),
    Array(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

/// The payload that `text` describes. `base` is the payload whose text it was before it was changed.
///
/// # Errors
/// The text is not one JSON value, or is nested deeper than 128 levels.
pub fn parse(text: &str, base: Option<&[u8]>) -> Result<Vec<u8>, ParseError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let node = json.deserialize_any(Reading).map_err(|error| ParseError(error.to_string()))?;
    json.end().map_err(|error| ParseError(error.to_string()))?;
    let mut out = Vec::new();
    write(&node, base.and_then(|bytes| Raw::parse(bytes).ok()), &mut out);
    Ok(out)
}

struct Reading;

impl<'de> serde::de::DeserializeSeed<'de> for Reading {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Node, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reading {
    type Value = Node;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Nil)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::UInt(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(u64::try_from(value).map_or(Node::Int(value), Node::UInt))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Str(value.as_bytes().into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(member) = members.next_element_seed(Reading)? {
            items.push(member);
        }
        Ok(Node::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Node, A::Error> {
        let mut pairs = Vec::new();
        while let Some(key) = members.next_key_seed(Reading)? {
            pairs.push((key, members.next_value_seed(Reading)?));
        }
        untagged(pairs).map_err(A::Error::custom)
    }
}

/// What an object stands for.
fn untagged(mut pairs: Vec<(Node, Node)>) -> Result<Node, String> {
    let tag = match &pairs[..] {
        [(Node::Str(name), _)] => std::str::from_utf8(name).unwrap_or_default().to_owned(),
        _ => return Ok(Node::Map(pairs)),
    };
    let bytes = |node: &Node| match node {
        Node::Str(text) => std::str::from_utf8(text).ok().and_then(base64::decode).map(Vec::into_boxed_slice),
        _ => None,
    };
    let value = &pairs[0].1;
    match tag.as_str() {
        "$bytes" => bytes(value).map(Node::Bin).ok_or_else(|| "`$bytes` must be a text in base64".to_owned()),
        "$text" => bytes(value).map(Node::Str).ok_or_else(|| "`$text` must be a text in base64".to_owned()),
        "$ext" => extension(value, bytes)
            .ok_or_else(|| "`$ext` must be a list of a type from -128 to 127 and a text in base64".to_owned()),
        "$number" => number(value).ok_or_else(|| "`$number` must be \"NaN\", \"Infinity\" or \"-Infinity\"".to_owned()),
        "$map" => match std::mem::replace(&mut pairs[0].1, Node::Nil) {
            Node::Array(items) => items.into_iter().map(pair).collect::<Option<Vec<_>>>().map(Node::Map),
            _ => None,
        }
        .ok_or_else(|| "`$map` must be a list of lists of a key, which is a text or a number, and a value".to_owned()),
        _ => Ok(Node::Map(pairs)),
    }
}

fn extension(value: &Node, bytes: impl Fn(&Node) -> Option<Box<[u8]>>) -> Option<Node> {
    let Node::Array(parts) = value else { return None };
    let [kind, content] = &parts[..] else { return None };
    let kind = match kind {
        Node::UInt(kind) => i8::try_from(*kind).ok()?,
        Node::Int(kind) => i8::try_from(*kind).ok()?,
        _ => return None,
    };
    Some(Node::Ext(kind, bytes(content)?))
}

fn number(value: &Node) -> Option<Node> {
    let Node::Str(name) = value else { return None };
    let value = match &**name {
        b"NaN" => f64::NAN,
        b"Infinity" => f64::INFINITY,
        b"-Infinity" => f64::NEG_INFINITY,
        _ => return None,
    };
    Some(Node::Float(value))
}

fn pair(node: Node) -> Option<(Node, Node)> {
    let Node::Array(parts) = node else { return None };
    let [key, value] = <[Node; 2]>::try_from(parts).ok()?;
    matches!(key, Node::Str(_) | Node::UInt(_) | Node::Int(_) | Node::Float(_)).then_some((key, value))
}
