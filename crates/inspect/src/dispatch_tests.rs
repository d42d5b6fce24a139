//! Whole requests against a broker with its data in a folder of its own: JSON in, JSON out.

use super::*;
use crate::testing::Bench;
use serde_json::json;

#[test]
fn a_request_that_makes_no_sense_is_refused_with_its_field() {
    let bench = Bench::new("refused");
    let table = [
        (json!(1), "the request must be an object"),
        (json!({}), "type: must name the request"),
        (json!({ "type": "add" }), "missing field `seq`"),
        (json!({ "type": "add", "seq": "x" }), "seq: invalid type: string \"x\", expected u64"),
        (json!({ "type": "keys", "chip": "all", "limit": -1 }), "limit: invalid value: integer `-1`, expected u32"),
        (json!({ "type": "usePort", "port": 0 }), "port: must be 1 to 65535"),
        (json!({ "type": "adds", "after": "x" }), "after: not a cursor of this list"),
        (json!({ "type": "keys", "after": "x" }), "after: not a cursor of this list"),
        (json!({ "type": "jobs", "state": "gone" }), "state: no job is gone, only owners of keys are"),
        (
            json!({ "type": "releaseKey", "queue": "q", "key": "", "ownerId": "a", "generation": 1 }),
            "key: must not be empty",
        ),
    ];
    for (request, message) in table {
        let failure = bench.refused(request);
        assert_eq!((failure.code, failure.message.as_str()), (FailureCode::BadRequest, message));
    }
    assert!(bench.refused(json!({ "type": "nonsense" })).message.contains("unknown variant `nonsense`"));
    for kind in ["adds", "keys", "jobs"] {
        assert_eq!(bench.refused(json!({ "type": kind, "filter": "a\"" })).code, FailureCode::BadFilter);
    }
    let missing = [
        json!({ "type": "add", "seq": 7 }),
        json!({ "type": "key", "queue": "q", "key": "k" }),
        json!({ "type": "releasePreview", "queue": "q", "key": "k" }),
        json!({ "type": "job", "id": "nobody" }),
    ];
    for request in missing {
        assert_eq!(bench.refused(request).code, FailureCode::NotFound);
    }
}

#[test]
fn an_add_and_its_repetition_are_listed_with_their_sentences() {
    let bench = Bench::new("listed");
    let first = bench.add(json!({}));
    assert_eq!((&first["ok"], &first["seq"]), (&json!(true), &json!(1)));
    assert_eq!(first["message"], "Created. No live job held `k` in `q`.");
    let second = bench.add(json!({ "dataText": "{\"n\": 2}" }));
    assert_eq!(second["jobId"], first["jobId"]);
    assert!(second["message"].as_str().unwrap().starts_with("Returned …"));

    let page = bench.ask(json!({ "type": "adds", "limit": 10, "since": 1 }));
    let decisions: Vec<&Value> = page["rows"].as_array().unwrap().iter().map(|row| &row["decision"]).collect();
    assert_eq!(decisions, ["existing.key", "created"]);
    assert_eq!(page["rows"][0]["client"], "UI");
    assert_eq!(page["rows"][0]["warn"], true);
    assert_eq!((&page["newer"], &page["newestSeq"], &page["hidden"]), (&json!(1), &json!(2), &json!(0)));
    assert_eq!(page["counts"], json!({ "all": 2, "collapsed": 1, "rejected": 0, "dataDiffers": 1, "replays": 0 }));
    let filtered = bench.ask(json!({ "type": "adds", "limit": 10, "filter": "decision:existing -key:other" }));
    assert_eq!((filtered["rows"].as_array().unwrap().len(), &filtered["hidden"]), (1, &json!(1)));

    let detail = bench.ask(json!({ "type": "add", "seq": 2 }));
    assert_eq!(detail["data"]["text"], "{\n  \"n\": 2\n}");
    assert_eq!(detail["ownerData"]["text"], "1");
    assert_eq!(detail["answered"], format!("{{\"ok\": true, \"id\": {}, \"duplicate\": \"default\"}}", first["jobId"]));
    let asked = json!([
        { "name": "queue", "value": "q" },
        { "name": "name", "value": "default" },
        { "name": "uniqueKey", "value": "k" },
        { "name": "dedup.ttl", "value": "60000" }
    ]);
    assert_eq!(detail["asked"], asked);
}

#[test]
fn pages_of_the_log_follow_each_other() {
    let bench = Bench::new("pages");
    for number in 0..5 {
        bench.add(json!({ "dedupId": format!("k{number}") }));
    }
    let (mut after, mut seen) = (Value::Null, Vec::new());
    loop {
        let page = bench.ask(json!({ "type": "adds", "limit": 2, "after": after }));
        seen.extend(page["rows"].as_array().unwrap().iter().map(|row| row["seq"].as_u64().unwrap()));
        after = page["next"].clone();
        if after.is_null() {
            break;
        }
    }
    assert_eq!(seen, [5, 4, 3, 2, 1]);
    let counts_only = bench.ask(json!({ "type": "adds", "limit": 0 }));
    assert_eq!((&counts_only["rows"], &counts_only["next"]), (&json!([]), &Value::Null));
}

#[test]
fn a_release_names_owner_and_generation_and_can_be_undone() {
    let bench = Bench::new("release");
    let first = bench.add(json!({}));
    let stale = bench.key("releaseKey");
    let second = bench.add(json!({ "replace": true }));
    let refused = bench.ask(stale);
    assert_eq!(
        (&refused["ok"], &refused["code"], &refused["jobId"]),
        (&json!(false), &json!("changed"), &second["jobId"])
    );
    assert!(refused["message"].as_str().unwrap().starts_with("This key changed while you looked: it belongs to …"));
    assert_ne!(first["jobId"], second["jobId"]);

    let preview = bench.ask(json!({ "type": "releasePreview", "queue": "q", "key": "k" }));
    assert!(preview["text"].as_str().unwrap().contains("The next add of `k` creates a second job"));
    let released = bench.ask(bench.key("releaseKey"));
    assert_eq!((&released["ok"], &released["message"]), (&json!(true), &json!("Released `k`.")));
    let again = json!({ "type": "releaseKey", "queue": "q", "key": "k", "ownerId": second["jobId"], "generation": 2 });
    assert_eq!(bench.ask(again)["code"], "gone");

    let undo = released["undo"].clone();
    assert_eq!(bench.ask(undo.clone())["ok"], true);
    assert_eq!(bench.key("x")["ownerId"], second["jobId"]);
    let taken = bench.ask(undo);
    assert_eq!((&taken["ok"], &taken["code"]), (&json!(false), &json!("keyTaken")));
}

#[test]
fn a_logged_add_is_sent_again() {
    let bench = Bench::new("replay");
    bench.add(json!({ "dataText": "{\"big\": 9007199254740993}", "priority": 5 }));
    let repeated = bench.ask(json!({ "type": "replayAdd", "seq": 1 }));
    assert_eq!((&repeated["ok"], &repeated["seq"]), (&json!(true), &json!(2)));
    assert_eq!(bench.ask(json!({ "type": "add", "seq": 2 }))["row"]["replayOf"], 1);
    bench.ask(bench.key("releaseKey"));
    let made = bench.ask(json!({ "type": "replayAdd", "seq": 1 }));
    assert!(made["message"].as_str().unwrap().starts_with("Created, but …"), "{made}");
    let job = bench.ask(json!({ "type": "job", "id": made["jobId"] }));
    assert_eq!((&job["data"]["text"], &job["priority"]), (&json!("{\n  \"big\": 9007199254740993\n}"), &json!(5)));
    assert_eq!(bench.ask(json!({ "type": "replayAdd", "seq": 99 }))["code"], "gone");
    let keys = bench.ask(json!({ "type": "keys", "limit": 10 }));
    assert_eq!(keys["rows"][0]["attention"][0]["code"], "twin");
    assert_eq!(keys["rows"][0]["attention"][0]["title"], "2 live jobs carry `k`");
}

#[test]
fn refused_adds_say_what_a_client_would_read() {
    let bench = Bench::new("rejected");
    let refused = bench.add(json!({ "queue": "a b" }));
    assert_eq!(
        (&refused["code"], &refused["message"]),
        (&json!("rejected"), &json!("Queue name contains invalid characters"))
    );
    bench.add(json!({}));
    bench.pull();
    let extended = bench.add(json!({ "extend": true }));
    assert_eq!((&extended["ok"], &extended["code"]), (&json!(false), &json!("rejected")));
    assert_eq!(extended["message"], "Duplicate unique_key (extended TTL)");
    assert!(extended["detail"].as_str().unwrap().contains("so it cannot be kept by `extend`"));
}

#[test]
fn keys_are_listed_in_order_and_counted() {
    let bench = Bench::new("keys");
    bench.add(json!({ "dedupId": "long", "ttlMs": 600_000 }));
    bench.add(json!({ "dedupId": "short", "ttlMs": 9_000 }));
    bench.add(json!({ "dedupId": "endless", "ttlMs": null }));
    bench.add(json!({ "dedupId": "lossy", "ttlMs": 700_000 }));
    bench.add(json!({ "dedupId": "lossy", "ttlMs": 700_000, "dataText": "2" }));
    bench.add(json!({ "dedupId": null, "ttlMs": null, "jobId": "order-1" }));
    let list = |request: Value| -> Vec<String> {
        let page = bench.ask(request);
        page["rows"].as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(list(json!({ "type": "keys", "limit": 10 })), ["lossy", "short", "long", "endless"]);
    assert_eq!(
        list(json!({ "type": "keys", "limit": 10, "sort": "key", "reverse": true })),
        ["short", "lossy", "long", "endless"]
    );
    assert_eq!(list(json!({ "type": "keys", "limit": 10, "chip": "expiring" })), ["short"]);
    assert_eq!(list(json!({ "type": "keys", "limit": 10, "chip": "noTtl" })), ["endless"]);
    assert_eq!(list(json!({ "type": "keys", "limit": 10, "chip": "jobIds" })), ["order-1"]);
    assert_eq!(list(json!({ "type": "keys", "limit": 10, "filter": "collapsed:>0" })), ["lossy"]);
    assert_eq!(list(json!({ "type": "keys", "limit": 10, "filter": "left:<1m" })), ["short"]);
    let page = bench.ask(json!({ "type": "keys", "limit": 1 }));
    let counts = json!({ "all": 4, "attention": 1, "expiring": 1, "noTtl": 1, "hot": 0, "jobIds": 1 });
    assert_eq!((&page["counts"], &page["total"]), (&counts, &json!(4)));
    assert_eq!(list(json!({ "type": "keys", "limit": 9, "after": page["next"] })), ["short", "long", "endless"]);
    let id = bench.ask(json!({ "type": "key", "queue": "q", "key": "order-1" }));
    assert_eq!((&id["row"]["kind"], &id["release"]["allowed"]), (&json!("jobId"), &json!(false)));
}

#[test]
fn jobs_are_shown_retried_promoted_and_removed_as_far_as_possible() {
    let bench = Bench::new("jobs");
    let delayed = bench.add(json!({ "delayMs": 60_000 }));
    let id = delayed["jobId"].clone();
    let page = bench.ask(json!({ "type": "jobs", "limit": 10, "state": "delayed", "filter": "key:k" }));
    assert_eq!((&page["rows"][0]["id"], &page["rows"][0]["key"]["held"]), (&id, &json!(true)));
    let retried = bench.ask(json!({ "type": "retryJob", "id": id }));
    assert_eq!(
        (&retried["code"], retried["message"].as_str().unwrap().contains("It is delayed")),
        (&json!("notPossible"), true)
    );
    assert_eq!(bench.ask(json!({ "type": "promoteJob", "id": id }))["ok"], true);
    assert_eq!(bench.ask(json!({ "type": "promoteJob", "id": id }))["code"], "notPossible");
    bench.pull();
    let active = bench.ask(json!({ "type": "job", "id": id }));
    assert_eq!((&active["row"]["state"], &active["row"]["holder"]["name"]), (&json!("active"), &json!("worker-1")));
    assert_eq!(bench.ask(json!({ "type": "removeJob", "id": id }))["code"], "notPossible");
    let other = bench.add(json!({ "dedupId": "other" }));
    assert_eq!(bench.ask(json!({ "type": "removeJob", "id": other["jobId"] }))["ok"], true);
    assert_eq!(bench.ask(json!({ "type": "removeJob", "id": other["jobId"] }))["code"], "gone");
    assert_eq!(bench.ask(json!({ "type": "queues" }))["rows"][0]["active"], 1);
    assert_eq!(bench.ask(json!({ "type": "pauseQueue", "queue": "q" }))["ok"], true);
    assert_eq!(bench.ask(json!({ "type": "queues" }))["rows"][0]["note"], "paused");
    assert_eq!(bench.ask(json!({ "type": "resumeQueue", "queue": "q" }))["ok"], true);
    assert_eq!(bench.ask(json!({ "type": "pauseQueue", "queue": "nothing" }))["code"], "gone");
}

#[test]
fn a_key_whose_worker_left_says_so_and_when_it_heals() {
    let bench = Bench::new("left");
    bench.add(json!({}));
    // Taken over no connection at all, as after the end of the one that took it.
    bench.pull();
    let key = bench.ask(json!({ "type": "key", "queue": "q", "key": "k" }));
    let attention = &key["row"]["attention"][0];
    assert_eq!((&attention["code"], &attention["severity"]), (&json!("worker_gone"), &json!("warn")));
    assert_eq!(attention["title"], "Owner is active but its worker left");
    // A lease of 30 s, and the sweep that finds it.
    assert!(attention["text"].as_str().unwrap().starts_with("Heals by itself in about 3"), "{attention}");
    assert_eq!((&key["worker"]["gone"], &key["release"]["risky"]), (&json!(true), &json!(true)));
    assert_eq!(bench.ask(json!({ "type": "overview" }))["counts"]["attention"], 1);
    assert_eq!(bench.ask(json!({ "type": "keys", "chip": "attention", "limit": 5 }))["total"], 1);
}

#[test]
fn the_overview_says_how_the_broker_stands() {
    let mut bench = Bench::new("overview");
    assert_eq!(bench.ask(json!({ "type": "overview" }))["broker"]["state"], "starting");
    let opened = bench.ask(json!({ "type": "retryPort" }));
    assert_eq!(opened["ok"], true, "{opened}");
    bench.add(json!({}));
    let overview = bench.ask(json!({ "type": "overview" }));
    assert_eq!(overview["broker"]["state"], "listening");
    assert_eq!((&overview["counts"]["adds"], &overview["counts"]["keys"]), (&json!(1), &json!(1)));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    assert_eq!(bench.ask(json!({ "type": "usePort", "port": port }))["code"], "notPossible");
    assert_eq!(bench.ask(json!({ "type": "clients" }))["processes"], json!([]));
    bench.broker.take().unwrap().stop();
    assert_eq!(bench.ask(json!({ "type": "overview" }))["broker"]["state"], "stopped");
    assert_eq!(bench.refused(json!({ "type": "queues" })).code, FailureCode::NotRunning);
}

#[test]
fn a_draft_sent_unchanged_repeats_the_add_it_was_made_from() {
    let bench = Bench::new("draft");
    bench.add(json!({ "priority": 3, "tags": ["a"], "dataText": "{\"n\": 9007199254740993}" }));
    let draft = bench.ask(json!({ "type": "draft", "seq": 1 }));
    assert_eq!((&draft["add"]["origin"], &draft["add"]["dataText"]), (&json!(1), &Value::Null));
    let mut send = draft["add"].clone();
    send["type"] = json!("sendAdd");
    let sent = bench.ask(send);
    assert_eq!(sent["seq"], json!(2));
    let both = [1, 2].map(|seq| bench.ask(json!({ "type": "add", "seq": seq })));
    assert_eq!(both[0]["asked"], both[1]["asked"]);
    assert_eq!(both[0]["data"], both[1]["data"]);
    assert_eq!(both[1]["row"]["replayOf"], json!(1));
    assert_eq!(bench.refused(json!({ "type": "draft", "seq": 9 })).code, FailureCode::NotFound);
}

#[test]
fn the_playground_needs_no_broker() {
    let closed = Closed {
        message: "The data file is in use.".to_owned(),
        addr: "127.0.0.1:6789".parse().unwrap(),
        data_file: "onceover.db".to_owned(),
        at: 0,
    };
    let inspector = Inspector::closed(closed);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let ask = |request| runtime.block_on(inspector.call(request)).unwrap();
    let scenarios = ask(json!({ "type": "scenarios" }));
    assert_eq!(scenarios["scenarios"].as_array().unwrap().len(), 8);
    ask(
        json!({ "type": "playground", "session": "w", "act": { "do": "load", "scenario": scenarios["scenarios"][3] } }),
    );
    for _ in 0..100 {
        ask(json!({ "type": "playground", "session": "w", "act": { "do": "step" } }));
    }
    let view = ask(json!({ "type": "playground", "session": "w", "act": { "do": "look" } }));
    assert_eq!(view["clock"], "done");
    assert_eq!(view["run"]["lanes"][1]["figures"]["ran"], "v4 ran last: the newest data. v2 and v3 did not run.");
    let bad = json!({ "type": "playground", "session": "w", "act": { "do": "jump" } });
    let failure = runtime.block_on(inspector.call(bad)).unwrap_err();
    assert!(failure.message.starts_with("act: unknown variant `jump`"), "{}", failure.message);
}
