//! Where this broker deliberately does something else than bunqueue 2.9.5: one test for each row of protocol-core.md 14, or the
//! place where it is.
//!
//! - keys above 1,000, orphan keys, keys on retry and disconnect, windows: the dedup vectors, `scenario_tests`
//! - released jobs and ChangeDelay wake parked pulls: `delivery`
//! - int64: `record`; plain field errors: `bad_fields`; ttl swept: `delivery`; logs stored: `ending`
//! - commands of one connection in order, Auth without configured tokens, no rate limit: `onceover-broker`, `tests/serving.rs`
//! - names for protocol-2 workers: `envelope_tests`, `encode_job_tests`

use crate::bench::Bench;
use serde_json::json;

#[test]
fn no_job_is_forgotten_for_its_age() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "first", "delay": 900_000_000}));
    bench.push(json!({"jobId": "blocked", "dependsOn": ["first"]}));
    bench.push(json!({"jobId": "active"}));
    bench.pull(json!({}));
    for minute in 1..=150 {
        bench.through(minute * 60_000 - 40_000).ok(&json!({"cmd": "JobHeartbeat", "id": "active"}));
        bench.through(minute * 60_000 - 20_000).ok(&json!({"cmd": "JobHeartbeat", "id": "active"}));
        bench.through(minute * 60_000).ok(&json!({"cmd": "JobHeartbeat", "id": "active"}));
    }
    assert_eq!((bench.state("blocked").as_str(), bench.state("active").as_str()), ("waiting-children", "active"));
}

#[test]
fn results_waits_and_dependencies_know_completed_jobs_however_many_there_are() {
    let mut bench = Bench::new();
    let most = 60_000;
    for batch in 0..most / 1_000 {
        let jobs: Vec<_> = (0..1_000).map(|at| json!({"customId": format!("j{}", batch * 1_000 + at)})).collect();
        bench.fast(&json!({"cmd": "PUSHB", "queue": "q", "jobs": jobs}));
        let ids: Vec<_> = jobs.iter().map(|job| job["customId"].clone()).collect();
        bench.fast(&json!({"cmd": "PULLB", "queue": "q", "count": 1_000}));
        bench.fast(&json!({"cmd": "ACKB", "ids": ids, "results": ids}));
    }
    assert_eq!(bench.fast(&json!({"cmd": "GetResult", "id": "j0"}))["result"], "j0");
    assert_eq!(
        bench.fast(&json!({"cmd": "WaitJob", "id": "j0"})),
        json!({"ok": true, "completed": true, "result": "j0"})
    );
    bench.fast(&json!({"cmd": "PUSH", "queue": "q", "jobId": "child", "dependsOn": ["j0", "j59999"]}));
    assert_eq!(bench.fast(&json!({"cmd": "GetState", "id": "child"}))["state"], "waiting");
}

#[test]
fn a_connection_gives_back_only_what_it_still_holds() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a"}));
    bench.conn(1).pull(json!({}));
    bench.conn(2).ok(&json!({"cmd": "ACK", "id": "a"}));
    bench.push(json!({"jobId": "a"}));
    bench.conn(3).pull(json!({}));
    bench.drop_conn(1);
    assert_eq!(bench.state("a"), "active", "the job of that id is another connection's now");
    bench.drop_conn(3);
    assert_eq!(bench.state("a"), "waiting");
}

#[test]
fn innocent_words_are_no_internal_error() {
    let mut bench = Bench::new();
    for id in ["database", "relation", "SQLite driver", "host:5432", "constraint"] {
        let refusal = bench.refusal(&json!({"cmd": "ACK", "id": id}));
        assert_eq!(refusal, format!("Job not found or not in processing state: {id}"));
    }
}
