//! Dead letters: what is set about them, retries by themselves, age, number, questions and work by hand (protocol-admin.md 4, 5).

use crate::bench::{Bench, START, merged, text};
use serde_json::{Value as Json, json};

const HOUR: i64 = 3_600_000;
const WEEK: i64 = 604_800_000;

fn at(millis: i64) -> Json {
    json!((START + millis) as f64)
}

fn set(bench: &mut Bench, config: Json) {
    assert_eq!(bench.ok(&json!({"cmd": "SetDlqConfig", "queue": "q", "config": config})), json!({"ok": true}));
}

fn config(bench: &mut Bench) -> Json {
    bench.ok(&json!({"cmd": "GetDlqConfig", "queue": "q"}))["config"].clone()
}

/// Takes the next job of `q` and fails it for good.
fn fail(bench: &mut Bench) -> String {
    let (id, _) = bench.pull(json!({}));
    bench.ok(&json!({"cmd": "FAIL", "id": id, "error": "boom", "unrecoverable": true}));
    id
}

/// Adds a job and fails it for good.
fn bury(bench: &mut Bench, fields: Json) -> String {
    let id = bench.push(fields);
    assert_eq!(fail(bench), id);
    id
}

fn entry(bench: &mut Bench, id: &str) -> Json {
    let all = bench.ok(&json!({"cmd": "Dlq", "queue": "q"}));
    let found = all["entries"].as_array().and_then(|all| all.iter().find(|entry| entry["job"]["id"] == id));
    found.unwrap_or_else(|| panic!("{id} is no dead letter: {all}")).clone()
}

/// Ids of the dead letters that are meant, in order.
fn listed(bench: &mut Bench, more: Json) -> Vec<String> {
    let answer = bench.ok(&merged(json!({"cmd": "Dlq", "queue": "q"}), more));
    let ids = |of: &Json, id: fn(&Json) -> &Json| -> Vec<String> {
        of.as_array().expect("a list").iter().map(|one| text(id(one))).collect()
    };
    let jobs = ids(&answer["jobs"], |job| &job["id"]);
    assert_eq!(jobs, ids(&answer["entries"], |entry| &entry["job"]["id"]), "jobs and entries are the same");
    jobs
}

#[test]
fn the_configuration_is_merged_kept_over_a_restart_and_ends_with_the_queue() {
    let mut bench = Bench::new();
    let defaults = json!({"autoRetry": false, "autoRetryInterval": HOUR, "maxAutoRetries": 3, "maxAge": WEEK,
        "maxEntries": 10_000});
    assert_eq!(config(&mut bench), defaults, "of a queue that nobody knows");
    set(&mut bench, json!({}));
    set(&mut bench, defaults.clone());
    assert_eq!(bench.ok(&json!({"cmd": "ListQueues"}))["queues"], json!([]), "what holds anyway makes no queue");
    set(&mut bench, json!({"autoRetry": true, "maxAge": null}));
    set(&mut bench, json!({"autoRetryInterval": 2.9, "maxEntries": -5, "maxAutoRetries": {"$undefined": true}}));
    let wanted =
        json!({"autoRetry": true, "autoRetryInterval": 2, "maxAutoRetries": 3, "maxAge": null, "maxEntries": 1});
    assert_eq!(config(&mut bench), wanted);
    assert_eq!(bench.ok(&json!({"cmd": "ListQueues"}))["queues"], json!(["q"]));
    bench.through(20_000);
    assert_eq!(bench.ok(&json!({"cmd": "ListQueues"}))["queues"], json!(["q"]), "the sweep leaves what is set");
    bench.restart(5);
    assert_eq!(config(&mut bench), wanted);
    bench.ok(&json!({"cmd": "Obliterate", "queue": "q"}));
    assert_eq!(config(&mut bench), defaults);
    let refusal = bench.refusal(&json!({"cmd": "SetDlqConfig", "queue": "q"}));
    assert_eq!(refusal, "config is required");
}

#[test]
fn a_dead_letter_is_retried_by_itself_each_time_after_twice_as_long() {
    let mut bench = Bench::new();
    set(&mut bench, json!({"autoRetry": true, "autoRetryInterval": 1_000, "maxAutoRetries": 2}));
    let id = bury(&mut bench, json!({"jobId": "a", "maxAttempts": 3}));
    let first = entry(&mut bench, &id);
    let figures = |entry: &Json| json!([entry["retryCount"], entry["lastRetryAt"], entry["nextRetryAt"]]);
    assert_eq!(figures(&first), json!([0, null, at(1_000)]));
    assert_eq!(bench.at(999).state(&id), "failed");
    bench.events();
    assert_eq!(bench.at(1_000).state(&id), "waiting");
    assert_eq!(bench.events(), Vec::<Json>::new(), "subscribers of 2.9.5 do not see it either");
    assert_eq!(bench.job(&id)["attempts"], 0);
    bench.at(1_500);
    fail(&mut bench);
    let second = entry(&mut bench, &id);
    assert_eq!(figures(&second), json!([1, at(1_000), at(3_500)]), "two seconds after the failure");
    assert_eq!(second["attempts"].as_array().map(Vec::len), Some(2), "the attempts before are kept");
    // The broker is away when it is due.
    bench.restart(4_000);
    assert_eq!(bench.state(&id), "waiting");
    fail(&mut bench);
    assert_eq!(figures(&entry(&mut bench, &id)), json!([2, at(5_500), null]), "no third one");
    bench.through(HOUR);
    assert_eq!(bench.state(&id), "failed");
    assert_eq!(bench.ok(&json!({"cmd": "RetryDlq", "queue": "q", "jobId": id})), json!({"ok": true, "count": 1}));
    fail(&mut bench);
    let by_hand = entry(&mut bench, &id);
    assert_eq!(figures(&by_hand), json!([0, null, at(HOUR + 1_000)]), "a retry by hand begins anew");
    assert_eq!(by_hand["attempts"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_retry_by_itself_wakes_who_waits_for_a_job() {
    let mut bench = Bench::new();
    set(&mut bench, json!({"autoRetry": true, "autoRetryInterval": 700}));
    let id = bury(&mut bench, json!({"jobId": "a"}));
    bench.park(2, &json!({"cmd": "PULL", "queue": "q", "timeout": 5_000})).at(700);
    let (conn, answer) = bench.late.pop().expect("it is answered");
    assert_eq!((conn, text(&answer["job"]["id"])), (2, id));
}

#[test]
fn retries_stop_and_go_on_with_the_queues_wish() {
    let mut bench = Bench::new();
    let stats = |bench: &mut Bench| {
        bench.ok(&json!({"cmd": "GetDlqStats", "queue": "q"}))["data"]["stats"]["pendingRetry"].clone()
    };
    let before = bury(&mut bench, json!({}));
    set(&mut bench, json!({"autoRetry": true, "autoRetryInterval": 1_000}));
    let id = bury(&mut bench, json!({}));
    assert_eq!(entry(&mut bench, &before)["nextRetryAt"], json!(null), "it died when nobody wanted retries");
    assert_eq!(stats(&mut bench), 1);
    set(&mut bench, json!({"autoRetry": false, "autoRetryInterval": 5}));
    assert_eq!((stats(&mut bench), bench.at(2_000).state(&id)), (json!(0), "failed".to_owned()));
    assert_eq!(entry(&mut bench, &id)["nextRetryAt"], at(1_000), "what was stamped stays");
    set(&mut bench, json!({"autoRetry": true}));
    assert_eq!((bench.state(&id), bench.state(&before)), ("waiting".to_owned(), "failed".to_owned()));
}

#[test]
fn a_retry_whose_key_is_taken_is_used_up() {
    let mut bench = Bench::new();
    set(&mut bench, json!({"autoRetry": true, "autoRetryInterval": 100, "maxAutoRetries": 2}));
    let id = bury(&mut bench, json!({"uniqueKey": "k"}));
    let other = bench.push(json!({"uniqueKey": "k"}));
    bench.at(100);
    let left = entry(&mut bench, &id);
    assert_eq!((&left["retryCount"], &left["nextRetryAt"]), (&json!(1), &at(300)));
    bench.ok(&json!({"cmd": "Cancel", "id": other}));
    assert_eq!(bench.at(300).state(&id), "waiting");
    let owner = bench.ok(&json!({"cmd": "GetDeduplicationJobId", "queue": "q", "deduplicationId": "k"}));
    assert_eq!(owner["data"]["jobId"], id);
}

#[test]
fn a_dead_letter_is_forgotten_at_its_age_and_a_window_outlives_it() {
    let mut bench = Bench::new();
    set(&mut bench, json!({"maxAge": 1_000}));
    let id = bury(&mut bench, json!({"uniqueKey": "k", "dedup": {"ttl": 5_000}}));
    assert_eq!(entry(&mut bench, &id)["expiresAt"], at(1_000));
    set(&mut bench, json!({"maxAge": null}));
    let lasting = bury(&mut bench, json!({}));
    assert_eq!(entry(&mut bench, &lasting)["expiresAt"], json!(null));
    assert_eq!(bench.at(999).state(&id), "failed");
    assert_eq!(bench.at(1_000).state(&id), "unknown");
    let owner = bench.ok(&json!({"cmd": "GetDeduplicationJobId", "queue": "q", "deduplicationId": "k"}));
    assert_eq!(owner["data"]["jobId"], id, "the window is open to its end");
    assert_eq!(bench.through(2 * WEEK).state(&lasting), "failed");
}

#[test]
fn an_age_that_passes_while_nobody_runs_is_over_after_the_start() {
    let mut bench = Bench::new();
    let id = bury(&mut bench, json!({}));
    assert_eq!(entry(&mut bench, &id)["expiresAt"], at(WEEK), "without a word seven days");
    bench.restart(WEEK - 1);
    assert_eq!(bench.state(&id), "failed");
    bench.restart(1);
    assert_eq!(bench.state(&id), "unknown");
}

#[test]
fn the_oldest_go_when_more_are_there_than_are_kept() {
    let mut bench = Bench::new();
    let ids: Vec<String> = (0..5).map(|moment| bury(bench.at(moment), json!({}))).collect();
    set(&mut bench, json!({"maxEntries": 3}));
    assert_eq!(listed(&mut bench, json!({})), ids[2..], "at once");
    assert_eq!(bench.state(&ids[0]), "unknown");
    let sixth = bury(bench.at(9), json!({}));
    assert_eq!(listed(&mut bench, json!({})), [ids[3].clone(), ids[4].clone(), sixth]);
}

#[test]
fn filters_hold_all_together_and_count_cuts_what_they_leave() {
    let mut bench = Bench::new();
    let ids: Vec<String> = (0..4).map(|moment| bury(bench.at(moment * 10), json!({}))).collect();
    let discarded = bench.push(json!({"delay": 5}));
    bench.at(40).ok(&json!({"cmd": "Discard", "id": discarded}));
    let cases = [
        (json!({}), vec![0, 1, 2, 3, 4]),
        (json!({"count": 2}), vec![0, 1]),
        (json!({"count": 0}), vec![]),
        (json!({"count": -1}), vec![]),
        (json!({"filter": {"reason": "unknown"}}), vec![4]),
        (json!({"filter": {"reason": "timeout"}}), vec![]),
        (
            json!({"filter": {"reason": "max_attempts_exceeded", "olderThan": START + 20, "newerThan": START + 10}}),
            vec![1, 2],
        ),
        (json!({"filter": {"offset": 1, "limit": 2}}), vec![1, 2]),
        (json!({"filter": {"offset": 9}}), vec![]),
        (json!({"filter": {"limit": 0, "reason": "", "olderThan": 0, "retriable": false}, "count": 1}), vec![0]),
        (json!({"filter": {"retriable": true}}), vec![]),
        (json!({"filter": {"expired": true}}), vec![]),
    ];
    let known: Vec<String> = ids.iter().cloned().chain([discarded]).collect();
    for (more, wanted) in cases {
        let wanted: Vec<String> = wanted.into_iter().map(|at: usize| known[at].clone()).collect();
        assert_eq!(listed(&mut bench, more.clone()), wanted, "{more}");
    }
    let retry = |bench: &mut Bench, more: Json| {
        bench.ok(&merged(json!({"cmd": "RetryDlq", "queue": "q"}), more))["count"].clone()
    };
    assert_eq!(retry(&mut bench, json!({"jobId": "nobody"})), 0);
    assert_eq!(retry(&mut bench, json!({"count": 0})), 0);
    // With a filter neither the job nor the number counts; with a job not the number.
    assert_eq!(retry(&mut bench, json!({"jobId": ids[0], "count": 0, "filter": {"olderThan": START + 10}})), 2);
    assert_eq!(retry(&mut bench, json!({"jobId": ids[3], "count": 0})), 1);
    assert_eq!(retry(&mut bench, json!({"jobId": {"$undefined": true}, "count": {"$undefined": true}})), 2);
    assert_eq!(listed(&mut bench, json!({})), Vec::<String>::new());
}

#[test]
fn figures_of_dead_letters_and_their_end_by_hand() {
    let mut bench = Bench::new();
    let nothing = bench.ok(&json!({"cmd": "GetDlqStats", "queue": "never"}))["data"]["stats"].clone();
    assert_eq!((&nothing["total"], &nothing["oldestEntry"]), (&json!(0), &json!(null)));
    let first = bury(&mut bench, json!({"uniqueKey": "k"}));
    bury(bench.at(7), json!({}));
    let stats = bench.ok(&json!({"cmd": "GetDlqStats", "queue": "q"}))["data"]["stats"].clone();
    assert_eq!(stats["byReason"]["max_attempts_exceeded"], 2);
    let figures =
        json!([stats["total"], stats["expired"], stats["byQueue"], stats["oldestEntry"], stats["newestEntry"]]);
    assert_eq!(figures, json!([2, 0, {"q": 2}, at(0), at(7)]));
    let remove = |bench: &mut Bench, queue: &str, id: &str| {
        bench.ok(&json!({"cmd": "RemoveDlqJob", "queue": queue, "jobId": id}))["data"]["removed"].clone()
    };
    assert_eq!(remove(&mut bench, "other", &first), false);
    assert_eq!(remove(&mut bench, "q", "nobody"), false);
    assert_eq!((remove(&mut bench, "q", &first), remove(&mut bench, "q", &first)), (json!(true), json!(false)));
    assert_eq!(bench.ok(&json!({"cmd": "PurgeDlq", "queue": "q"})), json!({"ok": true, "count": 1}));
    assert_eq!(bench.ok(&json!({"cmd": "PurgeDlq", "queue": "q"}))["count"], 0);
}
