//! How long a payload is as JSON text, counted without writing it.
//!
//! The text is the one of `canonical.rs`, with one exception: of members with the same name each one counts here. Takes no
//! memory, looks at each byte once and ends early, so that a payload that is too large costs no more than one that is not.

use crate::canonical::CanonicalError;
use crate::msgpack::read::{Reader, Token, key_text};
use crate::msgpack::{DEPTH_MAX, EXT_UNDEFINED};

/// The length in UTF-16 units, as JavaScript counts, of at most `units_max`.
///
/// # Errors
/// [`CanonicalError`]; `TooLong` as soon as it is clear.
pub fn json_units(payload: &[u8], units_max: usize) -> Result<usize, CanonicalError> {
    let mut reader = Reader::new(payload);
    let mut counter = Counter { units: 0, units_max };
    let token = reader.token()?;
    counter.token(token, &mut reader, DEPTH_MAX)?;
    if reader.rest().is_empty() { Ok(counter.units) } else { Err(CanonicalError::Malformed) }
}

struct Counter {
    units: usize,
    units_max: usize,
}

impl Counter {
    fn add(&mut self, units: usize) -> Result<(), CanonicalError> {
        self.units = self.units.saturating_add(units);
        if self.units > self.units_max { Err(CanonicalError::TooLong) } else { Ok(()) }
    }

    fn token(&mut self, token: Token<'_>, reader: &mut Reader<'_>, depth_left: usize) -> Result<(), CanonicalError> {
        match token {
            Token::Nil | Token::Ext(EXT_UNDEFINED, _) | Token::Bool(true) => self.add(4),
            Token::Bool(false) => self.add(5),
            Token::Int(number) => self.add(digits(number)),
            Token::Float(number) if number.is_finite() => self.add(ryu_js::Buffer::new().format_finite(number).len()),
            Token::Float(_) => self.add(4),
            Token::Str(text) => self.text(text),
            Token::Bin(bytes) => self.add(base64("data:".len(), bytes)),
            Token::Ext(kind, data) => self.add(base64("ext::".len() + digits(kind.into()), data)),
            Token::Array(_) | Token::Map(_) if depth_left == 0 => Err(CanonicalError::Malformed),
            Token::Array(count) => self.array(count, reader, depth_left - 1),
            Token::Map(count) => self.object(count, reader, depth_left - 1),
        }
    }

    fn array(&mut self, count: u32, reader: &mut Reader<'_>, depth_left: usize) -> Result<(), CanonicalError> {
        self.add(2 + (count as usize).saturating_sub(1))?;
        for _ in 0..count {
            let token = reader.token()?;
            self.token(token, reader, depth_left)?;
        }
        Ok(())
    }

    fn object(&mut self, count: u32, reader: &mut Reader<'_>, depth_left: usize) -> Result<(), CanonicalError> {
        self.add(2)?;
        let mut members = 0;
        for _ in 0..count {
            let name = key_text(reader.token()?).ok_or(CanonicalError::Malformed)?;
            let token = reader.token()?;
            if matches!(token, Token::Ext(EXT_UNDEFINED, _)) {
                continue;
            }
            members += 1;
            // A comma in front of every member but the first, and the colon.
            self.add(1 + usize::from(members > 1))?;
            self.text(&name)?;
            self.token(token, reader, depth_left)?;
        }
        Ok(())
    }

    fn text(&mut self, text: &[u8]) -> Result<(), CanonicalError> {
        // The longest UTF-8 form of a UTF-16 unit.
        const BYTES_PER_UNIT_MAX: usize = 3;
        if text.len() / BYTES_PER_UNIT_MAX > self.units_max {
            return Err(CanonicalError::TooLong);
        }
        if std::str::from_utf8(text).is_err() {
            return Err(CanonicalError::NotText);
        }
        self.add(2 + text.iter().map(|byte| usize::from(UNITS[usize::from(*byte)])).sum::<usize>())
    }
}

/// UTF-16 units, escapes included, that each byte of a UTF-8 text stands for; those of a character are counted at its first.
const UNITS: [u8; 256] = {
    let mut units = [1; 256];
    let mut byte = 0;
    while byte < 256 {
        units[byte] = match byte as u8 {
            b'"' | b'\\' | 0x08 | b'\t' | b'\n' | 0x0c | b'\r' => 2,
            0x00..=0x1f => 6,
            0x80..=0xbf => 0,
            0xf0..=0xff => 2,
            _ => 1,
        };
        byte += 1;
    }
    units
};

/// Characters of an integer.
fn digits(number: i128) -> usize {
    number.unsigned_abs().checked_ilog10().map_or(1, |log| log as usize + 1) + usize::from(number < 0)
}

/// A prefix and base64, in quotes.
fn base64(prefix: usize, bytes: &[u8]) -> usize {
    2 + prefix + bytes.len().div_ceil(3) * 4
}
