//! Answers with jobs: the record of 47 keys, dead letters, names for protocol-2 clients.

use crate::encode::{EncodeCtx, encode_reply};
use crate::testing::{pack, unframe};
use bytes::BytesMut;
use onceover_engine::command::{Backoff, DedupRequest, NewJob, RareOptions, Repeat, StateName};
use onceover_engine::job::{
    AutoRetries, Blob, Extra, FailedAttempt, Failure, FailureReason, Job, JobState, RareState, TimelineEntry,
};
use onceover_engine::names::{JobId, JobKey, QueueId};
use onceover_engine::reply::{Delivered, JobRecord, Reply};
use onceover_engine::schedule::Timing;
use onceover_engine::time::{Millis, Timestamp};
use serde_json::{Value as Json, json};
use std::sync::Arc;

const AT: f64 = 1_796_010_604_288.0;

fn at(millis: i64) -> Timestamp {
    Timestamp(1_796_010_604_288 + millis)
}

fn spec() -> NewJob {
    NewJob::new("q", "n")
}

fn record(spec: NewJob) -> JobRecord {
    let job = Job {
        key: JobKey(1),
        id: JobId::parse("01a22a99-ec97-773e-ad45-81e56b25646a"),
        queue: QueueId(0),
        spec: Arc::new(spec),
        dedup_key: None,
        has_custom_id: false,
        state: JobState::Queued,
        ready: true,
        data: Blob::Here(pack(&json!({"a": 1})).into()),
        fingerprint: 0,
        priority: 0,
        lifo: false,
        created_at: at(0),
        run_at: at(0),
        started_at: None,
        completed_at: None,
        last_heartbeat: at(0),
        attempts: 0,
        stall_count: 0,
        progress: 0.0,
        result: Blob::Absent,
        delivery: None,
        has_state_row: false,
        extra: Extra::default(),
    };
    JobRecord { job, state: StateName::Waiting }
}

fn encoded(reply: &Reply, protocol2: bool) -> Json {
    let mut out = BytesMut::new();
    encode_reply(&mut out, None, reply, EncodeCtx { protocol2 });
    unframe(&out)
}

fn pulled(record: JobRecord) -> Json {
    let job = Delivered { record, token: Some("t".to_owned()) };
    encoded(&Reply::Pulled { job: Some(Box::new(job)), locked: true }, false)
}

#[test]
fn a_plain_record_has_all_its_keys() {
    let reply = pulled(record(spec()));
    assert_eq!(reply["token"], json!("t"));
    let expected: Json = serde_json::from_str(
        r#"{
        "id": "01a22a99-ec97-773e-ad45-81e56b25646a", "queue": "q", "name": "n", "data": {"a": 1}, "priority": 0,
        "createdAt": 1796010604288.0, "runAt": 1796010604288.0, "startedAt": null, "completedAt": null, "attempts": 0, "maxAttempts": 3,
        "backoff": 1000, "backoffConfig": null, "ttl": null, "timeout": null, "stallTimeout": null, "uniqueKey": null,
        "customId": null, "dependsOn": [], "childrenIds": [], "tags": [], "childrenCompleted": 0, "parentId": null,
        "groupId": null, "lifo": false, "progress": 0, "progressMessage": null, "stacktrace": null,
        "removeOnComplete": false, "removeOnFail": false, "repeat": null, "lastHeartbeat": 1796010604288.0, "stallCount": 0,
        "stackTraceLimit": 10, "keepLogs": null, "sizeLimit": null, "failParentOnFailure": false,
        "removeDependencyOnFailure": false, "continueParentOnFailure": false, "ignoreDependencyOnFailure": false,
        "deduplicationTtl": null, "deduplicationExtend": false, "deduplicationReplace": false, "debounceId": null,
        "debounceTtl": null, "durable": false, "timeline": [{"state": "waiting", "timestamp": 1796010604288.0}]}"#,
    )
    .unwrap();
    assert_eq!(expected.as_object().unwrap().len(), 47);
    assert_eq!(reply["job"], expected);
}

#[test]
fn a_plain_record_has_the_bytes_of_one_whose_rare_parts_are_empty() {
    let bytes = |record: JobRecord| {
        let mut out = BytesMut::new();
        encode_reply(&mut out, None, &Reply::Jobs(vec![record]), EncodeCtx::default());
        out
    };
    let plain = bytes(record(spec()));
    let mut with_state = record(spec());
    with_state.job.extra.rare = Some(Box::default());
    assert_eq!(bytes(with_state), plain);
    assert_eq!(bytes(record(NewJob { rare: Some(Box::default()), ..spec() })), plain);
}

#[test]
fn options_show_in_the_record() {
    let rare = RareOptions {
        depends_on: vec![JobId::parse("d")],
        parent_id: Some(JobId::parse("p")),
        children_ids: vec![JobId::parse("c")],
        tags: vec!["t".to_owned()],
        timeout: Some(Millis(1)),
        ttl: Some(Millis(31_536_000_000)),
        stall_timeout: Some(Millis(3)),
        stack_trace_limit: Some(0),
        keep_logs: Some(5.0),
        size_limit: Some(0.5),
        debounce_id: Some("b".to_owned()),
        debounce_ttl: Some(6.0),
        fail_parent_on_failure: true,
        repeat: Some(Repeat {
            limit: Some(2),
            count: 1,
            offset: Millis(-4),
            job_id: Some("own".into()),
            ..Repeat::new(Timing::Every(Millis(9)))
        }),
        ..RareOptions::default()
    };
    let dedup =
        DedupRequest { from_hash: false, ttl: Some(Millis(60_000)), extend: true, replace: true, keep_last: false };
    let spec = NewJob {
        dedup,
        backoff: Backoff { delay: Millis(7), fixed: true, as_object: true },
        remove_on_complete: true,
        durable: true,
        rare: Some(Box::new(rare)),
        ..spec()
    };
    let mut record = record(spec);
    (record.job.id, record.job.has_custom_id, record.job.dedup_key) = (JobId::parse("own"), true, Some("k".into()));
    let job = &pulled(record)["job"];
    let expected = json!({
        "dependsOn": ["d"], "parentId": "p", "childrenIds": ["c"], "tags": ["t"], "timeout": 1, "ttl": 31_536_000_000.0,
        "stallTimeout": 3, "stackTraceLimit": 0, "keepLogs": 5, "sizeLimit": 0.5, "debounceId": "b", "debounceTtl": 6,
        "failParentOnFailure": true, "repeat": {"every": 9, "limit": 2, "count": 1, "offset": -4, "jobId": "own"}, "customId": "own", "uniqueKey": "k",
        "deduplicationTtl": 60_000, "deduplicationExtend": true, "deduplicationReplace": true, "backoff": 7,
        "backoffConfig": {"type": "fixed", "delay": 7}, "removeOnComplete": true, "durable": true,
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&job[key], value, "{key}");
    }
}

#[test]
fn a_payload_that_is_not_there_has_no_key() {
    for data in [Blob::Absent, Blob::OnDisk] {
        let mut record = record(spec());
        record.job.data = data;
        assert!(!pulled(record)["job"].as_object().unwrap().contains_key("data"));
    }
}

#[test]
fn questions_add_state_and_outcome() {
    let mut done = record(spec());
    done.state = StateName::Completed;
    done.job.state = JobState::Completed;
    done.job.progress = 40.0;
    done.job.result = Blob::Here(pack(&json!("r")).into());
    let reply = encoded(&Reply::Job(Box::new(done.clone())), false);
    let job = &reply["job"];
    assert_eq!((&job["state"], &job["returnvalue"], &job["progress"]), (&json!("completed"), &json!("r"), &json!(100)));
    assert_eq!(job.as_object().unwrap().len(), 49);
    let by_custom_id = encoded(&Reply::JobByCustomId(Box::new(done.clone())), false);
    assert!(!by_custom_id["job"].as_object().unwrap().contains_key("state"));
    assert_eq!(by_custom_id["job"]["returnvalue"], json!("r"));
    assert_eq!(encoded(&Reply::Jobs(vec![done]), false)["jobs"][0]["state"], json!("completed"));
}

/// A job that failed twice and is a dead letter.
fn dead() -> JobRecord {
    let mut dead = record(spec());
    dead.state = StateName::Failed;
    dead.job.state = JobState::Failed;
    let step = |state, millis, error: Option<&str>, attempt| TimelineEntry {
        state,
        at: at(millis),
        error: error.map(str::to_owned),
        attempt,
    };
    let attempt = |number, started_at, millis, reason| FailedAttempt {
        attempt: number,
        started_at,
        failed_at: at(millis),
        reason,
        error: Some("boom".to_owned()),
    };
    dead.job.extra = Extra {
        timeline: vec![step(StateName::Active, 1, None, None), step(StateName::Failed, 5, Some("boom"), Some(1))]
            .into(),
        rare: Some(Box::new(RareState {
            stacktrace: vec!["at x".to_owned()],
            progress_message: Some("half".to_owned()),
            failure: Some(Failure {
                reason: FailureReason::MaxAttemptsExceeded,
                error: Some("boom".to_owned()),
                entered_at: at(9),
                next_retry_at: Some(at(13)),
                expires_at: Some(at(20)),
            }),
            auto_retries: Some(AutoRetries { count: 2, last_at: at(3) }),
            failed_attempts: vec![
                attempt(1, Some(at(1)), 5, FailureReason::ExplicitFail),
                attempt(2, None, 9, FailureReason::MaxAttemptsExceeded),
            ],
            ..RareState::default()
        })),
    };
    dead
}

#[test]
fn a_failed_job_says_why() {
    let job = &encoded(&Reply::Job(Box::new(dead())), false)["job"];
    assert_eq!(job["failedReason"], json!("boom"));
    assert_eq!((&job["stacktrace"], &job["progressMessage"]), (&json!(["at x"]), &json!("half")));
    assert_eq!(
        job["timeline"],
        json!([
            {"state": "waiting", "timestamp": AT},
            {"state": "active", "timestamp": AT + 1.0},
            {"state": "failed", "timestamp": AT + 5.0, "error": "boom", "attempt": 1},
        ])
    );
}

#[test]
fn dead_letters_come_as_jobs_and_as_entries() {
    let reply = encoded(&Reply::Dlq(vec![dead()]), false);
    let entry = &reply["entries"][0];
    assert_eq!(entry["job"], reply["jobs"][0]);
    assert!(!entry["job"].as_object().unwrap().contains_key("state"));
    let expected = json!({
        "job": reply["jobs"][0], "enteredAt": AT + 9.0, "reason": "max_attempts_exceeded", "error": "boom",
        "retryCount": 2, "lastRetryAt": AT + 3.0, "nextRetryAt": AT + 13.0, "expiresAt": AT + 20.0,
        "attempts": [
            {"attempt": 1, "startedAt": AT + 1.0, "failedAt": AT + 5.0, "reason": "explicit_fail", "error": "boom", "duration": 4},
            {"attempt": 2, "startedAt": null, "failedAt": AT + 9.0, "reason": "max_attempts_exceeded", "error": "boom", "duration": 0},
        ],
    });
    assert_eq!(*entry, expected);
}

#[test]
fn protocol_2_clients_find_the_name_in_the_data() {
    let job = |record: JobRecord| encoded(&Reply::Job(Box::new(record)), true)["job"]["data"].clone();
    assert_eq!(job(record(spec())), json!({"name": "n", "a": 1}));
    let mut scalar = record(spec());
    scalar.job.data = Blob::Here(pack(&json!(5)).into());
    assert_eq!(job(scalar), json!({"name": "n", "payload": 5}));
    let mut none = record(spec());
    none.job.data = Blob::Absent;
    assert_eq!(job(none), json!({"name": "n"}));
}

#[test]
fn bulk_pulls_give_a_token_for_each_job() {
    let job = |token: Option<&str>| Delivered { record: record(spec()), token: token.map(str::to_owned) };
    let reply = encoded(&Reply::PulledBulk { jobs: vec![job(Some("t")), job(None)], locked: true }, false);
    assert_eq!(reply["tokens"], json!(["t", ""]));
    assert_eq!(reply["jobs"].as_array().unwrap().len(), 2);
    let unlocked = encoded(&Reply::PulledBulk { jobs: vec![job(None)], locked: false }, false);
    assert!(!unlocked.as_object().unwrap().contains_key("tokens"));
}
