//! Releasing one and many keys, setting windows, the list of what deserves a look.

use crate::testing::Bench;
use onceover_engine::command::Command;
use serde_json::{Value, json};
use std::sync::Arc;

fn refs(bench: &Bench, numbers: std::ops::Range<usize>) -> Vec<Value> {
    let one = |n| {
        let row = bench.ask(json!({ "type": "key", "queue": "q", "key": format!("k{n}") }))["row"].clone();
        json!({ "queue": "q", "key": row["key"], "ownerId": row["ownerId"], "generation": row["generation"] })
    };
    numbers.map(one).collect()
}

fn held(bench: &Bench) -> u64 {
    bench.ask(json!({ "type": "overview" }))["counts"]["keys"].as_u64().unwrap()
}

#[test]
fn a_thousand_keys_of_which_ten_changed() {
    let bench = Bench::new("bulk-release");
    for n in 0..1_000 {
        bench.add(json!({ "dedupId": format!("k{n}"), "ttlMs": 600_000 }));
    }
    let seen = refs(&bench, 0..1_000);
    for n in 0..10 {
        bench.add(json!({ "dedupId": format!("k{}", n * 7), "ttlMs": 600_000, "replace": true }));
    }
    let preview = bench.ask(json!({ "type": "keysPreview", "keys": { "by": "refs", "keys": seen } }));
    assert_eq!((&preview["changed"], &preview["groups"][0]["keys"]), (&json!(10), &json!(990)));
    assert_eq!(preview["groups"][0]["owners"], "990 owners wait");
    assert_eq!(preview["sample"].as_array().unwrap().len(), 5);

    let released = bench.ask(json!({ "type": "releaseKeys", "keys": seen, "leaveOutActive": false }));
    assert_eq!(released["message"], "Released 990 keys. 10 had changed and were left alone.");
    let left = released["leftAlone"].as_array().unwrap();
    assert_eq!(left.len(), 10);
    assert_eq!((&left[1]["id"], &left[1]["queue"]), (&json!("k7"), &json!("q")));
    assert!(left[1]["reason"].as_str().unwrap().contains("it belongs to …"));
    assert_eq!(held(&bench), 10);

    let restored = bench.ask(released["undo"].clone());
    assert_eq!(restored["message"], "990 keys are held again.");
    assert_eq!(held(&bench), 1_000);
    let twice = bench.ask(released["undo"].clone());
    assert_eq!((&twice["ok"], twice["leftAlone"].as_array().unwrap().len()), (&json!(false), 100));
}

#[test]
fn keys_with_an_active_owner_can_be_left_out() {
    let bench = Bench::new("bulk-active");
    bench.add(json!({ "dedupId": "k0" }));
    bench.pull();
    bench.add(json!({ "dedupId": "k1" }));
    bench.add(json!({ "dedupId": "k2", "delayMs": 60_000 }));
    let all = json!({ "by": "matching", "filter": "queue:q", "chip": "all" });
    let preview = bench.ask(json!({ "type": "keysPreview", "keys": all }));
    let states: Vec<&str> =
        preview["groups"].as_array().unwrap().iter().map(|g| g["state"].as_str().unwrap()).collect();
    assert_eq!((states, &preview["active"]), (vec!["waiting", "delayed", "active"], &json!(1)));
    let released = bench.ask(json!({ "type": "releaseKeys", "keys": preview["keys"], "leaveOutActive": true }));
    assert_eq!(released["message"], "Released 2 keys. 1 with an active owner was left out.");
    assert_eq!(bench.ask(json!({ "type": "key", "queue": "q", "key": "k0" }))["row"]["ownerState"], "active");
}

#[test]
fn a_window_is_extended_and_put_back() {
    let bench = Bench::new("window");
    bench.add(json!({ "ttlMs": 60_000 }));
    let before = bench.ask(json!({ "type": "key", "queue": "q", "key": "k" }))["row"].clone();
    let mut change = bench.key("setKeyWindow");
    change["ttlMs"] = json!(3_600_000);
    let changed = bench.ask(change.clone());
    assert_eq!(changed["message"], "`k` is held for 1 h from now.");
    let after = bench.ask(json!({ "type": "key", "queue": "q", "key": "k" }))["row"].clone();
    assert_eq!(after["ttlMs"], 3_600_000);
    bench.ask(changed["undo"].clone());
    let undone = bench.ask(json!({ "type": "key", "queue": "q", "key": "k" }))["row"].clone();
    assert_eq!((&undone["ttlMs"], &undone["expiresAt"]), (&before["ttlMs"], &before["expiresAt"]));

    let mut lifted = change.clone();
    lifted["ttlMs"] = Value::Null;
    assert_eq!(bench.ask(lifted)["message"], "`k` has no TTL now: it is held until its owner ends.");
    let mut stale = change.clone();
    stale["generation"] = json!(99);
    assert_eq!(bench.ask(stale)["code"], "changed");
    for (field, value) in [("ttlMs", json!(0)), ("ttlMs", json!(-5)), ("expiresAt", json!(99_999_999_999_999_i64))] {
        let mut bad = change.clone();
        bad[field] = value;
        assert!(bench.refused(bad).message.starts_with(field));
    }
}

#[test]
fn what_deserves_a_look_is_listed_worst_first() {
    let bench = Bench::new("attention");
    bench.add(json!({ "dedupId": "healthy" }));
    bench.add(json!({ "dedupId": "lost", "dataText": "1" }));
    bench.add(json!({ "dedupId": "lost", "dataText": "2" }));
    bench.add(json!({ "dedupId": "twin" }));
    let broker = bench.broker.as_ref().unwrap().handle();
    let (queue, key): (Arc<str>, Arc<str>) = (Arc::from("q"), Arc::from("twin"));
    bench.wait(broker.act(Command::RemoveDeduplicationKey { queue, key })).unwrap();
    bench.add(json!({ "dedupId": "twin" }));
    let view = bench.ask(json!({ "type": "attention" }));
    let listed: Vec<(&str, &str)> = view["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["key"].as_str().unwrap(), row["attention"][0]["code"].as_str().unwrap()))
        .collect();
    assert_eq!(listed, [("twin", "twin"), ("lost", "data_lost")]);
    assert_eq!(view["total"], 2);
}
