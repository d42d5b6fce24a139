//! Many keys, the memory of freed ones, twins.

use super::*;
use crate::command::{Add, Command, WindowChange};
use crate::effects::{Effects, Output};
use crate::engine::EngineConfig;
use crate::names::{JobId, KeyText, Origin};
use crate::reply::Reply;
use crate::testing::new_job;
use std::sync::Arc;

const NOW: Timestamp = Timestamp(1_000_000);

fn engine() -> Engine {
    let mut engine = Engine::new(EngineConfig::default(), 1);
    engine.tick(NOW, &mut Effects::default());
    engine
}

fn run(engine: &mut Engine, now: Timestamp, command: Command) {
    let mut effects = Effects::default();
    engine.tick(now, &mut effects);
    engine.handle(now, Origin::Internal, command, &mut effects);
}

/// Adds a job with a key and returns its generation.
fn push(engine: &mut Engine, now: Timestamp, queue: &str, key: &str) -> JobKey {
    let mut effects = Effects::default();
    let add = Add { dedup_key: Some(Arc::from(key)), ..Add::new(new_job(queue)) };
    engine.handle(now, Origin::Internal, Command::Push { add, replay_of: None }, &mut effects);
    effects.adds[0].decision.job_key.expect("a job stands for the add")
}

fn release(engine: &mut Engine, now: Timestamp, queue: &str, key: &str) {
    run(engine, now, Command::RemoveDeduplicationKey { queue: Arc::from(queue), key: Arc::from(key) });
}

#[test]
fn thousands_of_keys_are_told_apart_in_every_queue() {
    let mut engine = engine();
    let owners: Vec<_> =
        (0..4_000).map(|n| push(&mut engine, NOW, ["q", "r"][n % 2], &format!("key-{}", n / 2))).collect();
    for (n, owner) in owners.iter().enumerate() {
        let entry = engine.key(["q", "r"][n % 2], &format!("key-{}", n / 2), NOW).expect("it is held");
        assert_eq!(entry.owner, *owner);
    }
    assert!(engine.key("q", "key-2000", NOW).is_none());
    assert_eq!(engine.keys_len(), 4_000);
    engine.check(NOW);
}

#[test]
fn the_newest_way_a_key_became_free_is_remembered() {
    let mut engine = engine();
    let first = push(&mut engine, NOW, "q", "k");
    push(&mut engine, NOW, "r", "k");
    release(&mut engine, NOW, "q", "k");
    let later = Timestamp(1_000_500);
    let second = push(&mut engine, later, "q", "k");
    release(&mut engine, later, "q", "k");
    let freed = engine.freed("q", "k").expect("it is remembered");
    assert_eq!((freed.owner, freed.at, freed.by), (second, later, FreedBy::ReleasedByClient));
    assert_ne!(first, second);
    assert!(engine.freed("r", "k").is_none(), "another queue's key is another key");
    assert!(engine.freed("q", "other").is_none());
}

#[test]
fn the_memory_of_freed_keys_is_bounded_and_forgets_the_oldest() {
    let mut engine = engine();
    push(&mut engine, NOW, "q", "again");
    release(&mut engine, NOW, "q", "again");
    for n in 0..FREED_KEYS_MAX - 1 {
        push(&mut engine, NOW, "q", &format!("k{n}"));
        release(&mut engine, NOW, "q", &format!("k{n}"));
    }
    assert!(engine.freed("q", "again").is_some() && engine.freed("q", "k0").is_some(), "the bound is not passed yet");
    let owner = push(&mut engine, NOW, "q", "again");
    release(&mut engine, NOW, "q", "again");
    let freed = engine.freed("q", "again").expect("only its older mention went");
    assert_eq!((freed.owner, freed.entry.owner), (owner, owner));
    for n in 0..10 {
        push(&mut engine, NOW, "q", &format!("more{n}"));
        release(&mut engine, NOW, "q", &format!("more{n}"));
    }
    let kept = |key: &str| engine.freed("q", key).map(|freed| freed.entry.key.to_string());
    assert_eq!((kept("k9"), kept("k10").as_deref(), kept("more9").as_deref()), (None, Some("k10"), Some("more9")));
}

#[test]
fn a_queue_that_was_forgotten_starts_anew() {
    let mut engine = engine();
    for queue in ["q", "r"] {
        push(&mut engine, NOW, queue, "k");
        release(&mut engine, NOW, queue, "k");
    }
    push(&mut engine, NOW, "q", "stays");
    run(&mut engine, NOW, Command::Drain { queue: Arc::from("r") });
    // The sweep forgets the empty queue; then the name comes back as a new queue.
    engine.tick(Timestamp(1_005_000), &mut Effects::default());
    let was = push(&mut engine, Timestamp(1_005_000), "r", "k");
    assert!(engine.freed("r", "k").is_none());
    assert_eq!(engine.freed("q", "k").expect("the other queue's is kept").entry.key, KeyText::from("k"));
    assert_eq!(engine.key("r", "k", Timestamp(1_005_000)).expect("it is held").owner, was);
}

#[test]
fn twins_are_live_jobs_that_lost_the_key_under_them() {
    let mut engine = engine();
    let twins = |engine: &Engine| engine.twins(engine.key("q", "k", NOW).expect("it is held"));
    let first = push(&mut engine, NOW, "q", "k");
    push(&mut engine, NOW, "q", "other");
    push(&mut engine, NOW, "r", "k");
    release(&mut engine, NOW, "q", "other");
    release(&mut engine, NOW, "r", "k");
    assert_eq!(twins(&engine), []);
    release(&mut engine, NOW, "q", "k");
    let second = push(&mut engine, NOW, "q", "k");
    assert_eq!(twins(&engine), [first]);
    release(&mut engine, NOW, "q", "k");
    push(&mut engine, NOW, "q", "k");
    assert_eq!(twins(&engine), [first, second]);
    let id = engine.job_by_key(first).expect("it waits").id.clone();
    run(&mut engine, NOW, Command::Cancel { id });
    assert_eq!(twins(&engine), [second]);
}

#[test]
fn a_job_that_comes_back_to_its_own_window_has_not_replaced_anybody() {
    let mut engine = engine();
    let mut spec = new_job("q");
    spec.dedup.ttl = Some(Millis(60_000));
    let (custom_id, dedup_key) = (Some(JobId::parse("x")), Some(Arc::from("k")));
    let add = Add { custom_id, dedup_key, ..Add::new(spec) };
    run(&mut engine, NOW, Command::Push { add, replay_of: None });
    let claim = crate::command::Claim { id: JobId::parse("x"), token: None };
    run(&mut engine, NOW, Command::Discard { claim });
    let later = Timestamp(1_030_000);
    run(&mut engine, later, Command::RetryJob { id: JobId::parse("x") });
    let entry = engine.key("q", "k", later).expect("it took its key again");
    assert_eq!((entry.tally().replaced, entry.expires_at()), (0, Some(Timestamp(1_090_000))));
}

fn seen(engine: &Engine, key: &str) -> (JobId, JobKey) {
    let entry = engine.key("q", key, NOW).expect("it is held");
    (entry.owner_id.clone(), entry.owner)
}

/// Whether a command of the window was carried out.
fn by_hand(engine: &mut Engine, now: Timestamp, command: Command) -> bool {
    let mut effects = Effects::default();
    engine.tick(now, &mut effects);
    engine.handle(now, Origin::Internal, command, &mut effects);
    engine.check(now);
    effects.outputs.iter().any(|output| matches!(output, Output::Reply { reply: Reply::Ok, .. }))
}

#[test]
fn a_release_by_hand_can_be_undone_however_many_keys_end_meanwhile() {
    let mut engine = engine();
    push(&mut engine, NOW, "q", "k");
    let (owner, generation) = seen(&engine, "k");
    let (queue, key): (Arc<str>, Arc<str>) = (Arc::from("q"), Arc::from("k"));
    let release = Command::ReleaseKey { queue: queue.clone(), key: key.clone(), owner, generation };
    assert!(by_hand(&mut engine, NOW, release));
    for n in 0..3 * FREED_KEYS_MAX {
        push(&mut engine, NOW, "q", &format!("other-{n}"));
        run(
            &mut engine,
            NOW,
            Command::RemoveDeduplicationKey { queue: queue.clone(), key: Arc::from(format!("other-{n}")) },
        );
    }
    let restore = Command::RestoreKey { queue, key, generation };
    assert!(by_hand(&mut engine, NOW, restore));
    assert_eq!(seen(&engine, "k").1, generation);
}

#[test]
fn a_window_is_set_by_hand_only_on_what_was_seen() {
    let mut engine = engine();
    push(&mut engine, NOW, "q", "k");
    let (owner, generation) = seen(&engine, "k");
    let change = |generation, until: Option<i64>| {
        Command::SetKeyWindow(WindowChange {
            queue: Arc::from("q"),
            key: Arc::from("k"),
            owner: owner.clone(),
            generation,
            ttl: until.map(Millis),
            until: until.map(|left| NOW.plus(Millis(left))),
        })
    };
    assert!(!by_hand(&mut engine, NOW, change(JobKey(generation.0 + 1), Some(500))));
    assert!(!by_hand(&mut engine, NOW, change(generation, Some(0))));
    assert_eq!(engine.key("q", "k", NOW).unwrap().expires_at(), None);
    assert!(by_hand(&mut engine, NOW, change(generation, Some(500))));
    assert_eq!(engine.key("q", "k", NOW).unwrap().expires_at(), Some(NOW.plus(Millis(500))));
    assert!(by_hand(&mut engine, NOW, change(generation, None)));
    assert_eq!(engine.key("q", "k", NOW.plus(Millis(600))).map(|entry| entry.owner), Some(generation));
    assert!(by_hand(&mut engine, NOW, change(generation, Some(500))));
    run(&mut engine, NOW.plus(Millis(500)), Command::Totals);
    assert!(engine.key("q", "k", NOW.plus(Millis(500))).is_none());
}
