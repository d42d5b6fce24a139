//! The broker's file: the engine's rows written to SQLite and read back at start (architecture, 8).
//!
//! It guarantees that the changes of one `commit` are in the file all together or not at all, that they survive a killed
//! process from then on, and a power cut when `durable` was asked for. It guarantees that a file which is not ours, or which a
//! newer version wrote, is refused without a byte of it being changed.
//!
//! It decides nothing: no query answers a client, there is no secondary index, and uniqueness and order live in the engine.
//! The one exception is `payload` and `result`, which give back bytes that the engine no longer holds.

mod error;
mod identify;
mod load;
mod lock_file;
mod merge;
mod pieces;
mod place;
mod rescue;
mod schema;
mod set_aside;
mod sqlite;
mod writer;

#[cfg(any(test, feature = "sim"))]
mod sim_store;

#[cfg(test)]
mod contract_tests;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod taken_key_tests;
#[cfg(test)]
mod taken_list_tests;

pub use error::StoreError;
pub use sqlite::SqliteStore;

#[cfg(any(test, feature = "sim"))]
pub use sim_store::{CommitFailure, SimDisk, SimStore};

use onceover_engine::Engine;
use onceover_engine::change::{Change, Snapshot};
use onceover_engine::command::Payload;
use onceover_engine::names::JobKey;

/// Takes one changed row.
pub type RowSink<'a> = dyn FnMut(Change<'_>) -> Result<(), StoreError> + 'a;

/// Gives all changed rows of a turn to the sink it is called with, and ends early when the sink fails.
pub type RowSource<'a> = dyn FnMut(&mut RowSink<'_>) -> Result<(), StoreError> + 'a;

/// Payloads longer than this are written in pieces of so many bytes, before the commit of the rows that have them.
pub const PIECE_BYTES: usize = 128 * 1024;

/// What became of a load in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// The parts were all there is.
    Whole,
    /// Rows were set aside, and others with them that were given already: it has to be read once more.
    SetAside,
}

/// What is stored of a job beside its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// What it was added with.
    Payload,
    /// What its worker returned.
    Result,
}

/// Where the rows of an engine are kept. One owner, one thread: the core's.
pub trait Storage: Send {
    /// Everything that is stored. Payloads of live jobs are in memory, those of finished jobs and all results stay behind.
    ///
    /// A row that cannot be read is set aside in the file, with a remark.
    ///
    /// # Errors
    /// `Corrupt` when there are too many of them, and names the first.
    fn load(&mut self) -> Result<Snapshot, StoreError>;

    /// The same in parts, so that a million jobs are not in memory twice, in the order that `Restoring` asks for.
    ///
    /// # Errors
    /// As `load`.
    fn load_parts(&mut self, take: &mut dyn FnMut(Snapshot)) -> Result<Loaded, StoreError> {
        take(self.load()?);
        Ok(Loaded::Whole)
    }

    /// Writes the rows that `rows` gives in one transaction, which survives a power cut when `durable`.
    ///
    /// # Errors
    /// Nothing of it is stored then, as far as the store can tell: the engine is ahead of the file and must be restored from it.
    fn commit_rows(&mut self, durable: bool, rows: &mut RowSource<'_>) -> Result<(), StoreError>;

    /// Writes what changed in `engine` since `Engine::committed` was called last; the caller calls it again after success.
    ///
    /// # Errors
    /// As `commit_rows`.
    fn commit(&mut self, engine: &Engine, durable: bool) -> Result<(), StoreError> {
        if !engine.has_changes() {
            return Ok(());
        }
        self.commit_rows(durable, &mut |sink| engine.for_each_change(sink))
    }

    /// Writes the next piece of a payload, in a transaction of its own, so that a commit that has it later need not. Whether all of
    /// it is written now; at once for one that has no more than [`PIECE_BYTES`]. A payload that nobody else holds any more is
    /// forgotten, and its pieces deleted.
    ///
    /// # Errors
    /// As `commit_rows`; what is staged is forgotten by the next load.
    fn stage(&mut self, payload: &Payload) -> Result<bool, StoreError>;

    /// Looks, once a second at most, whether the file still lies under its name. Every commit does the same.
    ///
    /// # Errors
    /// It does not: a commit would be refused.
    fn look(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Writes a mark that means nothing, to see whether commits succeed again after one failed.
    ///
    /// # Errors
    /// As `commit_rows`.
    fn try_write(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// What happened to the file that people must know although all goes on, since this was asked last.
    fn take_remarks(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// The stored payload of a job, if it has one.
    ///
    /// # Errors
    /// The file cannot be read.
    fn payload(&self, job: JobKey) -> Result<Option<Payload>, StoreError>;

    /// The stored result of a job, if it has one.
    ///
    /// # Errors
    /// The file cannot be read.
    fn result(&self, job: JobKey) -> Result<Option<Payload>, StoreError>;

    /// The payloads and results of several jobs, in this order, none where there is none; for less than one by one. `take` says
    /// whether to go on.
    ///
    /// # Errors
    /// The file cannot be read.
    fn read(
        &self,
        wanted: &[(Stored, JobKey)],
        take: &mut dyn FnMut(Option<Payload>) -> bool,
    ) -> Result<(), StoreError> {
        for (what, job) in wanted {
            let found = match what {
                Stored::Payload => self.payload(*job),
                Stored::Result => self.result(*job),
            };
            if !take(found?) {
                break;
            }
        }
        Ok(())
    }

    /// Bytes on disk, with what is not yet merged into the main file.
    fn file_bytes(&self) -> u64;

    /// Merges everything into the one main file and lets go of it. Dropping the store does the same, without a word about
    /// failures; nothing that was committed is lost either way.
    ///
    /// # Errors
    /// The file cannot be written.
    fn close(self: Box<Self>) -> Result<(), StoreError>;
}

/// For an owner that changes from one storage to another while it runs.
impl Storage for Box<dyn Storage> {
    fn load(&mut self) -> Result<Snapshot, StoreError> {
        (**self).load()
    }

    fn load_parts(&mut self, take: &mut dyn FnMut(Snapshot)) -> Result<Loaded, StoreError> {
        (**self).load_parts(take)
    }

    fn commit_rows(&mut self, durable: bool, rows: &mut RowSource<'_>) -> Result<(), StoreError> {
        (**self).commit_rows(durable, rows)
    }

    fn commit(&mut self, engine: &Engine, durable: bool) -> Result<(), StoreError> {
        (**self).commit(engine, durable)
    }

    fn stage(&mut self, payload: &Payload) -> Result<bool, StoreError> {
        (**self).stage(payload)
    }

    fn look(&mut self) -> Result<(), StoreError> {
        (**self).look()
    }

    fn try_write(&mut self) -> Result<(), StoreError> {
        (**self).try_write()
    }

    fn take_remarks(&mut self) -> Vec<String> {
        (**self).take_remarks()
    }

    fn payload(&self, job: JobKey) -> Result<Option<Payload>, StoreError> {
        (**self).payload(job)
    }

    fn result(&self, job: JobKey) -> Result<Option<Payload>, StoreError> {
        (**self).result(job)
    }

    fn read(
        &self,
        wanted: &[(Stored, JobKey)],
        take: &mut dyn FnMut(Option<Payload>) -> bool,
    ) -> Result<(), StoreError> {
        (**self).read(wanted, take)
    }

    fn file_bytes(&self) -> u64 {
        (**self).file_bytes()
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        (*self).close()
    }
}
