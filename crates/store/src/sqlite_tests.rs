//! The file itself: how it is made, locked, synchronised and closed, and what a killed process leaves behind.

use super::{SqliteStore, Sync, create};
use crate::error::StoreError;
use crate::lock_file::beside;
use crate::samples::{Folder, bytes, fresh, plain_job};
use crate::schema::{APPLICATION_ID, NEWEST};
use crate::{RowSink, Storage};
use onceover_engine::job::Job;
use onceover_engine::names::JobKey;
use rusqlite::Connection;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

fn pragma<T: rusqlite::types::FromSql>(store: &SqliteStore, name: &str) -> T {
    store.conn.pragma_query_value(None, name, |row| row.get(0)).unwrap()
}

fn add(store: &mut SqliteStore, job: &Job, durable: bool) -> Result<(), StoreError> {
    store.commit_rows(durable, &mut |sink: &mut RowSink<'_>| sink(fresh(job)))
}

#[test]
fn a_new_file_is_marked_and_private() {
    let folder = Folder::new();
    let file = folder.path().join("data/of/mine/onceover.db");
    let store = SqliteStore::open(&file).unwrap();
    assert_eq!(store.file(), file);
    assert_eq!(pragma::<u32>(&store, "application_id"), APPLICATION_ID);
    assert_eq!(pragma::<u32>(&store, "user_version"), NEWEST);
    assert_eq!(pragma::<String>(&store, "journal_mode"), "wal");
    assert!(store.file_bytes() > 0);
    #[cfg(unix)]
    for (path, expected) in [(&*file, 0o600), (&beside(&file, ".lock"), 0o600), (file.parent().unwrap(), 0o700)] {
        let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, expected, "{}", path.display());
    }
}

#[test]
fn closing_leaves_one_file_and_the_lock_file() {
    let folder = Folder::new();
    let mut store = SqliteStore::open(&folder.file()).unwrap();
    add(&mut store, &plain_job(1), false).unwrap();
    assert_eq!(folder.names().len(), 4, "with -wal and -shm: {:?}", folder.names());
    Box::new(store).close().unwrap();
    assert_eq!(folder.names(), ["queue é#1.db", "queue é#1.db.lock"]);
    let mut store = SqliteStore::open(&folder.file()).unwrap();
    assert_eq!(store.load().unwrap().jobs.len(), 1);
}

#[test]
fn a_draft_of_a_crash_is_replaced() {
    let folder = Folder::new();
    fs::write(beside(&folder.file(), ".new"), "half a database").unwrap();
    create(&folder.file()).unwrap();
    assert_eq!(folder.names(), ["queue é#1.db"]);
}

#[test]
fn only_durable_commits_wait_for_the_disk() {
    let folder = Folder::new();
    let mut store = SqliteStore::open(&folder.file()).unwrap();
    for (key, durable, sync, level) in
        [(1, false, Sync::Normal, 1), (2, true, Sync::Full, 2), (3, false, Sync::Normal, 1)]
    {
        add(&mut store, &plain_job(key), durable).unwrap();
        assert_eq!((store.sync, pragma::<i64>(&store, "synchronous")), (sync, level));
    }
}

#[test]
fn a_second_store_is_refused_until_the_first_ends() {
    let folder = Folder::new();
    let first = SqliteStore::open(&folder.file()).unwrap();
    let refused = SqliteStore::open(&folder.file()).unwrap_err();
    let lock = beside(&folder.file(), ".lock");
    assert!(matches!(&refused, StoreError::InUse { lock: named, .. } if *named == lock));
    assert!(refused.to_string().contains(&*lock.to_string_lossy()), "{refused}");
    #[cfg(unix)]
    assert!(refused.to_string().contains(&format!("(process {})", std::process::id())), "{refused}");
    drop(first);
    SqliteStore::open(&folder.file()).unwrap();
}

#[cfg(unix)]
#[test]
fn a_link_to_the_file_is_the_file() {
    let folder = Folder::new();
    let _first = SqliteStore::open(&folder.file()).unwrap();
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(folder.file(), &link).unwrap();
    assert!(matches!(SqliteStore::open(&link), Err(StoreError::InUse { .. })));
}

/// Takes the right to write from `path` for one attempt to open the file; none when this account may write everywhere.
#[cfg(unix)]
fn refused_without_right(folder: &Folder, path: &Path, mode: u32, mode_after: u32) -> Option<StoreError> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let opened = SqliteStore::open(&folder.file());
    fs::set_permissions(path, fs::Permissions::from_mode(mode_after)).unwrap();
    if opened.is_ok() {
        println!("skipped: this account may write everywhere");
    }
    opened.err()
}

#[cfg(unix)]
#[test]
fn a_folder_that_may_not_be_written_is_said_to_be() {
    let folder = Folder::new();
    if let Some(error) = refused_without_right(&folder, folder.path(), 0o500, 0o700) {
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
        assert_eq!(folder.names(), Vec::<String>::new());
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_written_is_said_to_be() {
    let folder = Folder::new();
    Box::new(SqliteStore::open(&folder.file()).unwrap()).close().unwrap();
    if let Some(error) = refused_without_right(&folder, &folder.file(), 0o400, 0o600) {
        assert!(matches!(error, StoreError::ReadOnly { operation: "open", .. }), "{error}");
    }
}

#[test]
fn a_full_disk_fails_the_commit_and_keeps_what_was_there() {
    let folder = Folder::new();
    let mut store = SqliteStore::open(&folder.file()).unwrap();
    add(&mut store, &plain_job(1), false).unwrap();
    let pages: i64 = pragma(&store, "page_count");
    store.conn.pragma_update_and_check(None, "max_page_count", pages + 2, |_| Ok(())).unwrap();
    let mut large = plain_job(2);
    large.data = onceover_engine::job::Blob::Here(bytes(&"x".repeat(100_000)));
    let error = add(&mut store, &large, false).unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert_eq!(store.load().unwrap().jobs.len(), 1);
    add(&mut store, &plain_job(3), true).unwrap();
}

#[test]
fn a_file_locked_by_another_program_fails_the_commit() {
    let folder = Folder::new();
    let mut store = SqliteStore::open(&folder.file()).unwrap();
    store.conn.busy_timeout(std::time::Duration::ZERO).unwrap();
    let tool = Connection::open(folder.file()).unwrap();
    tool.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(add(&mut store, &plain_job(1), false), Err(StoreError::Busy { .. })));
    tool.execute_batch("COMMIT; BEGIN; SELECT * FROM jobs").unwrap();
    add(&mut store, &plain_job(1), false).unwrap();
}

/// Names the file when this test binary runs as the process that is going to be killed.
const VICTIM: &str = "ONCEOVER_STORE_TEST_VICTIM";

/// Commits one job after the other and says each number once it is committed. Does nothing as a test of its own.
#[test]
fn victim_of_the_kill_test() {
    let Some(file) = std::env::var_os(VICTIM) else { return };
    let mut store = SqliteStore::open(Path::new(&file)).unwrap();
    for key in 1.. {
        add(&mut store, &plain_job(key), key % 8 == 0).unwrap();
        println!("\ncommitted {key}");
    }
}

#[test]
fn a_killed_process_loses_nothing_it_committed_and_its_lock() {
    let folder = Folder::new();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sqlite::sqlite_tests::victim_of_the_kill_test", "--nocapture"])
        .env(VICTIM, folder.file())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    let mut committed = lines.filter_map(|line| line.strip_prefix("committed ")?.parse::<u64>().ok());
    assert_eq!(committed.by_ref().find(|key| *key == 100), Some(100));
    assert!(matches!(SqliteStore::open(&folder.file()), Err(StoreError::InUse { .. })));
    victim.kill().unwrap();
    victim.wait().unwrap();
    let last = committed.last().unwrap_or(100);

    let mut store = SqliteStore::open(&folder.file()).unwrap();
    let jobs = store.load().unwrap().jobs;
    assert!(jobs.len() as u64 >= last, "{} jobs, {last} were committed", jobs.len());
    for (row, key) in jobs.iter().zip(1..) {
        assert_eq!(row.job.key, JobKey(key));
        assert_eq!(store.payload(JobKey(key)).unwrap(), Some(bytes("payload")));
    }
    let sound: String = pragma(&store, "integrity_check");
    assert_eq!(sound, "ok");
}
