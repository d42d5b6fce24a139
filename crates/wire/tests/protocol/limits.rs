//! Rate and concurrency of a queue (protocol-admin.md 3).

use crate::bench::{Bench, merged};
use serde_json::{Value as Json, json};

fn rate(bench: &mut Bench, fields: Json) {
    let answer = bench.ok(&merged(json!({"cmd": "RateLimit", "queue": "q"}), fields));
    assert_eq!(answer, json!({"ok": true}));
}

fn limits(bench: &mut Bench, fields: Json) -> Json {
    bench.ok(&merged(json!({"cmd": "GetQueueLimits", "queue": "q"}), fields))["data"]["limits"].clone()
}

fn add(bench: &mut Bench, count: usize) {
    (0..count).for_each(|at| drop(bench.push(json!({"jobId": format!("j{at}")}))));
}

fn takes(bench: &mut Bench, count: u32) -> usize {
    let answer = bench.ok(&json!({"cmd": "PULLB", "queue": "q", "count": count}));
    answer["jobs"].as_array().expect("jobs").len()
}

#[test]
fn a_queue_without_limits_says_so_and_is_not_made_by_asking() {
    let mut bench = Bench::new();
    let none = json!({"rateLimit": null, "rateLimitTtl": -2, "concurrencyLimit": null, "maxed": false});
    assert_eq!(limits(&mut bench, json!({})), none);
    assert_eq!(bench.ok(&json!({"cmd": "RateLimitClear", "queue": "q"})), json!({"ok": true}));
    assert_eq!(bench.ok(&json!({"cmd": "ClearConcurrency", "queue": "q"})), json!({"ok": true}));
    assert_eq!(bench.ok(&json!({"cmd": "ListQueues"}))["queues"], json!([]));
    rate(&mut bench, json!({"limit": "7"}));
    assert_eq!(bench.ok(&json!({"cmd": "ListQueues"}))["queues"], json!(["q"]));
    assert_eq!(limits(&mut bench, json!({}))["rateLimit"], json!({"max": 7, "duration": 1_000}));
}

#[test]
fn the_third_take_of_two_a_second_gets_nothing_and_who_waits_is_woken_by_the_token() {
    let mut bench = Bench::new();
    rate(&mut bench, json!({"limit": 2, "duration": 1_000, "ttl": {"$undefined": true}}));
    add(&mut bench, 5);
    assert_eq!((takes(&mut bench, 1), takes(&mut bench, 1), takes(&mut bench, 1)), (1, 1, 0));
    assert_eq!(limits(&mut bench, json!({}))["rateLimitTtl"], 500);
    assert_eq!(limits(&mut bench, json!({"maxJobs": 3}))["rateLimitTtl"], 0);
    bench.park(2, &json!({"cmd": "PULL", "queue": "q", "timeout": 3_000}));
    bench.through(499);
    assert_eq!(bench.late.len(), 0);
    bench.through(500);
    assert_eq!(bench.late.remove(0).1["job"]["id"], "j2");
}

#[test]
fn a_rate_with_a_ttl_ends_at_its_moment() {
    let mut bench = Bench::new();
    rate(&mut bench, json!({"limit": 1, "ttl": 400}));
    add(&mut bench, 3);
    assert_eq!(takes(&mut bench, 9), 1);
    assert_eq!(limits(&mut bench, json!({}))["rateLimitTtl"], 400);
    bench.park(2, &json!({"cmd": "PULL", "queue": "q", "timeout": 3_000}));
    bench.through(400);
    assert_eq!(bench.late.remove(0).1["job"]["id"], "j1");
    assert_eq!(limits(&mut bench, json!({}))["rateLimit"], json!(null));
}

#[test]
fn a_slot_is_free_again_after_every_way_out() {
    let mut bench = Bench::new();
    bench.ok(&json!({"cmd": "SetConcurrency", "queue": "q", "limit": 1}));
    let one = |bench: &mut Bench, way: &str| {
        assert_eq!(takes(bench, 9), 0, "{way}: the slot is taken");
        assert_eq!(limits(bench, json!({}))["maxed"], true);
    };
    for (way, request) in [
        ("acknowledged", json!({"cmd": "ACK", "id": "j0"})),
        ("failed", json!({"cmd": "FAIL", "id": "j0", "error": "x"})),
        ("unrecoverable", json!({"cmd": "FAIL", "id": "j0", "error": "x", "unrecoverable": true})),
        ("moved to wait", json!({"cmd": "MoveToWait", "id": "j0"})),
        ("moved to delayed", json!({"cmd": "MoveToDelayed", "id": "j0", "delay": 60_000})),
        ("parked", json!({"cmd": "MoveToWaitingChildren", "id": "j0"})),
        ("discarded", json!({"cmd": "Discard", "id": "j0"})),
    ] {
        add(&mut bench, 2);
        bench.pull(json!({}));
        one(&mut bench, way);
        bench.ok(&request);
        assert_eq!(takes(&mut bench, 9), 1, "{way}");
        bench.ok(&json!({"cmd": "Obliterate", "queue": "q"}));
        bench.ok(&json!({"cmd": "SetConcurrency", "queue": "q", "limit": 1}));
    }
    add(&mut bench, 2);
    bench.conn(5).pull(json!({}));
    one(&mut bench, "its connection ended");
    bench.drop_conn(5).conn(1);
    assert_eq!(takes(&mut bench, 9), 1, "its connection ended");
}

#[test]
fn a_slot_is_free_when_a_lease_is_lost_and_when_a_job_stalls() {
    for lock in [true, false] {
        let mut bench = Bench::new();
        bench.ok(&json!({"cmd": "SetConcurrency", "queue": "q", "limit": 1}));
        add(&mut bench, 1);
        if lock {
            bench.lock(1_000)
        } else {
            bench.pull(json!({}))
        };
        bench.push(json!({"jobId": "next", "priority": 5}));
        bench.park(2, &json!({"cmd": "PULL", "queue": "q", "timeout": 60_000}));
        bench.through(59_000);
        assert_eq!(bench.late.remove(0).1["job"]["id"], "next");
    }
}

#[test]
fn limits_survive_a_restart_and_nothing_is_active_after_it() {
    let mut bench = Bench::new();
    rate(&mut bench, json!({"limit": 5, "duration": 60_000}));
    bench.ok(&json!({"cmd": "SetConcurrency", "queue": "q", "limit": 2}));
    add(&mut bench, 5);
    assert_eq!(takes(&mut bench, 9), 2);
    bench.restart(1_000);
    let told = limits(&mut bench, json!({}));
    assert_eq!(told["rateLimit"], json!({"max": 5, "duration": 60_000}));
    assert_eq!((&told["concurrencyLimit"], &told["maxed"]), (&json!(2), &json!(false)));
}

#[test]
fn a_limit_of_nothing_stops_the_queue() {
    let mut bench = Bench::new();
    add(&mut bench, 1);
    for (set, clear) in [("SetConcurrency", "ClearConcurrency"), ("RateLimit", "RateLimitClear")] {
        bench.ok(&json!({"cmd": set, "queue": "q", "limit": 0}));
        assert_eq!(takes(&mut bench, 1), 0);
        bench.ok(&json!({"cmd": clear, "queue": "q"}));
    }
    assert_eq!(takes(&mut bench, 1), 1);
}

#[test]
fn parts_and_negative_numbers_are_taken_as_elsewhere() {
    let mut bench = Bench::new();
    rate(&mut bench, json!({"limit": 2.9, "duration": 0.5, "ttl": 0.5}));
    assert_eq!(limits(&mut bench, json!({}))["rateLimit"], json!({"max": 2, "duration": 1}));
    bench.ok(&json!({"cmd": "RateLimitClear", "queue": "q"}));
    add(&mut bench, 9);
    bench.ok(&json!({"cmd": "SetConcurrency", "queue": "q", "limit": 1.5}));
    assert_eq!(takes(&mut bench, 9), 2, "half a job more than one is a second one");
    bench.ok(&json!({"cmd": "ClearConcurrency", "queue": "q"}));
    for limit in [json!(0.5), json!(-1), json!("-3")] {
        rate(&mut bench, json!({"limit": limit}));
        assert_eq!(takes(&mut bench, 9), 0, "{limit}");
        bench.ok(&json!({"cmd": "RateLimitClear", "queue": "q"}));
        bench.ok(&json!({"cmd": "SetConcurrency", "queue": "q", "limit": -1}));
        assert_eq!(takes(&mut bench, 9), 0, "{limit}");
        bench.ok(&json!({"cmd": "ClearConcurrency", "queue": "q"}));
    }
    assert_eq!(takes(&mut bench, 9), 7);
}
