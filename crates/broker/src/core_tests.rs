//! Turns over the simulated store, driven by hand: no thread, no socket, no clock.

use super::*;
use crate::conn_table::Client;
use crate::limits::{TURN_ANSWER_BYTES_MAX, TURN_JOBS_MAX};
use crate::outbox::{Line, LineEnd, Weight};
use onceover_engine::command::{Ack, Add, Command, NewJob, Payload, Pull};
use onceover_engine::dedup::DecisionCode;
use onceover_engine::limits::ANSWER_BYTES_MAX;
use onceover_engine::names::JobId;
use onceover_engine::time::Millis;
use onceover_store::{CommitFailure, PIECE_BYTES, SimDisk, SimStore};

const CONN: ConnId = ConnId(1);

/// A core with one client, turn by turn.
struct Bench {
    disk: SimDisk,
    core: Core<SimStore>,
    outbox: Outbox,
    end: LineEnd,
    now: i64,
    requests: u64,
}

impl Bench {
    fn new(config: EngineConfig) -> Bench {
        let disk = SimDisk::default();
        let core = Core::open(disk.open().unwrap(), config, 7, Timestamp(1_000)).unwrap();
        let (line, end) = Line::new();
        let mut bench = Bench { disk, core, outbox: Outbox::default(), end, now: 1_000, requests: 0 };
        let client = Arc::new(Client::new(CONN, "127.0.0.1:5000".parse().unwrap()));
        bench.turn(vec![Message::Connected { client, line }]).unwrap();
        bench
    }

    fn turn(&mut self, mut messages: Vec<Message>) -> Result<TurnEnd, CoreFailure> {
        self.now += 1;
        self.core.turn(Timestamp(self.now), &mut messages, &mut self.outbox)
    }

    fn frames(&mut self, asks: Vec<Ask>) -> Message {
        let frame = |ask| {
            self.requests += 1;
            Frame { request: self.requests, cmd: None, ask }
        };
        let frames: Vec<Frame> = asks.into_iter().map(frame).collect();
        Message::Frames(Frames { conn: CONN, frames, bytes: 0, read_at: Instant::now(), last: false, permit: None })
    }

    /// One turn with these commands, or as many as their payloads need; what the client gets.
    fn ask(&mut self, commands: Vec<Command>) -> Vec<String> {
        let mut messages = vec![self.frames(commands.into_iter().map(Ask::Engine).collect())];
        self.now += 1;
        while !messages.is_empty() {
            self.core.turn(Timestamp(self.now), &mut messages, &mut self.outbox).unwrap();
        }
        self.received()
    }

    fn received(&mut self) -> Vec<String> {
        let batches = std::iter::from_fn(|| self.end.batches.try_recv());
        let outs: Vec<Out> = batches.flatten().collect();
        let mut written = Weight::default();
        outs.iter().for_each(|out| written.add(out));
        self.end.fill.written(written);
        outs.iter().map(text).collect()
    }

    /// The answer to a question of the window.
    fn view<T: Send + 'static>(&mut self, question: impl FnOnce(&CoreView<'_>) -> T + Send + 'static) -> T {
        let (answer, mut answered) = oneshot::channel();
        let view = move |core: &CoreView<'_>| assert!(answer.send(question(core)).is_ok());
        self.turn(vec![Message::View(Box::new(view))]).unwrap();
        answered.try_recv().expect("the view was answered in its turn")
    }

    fn log(&self) -> Vec<(u64, DecisionCode, Option<String>, String)> {
        let entries = self.core.activity().iter().rev();
        let decided = entries.filter_map(|entry| Some((entry, entry.decided()?)));
        decided
            .map(|(entry, record)| {
                (entry.seq, record.decision.code, record.decision.refusal.clone(), entry.source.label())
            })
            .collect()
    }
}

/// Request number and what came of it.
fn text(out: &Out) -> String {
    match out {
        Out::Reply { request, reply } => match reply {
            Reply::Added(added) => format!("{request} added {}", added.id),
            Reply::Pulled { job: Some(job), .. } => format!("{request} pulled {}", job.record.job.id),
            Reply::Job(record) => format!("{request} job {:?} {:?}", record.job.data, record.job.result),
            Reply::Jobs(jobs) => format!("{request} {} jobs", jobs.len()),
            Reply::Count(count) => format!("{request} count {count}"),
            Reply::Ok => format!("{request} ok"),
            other => format!("{request} {other:?}"),
        },
        Out::Refused { request, text } => format!("{request} refused {text}"),
        Out::Event(event) => format!("event {:?}", event.kind),
        Out::Unsubscribed { .. } => "unsubscribed".to_owned(),
        Out::Close => "close".to_owned(),
        Out::Figures { request, body } => format!("{request} figures {body}"),
        Out::Hello { request } | Out::Pong { request, .. } => format!("{request} talk"),
    }
}

fn push(id: &str) -> Command {
    let (custom_id, data) = (Some(JobId::parse(id)), Some(Payload::from(&b"\x01"[..])));
    Command::Push { add: Add { custom_id, data, ..Add::new(NewJob::new("q", "n")) }, replay_of: None }
}

fn pull() -> Command {
    let (timeout, lock_ttl) = (Millis(0), Millis(30_000));
    Command::Pull(Pull {
        queue: "q".into(),
        count: 1,
        bulk: false,
        timeout,
        owner: None,
        lock_ttl,
        detach: false,
        group: None,
    })
}

fn count() -> Command {
    Command::Count { queue: "q".into() }
}

#[test]
fn a_turn_commits_once_and_only_when_something_changed() {
    let mut bench = Bench::new(EngineConfig::default());
    let before = bench.disk.commits().all;
    assert_eq!(bench.ask(vec![push("a"), push("b"), count()]), ["1 added a", "2 added b", "3 count 2"]);
    assert_eq!(bench.disk.commits().all, before + 1);
    assert_eq!(bench.ask(vec![count()]), ["4 count 2"]);
    assert_eq!(bench.disk.commits().all, before + 1);
}

#[test]
fn payloads_that_are_only_on_disk_are_filled_in() {
    let mut bench = Bench::new(EngineConfig::default());
    bench.ask(vec![push("a"), pull()]);
    let result: Payload = Arc::from(&b"\x02"[..]);
    let id = JobId::parse("a");
    bench.ask(vec![Command::Ack(Ack { id: id.clone(), token: None, result: Some(result), remove: false })]);
    assert_eq!(bench.ask(vec![Command::GetJob { id }]), ["4 job Here([1]) Here([2])"]);
}

#[test]
fn a_failed_commit_undoes_its_turn_and_tells_everybody() {
    let mut bench = Bench::new(EngineConfig::default());
    bench.ask(vec![push("kept")]);
    bench.disk.fail_next_commit(CommitFailure::Refused);
    let (answer, mut answered) = oneshot::channel();
    let act = Message::Act { command: Box::new(push("acted")), answer };
    let ping = Ask::Ping;
    let frames = bench.frames(vec![Ask::Engine(push("lost")), ping]);
    let end = bench.turn(vec![frames, act]).unwrap();
    assert!(end.undone && end.changed);
    let refused = "refused Storage error: cannot write to";
    let received = bench.received();
    assert!(received[0].starts_with(&format!("2 {refused}")), "{received:?}");
    assert!(received[1].starts_with(&format!("3 {refused}")), "{received:?}");
    assert_eq!(received[2..], ["close"]);
    assert!(matches!(answered.try_recv(), Ok(Err(BrokerDown::Storage { .. }))));
    assert!(bench.core.connections().is_empty());
    let known = ["kept", "lost", "acted"].map(|id| bench.core.engine().job(&JobId::parse(id)).is_some());
    assert_eq!(known, [true, false, false]);
    let log = bench.log();
    let codes: Vec<_> = log.iter().map(|(_, code, refusal, _)| (*code, refusal.is_some())).collect();
    let stored = (DecisionCode::RejectedStorage, true);
    assert_eq!(codes, [(DecisionCode::Created, false), stored, stored]);
    assert_eq!(log[1].3, "127.0.0.1:5000 #1", "the client is named although its connection is closed");

    let trouble = |bench: &mut Bench| bench.view(|core| core.trouble.map(str::to_owned));
    assert!(trouble(&mut bench).is_some_and(|why| why.starts_with("cannot write to")));
    let (answer, _) = oneshot::channel();
    bench.turn(vec![Message::Act { command: Box::new(push("later")), answer }]).unwrap();
    assert_eq!(trouble(&mut bench), None, "a commit that went well ends it");
}

#[test]
fn frames_behind_a_failed_commit_are_dropped_with_their_connection() {
    let mut bench = Bench::new(EngineConfig::default());
    bench.disk.fail_next_commit(CommitFailure::Refused);
    bench.ask(vec![push("lost")]);
    let late = bench.frames(vec![Ask::Engine(push("late"))]);
    bench.turn(vec![late, Message::Disconnected(CONN)]).unwrap();
    assert!(bench.core.engine().job(&JobId::parse("late")).is_none());
}

#[test]
fn a_commit_that_reports_an_error_and_was_stored_is_found_again() {
    let mut bench = Bench::new(EngineConfig::default());
    bench.disk.fail_next_commit(CommitFailure::StoredAllTheSame);
    let received = bench.ask(vec![push("a")]);
    assert!(received[0].starts_with("1 refused Storage error"), "{received:?}");
    assert!(bench.core.engine().job(&JobId::parse("a")).is_some(), "the file decides");
}

#[test]
fn a_file_that_cannot_be_read_back_ends_the_core() {
    let mut bench = Bench::new(EngineConfig::default());
    bench.disk.fail_next_commit(CommitFailure::Refused);
    bench.disk.fail_next_load();
    let message = bench.frames(vec![Ask::Engine(push("a"))]);
    assert!(matches!(bench.turn(vec![message]), Err(CoreFailure::Store(_))));
    assert!(bench.received()[0].starts_with("1 refused"), "the client was told before");
}

#[test]
fn a_subscription_covers_exactly_what_comes_after_it() {
    let mut bench = Bench::new(EngineConfig::default());
    let engine = Ask::Engine;
    let asks =
        vec![engine(push("a")), Ask::Subscribe("q".into()), engine(push("b")), Ask::Unsubscribe, engine(push("c"))];
    let message = bench.frames(asks);
    bench.turn(vec![message]).unwrap();
    assert_eq!(bench.received(), ["1 added a", "2 ok", "event Pushed", "3 added b", "4 ok", "5 added c"]);
}

#[test]
fn the_window_acts_and_sees_what_it_did() {
    let mut bench = Bench::new(EngineConfig::default());
    let (answer, mut answered) = oneshot::channel();
    bench.turn(vec![Message::Act { command: Box::new(push("a")), answer }]).unwrap();
    assert!(matches!(answered.try_recv(), Ok(Ok(Reply::Added(_)))));
    let log = bench.log();
    assert_eq!(log, [(1, DecisionCode::Created, None, "window".to_owned())]);
    let jobs = bench.view(|core| core.engine.counts(None).waiting);
    assert_eq!(jobs, 1);
}

#[test]
fn questions_change_nothing() {
    let mut bench = Bench::new(EngineConfig::default());
    let first = bench.view(|core| core.revision);
    assert_eq!(bench.view(|core| core.revision), first);
    bench.ask(vec![push("a")]);
    assert!(bench.view(|core| core.revision) > first);
}

#[test]
fn refused_adds_and_problems_are_kept_for_the_window() {
    let mut bench = Bench::new(EngineConfig::default());
    let add = onceover_wire::request::RefusedAdd { queue: Some("q".to_owned()), ..Default::default() };
    let problem = crate::inbox::Problem { label: "bad field", text: "no".to_owned(), bytes: vec![1] };
    let refusal = Refusal { text: "no".to_owned(), add: Some(Box::new(add)), problem: Some(problem) };
    let message = bench.frames(vec![Ask::Engine(push("a")), Ask::Refuse(Box::new(refusal))]);
    bench.turn(vec![message]).unwrap();
    assert_eq!(bench.received(), ["1 added a", "2 refused no"]);
    let refused = bench.core.activity().get(2).expect("the refused add is logged after the one before it");
    assert!(matches!(&refused.add, LoggedAdd::Refused(refused) if refused.text == "no"));
    let labels: Vec<_> = bench.core.connections().problems().map(|entry| entry.problem.label).collect();
    assert_eq!(labels, ["bad field"]);
    assert_eq!(bench.core.connections().get(CONN).map(|info| (info.commands, info.adds, info.errors)), Some((2, 1, 1)));
}

#[test]
fn nothing_behind_a_stop_is_done() {
    let mut bench = Bench::new(EngineConfig::default());
    let [before, after] = ["before", "after"].map(|id| bench.frames(vec![Ask::Engine(push(id))]));
    let end = bench.turn(vec![before, Message::Stop, after]).unwrap();
    assert!(end.stop);
    assert_eq!(bench.received(), ["1 added before"]);
}

#[test]
fn a_turn_that_has_made_many_answers_leaves_the_rest_to_the_next_one() {
    let mut bench = Bench::new(EngineConfig::default());
    let refuse = |bytes: usize| Ask::Refuse(Box::new(Refusal { text: "x".repeat(bytes), add: None, problem: None }));
    let long = bench.frames(vec![refuse(TURN_ANSWER_BYTES_MAX), Ask::Ping]);
    let behind = bench.frames(vec![Ask::Ping]);
    let mut messages = vec![long, behind];
    bench.core.turn(Timestamp(bench.now), &mut messages, &mut bench.outbox).unwrap();
    assert_eq!((bench.received().len(), messages.len()), (1, 2), "in the middle of a message, too");
    bench.core.turn(Timestamp(bench.now), &mut messages, &mut bench.outbox).unwrap();
    assert_eq!((bench.received().len(), messages.len()), (2, 0));
}

#[test]
fn a_long_command_is_answered_after_its_last_part_with_others_in_between() {
    let mut bench = Bench::new(EngineConfig::default());
    bench.core.pace_long(Some(200));
    (0..500).for_each(|at| assert_eq!(bench.ask(vec![push(&at.to_string())]).len(), 1));
    assert_eq!(bench.ask(vec![Command::Drain { queue: "q".into() }]), [""; 0]);
    assert!(bench.ask(vec![push("between")])[0].contains("added between"));
    bench.turn(Vec::new()).unwrap();
    assert_eq!(bench.turn(Vec::new()).map(|_| bench.received()).unwrap(), ["501 count 501"], "and that went, too");
}

#[test]
fn a_turn_ends_when_its_commands_have_changed_many_jobs() {
    let mut bench = Bench::new(EngineConfig::default());
    let batch = || {
        let Command::Push { add, .. } = push("x") else { unreachable!("that is what it makes") };
        let adds = vec![onceover_engine::command::Add { custom_id: None, ..add }; TURN_JOBS_MAX / 2];
        Ask::Engine(Command::PushBulk { adds })
    };
    let mut messages = vec![bench.frames(vec![batch(), batch(), batch()])];
    bench.core.turn(Timestamp(bench.now), &mut messages, &mut bench.outbox).unwrap();
    assert_eq!((bench.received().len(), messages.len()), (2, 1));
    bench.core.turn(Timestamp(bench.now), &mut messages, &mut bench.outbox).unwrap();
    assert_eq!((bench.received().len(), messages.len()), (1, 0));
}

#[test]
fn lists_that_are_too_long_for_one_answer_are_refused_wherever_their_payloads_lie() {
    let mut bench = Bench::new(EngineConfig::default());
    let large: Payload = vec![0xc0; ANSWER_BYTES_MAX / 7].into();
    for number in 0..8 {
        let mut add = push(&number.to_string());
        if let Command::Push { add, .. } = &mut add {
            add.data = Some(Arc::clone(&large));
        }
        bench.ask(vec![add]);
    }
    let list = |limit| Command::GetJobs {
        queue: "q".into(),
        states: Vec::new(),
        unknown_state: false,
        offset: 0,
        limit,
        ascending: true,
    };
    assert!(bench.ask(vec![list(8)])[0].contains("AnswerTooLong"));
    assert!(bench.ask(vec![list(7)])[0].ends_with("7 jobs"));
    for number in 0..8 {
        let id = JobId::parse(&number.to_string());
        bench.ask(vec![pull(), Command::Ack(Ack { id, token: None, result: None, remove: false })]);
    }
    assert!(bench.ask(vec![list(8)])[0].contains("refused The answer is too large"), "they lie in the file now");
    assert!(bench.ask(vec![list(7)])[0].ends_with("7 jobs"));
}

/// A payload of three pieces.
fn push_long(id: &str) -> Command {
    let Command::Push { add, .. } = push(id) else { unreachable!("it is one") };
    Command::Push { add: Add { data: Some(vec![0; 2 * PIECE_BYTES + 1].into()), ..add }, replay_of: None }
}

#[test]
fn a_long_payload_takes_several_turns_and_keeps_its_place_among_its_clients_commands() {
    let mut bench = Bench::new(EngineConfig::default());
    let asks = [push("a"), push_long("b"), Command::Count { queue: "q".into() }];
    let mut messages = vec![bench.frames(asks.into_iter().map(Ask::Engine).collect())];
    let (answer, mut answered) = oneshot::channel();
    messages.push(Message::Act { command: Box::new(push_long("c")), answer });
    let mut received = Vec::new();
    for _ in 0..6 {
        bench.core.turn(Timestamp(bench.now), &mut messages, &mut bench.outbox).unwrap();
        received.push(bench.received().join(", "));
    }
    assert_eq!(received, ["1 added a", "", "2 added b, 3 count 2", "", "", ""]);
    assert!(messages.is_empty());
    assert!(matches!(answered.try_recv(), Ok(Ok(Reply::Added(_)))), "after the last piece of its own");
}

#[test]
fn a_piece_that_cannot_be_written_is_a_failed_commit() {
    let mut bench = Bench::new(EngineConfig::default());
    bench.disk.fail_next_commit(CommitFailure::Refused);
    let received = bench.ask(vec![push("a"), push_long("b")]);
    assert!(received[0].starts_with("1 refused Storage error"), "{received:?}");
    assert!(received[1].starts_with("2 refused Storage error"), "{received:?}");
    assert_eq!(bench.core.engine().jobs_len(), 0);
}
