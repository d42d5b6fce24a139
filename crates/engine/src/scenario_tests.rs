//! Scenarios in virtual time: a line of steps, a line of answers. One helper touches the engine, the tests are data.
//!
//! Steps, separated by `;`: `push q key=k ttl=100 extend replace keep id=x delay=5 data=v after=1 attempts=2 timeout=9 rmc`,
//! `pull q [locked]`, `ack N`, `fail N`, `at MS`, `sweep`, `drop` (the connection ends), `cancel N`, `discard N`, `drain q`,
//! `retry N`, `owner q k`, `state N`, `release q k`, `restart`. `N` is the number of a job in order of its first mention.

use crate::command::*;
use crate::effects::{Effects, Output};
use crate::engine::{Engine, EngineConfig};
use crate::names::*;
use crate::reply::Reply;
use crate::testing::{new_job, project};
use crate::time::{Millis, Timestamp};
use std::sync::Arc;

struct Stage {
    engine: Engine,
    now: Timestamp,
    ids: Vec<JobId>,
    tokens: Vec<(JobId, String)>,
    said: Vec<String>,
}

impl Stage {
    fn new() -> Stage {
        let engine = Engine::new(EngineConfig::default(), 7);
        Stage { engine, now: Timestamp(1_000_000), ids: Vec::new(), tokens: Vec::new(), said: Vec::new() }
    }

    fn number(&mut self, id: &JobId) -> usize {
        if let Some(at) = self.ids.iter().position(|other| other == id) {
            return at + 1;
        }
        self.ids.push(id.clone());
        self.ids.len()
    }

    fn id(&self, number: &str) -> JobId {
        self.ids[number.parse::<usize>().expect("a job's number") - 1].clone()
    }

    fn claim(&self, id: JobId) -> Claim {
        let token = self.tokens.iter().rev().find(|(of, _)| *of == id).map(|(_, token)| token.clone());
        Claim { id, token }
    }

    fn run(&mut self, command: Command) {
        let mut effects = Effects::default();
        self.engine.tick(self.now, &mut effects);
        let origin = Origin::Client { conn: ConnId(1), request: 1 };
        self.engine.handle(self.now, origin, command, &mut effects);
        self.engine.check(self.now);
        let codes: Vec<String> = effects.adds.iter().map(|add| code(add.decision.code)).collect();
        let replies: Vec<Reply> = effects
            .outputs
            .into_iter()
            .filter_map(|output| match output {
                Output::Reply { reply, .. } => Some(reply),
                Output::Event(_) => None,
            })
            .collect();
        for reply in replies {
            let text = self.words(reply, &codes);
            self.said.push(text);
        }
    }

    fn words(&mut self, reply: Reply, codes: &[String]) -> String {
        match reply {
            Reply::Added(added) => format!("{} {}", codes[0], self.number(&added.id)),
            Reply::Pulled { job: None, .. } => "nothing".to_owned(),
            Reply::Pulled { job: Some(job), .. } => {
                let id = job.record.job.id.clone();
                if let Some(token) = job.token {
                    self.tokens.push((id.clone(), token));
                }
                format!("job {}", self.number(&id))
            }
            Reply::KeyOwner(Some(id)) => format!("owner {}", self.number(&id)),
            Reply::KeyOwner(None) => "free".to_owned(),
            Reply::State { state, .. } => state.map_or("unknown", StateName::as_str).to_owned(),
            Reply::Count(count) | Reply::KeysRemoved(count) => format!("{count}"),
            Reply::Ok => "ok".to_owned(),
            Reply::AlreadyFinalized => "ignored".to_owned(),
            Reply::Rejected(why) if codes.is_empty() => {
                let text = format!("no: {why}");
                let ids = self.ids.iter().enumerate();
                ids.fold(text, |text, (at, id)| text.replace(&id.to_string(), &format!("${}", at + 1)))
            }
            Reply::Rejected(_) => codes[0].clone(),
            other => format!("{other:?}"),
        }
    }

    fn push(&mut self, words: &[&str]) {
        let mut spec = new_job(words[0]);
        let mut data = None;
        let (mut custom_id, mut dedup_key) = (None, None);
        for word in &words[1..] {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let millis = || Millis(value.parse().expect("milliseconds"));
            match name {
                "key" => dedup_key = Some(Arc::from(value)),
                "ttl" => spec.dedup.ttl = Some(millis()),
                "extend" => spec.dedup.extend = true,
                "replace" => spec.dedup.replace = true,
                "keep" => spec.dedup.keep_last = true,
                "id" => custom_id = Some(JobId::parse(value)),
                "delay" => spec.delay = millis(),
                "attempts" => spec.max_attempts = value.parse().expect("attempts"),
                "rmc" => spec.remove_on_complete = true,
                "data" => data = Some(Payload::from(value.as_bytes())),
                "after" => spec.rare.get_or_insert_default().depends_on.push(self.id(value)),
                "timeout" => spec.rare.get_or_insert_default().timeout = Some(millis()),
                "jobttl" => spec.rare.get_or_insert_default().ttl = Some(millis()),
                _ => panic!("unknown word {word}"),
            }
        }
        self.run(Command::Push { add: Add { spec: Arc::new(spec), custom_id, dedup_key, data }, replay_of: None });
    }

    fn step(&mut self, step: &str) {
        let words: Vec<&str> = step.split_whitespace().collect();
        let text = |at: usize| Arc::from(words[at]);
        match words[0] {
            "push" => self.push(&words[1..]),
            "pull" => {
                let owner = (words.len() > 2).then(|| Arc::from("w"));
                let (queue, count, bulk) = (text(1), 1, false);
                let lock_ttl = Millis(500);
                self.run(Command::Pull(Pull {
                    queue,
                    count,
                    bulk,
                    timeout: Millis(0),
                    owner,
                    lock_ttl,
                    detach: false,
                    group: None,
                }));
            }
            "ack" => {
                let Claim { id, token } = self.claim(self.id(words[1]));
                self.run(Command::Ack(Ack { id, token, result: None, remove: false }));
            }
            "fail" => {
                let Claim { id, token } = self.claim(self.id(words[1]));
                let (error, stack) = (Some("boom".to_owned()), Vec::new());
                self.run(Command::Fail(Fail { id, token, error, unrecoverable: false, stack, remove: false }));
            }
            "at" => self.now = Timestamp(1_000_000 + words[1].parse::<i64>().expect("milliseconds")),
            "drop" => {
                self.engine.disconnect(self.now, ConnId(1), &mut Effects::default());
                self.engine.check(self.now);
            }
            "restart" => self.restart(),
            "cancel" => self.run(Command::Cancel { id: self.id(words[1]) }),
            "discard" => self.run(Command::Discard { claim: self.claim(self.id(words[1])) }),
            "retry" => self.run(Command::RetryJob { id: self.id(words[1]) }),
            "state" => self.run(Command::GetState { id: self.id(words[1]) }),
            "drain" => self.run(Command::Drain { queue: text(1) }),
            "owner" => self.run(Command::GetDeduplicationJobId { queue: text(1), key: text(2) }),
            "release" => self.run(Command::RemoveDeduplicationKey { queue: text(1), key: text(2) }),
            "wait" => {
                self.engine.tick(self.now, &mut Effects::default());
                self.engine.check(self.now);
            }
            _ => panic!("unknown step {step}"),
        }
    }

    fn restart(&mut self) {
        let rows = project(&self.engine);
        let mut effects = Effects::default();
        let engine = Engine::restore(EngineConfig::default(), 8, rows, self.now, &mut effects);
        self.engine = engine.expect("what an engine wrote can be read");
        self.engine.check(self.now);
    }
}

fn code(code: crate::dedup::DecisionCode) -> String {
    let text = format!("{code:?}");
    text.chars().fold(String::new(), |mut out, letter| {
        if letter.is_uppercase() && !out.is_empty() {
            out.push('.');
        }
        out.push(letter.to_ascii_lowercase());
        out
    })
}

fn check(steps: &str, wanted: &str) {
    let mut stage = Stage::new();
    for step in steps.split(';') {
        stage.step(step.trim());
    }
    assert_eq!(stage.said.join("; "), wanted, "{steps}");
}

#[test]
fn a_job_id_is_one_job_in_the_whole_broker() {
    check("push q id=x; push q id=x; push r id=x", "created 1; existing.job.id 1; existing.elsewhere 1");
    check("push q id=x; pull q; ack 1; push q id=x; state 1", "created 1; job 1; ok; created 1; waiting");
}

#[test]
fn a_key_without_ttl_ends_with_its_job() {
    check("push q key=k; push q key=k; pull q; push q key=k", "created 1; existing.key 1; job 1; existing.key 1");
    check("push q key=k; pull q; ack 1; owner q k; push q key=k", "created 1; job 1; ok; free; created.freed 2");
    check("push q key=k attempts=2; pull q; fail 1; push q key=k", "created 1; job 1; ok; existing.key 1");
    check("push q key=k attempts=1; pull q; fail 1; push q key=k", "created 1; job 1; ok; created.freed 2");
    check("push q key=k; cancel 1; push q key=k", "created 1; ok; created.freed 2");
    check("push q key=k; push r key=k", "created 1; created 2");
}

#[test]
fn a_window_outlives_its_owner_and_ends_when_it_ends() {
    let done = "push q key=k ttl=100; pull q; ack 1";
    check(
        &format!("{done}; at 99; push q key=k; at 100; push q key=k"),
        "created 1; job 1; ok; existing.key 1; created.freed 2",
    );
    check(&format!("{done}; restart; at 99; owner q k; at 100; owner q k"), "created 1; job 1; ok; owner 1; free");
    check("push q key=k ttl=100; drain q; push q key=k", "created 1; 1; created.freed 2");
    check("push q key=k ttl=0; push q key=k", "created 1; created 2");
    check("push q key=k ttl=100; at 100; push q key=k; owner q k", "created 1; created.twin 2; owner 2");
}

#[test]
fn extend_restarts_the_window_and_refuses_what_it_cannot_keep() {
    check("push q key=k ttl=50; at 40; push q key=k ttl=50 extend; at 80; owner q k", "created 1; extended 1; owner 1");
    check(
        "push q key=k ttl=50; pull q; push q key=k ttl=90 extend; at 80; owner q k",
        "created 1; job 1; rejected.extend; owner 1",
    );
    check("push q key=k; push q key=k extend", "created 1; extended.no.ttl 1");
    check("push q key=k ttl=50; pull q; ack 1; push q key=k ttl=50 extend", "created 1; job 1; ok; rejected.extend");
}

#[test]
fn replace_lets_the_newest_win() {
    check("push q key=k; push q key=k replace; state 1; owner q k", "created 1; replaced 2; unknown; owner 2");
    check(
        "push q key=k; pull q; push q key=k replace; owner q k; ack 1; owner q k",
        "created 1; job 1; moved 2; owner 2; ok; owner 2",
    );
    check(
        "push q key=k; push q after=1; push q key=k replace; state 1",
        "created 1; created 2; rejected.dependents; waiting",
    );
    check(
        "push q key=k ttl=90; pull q; ack 1; push q key=k replace; owner q k",
        "created 1; job 1; ok; created 2; owner 2",
    );
    check("push q key=k id=x; push q key=k id=x replace", "created 1; existing.job.id 1");
}

#[test]
fn keep_last_makes_one_follower() {
    check(
        "push q key=k keep; pull q; push q key=k keep; push q key=k keep; ack 1; pull q; owner q k; pull q",
        "created 1; job 1; next.held 1; next.updated 1; ok; job 2; owner 2; nothing",
    );
    check(
        "push q key=k keep; pull q; push q key=k keep data=z; restart; at 9000; pull q; ack 1; pull q",
        "created 1; job 1; next.held 1; job 1; ok; job 2",
    );
}

#[test]
fn a_live_owner_keeps_its_key_whatever_happens_to_its_worker() {
    check("push q key=k; pull q; drop; owner q k; pull q", "created 1; job 1; owner 1; job 1");
    check(
        "push q key=k; pull q locked; at 6000; wait; at 11000; wait; state 1; owner q k",
        "created 1; job 1; waiting; owner 1",
    );
    check("push q key=k; pull q; restart; owner q k", "created 1; job 1; owner 1");
    check(
        "push q key=k ttl=90000; restart; pull q locked; at 6000; wait; at 11000; wait; state 1; owner q k",
        "created 1; job 1; waiting; owner 1",
    );
}

#[test]
fn a_dead_letter_takes_its_key_again_unless_another_live_job_has_it() {
    check("push q key=k attempts=1; pull q; fail 1; retry 1; owner q k", "created 1; job 1; ok; ok; owner 1");
    check(
        "push q key=k attempts=1; pull q; fail 1; push q key=k; retry 1",
        "created 1; job 1; ok; created.freed 2; no: Job $1 cannot come back: its key k belongs to $2",
    );
}

#[test]
fn a_late_result_of_a_lost_lease_counts_and_a_timed_out_one_is_ignored() {
    check("push q; pull q locked; at 6000; wait; at 12000; wait; ack 1; state 1", "created 1; job 1; ok; completed");
    check("push q timeout=100; pull q locked; at 100; wait; ack 1; state 1", "created 1; job 1; ignored; delayed");
}

#[test]
fn a_job_that_is_not_taken_in_time_is_dropped_with_its_key() {
    check(
        "push q key=k jobttl=100; at 100; owner q k; at 101; owner q k; state 1",
        "created 1; owner 1; free; unknown",
    );
}
