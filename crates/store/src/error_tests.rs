//! Which causes become which failures, and that every text is complete.

use super::StoreError;
use rusqlite::ffi;
use std::io;
use std::path::Path;

fn kind(error: &StoreError) -> &'static str {
    match error {
        StoreError::Full { .. } => "full",
        StoreError::Busy { .. } => "busy",
        StoreError::InUse { .. } => "in use",
        StoreError::Corrupt { .. } => "corrupt",
        StoreError::NewerSchema { .. } => "newer",
        StoreError::NotOurs { .. } => "not ours",
        StoreError::ForeignBunqueue { .. } => "bunqueue",
        StoreError::ReadOnly { .. } => "read only",
        StoreError::Displaced { .. } => "displaced",
        StoreError::Io { .. } => "io",
    }
}

#[track_caller]
fn check_sqlite(code: i32, expected: &str) {
    let cause = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
    let error = StoreError::from_sqlite("write to", Path::new("/data/a.db"), cause);
    assert_eq!(kind(&error), expected);
    assert!(error.to_string().starts_with("cannot write to /data/a.db: "), "{error}");
}

#[test]
fn sqlite_failures_by_cause() {
    check_sqlite(ffi::SQLITE_FULL, "full");
    check_sqlite(ffi::SQLITE_BUSY, "busy");
    check_sqlite(ffi::SQLITE_BUSY_SNAPSHOT, "busy");
    check_sqlite(ffi::SQLITE_LOCKED, "busy");
    check_sqlite(ffi::SQLITE_CORRUPT, "corrupt");
    check_sqlite(ffi::SQLITE_NOTADB, "corrupt");
    check_sqlite(ffi::SQLITE_CONSTRAINT_PRIMARYKEY, "corrupt");
    check_sqlite(ffi::SQLITE_READONLY_DBMOVED, "read only");
    check_sqlite(ffi::SQLITE_IOERR_WRITE, "io");
    check_sqlite(ffi::SQLITE_CANTOPEN, "io");
}

#[test]
fn system_failures_by_cause() {
    for (cause, expected) in [
        (io::ErrorKind::StorageFull, "full"),
        (io::ErrorKind::QuotaExceeded, "full"),
        (io::ErrorKind::PermissionDenied, "read only"),
        (io::ErrorKind::ReadOnlyFilesystem, "read only"),
        (io::ErrorKind::NotADirectory, "io"),
    ] {
        assert_eq!(kind(&StoreError::from_io("create", Path::new("/data/a.db"), cause.into())), expected);
    }
}

#[test]
fn the_texts_name_operation_file_and_remedy() {
    let (operation, file) = ("write to", || "/data/a.db".into());
    let check = |error: StoreError, expected: &str| assert_eq!(error.to_string(), expected);
    check(
        StoreError::Full { operation, file: file() },
        "cannot write to /data/a.db: the disk is full. Free some space on it, then try again.",
    );
    check(
        StoreError::InUse { file: file(), lock: "/data/a.db.lock".into(), process: Some(7) },
        "cannot open /data/a.db: another broker (process 7) is running with it and holds /data/a.db.lock. Stop that one, or \
         choose another data folder.",
    );
    check(
        StoreError::Corrupt { operation: "read", file: file(), what: "table jobs, row 7: column spec: EOF".into() },
        "cannot read /data/a.db: table jobs, row 7: column spec: EOF. Put back a backup of the file, or move it away to start \
         with empty queues.",
    );
    check(
        StoreError::Io { operation, file: file(), source: "the disk is on fire".into() },
        "cannot write to /data/a.db: the disk is on fire. Check the disk and the folder, then try again.",
    );
}
