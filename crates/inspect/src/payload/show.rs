//! A payload as text. JSON where JSON can say it; what JSON cannot say stands in angle brackets, so that nothing is shown
//! as something it is not: bytes, extensions, moments, texts that are not UTF-8, keys that are not text.

use super::read::{Broken, Item, Reader};
use crate::words::count;
use std::fmt::Write as _;

/// Nesting that is shown; deeper values are named, not shown.
const DEPTH_MAX: usize = 64;

/// A payload as text, as far as it was wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The text.
    pub text: String,
    /// Whether it is all of the payload.
    pub complete: bool,
}

/// The payload over several lines, at most about `bytes_max` of text.
pub fn text(payload: &[u8], bytes_max: usize) -> Shown {
    show(payload, bytes_max, true)
}

/// The payload on one line, at most `chars_max` characters, the last one `…` when there is more.
pub fn line(payload: &[u8], chars_max: usize) -> String {
    let shown = show(payload, chars_max * 4, false);
    if shown.complete && shown.text.chars().count() <= chars_max {
        return shown.text;
    }
    shown.text.chars().take(chars_max.saturating_sub(1)).chain(['…']).collect()
}

fn show(payload: &[u8], bytes_max: usize, pretty: bool) -> Shown {
    let mut printer = Printer { out: String::new(), bytes_max, pretty, complete: true };
    let mut reader = Reader::new(payload);
    match printer.value(&mut reader, 0) {
        Ok(()) if !reader.is_empty() => {
            printer.out.push_str(" <more bytes follow the value>");
            printer.complete = false;
        }
        Ok(()) => {}
        Err(Stop::Full) => printer.complete = false,
        Err(Stop::Broken) => {
            printer.out.push_str("<the payload ends here>");
            printer.complete = false;
        }
    }
    Shown { text: printer.out, complete: printer.complete }
}

/// Why printing ended early.
enum Stop {
    /// The text is as long as it may get.
    Full,
    /// The payload cannot be read any further.
    Broken,
}

impl From<Broken> for Stop {
    fn from(_: Broken) -> Stop {
        Stop::Broken
    }
}

struct Printer {
    out: String,
    bytes_max: usize,
    pretty: bool,
    complete: bool,
}

impl Printer {
    fn value(&mut self, reader: &mut Reader<'_>, depth: usize) -> Result<(), Stop> {
        if self.out.len() > self.bytes_max {
            return Err(Stop::Full);
        }
        match reader.next()? {
            Item::Array(length) => self.container(reader, depth, length, '[', ']', false),
            Item::Map(length) => self.container(reader, depth, length, '{', '}', true),
            scalar => {
                self.scalar(scalar);
                Ok(())
            }
        }
    }

    fn container(
        &mut self,
        reader: &mut Reader<'_>,
        depth: usize,
        length: u32,
        open: char,
        close: char,
        keyed: bool,
    ) -> Result<(), Stop> {
        if depth == DEPTH_MAX {
            self.out.push_str("<nested too deep to be shown>");
            self.complete = false;
            return skip(reader, u64::from(length) * if keyed { 2 } else { 1 });
        }
        self.out.push(open);
        for at in 0..length {
            if at > 0 {
                self.out.push_str(if self.pretty { "," } else { ", " });
            }
            self.indent(depth + 1);
            if keyed {
                self.value(reader, depth + 1)?;
                self.out.push_str(": ");
            }
            self.value(reader, depth + 1)?;
        }
        if length > 0 {
            self.indent(depth);
        }
        self.out.push(close);
        Ok(())
    }

    fn indent(&mut self, depth: usize) {
        if self.pretty {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n("  ", depth));
        }
    }

    fn scalar(&mut self, item: Item<'_>) {
        match item {
            Item::Nil => self.out.push_str("null"),
            Item::Bool(value) => self.put(format_args!("{value}")),
            Item::Int(value) => self.put(format_args!("{value}")),
            Item::UInt(value) => self.put(format_args!("{value}")),
            Item::F32(value) => self.put(format_args!("{value:?}")),
            Item::F64(value) => self.put(format_args!("{value:?}")),
            Item::Str(bytes) => self.string(bytes),
            Item::Bin(bytes) => self.put(format_args!("<bytes {}>", count(bytes.len() as u64))),
            Item::Ext(kind, bytes) => self.extension(kind, bytes),
            Item::Array(_) | Item::Map(_) => unreachable!("containers are printed by value()"),
        }
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.out.write_fmt(text).expect("writing to a String cannot fail");
    }

    fn string(&mut self, bytes: &[u8]) {
        let room = self.bytes_max.saturating_sub(self.out.len());
        let cut = bytes.len() > room;
        match std::str::from_utf8(bytes) {
            Ok(text) => quote(&mut self.out, &text[..text.floor_char_boundary(room)]),
            Err(_) => {
                self.put(format_args!("<not UTF-8, {} bytes: ", count(bytes.len() as u64)));
                let text = String::from_utf8_lossy(bytes);
                quote(&mut self.out, &text[..text.floor_char_boundary(room)]);
                self.out.push('>');
            }
        }
        self.complete &= !cut;
    }

    fn extension(&mut self, kind: i8, bytes: &[u8]) {
        match (kind, bytes) {
            // What msgpackr makes of JavaScript's undefined.
            (0, [0]) => self.out.push_str("<undefined>"),
            (-1, bytes) => match moment(bytes) {
                Some(text) => self.put(format_args!("<time {text}>")),
                None => self.put(format_args!("<time, {} bytes>", bytes.len())),
            },
            (kind, bytes) => self.put(format_args!("<ext {kind}, {} bytes>", count(bytes.len() as u64))),
        }
    }
}

/// As JSON writes it; characters that would change the look of what follows are escaped too.
pub fn quote(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{0}'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}' => write!(out, "\\u{:04x}", character as u32).expect("writing to a String cannot fail"),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Goes past `values` values without recursion, so that depth costs no stack.
fn skip(reader: &mut Reader<'_>, mut values: u64) -> Result<(), Stop> {
    while values > 0 {
        values -= 1;
        match reader.next()? {
            Item::Array(length) => values = values.saturating_add(u64::from(length)),
            Item::Map(length) => values = values.saturating_add(u64::from(length) * 2),
            Item::Nil | Item::Bool(_) | Item::Int(_) | Item::UInt(_) | Item::F32(_) | Item::F64(_) => {}
            Item::Str(_) | Item::Bin(_) | Item::Ext(..) => {}
        }
    }
    Ok(())
}

/// MessagePack's own timestamp in its three lengths, in UTC.
fn moment(bytes: &[u8]) -> Option<String> {
    let (seconds, nanos) = match bytes.len() {
        4 => (i64::from(u32::from_be_bytes(bytes.try_into().ok()?)), 0),
        8 => {
            let both = u64::from_be_bytes(bytes.try_into().ok()?);
            ((both & 0x3_ffff_ffff) as i64, (both >> 34) as u32)
        }
        12 => {
            let (nanos, seconds) = bytes.split_first_chunk()?;
            (i64::from_be_bytes(seconds.try_into().ok()?), u32::from_be_bytes(*nanos))
        }
        _ => return None,
    };
    utc(seconds, nanos)
}

/// A moment since 1970 in ISO 8601, in UTC. None beyond the years that can be counted.
pub fn utc(seconds: i64, nanos: u32) -> Option<String> {
    let (year, month, day) = civil(seconds.div_euclid(86_400))?;
    let of_day = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    if nanos > 0 {
        let fraction = format!("{nanos:09}");
        text.push('.');
        text.push_str(fraction.trim_end_matches('0'));
    }
    text.push('Z');
    Some(text)
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar, by eras of 400 years.
fn civil(days: i64) -> Option<(i64, i64, i64)> {
    let shifted = days.checked_add(719_468)?;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Some((year, month, day))
}
