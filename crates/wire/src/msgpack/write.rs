//! Writing MessagePack in the forms that the clients of all languages read rightly.
//!
//! - Integers from -2^31 to 2^32-1 take their smallest integer form, because strict clients read counts with an
//!   integer-only accessor. Everything else is a float64, because JavaScript clients turn 64-bit integers into BigInt.
//! - Timestamps are always float64 ([`time`]); none of them fits 32 bits anyway.
//! - A missing value has no key at all; nil is only written where a caller says so.
//!
//! Functions append to a `BytesMut` and cannot fail. Payload bytes are spliced in as they are ([`raw`]).

use bytes::{BufMut, BytesMut};

/// The longest text whose length stands in its first byte.
const SHORT_TEXT_BYTES_MAX: usize = 31;
/// Of a float64.
const FLOAT_BYTES: usize = 9;
/// Of a short key with a value of fixed length.
const PAIR_BYTES_MAX: usize = 1 + SHORT_TEXT_BYTES_MAX + FLOAT_BYTES;
const NIL: u8 = 0xc0;
const FALSE: u8 = 0xc2;
const TRUE: u8 = 0xc3;

/// Appends nil.
#[inline]
pub fn nil(out: &mut BytesMut) {
    out.put_u8(NIL);
}

/// Appends a boolean.
#[inline]
pub fn bool(out: &mut BytesMut, value: bool) {
    out.put_u8(if value { TRUE } else { FALSE });
}

/// Appends an integer: smallest form between -2^31 and 2^32-1, float64 beyond.
#[inline]
pub fn int(out: &mut BytesMut, value: i64) {
    match value {
        0..=0x7f => out.put_u8(value as u8),
        -32..=-1 => out.put_u8(value as i8 as u8),
        0x80..=0xff => out.extend_from_slice(&[0xcc, value as u8]),
        0x100..=0xffff => tagged(out, 0xcd, (value as u16).to_be_bytes()),
        0x1_0000..=0xffff_ffff => tagged(out, 0xce, (value as u32).to_be_bytes()),
        -0x80..=-33 => out.extend_from_slice(&[0xd0, value as i8 as u8]),
        -0x8000..=-0x81 => tagged(out, 0xd1, (value as i16).to_be_bytes()),
        -0x8000_0000..=-0x8001 => tagged(out, 0xd2, (value as i32).to_be_bytes()),
        _ => float(out, value as f64),
    }
}

/// Appends an integer with all its digits: only for a payload, whose reader has to be ready for 64 bits.
pub fn int64(out: &mut BytesMut, value: i64) {
    tagged(out, 0xd3, value.to_be_bytes());
}

/// The same for what an `i64` does not hold.
pub fn uint64(out: &mut BytesMut, value: u64) {
    tagged(out, 0xcf, value.to_be_bytes());
}

/// Appends a number that may have a fraction: as an integer where it is one of the small ones, else as float64.
pub fn number(out: &mut BytesMut, value: f64) {
    // Beyond the small integers `int` would write a float64 as well, so only they need the conversion.
    if value.fract() == 0.0 && (-2_147_483_648.0..=4_294_967_295.0).contains(&value) {
        int(out, value as i64);
    } else {
        float(out, value);
    }
}

/// Appends a time in milliseconds since the epoch, as float64 whatever its size.
#[inline]
pub fn time(out: &mut BytesMut, millis: i64) {
    float(out, millis as f64);
}

/// Appends a float64.
#[inline]
pub fn float(out: &mut BytesMut, value: f64) {
    out.extend_from_slice(&float_bytes(value));
}

#[inline(always)]
fn float_bytes(value: f64) -> [u8; FLOAT_BYTES] {
    let [a, b, c, d, e, f, g, h] = value.to_be_bytes();
    [0xcb, a, b, c, d, e, f, g, h]
}

/// Appends a text.
#[inline]
pub fn str(out: &mut BytesMut, text: &str) {
    str_bytes(out, text.as_bytes());
}

/// Appends a text that is already bytes, UTF-8 or not.
pub fn str_bytes(out: &mut BytesMut, text: &[u8]) {
    text_bytes(out, text);
}

/// The same for a text whose length is known where it is written: a few moves.
#[inline]
pub fn str_array<const N: usize>(out: &mut BytesMut, text: &[u8; N]) {
    text_bytes(out, text);
}

#[inline(always)]
fn text_bytes(out: &mut BytesMut, text: &[u8]) {
    match text.len() {
        length @ 0..=SHORT_TEXT_BYTES_MAX => out.put_u8(0xa0 | length as u8),
        length @ 32..=0xff => out.extend_from_slice(&[0xd9, length as u8]),
        length @ 0x100..=0xffff => tagged(out, 0xda, (length as u16).to_be_bytes()),
        length => tagged(out, 0xdb, (length as u32).to_be_bytes()),
    }
    out.extend_from_slice(text);
}

/// Appends one value that is already MessagePack.
pub fn raw(out: &mut BytesMut, value: &[u8]) {
    out.extend_from_slice(value);
}

/// Appends the header of an array; `count` values must follow.
pub fn array(out: &mut BytesMut, count: usize) {
    match count {
        0..=15 => out.put_u8(0x90 | count as u8),
        16..=0xffff => tagged(out, 0xdc, (count as u16).to_be_bytes()),
        _ => tagged(out, 0xdd, (count as u32).to_be_bytes()),
    }
}

/// Appends the header of a map; `count` keys and values must follow, alternating.
pub fn map(out: &mut BytesMut, count: usize) {
    match count {
        0..=15 => out.put_u8(0x80 | count as u8),
        16..=0xffff => tagged(out, 0xde, (count as u16).to_be_bytes()),
        _ => tagged(out, 0xdf, (count as u32).to_be_bytes()),
    }
}

/// Appends an array of texts.
pub fn strs<T: AsRef<str>>(out: &mut BytesMut, texts: &[T]) {
    array(out, texts.len());
    for text in texts {
        str(out, text.as_ref());
    }
}

#[inline]
fn tagged<const N: usize>(out: &mut BytesMut, tag: u8, bytes: [u8; N]) {
    out.put_u8(tag);
    out.extend_from_slice(&bytes);
}

/// Writes a map of text keys whose number is not known beforehand.
///
/// The header is a map16, as bunqueue writes it, completed when the writer is dropped. For maps with
/// keys from data, which may be more than 65,535, write the header with [`map`] instead.
#[derive(Debug)]
pub struct MapWriter<'w> {
    out: &'w mut BytesMut,
    count_at: usize,
    count: u16,
}

impl<'w> MapWriter<'w> {
    /// Begins a map at the end of `out`.
    pub fn begin(out: &'w mut BytesMut) -> Self {
        out.extend_from_slice(&[0xde, 0, 0]);
        Self { count_at: out.len() - 2, out, count: 0 }
    }

    /// Begins a pair; the caller appends exactly one value to what is returned.
    ///
    /// Inlined wherever a key is written: its length is known there, so all of it becomes a few moves. A job has 47 keys.
    #[inline(always)]
    pub fn key(&mut self, key: &str) -> &mut BytesMut {
        self.pair(key, []);
        self.out
    }

    /// A key and the bytes of its value in one piece.
    #[inline(always)]
    fn pair<const N: usize>(&mut self, key: &str, value: [u8; N]) {
        self.count += 1;
        if key.len() <= SHORT_TEXT_BYTES_MAX {
            let mut piece = [0; PAIR_BYTES_MAX];
            piece[0] = 0xa0 | key.len() as u8;
            piece[1..=key.len()].copy_from_slice(key.as_bytes());
            let end = 1 + key.len() + N;
            piece[1 + key.len()..end].copy_from_slice(&value);
            self.out.extend_from_slice(&piece[..end]);
        } else {
            str(self.out, key);
            self.out.extend_from_slice(&value);
        }
    }

    /// A pair whose value is a map.
    pub fn map(&mut self, key: &str) -> MapWriter<'_> {
        MapWriter::begin(self.key(key))
    }

    /// A pair with a boolean.
    #[inline(always)]
    pub fn bool(&mut self, key: &str, value: bool) {
        self.pair(key, [if value { TRUE } else { FALSE }]);
    }

    /// A pair with an integer.
    #[inline(always)]
    pub fn int(&mut self, key: &str, value: i64) {
        match value {
            0..=0x7f => self.pair(key, [value as u8]),
            _ => int(self.key(key), value),
        }
    }

    /// A pair with a number that may have a fraction.
    #[inline(always)]
    pub fn number(&mut self, key: &str, value: f64) {
        number(self.key(key), value);
    }

    /// A pair with a time in milliseconds since the epoch.
    #[inline(always)]
    pub fn time(&mut self, key: &str, millis: i64) {
        self.pair(key, float_bytes(millis as f64));
    }

    /// A pair with a text.
    #[inline(always)]
    pub fn str(&mut self, key: &str, text: &str) {
        str(self.key(key), text);
    }

    /// A pair with an array of texts.
    pub fn strs<T: AsRef<str>>(&mut self, key: &str, texts: &[T]) {
        strs(self.key(key), texts);
    }

    /// A pair with an array, each element appended by `write`.
    pub fn list<T>(
        &mut self,
        key: &str,
        items: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(&mut BytesMut, T),
    ) {
        let out = self.key(key);
        array(out, items.len());
        items.for_each(|item| write(out, item));
    }

    /// A pair with a value that is already MessagePack.
    pub fn raw(&mut self, key: &str, value: &[u8]) {
        raw(self.key(key), value);
    }

    /// Pairs that are kept as bytes.
    pub fn pairs(&mut self, pairs: &Pairs) {
        self.count += pairs.count;
        raw(self.out, &pairs.bytes);
    }

    /// A pair with nil.
    #[inline(always)]
    pub fn nil(&mut self, key: &str) {
        self.pair(key, [NIL]);
    }

    /// A pair that is always there: `write` for a value, nil for none.
    #[inline(always)]
    pub fn or_nil<T>(&mut self, key: &str, value: Option<T>, write: impl FnOnce(&mut BytesMut, T)) {
        match value {
            Some(value) => write(self.key(key), value),
            None => self.nil(key),
        }
    }
}

/// Pairs of a map that are always the same, kept as bytes.
#[derive(Debug)]
pub struct Pairs {
    bytes: BytesMut,
    count: u16,
}

impl Pairs {
    /// The pairs that `write` writes.
    pub fn new(write: impl FnOnce(&mut MapWriter<'_>)) -> Pairs {
        let mut bytes = BytesMut::new();
        let mut map = MapWriter::begin(&mut bytes);
        write(&mut map);
        let (count, from) = (map.count, map.count_at + size_of::<u16>());
        drop(map);
        Pairs { bytes: bytes.split_off(from), count }
    }
}

impl Drop for MapWriter<'_> {
    fn drop(&mut self) {
        self.out[self.count_at..self.count_at + 2].copy_from_slice(&self.count.to_be_bytes());
    }
}
