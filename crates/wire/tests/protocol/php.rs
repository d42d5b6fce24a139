//! Frames as the PHP client 0.1.1 sends them, for every command that it uses: nothing that bunqueue 2.9.5 answers is refused.
//!
//! That client cannot run here, so its shapes are written down: missing options are left out, an array without members is a
//! list even where a map is meant, ids that are numbers arrive as integers, and every `reqId` begins with `php-`.

use crate::bench::{Bench, merged, pack, text};
use crate::commands::missing;
use onceover_wire::decode;
use onceover_wire::request::{DecodeErrorKind, Request};
use serde_json::{Value as Json, json};

const WORKER: &str = "php-host-42-0a1b2c3d";

fn as_php(command: Json) -> Json {
    merged(command, json!({"reqId": "php-1"}))
}

/// Every command in an order in which each has something to work on. `TOKEN` stands for the token of the last pull.
fn frames() -> Vec<Json> {
    let add = json!({
        "cmd": "PUSH", "queue": "q", "name": "mail", "data": {"user": 1}, "maxAttempts": 3, "jobId": "7", "uniqueKey": "k",
        "dedup": {"ttl": 60_000, "extend": true}, "priority": 2, "delay": 0, "backoff": {"type": "exponential", "delay": 1000},
        "ttl": 60_000, "timeout": 5_000, "tags": ["a"], "lifo": false, "removeOnComplete": false, "removeOnFail": false,
        "stallTimeout": 30_000, "durable": true, "stackTraceLimit": 5, "keepLogs": 10, "sizeLimit": 1_000,
        "debounceId": "d", "debounceTtl": 5, "childrenIds": [], "dependsOn": [], "failParentOnFailure": false,
    });
    let register = json!({
        "cmd": "RegisterWorker", "name": WORKER, "queues": ["q"], "concurrency": 1, "workerId": WORKER, "hostname": "host",
        "pid": 42, "startedAt": 1_700_000_000_000_i64,
    });
    let pull = json!({
        "cmd": "PULLB", "queue": "q", "count": 10, "timeout": 0, "owner": WORKER, "lockTtl": 30_000,
    });
    let of_queue = |cmd: &str| json!({"cmd": cmd, "queue": "q"});
    let of_job = |cmd: &str, more: Json| merged(json!({"cmd": cmd, "id": "7"}), more);
    vec![
        json!({"cmd": "Hello", "protocolVersion": 2, "capabilities": ["pipelining", "separate-job-name"]}),
        json!({"cmd": "Ping"}),
        json!({"cmd": "Auth", "token": "t"}),
        add,
        json!({"cmd": "PUSH", "queue": "q", "name": "empty", "data": [], "jobId": "8", "delay": 900_000}),
        json!({"cmd": "PUSHB", "queue": "q", "jobs": [{"name": "x", "data": [], "customId": "9", "delay": 900_000}]}),
        json!({"cmd": "PUSHB", "queue": "q", "jobs": []}),
        register,
        pull,
        json!({"cmd": "Heartbeat", "id": WORKER, "activeJobs": 1, "processed": 0, "failed": 0}),
        // A PHP array with the key "7" has the key 7.
        json!({"cmd": "JobHeartbeatB", "ids": [7], "tokens": ["TOKEN"]}),
        of_job("Progress", json!({"progress": 50, "message": "half"})),
        of_job("GetProgress", json!({})),
        of_job("AddLog", json!({"message": "m", "level": "warn"})),
        of_job("GetLogs", json!({"start": 0, "end": 10})),
        of_job("ExtendLock", json!({"token": "TOKEN", "duration": 30_000})),
        of_job("ACK", json!({"token": "TOKEN", "result": []})),
        of_job("GetState", json!({})),
        of_job("GetResult", json!({})),
        of_job("WaitJob", json!({"timeout": 1_000})),
        of_job("GetJob", json!({})),
        json!({"cmd": "GetJobs", "queue": "q", "state": ["waiting", "delayed"], "offset": 0, "limit": 1_000}),
        json!({"cmd": "GetJobs", "queue": "q", "offset": 0, "limit": 0}),
        of_queue("GetJobCounts"),
        of_queue("Count"),
        json!({"cmd": "GetJobByCustomId", "queue": "q", "customId": "9"}),
        json!({"cmd": "ChangePriority", "id": "8", "priority": 1}),
        json!({"cmd": "ChangeDelay", "id": "8", "delay": 800_000}),
        json!({"cmd": "Update", "id": "8", "data": []}),
        json!({"cmd": "Promote", "id": "8"}),
        json!({"cmd": "PULLB", "queue": "q", "count": 1, "timeout": 0, "owner": WORKER, "lockTtl": 30_000}),
        json!({"cmd": "FAIL", "id": "8", "token": "TOKEN", "error": "no", "stack": ["Error: no", "#0 {main}"], "unrecoverable": true}),
        json!({"cmd": "Dlq", "queue": "q", "count": 5}),
        of_queue("Dlq"),
        json!({"cmd": "RetryDlq", "queue": "q", "jobId": "8"}),
        json!({"cmd": "RetryDlq", "queue": "q", "count": 2}),
        of_queue("PurgeDlq"),
        json!({"cmd": "Discard", "id": "9"}),
        json!({"cmd": "MoveToWait", "id": "9"}),
        json!({"cmd": "Cancel", "id": "9"}),
    ]
}

/// The same for whole queues, schedules, webhooks and figures; the queue is gone afterwards.
fn frames_of_queues() -> Vec<Json> {
    let of_queue = |cmd: &str| json!({"cmd": cmd, "queue": "q"});
    let cron = json!({
        "cmd": "Cron", "name": "s", "jobName": "s", "queue": "q", "data": [], "repeatEvery": 60_000, "immediately": false,
        "jobOptions": {"maxAttempts": 2},
    });
    vec![
        of_queue("Pause"),
        of_queue("IsPaused"),
        of_queue("Resume"),
        of_queue("Drain"),
        json!({"cmd": "Clean", "queue": "q", "grace": 0, "limit": 0, "state": "completed"}),
        json!({"cmd": "RateLimit", "queue": "q", "limit": 5, "duration": 1_000, "ttl": 1_000}),
        of_queue("RateLimitClear"),
        merged(json!({"cmd": "SetConcurrency", "limit": 5}), of_queue("SetConcurrency")),
        of_queue("ClearConcurrency"),
        cron,
        json!({"cmd": "CronGet", "name": "s"}),
        json!({"cmd": "CronList"}),
        json!({"cmd": "CronDelete", "name": "s"}),
        json!({"cmd": "AddWebhook", "url": "http://127.0.0.1:9/", "events": ["job.completed"]}),
        json!({"cmd": "ListWebhooks"}),
        json!({"cmd": "SetWebhookEnabled", "id": "w", "enabled": false}),
        json!({"cmd": "RemoveWebhook", "webhookId": "w"}),
        json!({"cmd": "GetChildrenValues", "id": "7"}),
        json!({"cmd": "UpdateParent", "childId": "7", "parentId": "8"}),
        json!({"cmd": "ListWorkers"}),
        json!({"cmd": "ListQueues"}),
        json!({"cmd": "Stats"}),
        json!({"cmd": "Metrics"}),
        json!({"cmd": "UnregisterWorker", "workerId": WORKER}),
        of_queue("Obliterate"),
    ]
}

/// The same with `TOKEN` replaced.
fn with_token(mut frame: Json, token: &str) -> Json {
    if frame["token"] == "TOKEN" {
        frame["token"] = json!(token);
    }
    if frame["tokens"] == json!(["TOKEN"]) {
        frame["tokens"] = json!([token]);
    }
    frame
}

#[test]
fn every_command_of_the_php_client_is_answered() {
    let mut bench = Bench::new();
    let mut token = String::new();
    let mut asked = 0;
    for frame in frames().into_iter().chain(frames_of_queues()) {
        let frame = as_php(with_token(frame, &token));
        let decoded = decode(&pack(&frame));
        assert!(decoded.protocol2, "its frames tell that it wants names inside the data: {frame}");
        match decoded.result {
            Ok(Request::Engine(_)) => {}
            // The connection or the broker as a whole answers.
            Ok(_) => continue,
            Err(error) => {
                let cmd = text(&frame["cmd"]);
                assert_eq!(error.kind, DecodeErrorKind::Unknown, "{frame}: {error}");
                assert!(missing().contains(&*cmd), "{cmd} is refused");
                continue;
            }
        }
        let answer = bench.ask(&frame);
        // What is not there is told so by 2.9.5, too, and the client makes nothing of it.
        let not_there = text(&answer["error"]).to_lowercase().contains("not found");
        assert!(answer["ok"] == true || not_there, "{frame}: {answer}");
        if let Some(given) = answer["tokens"][0].as_str() {
            token = given.to_owned();
        }
        asked += 1;
    }
    assert!(asked > 45, "{asked}");
    assert_eq!(bench.ok(&json!({"cmd": "ListQueues"}))["queues"], json!([]));
}

#[test]
fn its_worker_reads_what_it_needs() {
    let mut bench = Bench::new();
    let frames = frames();
    let of = |cmd: &str| frames.iter().find(|frame| frame["cmd"] == cmd).expect("it is sent").clone();
    bench.ok(&of("PUSH"));
    assert_eq!(bench.ok(&of("RegisterWorker"))["data"]["workerId"], WORKER);
    let pulled = bench.ok(&of("PULLB"));
    assert_eq!(
        (pulled["jobs"].as_array().map(Vec::len), pulled["tokens"].as_array().map(Vec::len)),
        (Some(1), Some(1))
    );
    let token = text(&pulled["tokens"][0]);
    let renewed = bench.ok(&with_token(of("JobHeartbeatB"), &token));
    assert_eq!(renewed["data"]["count"], 1, "the id came as an integer");
    // Anything in `data` but `applied: false` would be taken for nonsense.
    assert_eq!(bench.ok(&with_token(of("ACK"), &token)), json!({"ok": true}));
    assert_eq!(bench.ok(&of("GetResult"))["result"], json!([]));
}
