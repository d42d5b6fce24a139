//! Names and members.

use super::*;
use onceover_engine::names::JobId;
use onceover_engine::time::{Millis, Timestamp};

#[test]
fn events_of_jobs_carry_no_data() {
    let told = |kind| {
        let event = Event { queue: "q".into(), job: Some(JobId::parse("j")), at: Timestamp(5), kind };
        let item = item(&Told::Event(event));
        (item.name, item.members.to_string())
    };
    let members = |more: &str| format!(r#"{{"jobId":"j"{more},"queue":"q","timestamp":5}}"#);
    assert_eq!(told(EventKind::Completed { result: Some(vec![1].into()) }), ("job:completed", members("")));
    assert_eq!(told(EventKind::Pulled), ("job:active", members("")));
    let failed = EventKind::Failed { error: Some("e".to_owned()), data: None, terminal: None };
    assert_eq!(told(failed).1, r#"{"error":"e","jobId":"j","queue":"q","timestamp":5}"#);
    assert_eq!(told(EventKind::Delayed { delay: Millis(7) }).1, r#"{"delay":7,"jobId":"j","queue":"q","timestamp":5}"#);
}

#[test]
fn notices_carry_their_fields() {
    let fields = vec![("queue", Field::from("q")), ("count", Field::from(2_u64)), ("share", Field::Number(0.5))];
    let notice = Notice { at: Timestamp(0), name: "queue:drained", fields };
    let told = item(&Told::Notice(notice));
    assert_eq!((told.name, told.job_queue), ("queue:drained", None));
    assert_eq!(told.members, json!({"queue": "q", "count": 2, "share": 0.5}));
}
