//! Order of delivery, delays, parked pulls, release when a connection ends (protocol-core.md 2.5, 5.1 to 5.4, 6.5, 6.6).

use crate::bench::{Bench, text};
use serde_json::{Value as Json, json};

/// The custom ids of the jobs that come out of queue `q`, in order.
fn drained(bench: &mut Bench) -> String {
    let answer = bench.ok(&json!({"cmd": "PULLB", "queue": "q", "count": 100}));
    let ids = answer["jobs"].as_array().expect("a list").iter().map(|job| text(&job["id"]));
    ids.collect::<Vec<_>>().join(" ")
}

#[test]
fn jobs_come_by_priority_then_the_newest_lifo_then_by_moment_then_by_insertion() {
    let mut bench = Bench::new();
    for (id, fields) in [
        ("z", json!({})),
        ("y", json!({})),
        ("low", json!({"priority": -5})),
        ("high", json!({"priority": 5})),
        ("lifo1", json!({"lifo": true})),
        ("lifo2", json!({"lifo": true})),
        ("highlifo", json!({"priority": 5, "lifo": true})),
        ("early", json!({"timestamp": crate::bench::START - 10})),
        ("later", json!({"delay": 1, "priority": 9})),
        ("most", json!({"priority": 1_000_000})),
        ("least", json!({"priority": -1_000_000})),
    ] {
        bench.push(crate::bench::merged(json!({"jobId": id}), fields));
    }
    assert_eq!(drained(&mut bench), "most highlifo high lifo2 lifo1 early z y low least");
    bench.at(1);
    assert_eq!(drained(&mut bench), "later");
}

#[test]
fn a_changed_priority_and_lifo_count_at_once() {
    let mut bench = Bench::new();
    for id in ["a", "b", "c"] {
        bench.push(json!({"jobId": id}));
    }
    bench.ok(&json!({"cmd": "ChangePriority", "id": "c", "priority": 1}));
    bench.ok(&json!({"cmd": "ChangePriority", "id": "b", "priority": 0, "lifo": true}));
    assert_eq!(drained(&mut bench), "c b a");
}

#[test]
fn a_delayed_job_is_visible_exactly_at_its_moment_and_wakes_who_waits() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a", "delay": 400}));
    assert_eq!(bench.state("a"), "delayed");
    assert_eq!(bench.at(399).pull(json!({})).0, "");
    bench.park(2, &json!({"cmd": "PULL", "queue": "q", "timeout": 1000}));
    bench.through(5_000);
    let (conn, answer) = bench.late.remove(0);
    assert_eq!(
        (conn, &answer["job"]["id"], &answer["job"]["startedAt"]),
        (2, &json!("a"), &json!((crate::bench::START + 400) as f64))
    );
    // A matured job comes before one that was added later and is due later.
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "soon", "delay": 10}));
    bench.at(5).push(json!({"jobId": "later", "delay": 6}));
    bench.at(20).push(json!({"jobId": "now"}));
    assert_eq!(drained(&mut bench), "soon later now");
}

/// A queue in which nothing is ready, and what is there is job `a`.
fn nothing_ready(what: &str) -> Bench {
    let mut bench = Bench::new();
    let add = |more: Json| crate::bench::merged(json!({"jobId": "a", "backoff": 50, "maxAttempts": 3}), more);
    match what {
        "no job" => {}
        "delayed" => drop(bench.push(add(json!({"delay": 50})))),
        "active" => {
            bench.push(add(json!({})));
            bench.pull(json!({}));
        }
        "leased" => {
            bench.push(add(json!({})));
            bench.lock(500);
        }
        "completed" | "failed" => {
            bench.push(add(json!({"maxAttempts": 1})));
            bench.pull(json!({}));
            bench.ok(&json!({"cmd": if what == "failed" { "FAIL" } else { "ACK" }, "id": "a"}));
        }
        "blocked" => {
            bench.push(json!({"jobId": "first"}));
            bench.pull(json!({}));
            bench.push(add(json!({"dependsOn": ["first"]})));
        }
        "paused" => {
            bench.push(add(json!({})));
            bench.ok(&json!({"cmd": "Pause", "queue": "q"}));
        }
        _ => panic!("unknown: {what}"),
    }
    bench
}

#[test]
fn everything_that_makes_a_job_ready_wakes_a_parked_pull() {
    let of_job = |cmd: &str| Some(json!({"cmd": cmd, "id": "a"}));
    let of_queue = |cmd: &str| Some(json!({"cmd": cmd, "queue": "q"}));
    // What is there, what is asked, and how much time passes then.
    let cases = [
        ("no job", Some(json!({"cmd": "PUSH", "queue": "q", "jobId": "a"})), 0),
        ("no job", Some(json!({"cmd": "PUSHB", "queue": "q", "jobs": [{"customId": "a"}]})), 0),
        ("delayed", None, 50),
        ("delayed", of_job("Promote"), 0),
        ("delayed", of_queue("PromoteJobs"), 0),
        ("delayed", of_job("MoveToWait"), 0),
        ("delayed", Some(json!({"cmd": "ChangeDelay", "id": "a", "delay": 0})), 0),
        ("active", of_job("MoveToWait"), 0),
        ("active", Some(json!({"cmd": "MoveToDelayed", "id": "a", "delay": 70})), 70),
        ("active", of_job("FAIL"), 400),
        ("active", None, 45_000),
        ("leased", None, 5_000),
        ("paused", of_queue("Resume"), 0),
        ("blocked", Some(json!({"cmd": "ACK", "id": "first"})), 0),
        ("failed", of_queue("RetryDlq"), 0),
        ("failed", of_job("MoveToWait"), 0),
        ("completed", of_queue("RetryCompleted"), 0),
    ];
    for (what, asked, time) in cases {
        let mut bench = nothing_ready(what);
        bench.park(2, &json!({"cmd": "PULL", "queue": "q", "timeout": 60_000}));
        assert!(bench.late.is_empty(), "{what}: nothing is there yet");
        let answer = asked.as_ref().map(|asked| bench.ok(asked));
        bench.through(time);
        let answers: Vec<_> = bench.late.iter().map(|(conn, answer)| (*conn, text(&answer["job"]["id"]))).collect();
        assert_eq!(answers, [(2, "a".to_owned())], "{what}, {asked:?}: {answer:?}");
    }
    let mut bench = nothing_ready("active");
    bench.park(2, &json!({"cmd": "PULL", "queue": "q", "timeout": 60_000}));
    bench.drop_conn(1);
    assert_eq!(bench.late.len(), 1, "the end of its connection");
}

#[test]
fn parked_pulls_are_served_in_order_and_end_with_their_time() {
    let mut bench = Bench::new();
    bench.park(2, &json!({"cmd": "PULL", "queue": "q", "timeout": 100, "owner": "w"}));
    bench.park(3, &json!({"cmd": "PULLB", "queue": "q", "timeout": 300, "count": 5}));
    bench.park(4, &json!({"cmd": "PULL", "queue": "q", "timeout": 500}));
    assert!(bench.through(99).late.is_empty());
    let (conn, answer) = bench.through(100).late.remove(0);
    assert_eq!((conn, answer), (2, json!({"ok": true, "job": null, "token": null})));
    bench.ok(&json!({"cmd": "PUSHB", "queue": "q", "jobs": [{"customId": "a"}, {"customId": "b"}, {"customId": "c"}]}));
    let late = std::mem::take(&mut bench.late);
    assert_eq!(
        late.iter().map(|(conn, _)| *conn).collect::<Vec<_>>(),
        [3],
        "the batch's jobs go to the first who asked for many"
    );
    assert_eq!(late[0].1["jobs"].as_array().map(Vec::len), Some(3));
    assert!(late[0].1.get("tokens").is_none(), "no owner, no tokens");
    let (conn, answer) = bench.through(500).late.remove(0);
    assert_eq!((conn, answer), (4, json!({"ok": true, "job": null})));
}

#[test]
fn a_bulk_pull_answers_with_what_is_there_and_a_token_for_each() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a"}));
    bench.push(json!({"jobId": "b"}));
    let answer = bench.ok(&json!({"cmd": "PULLB", "queue": "q", "count": 5, "owner": "w", "timeout": 1000}));
    let tokens: Vec<String> = answer["tokens"].as_array().expect("tokens").iter().map(text).collect();
    assert_eq!((answer["jobs"].as_array().map(Vec::len), tokens.len()), (Some(2), 2));
    assert!(tokens[0] != tokens[1] && tokens.iter().all(|token| token.len() == 36));
    bench.ok(&json!({"cmd": "ACK", "id": answer["jobs"][1]["id"], "token": tokens[1]}));
    assert_eq!(
        bench.ok(&json!({"cmd": "PULLB", "queue": "q", "count": 1.2, "owner": "w"})),
        json!({"ok": true, "jobs": [], "tokens": []})
    );
    assert_eq!(
        bench.ok(&json!({"cmd": "PULL", "queue": "never", "owner": ""})),
        json!({"ok": true, "job": null}),
        "an empty owner is none"
    );
}

#[test]
fn a_paused_queue_gives_nothing() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a"}));
    bench.ok(&json!({"cmd": "Pause", "queue": "q"}));
    assert_eq!(bench.pull(json!({})).0, "");
    bench.push(json!({"jobId": "b"}));
    bench.ok(&json!({"cmd": "Resume", "queue": "q"}));
    assert_eq!(drained(&mut bench), "a b");
}

#[test]
fn a_connections_jobs_go_back_as_they_were_unless_the_lease_or_the_stall_detection_decides() {
    for (pull, renew, after) in [
        (json!({"owner": "w"}), false, "waiting"),
        (json!({"owner": "w"}), true, "active"),
        (json!({}), false, "waiting"),
        (json!({}), true, "waiting"),
        (json!({"detach": true}), false, "active"),
        (json!({"detach": true, "owner": "w"}), false, "waiting"),
    ] {
        let mut bench = Bench::new();
        bench.push(json!({"jobId": "a", "delay": 5}));
        bench.at(10);
        let (_, token) = bench.pull(pull.clone());
        if renew {
            // Over another connection: the renewal belongs to the lease.
            bench.conn(9).ok(&json!({"cmd": "JobHeartbeat", "id": "a", "token": token}));
        }
        bench.events();
        bench.at(20).drop_conn(1);
        assert_eq!(bench.state("a"), after, "{pull} renewed: {renew}");
        let job = bench.job("a");
        assert_eq!((&job["attempts"], &job["stallCount"], bench.events().len()), (&json!(0), &json!(0), 0), "{pull}");
        if after == "waiting" {
            let moments =
                json!([job["runAt"], job["startedAt"], job["lastHeartbeat"], job["timeline"].as_array().map(Vec::len)]);
            let wanted = [(crate::bench::START + 5) as f64, (crate::bench::START + 20) as f64];
            assert_eq!(moments, json!([wanted[0], null, wanted[1], 2]), "{pull}: the old place, no further entry");
            let refusal = bench.refusal(&json!({"cmd": "ACK", "id": "a", "token": token}));
            assert_eq!(refusal, "Job not found or not in processing state: a");
        }
    }
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a"}));
    bench.ok(&json!({"cmd": "PULLB", "queue": "q", "count": 1, "detach": true}));
    assert_eq!(bench.drop_conn(1).state("a"), "waiting", "a bulk pull cannot detach");
}

#[test]
fn parked_pulls_go_with_their_connection() {
    let mut bench = Bench::new();
    bench.park(2, &json!({"cmd": "PULL", "queue": "q", "timeout": 1000}));
    bench.drop_conn(2);
    bench.push(json!({"jobId": "a"}));
    assert_eq!((bench.state("a").as_str(), bench.through(2_000).late.len()), ("waiting", 0));
}

#[test]
fn a_job_that_is_not_taken_in_time_is_dropped_at_the_next_millisecond() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a", "ttl": 100}));
    bench.push(json!({"jobId": "late", "ttl": 100, "delay": 300}));
    bench.push(json!({"jobId": "taken", "ttl": 0}));
    assert_eq!(bench.at(100).state("a"), "waiting");
    bench.events();
    bench.at(101);
    assert_eq!([bench.state("a"), bench.state("late"), bench.state("taken")], ["unknown", "unknown", "unknown"]);
    assert_eq!((bench.counts()["waiting"].clone(), bench.order()), (json!(0), "reply reply reply reply".to_owned()));
    // Active jobs do not expire, but one that comes back too late does.
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a", "ttl": 100}));
    bench.pull(json!({}));
    assert_eq!(bench.at(200).state("a"), "active");
    bench.ok(&json!({"cmd": "MoveToWait", "id": "a"}));
    assert_eq!(bench.state("a"), "unknown");
}

#[test]
fn a_job_that_has_expired_when_it_is_added_reaches_no_worker() {
    let mut bench = Bench::new();
    bench.park(2, &json!({"cmd": "PULL", "queue": "q", "timeout": 1000}));
    bench.push(json!({"jobId": "a", "ttl": 100, "timestamp": crate::bench::START - 101}));
    assert!(bench.late.is_empty());
    assert_eq!((bench.pull(json!({})).0, bench.state("a")), (String::new(), "unknown".to_owned()));
}

#[test]
fn a_pull_of_many_long_payloads_brings_fewer_and_the_others_stay() {
    let mut bench = Bench::new();
    let data = "x".repeat(1024 * 1024);
    for _ in 0..20 {
        bench.push(json!({"data": data}));
    }
    let brought = |bench: &mut Bench| {
        bench.ok(&json!({"cmd": "PULLB", "queue": "q", "count": 20}))["jobs"].as_array().expect("a list").len()
    };
    assert_eq!((brought(&mut bench), brought(&mut bench), brought(&mut bench)), (16, 4, 0));
}
