//! The same data written differently, and different data.

use crate::fingerprint::{VALUES_MAX, fingerprint};
use crate::testing::{Random, hex};
use std::collections::HashSet;

#[test]
fn the_same_data_have_one_fingerprint_however_they_are_written() {
    let cases: [&[&str]; 9] = [
        // 5 in every width and as floats of both.
        &[
            "05",
            "cc05",
            "cd0005",
            "ce00000005",
            "cf0000000000000005",
            "d005",
            "d10005",
            "d200000005",
            "d30000000000000005",
            "ca40a00000",
            "cb4014000000000000",
        ],
        &["ff", "d0ff", "d1ffff", "d2ffffffff", "d3ffffffffffffffff", "cabf800000", "cbbff0000000000000"],
        &["00", "cb0000000000000000", "cb8000000000000000"],
        // "a", [5], {} with every header.
        &["a161", "d90161", "da000161", "db0000000161"],
        &["9105", "dc000105", "dd0000000105"],
        &["80", "de0000", "df00000000", "81a161d40000", "81a161c70000"],
        // {"a": 1, "b": [2]} in both orders; {"1": true} with a number as key.
        &["82a16101a1629102", "82a1629102a16101", "de0002d90162dc0001cc02da000161d30000000000000001"],
        &["81a131c3", "8101c3", "81cb3ff0000000000000c3"],
        // [null] and [undefined].
        &["91c0", "91d40000"],
    ];
    for same in cases {
        let prints: HashSet<u64> = same.iter().map(|bytes| fingerprint(&hex(bytes))).collect();
        assert_eq!(prints.len(), 1, "{same:?}");
    }
}

#[test]
fn different_data_have_different_ones() {
    let cases = [
        "",
        "c0",
        "c2",
        "c3",
        "00",
        "01",
        "ff",
        "cb3fe0000000000000",
        "a0",
        "a130",
        "a131",
        "c400",
        "c40131",
        "d50161",
        "d401ff",
        "d402ff",
        "90",
        "91c0",
        "92c0c0",
        "9190",
        "80",
        "81a161c0",
        "81a162c0",
        "82a161c0a162c0",
        "82a16101a16202",
        "82a16102a16201",
        "9261a162",
        "91a3616261",
        "91a26162",
        "cfffffffffffffffff",
        "d3ffffffffffffffff",
        "cb43f0000000000000",
        "cb7ff0000000000000",
        "cb7ff8000000000000",
        "81a16181a16280",
        "82a16180a16280",
        "c1",
        "9105ff",
        "ce",
    ];
    let prints: HashSet<u64> = cases.iter().map(|bytes| fingerprint(&hex(bytes))).collect();
    // -1 stands there twice, once as a long integer.
    assert_eq!(prints.len(), cases.len() - 1);
}

#[test]
fn small_differences_show() {
    let mut random = Random::new(1);
    let mut prints = HashSet::new();
    let mut count = 0;
    for _ in 0..200 {
        // {"a": x, "b": y, "c": z} with small numbers, each another one.
        let values: Vec<u8> = (0..3).map(|_| random.below(128) as u8).collect();
        for at in 0..3 {
            for other in 0..=127_u8 {
                let mut bytes = vec![0x83, 0xa1, b'a', values[0], 0xa1, b'b', values[1], 0xa1, b'c', values[2]];
                bytes[3 + 3 * at] = other;
                prints.insert((bytes.clone(), fingerprint(&bytes)));
                count += 1;
            }
        }
    }
    let data: HashSet<&Vec<u8>> = prints.iter().map(|(bytes, _)| bytes).collect();
    let numbers: HashSet<u64> = prints.iter().map(|(_, print)| *print).collect();
    assert!(data.len() > count / 2);
    assert_eq!(numbers.len(), data.len(), "no two of them collide");
}

#[test]
fn arbitrary_bytes_never_panic() {
    let mut random = Random::new(2);
    for _ in 0..20_000 {
        let length = random.below(40);
        let _ = fingerprint(&random.bytes(length));
    }
    let _ = fingerprint(&[0x91; 100_000]);
}

#[test]
fn very_many_values_are_told_by_their_bytes() {
    /// `count` ones in an array, each written short or long.
    fn ones(count: u32, one: &[u8]) -> u64 {
        let mut bytes = vec![0xdd];
        bytes.extend(count.to_be_bytes());
        (0..count).for_each(|_| bytes.extend(one));
        fingerprint(&bytes)
    }
    let (short, long) = ([0x01].as_slice(), [0xcc, 0x01].as_slice());
    assert_eq!(ones(VALUES_MAX, short), ones(VALUES_MAX, long));
    assert_ne!(ones(VALUES_MAX + 1, short), ones(VALUES_MAX + 1, long));
    assert_eq!(ones(VALUES_MAX + 1, short), ones(VALUES_MAX + 1, short));
}
