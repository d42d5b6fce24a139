//! Replays what the fuzzer found, and a few thousand inputs that nobody looked for.

use onceover_fuzz::memory::Counting;
use onceover_fuzz::{frames, requests};
use onceover_wire::decode::command_names;
use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::path::Path;

#[global_allocator]
static MEMORY: Counting = Counting;

/// Random inputs for each target besides the kept ones.
const RANDOM_INPUTS: u64 = 4_000;

fn kept(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut inputs: Vec<_> = files
        .map(|file| {
            let path = file.expect("a folder can be read").path();
            (path.display().to_string(), std::fs::read(&path).expect("a file can be read"))
        })
        .collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "the corpus of {target} is not empty");
    inputs
}

/// SplitMix64, bytes of a length that depends on the seed.
fn random(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    };
    let length = next() as usize % 1_500;
    (0..length).map(|_| next() as u8).collect()
}

fn replay(target: &str, run: fn(&[u8])) {
    let invented = (0..RANDOM_INPUTS).map(|seed| (format!("random input {seed}"), random(seed)));
    for (name, input) in kept(target).into_iter().chain(invented) {
        assert!(catch_unwind(|| run(&input)).is_ok(), "{target}: {name}");
    }
}

#[test]
fn byte_streams_bring_nothing_down() {
    replay("frames", frames::run);
}

#[test]
fn scripts_of_requests_bring_nothing_down() {
    replay("requests", requests::run);
}

#[test]
fn the_kept_scripts_carry_out_every_command() {
    let kept = kept("requests");
    let done: BTreeSet<&str> = kept.iter().flat_map(|(_, input)| requests::accepted(input)).collect();
    let missing: Vec<&str> = command_names().filter(|name| !done.contains(name)).collect();
    assert!(missing.is_empty(), "no kept script carries these out: {missing:?}");
}
