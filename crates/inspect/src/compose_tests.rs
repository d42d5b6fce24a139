//! The composer against a broker: drafts, dry runs, runs of many adds over TCP, the log as a file.

use crate::testing::Bench;
use crate::view::FailureCode;
use onceover_engine::command::{Command, Payload};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// `{"n": 1 in 64 bits, "b": bytes, "x": NaN, "t": not UTF-8}`
const ODD: &[u8] = b"\x84\xa1n\xcf\0\0\0\0\0\0\0\x01\xa1b\xc4\x02\x01\x02\xa1x\xcb\x7f\xf8\0\0\0\0\0\0\xa1t\xa1\xff";

fn with(request: &str, add: &Value, more: Value) -> Value {
    let mut whole = json!({ "type": request });
    let members = whole.as_object_mut().unwrap();
    members.extend(add.as_object().unwrap().clone());
    members.extend(more.as_object().unwrap().clone());
    whole
}

fn payload_of(bench: &Bench, seq: u64) -> Payload {
    let broker = bench.broker.as_ref().unwrap().handle();
    let data = bench.wait(broker.view(move |core| core.activity.get(seq)?.decided()?.add.data.clone()));
    data.unwrap().unwrap()
}

/// An add whose payload no form can write.
fn add_odd(bench: &Bench, data: &[u8]) {
    let add =
        crate::send::add(&crate::request::NewAdd { queue: "q".into(), ..Default::default() }, Some(data)).unwrap();
    let broker = bench.broker.as_ref().unwrap().handle();
    bench.wait(broker.act(Command::Push { add, replay_of: None })).unwrap();
}

#[test]
fn what_is_edited_changes_and_nothing_else() {
    let bench = Bench::new("edit");
    add_odd(&bench, ODD);
    let draft = bench.ask(json!({ "type": "draft", "seq": 1 }))["add"].clone();
    let text = bench.ask(json!({ "type": "addData", "seq": 1 }))["text"].as_str().unwrap().to_owned();
    assert!(bench.ask(with("sendAdd", &draft, json!({ "dataText": text })))["ok"].as_bool().unwrap());
    assert_eq!(&*payload_of(&bench, 2), ODD);
    let changed = text.replace("\"n\": 1", "\"n\": 2");
    bench.ask(with("sendAdd", &draft, json!({ "dataText": changed })));
    let mut wanted = b"\x84\xa1n\x02".to_vec();
    wanted.extend(&ODD[12..]);
    assert_eq!(&*payload_of(&bench, 3), wanted);
}

#[test]
fn a_dry_run_changes_nothing_and_says_what_then_happens() {
    let bench = Bench::new("dry");
    let add = json!({ "queue": "q", "dedupId": "k", "ttlMs": 60_000, "dataText": "1" });
    let first = bench.ask(with("dryRun", &add, json!({})));
    assert_eq!(
        (&first["decision"], &first["why"]),
        (&json!("created"), &json!("Created. No live job held `k` in `q`."))
    );
    assert_eq!(bench.ask(json!({ "type": "adds" }))["total"], json!(0), "a dry run is not logged");
    bench.ask(with("sendAdd", &add, json!({})));
    let again = bench.ask(with("dryRun", &add, json!({ "dataText": "2", "extend": true })));
    assert_eq!((&again["decision"], &again["facts"][0]["label"]), (&json!("extended"), &json!("data differs")));
    let sent = bench.ask(with("sendAdd", &add, json!({ "dataText": "2", "extend": true })));
    let row = bench.ask(json!({ "type": "add", "seq": sent["seq"] }))["row"].clone();
    assert_eq!((&row["decision"], &row["facts"][0]["label"]), (&again["decision"], &again["facts"][0]["label"]));
    let wrong = [
        (json!({ "queue": "" }), "queue", "Queue name is required"),
        (json!({ "attempts": 0 }), "maxAttempts", "maxAttempts must be at least 1"),
        (
            json!({ "dedupId": "", "extend": true }),
            "dedup.key",
            "Deduplication requires either hash: true or a custom key",
        ),
        (json!({ "dependsOn": ["nobody"] }), "dependsOn", "Dependency job not found: nobody"),
        (
            json!({ "dataText": "{" }),
            "data",
            "The data is not valid JSON: EOF while parsing an object at line 1 column 1",
        ),
    ];
    for (change, field, why) in wrong {
        let refused = bench.ask(with("dryRun", &add, change));
        assert_eq!((refused["field"].as_str(), refused["why"].as_str()), (Some(field), Some(why)));
        assert_eq!(refused["chip"], json!("rejected"));
    }
}

#[test]
fn a_command_is_read_from_its_text_or_told_what_is_wrong() {
    let bench = Bench::new("read");
    let read = |text: &str| bench.ask(json!({ "type": "readAdd", "text": text, "origin": 7 }));
    let good = read(
        "{\"cmd\": \"PUSH\", \"queue\": \"q\", \"dedup\": {\"key\": \"k\", \"ttl\": 5}, \"data\": {\"n\": 9007199254740993}, \"prio\": 1}",
    );
    let add = &good["add"];
    assert_eq!(
        (&add["queue"], &add["dedupId"], &add["ttlMs"], &add["origin"]),
        (&json!("q"), &json!("k"), &json!(5), &json!(7))
    );
    assert_eq!(add["dataText"], json!("{\n  \"n\": 9007199254740993\n}"));
    assert_eq!(good["ignored"], json!(["prio"]));
    let table = [
        ("{\"cmd\": \"PUSH\"}", "Queue name is required"),
        ("{\"queue\": \"q\"}", "cmd must be \"PUSH\""),
        ("{\"cmd\": \"PULL\", \"queue\": \"q\"}", "cmd must be \"PUSH\""),
        ("{\"cmd\": \"PUSH\", \"queue\": \"q\", \"priority\": 1.5}", "priority must be an integer"),
        ("[]", "The command must be an object."),
        ("{", "This is not valid JSON: EOF while parsing an object at line 1 column 1"),
    ];
    for (text, error) in table {
        assert_eq!((read(text)["error"].as_str(), &read(text)["add"]), (Some(error), &Value::Null), "{text}");
    }
}

/// The last run, once it has ended.
fn ended(bench: &Bench) -> Value {
    let began = Instant::now();
    loop {
        let run = bench.ask(json!({ "type": "run" }))["run"].clone();
        if run["going"] == json!(false) {
            return run;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{run}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_thousand_adds_over_sixteen_connections_make_one_job() {
    let bench = Bench::new("run");
    let broker = bench.broker.as_ref().unwrap().handle();
    let add = json!({ "queue": "q", "dedupId": "k", "ttlMs": 60_000, "dataText": "{\"n\": 1}" });
    let run = |times: u32, connections: u32, more: Value| {
        let add = with("", &add, more);
        json!({ "type": "startRun", "add": add, "times": times, "gapMs": 0, "connections": connections })
    };
    let deaf = bench.ask(run(1, 1, json!({})));
    assert_eq!(deaf["message"], json!("No client can connect to the broker now, so nothing was sent."));
    broker.listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    bench.ask(with("sendAdd", &add, json!({ "dedupId": "other", "tags": ["a"] })));
    let origin = bench.ask(json!({ "type": "draft", "seq": 1 }))["add"].clone();
    let started = bench.ask(run(1_000, 16, with("", &origin, json!({ "dedupId": "k" }))));
    assert_eq!(started["message"], json!("Sending 1,000 adds over 16 connections."));
    let run_1 = ended(&bench);
    assert_eq!(
        (&run_1["created"], &run_1["returned"], &run_1["rejected"]),
        (&json!(1), &json!(999), &json!(0)),
        "{run_1}"
    );
    let found = bench.ask(json!({ "type": "adds", "filter": "run:1", "limit": 1 }));
    assert_eq!(found["total"], json!(1_000));
    assert_eq!(found["rows"][0]["replayOf"], json!(1), "a row of a run points to its origin");
    let (sent, first) = (found["rows"][0]["seq"].clone(), bench.ask(json!({ "type": "add", "seq": 1 })));
    let replayed = bench.ask(json!({ "type": "add", "seq": sent }));
    let options = |add: &Value| {
        add["asked"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|option| option["name"] != "uniqueKey")
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(options(&replayed), options(&first));
    assert_eq!(&*payload_of(&bench, 1), &*payload_of(&bench, 2));
    let bad = bench.ask(run(1, 1, json!({ "attempts": 0 })));
    assert_eq!((&bad["ok"], &bad["message"]), (&json!(false), &json!("maxAttempts must be at least 1")));
    for (request, text) in
        [(run(0, 1, json!({})), "times: must be 1 to 1000"), (run(1, 17, json!({})), "connections: must be 1 to 16")]
    {
        assert_eq!(bench.refused(request).message, text);
    }
}

#[test]
fn a_run_can_be_stopped_and_is_alone() {
    let bench = Bench::new("stop");
    bench.broker.as_ref().unwrap().handle().listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let slow = json!({ "type": "startRun", "add": { "queue": "q" }, "times": 3, "gapMs": 60_000, "connections": 1 });
    assert_eq!(bench.ask(slow.clone())["ok"], json!(true));
    assert_eq!(bench.ask(slow)["message"], json!("Run 1 is still sending. Stop it, or wait for its end."));
    let began = Instant::now();
    while bench.ask(json!({ "type": "run" }))["run"]["answered"] == json!(0) {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(bench.ask(json!({ "type": "stopRun", "id": 1 }))["ok"], json!(true));
    let sentence = ended(&bench)["sentence"].as_str().unwrap().to_owned();
    assert!(sentence.starts_with("Stopped after 1 of 3 adds: 1 created, 0 returned, 0 rejected in "), "{sentence}");
    assert_eq!(bench.ask(json!({ "type": "stopRun", "id": 1 }))["ok"], json!(false));
}

#[test]
fn the_whole_log_becomes_a_file_and_can_be_forgotten() {
    let bench = Bench::new("export");
    for n in 0..450 {
        bench.add(json!({ "dedupId": format!("k{}", n % 300), "dataText": format!("{{\"n\": {n}}}"), "priority": 2 }));
    }
    add_odd(&bench, ODD);
    let (mut lines, mut after) = (Vec::new(), Value::Null);
    loop {
        let part = bench.ask(json!({
            "type": "exportAdds", "query": { "chip": "all", "filter": "" }, "format": "ndjson", "after": after
        }));
        let text = part["text"].as_str().unwrap();
        lines.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
        after = part["next"].clone();
        if after.is_null() {
            break;
        }
    }
    let seqs: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=451).rev().collect::<Vec<_>>());
    assert_eq!(crate::payload::parse(lines[0]["data"].as_str().unwrap(), Some(ODD)).unwrap(), ODD);
    let row = &lines[1];
    assert_eq!(
        (&row["decision"], &row["key"], &row["options"]["priority"]),
        (&json!("existing.key"), &json!("k149"), &json!(2))
    );
    assert_eq!(row["options"]["dedup"], json!({ "key": "k149", "ttl": 60_000 }));
    let few = json!({ "type": "exportAdds", "query": { "chip": "collapsed", "filter": "key:k1" }, "format": "csv", "after": null });
    let table = bench.ask(few)["text"].as_str().unwrap().to_owned();
    assert_eq!(table.matches("\r\n").count(), 2, "{table}");
    assert!(table.starts_with("seq,at,client,"));
    assert_eq!(bench.ask(json!({ "type": "clearLog" }))["ok"], json!(true));
    assert_eq!(bench.ask(json!({ "type": "adds" }))["total"], json!(0));
    assert_eq!(bench.ask(json!({ "type": "jobs" }))["total"], json!(301), "jobs stay");
    let broker = bench.broker.as_ref().unwrap().handle();
    let add = crate::testing::keyed(None);
    bench.wait(broker.act(Command::Push { add, replay_of: None })).unwrap();
    assert_eq!(bench.ask(json!({ "type": "adds", "limit": 1 }))["rows"][0]["seq"], json!(452), "numbers go on");
    assert_eq!(bench.refused(json!({ "type": "addData", "seq": 1 })).code, FailureCode::NotFound);
}
