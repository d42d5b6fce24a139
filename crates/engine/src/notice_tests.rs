//! What a dashboard is told, and that it costs nothing when nobody watches.

use super::*;
use crate::command::{Add, Command};
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
    assert_eq!(names, ["flow:pushed", "job:waiting-children", "job:dependencies-resolved", "flow:completed"]);
}

#[test]
fn nothing_is_told_when_nobody_watches() {
    assert_eq!(told(false, &commands()), vec![]);
}
