//! What a dashboard is told, and that it costs nothing when nobody watches.

use super::*;
use crate::command::{Add, Command, WorkerInfo};
use crate::engine::EngineConfig;
use crate::names::{ConnId, Origin};
use crate::testing::new_job;

const NOW: Timestamp = Timestamp(1_000_000);
const FROM: Origin = Origin::Client { conn: ConnId(1), request: 1 };

fn told(watched: bool, commands: &[Command]) -> Vec<(&'static str, Vec<(&'static str, Field)>)> {
    let mut engine = Engine::new(EngineConfig::default(), 1);
    let mut effects = Effects { watched, ..Effects::default() };
    engine.tick(NOW, &mut effects);
    for command in commands {
        engine.handle(NOW, FROM, command.clone(), &mut effects);
    }
    effects.notices.into_iter().map(|notice| (notice.name, notice.fields)).collect()
}

fn commands() -> Vec<Command> {
    let queue: Arc<str> = Arc::from("q");
    let add = Add::new(new_job("q"));
    vec![
        Command::PushBulk { adds: vec![add.clone(), add] },
        Command::Promote { id: JobId::parse("nobody") },
        Command::Pause { queue: queue.clone() },
        Command::Drain { queue: queue.clone() },
        Command::GetJobCounts { queue },
    ]
}

#[test]
fn what_was_done_is_told_and_what_was_refused_or_only_asked_is_not() {
    let queue = || Field::from("q");
    let wanted = vec![
        ("queue:created", vec![("queue", queue())]),
        (
            "batch:pushed",
            vec![
                ("queue", queue()),
                ("total", Field::Number(2.0)),
                ("inserted", Field::Number(2.0)),
                ("duplicates", Field::Number(0.0)),
            ],
        ),
        ("queue:paused", vec![("queue", queue())]),
        ("queue:drained", vec![("queue", queue()), ("count", Field::Number(2.0))]),
    ];
    assert_eq!(told(true, &commands()), wanted);
}

#[test]
fn a_tree_is_told_of_from_its_making_to_its_end() {
    use crate::command::{Ack, Pull, RareOptions};
    use crate::flow::{Planned, Request};
    use crate::time::Millis;
    let id = JobId::parse;
    let node = |name: &str, queue: &str, rare: RareOptions| {
        let mut spec = new_job(queue);
        spec.rare = Some(Box::new(rare));
        Planned { id: id(name), add: Add::new(spec) }
    };
    let child = RareOptions { parent_id: Some(id("p")), ..RareOptions::default() };
    let parent = RareOptions { depends_on: vec![id("c")], children_ids: vec![id("c")], ..RareOptions::default() };
    let pull = Pull {
        queue: "a".into(),
        count: 1,
        bulk: false,
        timeout: Millis(0),
        owner: None,
        lock_ttl: Millis(1_000),
        detach: false,
        group: None,
    };
    let ack = Ack { id: id("c"), token: None, result: None, remove: false };
    let flow = Command::Flow(Request::Push(vec![node("c", "a", child), node("p", "b", parent)]));
    let names: Vec<&str> =
        told(true, &[flow, Command::Pull(pull), Command::Ack(ack)]).into_iter().map(|(name, _)| name).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| !name.starts_with("queue:")).collect();
    assert_eq!(names, ["flow:pushed", "job:waiting-children", "job:dependencies-resolved", "flow:completed"]);
}

#[test]
fn nothing_is_told_when_nobody_watches() {
    assert_eq!(told(false, &commands()), vec![]);
}

/// What is told from `from` on when nothing is done but time passes, with the moment in seconds since the start.
fn told_by_time(engine: &mut Engine, until: i64) -> Vec<(i64, &'static str)> {
    let mut told = Vec::new();
    for at in (0..=until).step_by(5) {
        let mut effects = Effects { watched: true, ..Effects::default() };
        engine.tick(NOW.plus(crate::time::Millis(at * 1_000)), &mut effects);
        told.extend(effects.notices.into_iter().map(|notice| (at, notice.name)));
    }
    told
}

/// A heartbeat of the worker below, with so many jobs.
fn beat(active: u64) -> Command {
    Command::WorkerHeartbeat { id: "w".to_owned(), active_jobs: Some(active), processed: None, failed: None }
}

/// An engine that somebody watches, with a registered worker.
fn with_a_worker_of_two_slots() -> (Engine, Effects) {
    let mut engine = Engine::new(EngineConfig::default(), 1);
    let mut effects = Effects { watched: true, ..Effects::default() };
    engine.tick(NOW, &mut effects);
    let info = WorkerInfo {
        worker_id: Some("w".to_owned()),
        name: "n".to_owned(),
        queues: vec!["q".into()],
        concurrency: 2,
        hostname: "h".to_owned(),
        pid: 1,
        started_at: None,
    };
    engine.handle(NOW, FROM, Command::RegisterWorker(info), &mut effects);
    (engine, effects)
}

#[test]
fn workers_without_a_free_slot_are_told_of_once_a_period_and_silent_ones_when_they_are_dropped() {
    let (mut engine, mut effects) = with_a_worker_of_two_slots();
    engine.handle(NOW, FROM, beat(2), &mut effects);
    let told = told_by_time(&mut engine, 120);
    assert_eq!(
        told,
        [(30, "worker:overloaded"), (60, "worker:overloaded"), (90, "worker:overloaded"), (95, "worker:removed-stale")]
    );
}

#[test]
fn a_worker_that_has_a_slot_again_is_not_overloaded() {
    let (mut engine, mut effects) = with_a_worker_of_two_slots();
    engine.handle(NOW, FROM, beat(2), &mut effects);
    engine.handle(NOW, FROM, beat(1), &mut effects);
    assert_eq!(told_by_time(&mut engine, 90), []);
    effects.notices.clear();
    engine.disconnect(NOW.plus(crate::time::Millis(91_000)), ConnId(1), &mut effects);
    assert_eq!(effects.notices.iter().map(|notice| notice.name).collect::<Vec<_>>(), ["worker:disconnected"]);
}

#[test]
fn completed_jobs_that_make_room_are_counted_until_the_next_sweep() {
    use crate::command::{Ack, Pull};
    use crate::time::Millis;
    let mut engine = Engine::new(EngineConfig { completed_max: 1, ..EngineConfig::default() }, 1);
    let mut effects = Effects { watched: true, ..Effects::default() };
    engine.tick(NOW, &mut effects);
    for id in ["a", "b", "c"] {
        let add = Add { custom_id: Some(JobId::parse(id)), ..Add::new(new_job("q")) };
        engine.handle(NOW, FROM, Command::Push { add, replay_of: None }, &mut effects);
        let pull = Pull {
            queue: "q".into(),
            count: 1,
            bulk: false,
            timeout: Millis(0),
            owner: None,
            lock_ttl: Millis(1_000),
            detach: false,
            group: None,
        };
        engine.handle(NOW, FROM, Command::Pull(pull), &mut effects);
        let ack = Ack { id: JobId::parse(id), token: None, result: None, remove: false };
        engine.handle(NOW, FROM, Command::Ack(ack), &mut effects);
    }
    effects.notices.clear();
    engine.tick(NOW.plus(Millis(5_000)), &mut effects);
    engine.tick(NOW.plus(Millis(10_000)), &mut effects);
    let told: Vec<_> = effects.notices.iter().map(|notice| (notice.name, notice.fields.clone())).collect();
    assert_eq!(told, [("cleanup:completed-removed", vec![("count", Field::Number(2.0))])]);
}
