//! What no client can take too much of: connections, commands in progress, frames in a time, events that wait for it.

#![allow(clippy::unwrap_used)] // A failed step is a failed test.

mod kit;

use kit::{Client, connect, problem, problems, start, start_with};
use onceover_broker::config::RateLimit;
use onceover_broker::limits::{PROBLEMS_MAX, PROBLEMS_OF_ONE_MAX, TURN_COMMANDS_MAX};
use onceover_store::SimDisk;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[test]
fn one_connection_too_many_is_told_and_closed() {
    let broker = start_with(&SimDisk::default(), |config| config.connections_max = 2);
    let (mut first, second) = (connect(&broker), connect(&broker));
    assert_eq!(first.call("Ping", json!({}))["ok"], true);
    let mut third = connect(&broker);
    assert_eq!(third.read(), Some(json!({"ok": false, "error": "Too many connections (max 2)"})));
    assert_eq!(third.read(), None);
    assert_eq!(problem(&broker, "turned away").problem.text, "Too many connections (max 2)");
    drop(second);
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let answer = connect(&broker).call("Ping", json!({}));
        if answer["ok"] == true {
            break;
        }
        assert!(Instant::now() < deadline, "there is room again, but: {answer}");
    }
    assert_eq!(first.call("Ping", json!({}))["ok"], true);
}

#[test]
fn request_ids_of_any_length_come_back_and_do_not_pile_up() {
    let broker = start(&SimDisk::default(), &[]);
    let mut client = connect(&broker);
    let long = "r".repeat(3_000_000);
    for _ in 0..3 {
        client.send_as(&long, "PULL", json!({"queue": "q", "timeout": 60_000}));
    }
    client.send("Ping", json!({}));
    assert!(client.is_silent(Duration::from_millis(300)), "nine megabytes of ids are in progress already");
    connect(&broker).call("PUSH", json!({"queue": "q", "data": {}}));
    assert_eq!(client.read().unwrap()["reqId"], json!(long));
    assert_eq!(client.read().unwrap()["data"]["pong"], true, "it was read once there was room");
}

#[test]
fn a_rate_is_limited_when_it_is_asked_for_and_one_problem_tells() {
    let limit = RateLimit { frames_max: 3, window: Duration::from_secs(60) };
    let broker = start_with(&SimDisk::default(), |config| config.connection.rate_limit = Some(limit));
    let mut client = connect(&broker);
    let answers: Vec<Value> = (0..6).map(|_| client.call("Ping", json!({}))).collect();
    assert!(answers[..3].iter().all(|answer| answer["ok"] == true));
    assert_eq!(answers[5], json!({"ok": false, "error": "Rate limit exceeded", "reqId": "6"}));
    assert_eq!(connect(&broker).call("Ping", json!({}))["ok"], true, "others have a window of their own");
    problem(&broker, "rate limit");
    assert_eq!(problems(&broker).len(), 1);
}

#[test]
fn every_kind_of_problem_is_kept_with_its_bytes_and_only_so_many() {
    let broker = start(&SimDisk::default(), &["token"]);
    let mut client = connect(&broker);
    assert_eq!(client.call("Ping", json!({}))["ok"], false);
    assert_eq!(client.call("Auth", json!({"token": "wrong"}))["ok"], false);
    assert_eq!(client.call("Auth", json!({"token": "token"}))["ok"], true);
    client.raw(b"\x00\x00\x00\x03\xc1\xc1\xc1");
    client.read();
    client.call("Nonsense", json!({}));
    client.call("PUSH", json!({"queue": "a b", "data": {}}));
    client.raw(b"GET / HTTP/1.1\r\n\r\n");
    while client.read().is_some() {}
    let told = problems(&broker);
    let labels: Vec<_> = told.iter().rev().map(|entry| entry.problem.label).collect();
    let expected = ["not authenticated", "refused auth", "bad frame", "unknown command", "bad field", "HTTP"];
    assert_eq!(labels, expected);
    for entry in &told {
        let secret = entry.problem.label == "refused auth";
        assert_eq!(entry.problem.bytes.is_empty(), secret, "{entry:?}");
        assert!(entry.client.conn.0 == 1 && entry.at >= entry.client.connected_at, "{entry:?}");
    }
    let mut noisy = connect(&broker);
    assert_eq!(noisy.call("Auth", json!({"token": "token"}))["ok"], true);
    (0..PROBLEMS_MAX).for_each(|_| drop(noisy.call("Nonsense", json!({}))));
    assert!(problems(&broker).len() <= 2 * PROBLEMS_OF_ONE_MAX, "before and after its program was found");
    assert!(problems(&broker).len() >= PROBLEMS_OF_ONE_MAX);
}

/// Resident memory of this process, in bytes.
#[cfg(target_os = "linux")]
fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[cfg(target_os = "linux")]
#[test]
fn a_subscriber_that_never_reads_costs_a_bounded_amount_and_nobody_waits_for_it() {
    const EVENTS: usize = 300_000;
    const TOGETHER: usize = 2_000;
    let broker = start(&SimDisk::default(), &[]);
    let subscribe = || -> Client {
        let mut client = connect(&broker);
        assert_eq!(client.call("SubscribeEvents", json!({"queue": "q"}))["ok"], true);
        client
    };
    let (mut slow, mut quick) = (subscribe(), subscribe());
    let (mut producer, mut bystander) = (connect(&broker), connect(&broker));
    let before = resident_bytes();
    let reader = std::thread::spawn(move || (0..EVENTS).all(|_| quick.read().unwrap()["type"] == "event"));
    let pause = ("Pause", json!({"queue": "q"}));
    let mut slowest = Duration::ZERO;
    for _ in 0..EVENTS / TOGETHER {
        producer.send_together(&vec![pause.clone(); TOGETHER]);
        let asked = Instant::now();
        assert_eq!(bystander.call("Ping", json!({}))["ok"], true);
        slowest = slowest.max(asked.elapsed());
        assert!((0..TOGETHER).all(|_| producer.read().unwrap()["ok"] == true));
    }
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 200 * 1024 * 1024, "{} MiB more than before", grown / 1024 / 1024);
    assert!(slowest < Duration::from_secs(5), "a bystander waited {slowest:?}");
    assert!(reader.join().unwrap(), "the other subscriber gets everything");
    problem(&broker, "slow subscriber");
    let mut read = 0;
    let last = loop {
        let message = slow.read().expect("the reason comes before the end");
        if message["event"]["eventType"] == "unsubscribed" {
            break message;
        }
        read += 1;
    };
    assert!(read > 50_000 && read < EVENTS, "{read} events came first");
    let error = last["event"]["error"].as_str().unwrap();
    assert!(
        error.contains("too many events") && last["event"]["jobId"] == "" && last["event"]["queue"] == "q",
        "{last}"
    );
    assert_eq!(slow.read(), None, "so that its client connects and subscribes again");
}

#[test]
fn a_long_batch_is_answered_as_one_and_others_come_in_between() {
    let broker = start(&SimDisk::default(), &[]);
    let mut client = connect(&broker);
    let jobs: Vec<Value> =
        (0..3 * TURN_COMMANDS_MAX).map(|at| json!({"data": "x".repeat(50), "customId": at.to_string()})).collect();
    client.send("PUSHB", json!({"queue": "q", "jobs": jobs}));
    client.send("Count", json!({"queue": "q"}));
    let answer = client.read().unwrap();
    let ids: Vec<_> = answer["ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect();
    assert!(ids.iter().cloned().eq((0..3 * TURN_COMMANDS_MAX).map(|at| at.to_string())));
    assert_eq!(client.read().unwrap()["count"], 3 * TURN_COMMANDS_MAX, "what came behind it saw all of it");
}

#[test]
fn a_refusal_in_a_long_batch_is_its_answer_and_what_came_before_stays() {
    let broker = start(&SimDisk::default(), &[]);
    let mut client = connect(&broker);
    let key = json!({"uniqueKey": "k", "dedup": {"ttl": 60_000, "extend": true}});
    let mut first = key.clone();
    first.as_object_mut().unwrap().extend([("queue".to_owned(), json!("q")), ("data".to_owned(), json!({}))]);
    assert_eq!(client.call("PUSH", first)["ok"], true);
    assert_ne!(client.call("PULL", json!({"queue": "q"}))["job"], Value::Null);
    let mut jobs = vec![json!({"data": "x".repeat(100)}); 3 * TURN_COMMANDS_MAX];
    jobs[TURN_COMMANDS_MAX + 10].as_object_mut().unwrap().extend(key.as_object().unwrap().clone());
    let answer = client.call("PUSHB", json!({"queue": "q", "jobs": jobs}));
    assert_eq!(answer["error"], "Duplicate unique_key (extended TTL)", "{answer}");
    assert_eq!(client.call("Count", json!({"queue": "q"}))["count"], TURN_COMMANDS_MAX + 10);
}
