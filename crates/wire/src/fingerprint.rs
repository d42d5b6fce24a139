//! A number that two payloads share when they say the same, however each client wrote it: integers of any width and integral
//! floats, members in any order, short and long headers.
//!
//! It tells whether a repeated add carried other data, so it is made for every add: one pass, no allocation. It is no proof
//! of equality and keeps nobody out who looks for a collision. Of members sent twice all count, so such data seem to differ
//! from what they mean. It is made where everybody waits, so data of very many values is told by its bytes alone.

use crate::msgpack::read::{Token, key_text};
use crate::msgpack::{DEPTH_MAX, EXT_UNDEFINED, Malformed, Reader};
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Elements and members that are looked at one by one, some 0.1 ms. However data is written, it has as many.
pub(crate) const VALUES_MAX: u32 = 10_000;

/// What a value is, so that `[]`, `{}`, `""` and `0` are not the same.
#[derive(Clone, Copy)]
enum Kind {
    Nil = 1,
    Bool,
    Integer,
    Float,
    Text,
    Binary,
    Extension,
    Array,
    Map,
}

/// The fingerprint of one payload; of bytes that are no value, or one of more than 10,000 values, that of the bytes.
#[must_use]
pub fn fingerprint(payload: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    let mut reader = Reader::new(payload);
    let read = reader.token().and_then(|token| add(&mut hasher, token, &mut reader, DEPTH_MAX, &mut { VALUES_MAX }));
    if read.is_err() || !reader.rest().is_empty() {
        hasher = FxHasher::default();
        hasher.write(payload);
    }
    hasher.finish()
}

fn add<'a>(
    hasher: &mut FxHasher,
    token: Token<'a>,
    reader: &mut Reader<'a>,
    depth_left: usize,
    values_left: &mut u32,
) -> Result<(), Malformed> {
    if let Token::Array(count) | Token::Map(count) = token {
        *values_left = values_left.checked_sub(count).ok_or(Malformed)?;
    }
    let mut bytes = |kind: Kind, bytes: &[u8]| {
        hasher.write_u64(kind as u64 | (bytes.len() as u64) << 8);
        hasher.write(bytes);
    };
    match token {
        // An element that is undefined is null in JSON; a member never comes here.
        Token::Nil | Token::Ext(EXT_UNDEFINED, _) => hasher.write_u64(Kind::Nil as u64),
        Token::Bool(value) => hasher.write_u64(Kind::Bool as u64 | u64::from(value) << 8),
        Token::Int(value) => integer(hasher, value),
        Token::Float(value) => float(hasher, value),
        Token::Str(text) => bytes(Kind::Text, text),
        Token::Bin(data) => bytes(Kind::Binary, data),
        Token::Ext(kind, data) => {
            bytes(Kind::Extension, data);
            hasher.write_i8(kind);
        }
        Token::Array(_) | Token::Map(_) if depth_left == 0 => return Err(Malformed),
        Token::Array(count) => {
            hasher.write_u64(Kind::Array as u64 | u64::from(count) << 8);
            for _ in 0..count {
                let element = reader.token()?;
                add(hasher, element, reader, depth_left - 1, values_left)?;
            }
        }
        Token::Map(count) => {
            let (members, sum) = members(count, reader, depth_left - 1, values_left)?;
            hasher.write_u64(Kind::Map as u64 | members << 8);
            hasher.write_u64(sum);
        }
    }
    Ok(())
}

/// How many members are there, and a sum over them, which no order changes.
fn members(
    count: u32,
    reader: &mut Reader<'_>,
    depth_left: usize,
    values_left: &mut u32,
) -> Result<(u64, u64), Malformed> {
    let (mut members, mut sum) = (0, 0_u64);
    for _ in 0..count {
        let mut hasher = FxHasher::default();
        match reader.short_text() {
            Some(text) => hasher.write(text),
            None => hasher.write(&key_text(reader.token()?).ok_or(Malformed)?),
        }
        let value = reader.token()?;
        if matches!(value, Token::Ext(EXT_UNDEFINED, _)) {
            continue;
        }
        add(&mut hasher, value, reader, depth_left, values_left)?;
        members += 1;
        sum = sum.wrapping_add(mixed(hasher.finish()));
    }
    Ok((members, sum))
}

/// Sums of what a multiplication alone has stirred would cancel out too easily.
fn mixed(mut value: u64) -> u64 {
    value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

fn integer(hasher: &mut FxHasher, value: i128) {
    hasher.write_u64(Kind::Integer as u64);
    // Whole numbers of 64 bits, signed or not, differ in these bits or in their sign.
    hasher.write_u64(value as u64);
    hasher.write_u8(u8::from(value < 0));
}

fn float(hasher: &mut FxHasher, value: f64) {
    // 2^64; floats of this size and beyond have no integer encoding to be equal to.
    const LIMIT: f64 = 18_446_744_073_709_551_616.0;
    if value.fract() == 0.0 && value.abs() < LIMIT {
        return integer(hasher, value as i128);
    }
    let bits = if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
    hasher.write_u64(Kind::Float as u64);
    hasher.write_u64(bits);
}
