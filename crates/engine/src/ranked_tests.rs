//! The ranked set against the one of the standard library.

use super::{CHUNK, Ranked, merged};
use std::collections::BTreeSet;

/// A small generator of numbers, the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn check(ranked: &Ranked<u64>, model: &BTreeSet<u64>) {
    assert_eq!(ranked.len(), model.len());
    assert_eq!((ranked.first(), ranked.last()), (model.first(), model.last()));
    assert!(ranked.iter().eq(model.iter()), "the same elements in the same order");
    assert!(ranked.iter().rev().eq(model.iter().rev()), "also from behind");
    assert!(
        ranked.chunks.iter().all(|chunk| !chunk.is_empty() && chunk.len() <= CHUNK),
        "no chunk is empty or too long"
    );
}

#[test]
fn it_is_the_set_of_the_standard_library() {
    for (seed, span) in [(1, 40), (2, 3_000), (3, 100_000)] {
        let mut numbers = Numbers(seed);
        let (mut ranked, mut model) = (Ranked::default(), BTreeSet::new());
        for step in 0..30_000 {
            let value = numbers.below(span);
            // Grows for the first half, shrinks in the second.
            if numbers.below(10) < if step < 15_000 { 7 } else { 2 } {
                assert_eq!(ranked.insert(value), model.insert(value), "insert {value}");
            } else {
                assert_eq!(ranked.remove(&value), model.remove(&value), "remove {value}");
            }
            if step % 1_000 == 0 {
                check(&ranked, &model);
            }
        }
        check(&ranked, &model);
    }
}

#[test]
fn places_and_ranks() {
    let mut numbers = Numbers(7);
    let mut ranked = Ranked::default();
    let mut model = BTreeSet::new();
    for _ in 0..5_000 {
        let value = numbers.below(20_000);
        ranked.insert(value);
        model.insert(value);
    }
    let sorted: Vec<u64> = model.iter().copied().collect();
    for probe in (0..20_001).step_by(97) {
        assert_eq!(ranked.rank(&probe), sorted.partition_point(|value| *value < probe), "rank of {probe}");
    }
    for start in (0..sorted.len() + 2).step_by(61) {
        let end = (start + 130).min(sorted.len());
        let wanted = &sorted[start.min(end)..end];
        assert!(ranked.slice(start..start + 130).eq(wanted.iter()), "slice from {start}");
        assert!(ranked.slice(start..start + 130).rev().eq(wanted.iter().rev()), "slice from {start}, from behind");
    }
}

#[test]
fn what_grows_at_its_end_is_full_and_what_random_removals_leave_stays_dense() {
    let mut ranked = Ranked::default();
    for value in 0..100 * CHUNK as u64 {
        ranked.insert(value);
    }
    assert_eq!(ranked.chunks.len(), 100);
    let mut numbers = Numbers(11);
    while ranked.len() > 2_000 {
        ranked.remove(&numbers.below(100 * CHUNK as u64));
    }
    assert!(ranked.chunks.len() <= 2_000 / (CHUNK / 8) + 1, "{} chunks for 2,000 elements", ranked.chunks.len());
}

#[test]
fn pages_of_several_lists_are_pages_of_their_union() {
    let mut numbers = Numbers(5);
    for lists in 1..8 {
        let mut ranked: Vec<Ranked<u64>> = Vec::new();
        ranked.resize_with(lists, Ranked::default);
        let mut union = BTreeSet::new();
        for _ in 0..4_000 {
            let value = numbers.below(1_000_000);
            // One list gets most of them, the last one none.
            let at = if numbers.below(3) > 0 { 0 } else { numbers.below(lists as u64) as usize };
            if at + 1 < lists.max(2) && union.insert(value) {
                ranked[at].insert(value);
            }
        }
        let sorted: Vec<u64> = union.into_iter().collect();
        let lists: Vec<&Ranked<u64>> = ranked.iter().collect();
        for start in (0..sorted.len() + 100).step_by(173) {
            let end = (start + 50).min(sorted.len());
            assert_eq!(merged(&lists, start..start + 50), &sorted[start.min(end)..end], "from {start}");
        }
    }
    assert!(merged::<u64>(&[], 0..10).is_empty());
}
