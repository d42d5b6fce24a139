//! What is done when the file was deleted, renamed or replaced while the broker runs.
//!
//! A file that was deleted is written anew from what the connection still holds, because then nothing that anybody else put
//! there can be harmed. A file that lies elsewhere, or in whose place another one lies, is left alone: commits are refused and
//! the error says what to do. When the store is closed, nothing that was acknowledged is lost in either case.

use crate::error::StoreError;
use crate::lock_file::{FileLock, beside, private};
use crate::place::Standing;
use crate::sqlite::{SqliteStore, create_folder, sync_folder};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const MOVED: &str = "it was moved or renamed while the broker runs. Give it its name back, with the -wal and -shm files beside \
                     it, and the broker goes on.";
const REPLACED: &str = "it was replaced by another file while the broker runs. Move the other file away, and the broker writes \
                        its own anew; or stop the broker, which keeps what it holds in a file beside it, and start it again to \
                        go on with the other file.";

impl SqliteStore {
    /// Before a commit: the file lies under its name, or is written anew there.
    pub(crate) fn keep_in_place(&mut self) -> Result<(), StoreError> {
        let standing = self.place.look().map_err(|cause| StoreError::from_io("find", &self.file, cause))?;
        let displaced = |what| StoreError::Displaced { operation: "write to", file: self.file.clone(), what };
        match standing {
            Standing::InPlace => Ok(()),
            Standing::CompanionGone => self.renew_companions(),
            Standing::Deleted => self.write_anew(),
            Standing::Moved => Err(displaced(MOVED)),
            Standing::Replaced => Err(displaced(REPLACED)),
        }
    }

    /// Before the end: what is only in an open file without a name gets one.
    pub(crate) fn leave_in_place(&mut self) -> Result<(), StoreError> {
        let standing = self.place.look_now().map_err(|cause| StoreError::from_io("find", &self.file, cause))?;
        match standing {
            // The log is merged into the file wherever it lies.
            Standing::InPlace | Standing::Moved => Ok(()),
            Standing::CompanionGone => self.merge(),
            Standing::Deleted => self.write_anew(),
            Standing::Replaced => {
                let kept = free_name(&self.file);
                self.copy_to(&kept)?;
                let (file, kept) = (self.file.display(), kept.display());
                tracing::error!("{file} was replaced by another file while the broker ran; what it held is in {kept}");
                Ok(())
            }
        }
    }

    /// The log is whole in the open file that has lost its name: it is merged, and a new one begun.
    fn renew_companions(&mut self) -> Result<(), StoreError> {
        self.merge()?;
        self.reconnect()?;
        self.remark("The -wal or -shm file beside the data file was deleted while the broker ran. Nothing is lost.");
        Ok(())
    }

    fn merge(&self) -> Result<(), StoreError> {
        let merged = self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        merged.map_err(|cause| StoreError::from_sqlite("write to", &self.file, cause))
    }

    fn write_anew(&mut self) -> Result<(), StoreError> {
        let failed = |cause| StoreError::from_io("write anew", &self.file, cause);
        create_folder(&self.file).map_err(failed)?;
        let lock = if self.lock.is_in_place() { None } else { Some(FileLock::take(&self.file)?) };
        let draft = beside(&self.file, ".new");
        self.copy_to(&draft)?;
        // SQLite would play the old file's log into the new one.
        for suffix in ["-wal", "-shm"] {
            remove(&beside(&self.file, suffix)).map_err(failed)?;
        }
        fs::rename(&draft, &self.file).and_then(|()| sync_folder(&self.file)).map_err(failed)?;
        self.reconnect()?;
        if let Some(lock) = lock {
            self.lock = lock;
        }
        self.remark(
            "The data file was deleted while the broker ran. It was written anew, and nothing is lost. To start with empty \
             queues, stop the broker before the file is deleted.",
        );
        Ok(())
    }

    /// A whole copy of what is committed, safe on the disk.
    fn copy_to(&self, target: &Path) -> Result<(), StoreError> {
        let failed = |cause| StoreError::from_io("write anew", target, cause);
        // SQLite takes this name as text: another one would be written to.
        let name = target.to_str().ok_or_else(|| failed(io::Error::other("its name is not valid UTF-8")))?;
        remove(target).map_err(failed)?;
        let copy = private().write(true).create_new(true).open(target).map_err(failed)?;
        let copied = self.conn.execute("VACUUM INTO ?1", [name]);
        copied.map_err(|cause| StoreError::from_sqlite("write anew", target, cause))?;
        copy.sync_all().and_then(|()| sync_folder(target)).map_err(failed)
    }

    fn remark(&mut self, text: &str) {
        tracing::warn!(file = %self.file.display(), "{text}");
        self.remarks.push(format!("{text} File: {}", self.file.display()));
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// `<file>.kept`, or the first of `.kept2`, `.kept3` and so on that is free: an earlier one is never overwritten.
fn free_name(file: &Path) -> PathBuf {
    let first = std::iter::once(beside(file, ".kept"));
    let more = (2..).map(|number: u32| beside(file, &format!(".kept{number}")));
    first.chain(more).find(|path| !path.exists()).expect("names are without end")
}

#[cfg(unix)]
#[cfg(test)]
#[path = "rescue_tests.rs"]
mod rescue_tests;
