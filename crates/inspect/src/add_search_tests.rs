//! Pages of the log, with and without marks and filters.

use super::*;
use crate::testing::{Bench, spec};
use onceover_engine::command::{Add, Command, NewJob};
use serde_json::{Value, json};
use std::sync::Arc;

/// `count` adds of which every fifth is absorbed by the first one of its key.
fn bench(name: &str, count: usize) -> Bench {
    let bench = Bench::new(name);
    let handle = bench.broker.as_ref().unwrap().handle();
    let add = |at: usize| {
        let dedup_key = at.is_multiple_of(5).then(|| Arc::from("k"));
        let ttl = dedup_key.is_some().then_some(600_000);
        let name = Arc::from(if at == 0 { "first" } else { "other" });
        Add { dedup_key, ..Add::new(NewJob { name, ..spec(ttl) }) }
    };
    bench.wait(handle.act(Command::PushBulk { adds: (0..count).map(add).collect() })).unwrap();
    bench
}

/// The numbers of all pages of a question, one after the other.
fn pages(bench: &Bench, chip: &str, filter: &str, limit: usize) -> (Vec<u64>, Value) {
    let (mut found, mut after, mut first) = (Vec::new(), Value::Null, Value::Null);
    loop {
        let page = bench.ask(json!({ "type": "adds", "chip": chip, "filter": filter, "after": after, "limit": limit }));
        let rows = page["rows"].as_array().unwrap();
        assert!(rows.len() <= limit);
        found.extend(rows.iter().map(|row| row["seq"].as_u64().unwrap()));
        after = page["next"].clone();
        if first.is_null() {
            first = page;
        } else {
            assert_eq!(page["total"], first["total"], "every page knows the total");
        }
        if after.is_null() {
            return (found, first);
        }
    }
}

#[test]
fn pages_make_up_the_log_whatever_picks_their_rows() {
    let bench = bench("add-pages", 500);
    let all: Vec<u64> = (1..=500).rev().collect();
    let absorbed: Vec<u64> = all.iter().copied().filter(|seq| seq % 5 == 1 && *seq > 1).collect();
    let table = [
        ("all", "", &all),
        ("all", "queue:q", &all),
        ("collapsed", "", &absorbed),
        ("collapsed", "decision:existing", &absorbed),
        ("all", "decision:existing", &absorbed),
        ("rejected", "", &Vec::new()),
    ];
    for (chip, filter, wanted) in table {
        for limit in [7, 99, 100, 200] {
            let (found, first) = pages(&bench, chip, filter, limit);
            assert_eq!(found, *wanted, "{chip} {filter:?} by {limit}");
            assert_eq!(first["total"], wanted.len(), "{chip} {filter:?}");
            assert_eq!(first["hidden"], 500 - wanted.len());
            assert_eq!(first["counts"]["collapsed"], 99);
        }
    }
    for (filter, newer) in [("", 20), ("queue:q", 20), ("decision:existing", 4)] {
        let page = bench.ask(json!({ "type": "adds", "filter": filter, "since": 480, "limit": 0 }));
        assert_eq!((&page["newer"], page["rows"].as_array().unwrap().len()), (&json!(newer), 0), "{filter:?}");
    }
    for after in ["", "7", "1.2.x"] {
        let refused = bench.refused(json!({ "type": "adds", "after": after, "limit": 5 }));
        assert_eq!(refused.message, "after: not a cursor of this list");
    }
}

#[test]
fn a_search_goes_on_in_steps_and_says_how_far_it_looked() {
    let bench = bench("add-steps", 25_000);
    let handle = bench.broker.as_ref().unwrap().handle();
    let search = |after: &Value| {
        let query = json!({ "filter": "name:first", "chip": "all", "after": after, "limit": 5, "since": null });
        Search::new(question(&serde_json::from_value(query).unwrap()).unwrap())
    };
    let step = |search: Search| {
        let search = bench.wait(handle.view(|core| search.step(core))).unwrap();
        (search.is_done(), serde_json::to_value(search.page()).unwrap())
    };
    let (done, first) = step(search(&Value::Null));
    assert_eq!((done, &first["note"], &first["rows"]), (false, &json!("Searched 10,000 of 25,000 adds."), &json!([])));
    let (done, second) = step(search(&first["next"]));
    assert_eq!((done, &second["note"]), (false, &json!("Searched 20,000 of 25,000 adds.")));
    let (done, third) = step(search(&second["next"]));
    assert_eq!((done, third.get("note"), &third["next"], &third["total"]), (true, None, &Value::Null, &json!(1)));
    assert_eq!(third["rows"][0]["seq"], 1);
}

#[test]
fn repeats_are_one_row_that_opens_to_its_adds() {
    let bench = bench("add-groups", 500);
    let page = bench.ask(json!({ "type": "adds", "limit": 100, "grouped": true }));
    let rows = page["rows"].as_array().unwrap();
    let counted: u64 = rows.iter().map(|row| row["group"]["count"].as_u64().unwrap()).sum();
    assert_eq!(counted, 500, "every add is in one row");
    let absorbed: Vec<&Value> = rows.iter().filter(|row| row["decision"] == "existing.key").collect();
    assert!(!absorbed.is_empty() && absorbed.len() <= 2, "ten seconds may have ended once on the way");
    assert_eq!(absorbed.iter().map(|row| row["group"]["count"].as_u64().unwrap()).sum::<u64>(), 99);

    let group = &absorbed[0]["group"];
    let (mut after, mut members) = (Value::Null, 0);
    loop {
        let ask = json!({ "type": "adds", "limit": 30, "within": group["number"], "after": after });
        let part = bench.ask(ask);
        for row in part["rows"].as_array().unwrap() {
            assert_eq!((&row["decision"], &row["group"]), (&json!("existing.key"), &Value::Null));
            members += 1;
        }
        after = part["next"].clone();
        if after.is_null() {
            break;
        }
    }
    assert_eq!(members, group["count"].as_u64().unwrap());

    let some = bench.ask(json!({ "type": "adds", "limit": 1, "grouped": true, "filter": "decision:existing.key" }));
    assert_eq!(some["rows"].as_array().unwrap().len(), 1);
    assert_eq!(some["total"].as_u64().unwrap(), absorbed.len() as u64);
    let first = rows.last().unwrap()["group"]["firstSeq"].clone();
    let newer = bench.ask(json!({ "type": "adds", "limit": 0, "grouped": true, "since": first }))["newer"].clone();
    assert_eq!(newer.as_u64().unwrap(), rows.len() as u64 - 1);
}
