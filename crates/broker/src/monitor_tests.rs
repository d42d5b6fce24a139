//! The members of each answer, from a core with a few jobs.

use super::*;
use crate::core::Core;
use crate::inbox::Message;
use crate::outbox::Outbox;
use onceover_engine::EngineConfig;
use onceover_engine::command::{Add, Command, NewJob};
use onceover_engine::time::Timestamp;
use onceover_store::SimDisk;
use tokio::sync::oneshot;

type Ask = Box<dyn FnOnce(&CoreView<'_>) -> Value + Send>;

/// One job waits in `a`, one with a priority and one that is delayed in `b`, which is paused.
fn ask(question: Ask) -> Value {
    let mut core =
        Core::open(SimDisk::default().open().unwrap(), EngineConfig::default(), 1, Timestamp(1_000)).unwrap();
    let add = |queue, priority, delay| {
        let mut spec = NewJob::new(queue, "n");
        spec.priority = priority;
        spec.delay = onceover_engine::time::Millis(delay);
        Command::Push { add: Add::new(spec), replay_of: None }
    };
    let pause = Command::Pause { queue: "b".into() };
    let act = |command| Message::Act { command: Box::new(command), answer: oneshot::channel().0 };
    let (answer, mut answered) = oneshot::channel();
    let view = move |core: &CoreView<'_>| answer.send(question(core)).unwrap();
    let mut inbox = vec![act(add("a", 0, 0)), act(add("b", 3, 0)), act(add("b", 0, 9_000)), act(pause)];
    inbox.push(Message::View(Box::new(view)));
    core.turn(Timestamp(2_000), &mut inbox, &mut Outbox::default()).unwrap();
    answered.try_recv().unwrap()
}

fn command(question: Monitor) -> Value {
    ask(Box::new(move |core| answer(core, &question)))
}

#[test]
fn stats_count_jobs_by_state() {
    let stats = command(Monitor::Stats);
    let names = ["waiting", "active", "delayed", "dlq", "completed", "failed"];
    assert_eq!(names.map(|name| stats["stats"][name].as_u64()), [Some(1), Some(0), Some(1), Some(0), Some(0), Some(0)]);
    for name in ["uptime", "pushPerSec", "pullPerSec"] {
        assert!(stats["stats"][name].is_number(), "{name}: {stats}");
    }
}

#[test]
fn metrics_and_storage() {
    let metrics = command(Monitor::Metrics);
    assert_eq!(metrics["metrics"]["totalPushed"], 3);
    for name in ["totalPulled", "totalCompleted", "totalFailed", "avgLatencyMs", "sqliteSizeMb", "activeConnections"] {
        assert!(metrics["metrics"][name].is_number(), "{name}: {metrics}");
    }
    assert_eq!(command(Monitor::StorageStatus), json!({"data": {"diskFull": false, "error": null, "since": null}}));
    assert_eq!(command(Monitor::TrimEvents), json!({"data": {"removed": 0}}));
}

#[test]
fn ready_jobs_of_a_paused_queue_wait() {
    let queues = command(Monitor::Queues);
    let wanted = json!([
        {"name": "a", "waiting": 1, "prioritized": 0, "delayed": 0, "active": 0, "dlq": 0, "paused": false},
        {"name": "b", "waiting": 1, "prioritized": 0, "delayed": 1, "active": 0, "dlq": 0, "paused": true},
    ]);
    assert_eq!(queues["data"]["queues"], wanted);
    let summary = ask(Box::new(summary));
    assert_eq!(summary[1]["counts"]["waiting"], 1);
}

#[test]
fn the_page_of_a_queue() {
    let page = command(Monitor::Queue { queue: "b".into(), jobs: Some(10) });
    let page = &page["data"];
    assert_eq!(
        (&page["paused"], &page["counts"]["paused"], &page["counts"]["waiting"]),
        (&json!(true), &json!(1), &json!(0))
    );
    assert_eq!(page["priorityCounts"], json!({"0": 1, "3": 1}));
    assert_eq!(page["jobs"]["delayed"].as_array().map(Vec::len), Some(1));
    assert_eq!(page["jobs"]["paused"][0]["priority"], 3);
    let unknown = command(Monitor::Queue { queue: "c".into(), jobs: None });
    assert_eq!((&unknown["data"]["counts"]["waiting"], unknown["data"].get("jobs")), (&json!(0), None));
}

#[test]
fn the_command_lists_schedules_bare_and_http_does_not() {
    let (command, http) = (command(Monitor::Overview), ask(Box::new(dashboard)));
    assert_eq!((&command["data"]["crons"], &http["crons"]["list"]), (&json!([]), &json!([])));
    assert_eq!((command["data"]["workers"].get("truncated"), &http["workers"]["truncated"]), (None, &json!(false)));
    assert_eq!(http["stats"]["prioritized"], 0);
}

#[test]
fn a_scrape_is_well_formed() {
    let text = command(Monitor::Prometheus)["data"]["metrics"].as_str().unwrap().to_owned();
    assert!(text.contains("\nbunqueue_jobs_delayed 1\n"), "{text}");
    assert!(text.contains("\nbunqueue_queue_jobs_waiting{queue=\"b\"} 1\n"), "{text}");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
        let name = series.split('{').next().unwrap();
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        let typed = |name: &str| text.contains(&format!("# TYPE {name} "));
        assert!(typed(name) || typed(family), "{name} has no type");
    }
}
