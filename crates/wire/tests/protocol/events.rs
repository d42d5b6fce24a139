//! Events (protocol-core.md 9): which, in what order, with which members, and before the answer that they belong to.
//!
//! The members of `failed`, `stalled`, `progress`, `completed` and `delayed` are tested where they come from.

use crate::bench::Bench;
use serde_json::{Value as Json, json};

#[test]
fn each_command_and_its_events_in_order_before_the_answer() {
    let mut bench = Bench::new();
    let steps = [
        (json!({"cmd": "PUSH", "queue": "q", "jobId": "a", "uniqueKey": "k"}), "pushed reply"),
        (json!({"cmd": "PUSH", "queue": "q", "uniqueKey": "k"}), "duplicated reply"),
        (json!({"cmd": "PUSH", "queue": "q", "jobId": "a"}), "duplicated reply"),
        (
            json!({"cmd": "PUSH", "queue": "q", "uniqueKey": "k", "dedup": {"replace": true}, "jobId": "b"}),
            "removed pushed reply",
        ),
        (
            json!({"cmd": "PUSHB", "queue": "q", "jobs": [{"customId": "c", "delay": 90}, {"customId": "d", "dependsOn": ["c"]}]}),
            "pushed pushed reply",
        ),
        (json!({"cmd": "ChangePriority", "id": "b", "priority": 3}), "reply"),
        (json!({"cmd": "ChangeDelay", "id": "b", "delay": 0}), "reply"),
        (json!({"cmd": "Update", "id": "b", "data": 1}), "reply"),
        (json!({"cmd": "PULL", "queue": "q"}), "pulled reply"),
        (json!({"cmd": "Progress", "id": "b", "progress": 5}), "progress reply"),
        (json!({"cmd": "AddLog", "id": "b", "message": "m"}), "reply"),
        (json!({"cmd": "JobHeartbeat", "id": "b"}), "reply"),
        (json!({"cmd": "MoveToDelayed", "id": "b", "delay": 5}), "delayed reply"),
        (json!({"cmd": "Promote", "id": "b"}), "reply"),
        (json!({"cmd": "PULL", "queue": "q"}), "pulled reply"),
        (json!({"cmd": "MoveToWait", "id": "b"}), "waiting reply"),
        (json!({"cmd": "PULLB", "queue": "q", "count": 5}), "pulled reply"),
        (json!({"cmd": "FAIL", "id": "b"}), "failed retried reply"),
        (json!({"cmd": "MoveToWait", "id": "b"}), "reply"),
        (json!({"cmd": "PULL", "queue": "q"}), "pulled reply"),
        (json!({"cmd": "FAIL", "id": "b", "unrecoverable": true}), "failed reply"),
        (json!({"cmd": "RetryDlq", "queue": "q"}), "reply"),
        (json!({"cmd": "PULL", "queue": "q"}), "pulled reply"),
        (json!({"cmd": "MoveToWaitingChildren", "id": "b"}), "waiting-children reply"),
        (json!({"cmd": "Cancel", "id": "b"}), "removed reply"),
        (json!({"cmd": "Promote", "id": "c"}), "reply"),
        (json!({"cmd": "PULL", "queue": "q"}), "pulled reply"),
        (json!({"cmd": "ACK", "id": "c"}), "completed reply"),
        (json!({"cmd": "Discard", "id": "d"}), "reply"),
        (json!({"cmd": "Pause", "queue": "q"}), "paused reply"),
        (json!({"cmd": "Resume", "queue": "q"}), "resumed reply"),
        (json!({"cmd": "RetryCompleted", "queue": "q"}), "reply"),
        (json!({"cmd": "Drain", "queue": "q"}), "reply"),
        (json!({"cmd": "Clean", "queue": "q", "grace": 0, "state": "failed"}), "reply"),
        (json!({"cmd": "Obliterate", "queue": "q"}), "reply"),
    ];
    for (request, wanted) in steps {
        bench.ok(&request);
        assert_eq!(bench.order(), wanted, "{request}");
    }
}

#[test]
fn a_parked_pull_is_answered_after_the_events_and_the_answer_that_brought_its_job() {
    let mut bench = Bench::new();
    bench.park(2, &json!({"cmd": "PULL", "queue": "q", "timeout": 100}));
    bench.push(json!({"jobId": "a"}));
    assert_eq!(bench.order(), "pushed reply pulled");
    assert_eq!(bench.late.len(), 1);
}

#[test]
fn a_refusal_and_a_question_are_no_events() {
    let mut bench = Bench::new();
    bench.push(json!({"uniqueKey": "k", "dedup": {"ttl": 500}}));
    bench.pull(json!({}));
    bench.order();
    bench.refusal(&json!({"cmd": "PUSH", "queue": "q", "uniqueKey": "k", "dedup": {"ttl": 500, "extend": true}}));
    bench.refusal(&json!({"cmd": "ACK", "id": "nowhere"}));
    for question in ["GetJobs", "GetJobCounts", "Count", "Dlq", "IsPaused"] {
        bench.ok(&json!({"cmd": question, "queue": "q"}));
    }
    assert_eq!(bench.order().replace("reply", "").trim(), "");
}

#[test]
fn members_of_the_events_about_adds_and_queues() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a", "uniqueKey": "k"}));
    bench.push(json!({"uniqueKey": "k"}));
    bench.push(json!({"jobId": "a"}));
    bench.push(json!({"jobId": "b", "uniqueKey": "k", "dedup": {"replace": true}}));
    bench.pull(json!({}));
    bench.ok(&json!({"cmd": "Pause", "queue": "q"}));
    bench.ok(&json!({"cmd": "Resume", "queue": "q"}));
    let wanted: Vec<Json> = vec![
        json!({"eventType": "pushed", "jobId": "a"}),
        json!({"eventType": "duplicated", "jobId": "a", "deduplicationId": "k", "strategy": "default"}),
        json!({"eventType": "duplicated", "jobId": "a", "strategy": "jobId"}),
        json!({"eventType": "removed", "jobId": "a", "prev": "waiting"}),
        json!({"eventType": "pushed", "jobId": "b"}),
        json!({"eventType": "pulled", "jobId": "b"}),
        json!({"eventType": "paused", "jobId": ""}),
        json!({"eventType": "resumed", "jobId": ""}),
    ];
    assert_eq!(bench.events(), wanted);
}

#[test]
fn time_alone_brings_no_events_but_failures_and_stalls() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a", "delay": 50, "uniqueKey": "k", "dedup": {"ttl": 70}}));
    bench.push(json!({"jobId": "b", "ttl": 60}));
    bench.events();
    bench.through(9_000);
    assert_eq!((bench.state("a"), bench.state("b")), ("waiting".to_owned(), "unknown".to_owned()));
    assert_eq!(bench.events(), Vec::<Json>::new());
}
