//! When the next run of a repeating job is due.

use super::*;
use crate::calendar::Pattern;

const NOW: Timestamp = Timestamp(1_700_000_000_500);
const HOUR: i64 = 3_600_000;

fn due(repeat: &Repeat) -> Option<i64> {
    repeat.next(NOW, &Zone::utc()).map(|due| due.0 - NOW.0)
}

#[test]
fn the_first_successor_of_an_interval_is_shifted_and_the_others_follow_it() {
    let every = |offset, count| Repeat { offset: Millis(offset), count, ..Repeat::new(Timing::Every(Millis(1_000))) };
    assert_eq!(due(&every(250, 0)), Some(1_250));
    assert_eq!(due(&every(-250, 0)), Some(750));
    assert_eq!(due(&every(250, 1)), Some(1_000));
    assert_eq!(due(&every(-5_000, 0)), Some(1), "never at once, or it would run without a pause");
    let begins = Repeat { start: Some(NOW.plus(Millis(9_000))), ..every(250, 0) };
    assert_eq!(due(&begins), Some(9_250));
    let ends = Repeat { end: Some(NOW.plus(Millis(1_249))), ..every(250, 0) };
    assert_eq!(due(&ends), None);
}

#[test]
fn moments_of_a_pattern_are_shifted_each_time_and_none_is_missed() {
    // 1,700,000,000 is 22:13:20.
    let hourly = |offset, count| Repeat {
        offset: Millis(offset),
        count,
        ..Repeat::new(Timing::Calendar(Pattern::parse("0 * * * *", Some(Zone::utc())).unwrap()))
    };
    let to_the_hour = 23 * HOUR - (22 * HOUR + 13 * 60_000 + 20_500);
    assert_eq!(due(&hourly(0, 3)), Some(to_the_hour));
    assert_eq!(due(&hourly(5_000, 3)), Some(to_the_hour + 5_000));
    assert_eq!(due(&hourly(-5_000, 0)), Some(to_the_hour - 5_000));
    assert_eq!(due(&hourly(HOUR / 2, 0)), Some(to_the_hour - HOUR / 2), "22:30, which belongs to 22:00");
}
