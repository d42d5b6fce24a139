//! What a pull costs beside groups that are held back: measured, and compared with itself.

use onceover_engine::command::{Add, Command, Group, NewJob, Pull, RareOptions};
use onceover_engine::effects::{Effects, Output};
use onceover_engine::group::{About, Affinity, GroupLimits, GroupWants, Request};
use onceover_engine::limit::Rate;
use onceover_engine::names::Origin;
use onceover_engine::reply::Reply;
use onceover_engine::time::{Millis, Timestamp};
use onceover_engine::{Engine, EngineConfig};
use std::sync::Arc;
use std::time::Instant;

const NOW: Timestamp = Timestamp(1_700_000_000_000);

fn ask(engine: &mut Engine, command: Command) -> usize {
    let mut effects = Effects::default();
    engine.tick(NOW, &mut effects);
    engine.handle(NOW, Origin::Internal, command, &mut effects);
    match effects.outputs.pop() {
        Some(Output::Reply { reply: Reply::PulledBulk { jobs, .. }, .. }) => jobs.len(),
        Some(_) | None => 0,
    }
}

fn add(engine: &mut Engine, group: &str) {
    let group = Some(Group { id: group.into(), max_size: None });
    let rare = Some(Box::new(RareOptions { group, ..RareOptions::default() }));
    let add = Add::new(NewJob { rare, ..NewJob::new("q", "job") });
    ask(engine, Command::Push { add, replay_of: None });
}

fn hold(engine: &mut Engine, group: &str, about: About) {
    ask(engine, Command::Group(Request::Of { queue: "q".into(), group: group.into(), about }));
}

/// Takes up to `count` jobs as a worker that runs one job of a group at once and starts one a minute.
fn take(engine: &mut Engine, count: u32) -> usize {
    let rate = Some(Rate { max: 1, duration: Millis(60_000) });
    let wants = GroupWants { affinity: Affinity::Any, limits: GroupLimits { concurrency: Some(1), rate } };
    let pull = Pull {
        queue: "q".into(),
        count,
        bulk: true,
        timeout: Millis(0),
        owner: None,
        lock_ttl: Millis(30_000),
        detach: false,
        group: Some(Arc::new(wants)),
    };
    ask(engine, Command::Pull(pull))
}

/// Nanoseconds of a pull that is given a job, beside so many groups that are held back in one way or another.
fn nanos_per_pull(blocked: usize) -> u128 {
    const PULLS: u32 = 2_000;
    let mut engine = Engine::new(EngineConfig::default(), 1);
    for at in 0..blocked {
        let name = format!("blocked-{at}");
        add(&mut engine, &name);
        match at % 3 {
            0 => hold(&mut engine, &name, About::Pause),
            1 => hold(&mut engine, &name, About::Hold(Millis(50_000))),
            // Two jobs: one is started below, and the other one has to wait.
            _ => add(&mut engine, &name),
        }
    }
    while take(&mut engine, 1_000) > 0 {}
    (0..PULLS).for_each(|at| add(&mut engine, &format!("free-{at}")));
    let began = Instant::now();
    (0..PULLS).for_each(|_| assert_eq!(take(&mut engine, 1), 1));
    began.elapsed().as_nanos() / u128::from(PULLS)
}

#[test]
fn the_cost_of_a_pull_does_not_grow_with_the_number_of_blocked_groups() {
    let (few, many) = (nanos_per_pull(100), nanos_per_pull(100_000));
    println!("a pull beside 100 blocked groups: {few} ns, beside 100,000: {many} ns");
    // Looking at each of them would cost a thousand times as much.
    assert!(many < 30 * few, "{few} ns beside 100 blocked groups, {many} ns beside 100,000");
}
