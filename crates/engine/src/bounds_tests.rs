//! What clients can make the engine keep or answer, at the bound and one past it.

use crate::command::*;
use crate::effects::{Effects, Output};
use crate::engine::{Engine, EngineConfig};
use crate::limits::{ANSWER_RECORDS_MAX, STACK_LINE_BYTES_MAX, TEXT_BYTES_MAX, WORKER_BYTES_MAX, WORKERS_MAX};
use crate::names::{JobId, Origin};
use crate::reply::Reply;
use crate::testing::new_job;
use crate::time::{Millis, Timestamp};
use std::sync::Arc;

const NOW: Timestamp = Timestamp(1_000_000);

fn ask(engine: &mut Engine, command: Command) -> Reply {
    let mut effects = Effects::default();
    engine.tick(NOW, &mut effects);
    engine.handle(NOW, Origin::Internal, command, &mut effects);
    engine.committed();
    let replies = effects.outputs.into_iter().rev();
    let mut replies = replies.filter_map(|output| match output {
        Output::Reply { reply, .. } => Some(reply),
        Output::Event(_) => None,
    });
    replies.next().expect("an answer")
}

fn refusal(engine: &mut Engine, command: Command) -> String {
    match ask(engine, command) {
        Reply::Rejected(why) => why.to_string(),
        other => panic!("{other:?}"),
    }
}

/// An active job of one attempt.
fn taken(engine: &mut Engine) -> JobId {
    let add = Add::new(NewJob { max_attempts: 1, ..new_job("q") });
    ask(engine, Command::Push { add, replay_of: None });
    let (timeout, lock_ttl) = (Millis(0), Millis(30_000));
    let queue = Arc::from("q");
    let pull = Pull { queue, count: 1, bulk: false, timeout, owner: None, lock_ttl, detach: false, group: None };
    match ask(engine, Command::Pull(pull)) {
        Reply::Pulled { job: Some(job), .. } => job.record.job.id,
        other => panic!("{other:?}"),
    }
}

fn fail(id: JobId, error: String, stack: Vec<String>) -> Command {
    Command::Fail(Fail { id, token: None, error: Some(error), unrecoverable: false, stack, remove: false })
}

#[test]
fn texts_about_a_job_are_cut() {
    let mut engine = Engine::new(EngineConfig::default(), 7);
    let id = taken(&mut engine);
    let long = "ä".repeat(TEXT_BYTES_MAX);
    ask(&mut engine, Command::AddLog { id: id.clone(), message: long.clone(), level: long.clone() });
    let message = Some(Some(long.clone()));
    ask(&mut engine, Command::Progress { id: id.clone(), progress: 5.0, message });
    assert!(matches!(ask(&mut engine, fail(id.clone(), long.clone(), vec![long; 10])), Reply::Ok));
    let job = engine.job(&id).expect("a dead letter");
    let rare = job.rare().expect("it has texts");
    let error = job.failure().and_then(|failure| failure.error.clone()).expect("an error");
    let texts =
        [&error, &rare.logs[0].message, &rare.logs[0].level, rare.progress_message.as_ref().expect("a message")];
    for text in texts {
        assert!(text.len() <= TEXT_BYTES_MAX && text.len() > TEXT_BYTES_MAX - 4 && text.ends_with('…'));
    }
    assert!(rare.stacktrace.iter().all(|line| line.len() <= STACK_LINE_BYTES_MAX));
}

#[test]
fn workers_are_bounded_in_number_and_size() {
    let mut engine = Engine::new(EngineConfig::default(), 7);
    let worker = |id: usize, bytes: usize| {
        Command::RegisterWorker(WorkerInfo {
            worker_id: Some(format!("{id:08}")),
            name: "n".repeat(bytes - 8),
            queues: Vec::new(),
            concurrency: 1,
            hostname: String::new(),
            pid: 0,
            started_at: None,
        })
    };
    assert!(matches!(ask(&mut engine, worker(0, WORKER_BYTES_MAX)), Reply::Worker(_)));
    let text = "workerId, name, hostname and queues are too long together (max 16384 bytes)";
    assert_eq!(refusal(&mut engine, worker(1, WORKER_BYTES_MAX + 1)), text);
    (1..WORKERS_MAX).for_each(|id| assert!(matches!(ask(&mut engine, worker(id, 10)), Reply::Worker(_))));
    assert_eq!(refusal(&mut engine, worker(WORKERS_MAX, 10)), "Too many workers (max 10000)");
    assert!(matches!(ask(&mut engine, worker(7, 10)), Reply::Worker(_)), "a known one is refreshed");
}

#[test]
fn a_list_of_dead_letters_is_refused_when_it_is_too_long() {
    let config = EngineConfig { failed_max: ANSWER_RECORDS_MAX + 1, ..EngineConfig::default() };
    let mut engine = Engine::new(config, 7);
    for _ in 0..=ANSWER_RECORDS_MAX {
        let id = taken(&mut engine);
        ask(&mut engine, fail(id, "no".to_owned(), Vec::new()));
    }
    let list =
        |count| Command::Dead(dead::Request::List { queue: Arc::from("q"), count, filter: DlqFilter::default() });
    assert!(refusal(&mut engine, list(None)).starts_with("The answer is too large"));
    let Reply::Dlq(records) = ask(&mut engine, list(Some(ANSWER_RECORDS_MAX))) else { panic!("they fit") };
    assert_eq!(records.len(), ANSWER_RECORDS_MAX);
}
