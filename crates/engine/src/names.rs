//! Identifiers: jobs, generations, queues, connections, lock tokens.

use arcstr::ArcStr;
use ecow::EcoString;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU64;
use std::ops::Deref;

/// A job's public id. Unique in the whole broker among the jobs it knows (dedup.md 5).
///
/// A text that is a canonical lower-case UUID is kept as a number, so that a custom id equal to a generated id is the
/// same id (dedup.md 5, "a live job whose generated id equals the jobId").
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobId {
    /// A canonical lower-case UUID, generated or given, whose upper half is not 0.
    Uuid(Uuid),
    /// Any other text, compared code point by code point.
    Text(ArcStr),
}

/// A million jobs and keys carry one each: the zero that `Uuid` leaves out tells the two apart.
const _: () = assert!(size_of::<JobId>() == 16);

/// The bits of a UUID, in halves: a whole one would align, and so enlarge, every job and key by 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid {
    high: NonZeroU64,
    low: u64,
}

impl Uuid {
    /// None when the upper half is 0; only the nil UUID and made-up ones are so.
    pub(crate) fn new(bits: u128) -> Option<Uuid> {
        NonZeroU64::new((bits >> 64) as u64).map(|high| Uuid { high, low: bits as u64 })
    }

    fn bits(self) -> u128 {
        u128::from(self.high.get()) << 64 | u128::from(self.low)
    }

    /// Its text, in ASCII.
    #[must_use]
    pub fn text(self) -> [u8; 36] {
        uuid_text(self.bits())
    }
}

/// The text of a deduplication key, compared code point by code point. A million jobs and keys carry one: a short one takes no
/// memory beside them, a longer one is shared.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyText(EcoString);

impl From<&str> for KeyText {
    fn from(text: &str) -> KeyText {
        KeyText(EcoString::from(text))
    }
}

impl Deref for KeyText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self)
    }
}

impl fmt::Debug for KeyText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, out)
    }
}

impl JobId {
    /// The id that `text` names. Never fails: any text is an id.
    pub fn parse(text: &str) -> JobId {
        match parse_uuid(text).and_then(Uuid::new) {
            Some(uuid) => JobId::Uuid(uuid),
            None => JobId::Text(ArcStr::from(text)),
        }
    }
}

/// A UUID is hashed in one piece: hashers take time for each piece they are given.
impl Hash for JobId {
    fn hash<H: Hasher>(&self, to: &mut H) {
        match self {
            JobId::Uuid(uuid) => to.write(&uuid.bits().to_ne_bytes()),
            JobId::Text(text) => text.hash(to),
        }
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobId::Uuid(uuid) => write_uuid(uuid.bits(), out),
            JobId::Text(text) => out.write_str(text),
        }
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self}")
    }
}

impl Serialize for JobId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for JobId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<JobId, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        Ok(JobId::parse(&text))
    }
}

/// A generation: one admitted job. Ascending, never reused, also the SQLite row id and the tie-break of equal places.
///
/// "Is it still the owner?" is always asked of generations, never of id texts (dedup.md 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobKey(pub u64);

impl JobKey {
    /// The entry of a key that the job takes as it is added: the number that is given out next.
    #[must_use]
    pub fn first_entry(self) -> EntryId {
        EntryId(self.0 + 1)
    }
}

/// A queue inside this engine; never reused while the process runs. The name is its identity outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u32);

/// A deduplication key's entry: ascending, the SQLite row id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(pub u64);

/// A client connection; given by the broker, never reused while the process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// A parked request: a pull or a wait that could not be answered at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParkId(pub u64);

/// Who asked, and how to find the asker again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A frame of a client connection; `request` counts that connection's frames.
    Client {
        /// The connection.
        conn: ConnId,
        /// The frame's number on it.
        request: u64,
    },
    /// An action of the window; `call` is the window's own number for it.
    Inspector {
        /// The call to answer.
        call: u64,
    },
    /// The broker itself: a follower of keepLastIfActive, the next run of a repeating job.
    Internal,
}

/// The secret of one delivery, a UUIDv7 on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockToken(pub u128);

impl LockToken {
    /// Whether `text` is this token.
    pub fn matches(self, text: &str) -> bool {
        parse_uuid(text) == Some(self.0)
    }
}

impl fmt::Display for LockToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_uuid(self.0, out)
    }
}

/// Where the two digits of each byte stand in the text of a UUID.
const DIGIT_PLACES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

fn write_uuid(bits: u128, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    out.write_str(std::str::from_utf8(&uuid_text(bits)).expect("hexadecimal digits and dashes are ASCII"))
}

/// The two hexadecimal digits of each byte.
const DIGITS: [[u8; 2]; 256] = {
    const DIGIT: &[u8; 16] = b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [DIGIT[byte >> 4], DIGIT[byte & 15]];
        byte += 1;
    }
    pairs
};

fn uuid_text(bits: u128) -> [u8; 36] {
    let mut text = [b'-'; 36];
    for (byte, place) in bits.to_be_bytes().into_iter().zip(DIGIT_PLACES) {
        text[place..place + 2].copy_from_slice(&DIGITS[usize::from(byte)]);
    }
    text
}

/// What each byte is worth as a lower-case hexadecimal digit; [`NO_DIGIT`] for those that are none.
const DIGIT_VALUES: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let mut byte = 0;
    while byte < 256 {
        let [high, low] = DIGITS[byte];
        (values[high as usize], values[low as usize]) = (byte as u8 >> 4, byte as u8 & 15);
        byte += 1;
    }
    values
};
const NO_DIGIT: u8 = 0x10;

/// The number of a canonical lower-case UUID text, or nothing.
fn parse_uuid(text: &str) -> Option<u128> {
    let text: &[u8; 36] = text.as_bytes().try_into().ok()?;
    if [8, 13, 18, 23].into_iter().any(|dash: usize| text[dash] != b'-') {
        return None;
    }
    let digit = |place: usize| DIGIT_VALUES[usize::from(text[place])];
    let (mut bytes, mut all) = ([0; 16], 0);
    for (byte, place) in bytes.iter_mut().zip(DIGIT_PLACES) {
        let (high, low) = (digit(place), digit(place + 1));
        all |= high | low;
        *byte = high << 4 | low;
    }
    (all & NO_DIGIT == 0).then_some(u128::from_be_bytes(bytes))
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod names_tests;
