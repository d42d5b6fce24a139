//! PUSH and PUSHB: every option, every text of a refusal.

use crate::decode::decode;
use crate::testing::{ask, command, hex, pack, refusal, unpack};
use onceover_engine::calendar::{Pattern, Zone};
use onceover_engine::command::{Add, Backoff, Command, DedupRequest, NewJob, RareOptions, Repeat};
use onceover_engine::names::JobId;
use onceover_engine::schedule::Timing;
use onceover_engine::time::{Millis, Timestamp};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// A PUSH to queue `q` with these further fields.
fn push(fields: &Json) -> Json {
    let mut request = json!({"cmd": "PUSH", "queue": "q", "name": "n"});
    request.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    request
}

fn add(fields: &Json) -> Add {
    match command(&push(fields)) {
        Command::Push { add, replay_of: None } => add,
        other => panic!("{other:?}"),
    }
}

fn spec(fields: &Json) -> NewJob {
    (*add(fields).spec).clone()
}

fn rare(fields: &Json) -> RareOptions {
    *spec(fields).rare.expect("rare options")
}

#[test]
fn defaults_are_those_of_the_protocol() {
    let add = add(&json!({}));
    let expected = NewJob {
        queue: "q".into(),
        name: "n".into(),
        dedup: DedupRequest::default(),
        priority: 0,
        delay: Millis(0),
        max_attempts: 3,
        backoff: Backoff { delay: Millis(1000), fixed: false, as_object: false },
        lifo: false,
        remove_on_complete: false,
        remove_on_fail: false,
        durable: false,
        rare: None,
    };
    assert_eq!(add, Add::new(expected));
}

#[test]
fn nil_and_undefined_are_absent() {
    let names = [
        "priority",
        "delay",
        "maxAttempts",
        "timeout",
        "ttl",
        "backoff",
        "stallTimeout",
        "jobId",
        "uniqueKey",
        "dedup",
        "dependsOn",
        "parentId",
        "childrenIds",
        "tags",
        "lifo",
        "removeOnComplete",
        "removeOnFail",
        "durable",
        "stackTraceLimit",
        "keepLogs",
        "sizeLimit",
        "debounceId",
        "debounceTtl",
        "timestamp",
        "repeat",
    ];
    let plain = spec(&json!({}));
    for name in names {
        assert_eq!(spec(&json!({name: null})), plain, "{name} nil");
        assert_eq!(spec(&json!({name: {"$undefined": true}})), plain, "{name} undefined");
    }
    for name in ["data", "groupId", "groupMaxSize", "name"] {
        assert!(ask(&push(&json!({name: {"$undefined": true}}))).is_ok(), "{name} undefined");
    }
}

#[test]
fn options_are_taken_over() {
    let add = add(&json!({
        "jobId": "id-1", "priority": 7, "delay": 1500.9, "maxAttempts": 5, "lifo": 1, "removeOnComplete": {"count": 5},
        "removeOnFail": true, "durable": "yes",
    }));
    let spec = &add.spec;
    assert_eq!(add.custom_id, Some(JobId::parse("id-1")));
    assert_eq!((spec.priority, spec.delay, spec.max_attempts), (7, Millis(1500), 5));
    assert!(spec.lifo && spec.remove_on_complete && spec.remove_on_fail && spec.durable);
    let rare = rare(&json!({
        "timeout": 10, "ttl": 20, "stallTimeout": 30, "timestamp": 1_700_000_000_000_i64, "dependsOn": ["a", 5],
        "parentId": "pending", "childrenIds": ["c"], "tags": ["t"], "stackTraceLimit": 0, "keepLogs": 3, "sizeLimit": 1.5,
        "debounceId": "d", "debounceTtl": 9, "failParentOnFailure": true,
    }));
    let expected = RareOptions {
        timeout: Some(Millis(10)),
        ttl: Some(Millis(20)),
        stall_timeout: Some(Millis(30)),
        timestamp: Some(Timestamp(1_700_000_000_000)),
        depends_on: vec![JobId::parse("a"), JobId::parse("5")],
        parent_id: Some(JobId::parse("pending")),
        children_ids: vec![JobId::parse("c")],
        tags: vec!["t".to_owned()],
        stack_trace_limit: Some(0),
        keep_logs: Some(3.0),
        size_limit: Some(1.5),
        debounce_id: Some("d".to_owned()),
        debounce_ttl: Some(9.0),
        fail_parent_on_failure: true,
        ..RareOptions::default()
    };
    assert_eq!(rare, expected);
}

#[test]
fn backoff_is_a_number_or_an_object() {
    let backoff = |value: Json| spec(&json!({"backoff": value})).backoff;
    assert_eq!(backoff(json!(5)), Backoff { delay: Millis(5), fixed: false, as_object: false });
    let fixed = Backoff { delay: Millis(0), fixed: true, as_object: true };
    assert_eq!(backoff(json!({"type": "fixed", "delay": 0, "maxDelay": 7})), fixed);
    let exponential = Backoff { delay: Millis(9), fixed: false, as_object: true };
    assert_eq!(backoff(json!({"type": "exponential", "delay": 9})), exponential);
}

#[test]
fn bad_options_are_named_with_the_known_texts() {
    let long = "x".repeat(257);
    for (fields, text) in [
        (json!({"queue": null}), "Queue name is required"),
        (json!({"queue": ""}), "Queue name is required"),
        (json!({"queue": 5}), "queue must be a string"),
        (json!({"queue": long}), "Queue name too long (max 256 characters)"),
        (json!({"queue": "a b"}), "Queue name contains invalid characters"),
        (json!({"queue": "ä"}), "Queue name contains invalid characters"),
        (json!({"name": null}), "Job name must be a non-empty string of at most 256 characters"),
        (json!({"name": ""}), "Job name must be a non-empty string of at most 256 characters"),
        (json!({"name": 5}), "Job name must be a non-empty string of at most 256 characters"),
        (json!({"name": long}), "Job name must be a non-empty string of at most 256 characters"),
        (json!({"priority": "1"}), "priority must be a number"),
        (json!({"priority": 1.5}), "priority must be an integer"),
        (json!({"priority": -1_000_001}), "priority must be at least -1000000"),
        (json!({"priority": 1_000_001}), "priority must be at most 1000000"),
        (json!({"delay": -1}), "delay must be at least 0"),
        (json!({"delay": 31_536_000_001_i64}), "delay must be at most 31536000000"),
        (json!({"delay": true}), "delay must be a number"),
        (json!({"timeout": 86_400_001}), "timeout must be at most 86400000"),
        (json!({"maxAttempts": 0}), "maxAttempts must be at least 1"),
        (json!({"maxAttempts": 1001}), "maxAttempts must be at most 1000"),
        (json!({"maxAttempts": 2.5}), "maxAttempts must be an integer"),
        (json!({"ttl": -1}), "ttl must be at least 0"),
        (json!({"backoff": "x"}), "backoff must be a number"),
        (json!({"backoff": -1}), "backoff must be at least 0"),
        (json!({"backoff": {"type": "linear"}}), "backoff.type must be 'fixed' or 'exponential'"),
        (json!({"backoff": {"delay": 5}}), "backoff.type must be 'fixed' or 'exponential'"),
        (json!({"backoff": {"type": "fixed"}}), "backoff.delay is required"),
        (json!({"backoff": {"type": "fixed", "delay": -1}}), "backoff.delay must be at least 0"),
        (json!({"backoff": {"type": "fixed", "delay": 86_400_001}}), "backoff.delay must be at most 86400000"),
        (json!({"dependsOn": "a"}), "dependsOn must be an array"),
        (json!({"dependsOn": [true]}), "dependsOn must be an array of strings"),
        (json!({"tags": [1]}), "tags must be an array of strings"),
        (json!({"jobId": true}), "jobId must be a string"),
        (json!({"jobId": 1.5}), "jobId must be a string"),
        (json!({"jobId": ["x"]}), "jobId must be a string"),
        (json!({"groupId": null}), "groupId must be a string"),
        (json!({"groupId": ""}), "groupId must be a non-empty string"),
        (json!({"groupId": long}), "groupId must be at most 256 characters"),
        (json!({"groupId": "a\0"}), "groupId must not contain NUL characters"),
        (json!({"groupId": "g", "priority": -1}), "group.priority must be an integer between 0 and 2097151"),
        (json!({"groupMaxSize": 0}), "group.maxSize must be a positive safe integer"),
        (json!({"groupMaxSize": null}), "group.maxSize must be a positive safe integer"),
        // The order of checks is part of the texts.
        (json!({"maxAttempts": 0, "delay": -1}), "delay must be at least 0"),
        (json!({"name": null, "ttl": -1}), "ttl must be at least 0"),
    ] {
        assert_eq!(refusal(&push(&fields)), text, "{fields}");
    }
    let nan = [&hex("83 a3636d64 a450555348 a57175657565 a171 a564656c6179")[..], &hex("cb7ff8000000000000")].concat();
    assert_eq!(decode(&nan).result.unwrap_err().text, "delay must be a finite number");
}

#[test]
fn names_are_counted_in_utf16_units() {
    assert_eq!(&*spec(&json!({"name": "\u{1f600}".repeat(128)})).name, "\u{1f600}".repeat(128));
    assert!(ask(&push(&json!({"name": "\u{1f600}".repeat(129)}))).is_err());
    assert!(ask(&push(&json!({"name": "\u{20ac}".repeat(256)}))).is_ok());
}

#[test]
fn keys_and_their_strategies_are_taken_over() {
    let request = |fields: Json| {
        let add = add(&fields);
        add.dedup_key.map(|key| (key, add.spec.dedup.clone()))
    };
    let with = |key: &str, dedup| (Arc::<str>::from(key), dedup);
    let plain = |key| with(key, DedupRequest::default());
    assert_eq!(request(json!({"uniqueKey": "k"})), Some(plain("k")));
    assert_eq!(request(json!({"uniqueKey": 5})), Some(plain("5")));
    assert_eq!(request(json!({"uniqueKey": 5_000_000_000_f64})), Some(plain("5000000000")));
    assert_eq!(request(json!({"uniqueKey": ""})), None);
    assert_eq!(request(json!({"dedup": {"key": "k"}})), Some(plain("k")));
    assert_eq!(request(json!({"uniqueKey": "a", "dedup": {"key": "b", "hash": true}})), Some(plain("a")));
    assert_eq!(request(json!({"uniqueKey": "", "dedup": {"key": "b", "hash": true}})), Some(plain("b")));
    let undefined = json!({"$undefined": true});
    let dedup = json!({"ttl": 60_000.9, "extend": undefined, "replace": undefined, "other": 1});
    assert_eq!(
        request(json!({"uniqueKey": "k", "dedup": dedup})),
        Some(with("k", DedupRequest { ttl: Some(Millis(60_000)), ..DedupRequest::default() }))
    );
    let dedup = json!({"ttl": 0, "extend": true, "replace": true, "keepLastIfActive": true});
    let all = DedupRequest { ttl: Some(Millis(0)), extend: true, replace: true, keep_last: true, from_hash: false };
    assert_eq!(request(json!({"uniqueKey": "k", "dedup": dedup})), Some(with("k", all)));
}

#[test]
fn the_payload_can_be_the_key() {
    let key = |fields: Json| {
        let add = add(&fields);
        assert!(add.spec.dedup.from_hash);
        add.dedup_key.unwrap().to_string()
    };
    let expected = "a3424541d61275908fee2830bc2ebdbad4c40bf901690794e85f521eadb631df";
    assert_eq!(key(json!({"data": {"userId": 42}, "dedup": {"hash": true}})), expected);
    assert_eq!(key(json!({"dedup": {"hash": true}})), key(json!({"data": null, "dedup": {"hash": true}})));
    // Neither the name nor the envelope it came in counts.
    let legacy = json!({"name": {"$undefined": true}, "data": {"userId": 42, "name": "n"}, "dedup": {"hash": true}});
    assert_eq!(key(legacy), expected);
}

#[test]
fn bad_keys_and_strategies_are_named() {
    for (fields, text) in [
        (json!({"uniqueKey": ["x"]}), "uniqueKey must be a string"),
        (json!({"uniqueKey": {"a": 1}}), "uniqueKey must be a string"),
        (json!({"uniqueKey": true}), "uniqueKey must be a string"),
        (json!({"uniqueKey": 1.5}), "uniqueKey must be a string"),
        (json!({"uniqueKey": "k", "dedup": "x"}), "dedup must be an object"),
        (json!({"uniqueKey": "k", "dedup": {"ttl": -1}}), "dedup.ttl must be at least 0"),
        (json!({"uniqueKey": "k", "dedup": {"ttl": "100"}}), "dedup.ttl must be a number"),
        (json!({"uniqueKey": "k", "dedup": {"extend": 2}}), "dedup.extend must be a boolean"),
        (json!({"uniqueKey": "k", "dedup": {"replace": "yes"}}), "dedup.replace must be a boolean"),
        (json!({"uniqueKey": "k", "dedup": {"hash": 1}}), "dedup.hash must be a boolean"),
        (json!({"uniqueKey": "k", "dedup": {"keepLastIfActive": 1}}), "dedup.keepLastIfActive must be a boolean"),
        (json!({"dedup": {"key": true}}), "dedup.key must be a string"),
        (json!({"dedup": {}}), "Deduplication requires either hash: true or a custom key"),
        (json!({"dedup": {"ttl": 5}}), "Deduplication requires either hash: true or a custom key"),
        (json!({"uniqueKey": "", "dedup": {"ttl": 5}}), "Deduplication requires either hash: true or a custom key"),
    ] {
        assert_eq!(refusal(&push(&fields)), text, "{fields}");
    }
}

#[test]
fn repeats_are_intervals_or_patterns() {
    let repeat = rare(&json!({"repeat": {"every": 0.5, "limit": 2, "immediately": false}})).repeat;
    assert_eq!(repeat, Some(Repeat { limit: Some(2), ..Repeat::new(Timing::Every(Millis(1))) }));
    let repeat = rare(&json!({"repeat": {"every": 5, "offset": -7.5, "jobId": "mine"}})).repeat.unwrap();
    assert_eq!((repeat.offset, repeat.job_id.as_deref()), (Millis(-8), Some("mine")));
    let repeat = rare(&json!({"repeat": {"every": 5, "offset": 0, "jobId": ""}})).repeat.unwrap();
    assert_eq!(repeat, Repeat::new(Timing::Every(Millis(5))));
    let repeat = rare(&json!({"repeat": {"pattern": "0 8 * * *", "tz": "UTC", "startDate": 5.5, "endDate": 7}})).repeat;
    let zone = Some(Zone::parse("UTC").unwrap());
    let pattern = Timing::Calendar(Pattern::parse("0 8 * * *", zone).unwrap());
    assert_eq!(repeat, Some(Repeat { start: Some(Timestamp(5)), end: Some(Timestamp(7)), ..Repeat::new(pattern) }));
    for (fields, text) in [
        (json!({"repeat": {}}), "repeat requires exactly one of every or pattern"),
        (json!({"repeat": {"every": 5, "pattern": "* * * * *"}}), "repeat requires exactly one of every or pattern"),
        (
            json!({"repeat": {"pattern": "bad"}}),
            "Invalid repeat pattern: Cron expression must have 5 fields, or 6 fields with leading seconds",
        ),
        (json!({"repeat": {"pattern": "* * * * *", "tz": "Nope"}}), "Invalid repeat pattern: unknown time zone 'Nope'"),
        (json!({"repeat": {"pattern": 5}}), "repeat.pattern must be a string"),
        (json!({"repeat": {"every": 5, "startDate": "x"}}), "repeat.startDate must be a finite timestamp"),
        (json!({"repeat": {"every": 5, "endDate": "2027"}}), "repeat.endDate must be a finite timestamp"),
        (json!({"repeat": {"every": 5, "immediately": 7}}), "repeat.immediately must be a boolean"),
        (json!({"repeat": {"every": 5, "offset": "7"}}), "repeat.offset must be a finite number"),
        (json!({"repeat": {"every": 5, "offset": 1e300}}), "repeat.offset must be at most 31536000000 either way"),
        (json!({"repeat": {"every": 5, "jobId": true}}), "repeat.jobId must be a string"),
        (json!({"repeat": {"every": 0}}), "repeat.every must be a positive finite number"),
        (json!({"repeat": {"every": "5"}}), "repeat.every must be a positive finite number"),
        (json!({"repeat": 5}), "repeat must be an object"),
        (
            json!({"repeat": {"every": 5}, "jobId": "j"}),
            "repeat jobs cannot use JobOptions.jobId; use repeat.jobId instead",
        ),
        (
            json!({"repeat": {"every": 5}, "dependsOn": ["j"]}),
            "repeat jobs cannot participate in parent or dependency relationships",
        ),
    ] {
        assert_eq!(refusal(&push(&fields)), text, "{fields}");
    }
}

#[test]
fn a_parent_is_joined_that_the_data_names_too() {
    let asked = |fields: &Json| {
        let rare = rare(fields);
        (rare.parent_id.map(|id| id.to_string()), rare.parent_queue.map(|queue| queue.to_string()))
    };
    let some = |text: &str| Some(text.to_owned());
    let linked = |id: &str| json!({"parentId": id, "data": {"__parentId": id, "__parentQueue": "q2"}});
    assert_eq!(asked(&linked("p")), (some("p"), some("q2")));
    assert_eq!(asked(&linked("pending")), (some("pending"), some("q2")));
    assert_eq!(asked(&json!({"parentId": "p"})), (some("p"), None));
    for data in [
        json!({"__parentId": "other", "__parentQueue": "q"}),
        json!({"__parentId": "p"}),
        json!({"__parentId": "p", "__parentQueue": ""}),
        json!({"__parentId": "p", "__parentQueue": 1}),
        json!(["__parentId", "p"]),
    ] {
        assert_eq!(asked(&json!({"parentId": "p", "data": data})), (some("p"), None), "{data}");
    }
    assert_eq!(rare(&json!({"tags": ["t"], "data": {"__parentId": "p", "__parentQueue": "q"}})).parent_queue, None);
}

#[test]
fn payloads_travel_as_bytes() {
    // Binary, a timestamp extension, an undefined member, text that is not UTF-8, a 64-bit integer.
    let data = hex("85 a161 c401ff a162 d6ff00000001 a163 d40000 a164 a1ff a165 cf7fffffffffffffff");
    let frame = [&hex("84 a3636d64 a450555348 a57175657565 a171 a46e616d65 a16e a464617461")[..], &data].concat();
    let Ok(crate::request::Request::Engine(Command::Push { add, .. })) = decode(&frame).result else {
        panic!("a push")
    };
    assert_eq!(add.data.as_deref(), Some(&data[..]));
}

#[test]
fn payloads_are_bounded_by_their_json() {
    let data_of = |text_bytes: usize| push(&json!({"data": "x".repeat(text_bytes)}));
    // The quotes count.
    assert!(ask(&data_of(10 * 1024 * 1024 - 2)).is_ok());
    assert_eq!(refusal(&data_of(10 * 1024 * 1024 - 1)), "Job data too large (max 10MB)");
    let control = |count: usize| push(&json!({"data": "\u{1}".repeat(count)}));
    assert!(ask(&control(1_747_626)).is_ok());
    assert_eq!(refusal(&control(1_747_627)), "Job data too large (max 10MB)");
}

#[test]
fn older_clients_put_the_name_into_the_data() {
    let legacy = |data: Json| {
        let command = command(&json!({"cmd": "PUSH", "queue": "q", "data": data}));
        let Command::Push { add, .. } = command else { panic!("a push") };
        (add.spec.name.to_string(), unpack(add.data.as_deref().unwrap()))
    };
    assert_eq!(legacy(json!({"name": "n", "a": 1})), ("n".to_owned(), json!({"a": 1})));
    assert_eq!(legacy(json!({"name": "n", "payload": 5})), ("n".to_owned(), json!({"payload": 5})));
    assert_eq!(legacy(json!({"name": 5})), ("default".to_owned(), json!({"name": 5})));
    assert_eq!(legacy(json!("text")), ("default".to_owned(), json!("text")));
    let empty = json!({"cmd": "PUSH", "queue": "q", "data": {"name": ""}});
    assert_eq!(refusal(&empty), "Job name must be a non-empty string of at most 256 characters");
    // With a name of its own the data stays as it is.
    assert_eq!(unpack(add(&json!({"data": {"name": "d"}})).data.as_deref().unwrap()), json!({"name": "d"}));
}

#[test]
fn batches_are_checked_as_a_whole() {
    let bulk = |jobs: Json| json!({"cmd": "PUSHB", "queue": "q", "jobs": jobs});
    let Command::PushBulk { adds } =
        command(&bulk(json!([{"customId": "c", "jobId": "ignored"}, {"name": "n", "data": 1}])))
    else {
        panic!("a batch")
    };
    assert_eq!(adds.len(), 2);
    assert_eq!(adds[0].custom_id, Some(JobId::parse("c")));
    assert_eq!((&*adds[1].spec.name, adds[1].data.as_deref()), ("n", Some(&[1][..])));
    assert_eq!(command(&bulk(json!([]))), Command::PushBulk { adds: vec![] });
    for (jobs, text) in [
        (json!(null), "jobs is required"),
        (json!(5), "jobs must be an array"),
        (json!([{}, 5]), "jobs[1]: job must be an object"),
        (json!([{}, {"priority": "x"}]), "jobs[1]: priority must be a number"),
        (json!([{"uniqueKey": "k", "dedup": {"ttl": -5}}]), "jobs[0]: dedup.ttl must be at least 0"),
    ] {
        assert_eq!(refusal(&bulk(jobs)), text);
    }
    let many = |count: usize| bulk(json!(vec![json!({}); count]));
    assert!(ask(&many(100_000)).is_ok());
    assert_eq!(refusal(&many(100_001)), "jobs must have at most 100000 entries");
}

#[test]
fn refused_adds_say_what_could_be_read() {
    let refused = |request: Json| *decode(&pack(&request)).result.unwrap_err().add.expect("a refused add");
    let add = refused(push(&json!({"priority": "x", "jobId": "j", "uniqueKey": "k"})));
    assert_eq!((add.queue.as_deref(), add.name.as_deref()), (Some("q"), Some("n")));
    assert_eq!((add.key.as_deref(), add.custom_id.as_deref()), (Some("k"), Some("j")));
    let add = refused(
        json!({"cmd": "PUSHB", "queue": "q", "jobs": [{"name": "a"}, {"name": "b", "ttl": -1, "customId": 5}]}),
    );
    assert_eq!((add.queue.as_deref(), add.name.as_deref()), (Some("q"), Some("b")));
    assert_eq!((add.key.as_deref(), add.custom_id.as_deref()), (None, Some("5")));
    assert_eq!(refused(push(&json!({"queue": "?"}))).queue.as_deref(), Some("?"));
}
