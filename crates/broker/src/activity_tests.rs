//! The log of adds: numbers, bounds, cut payloads.

use super::*;
use onceover_engine::command::{Add, NewJob};
use onceover_engine::dedup::DecisionCode;
use onceover_engine::effects::{Decision, Facts};

fn decided(queue: &str, key: Option<&str>, data_bytes: usize) -> LoggedAdd {
    let dedup_key = key.map(Into::into);
    let data = Some(vec![0; data_bytes].into());
    let add = Add { dedup_key, data, ..Add::new(NewJob::new(queue, "job")) };
    let decision = Decision {
        code: DecisionCode::Created,
        job: None,
        job_key: None,
        owner: None,
        elsewhere: None,
        freed: None,
        refusal: None,
        facts: Facts::default(),
    };
    LoggedAdd::Decided(Box::new(AddRecord {
        at: Timestamp(1),
        origin: Origin::Internal,
        add,
        bulk: None,
        replay_of: None,
        decision,
        key_before: None,
        key_after: None,
    }))
}

fn refused(queue: &str) -> LoggedAdd {
    let add = RefusedAdd { queue: Some(queue.to_owned()), ..RefusedAdd::default() };
    let text = "priority must be a number".to_owned();
    LoggedAdd::Refused(Box::new(RefusedEntry { at: Timestamp(2), origin: Origin::Internal, text, add }))
}

fn record(activity: &mut Activity, add: LoggedAdd) -> u64 {
    activity.record(Timestamp(1000), add, AddSource::Broker, 0)
}

#[test]
fn entries_are_found_by_number() {
    let mut activity = Activity::default();
    assert_eq!((activity.newest_seq(), activity.oldest_seq()), (0, None));
    assert_eq!(record(&mut activity, decided("a", None, 1)), 1);
    assert_eq!(record(&mut activity, refused("b")), 2);
    assert_eq!(activity.get(1).and_then(AddEntry::queue), Some("a"));
    assert_eq!(activity.get(2).and_then(AddEntry::queue), Some("b"));
    assert!(activity.get(0).is_none() && activity.get(3).is_none());
    assert_eq!(activity.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn the_oldest_make_room_past_the_bound_of_entries() {
    let mut activity = Activity::default();
    for _ in 0..ACTIVITY_ENTRIES_MAX {
        record(&mut activity, refused("q"));
    }
    assert_eq!((activity.dropped(), activity.oldest_seq()), (0, Some(1)));
    record(&mut activity, refused("q"));
    assert_eq!((activity.dropped(), activity.oldest_seq()), (1, Some(2)));
    assert!(activity.get(1).is_none());
}

#[test]
fn the_oldest_make_room_past_the_bound_of_bytes() {
    let mut activity = Activity::default();
    let most = ACTIVITY_BYTES_MAX / ACTIVITY_PAYLOAD_BYTES_MAX;
    for _ in 0..=most {
        record(&mut activity, decided("q", None, ACTIVITY_PAYLOAD_BYTES_MAX));
    }
    assert!(activity.dropped() > 0 && activity.bytes <= ACTIVITY_BYTES_MAX);
}

#[test]
fn long_payloads_are_cut_and_their_size_is_told() {
    let mut activity = Activity::default();
    for (bytes, cut) in [(ACTIVITY_PAYLOAD_BYTES_MAX, false), (ACTIVITY_PAYLOAD_BYTES_MAX + 1, true)] {
        let seq = record(&mut activity, decided("q", None, bytes));
        let entry = activity.get(seq).expect("it was just recorded");
        assert_eq!((entry.data_bytes, entry.data_is_cut()), (bytes, cut));
        let kept = entry.decided().and_then(|record| record.add.data.as_ref()).map(|data| data.len());
        assert_eq!(kept, Some(ACTIVITY_PAYLOAD_BYTES_MAX));
    }
}

#[test]
fn the_adds_of_a_key_are_found_newest_first() {
    let mut activity = Activity::default();
    for (queue, key) in [("q", Some("k")), ("q", None), ("other", Some("k")), ("q", Some("k"))] {
        record(&mut activity, decided(queue, key, 0));
    }
    let found = |scan_max| activity.of_key("q", "k", scan_max).map(|entry| entry.seq).collect::<Vec<_>>();
    assert_eq!(found(100), [4, 1]);
    assert_eq!(found(3), [4]);
}

#[test]
fn marks_name_the_entries_that_are_kept() {
    let mut log = Activity::default();
    for at in 0..ACTIVITY_ENTRIES_MAX + 10 {
        let add = if at % 3 == 0 { refused("q") } else { decided("q", None, 0) };
        log.record(Timestamp(1), add, AddSource::Broker, 0);
    }
    let rejected: Vec<u64> = log.iter().rev().filter(|entry| entry.is(Mark::Rejected)).map(|entry| entry.seq).collect();
    assert!(log.marked(Mark::Rejected).iter().eq(&rejected), "only what is kept is marked");
    assert_eq!(rejected.len(), ACTIVITY_ENTRIES_MAX / 3);
    assert!(log.marked(Mark::Collapsed).is_empty());
    let seqs = |before| log.before(before).map(|entry| entry.seq).take(2).collect::<Vec<_>>();
    let (oldest, newest) = (log.oldest_seq().unwrap(), log.newest_seq());
    assert_eq!((seqs(u64::MAX), seqs(newest)), (vec![newest, newest - 1], vec![newest - 1, newest - 2]));
    assert_eq!((seqs(oldest + 1), seqs(oldest), seqs(0)), (vec![oldest], vec![], vec![]));
}
