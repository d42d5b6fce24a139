//! A payload that is edited keeps everything that was not touched, bit for bit.

use super::*;
use crate::payload::parse;

/// Numbers without a pattern, the same in every run (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }

    /// Any value in any of its forms, also in longer ones than it needs.
    fn value(&mut self, depth: usize, out: &mut Vec<u8>) {
        let fixed: [(u8, usize); 14] = [
            (0xcc, 1),
            (0xcd, 2),
            (0xce, 4),
            (0xcf, 8),
            (0xd0, 1),
            (0xd1, 2),
            (0xd2, 4),
            (0xd3, 8),
            (0xca, 4),
            (0xcb, 8),
            (0xd4, 2),
            (0xd6, 5),
            (0xd7, 9),
            (0xd8, 17),
        ];
        match self.below(if depth < 4 { 24 } else { 20 }) {
            0 => out.push(0xc0),
            1 => out.push(0xc2 + self.below(2) as u8),
            2 => out.push(self.below(128) as u8),
            at @ 3..=16 => {
                let (head, count) = fixed[at as usize - 3];
                out.push(head);
                out.extend(self.bytes(count));
            }
            17 => self.text(out),
            18 => {
                let count = self.below(40);
                out.extend([0xc5, 0, count as u8]);
                out.extend(self.bytes(count as usize));
            }
            19 => {
                let count = self.below(6);
                out.extend([0xc7, count as u8, self.below(256) as u8]);
                out.extend(self.bytes(count as usize));
            }
            20 | 21 => {
                let count = self.below(5);
                if self.below(2) == 0 {
                    out.push(0x90 | count as u8)
                } else {
                    out.extend([0xdc, 0, count as u8])
                }
                (0..count).for_each(|_| self.value(depth + 1, out));
            }
            _ => {
                let count = self.below(5);
                if self.below(2) == 0 {
                    out.push(0x80 | count as u8)
                } else {
                    out.extend([0xde, 0, count as u8])
                }
                for _ in 0..count {
                    if self.below(5) == 0 {
                        out.push(self.below(100) as u8)
                    } else {
                        self.text(out)
                    }
                    self.value(depth + 1, out);
                }
            }
        }
    }

    fn text(&mut self, out: &mut Vec<u8>) {
        const TEXTS: [&[u8]; 8] =
            [b"", b"a", b"a", b"$bytes", b"$map", "\u{e9}\u{1f600}\u{202e}".as_bytes(), b"\xff\xfe", b"\"\\\n"];
        let text = TEXTS[self.below(8) as usize];
        if self.below(2) == 0 {
            out.push(0xa0 | text.len() as u8)
        } else {
            out.extend([0xda, 0, text.len() as u8])
        }
        out.extend(text);
    }
}

#[test]
fn text_and_back_is_the_same_payload_bit_for_bit() {
    for seed in 0..50_000 {
        let mut payload = Vec::new();
        Dice(seed).value(0, &mut payload);
        let Some(text) = edit(&payload) else { continue };
        assert_eq!(parse(&text, Some(&payload)).unwrap(), payload, "seed {seed}: {text}");
        // Without the original only the forms may change, not what they say.
        let alone = parse(&text, None).unwrap();
        assert!(edit(&alone).as_deref() == Some(&text), "seed {seed}: {text}");
    }
}

#[test]
fn what_json_lacks_has_names() {
    let table: [(&[u8], &str); 8] = [
        (&[0xc4, 3, 1, 2, 3], "{\"$bytes\": \"AQID\"}"),
        (&[0xd4, 5, 9], "{\"$ext\": [5, \"CQ==\"]}"),
        (&[0xd4, 0, 0], "{\"$ext\": [0, \"AA==\"]}"),
        (&[0xa2, b'a', 0xff], "{\"$text\": \"Yf8=\"}"),
        (&[0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0], "{\"$number\": \"NaN\"}"),
        (&[0xcb, 0xff, 0xf0, 0, 0, 0, 0, 0, 0], "{\"$number\": \"-Infinity\"}"),
        (&[0x81, 5, 1], "{\"$map\": [\n  [5, 1]\n]}"),
        (&[0x81, 0xa6, b'$', b'b', b'y', b't', b'e', b's', 1], "{\"$map\": [\n  [\"$bytes\", 1]\n]}"),
    ];
    for (payload, text) in table {
        assert_eq!(edit(payload).as_deref(), Some(text));
        assert_eq!(parse(text, None).unwrap(), payload, "{text}");
    }
}

#[test]
fn a_changed_member_leaves_the_others_as_they_were() {
    // {"n": 9007199254740993 as 64 bits, "one": 1 in 32 bits, "list": [1 in 16 bits, 2, NaN], "bytes": 1}
    let payload: &[u8] = b"\x84\xa1n\xcf\x00\x20\x00\x00\x00\x00\x00\x01\xa3one\xce\x00\x00\x00\x01\
        \xa4list\x93\xcd\x00\x01\x02\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00\xa5bytes\xc4\x01\x07";
    let text = edit(payload).unwrap();
    let changed = text.replace("2,\n", "2,\n    \"new\",\n").replace("\"one\": 1", "\"two\": 300");
    let wanted: &[u8] = b"\x84\xa1n\xcf\x00\x20\x00\x00\x00\x00\x00\x01\xa3two\xcd\x01\x2c\
        \xa4list\x94\xcd\x00\x01\x02\xa3new\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00\xa5bytes\xc4\x01\x07";
    assert_eq!(parse(&changed, Some(payload)).unwrap(), wanted);
}

#[test]
fn mistakes_are_named_with_their_place() {
    let table = [
        ("{\"a\": }", "The data is not valid JSON: expected value at line 1 column 7"),
        ("{\"$bytes\": \"?\"}", "The data is not valid JSON: `$bytes` must be a text in base64 at line 1 column 15"),
        (
            "{\"$ext\": [200, \"\"]}",
            "The data is not valid JSON: `$ext` must be a list of a type from -128 to 127 and a text in base64 at line 1 column 19",
        ),
    ];
    for (text, error) in table {
        assert_eq!(parse(text, None).unwrap_err().to_string(), error);
    }
}

#[test]
fn the_largest_payload_is_read_and_written_in_a_moment() {
    let mut payload = vec![0xdd, 0, 0x0a, 0, 0];
    (0..0xa_0000_u32).for_each(|at| {
        payload.push(0xce);
        payload.extend(at.to_be_bytes());
        payload.extend(b"\xaaand a text");
    });
    payload[1..5].copy_from_slice(&0x14_0000_u32.to_be_bytes());
    assert!(payload.len() > 10_000_000);
    let began = std::time::Instant::now();
    let text = edit(&payload).unwrap();
    let back = parse(&text.replacen("\"and a text\"", "\"changed\"", 1), Some(&payload)).unwrap();
    // A release build takes a tenth of it; this only notices when it grows with the square.
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
    assert_eq!(back.len(), payload.len() - 3);
    assert!(back.ends_with(&payload[payload.len() - 1000..]));
}
