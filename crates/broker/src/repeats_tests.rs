//! Groups are counted as the log goes on and ends.

use crate::activity::{Activity, AddSource, LoggedAdd, RefusedEntry};
use crate::limits::ACTIVITY_ENTRIES_MAX;
use onceover_engine::names::Origin;
use onceover_engine::time::Timestamp;
use onceover_wire::request::RefusedAdd;

fn add(log: &mut Activity, at: i64, key: &str) -> u64 {
    let named = |text: &str| Some(text.to_owned());
    let refused = RefusedAdd { queue: named("q"), name: named("n"), key: named(key), custom_id: None };
    let entry = RefusedEntry { at: Timestamp(at), origin: Origin::Internal, text: String::new(), add: refused };
    log.record(Timestamp(at), LoggedAdd::Refused(Box::new(entry)), AddSource::Window, 0)
}

fn groups(log: &Activity) -> Vec<(u64, u64, u64)> {
    log.groups().iter().map(|group| (group.oldest, group.newest, group.count)).collect()
}

#[test]
fn adds_of_the_same_ten_seconds_are_counted_together() {
    let mut log = Activity::default();
    for (at, key) in [(100, "a"), (200, "b"), (9_999, "a"), (10_000, "a"), (10_001, "a"), (10_002, "b")] {
        add(&mut log, at, key);
    }
    assert_eq!(groups(&log), [(1, 3, 2), (2, 2, 1), (4, 5, 2), (6, 6, 1)]);
    let numbers: Vec<u64> = log.members(1).map(|entry| entry.seq).collect();
    assert_eq!(numbers, [3, 1]);
    assert_eq!(log.members(99).count(), 0);
}

#[test]
fn groups_leave_with_the_adds_of_the_log() {
    let mut log = Activity::default();
    for at in 0..3 * ACTIVITY_ENTRIES_MAX {
        add(&mut log, at as i64, ["a", "b"][at % 2]);
    }
    let oldest = log.oldest_seq().unwrap();
    assert!(log.groups().iter().all(|group| group.newest >= oldest));
    let kept: u64 = log.groups().iter().map(|group| log.members(group.number).count() as u64).sum();
    assert_eq!(kept, ACTIVITY_ENTRIES_MAX as u64, "every add of the log is in one group");
}

#[test]
fn a_cleared_log_starts_its_groups_anew() {
    let mut log = Activity::default();
    add(&mut log, 1, "a");
    log.clear();
    assert!(log.groups().is_empty());
    add(&mut log, 2, "a");
    assert_eq!(groups(&log), [(2, 2, 1)]);
}
