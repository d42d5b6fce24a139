//! Whole queues and the registry of queues and workers (protocol-admin.md 0.5, 2, 9; D-1, D-2, D-3, D-10).

use crate::bench::{Bench, START, merged, text};
use serde_json::{Value as Json, json};

fn queues(bench: &mut Bench) -> Json {
    bench.ok(&json!({"cmd": "ListQueues"}))["queues"].clone()
}

fn clean(bench: &mut Bench, more: Json) -> Vec<String> {
    let answer = bench.ok(&merged(json!({"cmd": "Clean", "queue": "q"}), more));
    let ids: Vec<String> = answer["ids"].as_array().expect("ids").iter().map(text).collect();
    assert_eq!(answer["count"], ids.len());
    ids
}

fn owner(bench: &mut Bench, key: &str) -> Json {
    let request = json!({"cmd": "GetDeduplicationJobId", "queue": "q", "deduplicationId": key});
    bench.ok(&request)["data"]["jobId"].clone()
}

#[test]
fn queues_are_listed_in_the_order_in_which_they_came_also_after_a_restart() {
    let mut bench = Bench::new();
    // A queue that was only asked about is none.
    bench.park(9, &json!({"cmd": "PULL", "queue": "zoo", "timeout": 60_000}));
    for name in ["m", "a", "zoo", "b"] {
        bench.ok(&json!({"cmd": "PUSH", "queue": name, "delay": 900_000}));
    }
    bench.ok(&json!({"cmd": "Pause", "queue": "0"}));
    bench.ok(&json!({"cmd": "SetStallConfig", "queue": "1", "config": {"maxStalls": 9}}));
    let order = json!(["m", "a", "zoo", "b", "0", "1"]);
    assert_eq!(queues(&mut bench), order);
    bench.restart(1);
    assert_eq!(queues(&mut bench), order);
    bench.ok(&json!({"cmd": "Obliterate", "queue": "m"}));
    bench.ok(&json!({"cmd": "PUSH", "queue": "m"}));
    assert_eq!(queues(&mut bench), json!(["a", "zoo", "b", "0", "1", "m"]), "it came anew");
}

#[test]
fn questions_and_changes_of_nothing_make_no_queue() {
    let mut bench = Bench::new();
    let commands = [
        "Resume",
        "IsPaused",
        "Drain",
        "Obliterate",
        "Count",
        "GetJobCounts",
        "PromoteJobs",
        "RetryCompleted",
        "RetryDlq",
        "PurgeDlq",
        "Dlq",
        "GetDlqStats",
        "GetDlqConfig",
        "GetStallConfig",
        "SetStallConfig",
        "GetJobs",
    ];
    for cmd in commands {
        bench.ok(&json!({"cmd": cmd, "queue": "q"}));
    }
    bench.ok(&json!({"cmd": "SetStallConfig", "queue": "q", "config": {"maxStalls": 3, "unknown": 1}}));
    assert_eq!(queues(&mut bench), json!([]));
}

#[test]
fn an_empty_queue_without_settings_is_forgotten_and_no_other() {
    let mut bench = Bench::new();
    let prepare: [(&str, Json); 6] = [
        ("paused", json!({"cmd": "Pause"})),
        ("stalls", json!({"cmd": "SetStallConfig", "config": {"maxStalls": 1}})),
        ("dead", json!({"cmd": "SetDlqConfig", "config": {"maxAge": 5}})),
        ("waits", json!({"cmd": "PUSH"})),
        (
            "key",
            json!({"cmd": "PUSH", "jobId": "k", "uniqueKey": "k", "dedup": {"ttl": 900_000}, "removeOnComplete": true}),
        ),
        ("empty", json!({"cmd": "PUSH", "jobId": "e"})),
    ];
    for (queue, request) in prepare {
        bench.ok(&merged(request, json!({"queue": queue})));
    }
    bench.ok(&json!({"cmd": "PULL", "queue": "key"}));
    bench.ok(&json!({"cmd": "ACK", "id": "k"}));
    bench.ok(&json!({"cmd": "Cancel", "id": "e"}));
    assert_eq!(
        bench.through(11_000).ok(&json!({"cmd": "ListQueues"}))["queues"],
        json!(["paused", "stalls", "dead", "waits", "key"])
    );
    bench.ok(&json!({"cmd": "Resume", "queue": "paused"}));
    bench.ok(&json!({"cmd": "SetStallConfig", "queue": "stalls", "config": {"maxStalls": 3}}));
    bench.ok(&json!({"cmd": "SetDlqConfig", "queue": "dead", "config": {"maxAge": 604_800_000}}));
    bench.through(22_000);
    assert_eq!(queues(&mut bench), json!(["waits", "key"]), "what is set back is nothing set");
}

#[test]
fn clean_removes_what_is_in_the_state_and_old_enough_then_it_counts() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "active"}));
    bench.pull(json!({}));
    for (at, id, fields) in [
        (10, "w1", json!({"uniqueKey": "k1"})),
        (20, "d1", json!({"delay": 900_000, "uniqueKey": "k2"})),
        (30, "p1", json!({"priority": 5})),
        (40, "w2", json!({})),
    ] {
        bench.at(at).push(merged(fields, json!({"jobId": id})));
    }
    bench.at(100);
    for (more, wanted) in [
        (json!({"grace": 91}), vec![]),
        (json!({"grace": 0, "limit": 0}), vec![]),
        (json!({"grace": 0, "limit": -3}), vec![]),
        (json!({"grace": 0, "limit": {"$nan": true}}), vec![]),
        (json!({"grace": 0, "state": "active"}), vec![]),
        (json!({"grace": 0, "state": "waiting-children"}), vec![]),
        (json!({"grace": 0, "state": "nonsense"}), vec![]),
        // The oldest of all is waiting; 2.9.5 would take that one.
        (json!({"grace": 0, "state": "delayed", "limit": 1}), vec!["d1"]),
        (json!({"grace": 0, "state": "prioritized"}), vec!["p1"]),
        (json!({"grace": 60, "limit": 1.9}), vec!["w1"]),
        (json!({"grace": 0, "state": "wait", "limit": null}), vec!["w2"]),
    ] {
        assert_eq!(clean(&mut bench, more.clone()), wanted, "{more}");
    }
    assert_eq!((owner(&mut bench, "k1"), owner(&mut bench, "k2")), (json!(null), json!(null)), "keys go along");
    assert_eq!(bench.state("active"), "active");
}

#[test]
fn clean_takes_ended_jobs_by_their_end() {
    let mut bench = Bench::new();
    for (at, id) in [(0, "a"), (10, "b"), (20, "c"), (30, "d")] {
        bench.at(at).push(json!({"jobId": id}));
    }
    for (at, ends) in [(100, "ACK"), (200, "FAIL"), (300, "ACK"), (400, "FAIL")] {
        let (id, _) = bench.at(at).pull(json!({}));
        bench.ok(&json!({"cmd": ends, "id": id, "unrecoverable": true}));
    }
    bench.at(500);
    assert_eq!(clean(&mut bench, json!({"grace": 250, "state": "completed"})), ["a"]);
    assert_eq!(clean(&mut bench, json!({"grace": 0, "state": "failed", "limit": 1})), ["b"]);
    assert_eq!(clean(&mut bench, json!({"grace": 0, "state": "completed"})), ["c"]);
    assert_eq!(bench.ok(&json!({"cmd": "GetResult", "id": "c"})).get("result"), None);
    assert_eq!(bench.state("d"), "failed");
}

#[test]
fn drain_leaves_all_but_what_waits() {
    let mut bench = Bench::new();
    for (id, fields) in [
        ("active", json!({})),
        ("w", json!({"uniqueKey": "k"})),
        ("d", json!({"delay": 900_000})),
        ("p", json!({"priority": 1})),
        ("blocked", json!({"dependsOn": ["active"]})),
    ] {
        bench.push(merged(fields, json!({"jobId": id})));
        if id == "active" {
            bench.pull(json!({}));
        }
    }
    bench.events();
    assert_eq!(bench.ok(&json!({"cmd": "Drain", "queue": "q"})), json!({"ok": true, "count": 3}));
    assert_eq!(bench.events(), Vec::<Json>::new());
    assert_eq!(owner(&mut bench, "k"), json!(null));
    assert_eq!([bench.state("active"), bench.state("blocked")], ["active", "waiting-children"]);
}

#[test]
fn the_oldest_delayed_jobs_are_promoted() {
    let mut bench = Bench::new();
    for (at, id, delay) in [(0, "a", 5_000), (1, "b", 3_000), (2, "c", 4_000)] {
        bench.at(at).push(json!({"jobId": id, "delay": delay}));
    }
    let promote = |bench: &mut Bench, count: Json| {
        bench.ok(&json!({"cmd": "PromoteJobs", "queue": "q", "count": count}))["count"].clone()
    };
    for nothing in [json!(0), json!(-1), json!(0.9), json!({"$nan": true})] {
        assert_eq!(promote(&mut bench, nothing.clone()), 0, "{nothing}");
    }
    bench.events();
    assert_eq!(promote(bench.at(10), json!(1.9)), 1);
    assert_eq!(bench.events(), Vec::<Json>::new());
    assert_eq!([bench.state("a"), bench.state("b")], ["waiting", "delayed"], "by their add, not by their moment");
    assert_eq!(bench.job("a")["runAt"], json!((START + 10) as f64));
    assert_eq!(promote(&mut bench, json!({"$undefined": true})), 2);
}

#[test]
fn completed_jobs_run_once_more() {
    let mut bench = Bench::new();
    for (at, id) in [(0, "a"), (10, "b"), (20, "c")] {
        bench.at(at).push(json!({"jobId": id, "uniqueKey": id, "priority": 1}));
        bench.pull(json!({}));
        bench.ok(&json!({"cmd": "ACK", "id": id, "result": 5}));
    }
    let retry = |bench: &mut Bench, more: Json| {
        bench.ok(&merged(json!({"cmd": "RetryCompleted", "queue": "q"}), more))["count"].clone()
    };
    assert_eq!(bench.ok(&json!({"cmd": "RetryCompleted", "queue": "other", "id": "a"}))["count"], 0);
    for nothing in [json!({"id": "nobody"}), json!({"count": 0}), json!({"count": -2}), json!({"timestamp": START - 1})]
    {
        assert_eq!(retry(&mut bench, nothing.clone()), 0, "{nothing}");
    }
    bench.events();
    assert_eq!(retry(bench.at(30), json!({"timestamp": START + 10, "count": 1})), 1);
    assert_eq!(bench.events(), Vec::<Json>::new());
    let job = bench.job("a");
    let shown =
        json!([job["state"], job["attempts"], job["progress"], job["startedAt"], job["completedAt"], job["runAt"]]);
    assert_eq!(shown, json!(["prioritized", 0, 0, null, null, (START + 30) as f64]));
    assert_eq!(job.get("returnvalue"), None);
    assert_eq!(owner(&mut bench, "a"), "a");
    // Its key belongs to another job now.
    let other = bench.push(json!({"uniqueKey": "b"}));
    assert_eq!(retry(&mut bench, json!({"id": "b"})), 0);
    assert_eq!(retry(&mut bench, json!({})), 1, "only c");
    assert_eq!((owner(&mut bench, "b"), bench.state("b")), (json!(other), "completed".to_owned()));
}

fn register(bench: &mut Bench, more: Json) -> Json {
    bench.ok(&merged(json!({"cmd": "RegisterWorker", "name": "n", "queues": ["q"], "workerId": "w"}), more))["data"]
        .clone()
}

fn workers(bench: &mut Bench) -> Json {
    bench.ok(&json!({"cmd": "ListWorkers"}))["data"].clone()
}

#[test]
fn a_worker_that_registers_again_belongs_to_its_new_connection() {
    let mut bench = Bench::new();
    let first = register(bench.conn(1), json!({"startedAt": START - 5, "hostname": "h", "pid": 7}));
    let again = register(bench.at(50).conn(2), json!({"name": "other", "queues": ["r"], "concurrency": 3}));
    assert_eq!((&again["name"], &again["registeredAt"]), (&first["name"], &json!((START - 5) as f64)));
    assert_eq!(
        json!([again["queues"], again["concurrency"], again["lastSeen"]]),
        json!([["r"], 3, (START + 50) as f64])
    );
    bench.drop_conn(1);
    assert_eq!(workers(bench.conn(3))["stats"]["total"], 1, "the old connection took nothing along");
    bench.drop_conn(2);
    assert_eq!(workers(&mut bench)["stats"]["total"], 0);
}

#[test]
fn silent_workers_are_stale_then_gone_and_totals_outlive_them() {
    let mut bench = Bench::new();
    register(&mut bench, json!({"concurrency": 4}));
    register(&mut bench, json!({"workerId": "v", "concurrency": 2}));
    let beat = |bench: &mut Bench, processed: i64, failed: i64| {
        bench.ok(&json!({"cmd": "Heartbeat", "id": "w", "activeJobs": 3, "processed": processed, "failed": failed}))
    };
    assert_eq!(beat(bench.at(1_000), 5, 1)["data"], json!({"ok": true}));
    beat(bench.at(2_000), 9, 1);
    let listed = workers(bench.at(31_000));
    let status = |at: usize| text(&listed["workers"][at]["status"]);
    assert_eq!((status(0), status(1)), ("stale".to_owned(), "active".to_owned()), "v was heard of 31 s ago");
    assert_eq!(listed["workers"][1]["uptime"], 31_000);
    assert_eq!(
        listed["stats"],
        json!({"total": 2, "active": 1, "totalProcessed": 9, "totalFailed": 1, "activeJobs": 3, "concurrencySlots": 6})
    );
    // The same worker, started anew, counts from 0.
    beat(&mut bench, 2, 0);
    assert_eq!(workers(bench.through(96_000))["stats"]["total"], 1, "v is gone after 90 s");
    bench.ok(&json!({"cmd": "UnregisterWorker", "workerId": "w"}));
    assert_eq!(bench.refusal(&json!({"cmd": "UnregisterWorker", "workerId": "w"})), "Worker not found");
    assert_eq!(bench.refusal(&json!({"cmd": "Heartbeat", "id": "w"})), "Worker not found");
    let stats = workers(&mut bench)["stats"].clone();
    assert_eq!(json!([stats["total"], stats["totalProcessed"], stats["totalFailed"]]), json!([0, 11, 1]));
}
