//! Reading and writing MessagePack: every encoding, what is malformed, the forms that clients need.

use crate::msgpack::write::{self, MapWriter};
use crate::msgpack::{DEPTH_MAX, Malformed, Raw, Reader, Value};
use crate::testing::{Random, hex};
use bytes::BytesMut;

fn value(text: &str) -> String {
    match Raw::parse(&hex(text)) {
        Ok(raw) => format!("{:?}", raw.value()),
        Err(Malformed) => "malformed".to_owned(),
    }
}

#[test]
fn scalars_of_every_encoding_are_read() {
    for (bytes, expected) in [
        ("00", "Int(0)"),
        ("7f", "Int(127)"),
        ("e0", "Int(-32)"),
        ("ff", "Int(-1)"),
        ("cc ff", "Int(255)"),
        ("cd ffff", "Int(65535)"),
        ("ce ffffffff", "Int(4294967295)"),
        ("cf ffffffffffffffff", "Int(18446744073709551615)"),
        ("d0 80", "Int(-128)"),
        ("d1 8000", "Int(-32768)"),
        ("d2 80000000", "Int(-2147483648)"),
        ("d3 8000000000000000", "Int(-9223372036854775808)"),
        ("ca 3fc00000", "Float(1.5)"),
        ("cb 3ff8000000000000", "Float(1.5)"),
        ("c0", "Nil"),
        ("c2", "Bool(false)"),
        ("c3", "Bool(true)"),
        ("a1 61", "Str([97])"),
        ("d9 01 61", "Str([97])"),
        ("da 0001 61", "Str([97])"),
        ("db 00000001 61", "Str([97])"),
        ("c4 01 61", "Bin([97])"),
        ("c5 0001 61", "Bin([97])"),
        ("c6 00000001 61", "Bin([97])"),
        ("d4 00 00", "Absent"),
        ("c7 03 00 616161", "Absent"),
        ("d4 05 61", "Ext(5, [97])"),
        ("d6 ff 00000000", "Ext(-1, [0, 0, 0, 0])"),
        ("c7 01 05 61", "Ext(5, [97])"),
        ("c8 0001 05 61", "Ext(5, [97])"),
        ("c9 00000001 05 61", "Ext(5, [97])"),
    ] {
        assert_eq!(value(bytes), expected, "{bytes}");
    }
}

#[test]
fn broken_bytes_are_malformed() {
    for bytes in [
        "",
        "c1",
        "a2 61",
        "cd 01",
        "cb 00",
        "91",
        "81 a1 61",
        "00 00",
        "dd ffffffff",
        "df ffffffff 00",
        "c6 ffffffff 00",
        "c7 05 00",
        "81 c4 01 61 00",
        "81 90 00",
        "81 80 00",
        "81 d4 00 00 00",
        "81 a1 61 81 c4 00 00",
    ] {
        assert_eq!(value(bytes), "malformed", "{bytes}");
    }
}

#[test]
fn nesting_is_limited() {
    let mut deepest = vec![0x91; DEPTH_MAX];
    deepest.push(0xc0);
    assert!(Raw::parse(&deepest).is_ok());
    deepest.insert(0, 0x91);
    assert_eq!(Raw::parse(&deepest), Err(Malformed));
}

#[test]
fn a_value_is_skipped_with_all_it_contains() {
    let bytes = hex("82 a1 61 93 01 81 a1 62 90 c0  02 80  c3");
    let mut reader = Reader::new(&bytes);
    let raw = reader.raw().unwrap();
    assert_eq!(raw.bytes().len(), bytes.len() - 1);
    assert_eq!(reader.rest(), [0xc3]);
}

#[test]
fn map_keys_are_texts_and_the_last_of_equal_ones_counts() {
    let bytes = hex("86 01 a1 61  cb 3ff8000000000000 a1 62  c3 00  c0 00  a1 6b 01  a1 6b 02");
    let Value::Map(map) = Raw::parse(&bytes).unwrap().value() else { panic!("a map") };
    let keys: Vec<String> = map.iter().map(|(key, _)| String::from_utf8(key.into_owned()).unwrap()).collect();
    assert_eq!(keys, ["1", "1.5", "true", "null", "k", "k"]);
    assert_eq!(map.get("k").unwrap().value(), Value::Int(2));
    assert_eq!(map.get("missing"), None);
    assert_eq!((map.len(), map.is_empty()), (6, false));
}

#[test]
fn undefined_is_a_key_that_is_not_there() {
    let bytes = hex("82 a1 61 01  a1 61 d4 00 00");
    let Value::Map(map) = Raw::parse(&bytes).unwrap().value() else { panic!("a map") };
    assert_eq!(map.get("a"), None);
}

#[test]
fn numbers_are_integers_when_they_are_integral() {
    for (bytes, number, integer) in [
        ("cb 40b3880000000000", Some(5000.0), Some(5000)),
        ("cb 3ff8000000000000", Some(1.5), None),
        ("cf 000001a22a99ec97", Some(1_796_011_060_375.0), Some(1_796_011_060_375)),
        ("cf ffffffffffffffff", Some(18_446_744_073_709_551_615.0), None),
        ("cb 43e0000000000000", Some(9_223_372_036_854_775_808.0), None),
        ("cb c3e0000000000000", Some(-9_223_372_036_854_775_808.0), Some(i64::MIN)),
        ("cb 7ff0000000000000", Some(f64::INFINITY), None),
        ("c3", None, None),
        ("a1 31", None, None),
    ] {
        let bytes = hex(bytes);
        let value = Raw::parse(&bytes).unwrap().value();
        assert_eq!((value.number(), value.integer()), (number, integer), "{bytes:x?}");
    }
}

#[test]
fn integers_take_the_smallest_form_and_large_ones_are_floats() {
    for (number, expected) in [
        (0, "00"),
        (127, "7f"),
        (128, "cc80"),
        (255, "ccff"),
        (256, "cd0100"),
        (65_535, "cdffff"),
        (65_536, "ce00010000"),
        (4_294_967_295, "ceffffffff"),
        (4_294_967_296, "cb41f0000000000000"),
        (-1, "ff"),
        (-32, "e0"),
        (-33, "d0df"),
        (-128, "d080"),
        (-129, "d1ff7f"),
        (-32_768, "d18000"),
        (-32_769, "d2ffff7fff"),
        (-2_147_483_648, "d280000000"),
        (-2_147_483_649, "cbc1e0000000200000"),
    ] {
        let mut out = BytesMut::new();
        write::int(&mut out, number);
        assert_eq!(out, hex(expected), "{number}");
        out.clear();
        write::number(&mut out, number as f64);
        assert_eq!(out, hex(expected), "{number} as a float");
    }
}

#[test]
fn fractions_and_times_are_floats() {
    let mut out = BytesMut::new();
    write::number(&mut out, 1.5);
    write::time(&mut out, 0);
    assert_eq!(out, hex("cb3ff8000000000000 cb0000000000000000"));
}

#[test]
fn lengths_take_the_smallest_header() {
    for (length, expected) in
        [(31, "bf"), (32, "d920"), (255, "d9ff"), (256, "da0100"), (65_535, "daffff"), (65_536, "db00010000")]
    {
        let mut out = BytesMut::new();
        write::str(&mut out, &"x".repeat(length));
        assert_eq!(out[..out.len() - length], hex(expected), "text of {length}");
    }
    for (count, array, map) in
        [(15, "9f", "8f"), (16, "dc0010", "de0010"), (65_535, "dcffff", "deffff"), (65_536, "dd00010000", "df00010000")]
    {
        let (mut as_array, mut as_map) = (BytesMut::new(), BytesMut::new());
        write::array(&mut as_array, count);
        write::map(&mut as_map, count);
        assert_eq!((as_array.to_vec(), as_map.to_vec()), (hex(array), hex(map)), "{count} elements");
    }
}

#[test]
fn map_writers_count_their_keys_also_nested() {
    let mut out = BytesMut::new();
    let mut outer = MapWriter::begin(&mut out);
    outer.bool("ok", true);
    let mut inner = outer.map("data");
    inner.int("n", 1);
    inner.or_nil("t", None::<i64>, write::time);
    drop(inner);
    outer.str("s", "x");
    drop(outer);
    let expected = "de0003 a26f6b c3 a464617461 de0002 a16e 01 a174 c0 a173 a178";
    assert_eq!(out, hex(expected));
}

/// Reads everything there is to read, as a consumer of unknown payloads would.
fn visit(raw: Raw<'_>) -> usize {
    match raw.value() {
        Value::Array(array) => array.iter().map(visit).sum(),
        Value::Map(map) => map.iter().map(|(key, value)| key.len() + visit(value)).sum(),
        Value::Str(bytes) | Value::Bin(bytes) | Value::Ext(_, bytes) => bytes.len(),
        Value::Absent | Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) => 1,
    }
}

#[test]
fn arbitrary_bytes_never_panic() {
    let mut readable = 0;
    for seed in 0..50_000 {
        let mut random = Random::new(seed);
        let length = random.below(40);
        let mut bytes = random.bytes(length);
        // Half of the cases favour containers and short texts, which random bytes rarely complete.
        if seed % 2 == 0 {
            for byte in &mut bytes {
                *byte = [0x81, 0x92, 0xa1, 0x61, 0x01, 0xc4, 0xd4, 0xde, 0xdc, 0x00][*byte as usize % 10];
            }
        }
        if let Ok(raw) = Reader::new(&bytes).raw() {
            visit(raw);
            readable += 1;
        }
    }
    assert!(readable > 1000, "the generator makes too few readable values: {readable}");
}
