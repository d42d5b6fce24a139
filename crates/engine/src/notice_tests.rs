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
fn nothing_is_told_when_nobody_watches() {
    assert_eq!(told(false, &commands()), vec![]);
}
