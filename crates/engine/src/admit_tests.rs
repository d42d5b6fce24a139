//! What an add leaves behind besides its job: the record for the window, the key's tally, events, totals.

use crate::command::*;
use crate::dedup::DecisionCode;
use crate::effects::{AddRecord, Effects, Facts, Output};
use crate::engine::{Engine, EngineConfig};
use crate::event::EventKind;
use crate::names::*;
use crate::reply::Reply;
use crate::testing::new_job;
use crate::time::{Millis, Timestamp};
use std::sync::Arc;

const NOW: Timestamp = Timestamp(1_000_000);
const FROM: Origin = Origin::Client { conn: ConnId(7), request: 1 };

fn engine() -> Engine {
    let mut engine = Engine::new(EngineConfig::default(), 1);
    engine.tick(NOW, &mut Effects::default());
    engine
}

/// `key=k` and so on, as in the scenarios: `id`, `key`, `ttl`, `extend`, `replace`, `keep`, `hash`, `data`, `durable`, `group`.
fn add(words: &str) -> Add {
    let mut spec = new_job("q");
    let (mut custom_id, mut dedup_key, mut data) = (None, None, None);
    for word in words.split_whitespace() {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "id" => custom_id = Some(JobId::parse(value)),
            "queue" => spec.queue = Arc::from(value),
            "data" => data = Some(Payload::from(value.as_bytes())),
            "durable" => spec.durable = true,
            "group" => {
                let group = Group { id: Arc::from(value), max_size: Some(1) };
                spec.rare.get_or_insert_default().group = Some(group);
            }
            "key" => dedup_key = Some(Arc::from(value)),
            "ttl" => spec.dedup.ttl = Some(Millis(value.parse().expect("milliseconds"))),
            "extend" => spec.dedup.extend = true,
            "replace" => spec.dedup.replace = true,
            "keep" => spec.dedup.keep_last = true,
            "hash" => spec.dedup.from_hash = true,
            _ => panic!("unknown word {word}"),
        }
    }
    Add { spec: Arc::new(spec), custom_id, dedup_key, data }
}

fn run(engine: &mut Engine, command: Command) -> Effects {
    let mut effects = Effects::default();
    engine.handle(NOW, FROM, command, &mut effects);
    engine.check(NOW);
    effects
}

fn push(engine: &mut Engine, words: &str) -> AddRecord {
    let mut effects = run(engine, Command::Push { add: add(words), replay_of: None });
    assert_eq!(effects.adds.len(), 1, "every add is logged once");
    effects.adds.remove(0)
}

fn pull(engine: &mut Engine) {
    let (queue, owner) = (Arc::from("q"), None);
    let (count, bulk, timeout, lock_ttl, detach) = (1, false, Millis(0), Millis(30_000), false);
    run(engine, Command::Pull(Pull { queue, count, bulk, timeout, owner, lock_ttl, detach, group: None }));
}

fn facts(first: &str, second: &str) -> Facts {
    let mut engine = engine();
    push(&mut engine, first);
    push(&mut engine, second).decision.facts
}

#[test]
fn facts_name_what_was_dropped_without_an_error() {
    let none = Facts::default();
    assert_eq!(facts("key=k data=1", "key=k data=1"), none);
    assert_eq!(facts("key=k data=1", "key=k data=2"), Facts { data_differs: true, ..none });
    assert_eq!(facts("key=k data=1", "key=k"), Facts { data_differs: true, ..none });
    assert_eq!(facts("key=k hash data=1", "key=k hash data=2"), none, "a hash is of the data");
    assert_eq!(facts("key=k ttl=50", "key=k ttl=50 extend data=2"), Facts { data_differs: true, ..none });
    assert_eq!(facts("key=k data=1", "key=k replace data=2"), none, "the new data won");
    assert_eq!(facts("key=k", "key=k id=x"), Facts { job_id_not_used: true, ..none });
    assert_eq!(facts("id=x", "id=x key=k"), Facts { key_not_taken: true, ..none });
    assert_eq!(facts("id=x key=k", "id=x key=k"), none);
    assert_eq!(
        facts("id=x key=k data=1", "id=x key=l data=2"),
        Facts { key_not_taken: true, data_differs: true, ..none }
    );
}

#[test]
fn data_is_compared_with_what_the_job_carries_now() {
    let mut engine = engine();
    let id = push(&mut engine, "key=k data=1").decision.job.expect("a new job");
    run(&mut engine, Command::Update { id, data: Some(Payload::from(&b"2"[..])) });
    assert!(!push(&mut engine, "key=k data=2").decision.facts.data_differs);
    assert!(push(&mut engine, "key=k data=1").decision.facts.data_differs);
}

#[test]
fn what_is_the_same_data_is_told_by_who_can_read_them() {
    let upper_case = |payload: &[u8]| u64::from(payload.first().copied().unwrap_or(0).to_ascii_uppercase());
    let mut engine = Engine::new(EngineConfig { fingerprint: upper_case, ..EngineConfig::default() }, 1);
    engine.tick(NOW, &mut Effects::default());
    push(&mut engine, "id=x key=k data=a");
    for (words, differs) in [("key=k data=A", false), ("id=x data=A", false), ("key=k data=b", true), ("id=x", true)] {
        assert_eq!(push(&mut engine, words).decision.facts.data_differs, differs, "{words}");
    }
}

#[test]
fn a_refused_extend_drops_nothing_silently() {
    let mut engine = engine();
    push(&mut engine, "key=k ttl=50 data=1");
    pull(&mut engine);
    let refused = push(&mut engine, "key=k ttl=50 extend data=2 id=x").decision;
    assert_eq!((refused.code, refused.facts), (DecisionCode::RejectedExtend, Facts::default()));
    assert_eq!(refused.refusal.as_deref(), Some("Duplicate unique_key (extended TTL)"));
    assert_eq!((refused.job, refused.owner.is_some()), (None, true));
}

#[test]
fn a_record_shows_the_key_before_and_after() {
    let mut engine = engine();
    let first = push(&mut engine, "key=k ttl=50");
    let owner = first.decision.job.clone().expect("a new job");
    assert_eq!((first.key_before, first.origin, first.at), (None, FROM, NOW));
    let after = first.key_after.expect("the key is held");
    assert_eq!((&after.owner_id, after.window.end()), (&owner, Some(Timestamp(1_000_050))));
    let second = push(&mut engine, "key=k ttl=90 extend");
    assert_eq!(second.key_before.expect("it was held").window.end(), Some(Timestamp(1_000_050)));
    assert_eq!(second.key_after.expect("it is held").window.end(), Some(Timestamp(1_000_090)));
    assert_eq!(second.decision.owner.expect("the owner").id, owner);
}

#[test]
fn a_key_counts_what_it_absorbed_since_its_owner_took_it() {
    let mut engine = engine();
    for words in ["key=k ttl=50", "key=k data=2", "key=k ttl=50 extend", "key=k keep"] {
        push(&mut engine, words);
    }
    let tally = engine.key("q", "k", NOW).expect("the key is held").tally();
    assert_eq!((tally.collapsed, tally.data_differs, tally.extended, tally.replaced), (3, 1, 1, 0));
    let last = tally.last.expect("an add met it");
    assert_eq!((last.decision, last.at, last.conn), (DecisionCode::ExistingKey, NOW, 7));
    push(&mut engine, "key=k replace");
    push(&mut engine, "key=k id=x");
    let tally = engine.key("q", "k", NOW).expect("the key is held").tally();
    assert_eq!((tally.collapsed, tally.extended, tally.replaced), (1, 0, 1));
    push(&mut engine, "id=y");
    push(&mut engine, "id=y key=k");
    let after = engine.key("q", "k", NOW).expect("the key is held").tally();
    assert_eq!(after, tally, "a repeated job id never meets the key");
}

#[test]
fn events_come_in_order_and_before_the_reply() {
    let mut engine = engine();
    let words = |effects: Effects| -> Vec<String> {
        let word = |output: Output| match output {
            Output::Event(event) => match event.kind {
                EventKind::Pushed => format!("pushed {}", event.queue),
                EventKind::Duplicated { key, strategy } => format!("duplicated {} {key:?} {strategy}", event.queue),
                EventKind::Removed { prev } => format!("removed {}", prev.as_str()),
                other => format!("{other:?}"),
            },
            Output::Reply { reply: Reply::Added(added), .. } => {
                format!("reply {:?} {}", added.duplicate, added.replaced.is_some())
            }
            Output::Reply { reply, .. } => format!("{reply:?}"),
        };
        effects.outputs.into_iter().map(word).collect()
    };
    let mut said = |text: &str| words(run(&mut engine, Command::Push { add: add(text), replay_of: None }));
    assert_eq!(said("key=k"), ["pushed q", "reply None false"]);
    assert_eq!(said("key=k"), ["duplicated q Some(\"k\") default", "reply Some(\"default\") false"]);
    assert_eq!(said("key=k ttl=5 extend"), ["duplicated q Some(\"k\") extend", "reply Some(\"extend\") false"]);
    assert_eq!(said("key=k replace"), ["removed waiting", "pushed q", "reply None true"]);
    assert_eq!(said("id=x queue=r"), ["pushed r", "reply None false"]);
    assert_eq!(said("id=x key=z"), ["duplicated r None jobId", "reply Some(\"jobId\") false"], "where the job lives");
}

#[test]
fn totals_count_admitted_jobs_and_apart_from_them_what_collapsed() {
    let mut engine = engine();
    for words in ["key=k", "key=k", "key=k replace", "id=x", "id=x"] {
        push(&mut engine, words);
    }
    assert_eq!(engine.totals().pushed, 3);
    let totals = engine.queue_totals().next().expect("one queue is listed").1;
    assert_eq!((totals.pushed, totals.collapsed, engine.totals().collapsed), (3, 2, 2));
}

#[test]
fn jobs_that_ask_for_the_same_hold_one_request() {
    let mut engine = engine();
    let pairs = [("data=1", "data=2", true), ("id=x", "key=k data=3", true), ("key=l ttl=5", "key=m", false)];
    for (one, other, shared) in pairs {
        let (one, other) = (push(&mut engine, one).decision.job_key, push(&mut engine, other).decision.job_key);
        let [one, other] = [one, other].map(|key| &engine.job_by_key(key.unwrap()).unwrap().spec);
        assert_eq!(Arc::ptr_eq(one, other), shared, "{one:?}");
    }
    let first = engine.jobs.iter().next().unwrap().spec.clone();
    for name in 0..20 {
        let spec = NewJob { name: Arc::from(format!("job-{name}")), ..new_job("q") };
        run(&mut engine, Command::Push { add: Add::new(spec), replay_of: None });
    }
    let again = push(&mut engine, "data=4").decision.job_key.unwrap();
    let again = &engine.job_by_key(again).unwrap().spec;
    assert!(!Arc::ptr_eq(again, &first) && *again == first, "only the newest kinds are remembered");
}

#[test]
fn a_turn_is_durable_when_an_add_in_it_asks_for_it() {
    let mut engine = engine();
    let mut durable = |words: &[&str]| {
        let adds = words.iter().map(|words| add(words)).collect();
        run(&mut engine, Command::PushBulk { adds }).durable
    };
    assert!(!durable(&["", ""]));
    assert!(durable(&["", "durable"]));
    assert!(durable(&["durable", ""]));
}

#[test]
fn a_batch_keeps_what_came_before_the_refusal_and_says_where_each_add_stood() {
    let mut engine = engine();
    let adds = ["id=a", "group=g", "group=g", "key=never"].map(add).to_vec();
    let effects = run(&mut engine, Command::PushBulk { adds });
    let places: Vec<_> = effects.adds.iter().map(|record| (record.bulk, record.decision.code)).collect();
    let wanted = [
        (Some((1, 4)), DecisionCode::Created),
        (Some((2, 4)), DecisionCode::Created),
        (Some((3, 4)), DecisionCode::RejectedLimit),
    ];
    assert_eq!(places, wanted);
    assert_eq!(engine.counts(Some("q")).waiting, 2);
    assert!(engine.key("q", "never", NOW).is_none());
    let missing = |id: &str| {
        let mut add = add("");
        let spec = Arc::make_mut(&mut add.spec);
        spec.rare.get_or_insert_default().depends_on.push(JobId::parse(id));
        add
    };
    let effects = run(&mut engine, Command::PushBulk { adds: vec![add("id=b"), missing("nowhere")] });
    assert_eq!(effects.adds.len(), 1, "everything is checked before anything is stored");
    assert_eq!(effects.adds[0].decision.refusal.as_deref(), Some("jobs[1]: Dependency job not found: nowhere"));
    assert_eq!(engine.counts(Some("q")).waiting, 2);
}

#[test]
fn a_full_group_lets_a_newcomer_take_the_place_of_its_own_member_only() {
    let mut engine = engine();
    push(&mut engine, "group=g key=k");
    assert_eq!(push(&mut engine, "group=g key=k replace").decision.code, DecisionCode::Replaced);
    push(&mut engine, "key=l");
    let refused = push(&mut engine, "group=g key=l replace").decision;
    assert_eq!(refused.code, DecisionCode::RejectedLimit);
    assert_eq!(refused.refusal.as_deref(), Some("Group g has reached its maximum size of 1"));
    assert_eq!(engine.counts(Some("q")).waiting, 2, "what was to be replaced stays");
    pull(&mut engine);
    pull(&mut engine);
    assert_eq!(push(&mut engine, "group=g").decision.code, DecisionCode::Created, "an active job is queued no more");
    assert_eq!(push(&mut engine, "group=h").decision.code, DecisionCode::Created);
    assert_eq!(push(&mut engine, "group=g queue=r").decision.code, DecisionCode::Created);
}

#[test]
fn a_returned_job_is_named_with_its_generation_and_state() {
    let mut engine = engine();
    let first = push(&mut engine, "id=x key=k").decision;
    pull(&mut engine);
    for again in ["id=x", "id=x queue=r", "key=k"] {
        let decision = push(&mut engine, again).decision;
        let owner = decision.owner.expect("the job it met");
        assert_eq!((&decision.job, decision.job_key), (&first.job, first.job_key), "{again}");
        assert_eq!((Some(&owner.id), Some(owner.key)), (first.job.as_ref(), first.job_key), "{again}");
        assert_eq!((owner.state, owner.attempts), (Some(StateName::Active), 0), "{again}");
    }
    let elsewhere = push(&mut engine, "id=x queue=r").decision.elsewhere;
    assert_eq!(elsewhere.as_deref(), Some("q"));
    assert_eq!(push(&mut engine, "id=x").decision.elsewhere, None);
}

#[test]
fn a_key_that_was_freed_under_a_live_job_makes_a_twin_and_says_of_whom() {
    let mut engine = engine();
    let first = push(&mut engine, "key=k").decision;
    run(&mut engine, Command::RemoveDeduplicationKey { queue: Arc::from("q"), key: Arc::from("k") });
    let twin = push(&mut engine, "key=k").decision;
    assert_eq!((twin.code, twin.owner.map(|owner| owner.key)), (DecisionCode::CreatedTwin, first.job_key));
    assert_eq!(twin.freed.map(|freed| freed.owner), first.job_key);
    run(&mut engine, Command::Drain { queue: Arc::from("q") });
    let free = push(&mut engine, "key=k").decision;
    assert_eq!((free.code, free.owner), (DecisionCode::CreatedFreed, None));
}

#[test]
fn a_refused_replace_and_a_repeated_hash_say_so() {
    let mut engine = engine();
    let owner = push(&mut engine, "key=k").decision.job.expect("a new job");
    let mut waits = add("");
    Arc::make_mut(&mut waits.spec).rare.get_or_insert_default().depends_on.push(owner.clone());
    run(&mut engine, Command::Push { add: waits, replay_of: None });
    let refused = push(&mut engine, "key=k replace").decision;
    let text = format!("Cannot replace deduplicated job {owner} because live jobs depend on it");
    assert_eq!((refused.code, refused.refusal), (DecisionCode::RejectedDependents, Some(text)));
    push(&mut engine, "key=h hash");
    assert_eq!(push(&mut engine, "key=h hash").decision.code, DecisionCode::ExistingHash);
    assert_eq!(push(&mut engine, "key=k").decision.code, DecisionCode::ExistingKey);
}

#[test]
fn a_dry_run_says_what_the_add_then_does() {
    let steps = ["key=k ttl=90", "key=k", "key=k ttl=90 extend", "key=k replace", "id=x", "id=x key=k", "key=k keep"];
    let mut engine = engine();
    for words in steps {
        let foreseen = engine.dry_run(NOW, &add(words)).decision;
        let done = push(&mut engine, words).decision;
        assert_eq!((foreseen.code, foreseen.facts, foreseen.owner), (done.code, done.facts, done.owner), "{words}");
    }
}

#[test]
fn options_of_a_repeat_that_its_job_does_not_have_are_told() {
    let plain = new_job("q");
    assert!(!plain.asks_beyond(&plain));
    let urgent = NewJob { priority: 5, ..new_job("q") };
    assert!(urgent.asks_beyond(&plain));
    assert!(!plain.asks_beyond(&urgent), "a repeat without options loses none");
    let limited = |timeout| {
        let rare = RareOptions { timeout: Some(Millis(timeout)), ..RareOptions::default() };
        NewJob { rare: Some(Box::new(rare)), ..new_job("q") }
    };
    assert!(limited(5).asks_beyond(&plain) && limited(5).asks_beyond(&limited(6)));
    assert!(!limited(5).asks_beyond(&limited(5)));
    assert!(NewJob { lifo: true, ..new_job("q") }.asks_beyond(&plain));
}
