//! A value that was read from text, as MessagePack: in the shortest form where it is new, in the form it had where it is what
//! it was.
//!
//! Members of an object are found by their keys, those of a list by their place; where a list has another length, its
//! beginning and its end are compared.

use super::parse::Node;
use onceover_wire::msgpack::{EXT_UNDEFINED, Raw, Value};
use std::collections::HashMap;

/// Appends the value; `base` is what stood in its place.
pub fn write(node: &Node, base: Option<Raw<'_>>, out: &mut Vec<u8>) {
    if let Some(raw) = base.filter(|raw| same(node, *raw)) {
        out.extend(raw.bytes());
        return;
    }
    match node {
        Node::Nil => out.push(0xc0),
        Node::Bool(value) => out.push(if *value { 0xc3 } else { 0xc2 }),
        Node::UInt(value) => natural(*value, out),
        Node::Int(value) => negative(*value, out),
        Node::Float(value) => tagged(0xcb, &value.to_be_bytes(), out),
        Node::Str(bytes) if bytes.len() < 32 => {
            out.push(0xa0 | bytes.len() as u8);
            out.extend(&**bytes);
        }
        Node::Str(bytes) => counted(0xd9, bytes, out),
        Node::Bin(bytes) => counted(0xc4, bytes, out),
        Node::Ext(kind, bytes) => extension(*kind, bytes, out),
        Node::Array(items) => {
            head(items.len(), 0x90, 0xdc, out);
            items.iter().zip(places(items, base)).for_each(|(item, base)| write(item, base, out));
        }
        Node::Map(pairs) => {
            head(pairs.len(), 0x80, 0xde, out);
            let mut members = Members::of(base);
            for (key, value) in pairs {
                let (base_key, base_value) = members.take(key).unzip();
                write(key, base_key, out);
                write(value, base_value, out);
            }
        }
    }
}

/// Whether a value says the same as what stood in its place.
fn same(node: &Node, raw: Raw<'_>) -> bool {
    match (node, raw.value()) {
        (Node::Nil, Value::Nil) => true,
        (Node::Bool(value), Value::Bool(base)) => *value == base,
        (Node::UInt(value), Value::Int(base)) => i128::from(*value) == base,
        (Node::Int(value), Value::Int(base)) => i128::from(*value) == base,
        (Node::Float(value), Value::Float(base)) if value.is_nan() => base.is_nan(),
        (Node::Float(value), Value::Float(base)) if raw.bytes()[0] == 0xca => {
            (*value as f32).to_bits() == (base as f32).to_bits()
        }
        (Node::Float(value), Value::Float(base)) => value.to_bits() == base.to_bits(),
        (Node::Str(text), Value::Str(base)) => **text == *base,
        (Node::Bin(bytes), Value::Bin(base)) => **bytes == *base,
        (Node::Ext(kind, bytes), Value::Ext(base, content)) => *kind == base && **bytes == *content,
        (Node::Ext(EXT_UNDEFINED, bytes), Value::Absent) => raw.bytes().ends_with(bytes),
        (Node::Array(items), Value::Array(base)) => {
            items.len() == base.len() && items.iter().zip(base.iter()).all(|(item, base)| same(item, base))
        }
        (Node::Map(pairs), Value::Map(base)) => {
            let is_same = |((key, value), (base_key, base)): (&(Node, Node), (Raw<'_>, Raw<'_>))| {
                same(key, base_key) && same(value, base)
            };
            pairs.len() == base.len() && pairs.iter().zip(base.spans()).all(is_same)
        }
        _ => false,
    }
}

/// What stood in the place of each item of a list.
fn places<'a>(items: &[Node], base: Option<Raw<'a>>) -> Vec<Option<Raw<'a>>> {
    let Some(Value::Array(base)) = base.map(Raw::value) else { return vec![None; items.len()] };
    let base: Vec<Raw<'a>> = base.iter().collect();
    if base.len() == items.len() {
        return base.into_iter().map(Some).collect();
    }
    let least = base.len().min(items.len());
    let begin = items.iter().zip(&base).take_while(|(item, base)| same(item, **base)).count();
    let end = items.iter().rev().zip(base.iter().rev()).take_while(|(item, base)| same(item, **base)).count();
    let end = end.min(least - begin);
    let middle = vec![None; items.len() - begin - end];
    let tail = base[base.len() - end..].iter().copied().map(Some);
    base[..begin].iter().copied().map(Some).chain(middle).chain(tail).collect()
}

/// The members of an object as it was, by their keys; of equal keys in their order.
struct Members<'a>(HashMap<&'a [u8], Vec<(Raw<'a>, Raw<'a>)>>);

impl<'a> Members<'a> {
    fn of(base: Option<Raw<'a>>) -> Members<'a> {
        let mut members: HashMap<&[u8], Vec<_>> = HashMap::new();
        if let Some(Value::Map(map)) = base.map(Raw::value) {
            for (key, value) in map.spans() {
                if let Value::Str(name) = key.value() {
                    members.entry(name).or_default().push((key, value));
                }
            }
            members.values_mut().for_each(|found| found.reverse());
        }
        Members(members)
    }

    fn take(&mut self, key: &Node) -> Option<(Raw<'a>, Raw<'a>)> {
        let Node::Str(name) = key else { return None };
        self.0.get_mut(&**name)?.pop()
    }
}

fn natural(value: u64, out: &mut Vec<u8>) {
    match (u8::try_from(value), u16::try_from(value), u32::try_from(value)) {
        (Ok(small @ 0..=0x7f), _, _) => out.push(small),
        (Ok(byte), _, _) => out.extend([0xcc, byte]),
        (_, Ok(short), _) => tagged(0xcd, &short.to_be_bytes(), out),
        (_, _, Ok(word)) => tagged(0xce, &word.to_be_bytes(), out),
        _ => tagged(0xcf, &value.to_be_bytes(), out),
    }
}

fn negative(value: i64, out: &mut Vec<u8>) {
    match (i8::try_from(value), i16::try_from(value), i32::try_from(value)) {
        (Ok(small @ -32..), _, _) => out.push(small as u8),
        (Ok(byte), _, _) => out.extend([0xd0, byte as u8]),
        (_, Ok(short), _) => tagged(0xd1, &short.to_be_bytes(), out),
        (_, _, Ok(word)) => tagged(0xd2, &word.to_be_bytes(), out),
        _ => tagged(0xd3, &value.to_be_bytes(), out),
    }
}

fn extension(kind: i8, bytes: &[u8], out: &mut Vec<u8>) {
    match bytes.len() {
        length @ (1 | 2 | 4 | 8 | 16) => out.push(0xd4 + length.trailing_zeros() as u8),
        length => length_head(0xc7, length, out),
    }
    out.push(kind as u8);
    out.extend(bytes);
}

fn counted(first: u8, bytes: &[u8], out: &mut Vec<u8>) {
    length_head(first, bytes.len(), out);
    out.extend(bytes);
}

/// A head with a length of one, two or four bytes; `first` is that of one byte.
fn length_head(first: u8, length: usize, out: &mut Vec<u8>) {
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(byte), _) => out.extend([first, byte]),
        (_, Ok(short)) => tagged(first + 1, &short.to_be_bytes(), out),
        _ => tagged(first + 2, &(length as u32).to_be_bytes(), out),
    }
}

/// The head of a list or an object.
fn head(count: usize, short: u8, medium: u8, out: &mut Vec<u8>) {
    match count {
        0..=15 => out.push(short | count as u8),
        16..=0xffff => tagged(medium, &(count as u16).to_be_bytes(), out),
        _ => tagged(medium + 1, &(count as u32).to_be_bytes(), out),
    }
}

fn tagged(head: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(head);
    out.extend(bytes);
}
