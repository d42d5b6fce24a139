//! Payloads to text, text to payloads, and words in payloads.

use super::*;

fn shown(bytes: &[u8]) -> String {
    line(bytes, 10_000)
}

#[test]
fn scalars_keep_their_exact_value() {
    let table: [(&[u8], &str); 14] = [
        (&[0xc0], "null"),
        (&[0xc3], "true"),
        (&[0x07], "7"),
        (&[0xff], "-1"),
        (&[0xcf, 0, 0x20, 0, 0, 0, 0, 0, 1], "9007199254740993"),
        (&[0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "18446744073709551615"),
        (&[0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0], "-9223372036854775808"),
        (&[0xcb, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0], "1.0"),
        (&[0xcb, 0x80, 0, 0, 0, 0, 0, 0, 0], "-0.0"),
        (&[0xca, 0x3e, 0x80, 0, 0], "0.25"),
        (&[0xc4, 3, 1, 2, 3], "<bytes 3>"),
        (&[0xd4, 0, 0], "<undefined>"),
        (&[0xd4, 5, 9], "<ext 5, 1 bytes>"),
        (&[0xd6, 0xff, 0, 0, 0, 1], "<time 1970-01-01T00:00:01Z>"),
    ];
    for (bytes, text) in table {
        assert_eq!(shown(bytes), text);
    }
}

#[test]
fn moments_in_all_three_forms() {
    let at = 1_709_210_096_u64; // 2024-02-29T12:34:56Z
    let mut eight = vec![0xd7, 0xff];
    eight.extend((500_000_000_u64 << 34 | at).to_be_bytes());
    assert_eq!(shown(&eight), "<time 2024-02-29T12:34:56.5Z>");
    let mut twelve = vec![0xc7, 12, 0xff];
    twelve.extend(1_u32.to_be_bytes());
    twelve.extend((-1_i64).to_be_bytes());
    assert_eq!(shown(&twelve), "<time 1969-12-31T23:59:59.000000001Z>");
}

#[test]
fn texts_are_escaped_and_broken_ones_marked() {
    assert_eq!(shown(b"\xa5a\"\n\xc2\x85"), "\"a\\\"\\n\\u0085\"");
    assert_eq!(shown(b"\xa2a\xff"), "<not UTF-8, 2 bytes: \"a\u{fffd}\">");
}

#[test]
fn maps_keep_their_order_and_keys_that_are_not_text() {
    assert_eq!(shown(&[0x83, 0xa1, b'b', 1, 0xa1, b'a', 0x92, 1, 2, 5, 0x80]), "{\"b\": 1, \"a\": [1, 2], 5: {}}");
    assert_eq!(text(&[0x81, 0xa1, b'a', 0x91, 1], 1000).text, "{\n  \"a\": [\n    1\n  ]\n}");
}

#[test]
fn cut_deep_and_long_payloads_are_shown_as_far_as_they_go() {
    let cut = text(&[0x92, 1, 0xcd, 1], 1000);
    assert_eq!((cut.text.as_str(), cut.complete), ("[\n  1,\n  <the payload ends here>", false));
    let mut deep = vec![0x91; 100_000];
    deep.push(0xc0);
    let shown = text(&deep, 1_000_000);
    assert!(shown.text.contains("<nested too deep to be shown>") && !shown.complete);
    let mut long = vec![0xdb, 0, 1, 0, 0];
    long.extend(vec![b'x'; 65_536]);
    let shown = text(&long, 100);
    assert!(shown.text.len() < 110 && !shown.complete);
    assert_eq!(line(&long, 120).chars().count(), 120);
    assert!(!text(&[1, 2], 100).complete);
}

#[test]
fn a_length_without_bytes_behind_it_allocates_nothing() {
    assert!(!text(&[0xdd, 0xff, 0xff, 0xff, 0xff], 1000).complete);
    assert!(!text(&[0xc6, 0xff, 0xff, 0xff, 0xff], 1000).complete);
}

#[test]
fn text_becomes_a_payload_and_the_same_text_again() {
    let table = [
        "null",
        "true",
        "127",
        "128",
        "65536",
        "9007199254740993",
        "18446744073709551615",
        "-32",
        "-33",
        "-40000",
        "-9223372036854775808",
        "1.5",
        "\"ä\\n\"",
        "{\"z\": 1, \"a\": [\"x\", {}], \"n\": null}",
    ];
    for text in table {
        assert_eq!(shown(&parse(text, None).unwrap()), text);
    }
    let long = format!("[{}]", vec!["1"; 70_000].join(", "));
    assert_eq!(line(&parse(&long, None).unwrap(), 1_000_000), long);
}

#[test]
fn a_mistake_in_the_text_is_named_with_its_place() {
    let error = parse("{\"a\": }", None).unwrap_err().to_string();
    assert_eq!(error, "The data is not valid JSON: expected value at line 1 column 7");
    assert!(parse("1 2", None).is_err());
    assert!(parse(&"[".repeat(1000), None).is_err());
}

#[test]
fn words_are_found_in_texts_keys_and_numbers() {
    let payload = parse("{\"User\": {\"id\": 4711, \"mail\": \"Ann@example.org\"}, \"ok\": true}", None).unwrap();
    for word in ["user", "ANN@", "4711", "71", "true"] {
        assert!(contains(&payload, &Needle::new(word)), "{word}");
    }
    for word in ["bob", "48", "tru"] {
        assert!(!contains(&payload, &Needle::new(word)), "{word}");
    }
}
