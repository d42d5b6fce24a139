//! A byte stream as a client might send it: cut into frames, decoded, answered. No byte of it may bring anything down.

use crate::memory::peak_bytes;
use crate::source::Source;
use bytes::BytesMut;
use onceover_wire::canonical::{canonical_hash, canonical_json};
use onceover_wire::encode::{encode_error, encode_hello};
use onceover_wire::fingerprint;
use onceover_wire::frame::{FRAME_HEADER_BYTES, FrameDecoder, NextFrame, oversize_error};
use onceover_wire::msgpack::{Raw, Value};
use onceover_wire::request::Decoded;

/// Bytes that decoding may take for each byte of a payload. The worst are the entries of a batch: one byte each, for which a
/// job's description is made.
const DECODE_BYTES_PER_BYTE_MAX: usize = 400;
/// The same for what does not grow with the payload, such as the text of an error.
const DECODE_BYTES_MIN: usize = 4_096;
/// Chunk sizes of a socket that delivers unevenly.
const CHUNKS: [usize; 8] = [1, 2, 3, 5, 8, 64, 1_000, 100_000];

/// One input: two bytes that say how the stream is cut, then the stream.
///
/// # Panics
/// At the first thing that must not be.
pub fn run(bytes: &[u8]) {
    let mut cuts = Source::new(bytes);
    let sizes = [cuts.pick(&CHUNKS), cuts.pick(&CHUNKS)];
    let stream = bytes.get(2..).unwrap_or_default();
    let mut whole = Vec::new();
    follow(stream, &[stream.len().max(1)], &mut |payload| {
        whole.push(payload.to_vec());
        look_into(payload);
    });
    let mut at = 0;
    follow(stream, &sizes, &mut |payload| {
        assert_eq!(Some(payload), whole.get(at).map(Vec::as_slice), "frames do not depend on how the stream is cut");
        at += 1;
    });
    assert_eq!(at, whole.len(), "frames do not depend on how the stream is cut");
    // What is one value for the outside is so without a frame too.
    look_into(stream);
}

/// Feeds the stream in chunks and gives out the payloads; ends where the stream cannot be followed.
fn follow(stream: &[u8], sizes: &[usize], take: &mut dyn FnMut(&[u8])) {
    let mut decoder = FrameDecoder::new();
    let mut rest = stream;
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            return;
        }
        let (chunk, later) = rest.split_at((*size).min(rest.len()));
        rest = later;
        let (_, peak) = peak_bytes(|| decoder.feed(chunk));
        assert!(peak <= 2 * stream.len() + 1_024, "a length that was only announced takes no memory: {peak} bytes");
        loop {
            match decoder.next_frame() {
                NextFrame::Payload(payload) => take(payload),
                NextFrame::Oversize { payload_bytes } => {
                    assert!(oversize_error(payload_bytes).contains("exceeds maximum"));
                    return;
                }
                NextFrame::Incomplete => break,
            }
        }
    }
}

fn look_into(payload: &[u8]) {
    let decoded = decode(payload);
    if let Err(error) = &decoded.result {
        answer(&decoded, &error.to_string());
    }
    if let Ok(raw) = Raw::parse(payload) {
        assert_eq!(raw.bytes(), payload);
        walk(raw);
        let _ = fingerprint(payload);
        let json = canonical_json(payload, usize::MAX);
        assert_eq!(json.is_ok(), canonical_hash(payload).is_ok(), "what has a text has a hash");
        if let Ok(json) = json {
            assert!(serde_json::from_str::<serde::de::IgnoredAny>(&json).is_ok(), "not JSON: {json}");
        }
    }
}

/// Decodes, and sees to it that this takes memory in proportion to the bytes only.
///
/// # Panics
/// When it takes more.
pub fn decode(payload: &[u8]) -> Decoded {
    let (decoded, peak) = peak_bytes(|| onceover_wire::decode(payload));
    let most = payload.len() * DECODE_BYTES_PER_BYTE_MAX + DECODE_BYTES_MIN;
    assert!(peak <= most, "decoding {} bytes took {peak}", payload.len());
    decoded
}

/// The refusal and a greeting have a frame form, whatever the request's number is.
fn answer(decoded: &Decoded, text: &str) {
    let mut out = BytesMut::new();
    encode_error(&mut out, decoded.req_id.as_ref(), text);
    encode_hello(&mut out, decoded.req_id.as_ref());
    let mut decoder = FrameDecoder::new();
    decoder.feed(&out);
    for _ in 0..2 {
        let NextFrame::Payload(reply) = decoder.next_frame() else { panic!("an answer is a whole frame") };
        let Ok(Value::Map(map)) = Raw::parse(reply).map(Raw::value) else { panic!("an answer is a map") };
        let sent = decoded.req_id.as_ref().map(|req_id| req_id.bytes());
        assert_eq!(map.get("reqId").map(Raw::bytes), sent, "the number goes back as it came");
    }
    assert!(!decoder.has_partial_frame(), "an answer is {FRAME_HEADER_BYTES} bytes and what they announce");
}

/// Looks at everything in a value.
fn walk(raw: Raw<'_>) {
    match raw.value() {
        Value::Array(array) => array.iter().for_each(walk),
        Value::Map(map) => map.iter().for_each(|(_, value)| walk(value)),
        value => {
            let _ = (value.number(), value.integer());
        }
    }
}
