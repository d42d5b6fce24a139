//! Jobs that one turn took for the first time stand in a list; whatever becomes of them, the file tells where they stand.

use crate::Storage;
use crate::samples::{Twins, bytes};
use onceover_engine::change::Snapshot;
use onceover_engine::command::{Ack, Add, Command, Fail, NewJob, Payload, Pull};
use onceover_engine::effects::{Effects, Output};
use onceover_engine::job::{Job, JobState};
use onceover_engine::names::{ConnId, JobId, Origin};
use onceover_engine::reply::Reply;
use onceover_engine::time::Millis;
use onceover_engine::{Engine, EngineConfig};
use rusqlite::Connection;
use std::sync::Arc;

const CLIENT: Origin = Origin::Client { conn: ConnId(1), request: 1 };

impl Twins {
    /// Carries out commands without writing anything. Returns the jobs that were handed out.
    fn handle(&mut self, commands: Vec<Command>) -> Vec<JobId> {
        let mut effects = Effects::default();
        self.engine.tick(self.now, &mut effects);
        commands.into_iter().for_each(|command| self.engine.handle(self.now, CLIENT, command, &mut effects));
        let jobs = effects.outputs.into_iter().filter_map(|output| match output {
            Output::Reply { reply: Reply::PulledBulk { jobs, .. }, .. } => Some(jobs),
            _ => None,
        });
        jobs.flatten().map(|job| job.record.job.id).collect()
    }

    fn turn(&mut self, commands: Vec<Command>) -> Vec<JobId> {
        self.now = self.now.plus(Millis(1));
        let jobs = self.handle(commands);
        self.commit();
        jobs
    }

    /// The jobs of both stores are the same. The file has so many lists, and so many jobs with a state of their own.
    #[track_caller]
    fn check(&mut self, lists: u32, states: u32) {
        assert_eq!(plain(self.sqlite.load().unwrap()), plain(self.sim.load().unwrap()));
        assert_eq!((self.count("taken_lists"), self.count("job_states")), (lists, states));
        let of_engine = self.engine.jobs().filter(|job| job.state == JobState::Active).count();
        assert_eq!(self.count("job_overview WHERE state = 'active'"), of_engine as u32);
    }
}

fn plain(rows: Snapshot) -> Vec<String> {
    let text = |job: Job| format!("{:?}", Job { has_state_row: false, ..job });
    rows.jobs.into_iter().map(|row| text(row.job)).collect()
}

fn adds(count: usize) -> Vec<Command> {
    let add = || Add { data: Some(bytes("payload")), ..Add::new(NewJob::new("mail", "send")) };
    (0..count).map(|_| Command::Push { add: add(), replay_of: None }).collect()
}

fn pull(count: u32) -> Command {
    let (queue, bulk, group) = (Arc::from("mail"), true, None);
    let (timeout, lock_ttl) = (Millis(0), Millis(0));
    Command::Pull(Pull { queue, count, bulk, timeout, owner: None, lock_ttl, detach: false, group })
}

fn ack(id: &JobId, result: Option<Payload>, remove: bool) -> Command {
    Command::Ack(Ack { id: id.clone(), token: None, result, remove })
}

#[test]
fn a_list_tells_of_its_jobs_until_they_tell_themselves() {
    let mut twins = Twins::new();
    twins.turn(adds(7));
    twins.check(0, 0);
    let jobs = twins.turn(vec![pull(7)]);
    twins.check(1, 0);
    twins.turn(vec![ack(&jobs[0], None, false), ack(&jobs[1], Some(bytes("r")), false)]);
    twins.check(1, 2);
    twins.turn(vec![ack(&jobs[2], None, true)]);
    twins.check(1, 2);
    let failed =
        Fail { id: jobs[3].clone(), token: None, error: None, unrecoverable: false, stack: vec![], remove: false };
    let update = Command::Update { id: jobs[5].clone(), data: Some(bytes("new")) };
    twins.turn(vec![Command::Fail(failed), update]);
    twins.check(1, 3);
    let progress = Command::Progress { id: jobs[4].clone(), progress: 50.0, message: None };
    twins.turn(vec![progress]);
    twins.check(1, 4);
    twins.turn(jobs[4..].iter().map(|id| ack(id, None, false)).collect());
    twins.check(0, 6);
}

#[test]
fn few_jobs_have_a_row_each() {
    let mut twins = Twins::new();
    twins.turn(adds(3));
    twins.turn(vec![pull(3)]);
    twins.check(0, 3);
}

#[test]
fn new_jobs_may_stand_in_a_list_and_older_ones_beside_it() {
    let mut twins = Twins::new();
    let mut commands = adds(5);
    commands.push(pull(5));
    let jobs = twins.turn(commands);
    twins.check(1, 0);
    // Two turns of the engine before one commit: what was taken later has a row of its own.
    twins.turn(adds(6));
    twins.handle(vec![pull(5)]);
    twins.now = twins.now.plus(Millis(1));
    twins.handle(vec![pull(1)]);
    twins.commit();
    twins.check(2, 1);
    twins.turn(jobs.iter().map(|id| ack(id, None, true)).collect());
    twins.check(1, 1);
}

#[test]
fn jobs_that_were_put_back_have_rows_from_then_on() {
    let mut twins = Twins::new();
    twins.turn(adds(5));
    twins.turn(vec![pull(5)]);
    let mut effects = Effects::default();
    twins.engine.disconnect(twins.now, ConnId(1), &mut effects);
    twins.engine.tick(twins.now, &mut effects);
    twins.commit();
    twins.check(0, 5);
    twins.turn(vec![pull(5)]);
    twins.check(0, 5);
}

#[test]
fn a_job_with_a_row_stands_in_no_list_though_it_is_as_it_was_added() {
    let mut twins = Twins::new();
    twins.turn(adds(5));
    let id = twins.sqlite.load().unwrap().jobs[0].job.id.clone();
    for priority in [7, 0] {
        twins.turn(vec![Command::ChangePriority { id: id.clone(), priority, lifo: None }]);
    }
    twins.check(0, 1);
    twins.turn(vec![pull(5)]);
    twins.check(1, 1);
}

#[test]
fn at_a_start_every_job_of_a_list_is_put_back() {
    let mut twins = Twins::new();
    twins.turn(adds(6));
    let jobs = twins.turn(vec![pull(5)]);
    twins.turn(vec![ack(&jobs[0], None, false)]);
    let rows = twins.sqlite.load().unwrap();
    twins.engine = Engine::restore(EngineConfig::default(), 2, rows, twins.now, &mut Effects::default()).unwrap();
    twins.commit();
    twins.check(0, 5);
    let attempts: Vec<u32> = twins.sqlite.load().unwrap().jobs.into_iter().map(|row| row.job.attempts).collect();
    assert_eq!(attempts, [0, 1, 1, 1, 1, 0]);
}

#[test]
fn an_unreadable_list_is_set_aside() {
    let mut twins = Twins::new();
    twins.turn(adds(5));
    twins.turn(vec![pull(5)]);
    let tool = Connection::open(twins.folder.file()).unwrap();
    tool.execute_batch("UPDATE taken_lists SET generations = '[1, 2'").unwrap();
    let rows = twins.sqlite.load().unwrap();
    assert!(rows.jobs.iter().all(|row| row.job.state == JobState::Queued));
    assert_eq!((rows.jobs.len(), rows.taken_lists.len()), (5, 0));
    let remark = twins.sqlite.take_remarks().concat();
    assert!(remark.contains("table taken_lists, row 1: column generations: EOF"), "{remark}");
    assert_eq!(twins.count("set_aside WHERE source = 'taken_lists'"), 1);
}
