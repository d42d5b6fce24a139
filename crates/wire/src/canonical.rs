//! Canonical JSON of a MessagePack payload, and its SHA-256: the deduplication key of `hash: true`.
//!
//! The form is RFC 8785: members sorted by the UTF-16 code units of their names, ECMAScript number and text forms, no
//! white space. Added for what MessagePack has beyond JSON:
//!
//! - integers are written with all their digits, so that two of them never merge;
//! - `undefined` members are left out, `undefined` in arrays is null, and so are NaN and the infinities;
//! - binary is the text `data:` + base64; other extension values are the text `ext:<type>:` + base64;
//! - of members with the same name the last one counts.
//!
//! Text that is not UTF-8 has no canonical form and is refused, because replacing bytes would merge different payloads.

use crate::msgpack::read::{Reader, Token, key_text};
use crate::msgpack::{DEPTH_MAX, EXT_UNDEFINED, Malformed};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

/// Why there is no canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalError {
    /// The bytes are not exactly one MessagePack value.
    #[error("payload is not one MessagePack value")]
    Malformed,
    /// A text or member name is not valid UTF-8.
    #[error("payload contains text that is not UTF-8")]
    NotText,
    /// The JSON text would be longer than the caller wants to pay for.
    #[error("canonical JSON is too long")]
    TooLong,
}

impl From<Malformed> for CanonicalError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

/// The canonical JSON text of one MessagePack value. A payload that is `undefined` reads as null.
///
/// # Errors
/// [`CanonicalError`]; `TooLong` as soon as the text has passed `json_bytes_max` bytes by more than one scalar value.
pub fn canonical_json(payload: &[u8], json_bytes_max: usize) -> Result<String, CanonicalError> {
    let mut reader = Reader::new(payload);
    let mut writer = Canonical { json: String::with_capacity(payload.len()), json_bytes_max };
    writer.value(&mut reader, 0)?;
    if reader.rest().is_empty() { Ok(writer.json) } else { Err(CanonicalError::Malformed) }
}

/// The lower-case hexadecimal SHA-256 of the canonical JSON text.
///
/// # Errors
/// [`CanonicalError::Malformed`] and [`CanonicalError::NotText`].
pub fn canonical_hash(payload: &[u8]) -> Result<String, CanonicalError> {
    let json = canonical_json(payload, usize::MAX)?;
    let digest = Sha256::digest(json.as_bytes());
    let hex = |nibble: u8| char::from(b"0123456789abcdef"[usize::from(nibble)]);
    Ok(digest.iter().flat_map(|byte| [hex(byte >> 4), hex(byte & 0x0f)]).collect())
}

/// A member as it stands in the JSON text: its name, and where `"name":value` lies.
struct Member<'a> {
    name: Cow<'a, str>,
    span: Range<usize>,
}

struct Canonical {
    json: String,
    json_bytes_max: usize,
}

impl Canonical {
    fn value(&mut self, reader: &mut Reader<'_>, depth: usize) -> Result<(), CanonicalError> {
        let token = reader.token()?;
        self.token(token, reader, depth)
    }

    fn token<'a>(&mut self, token: Token<'a>, reader: &mut Reader<'a>, depth: usize) -> Result<(), CanonicalError> {
        if self.json.len() > self.json_bytes_max {
            return Err(CanonicalError::TooLong);
        }
        match token {
            Token::Nil | Token::Ext(EXT_UNDEFINED, _) => self.json.push_str("null"),
            Token::Bool(true) => self.json.push_str("true"),
            Token::Bool(false) => self.json.push_str("false"),
            Token::Int(number) => self.json.push_str(&number.to_string()),
            Token::Float(number) if number.is_finite() => {
                self.json.push_str(ryu_js::Buffer::new().format_finite(number));
            }
            Token::Float(_) => self.json.push_str("null"),
            Token::Str(text) => self.text(utf8(text)?),
            Token::Bin(bytes) => self.text(&base64("data:", bytes)),
            Token::Ext(kind, data) => self.text(&base64(&format!("ext:{kind}:"), data)),
            Token::Array(count) => self.array(count, reader, deeper(depth)?)?,
            Token::Map(count) => self.object(count, reader, deeper(depth)?)?,
        }
        Ok(())
    }

    fn array(&mut self, count: u32, reader: &mut Reader<'_>, depth: usize) -> Result<(), CanonicalError> {
        self.json.push('[');
        for index in 0..count {
            if index > 0 {
                self.json.push(',');
            }
            self.value(reader, depth)?;
        }
        self.json.push(']');
        Ok(())
    }

    /// Writes the members in the order in which they come, then puts their texts in order. The count is not believed
    /// until the members have been read, so no space is reserved by it.
    fn object(&mut self, count: u32, reader: &mut Reader<'_>, depth: usize) -> Result<(), CanonicalError> {
        self.json.push('{');
        let start = self.json.len();
        let mut members: Vec<Member<'_>> = Vec::new();
        for _ in 0..count {
            let name = key_text(reader.token()?).ok_or(CanonicalError::Malformed)?;
            let name = match name {
                Cow::Borrowed(text) => Cow::Borrowed(utf8(text)?),
                Cow::Owned(text) => Cow::Owned(utf8(&text)?.to_owned()),
            };
            let member_start = self.json.len();
            let token = reader.token()?;
            if !matches!(token, Token::Ext(EXT_UNDEFINED, _)) {
                self.text(&name);
                self.json.push(':');
                self.token(token, reader, depth)?;
            }
            members.push(Member { name, span: member_start..self.json.len() });
        }
        // A stable sort, so that of equal names the last one sent is the last one here.
        members.sort_by(|a, b| utf16_order(&a.name, &b.name));
        let mut sorted = String::with_capacity(self.json.len() - start + members.len());
        for (index, member) in members.iter().enumerate() {
            let superseded = members.get(index + 1).is_some_and(|next| next.name == member.name);
            if superseded || member.span.is_empty() {
                continue;
            }
            if !sorted.is_empty() {
                sorted.push(',');
            }
            sorted.push_str(&self.json[member.span.clone()]);
        }
        self.json.truncate(start);
        self.json.push_str(&sorted);
        self.json.push('}');
        Ok(())
    }

    fn text(&mut self, text: &str) {
        self.json.push('"');
        for character in text.chars() {
            match character {
                '"' => self.json.push_str("\\\""),
                '\\' => self.json.push_str("\\\\"),
                '\u{8}' => self.json.push_str("\\b"),
                '\t' => self.json.push_str("\\t"),
                '\n' => self.json.push_str("\\n"),
                '\u{c}' => self.json.push_str("\\f"),
                '\r' => self.json.push_str("\\r"),
                '\0'..='\u{1f}' => {
                    self.json.push_str(&format!("\\u{:04x}", u32::from(character)));
                }
                _ => self.json.push(character),
            }
        }
        self.json.push('"');
    }
}

/// A JSON text of `prefix` and the base64 of `bytes`, without its quotation marks.
pub(crate) fn base64(prefix: &str, bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(prefix.len() + bytes.len().div_ceil(3) * 4);
    text.push_str(prefix);
    for group in bytes.chunks(3) {
        let mut bits = [0; 4];
        bits[1..=group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes(bits);
        for position in 0..4 {
            let digit = (bits >> (18 - 6 * position)) & 0x3f;
            let digit = char::from(DIGITS[digit as usize]);
            text.push(if position > group.len() { '=' } else { digit });
        }
    }
    text
}

fn deeper(depth: usize) -> Result<usize, CanonicalError> {
    if depth < DEPTH_MAX { Ok(depth + 1) } else { Err(CanonicalError::Malformed) }
}

/// The order of UTF-16 code units. It is that of the bytes of UTF-8, but that characters beyond U+FFFF (first byte 0xf0 and
/// above) come before U+E000 to U+FFFF (0xee and 0xef).
pub(crate) fn utf16_order(a: &str, b: &str) -> Ordering {
    let rank = |byte: u8| if matches!(byte, 0xee | 0xef) { byte | 0x10 } else { byte };
    a.bytes().map(rank).cmp(b.bytes().map(rank))
}

fn utf8(text: &[u8]) -> Result<&str, CanonicalError> {
    std::str::from_utf8(text).map_err(|_| CanonicalError::NotText)
}
