//! A key that its job took as it was added stands in the job's row; whatever becomes of either, the file tells what is held.

use crate::Storage;
use crate::samples::Twins;
use onceover_engine::change::{KeyRow, Snapshot};
use onceover_engine::command::{Ack, Add, Command, DedupRequest, NewJob, Pull};
use onceover_engine::dedup::{KeyEntry, Tally};
use onceover_engine::effects::{Effects, Output};
use onceover_engine::names::{JobId, Origin};
use onceover_engine::reply::Reply;
use onceover_engine::time::{Millis, Timestamp};
use onceover_engine::{Engine, EngineConfig};
use rusqlite::Connection;
use std::sync::Arc;

impl Twins {
    /// One turn of a command, after so many milliseconds. Returns the job that it names.
    fn step(&mut self, later: i64, command: Command) -> Option<JobId> {
        self.now = self.now.plus(Millis(later));
        let mut effects = Effects::default();
        self.engine.tick(self.now, &mut effects);
        self.engine.handle(self.now, Origin::Internal, command, &mut effects);
        self.commit();
        effects.outputs.into_iter().find_map(|output| match output {
            Output::Reply { reply: Reply::Added(added), .. } => Some(added.id),
            Output::Reply { reply: Reply::Pulled { job: Some(job), .. }, .. } => Some(job.record.job.id),
            _ => None,
        })
    }

    fn add(&mut self, key: &str, dedup: DedupRequest) -> JobId {
        let add = Add { dedup_key: Some(Arc::from(key)), ..Add::new(NewJob { dedup, ..NewJob::new("mail", "send") }) };
        self.step(1, Command::Push { add, replay_of: None }).unwrap()
    }

    /// Takes the next job and completes it.
    fn work(&mut self, remove: bool) {
        let (queue, count, bulk, group) = (Arc::from("mail"), 1, false, None);
        let (timeout, lock_ttl) = (Millis(0), Millis(0));
        let pull = Pull { queue, count, bulk, timeout, owner: None, lock_ttl, detach: false, group };
        let id = self.step(1, Command::Pull(pull)).unwrap();
        self.step(1, Command::Ack(Ack { id, token: None, result: None, remove }));
    }

    fn release(&mut self, key: &str) {
        self.step(1, Command::RemoveDeduplicationKey { queue: "mail".into(), key: key.into() });
    }

    /// What is held according to both stores, and how many keys have a row of their own in the file.
    #[track_caller]
    fn holds(&mut self, held: &[&str], own_rows: u32) {
        let (found, expected) = (plain(self.sqlite.load().unwrap()), plain(self.sim.load().unwrap()));
        assert_eq!(found, expected);
        assert_eq!(found.iter().map(|(entry, _)| &*entry.key).collect::<Vec<_>>(), held);
        assert_eq!((self.count("key_overview"), self.count("dedup_keys")), (held.len() as u32, own_rows));
    }

    /// The file is read by a new engine, which writes what follows from that, and nothing does.
    #[track_caller]
    fn restart(&mut self, held: &[&str], own_rows: u32) {
        let rows = self.sqlite.load().unwrap();
        self.engine = Engine::restore(EngineConfig::default(), 2, rows, self.now, &mut Effects::default()).unwrap();
        self.commit();
        self.holds(held, own_rows);
    }
}

/// In order of registration, without what is not stored.
fn plain(rows: Snapshot) -> Vec<(KeyEntry, Arc<str>)> {
    let row = |KeyRow { mut entry, queue }| {
        if entry.tally_to_store().is_none() {
            entry.tally = Tally::made_earlier();
        }
        (entry, queue)
    };
    let mut keys: Vec<_> = rows.keys.into_iter().map(row).collect();
    keys.sort_by_key(|(entry, _)| entry.entry);
    keys
}

fn window(ttl: i64) -> DedupRequest {
    DedupRequest { ttl: Some(Millis(ttl)), ..DedupRequest::default() }
}

#[test]
fn keys_as_they_were_asked_for_have_no_rows_of_their_own() {
    let mut twins = Twins::new();
    twins.add("plain", DedupRequest::default());
    twins.add("window", window(60_000));
    twins.add("last", DedupRequest { keep_last: true, ..window(60_000) });
    twins.add("hash", DedupRequest { from_hash: true, ..DedupRequest::default() });
    let held = ["plain", "window", "last", "hash"];
    twins.holds(&held, 0);
    twins.restart(&held, 0);
    let expiries = plain(twins.sqlite.load().unwrap()).into_iter().map(|(entry, _)| entry.expires_at());
    assert_eq!(expiries.collect::<Vec<_>>(), [None, Some(Timestamp(61_002)), None, None]);
}

#[test]
fn what_happens_to_a_key_gets_a_row_that_counts() {
    let mut twins = Twins::new();
    let extend = || DedupRequest { extend: true, ..window(1_000) };
    twins.add("extended", extend());
    twins.add("counted", DedupRequest::default());
    twins.holds(&["extended", "counted"], 0);
    twins.add("extended", extend());
    twins.holds(&["extended", "counted"], 1);
    twins.add("counted", DedupRequest::default());
    twins.holds(&["extended", "counted"], 1);
    twins.step(1_000, Command::ListQueues);
    twins.holds(&["counted"], 1);
    twins.restart(&["counted"], 1);
    twins.release("counted");
    twins.holds(&[], 0);
    twins.restart(&[], 0);
}

#[test]
fn a_key_that_ended_does_not_come_back_with_its_job() {
    let mut twins = Twins::new();
    twins.add("released", DedupRequest::default());
    twins.add("window", window(10));
    twins.release("released");
    twins.holds(&["window"], 0);
    twins.step(10, Command::ListQueues);
    twins.holds(&[], 0);
    twins.restart(&[], 0);
    // The jobs still wait; the keys are taken by others.
    twins.add("released", DedupRequest::default());
    twins.add("window", window(10));
    twins.holds(&["released", "window"], 0);
    twins.restart(&["released", "window"], 0);
}

#[test]
fn a_key_outlives_the_row_that_told_of_it() {
    let mut twins = Twins::new();
    twins.add("window", window(60_000));
    twins.add("plain", DedupRequest::default());
    twins.work(true);
    twins.holds(&["window", "plain"], 1);
    twins.restart(&["window", "plain"], 1);
    twins.work(true);
    twins.holds(&["window"], 1);
}

#[test]
fn a_job_that_waits_again_has_its_key_from_then_on() {
    let mut twins = Twins::new();
    let id = twins.add("k", DedupRequest::default());
    twins.work(false);
    twins.holds(&[], 0);
    twins.step(1, Command::RetryCompleted { queue: "mail".into(), id: Some(id), count: None, until: None });
    twins.holds(&["k"], 1);
    twins.restart(&["k"], 1);
    twins.work(true);
    twins.holds(&[], 0);
}

#[test]
fn a_key_that_changes_its_owner_has_one() {
    let mut twins = Twins::new();
    let replace = || DedupRequest { replace: true, ..window(60_000) };
    twins.add("k", replace());
    twins.add("k", replace());
    twins.holds(&["k"], 1);
    twins.restart(&["k"], 1);
    twins.add("k", replace());
    twins.holds(&["k"], 1);
}

#[test]
fn a_window_outlives_its_unreadable_job() {
    let mut twins = Twins::new();
    let other = twins.add("other", DedupRequest::default());
    twins.add("window", window(60_000));
    twins.add("plain", DedupRequest::default());
    let damage = |what: &str| format!("UPDATE jobs SET {what} WHERE id <> '{other}'");
    let tool = Connection::open(twins.folder.file()).unwrap();
    tool.execute_batch(&damage("has_custom_id = 'yes'")).unwrap();
    let held = |twins: &mut Twins| -> Vec<String> {
        plain(twins.sqlite.load().unwrap()).into_iter().map(|(entry, _)| entry.key.to_string()).collect()
    };
    assert_eq!(held(&mut twins), ["other", "window"]);
    assert_eq!(twins.sqlite.take_remarks().len(), 1);
    // Put back and repaired, all is as it was.
    let aside = "SELECT group_concat(statement, ' ') FROM set_aside";
    let statements: String = tool.query_row(aside, [], |row| row.get(0)).unwrap();
    tool.execute_batch(&format!("{statements} {}", damage("has_custom_id = 0"))).unwrap();
    twins.holds(&["other", "window", "plain"], 1);
}
