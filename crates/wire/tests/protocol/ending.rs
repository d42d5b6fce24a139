//! Completion, results, waits, dependencies, and what a restart leaves (protocol-core.md 5.9, 5.10, 6.7, 6.8, 8.1).

use crate::bench::{Bench, START, merged};
use onceover_engine::EngineConfig;
use serde_json::{Value as Json, json};

/// A bench with one active, unlocked job `a`.
fn active(fields: Json) -> Bench {
    let mut bench = Bench::new();
    bench.push(merged(json!({"jobId": "a"}), fields));
    bench.pull(json!({}));
    bench.events();
    bench
}

const NOT_PROCESSING: &str = "Job not found or not in processing state: a";

#[test]
fn an_acknowledged_job_is_completed_with_its_result() {
    let mut bench = active(json!({}));
    assert_eq!(bench.at(30).ok(&json!({"cmd": "ACK", "id": "a", "result": {"sum": 5}})), json!({"ok": true}));
    assert_eq!(bench.events(), [json!({"eventType": "completed", "jobId": "a", "data": {"sum": 5}})]);
    let job = bench.job("a");
    let shown = json!([
        job["state"],
        job["returnvalue"],
        job["progress"],
        job["startedAt"],
        job["completedAt"],
        job["attempts"]
    ]);
    assert_eq!(shown, json!(["completed", {"sum": 5}, 100, START as f64, (START + 30) as f64, 0]));
    assert_eq!(bench.refusal(&json!({"cmd": "ACK", "id": "a"})), NOT_PROCESSING);
    assert_eq!(bench.refusal(&json!({"cmd": "FAIL", "id": "a"})), NOT_PROCESSING);
}

#[test]
fn no_result_is_not_the_result_null() {
    for (result, known) in [(json!(null), true), (json!({"$undefined": true}), false)] {
        let mut bench = active(json!({}));
        bench.ok(&json!({"cmd": "ACK", "id": "a", "result": result}));
        let event = bench.events().remove(0);
        let answer = bench.ok(&json!({"cmd": "GetResult", "id": "a"}));
        let waited = bench.ok(&json!({"cmd": "WaitJob", "id": "a"}));
        let job = bench.job("a");
        for (name, of) in [("data", &event), ("result", &answer), ("result", &waited), ("returnvalue", &job)] {
            assert_eq!(of.get(name), known.then_some(&json!(null)), "{of}");
        }
    }
}

#[test]
fn only_what_is_active_can_be_finished() {
    let mut bench = Bench::new();
    for command in ["ACK", "FAIL"] {
        let request = json!({"cmd": command, "id": "a"});
        assert_eq!(bench.refusal(&request), NOT_PROCESSING, "unknown");
        bench.push(json!({"jobId": "a", "delay": 50}));
        assert_eq!(bench.refusal(&request), NOT_PROCESSING, "delayed");
        bench.ok(&json!({"cmd": "Cancel", "id": "a"}));
    }
    let mut bench = active(json!({}));
    bench.ok(&json!({"cmd": "FAIL", "id": "a"}));
    assert_eq!(bench.refusal(&json!({"cmd": "ACK", "id": "a"})), NOT_PROCESSING, "a token-less result of a queued job");
}

#[test]
fn many_are_acknowledged_and_the_first_that_could_not_be_is_told() {
    let mut bench = Bench::new();
    for id in ["a", "b", "c"] {
        bench.push(json!({"jobId": id}));
    }
    bench.ok(&json!({"cmd": "PULLB", "queue": "q", "count": 3}));
    let request =
        json!({"cmd": "ACKB", "ids": ["a", "x", "b", "y", "c"], "results": [1, 2, {"$undefined": true}, 4, null]});
    assert_eq!(bench.refusal(&request), "Job not found or not in processing state: x");
    assert_eq!(["a", "b", "c"].map(|id| bench.state(id)), ["completed"; 3], "all valid ones are done");
    let result = |bench: &mut Bench, id: &str| bench.ok(&json!({"cmd": "GetResult", "id": id})).get("result").cloned();
    assert_eq!(
        [result(&mut bench, "a"), result(&mut bench, "b"), result(&mut bench, "c")],
        [Some(json!(1)), None, Some(json!(null))]
    );
    assert_eq!(bench.ok(&json!({"cmd": "ACKB", "ids": []})), json!({"ok": true}));
    bench.push(json!({"jobId": "d"}));
    bench.pull(json!({}));
    assert_eq!(
        bench.refusal(&json!({"cmd": "ACKB", "ids": ["d", "d"]})),
        "Job not found or not in processing state: d"
    );
    assert_eq!(bench.state("d"), "completed");
}

#[test]
fn one_bad_token_refuses_a_whole_acknowledgement() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a"}));
    bench.push(json!({"jobId": "b"}));
    let answer = bench.ok(&json!({"cmd": "PULLB", "queue": "q", "count": 2, "owner": "w"}));
    let (first, second) = (answer["tokens"][0].clone(), answer["tokens"][1].clone());
    let request = |tokens: Json| json!({"cmd": "ACKB", "ids": ["a", "b"], "tokens": tokens});
    assert_eq!(bench.refusal(&request(json!([first, first]))), "Invalid or expired lock token for job b");
    assert_eq!(bench.refusal(&request(json!([first, ""]))), "Lock token required for job b");
    assert_eq!(["a", "b"].map(|id| bench.state(id)), ["active"; 2]);
    bench.ok(&request(json!([first, second])));
}

#[test]
fn remove_on_complete_in_all_its_forms() {
    for (option, per_ack, gone) in [
        (json!(true), json!(null), true),
        (json!(1), json!(null), true),
        (json!(0), json!(null), false),
        (json!({"count": 5}), json!(null), true),
        (json!("yes"), json!(false), true),
        (json!(""), json!(null), false),
        (json!(false), json!(true), true),
        (json!(false), json!(1), false),
        (json!(null), json!("true"), false),
    ] {
        let mut bench = active(json!({"removeOnComplete": option}));
        bench.ok(&json!({"cmd": "ACK", "id": "a", "result": 1, "removeOnComplete": per_ack}));
        assert_eq!(bench.state("a"), if gone { "unknown" } else { "completed" }, "{option} {per_ack}");
        assert_eq!(bench.ok(&json!({"cmd": "GetResult", "id": "a"})).get("result").is_some(), !gone);
        assert_eq!(bench.events()[0]["eventType"], "completed");
        // The id still satisfies a dependency.
        bench.push(json!({"jobId": "b", "dependsOn": ["a"]}));
        assert_eq!(bench.state("b"), "waiting");
    }
    let mut bench = active(json!({}));
    bench.ok(&json!({"cmd": "ACKB", "ids": ["a"], "results": [1], "removeOnCompletes": [true]}));
    assert_eq!(bench.state("a"), "unknown");
}

#[test]
fn the_oldest_finished_jobs_leave_first() {
    let mut bench = Bench::with(EngineConfig { completed_max: 2, failed_max: 1, ..EngineConfig::default() });
    for id in ["a", "b", "c"] {
        bench.push(json!({"jobId": id}));
        bench.pull(json!({}));
        bench.ok(&json!({"cmd": "ACK", "id": id}));
    }
    assert_eq!(["a", "b", "c"].map(|id| bench.state(id)), ["unknown", "completed", "completed"]);
    for id in ["x", "y"] {
        bench.push(json!({"jobId": id, "maxAttempts": 1}));
        bench.pull(json!({}));
        bench.ok(&json!({"cmd": "FAIL", "id": id}));
    }
    assert_eq!(["x", "y"].map(|id| bench.state(id)), ["unknown", "failed"]);
}

#[test]
fn a_wait_ends_when_the_job_does_however_that_is() {
    let cases = [
        (json!({"cmd": "ACK", "result": [1]}), json!({"ok": true, "completed": true, "result": [1]})),
        (json!({"cmd": "ACK", "removeOnComplete": true}), json!({"ok": true, "completed": true})),
        (
            json!({"cmd": "FAIL", "error": "no", "unrecoverable": true}),
            json!({"ok": true, "completed": false, "failedReason": "no"}),
        ),
        (json!({"cmd": "Discard"}), json!({"ok": true, "completed": false, "failedReason": ""})),
    ];
    for (command, wanted) in cases {
        let mut bench = active(json!({}));
        bench.park(2, &json!({"cmd": "WaitJob", "id": "a", "timeout": 600_000}));
        bench.ok(&merged(command.clone(), json!({"id": "a"})));
        assert_eq!(bench.late, [(2, wanted)], "{command}");
    }
    // A failed attempt is not the end.
    let mut bench = active(json!({}));
    bench.park(2, &json!({"cmd": "WaitJob", "id": "a", "timeout": 500}));
    bench.ok(&json!({"cmd": "FAIL", "id": "a"}));
    assert!(bench.through(499).late.is_empty());
    assert_eq!(bench.through(500).late, [(2, json!({"ok": true, "completed": false}))]);
    // A job that is removed will never complete.
    for command in [
        json!({"cmd": "Cancel", "id": "a"}),
        json!({"cmd": "Drain", "queue": "q"}),
        json!({"cmd": "Obliterate", "queue": "q"}),
    ] {
        let mut bench = Bench::new();
        bench.push(json!({"jobId": "a"}));
        bench.park(2, &json!({"cmd": "WaitJob", "id": "a"}));
        bench.ok(&command);
        assert_eq!(bench.late, [(2, json!({"ok": true, "completed": false}))], "{command}: at once");
    }
    let mut bench = active(json!({}));
    assert_eq!(bench.ok(&json!({"cmd": "WaitJob", "id": "a", "timeout": 0})), json!({"ok": true, "completed": false}));
    assert_eq!(bench.refusal(&json!({"cmd": "WaitJob", "id": "nowhere"})), "Job not found");
    bench.park(2, &json!({"cmd": "WaitJob", "id": "a"}));
    assert_eq!(bench.through(29_999).late.len() + bench.through(30_000).late.len(), 1, "30 s when not said");
}

#[test]
fn dependants_wait_for_all_and_are_freed_by_completion_only() {
    let mut bench = Bench::new();
    assert_eq!(
        bench.refusal(&json!({"cmd": "PUSH", "queue": "q", "dependsOn": ["no"]})),
        "Dependency job not found: no"
    );
    bench.push(json!({"jobId": "a", "maxAttempts": 1}));
    bench.push(json!({"jobId": "b", "queue": "r"}));
    bench.push(json!({"jobId": "child", "dependsOn": ["a", "b"], "priority": 2}));
    assert_eq!(bench.state("child"), "waiting-children");
    bench.pull(json!({}));
    bench.ok(&json!({"cmd": "ACK", "id": "a"}));
    assert_eq!(bench.state("child"), "waiting-children");
    bench.ok(&json!({"cmd": "PULL", "queue": "r"}));
    bench.ok(&json!({"cmd": "ACK", "id": "b"}));
    assert_eq!(bench.state("child"), "prioritized");
    bench.push(json!({"jobId": "dead", "maxAttempts": 1, "priority": 9}));
    bench.push(json!({"jobId": "orphan", "dependsOn": ["dead"]}));
    bench.pull(json!({}));
    bench.ok(&json!({"cmd": "FAIL", "id": "dead"}));
    assert_eq!(bench.state("orphan"), "waiting-children", "a failed dependency never resolves");
    bench.through(7_200_000);
    assert_eq!(bench.state("orphan"), "waiting-children", "however long it takes");
}

#[test]
fn a_batch_may_depend_on_itself_in_any_order() {
    let mut bench = Bench::new();
    let jobs = json!([{"customId": "second", "dependsOn": ["first"]}, {"customId": "first"}]);
    assert_eq!(bench.ok(&json!({"cmd": "PUSHB", "queue": "q", "jobs": jobs}))["ids"], json!(["second", "first"]));
    assert_eq!((bench.state("second"), bench.state("first")), ("waiting-children".to_owned(), "waiting".to_owned()));
    let jobs = json!([{"customId": "x"}, {"customId": "me", "dependsOn": ["me"]}]);
    assert_eq!(
        bench.refusal(&json!({"cmd": "PUSHB", "queue": "q", "jobs": jobs})),
        "jobs[1]: Job cannot depend on itself: me"
    );
    assert_eq!(bench.state("x"), "unknown");
    assert_eq!(bench.ok(&json!({"cmd": "PUSHB", "queue": "q", "jobs": []}))["ids"], json!([]));
}

#[test]
fn a_restart_counts_an_attempt_and_a_stall_and_forgets_leases() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a", "backoff": 1_000}));
    bench.push(json!({"jobId": "last", "maxAttempts": 1}));
    bench.push(json!({"jobId": "waiting", "priority": -1}));
    bench.push(json!({"jobId": "delayed", "delay": 100_000}));
    let (_, token) = bench.lock(60_000);
    bench.lock(60_000);
    bench.ok(&json!({"cmd": "AddLog", "id": "a", "message": "kept"}));
    bench.ok(&json!({"cmd": "Progress", "id": "a", "progress": 40.5, "message": "half"}));
    bench.ok(&json!({"cmd": "Pause", "queue": "q"}));
    bench.restart(5_000);
    let job = bench.job("a");
    let wait = job["runAt"].as_f64().expect("a moment") as i64 - START - 5_000;
    assert!((1_000..=3_000).contains(&wait), "{wait}");
    assert_eq!(
        json!([job["state"], job["attempts"], job["stallCount"], job["progress"], job["progressMessage"]]),
        json!(["delayed", 1, 1, 40.5, "half"])
    );
    assert_eq!(bench.ok(&json!({"cmd": "GetLogs", "id": "a"}))["data"]["logs"][0]["message"], "kept");
    assert_eq!(bench.refusal(&json!({"cmd": "ACK", "id": "a", "token": token})), NOT_PROCESSING);
    assert_eq!(bench.job("last")["failedReason"], "Job reached max attempts (1) during startup recovery");
    assert_eq!(bench.ok(&json!({"cmd": "IsPaused", "queue": "q"}))["paused"], true);
    assert_eq!(["waiting", "delayed"].map(|id| bench.state(id)), ["waiting", "delayed"]);
    assert_eq!(bench.job("delayed")["runAt"], json!((START + 100_000) as f64));
    // Jobs that wait for the stopped broker's third stall are dead.
    bench.ok(&json!({"cmd": "SetStallConfig", "queue": "r", "config": {"maxStalls": 1}}));
    bench.ok(&json!({"cmd": "PUSH", "queue": "r", "jobId": "stalled"}));
    bench.ok(&json!({"cmd": "PULL", "queue": "r"}));
    bench.restart(0);
    assert_eq!(bench.job("stalled")["failedReason"], "Job stalled 1 times (recovered at startup)");
}
