//! Many connections add the same thing at the same moment: exactly one job comes of it, and every answer names it.
//!
//! The rounds of all connections overlap; what one connection sends in one write is a key in one half of the rounds, a job id
//! in the other. The broker writes a real SQLite file.

mod kit;

use kit::connect;
use onceover_broker::{Broker, BrokerConfig, DataPlace};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Barrier;

const CONNECTIONS: usize = 64;
const ROUNDS: usize = 1_000;
/// Rounds that a connection has in flight between two meetings at the barrier.
const TOGETHER: usize = 20;

/// What one connection was answered: per round the id, and which rule returned another job.
type Answers = Vec<(String, Option<String>)>;

fn race(broker: &Broker, fields: impl Fn(usize) -> Value + Sync) -> Vec<Answers> {
    let gate = Barrier::new(CONNECTIONS);
    let run = || {
        let mut client = connect(broker);
        let mut answers = Answers::new();
        for first in (0..ROUNDS).step_by(TOGETHER) {
            let commands: Vec<_> = (first..first + TOGETHER).map(|round| ("PUSH", fields(round))).collect();
            gate.wait();
            client.send_together(&commands);
            for _ in &commands {
                let answer = client.read().expect("an answer");
                assert_eq!(answer["ok"], true, "{answer}");
                let text = |field: &str| answer[field].as_str().map(str::to_owned);
                answers.push((text("id").expect("an id"), text("duplicate")));
            }
        }
        answers
    };
    std::thread::scope(|scope| {
        let runners: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(run)).collect();
        runners.into_iter().map(|runner| runner.join().expect("a connection's thread")).collect()
    })
}

fn check(answers: &[Answers], rule: &str) {
    for round in 0..ROUNDS {
        let created = answers.iter().filter(|answers| answers[round].1.is_none()).count();
        assert_eq!(created, 1, "round {round}: exactly one add makes a job");
        let mut ids: HashMap<&str, usize> = HashMap::new();
        for answers in answers {
            let (id, duplicate) = &answers[round];
            *ids.entry(id).or_default() += 1;
            assert!(duplicate.as_deref().is_none_or(|given| given == rule), "round {round}: {duplicate:?}");
        }
        assert_eq!(ids.len(), 1, "round {round}: every answer names the one job");
    }
}

#[test]
fn sixty_four_connections_make_one_job_a_round() {
    let folder = std::env::temp_dir().join(format!("onceover-races-{}", std::process::id()));
    let mut config = BrokerConfig::new(DataPlace::Folder(folder.clone()));
    config.port = 0;
    let broker = Broker::start(config).expect("a broker on a new folder");
    let by_key = race(&broker, |round| json!({"queue": "keys", "data": {}, "uniqueKey": format!("k{round}")}));
    check(&by_key, "default");
    let by_id = race(&broker, |round| json!({"queue": "ids", "data": {}, "jobId": format!("id-{round}")}));
    check(&by_id, "jobId");
    let mut client = connect(&broker);
    for queue in ["keys", "ids"] {
        assert_eq!(client.call("Count", json!({"queue": queue}))["count"], ROUNDS);
    }
    broker.stop();
    std::fs::remove_dir_all(folder).expect("the folder is ours");
}
