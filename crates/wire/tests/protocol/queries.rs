//! Questions about jobs and queues (protocol-core.md 8.1, 8.4): pages, counts, states, keys.

use crate::bench::{Bench, START, text};
use serde_json::{Value as Json, json};

/// Jobs in every state; the id says which.
fn all_states() -> Bench {
    let mut bench = Bench::new();
    for (at, id) in ["completed", "failed", "active"].into_iter().enumerate() {
        bench.at(at as i64).push(json!({"jobId": id, "maxAttempts": 1}));
        bench.pull(json!({}));
    }
    bench.ok(&json!({"cmd": "ACK", "id": "completed", "result": 1}));
    bench.ok(&json!({"cmd": "FAIL", "id": "failed", "error": "e"}));
    bench.at(3).push(json!({"jobId": "waiting-children", "dependsOn": ["active"]}));
    bench.at(4).push(json!({"jobId": "delayed", "delay": 900, "priority": 2}));
    bench.at(5).push(json!({"jobId": "prioritized", "priority": 2}));
    bench.at(6).push(json!({"jobId": "waiting"}));
    bench
}

fn listed(bench: &mut Bench, fields: Json) -> Vec<String> {
    let request = crate::bench::merged(json!({"cmd": "GetJobs", "queue": "q"}), fields);
    let answer = bench.ok(&request);
    answer["jobs"].as_array().expect("a list").iter().map(|job| text(&job["id"])).collect()
}

const ALL: [&str; 7] = ["completed", "failed", "active", "waiting-children", "delayed", "prioritized", "waiting"];

#[test]
fn jobs_of_each_state_of_several_and_of_all() {
    let mut bench = all_states();
    for state in ALL {
        assert_eq!(listed(&mut bench, json!({"state": state})), [state]);
        assert_eq!(bench.state(state), state);
        let job = bench.ok(&json!({"cmd": "GetJobs", "queue": "q", "state": [state]}))["jobs"][0].clone();
        assert_eq!(job, bench.job(state), "a list shows what GetJob shows");
    }
    for all in [json!(null), json!([]), json!(""), json!({"$undefined": true})] {
        assert_eq!(listed(&mut bench, json!({"state": all})), ALL, "by createdAt");
    }
    assert_eq!(listed(&mut bench, json!({"state": ["waiting", "failed", "waiting"]})), ["failed", "waiting"]);
    assert_eq!(listed(&mut bench, json!({"state": ["waiting", "nonsense"]})), ["waiting"]);
    for none in [json!("nonsense"), json!(["nonsense"]), json!("paused")] {
        assert_eq!(listed(&mut bench, json!({"state": none})), [""; 0]);
    }
    assert_eq!(listed(&mut bench, json!({"queue": "never"})), [""; 0]);
}

#[test]
fn pages_of_jobs_at_their_edges() {
    let mut bench = all_states();
    let mut reversed = ALL;
    reversed.reverse();
    assert_eq!(listed(&mut bench, json!({"asc": false})), reversed);
    for (offset, limit, wanted) in [
        (json!(0), json!(2), &ALL[..2]),
        (json!(2), json!(3), &ALL[2..5]),
        (json!(6), json!(9), &ALL[6..]),
        (json!(7), json!(9), &[]),
        (json!(1e18), json!(9), &[]),
        (json!(5), json!(1e300), &ALL[5..]),
        (json!(0), json!(0), &[]),
        (json!(0), json!(-3), &[]),
        (json!(-3), json!(1), &ALL[..1]),
        (json!(null), json!(null), &ALL),
    ] {
        assert_eq!(listed(&mut bench, json!({"offset": offset, "limit": limit})), wanted, "{offset} {limit}");
    }
    for at in 0..150 {
        bench.push(json!({"jobId": format!("more{at}")}));
    }
    assert_eq!(listed(&mut bench, json!({})).len(), 100, "when nothing is said");
}

#[test]
fn what_is_ready_counts_as_paused_while_the_queue_is() {
    let mut bench = all_states();
    let counts = |waiting: u32, prioritized: u32, paused: u32| json!({"waiting": waiting, "prioritized": prioritized, "delayed": 1, "active": 1, "completed": 1, "failed": 1, "waiting-children": 1, "paused": paused});
    assert_eq!(bench.counts(), counts(1, 1, 0));
    bench.ok(&json!({"cmd": "Pause", "queue": "q"}));
    assert_eq!(bench.counts(), counts(0, 0, 2));
    assert_eq!(listed(&mut bench, json!({"state": "paused"})), ["prioritized", "waiting"]);
    assert_eq!(listed(&mut bench, json!({"state": ["waiting", "prioritized"]})), [""; 0]);
    assert_eq!(listed(&mut bench, json!({})), ALL);
    assert_eq!(bench.state("waiting"), "waiting", "a state is not paused");
    bench.ok(&json!({"cmd": "Resume", "queue": "q"}));
    assert_eq!(bench.counts(), counts(1, 1, 0));
    let zeros = json!({"waiting": 0, "prioritized": 0, "delayed": 0, "active": 0, "completed": 0, "failed": 0, "waiting-children": 0, "paused": 0});
    assert_eq!(bench.ok(&json!({"cmd": "GetJobCounts", "queue": "never"}))["counts"], zeros);
}

#[test]
fn counts_of_what_is_queued() {
    let mut bench = all_states();
    bench.push(json!({"priority": -7}));
    assert_eq!(bench.ok(&json!({"cmd": "Count", "queue": "q"})), json!({"ok": true, "count": 4}));
    assert_eq!(bench.ok(&json!({"cmd": "Count", "queue": "never"}))["count"], 0);
    let wanted = json!({"ok": true, "queue": "q", "counts": {"-7": 1, "0": 1, "2": 2}});
    assert_eq!(bench.ok(&json!({"cmd": "GetCountsPerPriority", "queue": "q"})), wanted, "delayed ones included");
    assert_eq!(
        bench.ok(&json!({"cmd": "GetCountsPerPriority", "queue": "never"})),
        json!({"ok": true, "queue": "never", "counts": {}})
    );
}

#[test]
fn a_job_is_found_by_its_id_and_by_its_custom_id_while_it_lives() {
    let mut bench = all_states();
    let generated = bench.push(json!({"uniqueKey": "k"}));
    assert_eq!(bench.job(&generated)["customId"], json!(null));
    assert_eq!(bench.refusal(&json!({"cmd": "GetJob", "id": "nowhere"})), "Job not found");
    assert_eq!(
        bench.ok(&json!({"cmd": "GetState", "id": "nowhere"})),
        json!({"ok": true, "id": "nowhere", "state": "unknown"})
    );
    for id in ALL {
        let request = json!({"cmd": "GetJobByCustomId", "customId": id, "queue": "other"});
        if ["completed", "failed"].contains(&id) {
            assert_eq!(bench.refusal(&request), "Job not found");
        } else {
            let mut wanted = bench.job(id);
            wanted.as_object_mut().expect("a record").remove("state");
            assert_eq!(bench.ok(&request)["job"], wanted);
        }
    }
    for id in [generated.as_str(), "k"] {
        assert_eq!(bench.refusal(&json!({"cmd": "GetJobByCustomId", "customId": id})), "Job not found", "no custom id");
    }
}

#[test]
fn results_are_of_completed_jobs() {
    let mut bench = all_states();
    for id in ALL {
        let wanted =
            if id == "completed" { json!({"ok": true, "id": id, "result": 1}) } else { json!({"ok": true, "id": id}) };
        assert_eq!(bench.ok(&json!({"cmd": "GetResult", "id": id})), wanted);
    }
    assert_eq!(bench.ok(&json!({"cmd": "GetResult", "id": "nowhere"})), json!({"ok": true, "id": "nowhere"}));
}

#[test]
fn keys_are_looked_up_listed_and_removed() {
    let mut bench = Bench::new();
    let id = bench.push(json!({"uniqueKey": "k1", "dedup": {"ttl": 500}}));
    bench.push(json!({"uniqueKey": "k2", "jobId": "b"}));
    bench.push(json!({"uniqueKey": "k1"}));
    bench.ok(&json!({"cmd": "PUSH", "queue": "r", "uniqueKey": "k1", "jobId": "c"}));
    let owner = |bench: &mut Bench, queue: &str, key: &str| {
        bench.ok(&json!({"cmd": "GetDeduplicationJobId", "queue": queue, "deduplicationId": key}))
    };
    assert_eq!(owner(&mut bench, "q", "k1"), json!({"ok": true, "data": {"jobId": id}}));
    assert_eq!(owner(&mut bench, "q", "k3"), json!({"ok": true, "data": {"jobId": null}}));
    bench.at(100);
    let page = |bench: &mut Bench, fields: Json| {
        bench.ok(&crate::bench::merged(json!({"cmd": "ListDeduplicationKeys"}), fields))["data"].clone()
    };
    let all = page(&mut bench, json!({}));
    let first = json!({
        "queue": "q", "key": "k1", "jobId": id, "state": "waiting", "ttl": 500, "expiresAt": (START + 500) as f64, "remainingMs": 400,
        "registeredAt": START as f64, "hits": 1,
    });
    assert_eq!((&all["total"], &all["now"], &all["keys"][0]), (&json!(3), &json!((START + 100) as f64), &first));
    let names = |data: &Json| -> Vec<String> {
        data["keys"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|key| format!("{}/{}", text(&key["queue"]), text(&key["key"])))
            .collect()
    };
    assert_eq!(names(&all), ["q/k1", "q/k2", "r/k1"], "in order of registration");
    for (fields, wanted, total) in [
        (json!({"queue": "q"}), &["q/k1", "q/k2"][..], 2),
        (json!({"queue": "q", "offset": 1, "limit": 1}), &["q/k2"], 2),
        (json!({"offset": 2}), &["r/k1"], 3),
        (json!({"offset": 9}), &[], 3),
        (json!({"limit": 0}), &[], 3),
        (json!({"queue": "never"}), &[], 0),
        (json!({"queue": ""}), &["q/k1", "q/k2", "r/k1"], 3),
    ] {
        let data = page(&mut bench, fields.clone());
        assert_eq!(
            (names(&data), &data["total"]),
            (wanted.iter().map(|name| (*name).to_owned()).collect(), &json!(total)),
            "{fields}"
        );
    }
    let remove = json!({"cmd": "RemoveDeduplicationKey", "queue": "q", "deduplicationId": "k1"});
    assert_eq!(bench.ok(&remove), json!({"ok": true, "data": {"count": 1}}));
    assert_eq!(bench.ok(&remove), json!({"ok": true, "data": {"count": 0}}));
    assert_eq!(
        (bench.job(&id)["uniqueKey"].clone(), bench.state(&id).as_str()),
        (json!("k1"), "waiting"),
        "the job stays as it is"
    );
    let of_job = |id: &str| json!({"cmd": "RemoveJobDeduplicationKey", "id": id});
    for (id, removed) in [(id.as_str(), false), ("b", true), ("b", false), ("nowhere", false)] {
        assert_eq!(bench.ok(&of_job(id)), json!({"ok": true, "data": {"removed": removed}}), "{id}");
    }
    let data = page(&mut bench, json!({}));
    assert_eq!((names(&data), &data["total"]), (vec!["r/k1".to_owned()], &json!(1)));
}

#[test]
fn a_list_that_is_too_long_is_refused_and_its_pages_are_not() {
    let mut bench = Bench::new();
    let jobs: Vec<Json> = (0..5_000).map(|_| json!({"delay": 1_000})).collect();
    for _ in 0..2 {
        bench.ok(&json!({"cmd": "PUSHB", "queue": "q", "jobs": jobs}));
    }
    let all = json!({"limit": 1_000_000_000});
    assert_eq!(listed(&mut bench, all.clone()).len(), 10_000);
    bench.push(json!({}));
    let text = "The answer is too large: at most 10000 jobs and 60 MB; ask for fewer with limit and offset";
    assert_eq!(bench.refusal(&crate::bench::merged(json!({"cmd": "GetJobs", "queue": "q"}), all)), text);
    assert_eq!(listed(&mut bench, json!({"limit": 1_000, "offset": 10_000})).len(), 1);
}
