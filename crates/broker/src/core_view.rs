//! What a question of the window may look at, between two turns. Read-only, so that asking changes nothing.

use crate::activity::Activity;
use crate::conn_table::ConnTable;
use crate::figures::Figures;
use crate::history::History;
use crate::notices::Notices;
use onceover_engine::Engine;
use onceover_engine::command::Payload;
use onceover_engine::job::{Blob, Job};
use onceover_engine::names::JobKey;
use onceover_engine::time::Timestamp;
use onceover_store::{Storage, StoreError};

/// The core at rest.
pub struct CoreView<'a> {
    /// The time of the last turn.
    pub now: Timestamp,
    /// Grows with every turn that changed something.
    pub revision: u64,
    /// The queues.
    pub engine: &'a Engine,
    /// The log of adds.
    pub activity: &'a Activity,
    /// Why the file could not be written the last time; none when it could.
    pub trouble: Option<&'a str>,
    /// The last minute of each queue.
    pub history: &'a History,
    /// What people must know about the file and the clock.
    pub notices: &'a Notices,
    /// Who is connected.
    pub connections: &'a ConnTable,
    /// Totals, rates and durations since the start.
    pub figures: &'a Figures,
    /// Event streams of the HTTP interface that are open.
    pub streams: usize,
    /// Size of the data file, in bytes.
    pub store_bytes: u64,
    pub(crate) storage: &'a dyn Storage,
}

impl CoreView<'_> {
    /// A payload that is not in memory.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn payload(&self, job: JobKey) -> Result<Option<Payload>, StoreError> {
        self.storage.payload(job)
    }

    /// A job's payload, wherever it is.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn payload_of(&self, job: &Job) -> Result<Option<Payload>, StoreError> {
        match &job.data {
            Blob::Here(bytes) => Ok(Some(bytes.clone())),
            Blob::Absent => Ok(None),
            Blob::OnDisk => self.payload(job.key),
        }
    }

    /// A result that is not in memory.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn result(&self, job: JobKey) -> Result<Option<Payload>, StoreError> {
        self.storage.result(job)
    }

    /// Adds per second, over the last five seconds.
    #[must_use]
    pub fn adds_per_s(&self) -> f64 {
        self.activity.per_second(self.now)
    }
}
