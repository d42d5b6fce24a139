//! Whether a word stands in a payload: in its texts and keys without regard to case, or in the digits of its numbers.
//! Reads the bytes as they are and allocates nothing, so that a page can search thousands of payloads.

use super::read::{Item, Reader};
use std::io::Write as _;

/// A word to look for, prepared once.
#[derive(Clone, Debug)]
pub struct Needle {
    lower: Vec<u8>,
    number: bool,
    hex: bool,
}

impl Needle {
    /// `text` in any case. Only ASCII letters match in the other case.
    pub fn new(text: &str) -> Needle {
        let lower = text.to_ascii_lowercase().into_bytes();
        let number = !lower.is_empty() && lower.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.'));
        let hex = lower.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
        Needle { lower, number, hex }
    }

    /// Whether a generated id can hold it at all; asking that first spares writing out the id.
    pub fn can_be_in_uuid(&self) -> bool {
        self.hex
    }

    /// Whether it stands in `text`.
    pub fn is_in(&self, text: &[u8]) -> bool {
        let Some((first, rest)) = self.lower.split_first() else { return true };
        let Some(last_start) = text.len().checked_sub(self.lower.len()) else { return false };
        (0..=last_start).any(|at| {
            text[at].to_ascii_lowercase() == *first && text[at + 1..at + self.lower.len()].eq_ignore_ascii_case(rest)
        })
    }
}

/// Whether the word stands in the payload, as far as the payload can be read.
pub fn contains(payload: &[u8], needle: &Needle) -> bool {
    let mut reader = Reader::new(payload);
    let mut digits = [0_u8; 32];
    while !reader.is_empty() {
        let Ok(item) = reader.next() else { return false };
        let found = match item {
            Item::Str(text) => needle.is_in(text),
            Item::Int(value) if needle.number => printed(&mut digits, format_args!("{value}"), needle),
            Item::UInt(value) if needle.number => printed(&mut digits, format_args!("{value}"), needle),
            Item::F32(value) if needle.number => printed(&mut digits, format_args!("{value}"), needle),
            Item::F64(value) if needle.number => printed(&mut digits, format_args!("{value}"), needle),
            Item::Bool(true) => needle.lower == b"true",
            Item::Bool(false) => needle.lower == b"false",
            Item::Nil => needle.lower == b"null",
            Item::Int(_) | Item::UInt(_) | Item::F32(_) | Item::F64(_) => false,
            Item::Bin(_) | Item::Ext(..) | Item::Array(_) | Item::Map(_) => false,
        };
        if found {
            return true;
        }
    }
    false
}

/// Numbers whose digits are longer than the buffer are not found by a word.
fn printed(buffer: &mut [u8; 32], number: std::fmt::Arguments<'_>, needle: &Needle) -> bool {
    let mut room = &mut buffer[..];
    if room.write_fmt(number).is_err() {
        return false;
    }
    let unused = room.len();
    needle.is_in(&buffer[..32 - unused])
}
