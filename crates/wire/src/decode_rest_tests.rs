//! Questions, changes of a job, whole queues, dead letters, configuration.

use crate::testing::{command, refusal};
use onceover_engine::command::{
    Claim, CleanState, Command, DlqFilter, DlqPatch, ListState, StallPatch, StateName, dead,
};
use onceover_engine::names::JobId;
use onceover_engine::time::{Millis, Timestamp};
use serde_json::{Value as Json, json};

fn id() -> JobId {
    JobId::parse("a")
}

fn claim(token: Option<&str>) -> Claim {
    Claim { id: id(), token: token.map(str::to_owned) }
}

/// Each request becomes the command beside it.
fn check(cases: Vec<(Json, Command)>) {
    for (request, expected) in cases {
        assert_eq!(command(&request), expected, "{request}");
    }
}

/// Each request is answered with the text beside it.
fn check_refused(cases: Vec<(Json, &str)>) {
    for (request, text) in cases {
        assert_eq!(refusal(&request), text, "{request}");
    }
}

#[test]
fn questions_about_jobs() {
    check(vec![
        (json!({"cmd": "GetJob", "id": "a"}), Command::GetJob { id: id() }),
        (json!({"cmd": "GetJob", "id": 5}), Command::GetJob { id: JobId::parse("5") }),
        (json!({"cmd": "GetJobByCustomId", "customId": "a", "queue": "?"}), Command::GetJobByCustomId { id: id() }),
        (json!({"cmd": "GetState", "id": "a"}), Command::GetState { id: id() }),
        (json!({"cmd": "GetResult", "id": "a"}), Command::GetResult { id: id() }),
        (json!({"cmd": "GetProgress", "id": "a"}), Command::GetProgress { id: id() }),
        (json!({"cmd": "WaitJob", "id": "a"}), Command::WaitJob { id: id(), timeout: Millis(30_000) }),
        (json!({"cmd": "WaitJob", "id": "a", "timeout": 5}), Command::WaitJob { id: id(), timeout: Millis(5) }),
        (json!({"cmd": "GetLogs", "id": "a"}), Command::GetLogs { id: id(), start: 0, end: None }),
        (
            json!({"cmd": "GetLogs", "id": "a", "start": 2, "end": -1}),
            Command::GetLogs { id: id(), start: 2, end: Some(-1) },
        ),
    ]);
    check_refused(vec![
        (json!({"cmd": "GetJob"}), "id is required"),
        (json!({"cmd": "GetJob", "id": ""}), "id is required"),
        (json!({"cmd": "GetJob", "id": true}), "id must be a string"),
        (json!({"cmd": "GetJobByCustomId"}), "customId is required"),
        (json!({"cmd": "WaitJob", "id": "a", "timeout": 600_001}), "timeout must be at most 600000"),
    ]);
}

#[test]
fn lists_of_jobs() {
    let jobs = |states: &[ListState], unknown_state, page: (usize, usize), ascending| Command::GetJobs {
        queue: "q".into(),
        states: states.to_vec(),
        unknown_state,
        offset: page.0,
        limit: page.1,
        ascending,
    };
    let list = |fields: Json| {
        let mut request = json!({"cmd": "GetJobs", "queue": "q"});
        request.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        request
    };
    let waiting = ListState::State(StateName::Waiting);
    check(vec![
        (list(json!({})), jobs(&[], false, (0, 100), true)),
        (list(json!({"state": ""})), jobs(&[], false, (0, 100), true)),
        (list(json!({"state": []})), jobs(&[], false, (0, 100), true)),
        (
            list(json!({"state": "waiting", "offset": 5, "limit": 10, "asc": false})),
            jobs(&[waiting], false, (5, 10), false),
        ),
        (
            list(json!({"state": ["paused", "waiting", "paused"]})),
            jobs(&[ListState::Paused, waiting], false, (0, 100), true),
        ),
        (list(json!({"state": "nonsense"})), jobs(&[], true, (0, 100), true)),
        (list(json!({"state": ["nonsense", "waiting"]})), jobs(&[waiting], false, (0, 100), true)),
        (list(json!({"offset": -3, "limit": -1})), jobs(&[], false, (0, 0), true)),
    ]);
    check_refused(vec![
        (list(json!({"state": 5})), "state must be a string"),
        (list(json!({"limit": "x"})), "limit must be a number"),
    ]);
}

#[test]
fn counts_and_figures() {
    let queue: std::sync::Arc<str> = "q".into();
    check(vec![
        (json!({"cmd": "GetJobCounts", "queue": "q"}), Command::GetJobCounts { queue: queue.clone() }),
        (json!({"cmd": "GetCountsPerPriority", "queue": "q"}), Command::GetCountsPerPriority { queue: queue.clone() }),
        (json!({"cmd": "Count", "queue": "q"}), Command::Count { queue }),
    ]);
    check_refused(vec![
        (json!({"cmd": "Count"}), "Queue name is required"),
        (json!({"cmd": "Metrics", "type": "completed"}), "Metrics queue is required"),
        (json!({"cmd": "Metrics", "queue": "q", "type": "x"}), "Metrics type must be 'completed' or 'failed'"),
        (json!({"cmd": "Metrics", "queue": "q", "start": -1}), "start must be a non-negative safe integer"),
        (json!({"cmd": "Metrics", "queue": "q", "end": 1.5}), "end must be a non-negative safe integer"),
    ]);
}

#[test]
fn keys() {
    check(vec![
        (
            json!({"cmd": "GetDeduplicationJobId", "queue": "q", "deduplicationId": "k"}),
            Command::GetDeduplicationJobId { queue: "q".into(), key: "k".into() },
        ),
        (
            json!({"cmd": "RemoveDeduplicationKey", "queue": "q", "deduplicationId": 5}),
            Command::RemoveDeduplicationKey { queue: "q".into(), key: "5".into() },
        ),
        (json!({"cmd": "RemoveJobDeduplicationKey", "id": "a"}), Command::RemoveJobDeduplicationKey { id: id() }),
        (
            json!({"cmd": "ListDeduplicationKeys"}),
            Command::ListDeduplicationKeys { queue: None, offset: 0, limit: 100 },
        ),
        (
            json!({"cmd": "ListDeduplicationKeys", "queue": "q", "offset": 1, "limit": 2}),
            Command::ListDeduplicationKeys { queue: Some("q".into()), offset: 1, limit: 2 },
        ),
    ]);
    check_refused(vec![(json!({"cmd": "GetDeduplicationJobId", "queue": "q"}), "deduplicationId is required")]);
}

#[test]
fn changes_of_a_job() {
    check(vec![
        (
            json!({"cmd": "Progress", "id": "a", "progress": 0.5}),
            Command::Progress { id: id(), progress: 0.5, message: None },
        ),
        (
            json!({"cmd": "Progress", "id": "a", "progress": 150, "message": null}),
            Command::Progress { id: id(), progress: 150.0, message: Some(None) },
        ),
        (
            json!({"cmd": "Progress", "id": "a", "progress": 1, "message": "m"}),
            Command::Progress { id: id(), progress: 1.0, message: Some(Some("m".to_owned())) },
        ),
        (
            json!({"cmd": "Update", "id": "a", "data": null}),
            Command::Update { id: id(), data: Some(vec![0xc0].into()) },
        ),
        (json!({"cmd": "Update", "id": "a"}), Command::Update { id: id(), data: None }),
        (
            json!({"cmd": "ChangePriority", "id": "a", "priority": 3}),
            Command::ChangePriority { id: id(), priority: 3, lifo: None },
        ),
        (
            json!({"cmd": "ChangePriority", "id": "a", "priority": 3, "lifo": false}),
            Command::ChangePriority { id: id(), priority: 3, lifo: Some(false) },
        ),
        (
            json!({"cmd": "ChangeDelay", "id": "a", "delay": 5, "token": "t"}),
            Command::ChangeDelay { claim: claim(Some("t")), delay: Millis(5) },
        ),
        (
            json!({"cmd": "MoveToDelayed", "id": "a", "delay": 0}),
            Command::MoveToDelayed { claim: claim(None), delay: Millis(0) },
        ),
        (json!({"cmd": "MoveToWait", "id": "a", "token": "t"}), Command::MoveToWait { claim: claim(Some("t")) }),
        (json!({"cmd": "MoveToWaitingChildren", "id": "a"}), Command::MoveToWaitingChildren { claim: claim(None) }),
        (json!({"cmd": "Promote", "id": "a"}), Command::Promote { id: id() }),
        (json!({"cmd": "Cancel", "id": "a"}), Command::Cancel { id: id() }),
        (json!({"cmd": "Discard", "id": "a"}), Command::Discard { claim: claim(None) }),
        (
            json!({"cmd": "AddLog", "id": "a", "message": "m"}),
            Command::AddLog { id: id(), message: "m".to_owned(), level: "info".to_owned() },
        ),
        (json!({"cmd": "ClearLogs", "id": "a", "keepLogs": 3}), Command::ClearLogs { id: id(), keep: 3 }),
        (json!({"cmd": "ClearLogs", "id": "a"}), Command::ClearLogs { id: id(), keep: 0 }),
    ]);
    check_refused(vec![
        (json!({"cmd": "Progress", "id": "a"}), "progress must be a number"),
        (json!({"cmd": "Progress", "id": "a", "progress": "x"}), "progress must be a number"),
        (json!({"cmd": "ChangePriority", "id": "a"}), "priority is required"),
        (json!({"cmd": "ChangeDelay", "id": "a", "delay": -1}), "delay must be at least 0"),
        (json!({"cmd": "MoveToDelayed", "id": "a"}), "delay is required"),
        (json!({"cmd": "AddLog", "id": "a"}), "message is required"),
        (json!({"cmd": "MoveToWait", "id": "a", "token": 5}), "token must be a string"),
    ]);
}

#[test]
fn whole_queues() {
    let queue: std::sync::Arc<str> = "q".into();
    let clean = |state, limit| Command::Clean { queue: "q".into(), grace: Millis(5), state, limit };
    let request =
        |state: Json, limit: Json| json!({"cmd": "Clean", "queue": "q", "grace": 5, "state": state, "limit": limit});
    check(vec![
        (json!({"cmd": "Pause", "queue": "q"}), Command::Pause { queue: queue.clone() }),
        (json!({"cmd": "Resume", "queue": "q"}), Command::Resume { queue: queue.clone() }),
        (json!({"cmd": "IsPaused", "queue": "q"}), Command::IsPaused { queue: queue.clone() }),
        (json!({"cmd": "Drain", "queue": "q"}), Command::Drain { queue: queue.clone() }),
        (json!({"cmd": "Obliterate", "queue": "q"}), Command::Obliterate { queue: queue.clone() }),
        (json!({"cmd": "ListQueues"}), Command::ListQueues),
        (
            json!({"cmd": "PromoteJobs", "queue": "q", "count": {"$undefined": true}}),
            Command::PromoteJobs { queue: queue.clone(), count: None },
        ),
        (
            json!({"cmd": "PromoteJobs", "queue": "q", "count": 2.9}),
            Command::PromoteJobs { queue: queue.clone(), count: Some(2) },
        ),
        (json!({"cmd": "PromoteJobs", "queue": "q", "count": -2}), Command::PromoteJobs { queue, count: Some(0) }),
        (request(json!(null), json!(null)), clean(CleanState::AnyPending, 1000)),
        (request(json!("wait"), json!(7.9)), clean(CleanState::Waiting, 7)),
        (request(json!("delayed"), json!(-1)), clean(CleanState::Delayed, 0)),
        (request(json!("prioritized"), json!(1)), clean(CleanState::Prioritized, 1)),
        (request(json!("completed"), json!(1)), clean(CleanState::Completed, 1)),
        (request(json!("failed"), json!(1)), clean(CleanState::Failed, 1)),
        (request(json!("active"), json!(1)), clean(CleanState::Nothing, 1)),
    ]);
    check_refused(vec![
        (json!({"cmd": "Pause", "queue": "bad name!"}), "Queue name contains invalid characters"),
        (json!({"cmd": "Clean", "queue": "q"}), "grace is required"),
        (json!({"cmd": "PromoteJobs", "queue": "q", "count": "x"}), "count must be a number"),
    ]);
}

#[test]
fn finished_jobs() {
    let queue: std::sync::Arc<str> = "q".into();
    check(vec![
        (
            json!({"cmd": "RetryCompleted", "queue": "q"}),
            Command::RetryCompleted { queue: queue.clone(), id: None, count: None, until: None },
        ),
        (
            json!({"cmd": "RetryCompleted", "queue": "q", "id": "a", "count": 0, "timestamp": 5}),
            Command::RetryCompleted { queue: queue.clone(), id: Some(id()), count: Some(0), until: Some(Timestamp(5)) },
        ),
        (
            json!({"cmd": "Dlq", "queue": "q", "count": 3, "filter": {"reason": "", "olderThan": 0, "limit": 0}}),
            Command::Dead(dead::Request::List { queue: queue.clone(), count: Some(3), filter: DlqFilter::default() }),
        ),
        (json!({"cmd": "GetDlqStats", "queue": "q"}), Command::Dead(dead::Request::Stats { queue: queue.clone() })),
        (
            json!({"cmd": "RetryDlq", "queue": "q", "jobId": "a", "filter": {"$undefined": true}}),
            Command::Dead(dead::Request::Retry { queue: queue.clone(), id: Some(id()), count: None, filter: None }),
        ),
        (
            json!({"cmd": "RetryDlq", "queue": "q", "filter": {"reason": "timeout", "newerThan": 7, "offset": 1, "limit": 2}}),
            Command::Dead(dead::Request::Retry {
                queue: queue.clone(),
                id: None,
                count: None,
                filter: Some(DlqFilter {
                    reason: Some("timeout".to_owned()),
                    older_than: None,
                    newer_than: Some(Timestamp(7)),
                    offset: 1,
                    limit: Some(2),
                }),
            }),
        ),
        (
            json!({"cmd": "Dlq", "queue": "q", "filter": {"expired": true, "limit": 5}}),
            Command::Dead(dead::Request::List {
                queue: queue.clone(),
                count: None,
                filter: DlqFilter { limit: Some(0), ..DlqFilter::default() },
            }),
        ),
        (json!({"cmd": "PurgeDlq", "queue": "q"}), Command::Dead(dead::Request::Purge { queue: queue.clone() })),
        (
            json!({"cmd": "RemoveDlqJob", "queue": "q", "jobId": "a"}),
            Command::Dead(dead::Request::Remove { queue, id: id() }),
        ),
    ]);
    check_refused(vec![
        (json!({"cmd": "RemoveDlqJob", "queue": "q"}), "jobId is required"),
        (json!({"cmd": "Dlq", "queue": "q", "filter": 5}), "filter must be an object"),
        (json!({"cmd": "Dlq", "queue": "q", "filter": {"olderThan": "x"}}), "filter.olderThan must be a number"),
    ]);
}

#[test]
fn stall_configuration() {
    let set = |patch| Command::SetStallConfig { queue: "q".into(), patch };
    check(vec![
        (json!({"cmd": "GetStallConfig", "queue": "q"}), Command::GetStallConfig { queue: "q".into() }),
        (json!({"cmd": "SetStallConfig", "queue": "q"}), set(StallPatch::default())),
        (
            json!({"cmd": "SetStallConfig", "queue": "q", "config": {"enabled": false, "stallInterval": "5000", "maxStalls": 2}}),
            set(StallPatch {
                enabled: Some(false),
                stall_interval: Some(Millis(5000)),
                max_stalls: Some(2),
                grace_period: None,
            }),
        ),
        (
            json!({"cmd": "SetStallConfig", "queue": "q", "config": {"enabled": 1, "stallInterval": "x", "gracePeriod": -1}}),
            set(StallPatch::default()),
        ),
    ]);
}

#[test]
fn configuration_of_dead_letters() {
    let set = |patch| Command::Dead(dead::Request::Configure { queue: "q".into(), patch });
    let config = |config: Json| json!({"cmd": "SetDlqConfig", "queue": "q", "config": config});
    check(vec![
        (json!({"cmd": "GetDlqConfig", "queue": "q"}), Command::Dead(dead::Request::Config { queue: "q".into() })),
        (config(json!({"autoRetry": null, "maxEntries": {"$undefined": true}, "else": 1})), set(DlqPatch::default())),
        (
            config(
                json!({"autoRetry": true, "autoRetryInterval": 1.9, "maxAutoRetries": 2, "maxAge": 5, "maxEntries": 9.5}),
            ),
            set(DlqPatch {
                auto_retry: Some(true),
                auto_retry_interval: Some(Millis(1)),
                max_auto_retries: Some(2),
                max_age: Some(Some(Millis(5))),
                max_entries: Some(9),
            }),
        ),
        (
            config(json!({"autoRetryInterval": -1, "maxAutoRetries": -0.5, "maxAge": null, "maxEntries": 0})),
            set(DlqPatch {
                auto_retry: None,
                auto_retry_interval: Some(Millis(0)),
                max_auto_retries: Some(0),
                max_age: Some(None),
                max_entries: Some(1),
            }),
        ),
        (config(json!({"maxEntries": 1e300})), set(DlqPatch { max_entries: Some(u32::MAX), ..DlqPatch::default() })),
    ]);
}
