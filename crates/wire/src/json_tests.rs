//! MessagePack to JSON and back.

use crate::json::{from_json, to_json, write_json};
use crate::msgpack::write;
use bytes::BytesMut;

fn there_and_back(json: &str) -> String {
    to_json(&from_json(json.as_bytes()).unwrap())
}

#[test]
fn what_json_says_comes_back() {
    let texts = [
        "null",
        "true",
        "-129",
        "4294967296",
        "9007199254740993",
        "18446744073709551615",
        "0.1",
        r#""é \" \u0001""#,
        r#"{"z":1,"a":[1,{"b":null}],"":{}}"#,
        "[]",
    ];
    for text in texts {
        assert_eq!(there_and_back(text), text);
    }
}

#[test]
fn a_time_is_a_double_on_the_wire_and_an_integer_in_json() {
    let packed = from_json(b"1700000000000").unwrap();
    assert_eq!(packed[0], 0xcb);
    assert_eq!(to_json(&packed), "1700000000000");
}

#[test]
fn what_json_cannot_say() {
    let cases: [(&[u8], &str); 6] = [
        (&[0x82, 0xa1, b'a', 0xd4, 0, 0, 0xa1, b'b', 0x01], r#"{"b":1}"#),
        (&[0x91, 0xd4, 0, 0], "[null]"),
        (&[0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0], "null"),
        (&[0xc4, 2, 1, 2], r#""data:AQI=""#),
        (&[0xa2, 0xff, b'x'], "\"\u{fffd}x\""),
        (&[0xc1], "null"),
    ];
    for (packed, json) in cases {
        assert_eq!(to_json(packed), json);
    }
}

#[test]
fn what_is_not_one_json_value_is_refused() {
    for text in ["", "{", "1 2", "[1,]", "nul"] {
        assert!(from_json(text.as_bytes()).is_err(), "{text}");
    }
    assert!(from_json("[".repeat(200).as_bytes()).is_err());
}

#[test]
fn a_tree_is_written_as_its_text_is() {
    let json = serde_json::json!({"a": [1, -1, 2.5], "b": {"at": 1_700_000_000_000_u64}});
    let mut out = BytesMut::new();
    write_json(&mut out, &json);
    assert_eq!(out, from_json(json.to_string().as_bytes()).unwrap());
    let mut number = BytesMut::new();
    write::int64(&mut number, -5_000_000_000);
    assert_eq!(to_json(&number), "-5000000000");
}
