//! The fields of a request: typed getters, with the exact texts of what is wrong.
//!
//! `undefined` (extension type 0) is a field that is not there. Identifiers must be UTF-8, otherwise the whole frame is
//! refused: replacing bytes would make two ids one. Texts for people ([`Fields::prose`]) are read with replacement
//! characters instead, because losing a FAIL over its message would be worse.
//!
//! Which fields a command has is not known here.

use crate::limits::{FIELDS_MAX, LIST_ENTRIES_MAX};
use crate::msgpack::read::Token;
use crate::msgpack::{Array, Map, Raw, Reader, Value};
use crate::request::DecodeError;
use onceover_engine::names::JobId;
use onceover_engine::time::Millis;
use std::borrow::Cow;

type Result<T> = std::result::Result<T, DecodeError>;

/// An inclusive range of a numeric field.
#[derive(Clone, Copy)]
pub struct Bounds {
    pub min: i64,
    pub max: i64,
}

impl Bounds {
    pub const fn new(min: i64, max: i64) -> Bounds {
        Bounds { min, max }
    }

    /// From 0 up to what a double counts exactly.
    pub const NATURAL: Bounds = Bounds::new(0, 9_007_199_254_740_991);
}

/// The fields of one map.
pub struct Fields<'a> {
    entries: Vec<Entry<'a>>,
    /// The places of all names that are there, so that most of the many names that are not need no search.
    present: Places,
    /// Put in front of names in texts, such as `dedup.`.
    path: &'static str,
}

struct Entry<'a> {
    name: &'a [u8],
    /// Of the name: it is compared first.
    place: u8,
    value: Raw<'a>,
}

/// A set of places of names, see [`place`].
#[derive(Clone, Copy)]
pub struct Places(u128);

impl Places {
    /// The places of some names.
    pub const fn of(names: &[&str]) -> Places {
        let (mut places, mut at) = (0, 0);
        while at < names.len() {
            places |= 1 << place(names[at].as_bytes());
            at += 1;
        }
        Places(places)
    }
}

impl<'a> Fields<'a> {
    pub fn new(map: Map<'a>, path: &'static str) -> Result<Fields<'a>> {
        if map.len() > FIELDS_MAX {
            return Err(DecodeError::bad_frame());
        }
        let mut fields = Fields::empty(map.len(), path);
        map.named().for_each(|(name, value)| fields.push(name, value));
        Ok(fields)
    }

    /// The fields of a whole frame, none when it is not a map. Looks at each byte once.
    pub fn of_frame(frame: &'a [u8]) -> Result<Option<Fields<'a>>> {
        let mut reader = Reader::new(frame);
        match Fields::read(&mut reader)? {
            Some(_) if !reader.rest().is_empty() => Err(DecodeError::bad_frame()),
            fields => Ok(fields),
        }
    }

    /// The fields of the map that comes next; none, and the reader stands anywhere, when it is not one.
    pub fn read(reader: &mut Reader<'a>) -> Result<Option<Fields<'a>>> {
        let Ok(Token::Map(count)) = reader.token() else { return Ok(None) };
        if count as usize > FIELDS_MAX {
            return Err(DecodeError::bad_frame());
        }
        // A field takes two bytes at least: a number of them that was only announced takes no memory.
        let believable = (count as usize).min(reader.rest().len() / 2);
        let mut fields = Fields::empty(believable, "");
        for _ in 0..count {
            let (name, value) = reader.pair().map_err(|_| DecodeError::bad_frame())?;
            fields.push(name, value);
        }
        Ok(Some(fields))
    }

    fn empty(capacity: usize, path: &'static str) -> Fields<'a> {
        Fields { entries: Vec::with_capacity(capacity), present: Places(0), path }
    }

    /// A key that is not text has no name: it has a text form, but none that a field is called by.
    #[inline]
    fn push(&mut self, name: Option<&'a [u8]>, value: Raw<'a>) {
        let Some(name) = name else { return };
        if value.is_undefined() {
            return self.forget(name);
        }
        let place = place(name);
        self.present.0 |= 1 << place;
        self.entries.push(Entry { name, place, value });
    }

    #[cold]
    fn forget(&mut self, name: &[u8]) {
        self.entries.retain(|earlier| earlier.name != name);
    }

    /// Whether the field is certainly not there. Most options of most requests are not: getters ask this first, and are
    /// inlined up to here, so that for a name known to the compiler it is one comparison.
    #[inline]
    fn lacks(&self, name: &str) -> bool {
        self.present.0 & (1 << place(name.as_bytes())) == 0
    }

    /// Whether there is a field at another place than these.
    #[inline]
    pub fn go_beyond(&self, places: Places) -> bool {
        self.present.0 & !places.0 != 0
    }

    /// The field as it was sent; of fields sent twice the last one counts.
    #[inline]
    pub fn raw(&self, name: &str) -> Option<Raw<'a>> {
        if self.lacks(name) { None } else { self.search(name) }
    }

    fn search(&self, name: &str) -> Option<Raw<'a>> {
        let (name, place) = (name.as_bytes(), place(name.as_bytes()));
        let found = self.entries.iter().rev().find(|entry| entry.place == place && entry.name == name)?;
        Some(found.value)
    }

    /// The field, unless it is nil.
    #[inline]
    pub fn given(&self, name: &str) -> Option<Value<'a>> {
        self.raw(name).filter(|raw| !raw.is_nil()).map(Raw::value)
    }

    /// Whether JavaScript would take the field for true: options are sent as anything by clients of 2.9.5.
    #[inline]
    pub fn truthy(&self, name: &str) -> bool {
        !self.lacks(name) && self.is_truthy(name)
    }

    fn is_truthy(&self, name: &str) -> bool {
        match self.search(name).map_or(Value::Absent, Raw::value) {
            Value::Absent | Value::Nil | Value::Bool(false) | Value::Int(0) => false,
            Value::Float(number) => number != 0.0 && !number.is_nan(),
            Value::Str(text) => !text.is_empty(),
            Value::Bool(true) | Value::Int(_) | Value::Bin(_) | Value::Ext(..) => true,
            Value::Array(_) | Value::Map(_) => true,
        }
    }

    /// A boolean; nil and absent are none.
    #[inline]
    pub fn flag(&self, name: &str) -> Result<Option<bool>> {
        if self.lacks(name) { Ok(None) } else { self.some_flag(name) }
    }

    fn some_flag(&self, name: &str) -> Result<Option<bool>> {
        match self.given(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(self.must_be(name, "a boolean")),
        }
    }

    /// A text, possibly empty; nil and absent are none.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>> {
        match self.given(name) {
            None => Ok(None),
            Some(Value::Str(text)) => utf8(text).map(Some),
            Some(_) => Err(self.must_be(name, "a string")),
        }
    }

    /// A text of which empty means none.
    pub fn filled_text(&self, name: &str) -> Result<Option<&'a str>> {
        Ok(self.text(name)?.filter(|text| !text.is_empty()))
    }

    /// A text for people. Bytes that are not UTF-8 are replaced.
    pub fn prose(&self, name: &str) -> Result<Option<String>> {
        match self.given(name) {
            None => Ok(None),
            Some(Value::Str(text)) => Ok(Some(String::from_utf8_lossy(text).into_owned())),
            Some(_) => Err(self.must_be(name, "a string")),
        }
    }

    /// A text or an integer, which stands for its decimal digits; nil, absent and empty are none.
    #[inline]
    pub fn ident(&self, name: &str) -> Result<Option<Cow<'a, str>>> {
        if self.lacks(name) { Ok(None) } else { self.some_ident(name) }
    }

    fn some_ident(&self, name: &str) -> Result<Option<Cow<'a, str>>> {
        match self.given(name) {
            None => Ok(None),
            Some(value) => match ident(value)? {
                Some(text) => Ok(Some(text).filter(|text| !text.is_empty())),
                None => Err(self.must_be(name, "a string")),
            },
        }
    }

    /// As [`Fields::ident`], and there must be one.
    pub fn required_ident(&self, name: &str) -> Result<Cow<'a, str>> {
        self.ident(name)?.ok_or_else(|| self.required(name))
    }

    /// The id of a job.
    pub fn job_id(&self, name: &str) -> Result<JobId> {
        self.required_ident(name).map(|text| JobId::parse(&text))
    }

    /// A number; nil and absent are none.
    #[inline]
    pub fn number(&self, name: &str) -> Result<Option<f64>> {
        if self.lacks(name) { Ok(None) } else { self.some_number(name) }
    }

    fn some_number(&self, name: &str) -> Result<Option<f64>> {
        let Some(value) = self.given(name) else { return Ok(None) };
        let number = value.number().ok_or_else(|| self.must_be(name, "a number"))?;
        if number.is_finite() { Ok(Some(number)) } else { Err(self.must_be(name, "a finite number")) }
    }

    /// A number within bounds.
    #[inline]
    pub fn number_in(&self, name: &str, bounds: Bounds) -> Result<Option<f64>> {
        if self.lacks(name) { Ok(None) } else { self.some_number_in(name, bounds) }
    }

    fn some_number_in(&self, name: &str, bounds: Bounds) -> Result<Option<f64>> {
        let number = self.some_number(name)?;
        match number {
            Some(number) if number < bounds.min as f64 => Err(self.must_be(name, &format!("at least {}", bounds.min))),
            Some(number) if number > bounds.max as f64 => Err(self.must_be(name, &format!("at most {}", bounds.max))),
            Some(_) | None => Ok(number),
        }
    }

    /// An integer within bounds, integral floats included.
    #[inline]
    pub fn integer(&self, name: &str, bounds: Bounds) -> Result<Option<i64>> {
        if self.lacks(name) { Ok(None) } else { self.some_integer(name, bounds) }
    }

    fn some_integer(&self, name: &str, bounds: Bounds) -> Result<Option<i64>> {
        match self.some_number(name)? {
            Some(number) if number.fract() != 0.0 => Err(self.must_be(name, "an integer")),
            Some(_) | None => Ok(self.some_number_in(name, bounds)?.map(|number| number as i64)),
        }
    }

    /// A duration in milliseconds, fractions rounded down.
    #[inline]
    pub fn millis(&self, name: &str, bounds: Bounds) -> Result<Option<Millis>> {
        Ok(self.number_in(name, bounds)?.map(|number| Millis(number.floor() as i64)))
    }

    /// How many of something, rounded down; what is not positive is 0.
    pub fn count(&self, name: &str) -> Result<Option<usize>> {
        let Some(value) = self.given(name) else { return Ok(None) };
        let number = value.number().ok_or_else(|| self.must_be(name, "a number"))?;
        Ok(Some(number as usize))
    }

    /// An array of bounded length; nil and absent are none.
    pub fn list(&self, name: &str) -> Result<Option<Array<'a>>> {
        match self.given(name) {
            None => Ok(None),
            Some(Value::Array(array)) if array.len() <= LIST_ENTRIES_MAX => Ok(Some(array)),
            Some(Value::Array(_)) => {
                Err(DecodeError::invalid(format!("{}{name} must have at most {LIST_ENTRIES_MAX} entries", self.path)))
            }
            Some(_) => Err(self.must_be(name, "an array")),
        }
    }

    /// An array that must be there.
    pub fn required_list(&self, name: &str) -> Result<Array<'a>> {
        self.list(name)?.ok_or_else(|| self.required(name))
    }

    /// An array of ids: texts, or integers for their digits. Nil and absent are empty.
    #[inline]
    pub fn job_ids(&self, name: &str) -> Result<Vec<JobId>> {
        if self.lacks(name) { Ok(Vec::new()) } else { self.some_job_ids(name) }
    }

    fn some_job_ids(&self, name: &str) -> Result<Vec<JobId>> {
        self.each(name, |value| Ok(ident(value)?.map(|text| JobId::parse(&text))))
    }

    /// An array of texts; nil and absent are empty.
    #[inline]
    pub fn texts(&self, name: &str) -> Result<Vec<&'a str>> {
        if self.lacks(name) { Ok(Vec::new()) } else { self.some_texts(name) }
    }

    fn some_texts(&self, name: &str) -> Result<Vec<&'a str>> {
        self.each(name, |value| match value {
            Value::Str(text) => utf8(text).map(Some),
            _ => Ok(None),
        })
    }

    fn each<T>(&self, name: &str, read: impl Fn(Value<'a>) -> Result<Option<T>>) -> Result<Vec<T>> {
        let Some(array) = self.list(name)? else { return Ok(Vec::new()) };
        let mut items = Vec::with_capacity(array.len());
        for raw in array.iter() {
            items.push(read(raw.value())?.ok_or_else(|| self.must_be(name, "an array of strings"))?);
        }
        Ok(items)
    }

    /// A map; nil and absent are none. `path` is how its members are called in texts.
    #[inline]
    pub fn map(&self, name: &str, path: &'static str) -> Result<Option<Fields<'a>>> {
        match self.given(name) {
            None => Ok(None),
            Some(Value::Map(map)) => Fields::new(map, path).map(Some),
            Some(_) => Err(self.must_be(name, "an object")),
        }
    }

    /// The text for a field that is not what it must be.
    pub fn must_be(&self, name: &str, what: &str) -> DecodeError {
        DecodeError::invalid(format!("{}{name} must be {what}", self.path))
    }

    /// The text for a field that is not there.
    pub fn required(&self, name: &str) -> DecodeError {
        DecodeError::invalid(format!("{}{name} is required", self.path))
    }
}

/// One of 128 places, by length, first and last letter. The factors are such that no two options of an add share one.
#[inline]
const fn place(name: &[u8]) -> u8 {
    let [first, ..] = *name else { return 0 };
    let last = name[name.len() - 1];
    (name.len() as u8).wrapping_add(first.wrapping_mul(74)).wrapping_add(last.wrapping_mul(85)) & 127
}

/// Text as identifier or an integer as its digits; none for other types.
pub fn ident(value: Value<'_>) -> Result<Option<Cow<'_, str>>> {
    match value {
        Value::Str(text) => utf8(text).map(|text| Some(Cow::Borrowed(text))),
        Value::Int(number) => Ok(Some(Cow::Owned(number.to_string()))),
        Value::Float(_) => Ok(value.integer().map(|number| Cow::Owned(number.to_string()))),
        Value::Absent | Value::Nil | Value::Bool(_) | Value::Bin(_) => Ok(None),
        Value::Ext(..) | Value::Array(_) | Value::Map(_) => Ok(None),
    }
}

/// Text that must be UTF-8.
pub fn utf8(text: &[u8]) -> Result<&str> {
    std::str::from_utf8(text).map_err(|_| DecodeError::bad_frame())
}

#[cfg(test)]
mod place_tests {
    use super::place;
    use std::collections::BTreeMap;

    /// An option that shared the place of one that is looked at by [`super::Fields::go_beyond`] would not be seen.
    #[test]
    fn every_option_of_an_add_has_a_place_of_its_own() {
        const NAMES: [&str; 38] = [
            "backoff",
            "childrenIds",
            "cmd",
            "continueParentOnFailure",
            "customId",
            "data",
            "debounceId",
            "debounceTtl",
            "dedup",
            "delay",
            "dependsOn",
            "durable",
            "failParentOnFailure",
            "groupId",
            "groupMaxSize",
            "ignoreDependencyOnFailure",
            "jobId",
            "keepLogs",
            "lifo",
            "maxAttempts",
            "name",
            "parentId",
            "priority",
            "queue",
            "removeDependencyOnFailure",
            "removeOnComplete",
            "removeOnFail",
            "repeat",
            "reqId",
            "sizeLimit",
            "stackTraceLimit",
            "stallTimeout",
            "tags",
            "timeout",
            "timestamp",
            "ttl",
            "uniqueKey",
            "jobs",
        ];
        let mut by_place: BTreeMap<u8, &str> = BTreeMap::new();
        for name in NAMES {
            assert_eq!(by_place.insert(place(name.as_bytes()), name), None, "{name} is not alone");
        }
    }
}
