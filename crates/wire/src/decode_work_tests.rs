//! What workers send: pulls, acknowledgements, failures, renewals, registration.

use crate::testing::{ask, command, hex, refusal};
use onceover_engine::command::{Ack, Claim, Command, Fail, Pull, Renewal, WorkerInfo};
use onceover_engine::names::JobId;
use onceover_engine::time::{Millis, Timestamp};
use serde_json::{Value as Json, json};

fn id(text: &str) -> JobId {
    JobId::parse(text)
}

fn ack(text: &str) -> Ack {
    Ack { id: id(text), token: None, result: None, remove: false }
}

#[test]
fn pulls_are_read() {
    let plain = Pull {
        queue: "q".into(),
        count: 1,
        bulk: false,
        timeout: Millis(0),
        owner: None,
        lock_ttl: Millis(30_000),
        detach: false,
        group: None,
    };
    assert_eq!(command(&json!({"cmd": "PULL", "queue": "q"})), Command::Pull(plain.clone()));
    assert_eq!(
        command(&json!({"cmd": "PULL", "queue": "q", "owner": "", "lockTtl": null, "group": {}, "token": "x"})),
        Command::Pull(plain.clone())
    );
    let full = Pull {
        count: 3,
        bulk: true,
        timeout: Millis(60_000),
        owner: Some("w".into()),
        lock_ttl: Millis(5),
        detach: true,
        group: None,
        ..plain
    };
    let request = json!({"cmd": "PULLB", "queue": "q", "count": 2.1, "timeout": 60_000, "owner": "w", "lockTtl": 5, "detach": true});
    assert_eq!(command(&request), Command::Pull(full));
}

#[test]
fn bad_pulls_are_named() {
    for (fields, text) in [
        (json!({"cmd": "PULL"}), "Queue name is required"),
        (json!({"cmd": "PULL", "queue": "q", "timeout": 60_001}), "timeout must be at most 60000"),
        (json!({"cmd": "PULL", "queue": "q", "timeout": -1}), "timeout must be at least 0"),
        (json!({"cmd": "PULL", "queue": "q", "owner": 5}), "owner must be a string"),
        (json!({"cmd": "PULL", "queue": "q", "group": null}), "group must be an object"),
        (json!({"cmd": "PULL", "queue": "q", "group": {"affinity": 5}}), "group.affinity must be a string or null"),
        (
            json!({"cmd": "PULL", "queue": "q", "group": {"concurrency": 0}}),
            "group.concurrency must be a positive safe integer",
        ),
        (json!({"cmd": "PULL", "queue": "q", "group": {"limit": 5}}), "group.limit must be an object"),
        (
            json!({"cmd": "PULL", "queue": "q", "group": {"limit": {"max": 0}}}),
            "group.limit.max must be a positive safe integer",
        ),
        (
            json!({"cmd": "PULL", "queue": "q", "group": {"limit": {"max": 1}}}),
            "group.limit.duration must be a positive safe integer",
        ),
        (json!({"cmd": "PULLB", "queue": "q"}), "count is required"),
        (json!({"cmd": "PULLB", "queue": "q", "count": 0}), "count must be at least 1"),
        (json!({"cmd": "PULLB", "queue": "q", "count": 1001}), "count must be at most 1000"),
    ] {
        assert_eq!(refusal(&fields), text, "{fields}");
    }
}

#[test]
fn acknowledgements_are_read() {
    assert_eq!(command(&json!({"cmd": "ACK", "id": "a"})), Command::Ack(ack("a")));
    assert_eq!(command(&json!({"cmd": "ACK", "id": "a", "token": "", "removeOnComplete": 1})), Command::Ack(ack("a")));
    let nil = Ack { token: Some("t".to_owned()), result: Some(hex("c0").into()), remove: true, ..ack("a") };
    assert_eq!(
        command(&json!({"cmd": "ACK", "id": "a", "token": "t", "result": null, "removeOnComplete": true})),
        Command::Ack(nil)
    );
    assert_eq!(command(&json!({"cmd": "ACK", "id": "a", "result": {"$undefined": true}})), Command::Ack(ack("a")));
    assert_eq!(refusal(&json!({"cmd": "ACK"})), "id is required");
    assert_eq!(refusal(&json!({"cmd": "ACK", "id": []})), "id must be a string");
}

#[test]
fn acknowledgements_in_bulk_are_matched_by_position() {
    let acks = |fields: Json| match command(&fields) {
        Command::AckBulk { acks } => acks,
        other => panic!("{other:?}"),
    };
    assert_eq!(acks(json!({"cmd": "ACKB", "ids": []})), vec![]);
    let undefined = json!({"$undefined": true});
    let request = json!({
        "cmd": "ACKB", "ids": ["a", 5, "c"], "tokens": ["t", "", null], "results": [undefined, null, 7],
        "removeOnCompletes": [true, 1, undefined],
    });
    let expected = vec![
        Ack { token: Some("t".to_owned()), remove: true, ..ack("a") },
        Ack { result: Some(hex("c0").into()), ..ack("5") },
        Ack { result: Some(hex("07").into()), ..ack("c") },
    ];
    assert_eq!(acks(request), expected);
    for (field, text) in [
        ("tokens", "ACKB tokens length must match ids length"),
        ("results", "ACKB results length must match ids length"),
        ("removeOnCompletes", "ACKB removeOnCompletes length must match ids length"),
    ] {
        assert_eq!(refusal(&json!({"cmd": "ACKB", "ids": ["a"], field: []})), text);
    }
    assert_eq!(refusal(&json!({"cmd": "ACKB"})), "ids is required");
    assert_eq!(refusal(&json!({"cmd": "ACKB", "ids": [null]})), "ids must be an array of strings");
    assert_eq!(refusal(&json!({"cmd": "ACKB", "ids": ["a"], "tokens": [5]})), "tokens must be an array of strings");
}

#[test]
fn failures_are_read() {
    let plain = Fail { id: id("a"), token: None, error: None, unrecoverable: false, stack: vec![], remove: false };
    assert_eq!(command(&json!({"cmd": "FAIL", "id": "a", "unrecoverable": 1})), Command::Fail(plain.clone()));
    let request = json!({
        "cmd": "FAIL", "id": "a", "token": "t", "error": "boom", "unrecoverable": true, "removeOnFail": true,
        "stack": [" at x ", 5, "", "at y"],
    });
    let full = Fail {
        token: Some("t".to_owned()),
        error: Some("boom".to_owned()),
        unrecoverable: true,
        stack: vec!["at x".to_owned(), "at y".to_owned()],
        remove: true,
        ..plain
    };
    assert_eq!(command(&request), Command::Fail(full));
    let error = |value: Json| match command(&json!({"cmd": "FAIL", "id": "a", "error": value})) {
        Command::Fail(fail) => fail.error,
        other => panic!("{other:?}"),
    };
    assert_eq!(error(json!(null)), None);
    assert_eq!(error(json!({"b": 1, "a": [true]})).as_deref(), Some(r#"{"a":[true],"b":1}"#));
    let many: Vec<String> = (0..150).map(|line| format!("line {line}")).collect();
    let Command::Fail(fail) = command(&json!({"cmd": "FAIL", "id": "a", "stack": many})) else { panic!("a failure") };
    assert_eq!(fail.stack.len(), 100);
}

#[test]
fn messages_that_are_not_utf8_do_not_cost_the_failure() {
    let frame = hex("83 a3636d64 a44641494c a26964 a161 a56572726f72 a3 6fff6f");
    let Ok(crate::request::Request::Engine(Command::Fail(fail))) = crate::decode(&frame).result else {
        panic!("a failure")
    };
    assert_eq!(fail.error.as_deref(), Some("o\u{fffd}o"));
}

#[test]
fn renewals_are_read() {
    let renewal = |text: &str, token: Option<&str>, duration: Option<i64>| Renewal {
        claim: Claim { id: id(text), token: token.map(str::to_owned) },
        duration: duration.map(Millis),
    };
    assert_eq!(command(&json!({"cmd": "JobHeartbeat", "id": "a"})), Command::JobHeartbeat(renewal("a", None, None)));
    assert_eq!(
        command(&json!({"cmd": "ExtendLock", "id": "a", "token": "t", "duration": 5})),
        Command::ExtendLock(renewal("a", Some("t"), Some(5)))
    );
    assert_eq!(
        command(&json!({"cmd": "JobHeartbeatB", "ids": ["a", "b"], "tokens": ["t", ""]})),
        Command::JobHeartbeatBulk { renewals: vec![renewal("a", Some("t"), None), renewal("b", None, None)] }
    );
    assert_eq!(
        command(&json!({"cmd": "ExtendLocks", "ids": ["a", "b"], "tokens": ["t"], "durations": [1, 2, 3]})),
        Command::ExtendLocks { renewals: vec![renewal("a", Some("t"), Some(1)), renewal("b", None, Some(2))] }
    );
    assert_eq!(
        refusal(&json!({"cmd": "ExtendLocks", "ids": ["a"], "durations": ["x"]})),
        "durations must be an array of numbers"
    );
}

#[test]
fn workers_register_with_whatever_they_say() {
    let plain = WorkerInfo {
        worker_id: None,
        name: String::new(),
        queues: vec![],
        concurrency: 1,
        hostname: "unknown".to_owned(),
        pid: 0,
        started_at: None,
    };
    assert_eq!(command(&json!({"cmd": "RegisterWorker"})), Command::RegisterWorker(plain));
    let request = json!({
        "cmd": "RegisterWorker", "name": "w", "queues": ["q", "r"], "concurrency": 4, "workerId": "id", "hostname": "h",
        "pid": 77, "startedAt": 1_700_000_000_000_i64,
    });
    let full = WorkerInfo {
        worker_id: Some("id".to_owned()),
        name: "w".to_owned(),
        queues: vec!["q".into(), "r".into()],
        concurrency: 4,
        hostname: "h".to_owned(),
        pid: 77,
        started_at: Some(Timestamp(1_700_000_000_000)),
    };
    assert_eq!(command(&request), Command::RegisterWorker(full));
    assert_eq!(refusal(&json!({"cmd": "RegisterWorker", "queues": "q"})), "queues must be an array");
    assert_eq!(
        command(&json!({"cmd": "Heartbeat", "id": "w", "activeJobs": 2, "processed": 5_000_000_000_i64})),
        Command::WorkerHeartbeat {
            id: "w".to_owned(),
            active_jobs: Some(2),
            processed: Some(5_000_000_000),
            failed: None
        }
    );
    assert_eq!(
        command(&json!({"cmd": "UnregisterWorker", "workerId": "w"})),
        Command::UnregisterWorker { id: "w".to_owned() }
    );
    assert_eq!(refusal(&json!({"cmd": "UnregisterWorker"})), "workerId is required");
    assert!(ask(&json!({"cmd": "ListWorkers"})).is_ok());
}
