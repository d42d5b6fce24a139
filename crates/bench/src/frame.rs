//! Requests as frames, and what a load generator has to know of an answer.
//!
//! Every request bears the number of its slot as `reqId`, so that answers may come in any order. An answer that is not
//! `ok` is an error here, never a figure.

use anyhow::{Context, Result, bail};
use bytes::{BufMut, BytesMut};
use onceover_wire::msgpack::write::MapWriter;
use onceover_wire::msgpack::{Array, Raw, Value};

/// Appends a request. `fill` writes its fields besides `cmd` and `reqId`.
pub fn request(out: &mut BytesMut, slot: usize, cmd: &str, fill: impl FnOnce(&mut MapWriter<'_>)) {
    let at = out.len();
    out.put_u32(0);
    let mut map = MapWriter::begin(out);
    map.str("cmd", cmd);
    map.int("reqId", slot as i64);
    fill(&mut map);
    drop(map);
    let length = u32::try_from(out.len() - at - 4).expect("requests are smaller than 4 GiB");
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// An answer that said `ok`.
#[derive(Debug, Default)]
pub struct Answer<'a> {
    /// The request's slot.
    pub slot: usize,
    /// A pulled job's id.
    pub job: Option<&'a [u8]>,
    /// Its lease.
    pub token: Option<&'a [u8]>,
    /// Pulled or listed jobs.
    pub jobs: Option<Array<'a>>,
    /// Their leases.
    pub tokens: Option<Array<'a>>,
    /// Ids of a batch of adds.
    pub ids: Option<Array<'a>>,
    /// Jobs that wait, of an answer with counts.
    pub waiting: Option<u64>,
    /// The number in the payload of a pulled job.
    pub number: Option<u64>,
}

impl<'a> Answer<'a> {
    /// Reads an answer.
    ///
    /// # Errors
    /// It is not one, or tells of an error; the text is in the message.
    pub fn parse(payload: &'a [u8]) -> Result<Answer<'a>> {
        let Value::Map(map) = Raw::parse(payload).ok().context("an answer is not MessagePack")?.value() else {
            bail!("an answer is not a map");
        };
        let (mut answer, mut ok, mut error) = (Answer::default(), false, None);
        for (key, value) in map.iter() {
            match &*key {
                b"ok" => ok = matches!(value.value(), Value::Bool(true)),
                b"reqId" => answer.slot = number(value).context("an answer without our reqId")? as usize,
                b"error" => error = text(value),
                b"job" => (answer.job, answer.number) = job(value),
                b"token" => answer.token = text(value),
                b"jobs" => answer.jobs = array(value),
                b"tokens" => answer.tokens = array(value),
                b"ids" => answer.ids = array(value),
                b"counts" => answer.waiting = member(value, "waiting").and_then(number),
                _ => {}
            }
        }
        if !ok {
            bail!("refused: {}", String::from_utf8_lossy(error.unwrap_or(payload)));
        }
        Ok(answer)
    }
}

/// The bytes of a text.
pub fn text(value: Raw<'_>) -> Option<&[u8]> {
    match value.value() {
        Value::Str(text) => Some(text),
        _ => None,
    }
}

/// The id of a job's record.
pub fn id(job: Raw<'_>) -> Option<&[u8]> {
    member(job, "id").and_then(text)
}

fn job(value: Raw<'_>) -> (Option<&[u8]>, Option<u64>) {
    let number = member(value, "data").and_then(|data| member(data, "n")).and_then(number);
    (id(value), number)
}

fn array(value: Raw<'_>) -> Option<Array<'_>> {
    match value.value() {
        Value::Array(array) => Some(array),
        _ => None,
    }
}

fn member<'a>(value: Raw<'a>, name: &str) -> Option<Raw<'a>> {
    match value.value() {
        Value::Map(map) => map.get(name),
        _ => None,
    }
}

fn number(value: Raw<'_>) -> Option<u64> {
    value.value().number().map(|number| number as u64)
}
