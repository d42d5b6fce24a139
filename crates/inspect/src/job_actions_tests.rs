//! Actions on one job and on many, through the door of the window.

use crate::testing::Bench;
use crate::view::FailureCode;
use serde_json::{Value, json};

fn job(bench: &Bench, id: &str) -> Value {
    bench.ask(json!({ "type": "job", "id": id }))
}

fn can<'a>(job: &'a Value, action: &str) -> &'a Value {
    job["can"].as_array().unwrap().iter().find(|can| can["action"] == action).unwrap()
}

fn edit(job: &Value, text: &str) -> Value {
    json!({
        "type": "editJobData", "id": job["row"]["id"], "generation": job["generation"], "dataMark": job["dataMark"],
        "dataText": text,
    })
}

#[test]
fn data_is_edited_only_while_it_is_what_was_on_the_screen() {
    let bench = Bench::new("edit");
    bench.add(json!({ "jobId": "a", "dataText": "{\"n\": 9007199254740993}" }));
    let seen = job(&bench, "a");
    assert_eq!(can(&seen, "edit")["allowed"], true);
    let text = bench.ask(json!({ "type": "jobData", "id": "a" }));
    assert_eq!((&text["text"], &text["complete"]), (&json!("{\n  \"n\": 9007199254740993\n}"), &json!(true)));
    let bad = bench.ask(edit(&seen, "{\"n\": "));
    assert_eq!((&bad["ok"], &bad["code"]), (&json!(false), &json!("rejected")));
    assert!(bad["message"].as_str().unwrap().starts_with("The data is not valid JSON: "), "{bad}");
    assert_eq!(bench.ask(edit(&seen, "{\"n\": 2}"))["ok"], true);
    assert_eq!(job(&bench, "a")["data"]["text"], "{\n  \"n\": 2\n}");

    let late = bench.ask(edit(&seen, "{\"n\": 3}"));
    assert_eq!((&late["ok"], &late["code"]), (&json!(false), &json!("changed")));
    assert_eq!(late["message"], "Nothing was saved. The data of job a changed meanwhile.");
    let seen = job(&bench, "a");
    bench.pull();
    let started = bench.ask(edit(&seen, "{\"n\": 3}"));
    assert_eq!(
        started["message"],
        "Nothing was saved. It is active; only the data of jobs that have not started can be edited."
    );
    assert_eq!(
        can(&job(&bench, "a"), "edit")["reason"],
        "It is active; only the data of jobs that have not started can be edited."
    );
    assert_eq!(
        bench.ask(edit(&json!({ "row": { "id": "b" }, "generation": 1, "dataMark": "0" }), "1"))["code"],
        "gone"
    );
}

#[test]
fn an_active_job_is_failed_by_hand_and_its_worker_is_not_listened_to_any_more() {
    let bench = Bench::new("fail");
    bench.add(json!({ "jobId": "a" }));
    bench.pull();
    let active = job(&bench, "a");
    assert_eq!(
        (&active["row"]["holder"]["name"], &active["row"]["holder"]["leaseMs"]),
        (&json!("worker-1"), &json!(30_000))
    );
    assert_eq!(bench.ask(json!({ "type": "removeJob", "id": "a" }))["code"], "notPossible");
    let failed = bench.ask(json!({ "type": "failJob", "id": "a" }));
    assert_eq!((&failed["ok"], &failed["message"]), (&json!(true), &json!("`a` failed for good.")));
    let dead = job(&bench, "a");
    assert_eq!(
        (&dead["row"]["state"], &dead["row"]["holder"], &dead["row"]["reason"]),
        (&json!("failed"), &Value::Null, &json!("unknown"))
    );
    let again = bench.ask(json!({ "type": "failJob", "id": "a" }));
    assert_eq!(again["message"], "It is failed; only waiting and active jobs can be failed.");
}

#[test]
fn a_job_goes_back_to_waiting_only_when_its_worker_has_left() {
    let bench = Bench::new("return");
    bench.add(json!({ "jobId": "a" }));
    assert_eq!(can(&job(&bench, "a"), "return")["reason"], "It is waiting; only active jobs can go back to waiting.");
    // The bench takes jobs without a connection, so its worker counts as gone at once.
    bench.pull();
    let active = job(&bench, "a");
    assert!(active["row"]["holder"]["goneSince"].is_i64());
    assert_eq!(bench.ask(json!({ "type": "returnJob", "id": "a" }))["message"], "`a` waits again.");
    assert_eq!(job(&bench, "a")["row"]["state"], "waiting");
}

#[test]
fn many_jobs_are_acted_on_one_by_one_and_the_refused_are_named() {
    let bench = Bench::new("bulk");
    for at in 0..1_200 {
        bench.add(json!({ "jobId": format!("job-{at}"), "dedupId": null, "ttlMs": null, "delayMs": 60_000 }));
    }
    bench.add(json!({ "jobId": "ready", "dedupId": null, "ttlMs": null }));
    bench.pull();
    let all = json!({ "by": "matching", "queue": "q", "state": null, "filter": "" });
    let preview = bench.ask(json!({ "type": "jobsPreview", "action": "remove", "jobs": all }));
    assert_eq!(
        (&preview["total"], &preview["possible"], &preview["note"]),
        (&json!(1_201), &json!(1_200), &Value::Null)
    );
    assert_eq!((&preview["counts"]["delayed"], &preview["counts"]["active"]), (&json!(1_200), &json!(1)));
    assert_eq!(preview["sample"].as_array().unwrap().len(), 5);

    let promoted = bench.ask(json!({ "type": "bulkJobs", "action": "promote", "jobs": { "by": "ids", "ids": ["job-7", "ready", "nobody"] } }));
    assert_eq!(promoted["message"], "1 job may run now. 2 were left alone.");
    let reasons: Vec<&Value> = promoted["leftAlone"].as_array().unwrap().iter().map(|left| &left["reason"]).collect();
    assert_eq!(reasons, ["It is active; only delayed jobs can be run now.", "There is no job `nobody` any more."]);

    let removed = bench.ask(json!({ "type": "bulkJobs", "action": "remove", "jobs": all }));
    assert_eq!((&removed["ok"], &removed["message"]), (&json!(true), &json!("Removed 1,200 jobs. 1 was left alone.")));
    assert_eq!(removed["leftAlone"][0]["id"], "ready");
    assert_eq!(bench.ask(json!({ "type": "jobs", "queue": "q", "limit": 10 }))["counts"]["all"], 1);
    let nothing = bench.ask(json!({ "type": "bulkJobs", "action": "retry", "jobs": all }));
    assert_eq!((&nothing["ok"], &nothing["message"]), (&json!(false), &json!("Retried 0 jobs. 1 was left alone.")));
    let refused = bench.refused(json!({ "type": "bulkJobs", "action": "pause", "jobs": all }));
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (FailureCode::BadRequest, "action: must be retry, remove or promote")
    );
}

#[test]
fn a_job_names_the_add_that_made_it() {
    let bench = Bench::new("made-by");
    bench.add(json!({}));
    let second = bench.add(json!({}));
    let detail = job(&bench, second["jobId"].as_str().unwrap());
    assert_eq!((&detail["addSeq"], &can(&detail, "replay")["allowed"]), (&json!(1), &json!(true)));
}

#[test]
fn a_queue_is_drained_cleaned_and_obliterated() {
    let bench = Bench::new("queue");
    for id in ["a", "b", "c"] {
        bench.add(json!({ "jobId": id, "dedupId": null, "ttlMs": null }));
    }
    bench.pull();
    bench.ask(json!({ "type": "failJob", "id": "a" }));
    let drained = bench.ask(json!({ "type": "drainQueue", "queue": "q" }));
    assert_eq!(drained["message"], "Drained `q`: 2 jobs removed.");
    let young = bench.ask(json!({ "type": "cleanQueue", "queue": "q", "state": "failed", "olderThanMs": 60_000 }));
    assert_eq!(young["message"], "Nothing was that old; nothing was removed.");
    let cleaned = bench.ask(json!({ "type": "cleanQueue", "queue": "q", "state": "failed", "olderThanMs": 0 }));
    assert_eq!(cleaned["message"], "Cleaned `q`: 1 job removed.");
    let never = bench.refused(json!({ "type": "cleanQueue", "queue": "q", "state": "active", "olderThanMs": 0 }));
    assert_eq!(never.message, "state: must be completed, failed, waiting, prioritized or delayed");
    bench.add(json!({}));
    assert_eq!(bench.ask(json!({ "type": "obliterateQueue", "queue": "q" }))["ok"], true);
    assert_eq!(bench.ask(json!({ "type": "queues" }))["rows"], json!([]));
    assert_eq!(bench.ask(json!({ "type": "drainQueue", "queue": "q" }))["code"], "gone");
}
