//! The counted length is that of the text that is written.

use crate::canonical::{CanonicalError, canonical_json, utf16_order};
use crate::json_size::json_units;
use crate::msgpack::Reader;
use crate::testing::{Random, hex, pack};
use serde_json::json;

fn units(payload: &[u8]) -> Result<usize, CanonicalError> {
    json_units(payload, usize::MAX)
}

fn written(payload: &[u8]) -> Result<usize, CanonicalError> {
    canonical_json(payload, usize::MAX).map(|json| json.encode_utf16().count())
}

#[test]
fn every_kind_of_value_counts_as_it_is_written() {
    let texts = json!([
        "",
        "plain",
        "q\"b\\",
        "\u{8}\t\n\u{c}\r\u{1}\u{1f}\u{7f}",
        "ä€\u{e000}\u{ffff}",
        "\u{1f600}\u{10ffff}"
    ]);
    let numbers =
        json!([0, -1, 9, 10, -10, 99, 100, 1.5, -0.0, 1e21, 1e-7, 123_456_789, i64::MAX, i64::MIN, true, false, null]);
    let maps = json!({"a": {}, "b": {"ä": [1]}, "c": [[], [[]]], "\n": {"$undefined": true}, "d": {"only": {"$undefined": true}}});
    for value in [texts, numbers, maps] {
        let payload = pack(&value);
        assert_eq!(units(&payload), written(&payload), "{value}");
        assert!(units(&payload).is_ok());
    }
    for bytes in [
        "c4 00",
        "c4 01 ff",
        "c4 04 01020304",
        "d4 05 00",
        "c7 03 ff 010203",
        "cf ffffffffffffffff",
        "cb 7ff8000000000000",
    ] {
        let payload = hex(bytes);
        assert_eq!(units(&payload), written(&payload), "{bytes}");
    }
    // Keys that are not text have the text of a property name.
    let keys = hex("85 01 01 cb3ff8000000000000 02 c3 03 c0 04 c2 05");
    assert_eq!(units(&keys), written(&keys));
}

#[test]
fn arbitrary_bytes_count_as_they_are_written() {
    let mut counted = 0;
    for seed in 0..50_000 {
        let mut random = Random::new(seed);
        let length = random.below(40);
        let bytes = random.bytes(length);
        let Ok(raw) = Reader::new(&bytes).raw() else { continue };
        let payload = raw.bytes();
        match (units(payload), written(payload)) {
            // A name twice is written once.
            (Ok(units), Ok(written)) => assert!(units >= written, "seed {seed}"),
            // Of two mistakes another one may be seen first.
            (Err(_), Err(_)) => {}
            (counted, written) => panic!("seed {seed}: {counted:?}, {written:?}"),
        }
        counted += usize::from(units(payload).is_ok() && length > 1);
    }
    assert!(counted > 1_000);
}

#[test]
fn it_ends_as_soon_as_it_is_too_long() {
    assert_eq!(json_units(&pack(&json!([1, 2, 3])), 7), Ok(7));
    assert_eq!(json_units(&pack(&json!([1, 2, 3])), 6), Err(CanonicalError::TooLong));
    // What follows is not looked at any more, broken as it is.
    assert_eq!(json_units(&[&pack(&json!(["x".repeat(100)]))[..], b"\xc1"].concat(), 50), Err(CanonicalError::TooLong));
    let lie = hex("dd ffffffff");
    assert_eq!(json_units(&lie, 1_000), Err(CanonicalError::TooLong));
}

#[test]
fn names_are_in_the_order_of_utf16() {
    let parts =
        ["", "a", "\u{7f}", "é", "\u{7ff}", "\u{800}", "\u{d7ff}", "\u{e000}", "\u{ffff}", "\u{10000}", "\u{10ffff}"];
    let texts: Vec<String> = parts.iter().flat_map(|a| parts.iter().map(move |b| format!("{a}{b}"))).collect();
    for a in &texts {
        for b in &texts {
            assert_eq!(utf16_order(a, b), a.encode_utf16().cmp(b.encode_utf16()), "{a:?} and {b:?}");
        }
    }
}
