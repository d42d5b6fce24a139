//! The fields of a cron text, each as the set of values it means.
//!
//! Lists, ranges, steps and names as bunqueue 2.9.5 takes them (observed); a step of a single number runs from there to the
//! end, but not for seconds. Everything else that cron dialects know (`L`, `W`, `#`, `?`, years, `@reboot`) is refused.

use super::{BadPattern, shortened};

const MONTHS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: &[&str] = &["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
/// Days of each month, of a leap year.
const MONTH_DAYS: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const SHORTCUTS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// What a field may hold.
struct Kind {
    name: &'static str,
    min: u32,
    max: u32,
    names: &'static [&'static str],
}

const fn kind(name: &'static str, min: u32, max: u32, names: &'static [&'static str]) -> Kind {
    Kind { name, min, max, names }
}

const SECONDS: Kind = kind("seconds", 0, 59, &[]);
const KINDS: [Kind; 5] = [
    kind("minute", 0, 59, &[]),
    kind("hour", 0, 23, &[]),
    kind("day of month", 1, 31, &[]),
    kind("month", 1, 12, MONTHS),
    kind("day of week", 0, 7, WEEKDAYS),
];

/// The values of a field, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Field {
    values: u64,
    /// It is one star and nothing else, which leaves the day to the other field. Two fields that name days mean either.
    star: bool,
}

/// All six.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    seconds: Field,
    minutes: Field,
    hours: Field,
    days: Field,
    months: Field,
    weekdays: Field,
}

/// The text, or what a shortcut stands for.
pub(super) fn meaning(text: &str) -> &str {
    let known = SHORTCUTS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text.trim()));
    known.map_or(text, |(_, meaning)| meaning)
}

/// Reads a text of five or six fields, or a shortcut.
pub(super) fn read(text: &str) -> Result<Fields, BadPattern> {
    let parts: Vec<&str> = meaning(text).split_ascii_whitespace().collect();
    let (seconds, rest) = match parts.len() {
        5 => (Field { values: 1, star: false }, &parts[..]),
        6 => (field(parts[0], &SECONDS)?, &parts[1..]),
        _ => return Err(BadPattern("Cron expression must have 5 fields, or 6 fields with leading seconds".to_owned())),
    };
    let [minute, hour, day, month, weekday] = &KINDS;
    Ok(Fields {
        seconds,
        minutes: field(rest[0], minute)?,
        hours: field(rest[1], hour)?,
        days: field(rest[2], day)?,
        months: field(rest[3], month)?,
        weekdays: field(rest[4], weekday)?,
    })
}

impl Fields {
    /// Whether no day of any year fits.
    pub(super) fn never(&self) -> bool {
        let first_day = self.days.values.trailing_zeros();
        let is_long_enough = |(at, days): (usize, &u32)| self.months.values >> (at + 1) & 1 == 1 && *days >= first_day;
        self.weekdays.star && !MONTH_DAYS.iter().enumerate().any(is_long_enough)
    }

    /// Whether every hour or every minute is meant.
    pub(super) fn interval(&self) -> bool {
        self.hours.values == all(&KINDS[1]) || self.minutes.values == all(&KINDS[0])
    }

    /// The same in plain numbers.
    pub(super) fn normal(&self) -> String {
        let Fields { seconds, minutes, hours, days, months, weekdays } = self;
        [seconds, minutes, hours, days, months, weekdays].map(Field::normal).join(" ")
    }
}

impl Field {
    fn normal(&self) -> String {
        if self.star {
            return "*".to_owned();
        }
        let values = (0..64).filter(|value| self.values >> value & 1 == 1).map(|value: u32| value.to_string());
        values.collect::<Vec<_>>().join(",")
    }
}

fn all(kind: &Kind) -> u64 {
    (kind.min..=kind.max).fold(0, |values, value| values | 1 << value)
}

fn field(text: &str, kind: &Kind) -> Result<Field, BadPattern> {
    let mut field = Field { values: 0, star: text == "*" };
    for item in text.split(',') {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (
                range,
                Some(
                    number(step)
                        .filter(|step| *step > 0)
                        .ok_or_else(|| bad(text, kind, "a step must be a number of at least 1"))?,
                ),
            ),
            None => (item, None),
        };
        let (first, last) = if range == "*" {
            (kind.min, kind.max)
        } else if let Some((first, last)) = range.split_once('-') {
            (value(first, text, kind)?, value(last, text, kind)?)
        } else {
            let first = value(range, text, kind)?;
            match step {
                Some(_) if kind.name == SECONDS.name => {
                    return Err(bad(text, kind, "steps require a wildcard or range"));
                }
                Some(_) => (first, kind.max),
                None => (first, first),
            }
        };
        if first > last {
            return Err(bad(text, kind, "range start must not exceed range end"));
        }
        for value in (first..=last).step_by(step.unwrap_or(1) as usize) {
            field.values |= 1 << value;
        }
    }
    if kind.max == 7 {
        // 7 is Sunday as well.
        field.values = (field.values | field.values >> 7 & 1) & 0x7f;
    }
    Ok(field)
}

/// Digits only: no sign, no blank. Larger numbers than any field has are cut down to one.
fn number(text: &str) -> Option<u32> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u32::MAX))
}

fn value(text: &str, field: &str, kind: &Kind) -> Result<u32, BadPattern> {
    let names =
        kind.names.iter().position(|name| name.eq_ignore_ascii_case(text) || name[..3].eq_ignore_ascii_case(text));
    let found = names.map(|at| at as u32 + kind.min).or_else(|| number(text));
    found
        .filter(|found| (kind.min..=kind.max).contains(found))
        .ok_or_else(|| bad(field, kind, &format!("values must be between {} and {}", kind.min, kind.max)))
}

fn bad(text: &str, kind: &Kind, why: &str) -> BadPattern {
    BadPattern(format!("Invalid cron {} field \"{}\": {why}", kind.name, shortened(text)))
}
