//! Reading: [`Reader`], the span [`Raw`] of one walked value, and what it shows ([`Value`]).
//!
//! Guarantees are stated in the parent module. It deliberately does not decide what a field may hold: that is the
//! decoder's business.

use super::{DEPTH_MAX, EXT_UNDEFINED, Malformed};
use std::borrow::Cow;

/// One step into a value: scalars as they are, containers by their element count with the elements to follow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Token<'a> {
    /// `nil`.
    Nil,
    /// A boolean.
    Bool(bool),
    /// Any integer encoding, up to the full range of u64 and i64.
    Int(i128),
    /// float32 or float64.
    Float(f64),
    /// Text, not checked for UTF-8.
    Str(&'a [u8]),
    /// Binary.
    Bin(&'a [u8]),
    /// An extension value and its type.
    Ext(i8, &'a [u8]),
    /// An array and its number of elements.
    Array(u32),
    /// A map and its number of pairs.
    Map(u32),
}

/// A cursor over bytes of unknown quality.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What has not been read yet.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Reads one token. After an array or map its elements (keys and values alternating) follow.
    ///
    /// # Errors
    /// [`Malformed`] when the bytes end too early or the type byte is unassigned (0xc1).
    // Always inlined: whoever only wants to know what kind it is, or how long, does not pay for the value.
    #[inline(always)]
    pub fn token(&mut self) -> Result<Token<'a>, Malformed> {
        let tag = self.byte()?;
        Ok(match tag {
            0x00..=0x7f => Token::Int(i128::from(tag)),
            0x80..=0x8f => Token::Map(u32::from(tag & 0x0f)),
            0x90..=0x9f => Token::Array(u32::from(tag & 0x0f)),
            0xa0..=0xbf => Token::Str(self.take(usize::from(tag & 0x1f))?),
            0xc0 => Token::Nil,
            0xc1 => return Err(Malformed),
            0xc2 => Token::Bool(false),
            0xc3 => Token::Bool(true),
            0xc4..=0xc6 => {
                let length = self.length(tag - 0xc4)?;
                Token::Bin(self.take(length)?)
            }
            0xc7..=0xc9 => {
                let length = self.length(tag - 0xc7)?;
                self.ext(length)?
            }
            0xca => Token::Float(f64::from(f32::from_be_bytes(self.array()?))),
            0xcb => Token::Float(f64::from_be_bytes(self.array()?)),
            0xcc => Token::Int(i128::from(self.byte()?)),
            0xcd => Token::Int(i128::from(u16::from_be_bytes(self.array()?))),
            0xce => Token::Int(i128::from(u32::from_be_bytes(self.array()?))),
            0xcf => Token::Int(i128::from(u64::from_be_bytes(self.array()?))),
            0xd0 => Token::Int(i128::from(i8::from_be_bytes(self.array()?))),
            0xd1 => Token::Int(i128::from(i16::from_be_bytes(self.array()?))),
            0xd2 => Token::Int(i128::from(i32::from_be_bytes(self.array()?))),
            0xd3 => Token::Int(i128::from(i64::from_be_bytes(self.array()?))),
            0xd4..=0xd8 => self.ext(1 << (tag - 0xd4))?,
            0xd9..=0xdb => {
                let length = self.length(tag - 0xd9)?;
                Token::Str(self.take(length)?)
            }
            0xdc => Token::Array(u32::from(u16::from_be_bytes(self.array()?))),
            0xdd => Token::Array(u32::from_be_bytes(self.array()?)),
            0xde => Token::Map(u32::from(u16::from_be_bytes(self.array()?))),
            0xdf => Token::Map(u32::from_be_bytes(self.array()?)),
            0xe0..=0xff => Token::Int(i128::from(tag as i8)),
        })
    }

    /// Walks over one value, whatever it contains, and returns its span.
    ///
    /// # Errors
    /// [`Malformed`] also for nesting beyond [`DEPTH_MAX`] and for map keys that are not text, number, boolean or nil.
    pub fn raw(&mut self) -> Result<Raw<'a>, Malformed> {
        self.raw_within(DEPTH_MAX)
    }

    #[inline]
    fn raw_within(&mut self, depth_left: usize) -> Result<Raw<'a>, Malformed> {
        let start = self.rest;
        self.walk(depth_left)?;
        let walked_bytes = start.len() - self.rest.len();
        Ok(Raw(&start[..walked_bytes]))
    }

    /// Walks over one pair of a map, which counts as the outermost one: its key, if that is text, and its value.
    ///
    /// # Errors
    /// [`Malformed`] as for [`Reader::raw`], and for a key that cannot be one.
    #[inline]
    pub fn pair(&mut self) -> Result<(Option<&'a [u8]>, Raw<'a>), Malformed> {
        let name = match self.short_text() {
            Some(name) => Some(name),
            None => self.other_key()?,
        };
        Ok((name, self.raw_within(DEPTH_MAX - 1)?))
    }

    /// A text of at most 31 bytes, as all names of fields are; none, and nothing is read, when something else comes next.
    #[inline]
    pub fn short_text(&mut self) -> Option<&'a [u8]> {
        let (tag @ 0xa0..=0xbf, rest) = self.rest.split_first()? else { return None };
        let (text, rest) = rest.split_at_checked(usize::from(tag & 0x1f))?;
        self.rest = rest;
        Some(text)
    }

    /// A key, which has a name if it is text.
    fn other_key(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        match self.token()? {
            Token::Str(name) => Ok(Some(name)),
            other if is_key(&other) => Ok(None),
            _ => Err(Malformed),
        }
    }

    /// Walks over one value. The recursion is bounded by `depth_left`, not by the input.
    #[inline]
    fn walk(&mut self, depth_left: usize) -> Result<(), Malformed> {
        match self.short_text() {
            Some(_) => Ok(()),
            None => self.walk_other(depth_left),
        }
    }

    fn walk_other(&mut self, depth_left: usize) -> Result<(), Malformed> {
        let (count, is_map) = match self.token()? {
            Token::Array(count) => (count, false),
            Token::Map(count) => (count, true),
            Token::Nil | Token::Bool(_) | Token::Int(_) | Token::Float(_) => return Ok(()),
            Token::Str(_) | Token::Bin(_) | Token::Ext(..) => return Ok(()),
        };
        let depth_left = depth_left.checked_sub(1).ok_or(Malformed)?;
        for _ in 0..count {
            if is_map && self.short_text().is_none() {
                self.other_key()?;
            }
            self.walk(depth_left)?;
        }
        Ok(())
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        let (first, rest) = self.rest.split_first().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*first)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (first, rest) = self.rest.split_first_chunk::<N>().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*first)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    /// A length field of 1, 2 or 4 bytes, for `width` 0, 1 or 2.
    fn length(&mut self, width: u8) -> Result<usize, Malformed> {
        Ok(match width {
            0 => usize::from(self.byte()?),
            1 => usize::from(u16::from_be_bytes(self.array()?)),
            _ => u32::from_be_bytes(self.array()?) as usize,
        })
    }

    fn ext(&mut self, length: usize) -> Result<Token<'a>, Malformed> {
        let kind = self.byte()? as i8;
        Ok(Token::Ext(kind, self.take(length)?))
    }
}

fn is_key(token: &Token<'_>) -> bool {
    match token {
        Token::Str(_) | Token::Int(_) | Token::Float(_) | Token::Bool(_) | Token::Nil => true,
        Token::Bin(_) | Token::Ext(..) | Token::Array(_) | Token::Map(_) => false,
    }
}

/// The text of a map key. Numbers, booleans and nil become what JavaScript makes of them as property names.
///
/// `None` for a token that cannot be a key.
#[must_use]
pub fn key_text<'a>(token: Token<'a>) -> Option<Cow<'a, [u8]>> {
    Some(match token {
        Token::Str(text) => Cow::Borrowed(text),
        Token::Int(number) => Cow::Owned(number.to_string().into_bytes()),
        Token::Float(number) => Cow::Owned(ryu_js::Buffer::new().format(number).as_bytes().to_vec()),
        Token::Bool(true) => Cow::Borrowed(b"true"),
        Token::Bool(false) => Cow::Borrowed(b"false"),
        Token::Nil => Cow::Borrowed(b"null"),
        Token::Bin(_) | Token::Ext(..) | Token::Array(_) | Token::Map(_) => return None,
    })
}

/// The bytes of exactly one value that a [`Reader`] has walked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw<'a>(&'a [u8]);

/// What a [`Raw`] holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// Extension type 0: JavaScript's `undefined`, the same as a key that is not there.
    Absent,
    /// `nil`.
    Nil,
    /// A boolean.
    Bool(bool),
    /// Any integer.
    Int(i128),
    /// Any float, also an integral one: use [`Value::number`] where the difference does not matter.
    Float(f64),
    /// Text, not checked for UTF-8.
    Str(&'a [u8]),
    /// Binary.
    Bin(&'a [u8]),
    /// An extension value of another type than 0.
    Ext(i8, &'a [u8]),
    /// An array.
    Array(Array<'a>),
    /// A map.
    Map(Map<'a>),
}

impl<'a> Raw<'a> {
    /// Takes bytes that must be exactly one value.
    ///
    /// # Errors
    /// [`Malformed`] as for [`Reader::raw`], and when bytes are left over.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let raw = reader.raw()?;
        if reader.rest().is_empty() { Ok(raw) } else { Err(Malformed) }
    }

    /// The bytes themselves, ready to be spliced into another message.
    #[must_use]
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Whether this is nil.
    #[must_use]
    pub fn is_nil(self) -> bool {
        self.0 == [0xc0]
    }

    /// Whether this is JavaScript's `undefined`, extension type 0 of any length.
    #[must_use]
    #[inline]
    pub fn is_undefined(self) -> bool {
        matches!(self.0[0], 0xc7..=0xc9 | 0xd4..=0xd8) && self.value() == Value::Absent
    }

    /// Looks at the value. Does not walk into containers.
    #[must_use]
    pub fn value(self) -> Value<'a> {
        let mut reader = Reader::new(self.0);
        match reader.token().expect("a Raw holds bytes that a Reader has walked through") {
            Token::Ext(EXT_UNDEFINED, _) => Value::Absent,
            Token::Nil => Value::Nil,
            Token::Bool(value) => Value::Bool(value),
            Token::Int(value) => Value::Int(value),
            Token::Float(value) => Value::Float(value),
            Token::Str(text) => Value::Str(text),
            Token::Bin(bytes) => Value::Bin(bytes),
            Token::Ext(kind, data) => Value::Ext(kind, data),
            Token::Array(count) => Value::Array(Array { body: reader.rest, count }),
            Token::Map(count) => Value::Map(Map { body: reader.rest, count }),
        }
    }
}

impl Value<'_> {
    /// The value as a double, for every numeric encoding. Integers beyond 2^53 are rounded.
    #[must_use]
    pub fn number(self) -> Option<f64> {
        match self {
            // Of 64 bits a processor makes a float in one step; of 128 it needs some fifty.
            Value::Int(value) => Some(i64::try_from(value).map_or_else(|_| value as f64, |value| value as f64)),
            Value::Float(value) => Some(value),
            Value::Absent | Value::Nil | Value::Bool(_) | Value::Str(_) => None,
            Value::Bin(_) | Value::Ext(..) | Value::Array(_) | Value::Map(_) => None,
        }
    }

    /// The value as an integer when it is one exactly, also when it was sent as an integral float.
    #[must_use]
    pub fn integer(self) -> Option<i64> {
        match self {
            Value::Int(value) => i64::try_from(value).ok(),
            Value::Float(value) => float_to_integer(value),
            Value::Absent | Value::Nil | Value::Bool(_) | Value::Str(_) => None,
            Value::Bin(_) | Value::Ext(..) | Value::Array(_) | Value::Map(_) => None,
        }
    }
}

/// An integral float of at most 2^63 as the integer it stands for.
fn float_to_integer(value: f64) -> Option<i64> {
    // 2^63 itself is a float and no i64; -2^63 is both.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    (value.fract() == 0.0 && (-LIMIT..LIMIT).contains(&value)).then_some(value as i64)
}

/// The elements of an array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Array<'a> {
    body: &'a [u8],
    count: u32,
}

impl<'a> Array<'a> {
    /// Number of elements. Believable: the elements have been walked through.
    #[must_use]
    pub fn len(self) -> usize {
        self.count as usize
    }

    /// Whether there is no element.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// A reader of the elements, for who looks into each: to [`Array::iter`] means to walk over it first.
    #[must_use]
    pub fn reader(self) -> Reader<'a> {
        Reader::new(self.body)
    }

    /// The elements in order.
    pub fn iter(self) -> impl Iterator<Item = Raw<'a>> {
        let mut reader = Reader::new(self.body);
        (0..self.count).map(move |_| walked(&mut reader))
    }
}

/// The pairs of a map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Map<'a> {
    body: &'a [u8],
    count: u32,
}

impl<'a> Map<'a> {
    /// Number of pairs, double keys counted doubly.
    #[must_use]
    pub fn len(self) -> usize {
        self.count as usize
    }

    /// Whether there is no pair.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// The pairs in order, keys as text. A key may occur more than once; the last pair counts.
    pub fn iter(self) -> impl Iterator<Item = (Cow<'a, [u8]>, Raw<'a>)> {
        self.spans().map(|(key, value)| {
            let token = Reader::new(key.0).token().ok().and_then(key_text);
            (token.expect("keys of a walked map have a text form"), value)
        })
    }

    /// The pairs in order with the keys as they were sent.
    pub fn spans(self) -> impl Iterator<Item = (Raw<'a>, Raw<'a>)> {
        let mut reader = Reader::new(self.body);
        (0..self.count).map(move |_| (walked(&mut reader), walked(&mut reader)))
    }

    /// The pairs in order, each with its key if that is text.
    pub fn named(self) -> impl Iterator<Item = (Option<&'a [u8]>, Raw<'a>)> {
        let mut reader = Reader::new(self.body);
        (0..self.count).map(move |_| reader.pair().expect("elements of a walked container are walked"))
    }

    /// The value of the last pair with this key, `undefined` counting as no value.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Raw<'a>> {
        self.iter()
            .filter(|(name, _)| name.as_ref() == key.as_bytes())
            .last()
            .map(|(_, value)| value)
            .filter(|value| value.value() != Value::Absent)
    }
}

fn walked<'a>(reader: &mut Reader<'a>) -> Raw<'a> {
    reader.raw().expect("elements of a walked container are walked")
}
