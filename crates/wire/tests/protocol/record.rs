//! The job record (protocol-core.md 4): its keys, where they come from, and its timeline.

use crate::bench::{Bench, START, merged, pack};
use serde_json::{Value as Json, json};

const KEYS: [&str; 47] = [
    "id",
    "queue",
    "name",
    "data",
    "priority",
    "createdAt",
    "runAt",
    "startedAt",
    "completedAt",
    "attempts",
    "maxAttempts",
    "backoff",
    "backoffConfig",
    "ttl",
    "timeout",
    "stallTimeout",
    "uniqueKey",
    "customId",
    "dependsOn",
    "childrenIds",
    "tags",
    "childrenCompleted",
    "parentId",
    "groupId",
    "lifo",
    "progress",
    "progressMessage",
    "stacktrace",
    "removeOnComplete",
    "removeOnFail",
    "repeat",
    "lastHeartbeat",
    "stallCount",
    "stackTraceLimit",
    "keepLogs",
    "sizeLimit",
    "failParentOnFailure",
    "removeDependencyOnFailure",
    "continueParentOnFailure",
    "ignoreDependencyOnFailure",
    "deduplicationTtl",
    "deduplicationExtend",
    "deduplicationReplace",
    "debounceId",
    "debounceTtl",
    "durable",
    "timeline",
];

fn keys_of(record: &Json) -> Vec<&str> {
    let mut keys: Vec<&str> = record.as_object().expect("a record").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn sorted(more: &[&'static str]) -> Vec<&'static str> {
    let mut keys = [&KEYS[..], more].concat();
    keys.sort_unstable();
    keys
}

#[test]
fn a_record_has_its_47_keys_wherever_it_comes_from() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a", "data": 1, "maxAttempts": 1}));
    assert_eq!(keys_of(&bench.job("a")), sorted(&["state"]));
    assert_eq!(keys_of(&bench.ok(&json!({"cmd": "GetJobByCustomId", "customId": "a"}))["job"]), sorted(&[]));
    let jobs = bench.ok(&json!({"cmd": "GetJobs", "queue": "q"}))["jobs"].clone();
    assert_eq!(keys_of(&jobs[0]), sorted(&["state"]));
    let pulled = bench.ok(&json!({"cmd": "PULL", "queue": "q"}))["job"].clone();
    assert_eq!(keys_of(&pulled), sorted(&[]));
    bench.ok(&json!({"cmd": "FAIL", "id": "a", "error": "e"}));
    assert_eq!(keys_of(&bench.job("a")), sorted(&["failedReason", "state"]));
    let dead = bench.ok(&json!({"cmd": "Dlq", "queue": "q"}));
    assert_eq!((keys_of(&dead["jobs"][0]), keys_of(&dead["entries"][0]["job"])), (sorted(&[]), sorted(&[])));
    bench.push(json!({"jobId": "b", "data": 1}));
    let pulled = bench.ok(&json!({"cmd": "PULLB", "queue": "q", "count": 1}))["jobs"][0].clone();
    assert_eq!(keys_of(&pulled), sorted(&[]));
    bench.ok(&json!({"cmd": "ACK", "id": "b", "result": 1}));
    assert_eq!(keys_of(&bench.job("b")), sorted(&["returnvalue", "state"]));
}

#[test]
fn initial_values() {
    let mut bench = Bench::new();
    let id = bench.push(json!({"data": {"$undefined": true}}));
    let wanted = json!({
        "id": id, "queue": "q", "name": "default", "priority": 0, "createdAt": START as f64, "runAt": START as f64, "startedAt": null,
        "completedAt": null, "attempts": 0, "maxAttempts": 3, "backoff": 1000, "backoffConfig": null, "ttl": null, "timeout": null,
        "stallTimeout": null, "uniqueKey": null, "customId": null, "dependsOn": [], "childrenIds": [], "tags": [],
        "childrenCompleted": 0, "parentId": null, "groupId": null, "lifo": false, "progress": 0, "progressMessage": null,
        "stacktrace": null, "removeOnComplete": false, "removeOnFail": false, "repeat": null, "lastHeartbeat": START as f64,
        "stallCount": 0, "stackTraceLimit": 10, "keepLogs": null, "sizeLimit": null, "failParentOnFailure": false,
    });
    let more = json!({
        "removeDependencyOnFailure": false, "continueParentOnFailure": false, "ignoreDependencyOnFailure": false,
        "deduplicationTtl": null, "deduplicationExtend": false, "deduplicationReplace": false, "debounceId": null,
        "debounceTtl": null, "durable": false, "timeline": [{"state": "waiting", "timestamp": START as f64}], "state": "waiting",
    });
    assert_eq!(bench.job(&id), merged(wanted, more));
}

#[test]
fn every_option_shows_in_the_record() {
    let mut bench = Bench::new();
    let options = json!({
        "name": "n", "data": {"a": [1, null]}, "priority": 5, "maxAttempts": 7, "ttl": 90_000, "timeout": 800, "stallTimeout": 700,
        "uniqueKey": "k", "childrenIds": ["c1"], "tags": ["t1", "t2"], "parentId": "p", "groupId": "g", "lifo": true,
        "removeOnComplete": true, "removeOnFail": true, "stackTraceLimit": 3, "keepLogs": 4, "sizeLimit": 1.5,
        "failParentOnFailure": true, "removeDependencyOnFailure": true, "continueParentOnFailure": true,
        "ignoreDependencyOnFailure": true, "debounceId": "d", "debounceTtl": 60, "durable": true,
    });
    let more = json!({"delay": 40, "timestamp": START - 10, "jobId": "a", "backoff": {"type": "fixed", "delay": 250},
        "dedup": {"ttl": 5_000, "extend": true, "replace": true}, "dependsOn": [], "repeat": null});
    bench.push(merged(options.clone(), more));
    let job = bench.job("a");
    for (name, value) in options.as_object().expect("an object") {
        assert_eq!(&job[name], value, "{name}");
    }
    let wanted = json!({
        "createdAt": (START - 10) as f64, "runAt": (START + 30) as f64, "lastHeartbeat": (START - 10) as f64, "customId": "a", "backoff": 250,
        "backoffConfig": {"type": "fixed", "delay": 250}, "deduplicationTtl": 5_000, "deduplicationExtend": true, "deduplicationReplace": true,
    });
    for (name, value) in wanted.as_object().expect("an object") {
        assert_eq!(&job[name], value, "{name}");
    }
    let id = bench.push(json!({"repeat": {"every": 50, "limit": 3}}));
    assert_eq!(bench.job(&id)["repeat"], json!({"every": 50, "limit": 3, "count": 0}));
}

/// The states of a timeline, with what is beside them.
fn timeline(bench: &mut Bench, id: &str) -> Json {
    let job = bench.job(id);
    let entries = job["timeline"].as_array().expect("a list").iter();
    let short = entries.map(|entry| {
        json!([
            entry["state"],
            entry["timestamp"].as_f64().expect("a moment") as i64 - START,
            entry["error"],
            entry["attempt"]
        ])
    });
    short.collect()
}

#[test]
fn the_first_entry_is_the_state_at_the_admission() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "done"}));
    bench.pull(json!({}));
    bench.push(json!({"jobId": "child", "dependsOn": ["done"]}));
    bench.ok(&json!({"cmd": "ACK", "id": "done"}));
    for (fields, state) in [
        (json!({}), "waiting"),
        (json!({"priority": 1}), "prioritized"),
        (json!({"priority": -1}), "waiting"),
        (json!({"priority": 1, "delay": 1}), "delayed"),
        (json!({"dependsOn": ["done"]}), "waiting"),
        (json!({"dependsOn": ["done"], "delay": 5}), "delayed"),
        (json!({"delay": 5, "timestamp": START - 50}), "waiting"),
    ] {
        let id = bench.push(fields.clone());
        assert_eq!(
            (timeline(&mut bench, &id)[0][0].clone(), bench.state(&id)),
            (json!(state), state.to_owned()),
            "{fields}"
        );
    }
    assert_eq!(timeline(&mut bench, "child")[0][0], "waiting-children");
}

#[test]
fn the_timeline_tells_pulls_failures_retries_and_the_end() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a", "backoff": 0, "maxAttempts": 2}));
    bench.at(1).pull(json!({}));
    bench.at(2).ok(&json!({"cmd": "FAIL", "id": "a", "error": "e1"}));
    bench.at(3).pull(json!({}));
    bench.at(4).ok(&json!({"cmd": "FAIL", "id": "a", "error": "e2"}));
    bench.at(5).ok(&json!({"cmd": "MoveToWait", "id": "a"}));
    bench.at(6).pull(json!({}));
    bench.at(7).ok(&json!({"cmd": "ACK", "id": "a"}));
    let wanted = json!([
        ["waiting", 0, null, null],
        ["active", 1, null, null],
        ["failed", 2, "e1", 1],
        ["waiting", 2, null, 2],
        ["active", 3, null, null],
        ["failed", 4, "e2", 2],
        ["waiting", 5, null, null],
        ["active", 6, null, null],
        ["completed", 7, null, null],
    ]);
    assert_eq!(timeline(&mut bench, "a"), wanted);
    bench.push(json!({"jobId": "b", "backoff": 0, "maxAttempts": 90}));
    for at in 0..30 {
        bench.pull(json!({}));
        bench.ok(&json!({"cmd": "FAIL", "id": "b", "error": format!("e{at}")}));
    }
    let entries = timeline(&mut bench, "b");
    assert_eq!(
        (entries.as_array().map(Vec::len), &entries[18], &entries[19]),
        (Some(20), &json!(["waiting", 7, null, 7]), &json!(["active", 7, null, null]))
    );
    assert_eq!(bench.job("b")["failedReason"], "e5", "what comes later is dropped");
}

#[test]
fn numbers_have_the_forms_that_clients_read() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a", "delay": 3_000_000_000_i64, "keepLogs": 5_000_000_000_i64}));
    let job = bench.job("a");
    for moment in ["createdAt", "runAt", "lastHeartbeat"] {
        assert!(job[moment].is_f64(), "{moment} is a float64, never an int64");
    }
    for small in [
        "attempts",
        "maxAttempts",
        "priority",
        "stallCount",
        "progress",
        "backoff",
        "childrenCompleted",
        "stackTraceLimit",
    ] {
        assert!(job[small].is_i64(), "{small} is an integer, never a float");
    }
    assert!(job["keepLogs"].is_f64(), "beyond 32 bits only floats are safe");
}

#[test]
fn integers_of_every_encoding_are_numbers() {
    // PUSH with priority 5 as uint8, int64 and uint64, float32 and float64.
    for (at, five) in
        ["cc05", "d30000000000000005", "cf0000000000000005", "ca40a00000", "cb4014000000000000"].iter().enumerate()
    {
        let mut bench = Bench::new();
        let mut payload = pack(&json!({"cmd": "PUSH", "jobId": "a", "queue": "q"}));
        payload[0] += 1;
        payload.extend(b"\xa8priority");
        payload.extend(
            (0..five.len()).step_by(2).map(|at| u8::from_str_radix(&five[at..at + 2], 16).expect("two digits")),
        );
        assert_eq!(bench.ask_bytes(&payload).expect("an answer")["ok"], true, "{at}");
        assert_eq!(bench.job("a")["priority"], 5, "{at}");
    }
}
