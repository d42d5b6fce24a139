//! Files that are not ours are named for what they are, and not touched.

use super::{Found, identify};
use crate::error::StoreError;
use crate::lock_file::beside;
use crate::samples::Folder;
use crate::schema::NEWEST;
use crate::sqlite::SqliteStore;
use crate::{Storage, schema};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const BUNQUEUE: &str = "
    CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, applied_at INTEGER);
    CREATE TABLE IF NOT EXISTS jobs (id TEXT PRIMARY KEY, queue TEXT NOT NULL, data BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS job_results (job_id TEXT PRIMARY KEY, result BLOB);
    INSERT INTO migrations VALUES (37, 0);";

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

/// Tries to open `file` and returns the refusal's text, after making sure that nothing in the folder has changed.
fn refused(folder: &Folder) -> StoreError {
    let before = contents(folder.path());
    let error = SqliteStore::open(&folder.file()).unwrap_err();
    assert!(contents(folder.path()) == before, "the folder has changed: {:?}", folder.names());
    error
}

#[test]
fn a_missing_and_an_empty_file_are_nothing() {
    let folder = Folder::new();
    assert_eq!(identify(&folder.file()).unwrap(), Found::Nothing);
    fs::write(folder.file(), "").unwrap();
    assert_eq!(identify(&folder.file()).unwrap(), Found::Nothing);
    drop(SqliteStore::open(&folder.file()).unwrap());
    assert_eq!(identify(&folder.file()).unwrap(), Found::Ours);
}

#[test]
fn other_files_are_refused() {
    for text in ["x", "SQLite format 3\0", &"no database, but long enough for one ".repeat(10)] {
        let folder = Folder::new();
        fs::write(folder.file(), text).unwrap();
        let error = refused(&folder);
        assert!(error.to_string().contains("it is not an SQLite file. Choose another"), "{error}");
    }
}

#[test]
fn a_folder_is_not_a_file() {
    let folder = Folder::new();
    fs::create_dir(folder.file()).unwrap();
    assert!(matches!(SqliteStore::open(&folder.file()), Err(StoreError::Io { .. })));
    assert_eq!(folder.names().len(), 1);
}

#[test]
fn the_database_of_another_program_is_refused() {
    for mode in ["DELETE", "WAL"] {
        let folder = Folder::new();
        let other = Connection::open(folder.file()).unwrap();
        other.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(())).unwrap();
        // Other programs have tables called jobs, too.
        other.execute_batch("CREATE TABLE jobs (a); CREATE TABLE migrations (b)").unwrap();
        other.close().unwrap();
        let error = refused(&folder);
        assert!(error.to_string().contains("it is an SQLite file of another program"), "{error}");
    }
}

#[test]
fn a_file_of_bunqueue_is_refused_by_name() {
    for mode in ["DELETE", "WAL"] {
        let folder = Folder::new();
        let bunqueue = Connection::open(folder.file()).unwrap();
        bunqueue.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(())).unwrap();
        bunqueue.execute_batch(BUNQUEUE).unwrap();
        bunqueue.close().unwrap();
        assert!(matches!(refused(&folder), StoreError::ForeignBunqueue { .. }), "{mode}");
    }
}

#[test]
fn a_file_that_bunqueue_has_open_is_refused_by_name() {
    let folder = Folder::new();
    let bunqueue = Connection::open(folder.file()).unwrap();
    bunqueue.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).unwrap();
    bunqueue.execute_batch(BUNQUEUE).unwrap();
    assert!(fs::metadata(beside(&folder.file(), "-wal")).unwrap().len() > 0, "the tables are in the log only");
    assert!(matches!(refused(&folder), StoreError::ForeignBunqueue { .. }));
}

#[test]
fn the_log_of_a_vanished_database_is_not_played_into_a_new_one() {
    let folder = Folder::new();
    fs::write(beside(&folder.file(), "-wal"), "frames").unwrap();
    let error = refused(&folder);
    assert!(error.to_string().contains("-wal of an earlier database lies beside it"), "{error}");
}

#[test]
fn a_newer_format_is_refused() {
    let folder = Folder::new();
    Box::new(SqliteStore::open(&folder.file()).unwrap()).close().unwrap();
    fs::remove_file(beside(&folder.file(), ".lock")).unwrap();
    let newer = Connection::open(folder.file()).unwrap();
    newer.pragma_update(None, "user_version", NEWEST + 1).unwrap();
    newer.close().unwrap();
    let error = refused(&folder);
    assert!(matches!(error, StoreError::NewerSchema { found, known: NEWEST, .. } if found == NEWEST + 1));
    assert!(error.to_string().contains("Install the newer version"), "{error}");
}

#[test]
fn a_newer_format_that_is_only_in_the_log_is_refused() {
    let folder = Folder::new();
    Box::new(SqliteStore::open(&folder.file()).unwrap()).close().unwrap();
    let newer = Connection::open(folder.file()).unwrap();
    newer.pragma_update(None, "user_version", NEWEST + 1).unwrap();
    // A copy of what a kill leaves behind: the header in the main file still shows the old format.
    let killed = Folder::new();
    for suffix in ["", "-wal"] {
        fs::copy(beside(&folder.file(), suffix), beside(&killed.file(), suffix)).unwrap();
    }
    let before = contents(killed.path());
    assert_eq!(identify(&killed.file()).unwrap(), Found::Ours);
    assert!(matches!(SqliteStore::open(&killed.file()), Err(StoreError::NewerSchema { .. })));
    let after = contents(killed.path());
    assert!(before.iter().all(|(name, bytes)| after[name] == *bytes), "{:?}", killed.names());
}

#[test]
fn an_impossible_format_is_corrupt() {
    let folder = Folder::new();
    let conn = Connection::open(folder.file()).unwrap();
    conn.pragma_update(None, "user_version", -1).unwrap();
    let error = schema::format(&conn, &folder.file()).unwrap_err();
    assert!(error.to_string().contains("its format has the impossible number -1"), "{error}");
}
