//! One broker per file: a lock on `<file>.lock` beside the database, held while the store lives.
//!
//! The operating system lets go of it when the process ends, however it ends, so nothing is ever left locked. The lock file
//! itself stays: removing it would let a third process lock a new file of that name while a second holds the old one.

use crate::error::StoreError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Held until it is dropped.
#[derive(Debug)]
pub(crate) struct FileLock {
    /// Held open: the open file is the lock.
    held: File,
    path: PathBuf,
}

impl FileLock {
    /// Takes the lock that belongs to `database`, or says who has it.
    pub(crate) fn take(database: &Path) -> Result<FileLock, StoreError> {
        let path = beside(database, ".lock");
        let failed = |cause| StoreError::from_io("lock", &path, cause);
        let mut file = private().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {
                write_holder(&mut file).map_err(failed)?;
                Ok(FileLock { held: file, path })
            }
            Err(TryLockError::WouldBlock) => {
                let process = read_holder(&mut file);
                Err(StoreError::InUse { file: database.to_owned(), lock: path, process })
            }
            Err(TryLockError::Error(cause)) => Err(failed(cause)),
        }
    }

    /// Whether others would find this lock: its file may have been deleted together with the database.
    pub(crate) fn is_in_place(&self) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let number = |found: std::fs::Metadata| (found.dev(), found.ino());
            self.held.metadata().ok().map(number) == self.path.metadata().ok().map(number)
        }
        #[cfg(not(unix))]
        {
            self.held.metadata().is_ok() && self.path.exists()
        }
    }
}

fn write_holder(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())
}

/// Only a hint for the error's text: where a locked file cannot be read, or was just emptied, the text does without.
fn read_holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// The path of a companion of `database`: its whole name with `suffix` behind it.
pub(crate) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Options that create files which nobody else may read: payloads are none of the other accounts' business.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
