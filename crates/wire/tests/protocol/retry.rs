//! Attempts, backoff and dead letters (protocol-core.md 5.5, 5.9, 6.9).

use crate::bench::{Bench, START, merged};
use serde_json::{Value as Json, json};

/// Shortest and longest wait before the next attempt, over `jobs` jobs, after `fails` failures.
fn waits(backoff: &Json, fails: i64, jobs: u32) -> (i64, i64) {
    let (mut least, mut most) = (i64::MAX, 0);
    let mut bench = Bench::new();
    for at in 0..jobs {
        let id = format!("j{at}");
        bench.push(json!({"jobId": id, "backoff": backoff, "maxAttempts": 1000}));
        for fail in 1..=fails {
            bench.ok(&json!({"cmd": "MoveToWait", "id": id}));
            assert_eq!(bench.pull(json!({})).0, id);
            bench.ok(&json!({"cmd": "FAIL", "id": id}));
            assert_eq!(bench.job(&id)["attempts"], fail);
        }
        let job = bench.job(&id);
        let wait = job["runAt"].as_f64().expect("a moment") as i64 - START;
        assert_eq!(job["state"], if wait > 0 { "delayed" } else { "waiting" });
        (least, most) = (least.min(wait), most.max(wait));
        bench.ok(&json!({"cmd": "Cancel", "id": id}));
    }
    (least, most)
}

/// The waits fill the range `[low, high)` of a base: nothing is outside, and the outer tenths are reached.
fn check(backoff: &Json, fails: i64, low: i64, high: i64) {
    let (least, most) = waits(backoff, fails, 200);
    let tenth = (high - low) / 10;
    assert!(low <= least && least < low + tenth, "{backoff} after {fails}: from {least}, not {low}");
    assert!(high - tenth < most && most <= high, "{backoff} after {fails}: to {most}, not {high}");
}

#[test]
fn a_number_doubles_and_jitters_by_half() {
    check(&json!(1_000), 1, 1_000, 3_000);
    check(&json!(1_000), 2, 2_000, 6_000);
    check(&json!(1_000), 5, 16_000, 48_000);
    check(&json!({"type": "exponential", "delay": 500}), 1, 500, 1_500);
}

#[test]
fn fixed_stays_and_jitters_by_a_fifth() {
    check(&json!({"type": "fixed", "delay": 1_000}), 1, 800, 1_200);
    check(&json!({"type": "fixed", "delay": 1_000}), 4, 800, 1_200);
}

#[test]
fn no_wait_is_longer_than_an_hour_and_none_means_none() {
    assert_eq!(waits(&json!(86_400_000), 1, 20), (3_600_000, 3_600_000));
    assert_eq!(waits(&json!({"type": "fixed", "delay": 86_400_000}), 1, 20), (3_600_000, 3_600_000));
    assert_eq!(waits(&json!(1), 60, 5), (3_600_000, 3_600_000), "2^60 is as good as no end");
    assert_eq!(waits(&json!(0), 3, 20), (0, 0));
}

#[test]
fn three_attempts_are_three_executions() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a", "backoff": 0, "data": {"x": 1}}));
    bench.events();
    for attempt in 1..=3 {
        assert_eq!(bench.pull(json!({})).0, "a");
        let before = bench.job("a");
        assert_eq!((&before["attempts"], &before["startedAt"]), (&json!(attempt - 1), &json!(START as f64)));
        bench.events();
        bench.ok(&json!({"cmd": "FAIL", "id": "a", "error": format!("boom {attempt}")}));
        let mut failed =
            json!({"eventType": "failed", "jobId": "a", "error": format!("boom {attempt}"), "data": {"x": 1}});
        failed = merged(failed, json!({"terminal": attempt == 3}));
        let retried = json!({"eventType": "retried", "jobId": "a", "prev": "failed"});
        let wanted = if attempt == 3 { vec![failed] } else { vec![failed, retried] };
        assert_eq!(bench.events(), wanted);
    }
    let job = bench.job("a");
    assert_eq!(
        (&job["state"], &job["attempts"], &job["failedReason"]),
        (&json!("failed"), &json!(3), &json!("boom 3"))
    );
    assert_eq!(job["startedAt"], json!(START as f64), "kept after the final failure");
    let dead = bench.ok(&json!({"cmd": "Dlq", "queue": "q"}))["entries"][0].clone();
    assert_eq!((&dead["reason"], &dead["error"]), (&json!("max_attempts_exceeded"), &json!("boom 3")));
    let reasons: Vec<&Json> = dead["attempts"].as_array().expect("a list").iter().map(|one| &one["reason"]).collect();
    assert_eq!(reasons, ["explicit_fail", "explicit_fail", "max_attempts_exceeded"]);
}

#[test]
fn unrecoverable_ends_at_once_and_only_true_counts() {
    let mut bench = Bench::new();
    for (id, value, state) in [("a", json!(true), "failed"), ("b", json!(1), "delayed"), ("c", json!("yes"), "delayed")]
    {
        bench.push(json!({"jobId": id}));
        bench.pull(json!({}));
        bench.ok(&json!({"cmd": "FAIL", "id": id, "unrecoverable": value}));
        assert_eq!(bench.state(id), state, "{id}");
    }
    assert_eq!(bench.job("a")["attempts"], 1);
}

#[test]
fn errors_and_stacks_are_kept_as_far_as_they_are_texts() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a", "backoff": 0, "stackTraceLimit": 3, "maxAttempts": 9}));
    let mut fail = |fields: Json| {
        bench.pull(json!({}));
        bench.ok(&merged(json!({"cmd": "FAIL", "id": "a"}), fields));
        let job = bench.job("a");
        json!([job["stacktrace"], job.get("failedReason")])
    };
    assert_eq!(fail(json!({})), json!([null, null]));
    let stack = json!(["  one ", 5, "", "two", null, "three", "four"]);
    assert_eq!(fail(json!({"error": "e", "stack": stack})), json!([["one", "two", "three"], "e"]));
    assert_eq!(
        fail(json!({"error": {"code": 5}})),
        json!([["one", "two", "three"], r#"{"code":5}"#]),
        "the old stack stays"
    );
    assert_eq!(fail(json!({"error": ""}))[1], r#"{"code":5}"#, "the last failure with a message");
    let lines: Vec<String> = (0..200).map(|line| format!("line {line}")).collect();
    assert_eq!(fail(json!({"stack": lines}))[0], json!(["line 0", "line 1", "line 2"]));
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "none", "stackTraceLimit": 0}));
    bench.push(json!({"jobId": "ten"}));
    for (id, kept) in [("none", None), ("ten", Some(10))] {
        bench.pull(json!({}));
        bench.ok(&json!({"cmd": "FAIL", "id": id, "stack": lines}));
        assert_eq!(bench.job(id)["stacktrace"].as_array().map(Vec::len), kept, "{id}");
    }
}

#[test]
fn remove_on_fail_acts_on_the_final_failure_only() {
    for (option, per_fail, max_attempts, after) in [
        (json!(true), json!(null), 1, "unknown"),
        (json!(1), json!(null), 1, "unknown"),
        (json!({"count": 5}), json!(null), 1, "unknown"),
        (json!(false), json!(true), 1, "unknown"),
        (json!(0), json!(1), 1, "failed"),
        (json!(true), json!(true), 2, "delayed"),
    ] {
        let mut bench = Bench::new();
        bench.push(json!({"jobId": "a", "removeOnFail": option, "maxAttempts": max_attempts}));
        bench.pull(json!({}));
        bench.ok(&json!({"cmd": "FAIL", "id": "a", "removeOnFail": per_fail}));
        assert_eq!(bench.state("a"), after, "{option} {per_fail}");
        assert_eq!(bench.counts()["failed"], u64::from(after == "failed"));
    }
}

#[test]
fn a_dead_letter_comes_back_with_nothing_counted() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "a", "maxAttempts": 1}));
    bench.pull(json!({}));
    bench.ok(&json!({"cmd": "FAIL", "id": "a", "error": "e"}));
    bench.at(70).ok(&json!({"cmd": "MoveToWait", "id": "a"}));
    let job = bench.job("a");
    let counted = json!([job["state"], job["attempts"], job["stallCount"], job["runAt"], job["startedAt"]]);
    assert_eq!(counted, json!(["waiting", 0, 0, (START + 70) as f64, null]));
    assert_eq!(bench.ok(&json!({"cmd": "Dlq", "queue": "q"}))["entries"], json!([]));
}

#[test]
fn a_repeating_job_makes_its_next_run_after_each_completion() {
    let mut bench = Bench::new();
    bench.push(json!({"repeat": {"every": 50, "limit": 2}, "data": {"n": 1}}));
    let mut runs = Vec::new();
    for at in [0, 50, 100, 150] {
        let (id, _) = bench.at(at).pull(json!({}));
        if !id.is_empty() {
            runs.push(bench.job(&id)["repeat"]["count"].clone());
            bench.ok(&json!({"cmd": "ACK", "id": id}));
        }
    }
    assert_eq!(runs, [0, 1, 2], "a limit of two successors is three executions");
    // New data of a run that is over are the next one's.
    let mut bench = Bench::new();
    let first = bench.push(json!({"repeat": {"every": 50}, "data": 1}));
    bench.pull(json!({}));
    bench.ok(&json!({"cmd": "ACK", "id": first}));
    let (second, _) = bench.at(50).pull(json!({}));
    bench.ok(&json!({"cmd": "ACK", "id": second}));
    bench.ok(&json!({"cmd": "Update", "id": first, "data": 2}));
    let data = |bench: &mut Bench, id: &str| bench.job(id)["data"].clone();
    assert_eq!((data(&mut bench, &first), data(&mut bench, &second)), (json!(1), json!(1)));
    let (third, _) = bench.at(100).pull(json!({}));
    assert_eq!(data(&mut bench, &third), 2);
}
