//! A file that is deleted, renamed or replaced under the store.

use crate::lock_file::beside;
use crate::samples::{Folder, fresh, plain_job};
use crate::{RowSink, SqliteStore, Storage, StoreError};
use std::fs;
use std::path::Path;

fn add(store: &mut SqliteStore, key: u64) -> Result<(), StoreError> {
    let job = plain_job(key);
    store.commit_rows(false, &mut |sink: &mut RowSink<'_>| sink(fresh(&job)))
}

/// A store with one job, and one more that is committed after `harm` and before the store looks again.
fn harmed(folder: &Folder, harm: impl Fn(&Path)) -> SqliteStore {
    let mut store = SqliteStore::open(&folder.file()).unwrap();
    add(&mut store, 1).unwrap();
    harm(&folder.file());
    add(&mut store, 2).unwrap();
    store.place.look_now().unwrap();
    store
}

/// The jobs that the next start finds.
#[track_caller]
fn expect_jobs(file: &Path, jobs: u64) {
    let mut store = SqliteStore::open(file).unwrap();
    let found: Vec<u64> = store.load().unwrap().jobs.iter().map(|row| row.job.key.0).collect();
    assert_eq!(found, (1..=jobs).collect::<Vec<_>>());
}

fn delete_all(file: &Path) {
    fs::remove_dir_all(file.parent().unwrap()).unwrap();
}

fn replace(file: &Path) {
    fs::rename(file, file.with_extension("away")).unwrap();
    fs::remove_file(file.with_extension("away")).unwrap();
    fs::write(file, "another").unwrap();
}

#[test]
fn a_deleted_file_is_written_anew() {
    let alone = |file: &Path| fs::remove_file(file).unwrap();
    let harms: [fn(&Path); 2] = [alone, delete_all];
    for harm in harms {
        let folder = Folder::new();
        let mut store = harmed(&folder, harm);
        add(&mut store, 3).unwrap();
        let remarks = store.take_remarks();
        assert!(remarks.len() == 1 && remarks[0].contains("written anew"), "{remarks:?}");
        assert!(matches!(SqliteStore::open(&folder.file()), Err(StoreError::InUse { .. })));
        add(&mut store, 4).unwrap();
        // As a killed process leaves it.
        let copy = Folder::new();
        for suffix in ["", "-wal"] {
            fs::copy(beside(&folder.file(), suffix), beside(&copy.file(), suffix)).unwrap();
        }
        expect_jobs(&copy.file(), 4);
        drop(store);
        expect_jobs(&folder.file(), 4);
    }
}

#[test]
fn a_file_that_was_deleted_at_the_end_is_written_anew() {
    let folder = Folder::new();
    Box::new(harmed(&folder, delete_all)).close().unwrap();
    expect_jobs(&folder.file(), 2);
}

#[test]
fn a_deleted_log_is_begun_anew() {
    for suffix in ["-wal", "-shm"] {
        let folder = Folder::new();
        let mut store = harmed(&folder, |file| fs::remove_file(beside(file, suffix)).unwrap());
        add(&mut store, 3).unwrap();
        assert_eq!(store.take_remarks().len(), 1);
        let copy = Folder::new();
        for suffix in ["", "-wal"] {
            fs::copy(beside(&folder.file(), suffix), beside(&copy.file(), suffix)).unwrap();
        }
        expect_jobs(&copy.file(), 3);
    }
}

#[test]
fn a_renamed_file_is_waited_for() {
    let folder = Folder::new();
    let away = folder.path().join("away");
    let mut store = harmed(&folder, |file| fs::rename(file, &away).unwrap());
    let refused = add(&mut store, 3).unwrap_err();
    assert!(matches!(&refused, StoreError::Displaced { .. }), "{refused}");
    assert!(refused.to_string().contains("moved or renamed"), "{refused}");
    assert!(store.try_write().is_err() && store.look().is_err());
    assert_eq!(store.load().unwrap().jobs.len(), 2, "what is committed can be read all the same");
    fs::rename(&away, folder.file()).unwrap();
    store.try_write().unwrap();
    add(&mut store, 3).unwrap();
    drop(store);
    expect_jobs(&folder.file(), 3);
}

#[test]
fn a_renamed_file_has_everything_at_the_end() {
    let folder = Folder::new();
    let away = folder.path().join("away");
    Box::new(harmed(&folder, |file| fs::rename(file, &away).unwrap())).close().unwrap();
    expect_jobs(&away, 2);
}

#[test]
fn another_file_in_its_place_is_never_touched() {
    let folder = Folder::new();
    let mut store = harmed(&folder, replace);
    let refused = add(&mut store, 3).unwrap_err();
    assert!(refused.to_string().contains("replaced by another file"), "{refused}");
    Box::new(store).close().unwrap();
    assert_eq!(fs::read(folder.file()).unwrap(), b"another");
    expect_jobs(&beside(&folder.file(), ".kept"), 2);
}

#[test]
fn another_file_that_is_moved_away_makes_room() {
    let folder = Folder::new();
    let mut store = harmed(&folder, replace);
    add(&mut store, 3).unwrap_err();
    fs::rename(folder.file(), folder.path().join("other")).unwrap();
    add(&mut store, 3).unwrap();
    Box::new(store).close().unwrap();
    expect_jobs(&folder.file(), 3);
}
