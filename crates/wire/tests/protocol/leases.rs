//! Locks, late answers, stalls and timeouts (protocol-core.md 5.6, 5.7, 7).

use crate::bench::{Bench, START, merged};
use serde_json::{Value as Json, json};

fn locked(ttl: i64, fields: Json) -> (Bench, String) {
    let mut bench = Bench::new();
    bench.push(merged(json!({"jobId": "a"}), fields));
    let (id, token) = bench.lock(ttl);
    assert_eq!(id, "a");
    bench.events();
    (bench, token)
}

const OTHER: &str = "01900000-0000-7000-8000-000000000000";

#[test]
fn a_locked_job_is_finished_and_moved_with_its_token_only() {
    let commands = [
        json!({"cmd": "ACK"}),
        json!({"cmd": "FAIL"}),
        json!({"cmd": "Discard"}),
        json!({"cmd": "MoveToWait"}),
        json!({"cmd": "MoveToDelayed", "delay": 5}),
        json!({"cmd": "ChangeDelay", "delay": 5}),
        json!({"cmd": "MoveToWaitingChildren"}),
    ];
    for command in commands {
        let (mut bench, token) = locked(30_000, json!({}));
        let with = |fields: Json| merged(merged(command.clone(), json!({"id": "a"})), fields);
        for none in [json!({}), json!({"token": ""}), json!({"token": null})] {
            assert_eq!(bench.refusal(&with(none)), "Lock token required for job a", "{command}");
        }
        for other in [OTHER, "x", &token.to_uppercase()] {
            assert_eq!(
                bench.refusal(&with(json!({"token": other}))),
                "Invalid or expired lock token for job a",
                "{command}"
            );
        }
        assert_eq!(bench.state("a"), "active");
        bench.ok(&with(json!({"token": token})));
        assert_ne!(bench.state("a"), "active", "{command}");
    }
    let (mut bench, _) = locked(30_000, json!({}));
    let bulk = json!({"cmd": "ACKB", "ids": ["a"]});
    assert_eq!(bench.refusal(&bulk), "Lock token required for job a");
    assert_eq!(bench.refusal(&merged(bulk, json!({"tokens": [OTHER]}))), "Invalid or expired lock token for job a");
}

#[test]
fn without_a_lock_any_token_or_none_will_do() {
    for token in [json!(null), json!(OTHER), json!("x")] {
        let mut bench = Bench::new();
        bench.push(json!({"jobId": "a"}));
        bench.pull(json!({}));
        bench.ok(&json!({"cmd": "ACK", "id": "a", "token": token}));
    }
}

#[test]
fn a_lock_that_ran_out_still_counts_until_the_sweep() {
    for (command, after) in [("ACK", "completed"), ("FAIL", "delayed")] {
        let (mut bench, token) = locked(500, json!({}));
        bench.through(4_999).ok(&json!({"cmd": command, "id": "a", "token": token}));
        assert_eq!(bench.state("a"), after);
    }
    let (mut bench, _) = locked(500, json!({"delay": 0}));
    bench.through(5_000);
    let job = bench.job("a");
    let wanted = json!(["waiting", 1, 1, START as f64, null, (START + 5_000) as f64]);
    let is =
        json!([job["state"], job["attempts"], job["stallCount"], job["runAt"], job["startedAt"], job["lastHeartbeat"]]);
    assert_eq!(is, wanted, "at once, to its old place");
    let states: Vec<&Json> = job["timeline"].as_array().expect("a list").iter().map(|entry| &entry["state"]).collect();
    assert_eq!(states, ["waiting", "active"], "no entry for a lost lease");
    assert_eq!(bench.events(), [json!({"eventType": "stalled", "jobId": "a"})]);
}

#[test]
fn a_lock_that_is_lost_on_the_last_attempt_or_stall_ends_the_job() {
    let (mut bench, _) = locked(500, json!({"maxAttempts": 1, "removeOnFail": true}));
    bench.through(5_000);
    let text = "Lock expired (max attempts reached)";
    let stalled = json!({"eventType": "stalled", "jobId": "a", "data": {"stallCount": 1, "action": "move_to_dlq"}});
    assert_eq!(bench.events(), [stalled, json!({"eventType": "failed", "jobId": "a", "error": text})]);
    let dead = bench.ok(&json!({"cmd": "Dlq", "queue": "q"}))["entries"][0].clone();
    assert_eq!(
        (&dead["reason"], &dead["error"]),
        (&json!("max_attempts_exceeded"), &json!(text)),
        "removeOnFail is for FAIL"
    );
    let reasons = |dead: &Json| -> Vec<Json> {
        let attempts = dead["attempts"].as_array().expect("a list").iter();
        attempts.map(|one| json!([one["attempt"], one["reason"], one["error"]])).collect()
    };
    assert_eq!(reasons(&dead), [json!([1, "max_attempts_exceeded", text])]);
    let (mut bench, _) = locked(500, json!({"maxAttempts": 2}));
    bench.through(5_000).lock(500);
    bench.through(10_000);
    let dead = bench.ok(&json!({"cmd": "Dlq", "queue": "q"}))["entries"][0].clone();
    assert_eq!(reasons(&dead), [json!([1, "stalled", "Lock expired"]), json!([2, "max_attempts_exceeded", text])]);
    let (mut bench, _) = locked(500, json!({"maxAttempts": 9}));
    bench.ok(&json!({"cmd": "SetStallConfig", "queue": "q", "config": {"maxStalls": 1}}));
    bench.through(5_000);
    let dead = bench.ok(&json!({"cmd": "Dlq", "queue": "q"}))["entries"][0].clone();
    assert_eq!((&dead["reason"], &dead["error"]), (&json!("stalled"), &json!("Lock expired (max stalls reached)")));
}

#[test]
fn renewals_move_the_end_and_keep_the_own_length() {
    let beat = |token: &str| json!({"cmd": "JobHeartbeat", "id": "a", "token": token});
    let (mut bench, token) = locked(6_000, json!({}));
    assert_eq!(bench.at(4_000).ok(&beat(&token)), json!({"ok": true, "data": {"ok": true}}));
    assert_eq!(bench.job("a")["lastHeartbeat"], json!((START + 4_000) as f64));
    bench.through(9_999).ok(&merged(beat(&token), json!({"duration": 20_000})));
    bench.through(29_998).ok(&beat(&token));
    assert_eq!(bench.through(35_000).state("a"), "active", "6 s from the last, which gave no duration");
    assert_eq!(bench.through(40_000).state("a"), "waiting");
    // A sign of life without the token does not renew.
    let (mut bench, _) = locked(6_000, json!({}));
    bench.at(5_000).ok(&json!({"cmd": "JobHeartbeat", "id": "a"}));
    assert_eq!(bench.through(10_000).state("a"), "waiting");
}

#[test]
fn a_heartbeat_that_comes_too_late_takes_the_lock_away() {
    let (mut bench, token) = locked(500, json!({}));
    let beat = json!({"cmd": "JobHeartbeat", "id": "a", "token": token});
    assert_eq!(bench.at(500).refusal(&beat), "Job not found or not active (or invalid token)");
    assert_eq!(bench.through(20_000).state("a"), "active", "only stall detection guards it now");
    bench.ok(&json!({"cmd": "ACK", "id": "a"}));
}

#[test]
fn heartbeats_that_mean_nothing_are_refused_and_skipped_in_bulk() {
    let (mut bench, token) = locked(9_000, json!({}));
    bench.push(json!({"jobId": "waiting"}));
    let text = "Job not found or not active (or invalid token)";
    for (id, token) in [("nowhere", ""), ("waiting", ""), ("a", OTHER), ("waiting", token.as_str())] {
        assert_eq!(bench.refusal(&json!({"cmd": "JobHeartbeat", "id": id, "token": token})), text, "{id} {token}");
    }
    let bulk =
        json!({"cmd": "JobHeartbeatB", "ids": ["a", "a", "a", "waiting", "nowhere"], "tokens": [token, "", OTHER]});
    assert_eq!(bench.ok(&bulk), json!({"ok": true, "data": {"ok": true, "count": 2}}));
    assert_eq!(bench.ok(&json!({"cmd": "JobHeartbeatB", "ids": []}))["data"]["count"], 0);
}

#[test]
fn locks_are_extended_with_their_token_or_as_they_are() {
    let (mut bench, token) = locked(500, json!({}));
    let extend = |fields: Json| merged(json!({"cmd": "ExtendLock", "id": "a"}), fields);
    assert_eq!(bench.ok(&extend(json!({"token": token, "duration": 7_000}))), json!({"ok": true}));
    assert_eq!(bench.through(6_000).state("a"), "active");
    bench.ok(&extend(json!({"duration": 20_000})));
    for other in [json!({"token": OTHER}), json!({"id": "nowhere"})] {
        assert_eq!(bench.refusal(&extend(other)), "Lock not found or invalid token");
    }
    let many = json!({"cmd": "ExtendLocks", "ids": ["a", "a", "b"], "tokens": [token, OTHER, ""], "durations": [30_000, 1, 1]});
    assert_eq!(bench.ok(&many), json!({"ok": true, "count": 1}));
    assert_eq!(bench.through(30_000).state("a"), "active");
    assert_eq!(bench.through(40_000).state("a"), "waiting");
    bench.pull(json!({}));
    assert_eq!(
        bench.refusal(&extend(json!({}))),
        "Lock not found or invalid token",
        "an unlocked job has nothing to extend"
    );
}

#[test]
fn a_late_result_counts_for_the_delivery_that_was_lost_last_and_for_no_other() {
    let ignored = json!({"ok": true, "data": {"applied": false, "reason": "already-finalized"}});
    let (mut bench, token) = locked(500, json!({}));
    bench.through(5_000);
    assert_eq!(bench.refusal(&json!({"cmd": "ACK", "id": "a"})), "Job not found or not in processing state: a");
    assert_eq!(
        bench.refusal(&json!({"cmd": "ACK", "id": "a", "token": OTHER})),
        "Job not found or not in processing state: a"
    );
    assert_eq!(bench.ok(&json!({"cmd": "FAIL", "id": "a", "token": token})), ignored);
    bench.ok(&json!({"cmd": "ACK", "id": "a", "token": token, "result": 5}));
    assert_eq!(bench.ok(&json!({"cmd": "GetResult", "id": "a"}))["result"], 5);
    // Once it is taken again the earlier delivery has nothing to say.
    let (mut bench, token) = locked(500, json!({}));
    bench.through(5_000).lock(60_000);
    let refusal = "Invalid or expired lock token for job a";
    assert_eq!(bench.refusal(&json!({"cmd": "ACK", "id": "a", "token": token})), refusal);
    // Neither does an ordinary failure leave one behind.
    let (mut bench, token) = locked(500, json!({}));
    bench.ok(&json!({"cmd": "FAIL", "id": "a", "token": token}));
    assert_eq!(
        bench.refusal(&json!({"cmd": "ACK", "id": "a", "token": token})),
        "Job not found or not in processing state: a"
    );
}

#[test]
fn a_silent_job_stalls_at_the_second_look() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a", "backoff": 1_000}));
    let (_, token) = bench.pull(json!({"owner": "w", "lockTtl": 3_600_000}));
    bench.events();
    assert_eq!(bench.through(39_999).state("a"), "active", "30 s of silence, seen at 35 s");
    bench.through(40_000);
    let job = bench.job("a");
    assert_eq!((&job["attempts"], &job["stallCount"], &job["failedReason"]), (&json!(1), &json!(1), &json!("stalled")));
    let wait = job["runAt"].as_f64().expect("a moment") as i64 - START - 40_000;
    assert!((1_000..=3_000).contains(&wait), "{wait}");
    assert_eq!(
        bench.events(),
        [json!({"eventType": "stalled", "jobId": "a", "data": {"stallCount": 1, "action": "retry"}})]
    );
    bench.ok(&json!({"cmd": "ACK", "id": "a", "token": token}));
    assert_eq!(bench.state("a"), "completed", "the result of a worker that was only slow");
}

#[test]
fn signs_of_life_and_settings_keep_a_job_from_stalling() {
    for sign in [json!({"cmd": "JobHeartbeat", "id": "a"}), json!({"cmd": "Progress", "id": "a", "progress": 1})] {
        let mut bench = Bench::new();
        bench.push(json!({"jobId": "a"}));
        bench.pull(json!({}));
        // Between the two looks.
        bench.through(37_000).ok(&sign);
        assert_eq!(bench.through(70_000).state("a"), "active", "{sign}");
        assert_eq!(bench.through(75_000).state("a"), "delayed", "{sign}");
    }
    for (option, config, until) in [
        (json!({"stallTimeout": 1_000}), json!({}), 15_000),
        (json!({}), json!({"stallInterval": 12_000}), 20_000),
        (json!({"stallTimeout": 1_000}), json!({"gracePeriod": 21_000}), 30_000),
        (json!({"stallTimeout": 1_000}), json!({"enabled": false}), i64::MAX),
    ] {
        let mut bench = Bench::new();
        bench.push(merged(json!({"jobId": "a"}), option.clone()));
        bench.ok(&json!({"cmd": "SetStallConfig", "queue": "q", "config": config}));
        bench.pull(json!({}));
        let last = until.min(100_000);
        assert_eq!(bench.through(last - 1).state("a"), "active", "{option} {config}");
        assert_eq!(bench.through(last).state("a") == "active", until == i64::MAX, "{option} {config}");
    }
}

#[test]
fn the_last_stall_or_attempt_ends_a_silent_job_without_a_failed_event() {
    for (option, config, reason, text) in [
        (json!({"maxAttempts": 1}), json!({}), "max_attempts_exceeded", "Job stalled at max attempts (1)"),
        (json!({"maxAttempts": 9}), json!({"maxStalls": 1}), "stalled", "Job stalled 1 times"),
    ] {
        let mut bench = Bench::new();
        bench.push(merged(json!({"jobId": "a"}), option));
        bench.ok(&json!({"cmd": "SetStallConfig", "queue": "q", "config": config}));
        bench.pull(json!({}));
        bench.events();
        bench.through(40_000);
        let data = json!({"stallCount": 1, "action": "move_to_dlq"});
        assert_eq!(bench.events(), [json!({"eventType": "stalled", "jobId": "a", "data": data})]);
        let dead = bench.ok(&json!({"cmd": "Dlq", "queue": "q"}))["entries"][0].clone();
        assert_eq!((&dead["reason"], &dead["error"]), (&json!(reason), &json!(text)));
    }
}

#[test]
fn an_attempt_times_out_exactly_and_its_late_answers_are_ignored() {
    let (mut bench, token) = locked(60_000, json!({"timeout": 700, "data": 5}));
    assert_eq!(bench.through(699).state("a"), "active");
    bench.through(700);
    assert_eq!(
        (bench.state("a").as_str(), &bench.job("a")["failedReason"]),
        ("delayed", &json!("Job timeout exceeded"))
    );
    let failed =
        json!({"eventType": "failed", "jobId": "a", "error": "Job timeout exceeded", "data": 5, "terminal": false});
    assert_eq!(bench.events(), [failed, json!({"eventType": "retried", "jobId": "a", "prev": "failed"})]);
    let ignored = json!({"ok": true, "data": {"applied": false, "reason": "already-finalized"}});
    for command in ["ACK", "FAIL"] {
        assert_eq!(bench.ok(&json!({"cmd": command, "id": "a", "token": token})), ignored);
    }
    bench.push(json!({"jobId": "b"}));
    let (_, second) = bench.lock(60_000);
    let bulk = json!({"cmd": "ACKB", "ids": ["b", "a"], "tokens": [second, token]});
    assert_eq!(bench.ok(&bulk), json!({"ok": true, "data": {"ignoredIndices": [1], "ignoredIds": ["a"]}}));
    assert_eq!((bench.state("b").as_str(), bench.state("a").as_str()), ("completed", "delayed"));
    let (mut bench, _) = locked(60_000, json!({"timeout": 700, "maxAttempts": 1}));
    bench.through(700);
    assert_eq!(bench.ok(&json!({"cmd": "Dlq", "queue": "q"}))["entries"][0]["reason"], "timeout");
    let (mut bench, _) = locked(600_000, json!({"timeout": 0}));
    bench.ok(&json!({"cmd": "SetStallConfig", "queue": "q", "config": {"enabled": false}}));
    assert_eq!(bench.through(500_000).state("a"), "active", "0 is no limit");
}

#[test]
fn workers_are_known_while_their_connection_is_and_they_speak() {
    let mut bench = Bench::new();
    let register = json!({"cmd": "RegisterWorker", "workerId": "w", "name": "one", "queues": ["q"], "concurrency": 3, "hostname": "h", "pid": 9});
    let wanted = json!({
        "workerId": "w", "name": "one", "queues": ["q"], "concurrency": 3, "hostname": "h", "pid": 9, "status": "active",
        "registeredAt": START as f64, "lastSeen": START as f64, "activeJobs": 0, "processedJobs": 0, "failedJobs": 0, "currentJob": null,
    });
    assert_eq!(bench.conn(5).ok(&register)["data"], wanted);
    // The same again, from another connection: it owns the registration now, the name stays.
    let again = merged(register, json!({"name": "two", "queues": ["q", "r"], "concurrency": 4}));
    let data = bench.at(9).conn(6).ok(&again)["data"].clone();
    assert_eq!(
        json!([data["name"], data["queues"], data["concurrency"], data["registeredAt"]]),
        json!(["one", ["q", "r"], 4, START as f64])
    );
    let beat = json!({"cmd": "Heartbeat", "id": "w", "activeJobs": 1, "processed": 2, "failed": 3});
    assert_eq!(bench.drop_conn(5).ok(&beat), json!({"ok": true, "data": {"ok": true}}));
    let listed = bench.ok(&json!({"cmd": "ListWorkers"}))["data"]["workers"][0].clone();
    assert_eq!(json!([listed["activeJobs"], listed["processedJobs"], listed["failedJobs"]]), json!([1, 2, 3]));
    assert_eq!(bench.drop_conn(6).refusal(&beat), "Worker not found");
    let id =
        bench.conn(7).ok(&json!({"cmd": "RegisterWorker", "name": "n", "queues": ["q"]}))["data"]["workerId"].clone();
    assert_eq!(
        bench.ok(&json!({"cmd": "UnregisterWorker", "workerId": id})),
        json!({"ok": true, "data": {"removed": true}})
    );
    assert_eq!(bench.refusal(&json!({"cmd": "UnregisterWorker", "workerId": id})), "Worker not found");
}
