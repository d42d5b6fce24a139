//! Calendar patterns: which moments a cron text names, in which time zone (protocol-admin.md 6).
//!
//! The grammar is bunqueue's and is read in `calendar/fields.rs`. The search through the calendar is a library's; which
//! moments a time of day means where the clock is changed is decided here, as bunqueue decides it:
//!
//! - Of the times that do not exist that day (the clock went ahead) the first comes later by as much as the clock went ahead,
//!   unless another comes before that.
//! - A time that exists twice (the clock went back) comes once, the first time; but both times where every hour or every
//!   minute is meant, for these patterns mean an interval.

mod fields;

use crate::time::Timestamp;
use chrono::{DateTime, NaiveDateTime, Offset, TimeDelta, TimeZone};
use chrono_tz::Tz;
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// Longest time by which a zone's clock is set ahead or back; the longest of today is two hours.
const CLOCK_CHANGE_MAX: TimeDelta = TimeDelta::hours(3);
/// Times of day looked at for one answer: every second of such a change, twice.
const STEPS_MAX: usize = 2 * 3 * 3_600;
/// Longest text in bytes; all that is useful is far shorter.
const TEXT_MAX: usize = 1_024;

/// A cron text and the zone it is meant in, checked. Equal when both texts are.
#[derive(Clone)]
pub struct Pattern {
    text: Arc<str>,
    zone: Option<Zone>,
    search: Arc<Search>,
}

/// A time zone by its IANA name.
#[derive(Clone)]
pub struct Zone {
    /// As it was given; names are compared without regard to case.
    name: Arc<str>,
    tz: Tz,
}

/// What is prepared once for each pattern.
struct Search {
    cron: Cron,
    /// Every hour or every minute is meant.
    interval: bool,
}

/// Why a text is no pattern; `Display` is what clients are told, without the words before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPattern(String);

impl fmt::Display for BadPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Zone {
    /// The zone of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn parse(name: &str) -> Result<Zone, BadPattern> {
        match Tz::from_str_insensitive(name) {
            Ok(tz) => Ok(Zone { name: Arc::from(name), tz }),
            Err(_) => Err(BadPattern(format!("unknown time zone '{}'", shortened(name)))),
        }
    }

    /// Coordinated universal time.
    pub fn utc() -> Zone {
        Zone { name: Arc::from("UTC"), tz: Tz::UTC }
    }

    /// The name as it was given.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)
    }
}

impl Pattern {
    /// The pattern of a text. Without a zone the broker's own is meant.
    ///
    /// # Errors
    /// The text is none, or no moment ever fits it.
    pub fn parse(text: &str, zone: Option<Zone>) -> Result<Pattern, BadPattern> {
        if text.len() > TEXT_MAX {
            return Err(BadPattern(format!("Cron expression must have at most {TEXT_MAX} characters")));
        }
        let fields = fields::read(text)?;
        if fields.never() {
            return Err(BadPattern("Cron expression has no future occurrences".to_owned()));
        }
        let parser = CronParser::builder().seconds(Seconds::Required).year(Year::Disallowed).build();
        let cron = parser.parse(&fields.normal()).map_err(|why| BadPattern(why.to_string()))?;
        let search = Arc::new(Search { cron, interval: fields.interval() });
        Ok(Pattern { text: Arc::from(text), zone, search })
    }

    /// The text as it was given.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The zone as it was given.
    pub fn zone(&self) -> Option<&Zone> {
        self.zone.as_ref()
    }

    /// The pattern in English words, as `At 08:00, on Monday`.
    pub fn words(&self) -> String {
        // The search knows the values only; the text says whether they were a step.
        let parser = CronParser::builder().seconds(Seconds::Optional).sloppy_ranges(true).build();
        let as_written = parser.parse(fields::meaning(&self.text)).ok();
        as_written.as_ref().unwrap_or(&self.search.cron).describe().trim_end_matches('.').to_owned()
    }

    /// The first moment after `after`, in whole seconds; none when the calendar ends before it. `own` is the broker's zone.
    pub fn next(&self, after: Timestamp, own: &Zone) -> Option<Timestamp> {
        let tz = self.zone.as_ref().unwrap_or(own).tz;
        let after = DateTime::from_timestamp(after.0.div_euclid(1_000), 0)?;
        let shift = |at: DateTime<chrono::Utc>| tz.offset_from_utc_datetime(&at.naive_utc()).fix().local_minus_utc();
        // Times of day that the clock will pass a second time, or that it passed by, lie before the time of day that it is now.
        let around = [after.checked_sub_signed(CLOCK_CHANGE_MAX), after.checked_add_signed(CLOCK_CHANGE_MAX)];
        let now = shift(after);
        let lowest = around.into_iter().flatten().map(shift).fold(now, i32::min);
        let mut time = after.naive_utc().checked_add_signed(TimeDelta::seconds(lowest.into()))?;
        let mut best: Option<i64> = None;
        for _ in 0..STEPS_MAX {
            let Ok(next) = self.search.cron.find_next_occurrence(&time, false) else { break };
            time = next;
            let (moments, is_last) = self.moments(tz, time, (after.timestamp(), now));
            best = moments.into_iter().flatten().chain(best).min();
            if is_last {
                break;
            }
        }
        best.map(|seconds| Timestamp(seconds.saturating_mul(1_000)))
    }

    /// The moments after `after` that a time of day means, in seconds, and whether every later time of day means later ones.
    /// `shift` is the difference to UTC at `after`.
    fn moments(&self, tz: Tz, time: NaiveDateTime, (after, shift): (i64, i32)) -> ([Option<i64>; 2], bool) {
        let later = |at: i64| Some(at).filter(|at| *at > after);
        match tz.from_local_datetime(&time).map(|at| at.timestamp()) {
            chrono::LocalResult::Single(at) => ([later(at), None], at > after),
            chrono::LocalResult::Ambiguous(first, second) => {
                ([later(first), later(second).filter(|_| self.search.interval)], first > after)
            }
            chrono::LocalResult::None => {
                // The clock went ahead over it: it is read with the difference to UTC from before. Once the clock is past the
                // change, only the seconds of a minute that has begun are left to come.
                let before = time.checked_sub_signed(CLOCK_CHANGE_MAX);
                let before = before.and_then(|time| tz.from_local_datetime(&time).latest());
                let at = before.map(|at| at.offset().fix().local_minus_utc()).and_then(|before| {
                    let at = later(time.and_utc().timestamp() - i64::from(before));
                    at.filter(|at| before == shift || at.div_euclid(60) == after.div_euclid(60))
                });
                ([at, None], false)
            }
        }
    }
}

/// A client's text, as much of it as an error needs.
fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.text == other.text && self.zone == other.zone
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?} in {:?}", self.text, self.zone)
    }
}

/// A pattern as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    text: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zone: Option<Arc<str>>,
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Stored { text: self.text.clone(), zone: self.zone.as_ref().map(|zone| zone.name.clone()) }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Pattern, D::Error> {
        let Stored { text, zone } = Stored::deserialize(from)?;
        let zone = zone.as_deref().map(Zone::parse).transpose().map_err(serde::de::Error::custom)?;
        Pattern::parse(&text, zone).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
#[path = "calendar_tests.rs"]
mod calendar_tests;
