//! Pages of more keys than one step looks at: the engine's order and a pass over all give the same rows.

use crate::testing::{Bench, spec};
use onceover_engine::command::{Add, Command, DedupRequest, NewJob};
use onceover_engine::time::Millis;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;

const KEYS: usize = 12_000;

/// Every third key has no window, every hundredth absorbed an add with other data.
fn bench(name: &str) -> Bench {
    let bench = Bench::new(name);
    let handle = bench.broker.as_ref().unwrap().handle();
    let add = |at: usize, data: u8| {
        let ttl = (!at.is_multiple_of(3)).then_some(Millis(600_000 + at as i64 * 7_919 % 100_000));
        let dedup = DedupRequest { ttl, ..DedupRequest::default() };
        let queue = Arc::from(format!("q{}", at % 3));
        let (dedup_key, data) = (Some(format!("key-{at}").into()), Some(vec![data].into()));
        Add { dedup_key, data, ..Add::new(NewJob { queue, dedup, ..spec(None) }) }
    };
    let adds = (0..KEYS).map(|at| add(at, 1)).chain((0..KEYS).step_by(100).map(|at| add(at, 2)));
    bench.wait(handle.act(Command::PushBulk { adds: adds.collect() })).unwrap();
    bench
}

fn all(bench: &Bench, query: &Value, limit: usize) -> (Vec<String>, Value) {
    let (mut keys, mut after, mut first) = (Vec::new(), Value::Null, Value::Null);
    loop {
        let mut request = json!({ "type": "keys", "limit": limit, "after": after });
        request.as_object_mut().unwrap().extend(query.as_object().unwrap().clone());
        let page = bench.ask(request);
        keys.extend(page["rows"].as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap().to_owned()));
        after = page["next"].clone();
        if first.is_null() {
            first = page;
        }
        if after.is_null() {
            return (keys, first);
        }
    }
}

#[test]
fn the_engines_order_and_a_pass_over_all_keys_give_the_same_pages() {
    let bench = bench("key-orders");
    for sort in ["attention", "timeLeft"] {
        let (ordered, first) = all(&bench, &json!({ "sort": sort }), 200);
        let distinct: HashSet<&String> = ordered.iter().collect();
        assert_eq!((ordered.len(), distinct.len(), &first["total"]), (KEYS, KEYS, &json!(KEYS)), "{sort}");
        // A filter that lets everything through.
        let passed = json!({ "sort": sort, "filter": "collapsed:>=0", "limit": 200 });
        let mut page = bench.ask(json!({ "type": "keys", "sort": sort, "filter": "collapsed:>=0", "limit": 200 }));
        for part in ordered.chunks(200).take(4) {
            let keys: Vec<&str> =
                page["rows"].as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap()).collect();
            assert_eq!(keys, part, "{sort}");
            let mut next = passed.clone();
            next["type"] = json!("keys");
            next["after"] = page["next"].clone();
            page = bench.ask(next);
        }
        assert_eq!((&page["total"], &page["hidden"]), (&json!(KEYS), &json!(0)));
    }
    let (worst, _) = all(&bench, &json!({ "chip": "attention" }), 50);
    assert_eq!(worst.len(), KEYS / 100);
    let first = bench.ask(json!({ "type": "keys", "sort": "attention", "limit": 120 }));
    assert!(first["rows"].as_array().unwrap().iter().all(|row| row["attention"][0]["code"] == "data_lost"));
}

#[test]
fn counts_and_choices_reach_all_keys() {
    let bench = bench("key-counts");
    let page = bench.ask(json!({ "type": "keys", "chip": "noTtl", "limit": 1 }));
    let counts = &page["counts"];
    assert_eq!((&page["total"], &counts["noTtl"], &counts["all"]), (&json!(4_000), &json!(4_000), &json!(KEYS)));
    assert_eq!((&counts["attention"], &counts["expiring"], &counts["hot"]), (&json!(120), &json!(0), &json!(0)));
    let preview = json!({ "type": "keysPreview", "keys": { "by": "matching", "filter": "queue:q1", "chip": "all" } });
    let preview = bench.ask(preview);
    assert_eq!((preview["keys"].as_array().unwrap().len(), &preview["note"]), (4_000, &Value::Null), "{preview:.200}");
    let (last, _) = all(&bench, &json!({ "sort": "key", "reverse": true, "filter": "key:key-99*" }), 7);
    let mut sorted = last.clone();
    sorted.sort_by(|one, other| other.cmp(one));
    assert_eq!((last.len(), &last), (111, &sorted));
}
