//! Names lifted out of job data and put back.

use crate::envelope::{lift, restore};
use crate::msgpack::{Raw, Value};
use crate::testing::{hex, pack, unpack};
use bytes::BytesMut;
use serde_json::{Value as Json, json};

fn restored(data: Option<&Json>) -> Json {
    let packed = data.map(pack);
    let mut out = BytesMut::new();
    restore(&mut out, "n", packed.as_deref());
    unpack(&out)
}

#[test]
fn the_name_is_put_back() {
    assert_eq!(restored(Some(&json!({"a": 1}))), json!({"name": "n", "a": 1}));
    assert_eq!(restored(Some(&json!({}))), json!({"name": "n"}));
    assert_eq!(restored(Some(&json!("text"))), json!({"name": "n", "payload": "text"}));
    assert_eq!(restored(Some(&json!([1]))), json!({"name": "n", "payload": [1]}));
    assert_eq!(restored(Some(&json!(null))), json!({"name": "n", "payload": null}));
    assert_eq!(restored(None), json!({"name": "n"}));
}

#[test]
fn data_with_a_name_of_its_own_are_left_alone() {
    assert_eq!(restored(Some(&json!({"name": "d", "a": 1}))), json!({"name": "d", "a": 1}));
}

#[test]
fn lifting_and_putting_back_keeps_every_byte_of_the_rest() {
    // {"a": <int64 1>, "name": "n", 5: <binary>, "z": undefined}
    let data = hex("84 a161 d30000000000000001 a46e616d65 a16e 05 c40161 a17a d40000");
    let Value::Map(map) = Raw::parse(&data).unwrap().value() else { panic!("a map") };
    let (name, rest) = lift(map).unwrap();
    assert_eq!(name, b"n");
    assert_eq!(rest, hex("83 a161 d30000000000000001 05 c40161 a17a d40000"));
    let mut out = BytesMut::new();
    restore(&mut out, "n", Some(&rest));
    assert_eq!(out, hex("84 a46e616d65 a16e a161 d30000000000000001 05 c40161 a17a d40000"));
}

#[test]
fn of_several_names_the_last_counts_and_all_are_lifted() {
    let data = hex("83 a46e616d65 a161 a178 01 a46e616d65 a162");
    let Value::Map(map) = Raw::parse(&data).unwrap().value() else { panic!("a map") };
    let (name, rest) = lift(map).unwrap();
    assert_eq!((name, unpack(&rest)), (&b"b"[..], json!({"x": 1})));
}
