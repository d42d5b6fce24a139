//! `SqliteStore`: one file, one connection, one transaction per commit.
//!
//! The file is in WAL mode, so any SQLite tool can read it while the broker runs. A commit reaches the operating system before
//! it is answered and so survives a killed process; `durable` commits also wait for the disk.

use crate::error::StoreError;
use crate::identify::{Found, identify};
use crate::lock_file::{FileLock, beside, private};
use crate::merge::Merges;
use crate::pieces::{Pieces, blob_of};
use crate::place::Place;
use crate::set_aside::set_aside;
use crate::writer::{Scratch, Writer, row_id};
use crate::{Loaded, PIECE_BYTES, RowSource, Storage, Stored, load, schema};
use onceover_engine::change::Snapshot;
use onceover_engine::command::Payload;
use onceover_engine::names::JobKey;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long another program may keep its lock before a commit gives up. Readers never make a commit wait.
const BUSY_WAIT: Duration = Duration::from_secs(5);

/// More than there are statements.
const STATEMENTS_KEPT_MAX: usize = 64;

/// Pages kept in memory, in KiB.
const CACHE_KIB: i64 = 16 * 1024;

/// Parts that were read and wait to be taken in.
const PARTS_AHEAD_MAX: usize = 4;

/// What is left of the log's file after it was merged, however long a burst or a slow reader made it.
const LOG_KEPT_BYTES_MAX: i64 = 64 * 1024 * 1024;

const PAYLOAD: &str = "SELECT payload FROM jobs WHERE generation = ?1 AND payload IS NOT NULL";
const RESULT: &str = "SELECT result FROM results WHERE generation = ?1";

/// Nobody reads the row; `replace` makes SQLite write a page.
const MARK: &str = "REPLACE INTO meta (name, value) VALUES ('last_try', unixepoch())";

/// How long a commit waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sync {
    /// Not at all; only merges of the log do.
    Normal,
    /// Until the log is on the disk.
    Full,
}

/// A database file, open and locked against other brokers.
#[derive(Debug)]
pub struct SqliteStore {
    /// Closed before the file and the lock are let go: fields are dropped in this order.
    merges: Merges,
    pub(crate) conn: Connection,
    pub(crate) place: Place,
    pub(crate) file: PathBuf,
    sync: Sync,
    scratch: Scratch,
    pieces: Pieces,
    pub(crate) remarks: Vec<String>,
    pub(crate) lock: FileLock,
}

impl SqliteStore {
    /// Opens `file`, or creates it with its folder, readable by this account only.
    ///
    /// # Errors
    /// `InUse`, `NotOurs`, `ForeignBunqueue`, `NewerSchema` and `ReadOnly` leave the file as it was.
    pub fn open(file: &Path) -> Result<SqliteStore, StoreError> {
        let file = real_path(file).map_err(|cause| StoreError::from_io("open", file, cause))?;
        // A file that must not be used is refused before so much as a lock file is put beside it.
        identify(&file)?;
        create_folder(&file).map_err(|cause| StoreError::from_io("create the folder of", &file, cause))?;
        let lock = FileLock::take(&file)?;
        // Once more: until the lock was taken another broker may have been at work here.
        match identify(&file)? {
            Found::Nothing => create(&file)?,
            Found::Ours => {}
        }
        let (conn, merges, place) = connect_in_place(&file)?;
        let (sync, scratch, pieces, remarks) = (Sync::Normal, Scratch::default(), Pieces::default(), Vec::new());
        Ok(SqliteStore { merges, conn, place, file, sync, scratch, pieces, remarks, lock })
    }

    /// The database file, as an absolute path.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Goes on with the file that lies under the name now.
    pub(crate) fn reconnect(&mut self) -> Result<(), StoreError> {
        let (conn, merges, place) = connect_in_place(&self.file)?;
        (self.merges, self.conn, self.place, self.sync) = (merges, conn, place, Sync::Normal);
        Ok(())
    }

    fn sync_as(&mut self, wanted: Sync) -> Result<(), StoreError> {
        if self.sync != wanted {
            let level = match wanted {
                Sync::Normal => "NORMAL",
                Sync::Full => "FULL",
            };
            let set = self.conn.pragma_update(None, "synchronous", level);
            set.map_err(|cause| StoreError::from_sqlite("write to", &self.file, cause))?;
            self.sync = wanted;
        }
        Ok(())
    }

    fn blob(&self, query: &str, job: JobKey) -> Result<Option<Payload>, StoreError> {
        let found = self.conn.prepare_cached(query);
        let found = found.and_then(|mut statement| blob_of(&self.conn, &mut statement, row_id(job.0)));
        found.map_err(self.unread())
    }

    fn unread(&self) -> impl Fn(rusqlite::Error) -> StoreError {
        |cause| StoreError::from_sqlite("read from", &self.file, cause)
    }
}

impl Storage for SqliteStore {
    fn load(&mut self) -> Result<Snapshot, StoreError> {
        let mut all = Snapshot::default();
        if self.load_parts(&mut |part| all.append(part))? == Loaded::SetAside {
            all = Snapshot::default();
            self.load_parts(&mut |part| all.append(part))?;
        }
        Ok(all)
    }

    /// Rows are read and decoded by a thread of their own while those before are taken in.
    fn load_parts(&mut self, take: &mut dyn FnMut(Snapshot)) -> Result<Loaded, StoreError> {
        let SqliteStore { conn, file, pieces, .. } = self;
        let faults = thread::scope(|scope| {
            let (parts, read) = mpsc::sync_channel(PARTS_AHEAD_MAX);
            // When nobody takes parts any more, the other side is unwinding.
            let reader = scope.spawn(move || load::load(conn, file, pieces, &mut |part| drop(parts.send(part))));
            read.into_iter().for_each(take);
            reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        if faults.is_empty() {
            return Ok(Loaded::Whole);
        }
        let remark = set_aside(&mut self.conn, &self.file, &faults)?;
        self.remarks.push(remark);
        Ok(Loaded::SetAside)
    }

    fn commit_rows(&mut self, durable: bool, rows: &mut RowSource<'_>) -> Result<(), StoreError> {
        self.keep_in_place()?;
        // SQLite ignores the switch inside a transaction.
        self.sync_as(if durable { Sync::Full } else { Sync::Normal })?;
        let SqliteStore { conn, merges, file, scratch, pieces, .. } = self;
        let failed = |cause| StoreError::from_sqlite("write to", file, cause);
        let turn = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let mut writer = Writer::new(&turn, file, scratch, pieces);
        rows(&mut |change| writer.write(&change))?;
        drop(writer);
        pieces.sweep(&turn).map_err(failed)?;
        turn.commit().map_err(failed)?;
        merges.look(conn);
        Ok(())
    }

    /// It need not wait for the disk: the log is waited for as a whole.
    fn stage(&mut self, payload: &Payload) -> Result<bool, StoreError> {
        if payload.len() <= PIECE_BYTES {
            return Ok(true);
        }
        self.keep_in_place()?;
        self.sync_as(Sync::Normal)?;
        let SqliteStore { conn, merges, file, pieces, .. } = self;
        let failed = |cause| StoreError::from_sqlite("write to", file, cause);
        let turn = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let is_whole = pieces.stage(&turn, payload).map_err(failed)?;
        pieces.sweep(&turn).map_err(failed)?;
        turn.commit().map_err(failed)?;
        merges.look(conn);
        Ok(is_whole)
    }

    fn look(&mut self) -> Result<(), StoreError> {
        self.keep_in_place()
    }

    fn try_write(&mut self) -> Result<(), StoreError> {
        self.keep_in_place()?;
        let written = self.conn.execute(MARK, []);
        written.map(drop).map_err(|cause| StoreError::from_sqlite("write to", &self.file, cause))
    }

    fn take_remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    fn payload(&self, job: JobKey) -> Result<Option<Payload>, StoreError> {
        self.blob(PAYLOAD, job)
    }

    fn result(&self, job: JobKey) -> Result<Option<Payload>, StoreError> {
        self.blob(RESULT, job)
    }

    /// In one transaction: to begin and to end one costs as much as to find the row.
    fn read(
        &self,
        wanted: &[(Stored, JobKey)],
        take: &mut dyn FnMut(Option<Payload>) -> bool,
    ) -> Result<(), StoreError> {
        let mut all = || {
            let reading = self.conn.unchecked_transaction()?;
            let (mut payload, mut result) = (self.conn.prepare_cached(PAYLOAD)?, self.conn.prepare_cached(RESULT)?);
            for (what, job) in wanted {
                let statement = match what {
                    Stored::Payload => &mut payload,
                    Stored::Result => &mut result,
                };
                if !take(blob_of(&self.conn, statement, row_id(job.0))?) {
                    break;
                }
            }
            reading.commit()
        };
        all().map_err(self.unread())
    }

    fn file_bytes(&self) -> u64 {
        let size = |path: &Path| path.metadata().map_or(0, |found| found.len());
        size(&self.file) + size(&beside(&self.file, "-wal"))
    }

    fn close(mut self: Box<Self>) -> Result<(), StoreError> {
        self.leave_in_place()?;
        let SqliteStore { merges, conn, place: _place, file, sync: _, scratch: _, pieces: _, remarks: _, lock: _lock } =
            *self;
        let failed = |cause| StoreError::from_sqlite("close", &file, cause);
        drop(merges);
        // SQLite merges the log when the last connection closes, but keeps quiet when that fails.
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(failed)?;
        conn.close().map_err(|(_, cause)| failed(cause))
    }
}

/// The lock lies beside the file itself, so that two names of one file are one file.
fn real_path(file: &Path) -> io::Result<PathBuf> {
    match fs::symlink_metadata(file) {
        Ok(found) if found.is_symlink() => fs::canonicalize(file),
        Ok(_) | Err(_) => std::path::absolute(file),
    }
}

pub(crate) fn create_folder(file: &Path) -> io::Result<()> {
    let Some(folder) = file.parent() else { return Ok(()) };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes the database under another name and moves it into place whole: a file at `file` bears our mark from its first moment,
/// so that one left by a crash can always be told from a stranger's.
fn create(file: &Path) -> Result<(), StoreError> {
    let draft = beside(file, ".new");
    let failed = |cause| StoreError::from_io("create", file, cause);
    match fs::remove_file(&draft) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(failed(cause)),
        Ok(()) | Err(_) => {}
    }
    let made = private().write(true).create_new(true).open(&draft).map_err(failed)?;
    fill(&draft)?;
    made.sync_all().map_err(failed)?;
    drop(made);
    fs::rename(&draft, file).map_err(failed)?;
    sync_folder(file).map_err(failed)?;
    tracing::info!(file = %file.display(), "created");
    Ok(())
}

fn fill(draft: &Path) -> Result<(), StoreError> {
    let failed = |cause| StoreError::from_sqlite("create", draft, cause);
    let mut conn = open_existing(draft).map_err(failed)?;
    // Nobody needs a half-made draft back.
    set(&conn, "journal_mode", "OFF").map_err(failed)?;
    schema::migrate(&mut conn, 0, draft)?;
    conn.close().map_err(|(_, cause)| failed(cause))
}

/// A new name survives a power cut once its folder is on the disk. Windows cannot and need not do this.
pub(crate) fn sync_folder(file: &Path) -> io::Result<()> {
    if let (true, Some(folder)) = (cfg!(unix), file.parent()) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// A connection, and a note of what lies where it was opened.
fn connect_in_place(file: &Path) -> Result<(Connection, Merges, Place), StoreError> {
    let mut conn = connect(file)?;
    // A first look into the tables makes SQLite put the log's index beside the file.
    schema::format(&conn, file)?;
    let merges = Merges::new(&mut conn, connect_for_merges(file));
    let merges = merges.map_err(|cause| StoreError::from_sqlite("open", file, cause))?;
    let place = Place::note(file).map_err(|cause| StoreError::from_io("open", file, cause))?;
    Ok((conn, merges, place))
}

/// None when that does not go: then commits merge the log.
fn connect_for_merges(file: &Path) -> Option<Connection> {
    let conn = open_existing(file).ok()?;
    set(&conn, "wal_autocheckpoint", 0).ok()?;
    // A first look makes SQLite open the log, before its name may lead elsewhere.
    schema::format(&conn, file).ok()?;
    Some(conn)
}

fn connect(file: &Path) -> Result<Connection, StoreError> {
    let failed = |cause| StoreError::from_sqlite("open", file, cause);
    let mut conn = open_existing(file).map_err(failed)?;
    // SQLite opens a file that it may not write all the same, and fails at the first commit only.
    if conn.is_readonly(rusqlite::MAIN_DB).map_err(failed)? {
        return Err(StoreError::ReadOnly { operation: "open", file: file.to_owned() });
    }
    conn.busy_timeout(BUSY_WAIT).map_err(failed)?;
    // The header in the main file may be older than the log that lies beside it, so the format is looked at again here.
    let format = schema::format(&conn, file)?;
    if let Err(newer) = schema::accept(format, file) {
        // The log of a version we do not know is not ours to merge when this connection closes.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
        return Err(newer);
    }
    use_log(&conn, file)?;
    for (name, value) in [("temp_store", "MEMORY"), ("synchronous", "NORMAL")] {
        set(&conn, name, value).map_err(failed)?;
    }
    set(&conn, "cache_size", -CACHE_KIB).map_err(failed)?;
    set(&conn, "journal_size_limit", LOG_KEPT_BYTES_MAX).map_err(failed)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS_KEPT_MAX);
    schema::migrate(&mut conn, format, file)?;
    Ok(conn)
}

fn open_existing(file: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

/// Sets a pragma, whether or not it answers with its new value.
fn set(conn: &Connection, name: &str, value: impl rusqlite::ToSql) -> rusqlite::Result<()> {
    conn.pragma_update_and_check(None, name, value, |_| Ok(())).optional().map(drop)
}

/// On file systems without shared memory SQLite stays in the old mode and says so, which would be a hundred times slower.
fn use_log(conn: &Connection, file: &Path) -> Result<(), StoreError> {
    let mode: String = conn
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        .map_err(|cause| StoreError::from_sqlite("open", file, cause))?;
    if mode == "wal" {
        return Ok(());
    }
    let source = "its folder cannot hold a write-ahead log; network folders cannot".into();
    Err(StoreError::Io { operation: "open", file: file.to_owned(), source })
}

#[cfg(test)]
#[path = "sqlite_tests.rs"]
mod sqlite_tests;
