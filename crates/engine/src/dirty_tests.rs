//! Which rows a turn writes, and which it need not.

use super::*;
use crate::command::{Add, Command, NewJob};
use crate::effects::Effects;
use crate::engine::EngineConfig;
use crate::names::Origin;
use crate::testing::new_job;
use crate::time::{Millis, Timestamp};

const NOW: Timestamp = Timestamp(1_000_000);

fn run(engine: &mut Engine, now: Timestamp, command: Command) {
    let mut effects = Effects::default();
    engine.tick(now, &mut effects);
    engine.handle(now, Origin::Internal, command, &mut effects);
}

fn with_job(spec: NewJob) -> Engine {
    let mut engine = Engine::new(EngineConfig::default(), 1);
    run(&mut engine, NOW, Command::Push { add: Add::new(spec), replay_of: None });
    engine.committed();
    engine
}

#[test]
fn a_delayed_job_that_becomes_ready_is_not_written() {
    let mut engine = with_job(NewJob { delay: Millis(500), ..new_job("q") });
    engine.tick(NOW.plus(Millis(500)), &mut Effects::default());
    assert!(engine.jobs.iter().all(|job| job.ready), "its moment has come");
    assert!(!engine.has_changes());
}

#[test]
fn a_result_is_deleted_only_where_there_is_one() {
    let mut engine = with_job(new_job("q"));
    run(&mut engine, NOW, Command::Drain { queue: "q".into() });
    let mut deleted = Vec::new();
    let noted: Result<(), ()> = engine.for_each_change(&mut |change| {
        if let Change::DeleteJob { keep_result, .. } = change {
            deleted.push(keep_result);
        }
        Ok(())
    });
    assert!(noted.is_ok());
    assert_eq!(deleted, [true]);

    let mut dirty = Dirty::default();
    dirty.job_result(JobKey(2));
    dirty.job_gone(JobKey(2), false, false);
    dirty.job_gone(JobKey(3), false, true);
    dirty.job_gone(JobKey(4), true, true);
    assert_eq!(dirty.jobs_gone, [(JobKey(2), false), (JobKey(3), false), (JobKey(4), true)]);
}
