//! Canonical JSON and its hash, against the shared vectors and for what JSON lacks.

use crate::canonical::{CanonicalError, canonical_hash, canonical_json};
use crate::msgpack::write;
use crate::testing::{Random, hex, pack};
use bytes::BytesMut;
use serde_json::Value as Json;

fn canonical(bytes: &str) -> Result<String, CanonicalError> {
    canonical_json(&hex(bytes), usize::MAX)
}

#[test]
fn the_shared_vectors_hold() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/dedup/hash-vectors.json");
    let vectors: Vec<Json> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(vectors.len(), 28);
    for vector in &vectors {
        let text = |member: &str| vector[member].as_str().unwrap();
        let payload = pack(&serde_json::from_str(text("json")).unwrap());
        let json = canonical_json(&payload, usize::MAX);
        assert_eq!(json.as_deref(), Ok(text("canonical")), "{}", text("name"));
        assert_eq!(canonical_hash(&payload).as_deref(), Ok(text("sha256")), "{}", text("name"));
    }
}

#[test]
fn what_json_lacks_has_a_form() {
    for (bytes, expected) in [
        ("d4 00 00", "null"),
        ("93 01 d4 00 00 02", "[1,null,2]"),
        ("82 a1 61 d4 00 00 a1 62 01", r#"{"b":1}"#),
        ("81 a1 61 d4 00 00", "{}"),
        ("91 cb 7ff8000000000000", "[null]"),
        ("91 cb fff0000000000000", "[null]"),
        ("c4 00", r#""data:""#),
        ("c4 01 66", r#""data:Zg==""#),
        ("c4 02 666f", r#""data:Zm8=""#),
        ("c4 03 666f6f", r#""data:Zm9v""#),
        ("c4 04 fbff666f", r#""data:+/9mbw==""#),
        ("d4 05 66", r#""ext:5:Zg==""#),
        ("d4 ff 66", r#""ext:-1:Zg==""#),
        ("82 02 00 a1 31 00", r#"{"1":0,"2":0}"#),
    ] {
        assert_eq!(canonical(bytes).as_deref(), Ok(expected), "{bytes}");
    }
}

#[test]
fn large_integers_keep_their_digits() {
    for (bytes, expected) in [
        ("cf 0020000000000001", "9007199254740993"),
        ("cf ffffffffffffffff", "18446744073709551615"),
        ("d3 8000000000000000", "-9223372036854775808"),
        ("cb 4340000000000000", "9007199254740992"),
    ] {
        assert_eq!(canonical(bytes).as_deref(), Ok(expected), "{bytes}");
    }
}

#[test]
fn of_equal_member_names_the_last_counts() {
    assert_eq!(canonical("83 a1 61 01 a1 62 02 a1 61 03").as_deref(), Ok(r#"{"a":3,"b":2}"#));
    assert_eq!(canonical("82 a1 61 01 a1 61 d4 00 00").as_deref(), Ok("{}"));
    assert_eq!(canonical("82 01 01 a1 31 02").as_deref(), Ok(r#"{"1":2}"#));
}

#[test]
fn payloads_without_a_form_are_refused() {
    assert_eq!(canonical("a1 ff"), Err(CanonicalError::NotText));
    assert_eq!(canonical("81 a1 ff 01"), Err(CanonicalError::NotText));
    for bytes in ["", "c1", "01 01", "92 01", "81 c4 01 61 00", "df ffffffff", "dd ffffffff"] {
        assert_eq!(canonical(bytes), Err(CanonicalError::Malformed), "{bytes}");
    }
    let deep = [vec![0x91; 129], vec![0xc0]].concat();
    assert_eq!(canonical_json(&deep, usize::MAX), Err(CanonicalError::Malformed));
    assert!(canonical_json(&deep[1..], usize::MAX).is_ok());
}

#[test]
fn long_texts_are_given_up_early() {
    let mut payload = BytesMut::new();
    write::array(&mut payload, 1000);
    payload.extend_from_slice(&[0xc2; 1000]);
    assert_eq!(canonical_json(&payload, 6001).map(|json| json.len()), Ok(6001));
    assert_eq!(canonical_json(&payload, 5000), Err(CanonicalError::TooLong));
}

#[test]
fn member_order_never_matters() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut members: Vec<(String, u64)> = (0..random.below(12))
            .map(|index| {
                let letter = char::from_u32(0xfb00 + random.below(90) as u32).unwrap_or('x');
                let emoji = ['a', '\u{1f600}', '\u{20ac}', letter][random.below(4)];
                (format!("{emoji}{index}"), random.next() >> 40)
            })
            .collect();
        let packed = |members: &[(String, u64)]| {
            let mut out = BytesMut::new();
            write::map(&mut out, members.len());
            for (name, value) in members {
                write::str(&mut out, name);
                write::int(&mut out, *value as i64);
            }
            canonical_hash(&out).unwrap()
        };
        let before = packed(&members);
        for index in (1..members.len()).rev() {
            members.swap(index, random.below(index + 1));
        }
        assert_eq!(before, packed(&members), "seed {seed}");
    }
}

#[test]
fn arbitrary_bytes_never_panic() {
    for seed in 0..50_000 {
        let mut random = Random::new(seed);
        let length = random.below(40);
        let bytes = random.bytes(length);
        let _ = canonical_hash(&bytes);
    }
}
