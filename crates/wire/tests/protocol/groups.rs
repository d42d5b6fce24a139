//! The group commands, and what a pull says about groups (protocol-admin.md 8).

use crate::bench::{Bench, merged};
use serde_json::{Value as Json, json};

fn data(bench: &mut Bench, cmd: &str, fields: Json) -> Json {
    let request = merged(json!({"cmd": cmd, "queue": "q", "groupId": "g"}), fields);
    bench.ok(&request)["data"].clone()
}

fn done(bench: &mut Bench, cmd: &str, fields: Json) {
    let request = merged(json!({"cmd": cmd, "queue": "q", "groupId": "g"}), fields);
    assert_eq!(bench.ok(&request), json!({"ok": true}));
}

fn add(bench: &mut Bench, ids: &[&str]) {
    for id in ids {
        bench.push(json!({"jobId": id, "groupId": &id[..1]}));
    }
}

/// The ids of what a pull of many gets.
fn take(bench: &mut Bench, group: Json) -> String {
    let answer = bench.ok(&json!({"cmd": "PULLB", "queue": "q", "count": 100, "group": group}));
    let ids = answer["jobs"].as_array().expect("jobs").iter().map(|job| job["id"].as_str().expect("an id"));
    ids.collect::<Vec<_>>().join(" ")
}

#[test]
fn every_command_answers_in_its_shape() {
    let mut bench = Bench::new();
    add(&mut bench, &["g1", "g2", "h1"]);
    bench.push(json!({"jobId": "g3", "groupId": "g", "delay": 9_000}));
    assert_eq!(data(&mut bench, "GetGroupsJobsCount", json!({"maxCount": 100})), json!({"count": 4}));
    assert_eq!(data(&mut bench, "GetGroupJobsCount", json!({})), json!({"count": 3}));
    assert_eq!(data(&mut bench, "GetGroupActiveCount", json!({})), json!({"count": 0}));
    assert_eq!(data(&mut bench, "GetGroupRateLimit", json!({})), json!({"limit": null}));
    assert_eq!(data(&mut bench, "GetGroupConcurrency", json!({})), json!({"concurrency": null}));
    assert_eq!(data(&mut bench, "GetGroupRateLimitTtl", json!({})), json!({"ttl": -2}));
    done(&mut bench, "SetGroupRateLimit", json!({"max": 2, "duration": 5_000}));
    done(&mut bench, "SetGroupConcurrency", json!({"concurrency": 3}));
    assert_eq!(data(&mut bench, "GetGroupRateLimit", json!({})), json!({"limit": {"max": 2, "duration": 5_000}}));
    assert_eq!(data(&mut bench, "GetGroupConcurrency", json!({})), json!({"concurrency": 3}));
    assert_eq!(data(&mut bench, "GetGroupRateLimitTtl", json!({})), json!({"ttl": -2}), "nothing was started yet");
    assert_eq!(data(&mut bench, "PauseGroup", json!({})), json!({"changed": true}));
    assert_eq!(data(&mut bench, "IsGroupPaused", json!({})), json!({"paused": true}));
    assert_eq!(data(&mut bench, "ResumeGroup", json!({})), json!({"changed": true}));
    assert_eq!(data(&mut bench, "ResumeGroup", json!({})), json!({"changed": false}));
    assert_eq!(take(&mut bench, json!({"limit": {"max": 9, "duration": 1}})), "g1 h1 g2");
    assert_eq!(
        data(&mut bench, "GetGroupRateLimitTtl", json!({"maxJobs": {"$undefined": true}})),
        json!({"ttl": 5_000})
    );
    assert_eq!(data(&mut bench, "GetGroupRateLimitTtl", json!({"maxJobs": 3})), json!({"ttl": 0}));
    assert_eq!(data(&mut bench, "GetGroupActiveCount", json!({})), json!({"count": 2}));
    assert_eq!(data(&mut bench, "RemoveGroupRateLimit", json!({})), json!({"removed": 1}));
    assert_eq!(data(&mut bench, "RemoveGroupRateLimit", json!({})), json!({"removed": 0}));
    assert_eq!(data(&mut bench, "RemoveGroupConcurrency", json!({})), json!({"removed": 1}));
    assert_eq!(data(&mut bench, "RemoveGroupConcurrency", json!({})), json!({"removed": 0}));
    done(&mut bench, "RateLimitGroup", json!({"duration": 700}));
    assert_eq!(data(&mut bench, "GetGroupRateLimitTtl", json!({})), json!({"ttl": 700}));
}

#[test]
fn a_worker_that_holds_its_group_gives_the_job_back_and_gets_it_after_the_time() {
    let mut bench = Bench::new();
    add(&mut bench, &["g1", "h1"]);
    let (id, token) = bench.lock(30_000);
    assert_eq!(id, "g1");
    done(&mut bench, "RateLimitGroup", json!({"duration": 700}));
    bench.ok(&json!({"cmd": "MoveToWait", "id": id, "token": token}));
    assert_eq!(take(&mut bench, json!({})), "h1");
    bench.park(2, &json!({"cmd": "PULL", "queue": "q", "timeout": 5_000, "group": {"concurrency": 1}}));
    bench.through(699);
    assert_eq!(bench.late.len(), 0);
    bench.through(700);
    assert_eq!(bench.late.remove(0).1["job"]["id"], "g1");
}

#[test]
fn a_batch_may_stay_with_one_group() {
    let mut bench = Bench::new();
    add(&mut bench, &["g1", "h1", "g2"]);
    bench.push(json!({"jobId": "-1"}));
    assert_eq!(take(&mut bench, json!({"affinity": "g"})), "g1 g2");
    assert_eq!(take(&mut bench, json!({"affinity": null})), "-1");
    assert_eq!(take(&mut bench, json!({"affinity": {"$undefined": true}})), "h1");
}

#[test]
fn over_time_a_group_is_served_at_its_rate_and_others_are_not_held_up() {
    let mut bench = Bench::new();
    for at in 0..30 {
        bench.push(json!({"jobId": format!("g{at}"), "groupId": "g"}));
        bench.push(json!({"jobId": format!("h{at}"), "groupId": "h"}));
    }
    done(&mut bench, "SetGroupRateLimit", json!({"max": 1, "duration": 2_000}));
    let limit = json!({"limit": {"max": 5, "duration": 1_000}});
    let (mut of_g, mut of_h) = (0, 0);
    for tenth in 0..50 {
        bench.through(tenth * 100);
        let ids = take(&mut bench, limit.clone());
        of_g += ids.matches('g').count();
        of_h += ids.matches('h').count();
    }
    assert_eq!((of_g, of_h), (3, 25));
}
