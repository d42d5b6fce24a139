//! The clock against a wall that jumps.

use super::*;

/// Reads a clock that showed 100 s at its start; each step is (wall in s, seconds since the start) and what it must give.
fn check(steps: &[(u64, u64, i64)]) {
    let start = Instant::now();
    let wall = Duration::from_secs(100);
    let mut clock = Clock { last: wall, last_read: start, last_wall: wall, jump: None };
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

/// The jumps that a clock sees which showed 100 s at its start.
fn jumps(steps: &[(u64, u64)]) -> Vec<Option<Jump>> {
    let start = Instant::now();
    let wall = Duration::from_secs(100);
    let mut clock = Clock { last: wall, last_read: start, last_wall: wall, jump: None };
    let mut read = |(wall_s, elapsed_s): &(u64, u64)| {
        clock.read(Duration::from_secs(*wall_s), start + Duration::from_secs(*elapsed_s));
        clock.take_jump()
    };
    steps.iter().map(&mut read).collect()
}

#[test]
fn jumps_are_told_once() {
    assert_eq!(jumps(&[(101, 1), (107, 7), (110, 8)]), [None; 3], "two seconds are drift");
    let (ahead, back) = (|ms| Some(Jump::Ahead(Millis(ms))), |ms| Some(Jump::Back(Millis(ms))));
    assert_eq!(jumps(&[(86_501, 1), (86_502, 2)]), [ahead(86_400_000), None]);
    assert_eq!(jumps(&[(41, 1), (42, 2)]), [back(60_000), None]);
    assert_eq!(jumps(&[(41, 1), (102, 2)]), [back(60_000), None], "it only came back to what it was");
    assert_eq!(jumps(&[(41, 1), (162, 2)]), [back(60_000), ahead(60_000)]);
}
