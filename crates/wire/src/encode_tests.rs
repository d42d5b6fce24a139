//! Answers and events in their exact shapes, but for those with jobs.

use crate::encode::{EncodeCtx, encode_error, encode_event, encode_hello, encode_pong, encode_reply};
use crate::request::ReqId;
use crate::testing::{hex, unframe};
use bytes::BytesMut;
use onceover_engine::command::StateName;
use onceover_engine::dead::DlqConfig;
use onceover_engine::event::{Event, EventKind};
use onceover_engine::job::{Blob, LogLine};
use onceover_engine::names::JobId;
use onceover_engine::rejection::Rejection;
use onceover_engine::reply::{Added, DlqStats, JobCounts, KeyRecord, Reply, StallConfig, Totals, WorkerRecord};
use onceover_engine::time::{Millis, Timestamp};
use serde_json::{Value as Json, json};

const NOW: f64 = 1_796_010_604_288.0;
const AT: Timestamp = Timestamp(1_796_010_604_288);

/// The answer without a request number.
fn encoded(reply: &Reply) -> Json {
    let mut out = BytesMut::new();
    encode_reply(&mut out, None, reply, EncodeCtx::default());
    unframe(&out)
}

fn event(job: Option<&str>, kind: EventKind) -> Json {
    let mut out = BytesMut::new();
    encode_event(&mut out, &Event { queue: "q".into(), job: job.map(JobId::parse), at: AT, kind });
    unframe(&out)
}

fn id(text: &str) -> JobId {
    JobId::parse(text)
}

#[test]
fn the_worked_example_is_written() {
    let added = Added { id: id("01a22a99-ec97-773e-ad45-81e56b25646a"), duplicate: None, replaced: None };
    let mut out = BytesMut::new();
    encode_reply(&mut out, Some(&ReqId::new(&hex("a131"))), &Reply::Added(added), EncodeCtx::default());
    let expected = hex(
        "00000038 de0003 a26f6b c3 a26964 d924 30316132326139392d656339372d373733652d616434352d383165353662323536343661 \
         a57265714964 a131",
    );
    assert_eq!(out, expected);
}

#[test]
fn answers_of_the_connection() {
    let mut out = BytesMut::new();
    encode_error(&mut out, None, "Invalid token");
    assert_eq!(unframe(&out), json!({"ok": false, "error": "Invalid token"}));
    out.clear();
    encode_pong(&mut out, Some(&ReqId::new(&[7])), AT);
    assert_eq!(unframe(&out), json!({"ok": true, "data": {"pong": true, "time": NOW}, "reqId": 7}));
    out.clear();
    encode_hello(&mut out, Some(&ReqId::new(&[0xc0])));
    let hello = unframe(&out);
    assert_eq!(hello["capabilities"], json!(["pipelining", "separate-job-name"]));
    assert_eq!(
        (&hello["protocolVersion"], &hello["server"], &hello["version"]),
        (&json!(3), &json!("bunqueue"), &json!("2.9.5"))
    );
    assert_eq!(hello.as_object().unwrap().get("reqId"), Some(&Json::Null));
}

#[test]
fn small_answers_have_their_shapes() {
    let page = |blob| Reply::Result { id: id("a"), key: None, result: blob };
    let waited = |completed, result, failed| Reply::Waited { key: None, completed, result, failed };
    for (reply, expected) in [
        (Reply::Ok, json!({"ok": true})),
        (Reply::Rejected(Rejection::JobNotFound), json!({"ok": false, "error": "Job not found"})),
        (
            Reply::Added(Added { id: id("a"), duplicate: Some("default"), replaced: Some(id("b")) }),
            json!({"ok": true, "id": "a", "duplicate": "default", "replaced": "b"}),
        ),
        (
            Reply::AddedBulk(vec![Added { id: id("a"), duplicate: None, replaced: None }]),
            json!({"ok": true, "ids": ["a"]}),
        ),
        (Reply::Pulled { job: None, locked: false }, json!({"ok": true, "job": null})),
        (Reply::Pulled { job: None, locked: true }, json!({"ok": true, "job": null, "token": null})),
        (Reply::PulledBulk { jobs: vec![], locked: false }, json!({"ok": true, "jobs": []})),
        (Reply::PulledBulk { jobs: vec![], locked: true }, json!({"ok": true, "jobs": [], "tokens": []})),
        (Reply::AlreadyFinalized, json!({"ok": true, "data": {"applied": false, "reason": "already-finalized"}})),
        (
            Reply::AckBulkIgnored { ignored: vec![(2, id("a"))] },
            json!({"ok": true, "data": {"ignoredIndices": [2], "ignoredIds": ["a"]}}),
        ),
        (Reply::DataOk, json!({"ok": true, "data": {"ok": true}})),
        (Reply::Renewed { count: 3 }, json!({"ok": true, "data": {"ok": true, "count": 3}})),
        (Reply::Count(7), json!({"ok": true, "count": 7})),
        (Reply::WorkerRemoved, json!({"ok": true, "data": {"removed": true}})),
        (Reply::State { id: id("a"), state: None }, json!({"ok": true, "id": "a", "state": "unknown"})),
        (
            Reply::State { id: id("a"), state: Some(StateName::WaitingChildren) },
            json!({"ok": true, "id": "a", "state": "waiting-children"}),
        ),
        (page(Blob::Absent), json!({"ok": true, "id": "a"})),
        (page(Blob::Here(vec![0xc0].into())), json!({"ok": true, "id": "a", "result": null})),
        (Reply::Progress { progress: 0.5, message: None }, json!({"ok": true, "progress": 0.5, "message": null})),
        (waited(true, Blob::Here(vec![5].into()), None), json!({"ok": true, "completed": true, "result": 5})),
        (waited(false, Blob::Absent, None), json!({"ok": true, "completed": false})),
        (
            waited(false, Blob::Absent, Some("boom".to_owned())),
            json!({"ok": true, "completed": false, "failedReason": "boom"}),
        ),
        (Reply::LogAdded, json!({"ok": true, "data": {"added": true}})),
        (Reply::KeyOwner(None), json!({"ok": true, "data": {"jobId": null}})),
        (Reply::KeyOwner(Some(id("a"))), json!({"ok": true, "data": {"jobId": "a"}})),
        (Reply::KeysRemoved(1), json!({"ok": true, "data": {"count": 1}})),
        (Reply::Removed(false), json!({"ok": true, "data": {"removed": false}})),
        (Reply::Moved, json!({"ok": true, "data": {"moved": true}})),
        (Reply::Paused(true), json!({"ok": true, "paused": true})),
        (Reply::Cleaned(vec![id("a")]), json!({"ok": true, "count": 1, "ids": ["a"]})),
        (Reply::Queues(vec!["q".into()]), json!({"ok": true, "queues": ["q"]})),
        (Reply::Dlq(vec![]), json!({"ok": true, "jobs": [], "entries": []})),
    ] {
        assert_eq!(encoded(&reply), expected, "{reply:?}");
    }
}

#[test]
fn counts_are_integers() {
    let counts = JobCounts { waiting: 1, delayed: 300, paused: 70_000, ..JobCounts::default() };
    assert_eq!(
        encoded(&Reply::Counts(counts)),
        json!({"ok": true, "counts": {"waiting": 1, "prioritized": 0, "delayed": 300, "active": 0, "completed": 0,
            "failed": 0, "waiting-children": 0, "paused": 70_000}})
    );
    assert_eq!(
        encoded(&Reply::PriorityCounts { queue: "q".into(), counts: vec![(-5, 1), (0, 2)] }),
        json!({"ok": true, "queue": "q", "counts": {"-5": 1, "0": 2}})
    );
    let totals = Totals { pushed: 4, collapsed: 9, pulled: 3, completed: 2, failed: 1, ..Totals::default() };
    let broker = encoded(&Reply::Totals { totals, counts });
    assert_eq!(broker["metrics"], json!({"totalPushed": 4, "totalPulled": 3, "totalCompleted": 2, "totalFailed": 1}));
    assert_eq!(
        broker["stats"],
        json!({"waiting": 1, "active": 0, "delayed": 300, "dlq": 0, "completed": 2, "failed": 1})
    );
}

#[test]
fn logs_and_keys_are_pages() {
    let line = LogLine { at: AT, level: "info".to_owned(), message: "m".to_owned() };
    assert_eq!(
        encoded(&Reply::Logs { lines: vec![line], total: 9 }),
        json!({"ok": true, "data": {"logs": [{"timestamp": NOW, "level": "info", "message": "m"}], "count": 9}})
    );
    let key = KeyRecord {
        queue: "q".into(),
        key: "k".into(),
        job_id: id("a"),
        state: Some(StateName::Waiting),
        ttl: Some(Millis(60_000)),
        expires_at: Some(AT.plus(Millis(500))),
        registered_at: AT,
        hits: 2,
        last: None,
    };
    let forever = KeyRecord { state: None, ttl: None, expires_at: None, ..key.clone() };
    assert_eq!(
        encoded(&Reply::Keys { keys: vec![key, forever], total: 2, now: AT }),
        json!({"ok": true, "data": {"total": 2, "now": NOW, "keys": [
            {"queue": "q", "key": "k", "jobId": "a", "state": "waiting", "ttl": 60_000, "expiresAt": NOW + 500.0,
                "remainingMs": 500, "registeredAt": NOW, "hits": 2},
            {"queue": "q", "key": "k", "jobId": "a", "state": "gone", "ttl": null, "expiresAt": null,
                "remainingMs": null, "registeredAt": NOW, "hits": 2},
        ]}})
    );
}

#[test]
fn workers_and_configuration() {
    let worker = WorkerRecord {
        worker_id: "w".to_owned(),
        name: "n".to_owned(),
        queues: vec!["q".into()],
        concurrency: 4,
        hostname: "h".to_owned(),
        pid: 7,
        registered_at: AT,
        last_seen: AT.plus(Millis(10)),
        active_jobs: 1,
        processed: 2,
        failed: 3,
        full_since: None,
        conn: 1,
    };
    let fields = json!({"name": "n", "queues": ["q"], "concurrency": 4, "hostname": "h", "pid": 7, "status": "active",
        "registeredAt": NOW, "lastSeen": NOW + 10.0, "activeJobs": 1, "processedJobs": 2, "failedJobs": 3,
        "currentJob": null});
    let with = |more: Json| {
        let mut all = fields.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let listed = |now| encoded(&Reply::Workers { workers: vec![worker.clone()], processed: 12, failed: 5, now });
    assert_eq!(
        encoded(&Reply::Worker(Box::new(worker.clone()))),
        json!({"ok": true, "data": with(json!({"workerId": "w"}))})
    );
    assert_eq!(
        listed(worker.last_seen.plus(Millis(30_000))),
        json!({"ok": true, "data": {
            "workers": [with(json!({"id": "w", "uptime": 30_010}))],
            "stats": {"total": 1, "active": 1, "totalProcessed": 12, "totalFailed": 5, "activeJobs": 1, "concurrencySlots": 4},
        }})
    );
    let stale = listed(worker.last_seen.plus(Millis(30_001)));
    assert_eq!(
        (&stale["data"]["workers"][0]["status"], &stale["data"]["stats"]["active"]),
        (&json!("stale"), &json!(0))
    );
    let config =
        StallConfig { enabled: true, stall_interval: Millis(30_000), max_stalls: 3, grace_period: Millis(5000) };
    assert_eq!(
        encoded(&Reply::StallConfig(config)),
        json!({"ok": true, "config": {"enabled": true, "stallInterval": 30_000, "maxStalls": 3, "gracePeriod": 5000}})
    );
    let config = DlqConfig { max_age: None, max_entries: Some(7), ..DlqConfig::default() };
    assert_eq!(
        encoded(&Reply::DlqConfig(config)),
        json!({"ok": true, "config": {"autoRetry": false, "autoRetryInterval": 3_600_000, "maxAutoRetries": 3,
            "maxAge": null, "maxEntries": 7}})
    );
    let stats =
        DlqStats { total: 2, by_reason: vec![("stalled", 2)], pending_retry: 1, oldest: Some(AT), newest: None };
    let reply = encoded(&Reply::DlqStats { queue: "q".into(), stats });
    assert_eq!(reply["data"]["stats"]["byReason"]["stalled"], json!(2));
    assert_eq!(reply["data"]["stats"]["byReason"].as_object().unwrap().len(), 7);
    assert_eq!(reply["data"]["stats"]["byQueue"], json!({"q": 2}));
    assert_eq!((&reply["data"]["stats"]["pendingRetry"], &reply["data"]["stats"]["expired"]), (&json!(1), &json!(0)));
    assert_eq!(
        (&reply["data"]["stats"]["oldestEntry"], &reply["data"]["stats"]["newestEntry"]),
        (&json!(NOW), &json!(null))
    );
}

#[test]
fn events_have_their_shapes() {
    let data = || Some(Blob::Here(vec![0x81, 0xa1, 0x61, 1].into()));
    let key = Some("k".into());
    for (kind, extra) in [
        (EventKind::Pushed, json!({"eventType": "pushed"})),
        (
            EventKind::Duplicated { key, strategy: "default" },
            json!({"eventType": "duplicated", "deduplicationId": "k", "strategy": "default"}),
        ),
        (EventKind::Pulled, json!({"eventType": "pulled"})),
        (
            EventKind::Progress { progress: 50.0, message: None },
            json!({"eventType": "progress", "progress": 50, "data": {"progress": 50, "message": null}}),
        ),
        (EventKind::Completed { result: None }, json!({"eventType": "completed"})),
        (EventKind::Completed { result: Some(vec![0xc0].into()) }, json!({"eventType": "completed", "data": null})),
        (
            EventKind::Failed { error: Some("boom".to_owned()), data: data(), terminal: Some(false) },
            json!({"eventType": "failed", "error": "boom", "data": {"a": 1}, "terminal": false}),
        ),
        (
            EventKind::Failed {
                error: Some("Lock expired (max stalls reached)".to_owned()),
                data: None,
                terminal: None,
            },
            json!({"eventType": "failed", "error": "Lock expired (max stalls reached)"}),
        ),
        (EventKind::Retried, json!({"eventType": "retried", "prev": "failed"})),
        (EventKind::Stalled { detail: None }, json!({"eventType": "stalled"})),
        (
            EventKind::Stalled { detail: Some((2, true)) },
            json!({"eventType": "stalled", "data": {"stallCount": 2, "action": "move_to_dlq"}}),
        ),
        (EventKind::Delayed { delay: Millis(500) }, json!({"eventType": "delayed", "delay": 500})),
        (EventKind::Waiting { prev: StateName::Active }, json!({"eventType": "waiting", "prev": "active"})),
        (EventKind::WaitingChildren, json!({"eventType": "waiting-children", "prev": "active"})),
        (EventKind::Removed { prev: StateName::Waiting }, json!({"eventType": "removed", "prev": "waiting"})),
    ] {
        let mut body = json!({"queue": "q", "jobId": "a", "timestamp": NOW});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        assert_eq!(event(Some("a"), kind), json!({"type": "event", "event": body}));
    }
    let expected =
        json!({"type": "event", "event": {"eventType": "paused", "queue": "q", "jobId": "", "timestamp": NOW}});
    assert_eq!(event(None, EventKind::Paused), expected);
}
