//! What the tests of this crate share: a seeded random source, JSON to MessagePack, hexadecimal bytes.

use crate::decode::decode;
use crate::frame::{FrameDecoder, NextFrame};
use crate::msgpack::{Raw, Value, write};
use crate::request::Request;
use bytes::BytesMut;
use onceover_engine::command::Command;
use serde_json::Value as Json;

/// A small deterministic random source (xorshift64*), so that a failing seed replays.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 33) as usize % bound
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| (self.next() >> 40) as u8).collect()
    }
}

/// A JSON value as MessagePack. An object `{"$undefined": true}` becomes extension type 0.
pub fn pack(json: &Json) -> Vec<u8> {
    let mut out = BytesMut::new();
    pack_into(&mut out, json);
    out.to_vec()
}

fn pack_into(out: &mut BytesMut, json: &Json) {
    match json {
        Json::Null => write::nil(out),
        Json::Bool(value) => write::bool(out, *value),
        Json::Number(number) => match number.as_i64() {
            Some(value) => write::int(out, value),
            None => write::float(out, number.as_f64().unwrap()),
        },
        Json::String(text) => write::str(out, text),
        Json::Array(items) => {
            write::array(out, items.len());
            items.iter().for_each(|item| pack_into(out, item));
        }
        Json::Object(members) if members.contains_key("$undefined") => {
            out.extend_from_slice(&[0xd4, 0, 0]);
        }
        Json::Object(members) => {
            write::map(out, members.len());
            for (name, value) in members {
                write::str(out, name);
                pack_into(out, value);
            }
        }
    }
}

/// Bytes from hexadecimal text with any white space.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap()).collect()
}

/// A MessagePack value as JSON. Floats stay floats (`1.0` is not `1`), so that number forms can be compared.
pub fn unpack(bytes: &[u8]) -> Json {
    unpack_value(Raw::parse(bytes).expect("one MessagePack value"))
}

fn unpack_value(raw: Raw<'_>) -> Json {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match raw.value() {
        Value::Absent => serde_json::json!({"$undefined": true}),
        Value::Nil => Json::Null,
        Value::Bool(value) => Json::Bool(value),
        Value::Int(value) => Json::from(i64::try_from(value).unwrap()),
        Value::Float(value) => Json::from(value),
        Value::Str(bytes) => Json::String(text(bytes)),
        Value::Bin(bytes) => Json::String(format!("bin:{}", text(bytes))),
        Value::Ext(kind, bytes) => Json::String(format!("ext{kind}:{}", text(bytes))),
        Value::Array(array) => array.iter().map(unpack_value).collect(),
        Value::Map(map) => Json::Object(map.iter().map(|(key, value)| (text(&key), unpack_value(value))).collect()),
    }
}

/// The one frame in `bytes`, as JSON.
pub fn unframe(bytes: &[u8]) -> Json {
    let mut decoder = FrameDecoder::new();
    decoder.feed(bytes);
    let NextFrame::Payload(payload) = decoder.next_frame() else { panic!("a whole frame") };
    let json = unpack(payload);
    assert_eq!(decoder.next_frame(), NextFrame::Incomplete);
    assert!(!decoder.has_partial_frame(), "bytes after the frame");
    json
}

/// What a request decodes to: the command, or the answer's text.
pub fn ask(request: &Json) -> Result<Request, String> {
    decode(&pack(request)).result.map_err(|error| error.text)
}

/// The engine command of a request that must be right.
pub fn command(request: &Json) -> Command {
    match ask(request) {
        Ok(Request::Engine(command)) => command,
        other => panic!("{request} became {other:?}"),
    }
}

/// The answer's text of a request that must be wrong.
pub fn refusal(request: &Json) -> String {
    match ask(request) {
        Err(text) => text,
        Ok(request) => panic!("accepted as {request:?}"),
    }
}
