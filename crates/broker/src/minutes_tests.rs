//! Minutes with gaps, and their bounds.

use super::*;

const MINUTE: i64 = 60_000;

fn at(minute: i64, ms: i64) -> Timestamp {
    Timestamp(minute * MINUTE + ms)
}

#[test]
fn gaps_are_zeros_and_the_newest_minute_comes_first() {
    let mut minutes = Minutes::default();
    assert_eq!((minutes.data(), minutes.newest(), minutes.last_at), (vec![], 0, None));
    minutes.add(at(10, 5), 2);
    minutes.add(at(10, 59_999), 1);
    minutes.add(at(13, 0), 7);
    minutes.add(at(13, 1), 0);
    assert_eq!(minutes.data(), [7, 0, 0, 3]);
    assert_eq!((minutes.total, minutes.newest(), minutes.last_at), (10, 7, Some(at(13, 0))));
}

#[test]
fn two_weeks_are_kept() {
    let mut minutes = Minutes::default();
    for minute in 0..MINUTES_MAX as i64 + 5 {
        minutes.add(at(minute, 0), 1);
    }
    assert_eq!((minutes.data().len(), minutes.total), (MINUTES_MAX, MINUTES_MAX as u64 + 5));
}

#[test]
fn all_queues_together_are_bounded_and_a_forgotten_one_begins_anew() {
    let mut all = AllMinutes::default();
    let queues: Vec<Arc<str>> = (0..MINUTES_QUEUES_MAX + 3).map(|at| at.to_string().into()).collect();
    for minute in 0..2_000 {
        for queue in &queues[..400] {
            all.add(queue, at(minute, 0), 1, 1);
        }
        all.thin();
    }
    let held = |all: &AllMinutes| {
        all.queues.values().map(|line| line.completed.counts.len() + line.failed.counts.len()).sum::<usize>()
    };
    assert!(held(&all) <= MINUTES_TOGETHER_MAX, "{}", held(&all));
    assert_eq!(all.of("0").unwrap().completed.total, 2_000, "totals stay whole");
    assert_eq!(all.of("0").unwrap().completed.newest(), 1);
    for queue in &queues {
        all.add(queue, at(2_001, 0), 1, 0);
    }
    assert_eq!(all.queues.len(), MINUTES_QUEUES_MAX);
    all.forget("0");
    assert!(all.of("0").is_none());
}
