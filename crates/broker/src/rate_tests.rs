//! Moving rates.

use super::*;

#[test]
fn counts_the_last_full_seconds() {
    let mut rate = Rate::default();
    rate.add(Timestamp(1_000), 10);
    rate.add(Timestamp(2_500), 20);
    let cases = [(2_900, 2.0), (3_000, 6.0), (6_999, 6.0), (7_000, 4.0), (8_000, 0.0), (1_000_000, 0.0)];
    for (now, expected) in cases {
        assert_eq!(rate.per_second(Timestamp(now)), expected, "at {now}");
    }
}

#[test]
fn a_pause_longer_than_the_memory_forgets_everything() {
    let mut rate = Rate::default();
    rate.add(Timestamp(1_000), 10);
    rate.add(Timestamp(100_000), 5);
    assert_eq!(rate.per_second(Timestamp(101_000)), 1.0);
}
