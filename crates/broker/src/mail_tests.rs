//! Who runs which turn. The test is the core's thread unless it says otherwise.

use super::*;
use crate::conn_table::Client;
use crate::core::Core;
use crate::outbox::{Line, LineEnd, Out};
use crate::watch::Hints;
use crate::{clock, core_thread};
use onceover_engine::EngineConfig;
use onceover_engine::command::{Add, Command, NewJob};
use onceover_engine::reply::Reply;
use onceover_engine::time::Millis;
use onceover_store::{SimDisk, Storage};
use std::sync::Arc;

/// One client.
struct Asker {
    conn: ConnId,
    end: LineEnd,
    requests: u64,
    /// When its next message is read: a message each as long as a client has to be alone.
    at: Instant,
}

impl Asker {
    fn new(mail: &Mail, conn: u64) -> Asker {
        let (line, end) = Line::new();
        let client = Arc::new(Client::new(ConnId(conn), "127.0.0.1:5000".parse().unwrap()));
        mail.send(Message::Connected { client, line }).unwrap();
        Asker { conn: ConnId(conn), end, requests: 0, at: Instant::now() }
    }

    fn message(&mut self, commands: Vec<Command>) -> Message {
        self.at += ALONE_AFTER;
        let frame = |command| {
            self.requests += 1;
            Frame { request: self.requests, cmd: None, ask: Ask::Engine(command) }
        };
        let frames: Vec<Frame> = commands.into_iter().map(frame).collect();
        let (conn, read_at) = (self.conn, self.at);
        Message::Frames(Frames { conn, frames, bytes: 100, read_at, last: false, permit: None })
    }

    /// Sends them together. Whether they were all answered before that returned.
    fn asks(&mut self, mail: &Mail, commands: Vec<Command>) -> bool {
        let wanted = commands.len();
        let message = self.message(commands);
        mail.send(message).unwrap();
        self.answers().len() == wanted
    }

    /// The requests that were answered since the last look.
    fn answers(&mut self) -> Vec<u64> {
        let outs = std::iter::from_fn(|| self.end.batches.try_recv()).flatten();
        let number = |out| match out {
            Out::Reply { request, reply } => {
                assert!(!matches!(reply, Reply::Rejected(_)), "{reply:?}");
                request
            }
            other => panic!("{other:?}"),
        };
        outs.map(number).collect()
    }
}

fn driver() -> Driver {
    let storage: Box<dyn Storage> = Box::new(SimDisk::default().open().unwrap());
    let core = Core::open(storage, EngineConfig::default(), 7, clock::wall_now()).unwrap();
    Driver::new(core, Arc::new(Hints::default()))
}

/// A turn by the core's thread, and its sleep.
fn turn(mail: &Mail) {
    let mut driver = mail.driver();
    let driver = driver.as_mut().unwrap();
    mail.take(driver.arrived());
    driver.turn();
    driver.sleep();
}

/// A core, and as many clients, all of them known.
fn with_clients(count: u64) -> (Mail, Vec<Asker>) {
    let mail = Mail::default();
    mail.drive(driver());
    let askers = (1..=count).map(|conn| Asker::new(&mail, conn)).collect();
    turn(&mail);
    (mail, askers)
}

fn add(delay: i64) -> Command {
    let job = NewJob { delay: Millis(delay), ..NewJob::new("q", "n") };
    Command::Push { add: Add::new(job), replay_of: None }
}

fn count() -> Command {
    Command::Count { queue: "q".into() }
}

#[test]
fn a_client_that_is_alone_runs_its_turns_itself() {
    let (mail, mut askers) = with_clients(1);
    assert!(!askers[0].asks(&mail, vec![add(0)]), "nobody knows yet that it is alone");
    turn(&mail);
    assert_eq!(askers[0].answers(), [1]);
    for _ in 0..3 {
        assert!(askers[0].asks(&mail, vec![add(0)]));
    }
}

#[test]
fn adds_of_several_clients_are_collected_and_their_questions_are_not() {
    let (mail, mut askers) = with_clients(2);
    for _ in 0..3 {
        for asker in &mut askers {
            assert!(asker.asks(&mail, vec![count()]));
        }
    }
    for asker in &mut askers {
        assert!(!asker.asks(&mail, vec![add(0)]));
    }
    assert!(!askers[0].asks(&mail, vec![count()]), "it comes after the adds");
    turn(&mail);
    assert_eq!((askers[0].answers(), askers[1].answers()), (vec![4, 5], vec![4]));
}

#[test]
fn what_comes_together_or_takes_long_is_left_to_the_core() {
    let (mail, mut askers) = with_clients(1);
    let asker = &mut askers[0];
    let mut large = asker.message(vec![count()]);
    let Message::Frames(frames) = &mut large else { unreachable!() };
    frames.bytes = BRIEF_BYTES_MAX + 1;
    mail.send(large).unwrap();
    assert!(asker.answers().is_empty());
    turn(&mail);
    assert_eq!(asker.answers(), [1]);
    for commands in [vec![count(), count()], vec![Command::Obliterate { queue: "q".into() }]] {
        assert!(!asker.asks(&mail, commands));
        turn(&mail);
        assert!(!asker.answers().is_empty());
    }
}

#[test]
fn the_core_is_woken_when_something_is_due_before_it_wakes_by_itself() {
    let (mail, mut askers) = with_clients(1);
    let asker = &mut askers[0];
    asker.asks(&mail, vec![add(0)]);
    turn(&mail);
    let woken = |mail: &Mail| {
        let began = Instant::now();
        thread::park_timeout(Duration::from_millis(200));
        mail.is_empty() && began.elapsed() < Duration::from_millis(100)
    };
    while woken(&mail) {}
    asker.asks(&mail, vec![add(3_600_000)]);
    assert!(!woken(&mail), "an hour is more than its sleep");
    turn(&mail);
    asker.asks(&mail, vec![add(300)]);
    assert!(woken(&mail));
}

#[test]
fn a_closed_mail_drops_what_it_has_and_takes_no_more() {
    let (mail, mut askers) = with_clients(1);
    let left = askers[0].message(vec![add(0), add(0)]);
    mail.send(left).unwrap();
    mail.close();
    assert!(mail.is_empty());
    assert_eq!(mail.send(Message::ClearLog), Err(CoreGone));
}

/// Nothing is left behind in the moment between letting go of the driver and going to sleep.
#[test]
fn every_request_of_many_threads_is_answered_once_and_in_order() {
    const EACH: u64 = 2_000;
    let mail = Arc::new(Mail::default());
    let core = thread::spawn({
        let mail = Arc::clone(&mail);
        move || core_thread::run(driver(), &mail)
    });
    let clients: Vec<_> = (1..=4)
        .map(|conn| {
            let mail = Arc::clone(&mail);
            thread::spawn(move || {
                let mut asker = Asker::new(&mail, conn);
                let mut answered = Vec::new();
                for number in 0..EACH {
                    let command = if number % 3 == conn % 3 { count() } else { add(0) };
                    let message = asker.message(vec![command]);
                    mail.send(message).unwrap();
                    let asked = Instant::now();
                    // The core sleeps a second at most: who waits half of that was forgotten.
                    while answered.len() as u64 <= number {
                        answered.extend(asker.answers());
                        assert!(
                            asked.elapsed() < Duration::from_millis(500),
                            "request {number} of {conn} was forgotten"
                        );
                        thread::yield_now();
                    }
                }
                answered
            })
        })
        .collect();
    for client in clients {
        assert!(client.join().unwrap().into_iter().eq(1..=EACH));
    }
    mail.send(Message::Stop).unwrap();
    assert!(matches!(core.join().unwrap(), crate::driver::ThreadEnd::Stopped));
}
