//! What can go wrong with the file. Every text says what was tried, on which file, and what to do about it.

use rusqlite::ErrorCode;
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

/// A failure of the store. `operation` completes "cannot …", as in `write to`.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No space.
    #[error("cannot {operation} {file}: the disk is full. Free some space on it, then try again.", file = .file.display())]
    Full {
        /// What was tried.
        operation: &'static str,
        /// On which file.
        file: PathBuf,
    },
    /// Another program holds SQLite's lock for longer than the store waits.
    #[error(
        "cannot {operation} {file}: another program keeps it locked. Close the SQLite tool or backup that has the file open, \
         then try again.",
        file = .file.display()
    )]
    Busy {
        /// What was tried.
        operation: &'static str,
        /// On which file.
        file: PathBuf,
    },
    /// Another broker runs with this file.
    #[error(
        "cannot open {file}: another broker{holder} is running with it and holds {lock}. Stop that one, or choose another data \
         folder.",
        file = .file.display(), lock = .lock.display(), holder = .process.map(|id| format!(" (process {id})")).unwrap_or_default()
    )]
    InUse {
        /// The database.
        file: PathBuf,
        /// The file whose lock says so.
        lock: PathBuf,
        /// The process that holds it, where it can be told.
        process: Option<u32>,
    },
    /// The file is damaged, or a row in it cannot be true.
    #[error(
        "cannot {operation} {file}: {what}. Put back a backup of the file, or move it away to start with empty queues.",
        file = .file.display()
    )]
    Corrupt {
        /// What was tried.
        operation: &'static str,
        /// On which file.
        file: PathBuf,
        /// What is wrong; for a row, its table and number.
        what: String,
    },
    /// A newer version wrote it.
    #[error(
        "cannot open {file}: it has format {found}, written by a newer version of Onceover; this one knows formats up to \
         {known}. Install the newer version, or choose another data folder. The file was not changed.",
        file = .file.display()
    )]
    NewerSchema {
        /// The database.
        file: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format this program knows.
        known: u32,
    },
    /// Some other program wrote it.
    #[error("cannot open {file}: {what}. Choose another file or data folder. The file was not changed.", file = .file.display())]
    NotOurs {
        /// The file.
        file: PathBuf,
        /// What it is instead.
        what: String,
    },
    /// bunqueue wrote it.
    #[error(
        "cannot open {file}: bunqueue wrote it, and its jobs cannot be taken over yet. Let bunqueue finish them, and choose \
         another file or data folder here. The file was not changed.",
        file = .file.display()
    )]
    ForeignBunqueue {
        /// The file.
        file: PathBuf,
    },
    /// The file no longer lies under its name, and what does must not be touched.
    #[error("cannot {operation} {file}: {what}", file = .file.display())]
    Displaced {
        /// What was tried.
        operation: &'static str,
        /// On which file.
        file: PathBuf,
        /// What became of it, and what to do.
        what: &'static str,
    },
    /// The file or its folder may not be written.
    #[error(
        "cannot {operation} {file}: it may not be read and written by this account. Give this account both rights to the file \
         and its folder, or choose another data folder.",
        file = .file.display()
    )]
    ReadOnly {
        /// What was tried.
        operation: &'static str,
        /// On which file.
        file: PathBuf,
    },
    /// Anything else the operating system or SQLite refuses.
    #[error("cannot {operation} {file}: {source}. Check the disk and the folder, then try again.", file = .file.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// On which file.
        file: PathBuf,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl StoreError {
    pub(crate) fn from_io(operation: &'static str, file: &Path, source: io::Error) -> StoreError {
        let file = file.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { operation, file },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::ReadOnly { operation, file }
            }
            _ => StoreError::Io { operation, file, source: source.into() },
        }
    }

    pub(crate) fn from_sqlite(operation: &'static str, file: &Path, source: rusqlite::Error) -> StoreError {
        let file = file.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::Full { operation, file },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { operation, file },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied) => {
                StoreError::ReadOnly { operation, file }
            }
            // A constraint fails when a row is already there that the engine knows nothing of: somebody else wrote it.
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::ConstraintViolation) => {
                StoreError::Corrupt { operation, file, what: source.to_string() }
            }
            _ => StoreError::Io { operation, file, source: source.into() },
        }
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod error_tests;
