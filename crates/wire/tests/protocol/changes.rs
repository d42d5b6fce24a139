//! Changes of single jobs, and logs (protocol-core.md 8.2, 8.3): for each state a job can be in, what each command does.

use crate::bench::{Bench, START, merged};
use serde_json::{Value as Json, json};

/// Brings a job `a` into a state. Its key is `k`.
fn in_state(state: &str) -> Bench {
    let mut bench = Bench::new();
    let base = json!({"jobId": "a", "uniqueKey": "k", "maxAttempts": 1});
    match state {
        "waiting" => drop(bench.push(base)),
        "prioritized" => drop(bench.push(merged(base, json!({"priority": 3})))),
        "delayed" => drop(bench.push(merged(base, json!({"delay": 500})))),
        "waiting-children" => {
            bench.push(json!({"jobId": "first", "delay": 900_000}));
            bench.push(merged(base, json!({"dependsOn": ["first"]})));
        }
        "active" | "completed" | "failed" => {
            bench.push(base);
            bench.pull(json!({}));
            match state {
                "completed" => drop(bench.ok(&json!({"cmd": "ACK", "id": "a"}))),
                "failed" => drop(bench.ok(&json!({"cmd": "FAIL", "id": "a", "error": "e"}))),
                _ => {}
            }
        }
        _ => assert_eq!(state, "unknown"),
    }
    assert_eq!(bench.state("a"), state);
    bench.events();
    bench
}

const STATES: [&str; 8] =
    ["waiting", "prioritized", "delayed", "waiting-children", "active", "completed", "failed", "unknown"];

/// Asks the same of a job in every state. An outcome is the state after it, or the refusal's text.
fn check(request: Json, wanted: [&str; 8]) {
    for (state, wanted) in STATES.into_iter().zip(wanted) {
        let mut bench = in_state(state);
        let answer = bench.ask(&merged(json!({"id": "a"}), request.clone()));
        let outcome = match answer["error"].as_str() {
            Some(error) => error.to_owned(),
            None => bench.state("a"),
        };
        assert_eq!(outcome, wanted, "{request} in {state}");
        // A refusal has changed nothing; the key is the live owner's.
        let after = bench.state("a");
        let owner =
            bench.ok(&json!({"cmd": "GetDeduplicationJobId", "queue": "q", "deduplicationId": "k"}))["data"]["jobId"]
                .clone();
        let lives = !["completed", "failed", "unknown"].contains(&after.as_str());
        assert_eq!(owner, if lives { json!("a") } else { json!(null) }, "{request} in {state}");
    }
}

#[test]
fn progress_is_of_active_jobs() {
    let no = |state: &str| format!("Job is not active (current state: {state})");
    let [waiting, prioritized, delayed, blocked, completed, failed] =
        ["waiting", "prioritized", "delayed", "waiting-children", "completed", "failed"].map(no);
    let others = [&waiting[..], &prioritized, &delayed, &blocked, "active", &completed, &failed, "Job not found"];
    check(json!({"cmd": "Progress", "progress": 5}), others);
    check(json!({"cmd": "GetProgress"}), others);
    check(json!({"cmd": "MoveToDelayed", "delay": 5}), {
        let mut moved = others;
        moved[4] = "delayed";
        moved
    });
}

#[test]
fn progress_is_clamped_and_its_message_kept_until_it_is_cleared() {
    let mut bench = in_state("active");
    for (progress, message, shown, text) in [
        (json!(12.5), json!("a"), json!(12.5), json!("a")),
        (json!(-4), json!({"$undefined": true}), json!(0), json!("a")),
        (json!(400), json!(""), json!(100), json!("")),
        (json!(50), json!(null), json!(50), json!(null)),
    ] {
        bench.at(40).ok(&json!({"cmd": "Progress", "id": "a", "progress": progress, "message": message}));
        assert_eq!(
            bench.ok(&json!({"cmd": "GetProgress", "id": "a"})),
            json!({"ok": true, "progress": shown, "message": text})
        );
        let data = json!({"progress": shown, "message": text});
        assert_eq!(bench.events(), [json!({"eventType": "progress", "jobId": "a", "progress": shown, "data": data})]);
        let job = bench.job("a");
        assert_eq!(
            json!([job["progress"], job["progressMessage"], job["lastHeartbeat"]]),
            json!([shown, text, (START + 40) as f64])
        );
    }
}

#[test]
fn data_can_be_replaced_until_the_end() {
    const NO: &str = "Job not found or cannot be updated";
    let update = json!({"cmd": "Update", "data": {"new": 1}});
    check(update.clone(), ["waiting", "prioritized", "delayed", "waiting-children", "active", NO, NO, NO]);
    let mut bench = in_state("waiting");
    bench.ok(&merged(update, json!({"id": "a"})));
    assert_eq!(bench.job("a")["data"], json!({"new": 1}));
    bench.ok(&json!({"cmd": "Update", "id": "a"}));
    assert_eq!(bench.job("a").get("data"), None, "absent is absent");
}

#[test]
fn priority_of_what_is_queued() {
    const NO: &str = "Job not found or not in queue";
    check(
        json!({"cmd": "ChangePriority", "priority": 7}),
        ["prioritized", "prioritized", "delayed", NO, NO, NO, NO, NO],
    );
    check(json!({"cmd": "ChangePriority", "priority": 0}), ["waiting", "waiting", "delayed", NO, NO, NO, NO, NO]);
    let mut bench = in_state("waiting");
    bench.ok(&json!({"cmd": "ChangePriority", "id": "a", "priority": -5, "lifo": true}));
    let job = bench.job("a");
    assert_eq!(json!([job["priority"], job["lifo"], job["state"]]), json!([-5, true, "waiting"]));
    assert_eq!(bench.events(), Vec::<Json>::new());
    bench.push(json!({"jobId": "g", "groupId": "g"}));
    let change = |id: &str, priority: i64| json!({"cmd": "ChangePriority", "id": id, "priority": priority});
    for (id, priority, text) in [
        ("g", -1, "group.priority must be an integer between 0 and 2097151"),
        ("g", 2_097_152, "group.priority must be an integer between 0 and 2097151"),
        ("a", 1_000_001, "priority must be at most 1000000"),
        ("a", -1_000_001, "priority must be at least -1000000"),
    ] {
        assert_eq!(bench.refusal(&change(id, priority)), text);
    }
    bench.ok(&change("g", 2_097_151));
    bench.ok(&change("a", -1_000_000));
}

#[test]
fn delay_of_what_is_queued_or_active() {
    const NO: &str = "Job not found or cannot change delay";
    check(json!({"cmd": "ChangeDelay", "delay": 90}), ["delayed", "delayed", "delayed", NO, "delayed", NO, NO, NO]);
    check(json!({"cmd": "ChangeDelay", "delay": 0}), ["waiting", "prioritized", "waiting", NO, "waiting", NO, NO, NO]);
    let mut bench = in_state("waiting");
    bench.at(20).ok(&json!({"cmd": "ChangeDelay", "id": "a", "delay": 90}));
    assert_eq!((bench.job("a")["runAt"].clone(), bench.events().len()), (json!((START + 110) as f64), 0));
    for command in ["ChangeDelay", "MoveToDelayed"] {
        let mut bench = in_state("active");
        bench.at(20).ok(&json!({"cmd": command, "id": "a", "delay": 90}));
        assert_eq!(bench.events(), [json!({"eventType": "delayed", "jobId": "a", "delay": 90})]);
        let job = bench.job("a");
        assert_eq!(json!([job["runAt"], job["startedAt"], job["attempts"]]), json!([(START + 110) as f64, null, 0]));
    }
}

#[test]
fn move_to_wait() {
    let no = |state: &str| format!("Cannot move job from state '{state}' to waiting");
    let [blocked, completed, unknown] = ["waiting-children", "completed", "unknown"].map(no);
    let wanted = ["waiting", "prioritized", "waiting", &blocked, "waiting", &completed, "waiting", &unknown];
    check(json!({"cmd": "MoveToWait"}), wanted);
    let mut bench = in_state("active");
    bench.at(30).ok(&json!({"cmd": "MoveToWait", "id": "a"}));
    assert_eq!(bench.events(), [json!({"eventType": "waiting", "jobId": "a", "prev": "active"})]);
    let job = bench.job("a");
    assert_eq!(json!([job["runAt"], job["startedAt"], job["attempts"]]), json!([(START + 30) as f64, null, 0]));
    let mut bench = in_state("failed");
    bench.push(json!({"jobId": "b", "uniqueKey": "k"}));
    assert_eq!(
        bench.refusal(&json!({"cmd": "MoveToWait", "id": "a"})),
        "Failed job not in DLQ",
        "another live job owns its key"
    );
}

#[test]
fn move_to_waiting_children() {
    const NO: &str = "Job is not active";
    let request = json!({"cmd": "MoveToWaitingChildren"});
    check(request.clone(), [NO, NO, NO, NO, "waiting-children", NO, NO, NO]);
    let mut bench = in_state("active");
    assert_eq!(bench.ok(&merged(request, json!({"id": "a"}))), json!({"ok": true, "data": {"moved": true}}));
    assert_eq!(bench.events(), [json!({"eventType": "waiting-children", "jobId": "a", "prev": "active"})]);
}

#[test]
fn promote_one_or_the_oldest() {
    const NO: &str = "Job not found or not delayed";
    check(json!({"cmd": "Promote"}), [NO, NO, "waiting", NO, NO, NO, NO, NO]);
    let mut bench = Bench::new();
    for (id, at, delay) in [("c", 2, 100), ("a", 0, 900), ("b", 1, 500)] {
        bench.push(json!({"jobId": id, "delay": delay, "timestamp": START + at}));
    }
    bench.events();
    assert_eq!(bench.ok(&json!({"cmd": "PromoteJobs", "queue": "q", "count": 2})), json!({"ok": true, "count": 2}));
    assert_eq!(["a", "b", "c"].map(|id| bench.state(id)), ["waiting", "waiting", "delayed"]);
    assert_eq!(bench.ok(&json!({"cmd": "PromoteJobs", "queue": "q"}))["count"], 1);
    assert_eq!(bench.ok(&json!({"cmd": "PromoteJobs", "queue": "never"}))["count"], 0);
    assert_eq!(bench.events(), Vec::<Json>::new(), "a promotion is no event");
}

#[test]
fn cancel_what_has_not_begun() {
    const NO: &str = "Job not found or cannot be cancelled";
    check(json!({"cmd": "Cancel"}), ["unknown", "unknown", "unknown", "unknown", NO, NO, NO, NO]);
    for state in &STATES[..4] {
        let mut bench = in_state(state);
        bench.ok(&json!({"cmd": "Cancel", "id": "a"}));
        assert_eq!(bench.events(), [json!({"eventType": "removed", "jobId": "a", "prev": "waiting"})], "{state}");
    }
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a"}));
    bench.push(json!({"jobId": "child", "dependsOn": ["a"]}));
    bench.ok(&json!({"cmd": "Cancel", "id": "a"}));
    assert_eq!(bench.state("child"), "waiting-children", "dependants stay");
}

#[test]
fn discard_what_has_not_ended() {
    const NO: &str = "Job not found";
    check(json!({"cmd": "Discard"}), ["failed", "failed", "failed", NO, "failed", NO, NO, NO]);
    let mut bench = in_state("active");
    bench.ok(&json!({"cmd": "Discard", "id": "a"}));
    assert_eq!(bench.events(), Vec::<Json>::new());
    let dead = bench.ok(&json!({"cmd": "Dlq", "queue": "q"}))["entries"][0].clone();
    assert_eq!(json!([dead["reason"], dead["error"], dead["job"]["attempts"]]), json!(["unknown", null, 0]));
    assert_eq!(bench.job("a").get("failedReason"), None);
}

#[test]
fn logs_are_the_last_hundred_of_any_known_job() {
    for state in &STATES[..7] {
        let mut bench = in_state(state);
        assert_eq!(
            bench.ok(&json!({"cmd": "AddLog", "id": "a", "message": "m"})),
            json!({"ok": true, "data": {"added": true}})
        );
        let line = json!({"timestamp": START as f64, "level": "info", "message": "m"});
        assert_eq!(
            bench.ok(&json!({"cmd": "GetLogs", "id": "a"}))["data"],
            json!({"logs": [line], "count": 1}),
            "{state}"
        );
    }
    let mut bench = in_state("waiting");
    assert_eq!(bench.refusal(&json!({"cmd": "AddLog", "id": "x", "message": "m"})), "Job not found");
    for line in 0..120 {
        bench.ok(&json!({"cmd": "AddLog", "id": "a", "message": line.to_string(), "level": "warn"}));
    }
    let mut lines = |fields: Json| {
        let data = bench.ok(&merged(json!({"cmd": "GetLogs", "id": "a"}), fields))["data"].clone();
        let messages: Vec<String> =
            data["logs"].as_array().expect("a list").iter().map(|line| crate::bench::text(&line["message"])).collect();
        (messages.first().cloned(), messages.len(), data["count"].as_u64())
    };
    let first = |text: &str| Some(text.to_owned());
    assert_eq!(lines(json!({})), (first("20"), 100, Some(100)));
    assert_eq!(lines(json!({"start": 98})), (first("118"), 2, Some(100)));
    assert_eq!(lines(json!({"start": 2, "end": 4})), (first("22"), 3, Some(100)), "the end is inclusive");
    assert_eq!(lines(json!({"start": 200})), (None, 0, Some(100)));
    assert_eq!(lines(json!({"end": -1})), (None, 0, Some(100)));
    assert_eq!(lines(json!({"id": "x"})), (None, 0, Some(0)), "an unknown id has none");
    assert_eq!(bench.ok(&json!({"cmd": "ClearLogs", "id": "a", "keepLogs": 3})), json!({"ok": true}));
    assert_eq!(bench.ok(&json!({"cmd": "GetLogs", "id": "a"}))["data"]["logs"][0]["message"], "117");
    bench.ok(&json!({"cmd": "ClearLogs", "id": "a"}));
    bench.ok(&json!({"cmd": "ClearLogs", "id": "x"}));
    assert_eq!(bench.ok(&json!({"cmd": "GetLogs", "id": "a"}))["data"], json!({"logs": [], "count": 0}));
}
