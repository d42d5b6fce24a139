//! Clients of a whole broker over sockets: order, events, what is refused, what is closed.

mod kit;

use kit::{connect, start};
use onceover_broker::BrokerStatus;
use onceover_store::{CommitFailure, SimDisk};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[test]
fn small_talk() {
    let broker = start(&SimDisk::default(), &[]);
    let mut client = connect(&broker);
    let pong = client.call("Ping", json!({}));
    assert_eq!((&pong["ok"], &pong["data"]["pong"], &pong["reqId"]), (&json!(true), &json!(true), &json!("1")));
    assert!(pong["data"]["time"].as_f64().unwrap() > 1.6e12);
    assert_eq!(client.call("Hello", json!({}))["protocolVersion"], 3);
    assert_eq!(client.call("Auth", json!({"token": "any"})), json!({"ok": true, "reqId": "3"}));
    let unknown = json!({"ok": false, "error": "Unknown command: Nonsense", "reqId": "4"});
    assert_eq!(client.call("Nonsense", json!({})), unknown);
}

#[test]
fn a_job_from_push_to_ack() {
    let broker = start(&SimDisk::default(), &[]);
    let mut client = connect(&broker);
    let id = client.call("PUSH", json!({"queue": "q", "name": "n", "data": {"to": "a"}}))["id"].clone();
    let pulled = client.call("PULL", json!({"queue": "q", "owner": "w"}));
    assert_eq!((&pulled["job"]["id"], &pulled["job"]["data"]), (&id, &json!({"to": "a"})));
    let ack = json!({"id": id, "token": pulled["token"], "result": {"sent": true}});
    assert_eq!(client.call("ACK", ack), json!({"ok": true, "reqId": "3"}));
    assert_eq!(client.call("GetResult", json!({"id": id}))["result"], json!({"sent": true}));
    let job = client.call("GetJob", json!({"id": id}))["job"].clone();
    assert_eq!((&job["data"], &job["returnvalue"]), (&json!({"to": "a"}), &json!({"sent": true})), "{job}");
}

#[test]
fn pipelined_commands_take_effect_and_are_answered_in_order() {
    let broker = start(&SimDisk::default(), &[]);
    let mut client = connect(&broker);
    let push = || ("PUSH", json!({"queue": "q", "data": {}}));
    let count = || ("Count", json!({"queue": "q"}));
    let commands =
        [count(), push(), count(), push(), ("Ping", json!({})), push(), count(), ("Nonsense", json!({})), count()];
    client.send_together(&commands);
    let answers: Vec<Value> = commands.iter().map(|_| client.read().unwrap()).collect();
    let numbers: Vec<_> = answers.iter().map(|answer| answer["reqId"].as_str().unwrap().to_owned()).collect();
    assert_eq!(numbers, ["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    let counts: Vec<_> = answers.iter().filter_map(|answer| answer["count"].as_i64()).collect();
    assert_eq!(counts, [0, 1, 3, 3]);
}

#[test]
fn ten_thousand_commands_in_flight_are_all_answered() {
    let broker = start(&SimDisk::default(), &[]);
    let mut client = connect(&broker);
    let commands: Vec<_> = (0..10_000).map(|_| ("PUSH", json!({"queue": "q", "data": {}}))).collect();
    client.send_together(&commands);
    for number in 1..=10_000 {
        let answer = client.read().unwrap();
        assert_eq!((&answer["ok"], &answer["reqId"]), (&json!(true), &json!(number.to_string())));
    }
    assert_eq!(client.call("Count", json!({"queue": "q"}))["count"], 10_000);
}

#[test]
fn a_parked_pull_blocks_nobody() {
    let broker = start(&SimDisk::default(), &[]);
    let mut client = connect(&broker);
    let pull = client.send("PULL", json!({"queue": "q", "timeout": 15_000}));
    let ping = client.call("Ping", json!({}));
    assert_eq!(ping["reqId"], "2");
    let id = connect(&broker).call("PUSH", json!({"queue": "q", "data": 1}))["id"].clone();
    let pulled = client.read().unwrap();
    assert_eq!((&pulled["reqId"], &pulled["job"]["id"]), (&json!(pull.to_string()), &id));
}

#[test]
fn events_come_before_the_answer_that_caused_them_and_only_after_the_subscription() {
    let broker = start(&SimDisk::default(), &[]);
    let mut client = connect(&broker);
    client.send_together(&[
        ("PUSH", json!({"queue": "q", "data": {}})),
        ("SubscribeEvents", json!({"queue": "q"})),
        ("PUSH", json!({"queue": "q", "data": {}})),
        ("PUSH", json!({"queue": "other", "data": {}})),
        ("PULL", json!({"queue": "q"})),
        ("UnsubscribeEvents", json!({})),
        ("PULL", json!({"queue": "q"})),
    ]);
    let seen: Vec<String> = (0..9)
        .map(|_| {
            let message = client.read().unwrap();
            message["event"]["eventType"].as_str().or(message["reqId"].as_str()).unwrap().to_owned()
        })
        .collect();
    assert_eq!(seen, ["1", "2", "pushed", "3", "4", "pulled", "5", "6", "7"]);
}

#[test]
fn a_frame_too_large_is_answered_after_what_came_before_and_ends_the_connection() {
    let broker = start(&SimDisk::default(), &[]);
    let mut client = connect(&broker);
    let good = client.frame("Ping", json!({}));
    client.raw(&[&good[..], &u32::MAX.to_be_bytes(), &[7; 100]].concat());
    assert_eq!(client.read().unwrap()["reqId"], "1");
    let error = "Frame too large: 4294967295 bytes exceeds maximum 67108864";
    assert_eq!(client.read(), Some(json!({"ok": false, "error": error})));
    assert_eq!(client.read(), None);
}

#[test]
fn tokens_keep_the_door_closed() {
    let broker = start(&SimDisk::default(), &["one", "two"]);
    let mut client = connect(&broker);
    let closed = |request: &str| json!({"ok": false, "error": "Not authenticated", "reqId": request});
    assert_eq!(client.call("Ping", json!({})), closed("1"));
    assert_eq!(client.call("Auth", json!({"token": "three"}))["error"], "Invalid token");
    assert_eq!(client.call("PUSH", json!({"queue": "q", "data": {}})), closed("3"));
    client.send_together(&[("Auth", json!({"token": "two"})), ("Ping", json!({}))]);
    assert_eq!(
        (client.read().unwrap()["ok"].clone(), client.read().unwrap()["ok"].clone()),
        (json!(true), json!(true))
    );
}

#[test]
fn who_stops_sending_is_gone_and_its_jobs_go_back() {
    let broker = start(&SimDisk::default(), &[]);
    let mut worker = connect(&broker);
    let mut other = connect(&broker);
    let id = other.call("PUSH", json!({"queue": "q", "data": {}}))["id"].clone();
    assert_eq!(worker.call("PULL", json!({"queue": "q", "owner": "w"}))["job"]["id"], id);
    worker.half_close();
    assert_eq!(worker.read(), None);
    let again = other.call("PULL", json!({"queue": "q", "owner": "x", "timeout": 15_000}));
    assert_eq!(again["job"]["id"], id);
}

#[test]
fn a_failed_commit_is_answered_and_the_broker_goes_on_from_the_file() {
    let disk = SimDisk::default();
    let broker = start(&disk, &[]);
    let mut client = connect(&broker);
    let mut bystander = connect(&broker);
    assert_eq!(bystander.call("Ping", json!({}))["ok"], true);
    let before = client.call("PUSH", json!({"queue": "q", "data": 1, "jobId": "before"}));
    assert_eq!(before["ok"], true);
    disk.fail_next_commit(CommitFailure::Refused);
    let refused = client.call("PUSH", json!({"queue": "q", "data": 2, "jobId": "lost"}));
    assert_eq!((&refused["ok"], &refused["reqId"]), (&json!(false), &json!("2")));
    assert!(refused["error"].as_str().unwrap().starts_with("Storage error: "), "{refused}");
    assert_eq!((client.read(), bystander.read()), (None, None), "connections are closed as after a restart");
    let mut client = connect(&broker);
    assert_eq!(client.call("GetState", json!({"id": "before"}))["state"], "waiting");
    assert_eq!(client.call("GetState", json!({"id": "lost"}))["state"], "unknown");
    assert_eq!(client.call("PUSH", json!({"queue": "q", "data": 3, "jobId": "after"}))["ok"], true);
}

#[test]
fn a_file_that_cannot_be_read_back_ends_the_broker_with_words() {
    let disk = SimDisk::default();
    let broker = start(&disk, &[]);
    let mut client = connect(&broker);
    disk.fail_next_commit(CommitFailure::Refused);
    disk.fail_next_load();
    assert_eq!(client.call("PUSH", json!({"queue": "q", "data": 2}))["ok"], false);
    assert_eq!(client.read(), None);
    let deadline = Instant::now() + Duration::from_secs(10);
    let failed =
        || matches!(broker.handle().status(), BrokerStatus::Failed { message, .. } if message.contains("cannot read"));
    while !failed() {
        assert!(Instant::now() < deadline, "{:?}", broker.handle().status());
        std::thread::yield_now();
    }
}

#[test]
fn a_client_that_does_not_read_is_closed_and_others_are_served() {
    let broker = start(&SimDisk::default(), &[]);
    let mut other = connect(&broker);
    let id = other.call("PUSH", json!({"queue": "q", "data": "x".repeat(1_000_000)}))["id"].clone();
    let mut slow = connect(&broker);
    let ask = slow.frame("GetJob", json!({"id": id}));
    // 150 MB of answers: more than may wait here and in both systems' buffers.
    for _ in 0..150 {
        if !slow.try_raw(&ask) {
            break;
        }
    }
    assert_eq!(other.call("Ping", json!({}))["ok"], true);
    let mut answers = 0;
    while slow.read().is_some() {
        answers += 1;
    }
    assert!(answers < 150, "everything was answered");
}

#[test]
fn a_stop_answers_what_has_arrived_and_a_restart_finds_it() {
    let disk = SimDisk::default();
    let broker = start(&disk, &[]);
    let mut client = connect(&broker);
    assert_eq!(client.call("PUSH", json!({"queue": "q", "data": 1, "jobId": "kept"}))["ok"], true);
    let parked = client.send("PULL", json!({"queue": "none", "timeout": 15_000}));
    assert_eq!(parked, 2);
    let handle = broker.handle();
    broker.stop();
    assert_eq!(client.read(), None);
    assert_eq!(handle.status(), BrokerStatus::Stopped);
    let broker = start(&disk, &[]);
    assert_eq!(connect(&broker).call("GetState", json!({"id": "kept"}))["state"], "waiting");
}
