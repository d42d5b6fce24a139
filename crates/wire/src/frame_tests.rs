//! Frames: any chunking gives the same ones, bounds, what a refused one costs.

use crate::frame::{FRAME_PAYLOAD_BYTES_MAX, FrameDecoder, NextFrame, oversize_error, write_frame};
use crate::testing::Random;
use bytes::BytesMut;

/// What a decoder said, in words that own their bytes.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Payload(Vec<u8>),
    Oversize(u32),
}

fn drain(decoder: &mut FrameDecoder, seen: &mut Vec<Seen>) {
    loop {
        match decoder.next_frame() {
            NextFrame::Payload(payload) => seen.push(Seen::Payload(payload.to_vec())),
            NextFrame::Oversize { payload_bytes } => {
                seen.push(Seen::Oversize(payload_bytes));
                return;
            }
            NextFrame::Incomplete => return,
        }
    }
}

fn decode(chunks: &[&[u8]]) -> Vec<Seen> {
    let mut decoder = FrameDecoder::new();
    let mut seen = Vec::new();
    for chunk in chunks {
        decoder.feed(chunk);
        drain(&mut decoder, &mut seen);
    }
    seen
}

#[test]
fn frames_come_out_whole_in_order() {
    let seen = decode(&[b"\0\0\0\x03abc\0\0\0\0\0\0\0\x01", b"d\0\0"]);
    let expected = [b"abc".to_vec(), Vec::new(), b"d".to_vec()].map(Seen::Payload);
    assert_eq!(seen, expected);
}

#[test]
fn frames_before_an_oversized_one_are_not_lost() {
    let mut bytes = b"\0\0\0\x01a".to_vec();
    bytes.extend_from_slice(&(FRAME_PAYLOAD_BYTES_MAX + 1).to_be_bytes());
    let expected = [Seen::Payload(b"a".to_vec()), Seen::Oversize(67_108_865)];
    assert_eq!(decode(&[&bytes]), expected);
    assert_eq!(oversize_error(67_108_865), "Frame too large: 67108865 bytes exceeds maximum 67108864");
}

#[test]
fn the_largest_frame_is_accepted_and_its_announcement_costs_nothing() {
    let mut decoder = FrameDecoder::new();
    decoder.feed(&FRAME_PAYLOAD_BYTES_MAX.to_be_bytes());
    assert_eq!(decoder.next_frame(), NextFrame::Incomplete);
    assert!(decoder.has_partial_frame());
    assert!(decoder.buffer().capacity() < 4096, "memory grew with a mere announcement");
}

#[test]
fn a_large_frame_does_not_keep_its_memory() {
    let mut decoder = FrameDecoder::new();
    let mut bytes = BytesMut::new();
    write_frame(&mut bytes, |out| out.resize(out.len() + 1_000_000, 7)).unwrap();
    decoder.feed(&bytes);
    assert!(matches!(decoder.next_frame(), NextFrame::Payload(payload) if payload.len() == 1_000_000));
    assert!(!decoder.has_partial_frame());
    assert_eq!(decoder.next_frame(), NextFrame::Incomplete);
    assert!(decoder.buffer().capacity() < 300_000);
}

#[test]
fn any_chunking_gives_the_same_frames() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let mut bytes = BytesMut::new();
        for _ in 0..random.below(20) {
            let length = random.below(300);
            let payload = random.bytes(length);
            write_frame(&mut bytes, |out| out.extend_from_slice(&payload)).unwrap();
        }
        if random.below(4) == 0 {
            bytes.extend_from_slice(&[0xff; 9]);
        }
        let whole = decode(&[&bytes]);
        let mut chunks: Vec<&[u8]> = Vec::new();
        let mut rest: &[u8] = &bytes;
        while !rest.is_empty() {
            let (chunk, tail) = rest.split_at(1 + random.below(rest.len().min(97)));
            chunks.push(chunk);
            rest = tail;
        }
        let mut pieces = decode(&chunks);
        // An oversized header is reported again for every chunk that follows it.
        pieces.dedup_by(|a, b| a == b && matches!(a, Seen::Oversize(_)));
        assert_eq!(whole, pieces, "seed {seed}");
    }
}

#[test]
fn arbitrary_bytes_never_panic() {
    for seed in 0..2000 {
        let mut random = Random::new(seed);
        let length = random.below(64);
        let bytes = random.bytes(length);
        decode(&[&bytes]);
    }
}

#[test]
fn a_long_payload_is_taken_out_and_what_follows_stays() {
    let mut decoder = FrameDecoder::new();
    decoder.feed(b"\0\0\0\x02ab\0\0\0\x05long!\0\0\0\x01c\0\0");
    assert_eq!(decoder.take_longer_than(4), None, "the first one is short");
    assert_eq!(decoder.next_frame(), NextFrame::Payload(b"ab"));
    assert_eq!(decoder.take_longer_than(5), None);
    assert_eq!(decoder.take_longer_than(4).as_deref(), Some(&b"long!"[..]));
    assert_eq!(decoder.next_frame(), NextFrame::Payload(b"c"));
    assert_eq!((decoder.waiting_bytes(), decoder.next_frame()), (2, NextFrame::Incomplete));
    decoder.feed(b"\0\x05lon");
    assert_eq!(decoder.take_longer_than(4), None, "it is not complete");
    assert_eq!(decoder.waiting_bytes(), 7);
}

#[test]
fn a_long_payload_is_not_copied_and_keeps_nothing_else() {
    let mut decoder = FrameDecoder::new();
    decoder.feed(&[&1_000_000_u32.to_be_bytes()[..], &[7; 1_000_000], b"\0\0\0\x01x"].concat());
    let before = decoder.buffer().as_ptr();
    let payload = decoder.take_longer_than(1_000).expect("it is complete");
    assert_eq!(payload.as_ptr(), before.wrapping_add(4));
    assert!(decoder.buffer().capacity() < 1_000, "the rest lies in the memory of the long one");
}

#[test]
fn a_kept_payload_is_lent_again() {
    let mut decoder = FrameDecoder::new();
    decoder.feed(b"\0\0\0\x01a\0\0\0\x01b");
    for _ in 0..3 {
        assert_eq!(decoder.next_frame(), NextFrame::Payload(b"a"));
        decoder.keep();
    }
    assert_eq!(decoder.next_frame(), NextFrame::Payload(b"a"));
    assert_eq!(decoder.next_frame(), NextFrame::Payload(b"b"));
}
