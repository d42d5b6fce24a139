//! A row that cannot be read is named, and so is what is wrong with it.

use crate::samples::{Folder, fresh, full_job, full_key, settings};
use crate::{SqliteStore, Storage, StoreError};
use onceover_engine::change::Change;
use rusqlite::Connection;

/// Damages a file that holds one row of each kind, and returns why it cannot be loaded.
fn fault_after(damage: &str) -> String {
    let folder = Folder::new();
    let mut store = SqliteStore::open(&folder.file()).unwrap();
    let (job, entry, queue) = (full_job(7), full_key(8, 7), settings());
    let rows = |sink: &mut crate::RowSink<'_>| {
        sink(Change::Reserve(9))?;
        sink(fresh(&job))?;
        sink(Change::PutKey { entry: &entry, queue: "mail" })?;
        sink(Change::PutQueue { name: "mail", settings: &queue })
    };
    store.commit_rows(false, &mut { rows }).unwrap();
    store.load().unwrap();
    Connection::open(folder.file()).unwrap().execute_batch(damage).unwrap();
    match store.load().unwrap_err() {
        StoreError::Corrupt { operation: "read", what, .. } => what,
        other => panic!("another failure: {other}"),
    }
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
    check(
        "UPDATE jobs SET queue = 'post'",
        "table jobs, row 7: columns queue and spec: they name two queues, 'post' and 'mail'",
    );
    check("UPDATE jobs SET extra = '[7]'", "table jobs, row 7: column extra: invalid type");
    check("UPDATE jobs SET state = 'done'", "table jobs, row 7: column state: no state is called 'done'");
    check("UPDATE jobs SET priority = 1 << 40", "table jobs, row 7: column priority: ");
    check("UPDATE jobs SET run_at_ms = 'soon'", "table jobs, row 7: column run_at_ms: ");
    check("UPDATE jobs SET failed_attempts = -1", "table jobs, row 7: column failed_attempts: ");
    check("UPDATE jobs SET id = x'ff'", "table jobs, row 7: column id: ");
    check("UPDATE jobs SET id = CAST(x'ff' AS TEXT)", "table jobs, row 7: column id: ");
    check("UPDATE jobs SET generation = -7", "table jobs, row -7: column generation: -7 is negative");
    check(
        "UPDATE jobs SET state = 'queued'; UPDATE payloads SET payload = 'text'",
        "table jobs, row 7: column payload: ",
    );
}

#[test]
fn damaged_rows_of_the_other_tables() {
    check("UPDATE dedup_keys SET tally = ''", "table dedup_keys, row 8: column tally: EOF while parsing");
    check(
        "UPDATE dedup_keys SET owner_generation = -1",
        "table dedup_keys, row 8: column owner_generation: -1 is negative",
    );
    check("UPDATE queues SET stalls_max = 'three'", "table queues, row mail: column stalls_max: ");
    check("UPDATE meta SET value = -1", "table meta, row numbers_reserved_below: column value: -1 is negative");
}
