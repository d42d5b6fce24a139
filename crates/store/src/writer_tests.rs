//! How rows look to a person who opens the file, and that few statements serve all of them.

use super::job_rows::{DELETE_JOB, INSERT_JOB, UPDATE_PAYLOAD};
use super::state_text;
use crate::samples::{Folder, again, fresh, full_job, full_key, plain_job, plain_key, put_key};
use crate::{SqliteStore, Storage};
use onceover_engine::command::StateName;
use onceover_engine::dedup::{KeyEntry, Tally};
use onceover_engine::job::{JobState, TimelineEntry};
use onceover_engine::time::Timestamp;
use rusqlite::Connection;

/// What `query` gives on a second connection while the store is open, cells divided by `|`.
fn seen(folder: &Folder, query: &str) -> String {
    let tool = Connection::open(folder.file()).unwrap();
    let mut statement = tool.prepare(query).unwrap();
    let columns = statement.column_count();
    let cell = |value: rusqlite::types::Value| match value {
        rusqlite::types::Value::Null => "NULL".to_owned(),
        rusqlite::types::Value::Integer(number) => number.to_string(),
        rusqlite::types::Value::Real(number) => number.to_string(),
        rusqlite::types::Value::Text(text) => text,
        rusqlite::types::Value::Blob(bytes) => format!("{} bytes", bytes.len()),
    };
    let row = |row: &rusqlite::Row<'_>| -> rusqlite::Result<String> {
        let cells: Result<Vec<_>, _> = (0..columns).map(|at| row.get(at).map(cell)).collect();
        Ok(cells?.join("|"))
    };
    let lines: Vec<String> = statement.query_map([], row).unwrap().map(|line| line.unwrap()).collect();
    lines.join("\n")
}

#[test]
fn what_is_empty_is_null() {
    let folder = Folder::new();
    let mut store = SqliteStore::open(&folder.file()).unwrap();
    let (plain, full, counted) = (plain_job(1), full_job(2), full_key(4, 2));
    let entry = KeyEntry { tally: Tally::made_earlier(), ..plain_key(3, 1) };
    let rows = |sink: &mut crate::RowSink<'_>| {
        sink(fresh(&plain))?;
        sink(fresh(&full))?;
        sink(put_key(&entry))?;
        sink(put_key(&counted))
    };
    store.commit_rows(false, &mut { rows }).unwrap();
    assert_eq!(seen(&folder, "SELECT generation, extra IS NULL FROM job_states"), "2|0", "job 1 waits as it was added");
    assert_eq!(seen(&folder, "SELECT tally IS NULL FROM dedup_keys"), "1\n0");
    assert_eq!(seen(&folder, "SELECT json_extract(tally, '$.last.decision') FROM dedup_keys"), "NULL\nexisting.key");
    assert_eq!(seen(&folder, "SELECT generation, payload FROM jobs"), "1|7 bytes\n2|2 bytes");
    assert_eq!(seen(&folder, "SELECT * FROM results"), "2|0 bytes");
}

#[test]
fn the_overview_speaks_the_words_of_the_window() {
    let folder = Folder::new();
    let mut store = SqliteStore::open(&folder.file()).unwrap();
    let mut jobs = [plain_job(1), plain_job(2), plain_job(3), plain_job(4), full_job(5)];
    jobs[1].priority = 1;
    jobs[2].run_at.0 = 32_503_680_000_000; // The year 3000.
    jobs[3].state = JobState::Blocked;
    store.commit_rows(false, &mut |sink| jobs.iter().try_for_each(|job| sink(fresh(job)))).unwrap();
    assert_eq!(
        seen(&folder, "SELECT generation, queue, name, state, asked_key, created_at, failed_with FROM job_overview"),
        "1|mail|send|waiting|NULL|1970-01-01 00:00:01|NULL\n\
         2|mail|send|prioritized|NULL|1970-01-01 00:00:01|NULL\n\
         3|mail|send|delayed|NULL|1970-01-01 00:00:01|NULL\n\
         4|mail|send|waiting-children|NULL|1970-01-01 00:00:01|NULL\n\
         5|mail|send|failed|k\"1|1970-01-01 00:00:00|no\nroute"
    );
}

#[test]
fn the_request_is_written_once() {
    let folder = Folder::new();
    let mut store = SqliteStore::open(&folder.file()).unwrap();
    let job = plain_job(1);
    store.commit_rows(false, &mut |sink| sink(fresh(&job))).unwrap();
    let spec = seen(&folder, "SELECT spec FROM jobs");
    store.commit_rows(false, &mut |sink| sink(again(&full_job(1), false, false))).unwrap();
    assert_eq!(seen(&folder, "SELECT spec FROM jobs"), spec);
    let both = "SELECT state, id FROM jobs JOIN job_states USING (generation)";
    assert_eq!(seen(&folder, both), format!("failed|{}", job.id));
}

#[test]
fn a_life_without_trouble_writes_no_json_but_the_request() {
    let folder = Folder::new();
    let mut store = SqliteStore::open(&folder.file()).unwrap();
    let mut job = plain_job(1);
    (job.state, job.started_at, job.completed_at) = (JobState::Completed, Some(Timestamp(2)), Some(Timestamp(3)));
    for (state, at) in [(StateName::Active, 2), (StateName::Completed, 3)] {
        job.extra.timeline.push(TimelineEntry { state, at: Timestamp(at), error: None, attempt: None });
    }
    store.commit_rows(false, &mut |sink| sink(fresh(&job))).unwrap();
    let row = "SELECT state, started_at_ms, completed_at_ms, extra, priority, lifo, run_at_ms FROM job_states";
    assert_eq!(seen(&folder, row), "completed|2|3|NULL|NULL|NULL|NULL");
}

#[test]
fn rows_are_found_by_their_number_alone() {
    let folder = Folder::new();
    let _store = SqliteStore::open(&folder.file()).unwrap();
    assert_eq!(seen(&folder, "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"), "");
    for statement in [UPDATE_PAYLOAD, DELETE_JOB] {
        let plan = seen(&folder, &format!("EXPLAIN QUERY PLAN {}", statement.replace('?', "0+")));
        assert!(plan.contains("USING INTEGER PRIMARY KEY"), "{plan}");
    }
    assert!(INSERT_JOB.contains("INSERT INTO"), "a generation that is there already must not be replaced");
}

#[test]
fn states_are_spelled_as_the_engine_spells_them() {
    for state in [JobState::Queued, JobState::Blocked, JobState::Active, JobState::Completed, JobState::Failed] {
        assert_eq!(serde_json::to_value(state).unwrap(), state_text(state));
    }
}
