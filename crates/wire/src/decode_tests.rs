//! Frames to requests: the worked example, what is no command, echoed numbers, protocol 2, mutated frames.

use crate::decode::decode;
use crate::request::{DecodeErrorKind, Request};
use crate::testing::{Random, ask, hex, pack, refusal, unpack};
use serde_json::json;

/// The answer's text and the echoed number of a frame that is not understood.
fn broken(bytes: &str) -> (String, Option<String>) {
    let decoded = decode(&hex(bytes));
    let error = decoded.result.expect_err("a broken frame");
    (error.text, decoded.req_id.map(|id| unpack(id.bytes()).to_string()))
}

#[test]
fn the_worked_example_is_read() {
    let frame =
        hex("87 a3636d64a450555348 a57175657565a6656d61696c73 a46e616d65a473656e64 a46461746181a2746fa56140622e63 \
         a9756e697175654b6579a26b31 a5646564757081a374746ccdea60 a57265714964a131");
    assert_eq!(frame.len(), 83);
    let decoded = decode(&frame);
    assert_eq!(decoded.req_id.unwrap().bytes(), hex("a131"));
    assert_eq!(decoded.cmd.as_deref(), Some("PUSH"));
    assert!(!decoded.protocol2);
    let Ok(Request::Engine(onceover_engine::command::Command::Push { add, replay_of: None })) = decoded.result else {
        panic!("a push")
    };
    assert_eq!((&*add.spec.queue, &*add.spec.name), ("emails", "send"));
    assert_eq!(add.data.as_deref(), Some(&hex("81a2746fa56140622e63")[..]));
    assert_eq!((add.dedup_key.as_deref(), add.spec.dedup.ttl.map(|ttl| ttl.0)), (Some("k1"), Some(60_000)));
}

#[test]
fn frames_that_are_no_command_are_told_apart() {
    let format = "Invalid command format";
    let command = "Invalid command";
    for (bytes, text, req_id) in [
        ("", format, None),
        ("c1", format, None),
        ("80 80", format, None),
        ("81 a3 636d64", format, None),
        ("c0", format, None),
        ("00", format, None),
        ("cb 0000000000000000", format, None),
        ("c2", format, None),
        ("a0", format, None),
        ("d4 00 00", format, None),
        ("81 c4 01 61 00", format, None),
        ("01", command, None),
        ("c3", command, None),
        ("a1 61", command, None),
        ("90", command, None),
        ("c4 00", command, None),
        ("80", command, None),
        ("82 a3 636d64 c0 a5 7265714964 a1 37", command, Some("\"7\"")),
        ("82 a3 636d64 00 a5 7265714964 07", command, None),
        ("82 a3 636d64 a0 a5 7265714964 c0", command, None),
        ("81 a3 636d64 90", command, None),
        ("82 a3 636d64 a1 58 a5 7265714964 07", "Unknown command: X", Some("7")),
        ("81 a3 636d64 05", "Unknown command: 5", None),
    ] {
        assert_eq!(broken(bytes), (text.to_owned(), req_id.map(str::to_owned)), "{bytes}");
    }
}

#[test]
fn the_number_goes_back_with_its_type() {
    for (req_id, echoed) in [
        (json!("1"), Some(json!("1"))),
        (json!(1), Some(json!(1))),
        (json!(1.5), Some(json!(1.5))),
        (json!(null), Some(json!(null))),
        (
            json!("a text that is longer than what fits inline"),
            Some(json!("a text that is longer than what fits inline")),
        ),
        (json!({"$undefined": true}), None),
    ] {
        let decoded = decode(&pack(&json!({"cmd": "Ping", "reqId": req_id})));
        assert_eq!(decoded.req_id.map(|id| unpack(id.bytes())), echoed);
    }
    assert_eq!(decode(&pack(&json!({"cmd": "Ping"}))).req_id, None);
}

#[test]
fn commands_of_the_connection_are_requests_of_their_own() {
    assert_eq!(ask(&json!({"cmd": "Hello", "protocolVersion": 2})), Ok(Request::Hello));
    assert_eq!(ask(&json!({"cmd": "Ping"})), Ok(Request::Ping));
    assert_eq!(ask(&json!({"cmd": "Auth", "token": "t"})), Ok(Request::Auth { token: "t".to_owned() }));
    assert_eq!(ask(&json!({"cmd": "Auth", "token": 5})), Ok(Request::Auth { token: String::new() }));
    assert_eq!(ask(&json!({"cmd": "SubscribeEvents", "queue": "q"})), Ok(Request::Subscribe { queue: "q".into() }));
    assert_eq!(refusal(&json!({"cmd": "SubscribeEvents", "queue": "q!"})), "Queue name contains invalid characters");
    assert_eq!(ask(&json!({"cmd": "UnsubscribeEvents"})), Ok(Request::Unsubscribe));
}

#[test]
fn commands_that_are_not_there_are_unknown() {
    for cmd in ["PUSHX", "Ratelimit", "push"] {
        assert_eq!(refusal(&json!({"cmd": cmd})), format!("Unknown command: {cmd}"));
    }
}

#[test]
fn identifiers_that_are_not_utf8_refuse_the_frame() {
    // {cmd: "GetState", id: <ff>, reqId: "1"}
    let frame = hex("83 a3636d64 a84765745374617465 a26964 a1ff a57265714964 a131");
    let decoded = decode(&frame);
    let error = decoded.result.unwrap_err();
    assert_eq!((error.text.as_str(), error.kind), ("Invalid command format", DecodeErrorKind::BadFrame));
    // The number is known here, and without it the client would wait for its timeout.
    assert!(decoded.req_id.is_some());
}

#[test]
fn ids_of_protocol_2_clients_are_recognised() {
    for (request, protocol2) in [
        (json!({"cmd": "Ping", "reqId": "rust-1"}), true),
        (json!({"cmd": "Ping", "reqId": "php-auth"}), true),
        (json!({"cmd": "PULL", "queue": "q", "owner": "py-worker"}), true),
        (json!({"cmd": "RegisterWorker", "workerId": "py-1"}), true),
        (json!({"cmd": "PUSH", "queue": "q", "data": {"name": "n"}}), true),
        (json!({"cmd": "PUSHB", "queue": "q", "jobs": [{"name": "n"}, {"data": {"name": "n"}}]}), true),
        (json!({"cmd": "PUSH", "queue": "q", "name": "n", "data": {"name": "n"}}), false),
        (json!({"cmd": "PUSH", "queue": "q", "data": {"name": 5}}), false),
        (json!({"cmd": "PULL", "queue": "q", "owner": "worker-py-1", "reqId": "12"}), false),
        (json!({"cmd": "Ping", "reqId": 3}), false),
    ] {
        assert_eq!(decode(&pack(&request)).protocol2, protocol2, "{request}");
    }
}

#[test]
fn too_many_fields_are_no_request() {
    let fields = |count: usize| (0..count).map(|at| (format!("f{at}"), json!(1)));
    let request =
        |count| json!(fields(count).chain([("cmd".to_owned(), json!("Ping"))]).collect::<serde_json::Map<_, _>>());
    assert_eq!(ask(&request(999)), Ok(Request::Ping));
    assert_eq!(refusal(&request(1000)), "Invalid command format");
}

#[test]
fn mutated_requests_never_panic() {
    let requests = [
        json!({"cmd": "PUSH", "queue": "q", "name": "n", "data": {"a": [1, {"b": null}]}, "backoff": {"type": "fixed", "delay": 5},
            "uniqueKey": "k", "dedup": {"ttl": 5, "hash": true}, "repeat": {"every": 5}, "tags": ["a"], "dependsOn": ["x"]}),
        json!({"cmd": "PUSHB", "queue": "q", "jobs": [{"customId": "c", "data": {"name": "n"}}, {}]}),
        json!({"cmd": "ACKB", "ids": ["a", "b"], "tokens": ["", "t"], "results": [1, null], "removeOnCompletes": [true, false]}),
        json!({"cmd": "FAIL", "id": "a", "error": {"x": 1}, "stack": ["a", 5]}),
        json!({"cmd": "Dlq", "queue": "q", "filter": {"reason": "timeout", "offset": 5}, "count": 3}),
        json!({"cmd": "SetStallConfig", "queue": "q", "config": {"enabled": true, "maxStalls": "3"}}),
    ];
    for seed in 0..60_000_u64 {
        let mut random = Random::new(seed);
        let mut frame = pack(&requests[seed as usize % requests.len()]);
        for _ in 0..1 + random.below(4) {
            let at = random.below(frame.len());
            frame[at] = random.bytes(1)[0];
        }
        let _ = decode(&frame);
    }
}
