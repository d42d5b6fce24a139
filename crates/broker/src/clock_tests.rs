//! The clock against a wall that jumps.

use super::*;

/// Reads a clock that showed 100 s at its start; each step is (wall in s, seconds since the start) and what it must give.
fn check(steps: &[(u64, u64, i64)]) {
    let start = Instant::now();
    let mut clock = Clock { last: Duration::from_secs(100), last_read: start };
    for (wall_s, elapsed_s, expected_s) in steps {
        let now = clock.read(Duration::from_secs(*wall_s), start + Duration::from_secs(*elapsed_s));
        assert_eq!(now, Timestamp(expected_s * 1000), "wall {wall_s}, elapsed {elapsed_s}");
    }
}

#[test]
fn follows_the_wall() {
    check(&[(100, 0, 100), (101, 1, 101), (107, 7, 107)]);
}

#[test]
fn counts_on_when_the_wall_is_set_back() {
    check(&[(101, 1, 101), (40, 2, 102), (41, 3, 103), (200, 4, 200)]);
}

#[test]
fn jumps_ahead_with_the_wall_after_a_sleep() {
    check(&[(101, 1, 101), (5000, 2, 5000), (5001, 3, 5001)]);
}
