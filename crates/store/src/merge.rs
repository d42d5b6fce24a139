//! Merges of SQLite's log into the file, beside the commits.
//!
//! A merge writes what the log holds to where it belongs, and waits for the disk twice. A thread does that over a connection of
//! its own, for which commits need not wait. The log can begin anew only when all of it is merged, so the thread goes on until
//! it finds nothing left. If commits are always ahead of it, one of them merges the rest, which is little.

use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::{self, JoinHandle};

/// Pages of the log after which it is merged, 16 MiB of them. Later merges write little more than earlier ones, because most
/// of the log are the same pages again and again.
const MERGED_AFTER_PAGES: i32 = 4_096;
/// Pages that a commit merges itself, 1 MiB of them: they take no longer than the two waits for the disk.
const LEFT_PAGES_MAX: i32 = 256;
/// How often the thread looks for pages that have come meanwhile.
const ROUNDS_MAX: usize = 8;
/// A log of so many pages, 64 MiB of them, is merged by a commit, whatever it takes: the thread does not keep up.
const LOG_PAGES_MAX: i32 = 16_384;

/// When the log is merged, and by whom.
#[derive(Debug)]
pub(crate) struct Merges {
    by: By,
    /// Pages of the log, as of the last commit.
    log: Arc<AtomicI32>,
    /// The next merge begins once the log has so many pages.
    due_at: i32,
}

#[derive(Debug)]
enum By {
    /// The connection for it, at rest.
    Thread(Connection),
    /// It is at work. It gives back how many pages of the log are merged; none when that failed.
    Busy(JoinHandle<(Connection, Option<i32>)>),
    /// There is no thread for it.
    Commits,
}

impl Merges {
    /// Counts the pages of the log of `conn`. They are merged over `own`, another connection to the same file, or by commits.
    ///
    /// # Errors
    /// SQLite has no memory left.
    pub(crate) fn new(conn: &mut Connection, own: Option<Connection>) -> rusqlite::Result<Merges> {
        let log = Arc::<AtomicI32>::default();
        let counted = Arc::clone(&log);
        // This takes the place of SQLite's own hook, which merges.
        conn.wal_hook(Some(move |_: &mut _, pages| {
            counted.store(pages, Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Merges { by: own.map_or(By::Commits, By::Thread), log, due_at: MERGED_AFTER_PAGES })
    }

    /// After a commit over `conn`: begins a merge that is due, or ends it. What cannot be merged stays in the log, where it is
    /// as safe, and is tried again.
    pub(crate) fn look(&mut self, conn: &Connection) {
        let pages = self.log.load(Ordering::Relaxed);
        if pages < MERGED_AFTER_PAGES {
            // It may have begun anew.
            self.due_at = MERGED_AFTER_PAGES;
        }
        self.by = match std::mem::replace(&mut self.by, By::Commits) {
            By::Busy(thread) if !thread.is_finished() && pages < LOG_PAGES_MAX => By::Busy(thread),
            By::Busy(thread) => {
                let (own, merged) = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                match merged {
                    _ if pages < self.due_at => By::Thread(own),
                    Some(merged) if pages - merged > LEFT_PAGES_MAX && pages < LOG_PAGES_MAX => begin(own),
                    Some(_) => {
                        self.merge_here(conn, pages);
                        By::Thread(own)
                    }
                    None => {
                        self.due_at = pages + MERGED_AFTER_PAGES;
                        By::Thread(own)
                    }
                }
            }
            By::Thread(own) if pages >= self.due_at => begin(own),
            By::Commits if pages >= self.due_at => {
                self.merge_here(conn, pages);
                By::Commits
            }
            at_rest => at_rest,
        };
    }

    /// The next commit begins the log anew, unless somebody else still reads it.
    fn merge_here(&mut self, conn: &Connection, pages: i32) {
        merge(conn);
        self.due_at = pages + MERGED_AFTER_PAGES;
    }
}

/// Waits for the thread: its connection is closed before others.
impl Drop for Merges {
    fn drop(&mut self) {
        if let By::Busy(thread) = std::mem::replace(&mut self.by, By::Commits) {
            // A panic in it changed nothing, and there is nobody left to be told.
            drop(thread.join());
        }
    }
}

fn begin(own: Connection) -> By {
    let work = move || {
        let mut merged = None;
        for _ in 0..ROUNDS_MAX {
            let Some((pages, so_far)) = merge(&own) else { return (own, None) };
            merged = Some(so_far);
            if so_far == pages {
                break;
            }
        }
        (own, merged)
    };
    // A machine that has no room for a thread loses the connection with it.
    thread::Builder::new().name("onceover-merge".to_owned()).spawn(work).map_or(By::Commits, By::Busy)
}

/// How many pages the log has, and how many of them are merged now. It waits for no reader. None when it failed, for example
/// because the disk is full.
fn merge(conn: &Connection) -> Option<(i32, i32)> {
    let merged = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| Ok((row.get(1)?, row.get(2)?)));
    merged.inspect_err(|error| tracing::debug!(%error, "the log was not merged")).ok()
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod merge_tests;
