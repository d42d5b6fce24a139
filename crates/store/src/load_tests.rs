//! A row that cannot be read is set aside, and named, and so is what is wrong with it.

use crate::samples::{Folder, fresh, full_job, full_key, put_key, settings};
use crate::{SqliteStore, Storage, StoreError};
use onceover_engine::change::Change;
use onceover_engine::names::JobKey;
use rusqlite::Connection;

/// A store with one row of each kind, damaged behind its back.
fn damaged(folder: &Folder, damage: &str) -> SqliteStore {
    let mut store = SqliteStore::open(&folder.file()).unwrap();
    let (job, entry, queue) = (full_job(7), full_key(8, 7), settings());
    let rows = |sink: &mut crate::RowSink<'_>| {
        sink(Change::Reserve(9))?;
        sink(fresh(&job))?;
        sink(put_key(&entry))?;
        sink(Change::PutQueue { name: "mail", settings: &queue })?;
        sink(Change::PutCompletedId { n: JobKey(3), id: "gone" })
    };
    store.commit_rows(false, &mut { rows }).unwrap();
    store.load().unwrap();
    assert!(store.take_remarks().is_empty());
    Connection::open(folder.file()).unwrap().execute_batch(damage).unwrap();
    store
}

/// How many rows of each kind are loaded: jobs, keys, queues, completed ids.
fn sizes(store: &mut SqliteStore) -> [usize; 4] {
    let found = store.load().unwrap();
    [found.jobs.len(), found.keys.len(), found.queues.len(), found.completed_ids.len()]
}

/// What is told about the damaged row, which is set aside; nothing more is told at the next start.
fn fault_after(damage: &str) -> String {
    let folder = Folder::new();
    let mut store = damaged(&folder, damage);
    let left: usize = sizes(&mut store).iter().sum();
    let remarks = store.take_remarks();
    assert!(remarks.len() == 1 && left <= 3, "{remarks:?}, {left} rows");
    drop(store);
    let mut store = SqliteStore::open(&folder.file()).unwrap();
    assert_eq!(sizes(&mut store).iter().sum::<usize>(), left);
    assert!(store.take_remarks().is_empty());
    let parts = remarks[0].split_once("set_aside: ").expect("the table is named");
    parts.1.to_owned()
}

#[track_caller]
fn check(damage: &str, expected: &str) {
    let what = fault_after(damage);
    assert!(what.starts_with(expected), "{what}");
}

#[test]
fn damaged_jobs() {
    check("UPDATE jobs SET spec = '{'", "table jobs, row 7: column spec: EOF while parsing");
    check("UPDATE jobs SET spec = '{\"queue\":\"mail\"}'", "table jobs, row 7: column spec: missing field `name`");
    check("UPDATE job_states SET extra = '[7]'", "table jobs, row 7: column extra: invalid type");
    check("UPDATE job_states SET state = 'done'", "table jobs, row 7: column state: no state is called 'done'");
    check("UPDATE job_states SET priority = 1 << 40", "table jobs, row 7: column priority: ");
    check("UPDATE job_states SET run_at_ms = 'soon'", "table jobs, row 7: column run_at_ms: ");
    check("UPDATE job_states SET failed_attempts = -1", "table jobs, row 7: column failed_attempts: ");
    check("UPDATE jobs SET id = x'ff'", "table jobs, row 7: column id: ");
    check("UPDATE jobs SET id = CAST(x'ff' AS TEXT)", "table jobs, row 7: column id: ");
    let negative = "UPDATE jobs SET generation = -7; UPDATE job_states SET generation = -7";
    check(negative, "table jobs, row -7: column generation: -7 is negative");
    check(
        "UPDATE job_states SET state = 'queued'; UPDATE jobs SET payload = 'text'",
        "table jobs, row 7: column payload: ",
    );
    let keyless = "DELETE FROM dedup_keys; UPDATE jobs SET took_key = 1, dedup_key = NULL";
    check(keyless, "table jobs, row 7: columns took_key and dedup_key: it owns a key and asks for none");
    check("DELETE FROM jobs", "table job_states, row 7: its job has disappeared from the file");
}

#[test]
fn damaged_rows_of_the_other_tables() {
    check("UPDATE dedup_keys SET tally = ''", "table dedup_keys, row 8: column tally: EOF while parsing");
    check(
        "UPDATE dedup_keys SET owner_generation = -1",
        "table dedup_keys, row 8: column owner_generation: -1 is negative",
    );
    check("UPDATE queues SET stalls_max = 'three'", "table queues, row mail: column stalls_max: ");
    check("UPDATE completed_ids SET id = x'ff'", "table completed_ids, row 3: column id: ");
}

#[test]
fn without_its_numbers_a_file_is_refused() {
    let folder = Folder::new();
    let refused = damaged(&folder, "UPDATE meta SET value = -1").load().unwrap_err();
    let expected = "table meta, row numbers_reserved_below: column value: -1 is negative";
    assert!(refused.to_string().contains(expected), "{refused}");
}

#[test]
fn what_is_set_aside_can_be_put_back() {
    let folder = Folder::new();
    let rows = "SELECT quote(spec) || quote(extra) || quote(id) || quote(payload) FROM jobs JOIN job_states USING (generation)";
    let read = |query: &str| -> Vec<String> {
        let tool = Connection::open(folder.file()).unwrap();
        let mut found = tool.prepare(query).unwrap();
        found.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let mut store = damaged(&folder, "UPDATE dedup_keys SET expires_at_ms = NULL");
    let before = read(rows);
    let tool = Connection::open(folder.file()).unwrap();
    tool.execute_batch("UPDATE job_states SET state = 'done' || char(0) || 'x'").unwrap();
    assert_eq!(sizes(&mut store), [0, 0, 1, 1]);
    assert_eq!(read("SELECT source FROM set_aside ORDER BY number"), ["jobs", "job_states", "results", "dedup_keys"]);
    for table in ["jobs", "job_states", "results", "dedup_keys"] {
        assert_eq!(read(&format!("SELECT 'left' FROM {table}")), Vec::<String>::new());
    }
    tool.execute_batch(&read("SELECT statement FROM set_aside").join("\n")).unwrap();
    assert_eq!(read("SELECT hex(state) FROM job_states"), ["646F6E650078"]);
    tool.execute_batch("UPDATE job_states SET state = 'failed'").unwrap();
    assert_eq!(sizes(&mut store), [1, 1, 1, 1]);
    assert_eq!(read(rows), before);
}

#[test]
fn a_key_with_a_window_outlives_its_unreadable_owner() {
    let folder = Folder::new();
    let mut store =
        damaged(&folder, "UPDATE job_states SET state = 'done'; UPDATE dedup_keys SET expires_at_ms = 1 << 50");
    assert_eq!(sizes(&mut store), [0, 1, 1, 1]);
}

#[test]
fn many_unreadable_rows_are_a_damaged_file() {
    let folder = Folder::new();
    let copies = "WITH RECURSIVE n(x) AS (SELECT 100 UNION ALL SELECT x + 1 FROM n WHERE x < 200)
        INSERT INTO completed_ids SELECT x, x'ff' FROM n";
    let mut store = damaged(&folder, copies);
    let refused = store.load().unwrap_err();
    assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused}");
    assert!(refused.to_string().contains("row 100: column id: ") && refused.to_string().contains("(and 100 more)"));
    let tool = Connection::open(folder.file()).unwrap();
    let set_aside: i64 = tool.query_row("SELECT count(*) FROM set_aside", [], |row| row.get(0)).unwrap();
    assert_eq!(set_aside, 0);
}
