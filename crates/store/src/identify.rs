//! What lies at a path, found out without changing a byte of it: only its first bytes are read, and of a foreign SQLite file
//! the list of tables, in SQLite's immutable mode, which neither locks nor writes nor leaves files behind.

use crate::error::StoreError;
use crate::lock_file::beside;
use crate::schema::{self, APPLICATION_ID};
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const HEADER_BYTES: usize = 100;
const FORMAT_AT: usize = 60;
const APPLICATION_AT: usize = 68;

/// Tables that a file of bunqueue has in all its versions. `jobs` and `migrations` alone are in many other programs' files.
const BUNQUEUE_TABLES: [&str; 3] = ["jobs", "migrations", "job_results"];

/// How much of a foreign write-ahead log is searched: the tables are made first, so they stand near its start.
const LOG_BYTES_READ_MAX: u64 = 4 * 1024 * 1024;

/// What a path holds, when it may be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing, or an empty file.
    Nothing,
    /// A file of ours in a format we know.
    Ours,
}

/// Says what lies at `file`, or why it must not be used.
pub(crate) fn identify(file: &Path) -> Result<Found, StoreError> {
    // Looked at first: a broker that starts here right now makes its file whole before there is a log beside it.
    let leftovers = refuse_leftovers(file);
    let header = match read_header(file) {
        Ok(header) => header,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(cause) => return Err(StoreError::from_io("open", file, cause)),
    };
    if header.is_empty() {
        return leftovers.map(|()| Found::Nothing);
    }
    let not_ours = |what: &str| Err(StoreError::NotOurs { file: file.to_owned(), what: what.to_owned() });
    if header.len() < HEADER_BYTES || !header.starts_with(MAGIC) {
        return not_ours("it is not an SQLite file");
    }
    if number_at(&header, APPLICATION_AT) != APPLICATION_ID {
        if is_bunqueue(file) {
            return Err(StoreError::ForeignBunqueue { file: file.to_owned() });
        }
        return not_ours("it is an SQLite file of another program");
    }
    schema::accept(number_at(&header, FORMAT_AT), file)?;
    Ok(Found::Ours)
}

fn read_header(file: &Path) -> io::Result<Vec<u8>> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    File::open(file)?.take(HEADER_BYTES as u64).read_to_end(&mut header)?;
    Ok(header)
}

fn number_at(header: &[u8], at: usize) -> u32 {
    let bytes = header[at..at + 4].try_into().expect("a range of four bytes");
    u32::from_be_bytes(bytes)
}

/// SQLite would play an older file's log into a new database of the same name.
fn refuse_leftovers(file: &Path) -> Result<(), StoreError> {
    for suffix in ["-wal", "-journal"] {
        let leftover = beside(file, suffix);
        if leftover.metadata().is_ok_and(|found| found.len() > 0) {
            let what =
                format!("it is missing or empty, but {} of an earlier database lies beside it", leftover.display());
            return Err(StoreError::NotOurs { file: file.to_owned(), what });
        }
    }
    Ok(())
}

/// Whether bunqueue's tables are in the file or, when bunqueue was killed or still runs, in its log.
fn is_bunqueue(file: &Path) -> bool {
    table_names(file).is_ok_and(|names| BUNQUEUE_TABLES.iter().all(|table| names.iter().any(|name| name == table)))
        || log_makes_tables(&beside(file, "-wal")).unwrap_or(false)
}

fn table_names(file: &Path) -> Result<Vec<String>, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(immutable_uri(file), flags)?;
    let mut names = conn.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")?;
    names.query_map([], |row| row.get(0))?.collect()
}

fn log_makes_tables(log: &Path) -> io::Result<bool> {
    let mut bytes = Vec::new();
    File::open(log)?.take(LOG_BYTES_READ_MAX).read_to_end(&mut bytes)?;
    Ok(BUNQUEUE_TABLES.iter().all(|table| {
        let statement = format!("CREATE TABLE {table}");
        let ends = |window: &[u8]| matches!(window.last(), Some(b' ' | b'('));
        bytes.windows(statement.len() + 1).any(|window| window.starts_with(statement.as_bytes()) && ends(window))
    }))
}

/// A file name as SQLite's URI syntax wants it; every byte outside a small safe set is written as `%XX`.
fn immutable_uri(file: &Path) -> String {
    let mut uri = String::from("file://");
    let bytes = file.as_os_str().as_encoded_bytes();
    if !bytes.starts_with(b"/") {
        uri.push('/');
    }
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            b'\\' if cfg!(windows) => uri.push('/'),
            b':' if cfg!(windows) => uri.push(':'),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

#[cfg(test)]
#[path = "identify_tests.rs"]
mod identify_tests;
