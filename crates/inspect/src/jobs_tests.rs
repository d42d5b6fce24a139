//! Searches in more jobs than one look at the core may take.

use super::*;
use crate::testing::{Bench, spec};
use onceover_engine::command::{Add, Command, NewJob};
use serde_json::{Value, json};

#[test]
fn a_search_in_many_jobs_goes_on_in_steps_and_says_how_far_it_looked() {
    let bench = Bench::new("steps");
    let named = |at: usize| NewJob { name: Arc::from(if at == 24_999 { "last" } else { "other" }), ..spec(None) };
    let adds = (0..25_000).map(|at| Add::new(named(at)));
    let handle = bench.broker.as_ref().unwrap().handle();
    bench.wait(handle.act(Command::PushBulk { adds: adds.collect() })).unwrap();
    let query = |after: &Value| {
        let query = json!({ "queue": null, "state": null, "filter": "name:last", "after": after, "limit": 5 });
        Search::new(question(&serde_json::from_value(query).unwrap()).unwrap())
    };
    let step = |search: Search| {
        let search = bench.wait(handle.view(|core| search.step(core))).unwrap();
        (search.is_done(), serde_json::to_value(search.page()).unwrap())
    };
    let (done, first) = step(query(&Value::Null));
    assert_eq!((done, &first["note"]), (false, &json!("Searched 10,000 of 25,000 jobs.")));
    assert_eq!((&first["rows"], &first["total"]), (&json!([]), &json!(0)));
    let (done, second) = step(query(&first["next"]));
    assert_eq!((done, &second["note"]), (false, &json!("Searched 20,000 of 25,000 jobs.")));
    let (done, third) = step(query(&second["next"]));
    assert_eq!((done, &third["note"], &third["next"]), (true, &Value::Null, &Value::Null));
    assert_eq!(third["rows"][0]["name"], "last");
    // One request makes as many steps as it has time for.
    let whole = bench.ask(json!({ "type": "jobs", "filter": "name:last", "limit": 5 }));
    assert_eq!((&whole["rows"][0]["name"], &whole["note"]), (&json!("last"), &Value::Null));
    let page = bench.ask(json!({ "type": "jobs", "limit": 5 }));
    assert_eq!((&page["total"], page["rows"].as_array().unwrap().len()), (&json!(25_000), 5));
    assert_eq!(
        bench.refused(json!({ "type": "jobs", "after": "nonsense", "limit": 5 })).message,
        "after: not a cursor of this list"
    );
}
