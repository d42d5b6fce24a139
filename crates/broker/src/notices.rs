//! What people must know about the broker as a whole: a file that cannot be written, and what happened to the file or the
//! clock while all went on.
//!
//! Kept in memory, for the window; the log has the same. Trouble stands until a commit succeeds again, which is tried now and
//! then even when no client asks for anything.

use crate::clock::Jump;
use onceover_engine::time::{Millis, Timestamp};
use onceover_store::{Storage, StoreError};
use std::collections::VecDeque;

/// Notices kept; the oldest go.
const NOTICES_MAX: usize = 8;
/// Between two tries to write while nobody else does. Long, because one may block for as long as the store waits for a lock.
const TRY_EVERY: Millis = Millis(10_000);

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// When it was noticed.
    pub at: Timestamp,
    /// What.
    pub what: Event,
}

/// What can happen to a broker that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Something about the file, in the store's words.
    File(String),
    /// Commits succeed again.
    WorksAgain {
        /// When the first one failed.
        since: Timestamp,
        /// Why the last one failed.
        error: String,
    },
    /// The clock jumped.
    Clock(Jump),
}

/// Commits fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// When the first one failed.
    pub since: Timestamp,
    /// Why the last one failed.
    pub error: String,
    tried: Timestamp,
}

/// All there is to tell.
#[derive(Debug, Default)]
pub struct Notices {
    trouble: Option<Trouble>,
    happened: VecDeque<Notice>,
}

impl Notices {
    /// Why nothing can be stored now.
    #[must_use]
    pub fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_ref()
    }

    /// What happened, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Notice> {
        self.happened.iter()
    }

    /// The clock jumped.
    pub(crate) fn clock(&mut self, at: Timestamp, jump: Jump) {
        tracing::warn!(?jump, "the clock jumped");
        // A machine that sleeps every night would fill the window with it.
        self.happened.retain(|notice| !matches!(notice.what, Event::Clock(_)));
        self.add(at, Event::Clock(jump));
    }

    /// A commit failed, or would.
    pub(crate) fn failed(&mut self, now: Timestamp, error: &StoreError) {
        let since = self.trouble.take().map_or(now, |before| before.since);
        self.trouble = Some(Trouble { since, error: error.to_string(), tried: now });
    }

    /// After a turn whose commit, if it had one to make, succeeded. True when there is something new to show.
    pub(crate) fn look_after(&mut self, now: Timestamp, storage: &mut impl Storage, committed: bool) -> bool {
        let is_fine = match &self.trouble {
            _ if committed => Ok(()),
            None => storage.look(),
            Some(trouble) if now.since(trouble.tried) < TRY_EVERY => return false,
            Some(_) => storage.try_write(),
        };
        let mut changed = false;
        match is_fine {
            Ok(()) => {
                if let Some(Trouble { since, error, .. }) = self.trouble.take() {
                    tracing::info!("the data file can be written again");
                    self.add(now, Event::WorksAgain { since, error });
                    changed = true;
                }
            }
            Err(error) => {
                if self.trouble.is_none() {
                    tracing::error!(%error, "nothing can be stored");
                }
                self.failed(now, &error);
                changed = true;
            }
        }
        for text in storage.take_remarks() {
            self.add(now, Event::File(text));
            changed = true;
        }
        changed
    }

    fn add(&mut self, at: Timestamp, what: Event) {
        if self.happened.len() == NOTICES_MAX {
            self.happened.pop_front();
        }
        self.happened.push_back(Notice { at, what });
    }
}

#[cfg(test)]
#[path = "notices_tests.rs"]
mod notices_tests;
