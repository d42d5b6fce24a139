//! The failures that can be asked for.

use super::{CommitCount, CommitFailure, SimDisk, SimStore};
use crate::samples::{fresh, plain_job};
use crate::{Storage, StoreError};

fn add(store: &mut SimStore, key: u64, durable: bool) -> Result<(), StoreError> {
    store.commit_rows(durable, &mut |sink| sink(fresh(&plain_job(key))))
}

fn jobs(store: &mut SimStore) -> usize {
    store.load().unwrap().jobs.len()
}

#[test]
fn a_disk_outlives_its_stores_and_serves_one_at_a_time() {
    let disk = SimDisk::default();
    let mut store = disk.open().unwrap();
    assert!(matches!(disk.open(), Err(StoreError::InUse { .. })));
    add(&mut store, 1, false).unwrap();
    drop(store);
    assert_eq!(jobs(&mut disk.open().unwrap()), 1);
}

#[test]
fn the_next_commit_fails_once() {
    let disk = SimDisk::default();
    let mut store = disk.open().unwrap();
    disk.fail_next_commit(CommitFailure::Refused);
    assert!(matches!(add(&mut store, 1, true), Err(StoreError::Full { .. })));
    assert_eq!(jobs(&mut store), 0);
    disk.fail_next_commit(CommitFailure::StoredAllTheSame);
    assert!(matches!(add(&mut store, 1, true), Err(StoreError::Io { .. })));
    assert_eq!(jobs(&mut store), 1);
    add(&mut store, 2, false).unwrap();
    assert_eq!(disk.commits(), CommitCount { all: 2, durable: 1 });
}

#[test]
fn the_next_load_fails_once() {
    let disk = SimDisk::default();
    let mut store = disk.open().unwrap();
    disk.fail_next_load();
    assert!(store.load().is_err());
    assert_eq!(jobs(&mut store), 0);
}

#[test]
fn a_power_cut_takes_what_was_not_durable() {
    let disk = SimDisk::default();
    let mut store = disk.open().unwrap();
    for (key, durable) in [(1, false), (2, true), (3, false)] {
        add(&mut store, key, durable).unwrap();
    }
    disk.cut_power();
    assert_eq!(jobs(&mut store), 2);
}
