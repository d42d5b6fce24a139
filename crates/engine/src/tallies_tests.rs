//! When counters are written, and that nothing else waits with them.

use super::*;
use crate::change::Change;
use crate::command::{Add, Command};
use crate::effects::Effects;
use crate::engine::EngineConfig;
use crate::names::Origin;
use crate::testing::new_job;
use std::sync::Arc;

const NOW: Timestamp = Timestamp(1_000_000);

fn engine() -> Engine {
    let mut engine = Engine::new(EngineConfig::default(), 1);
    engine.tick(NOW, &mut Effects::default());
    engine
}

fn push(engine: &mut Engine, now: Timestamp, key: &str) {
    let mut spec = new_job("q");
    spec.dedup.ttl = Some(Millis(60_000));
    let add = Add { dedup_key: Some(Arc::from(key)), ..Add::new(spec) };
    let mut effects = Effects::default();
    engine.tick(now, &mut effects);
    engine.handle(now, Origin::Internal, Command::Push { add, replay_of: None }, &mut effects);
}

/// How often each key written now had absorbed an add; the turn is committed.
fn written(engine: &mut Engine) -> Vec<u64> {
    let mut counts = Vec::new();
    let noted: Result<(), ()> = engine.for_each_change(&mut |change| {
        if let Change::PutKey { entry, .. } = change {
            counts.push(entry.tally().collapsed);
        }
        Ok(())
    });
    noted.expect("noting cannot fail");
    engine.committed();
    counts
}

#[test]
fn absorbed_adds_write_nothing_until_a_second_has_passed() {
    let mut engine = engine();
    push(&mut engine, NOW, "k");
    assert_eq!(written(&mut engine), [0]);
    for _ in 0..3 {
        push(&mut engine, NOW, "k");
    }
    assert!(!engine.has_changes(), "an absorbed add alone is no reason to write");
    engine.check(NOW);
    engine.tick(NOW.plus(Millis(999)), &mut Effects::default());
    assert!(!engine.has_changes());
    engine.tick(NOW.plus(Millis(1_000)), &mut Effects::default());
    assert_eq!(written(&mut engine), [3]);
    engine.check(NOW.plus(Millis(1_000)));
}

#[test]
fn counters_go_with_the_next_change_of_their_key() {
    let mut engine = engine();
    push(&mut engine, NOW, "k");
    push(&mut engine, NOW, "k");
    assert_eq!(written(&mut engine), [1], "the row is written anyway");
    engine.tick(NOW.plus(Millis(5_000)), &mut Effects::default());
    assert_eq!(written(&mut engine), [0; 0], "and is not behind");
}

#[test]
fn many_keys_are_written_in_turns_of_bounded_length() {
    let mut engine = engine();
    let keys: Vec<String> = (0..AT_ONCE_MAX + 5).map(|n| format!("k{n}")).collect();
    keys.iter().for_each(|key| push(&mut engine, NOW, key));
    written(&mut engine);
    keys.iter().for_each(|key| push(&mut engine, NOW, key));
    let due = NOW.plus(WRITTEN_AFTER);
    engine.tick(due, &mut Effects::default());
    assert_eq!(written(&mut engine), vec![1; AT_ONCE_MAX]);
    assert_eq!(engine.next_deadline(), Some(due.plus(BETWEEN)));
    engine.tick(due.plus(BETWEEN), &mut Effects::default());
    assert_eq!(written(&mut engine), [1; 5]);
    engine.check(due.plus(BETWEEN));
}

#[test]
fn a_stop_writes_all_of_them() {
    let mut engine = engine();
    push(&mut engine, NOW, "k");
    written(&mut engine);
    push(&mut engine, NOW, "k");
    engine.write_all();
    assert_eq!(written(&mut engine), [1]);
    engine.check(NOW);
}

#[test]
fn a_key_that_ended_meanwhile_is_not_written() {
    let mut engine = engine();
    push(&mut engine, NOW, "k");
    push(&mut engine, NOW, "other");
    written(&mut engine);
    push(&mut engine, NOW, "k");
    let mut effects = Effects::default();
    let release = Command::RemoveDeduplicationKey { queue: Arc::from("q"), key: Arc::from("k") };
    engine.handle(NOW, Origin::Internal, release, &mut effects);
    written(&mut engine);
    engine.tick(NOW.plus(WRITTEN_AFTER), &mut effects);
    assert!(!engine.has_changes());
    engine.check(NOW.plus(WRITTEN_AFTER));
}
