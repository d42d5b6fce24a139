//! Long payloads, written in pieces by small transactions before the commit of the job that has them.
//!
//! A payload of 10 MiB is 2,500 pages, for which everybody would wait. In pieces, others have their turns in between, and the
//! job's row has the number of its payload instead of the bytes. What no row refers to is deleted, a piece with each commit:
//! payloads of jobs that are gone, of adds that came to nothing, and of a process that ended in the middle. Only jobs as they
//! are added have payloads in pieces; results, changed data and schedules are written whole.

use crate::PIECE_BYTES;
use onceover_engine::command::Payload;
use onceover_engine::job::Blob;
use onceover_engine::names::JobKey;
use rusqlite::types::{ToSqlOutput, Type, Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Weak};

const PUT_PIECE: &str = "INSERT INTO pieces (number, place, length, bytes) VALUES (?1, ?2, ?3, ?4)";
const READ_PIECES: &str = "SELECT length, bytes FROM pieces WHERE number = ?1 ORDER BY place";
const DELETE_PIECE: &str = "
DELETE FROM pieces WHERE number = ?1 AND place = (SELECT max(place) FROM pieces WHERE number = ?1)";

/// What is known of payloads in pieces. Made anew by every load, so that nothing of a failed commit stays.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    /// The last number given.
    last: i64,
    /// Those that no row refers to yet.
    staged: Vec<Staged>,
    /// Those of jobs.
    of: HashMap<JobKey, i64>,
    /// Numbers of those that nobody needs.
    garbage: Vec<i64>,
}

#[derive(Debug)]
struct Staged {
    /// Known by its address, which no other payload has as long as this one stands here.
    payload: Weak<[u8]>,
    number: i64,
    /// Bytes that are in the file.
    written: usize,
}

impl Staged {
    fn is(&self, payload: &Payload) -> bool {
        is(&self.payload, payload)
    }
}

/// Whether both are the same payload, not only the same bytes.
pub(crate) fn is(known: &Weak<[u8]>, payload: &Payload) -> bool {
    std::ptr::addr_eq(known.as_ptr(), Arc::as_ptr(payload))
}

impl Pieces {
    /// Writes the next piece. Whether that was the last, or all of it was there already.
    pub(crate) fn stage(&mut self, conn: &Connection, payload: &Payload) -> rusqlite::Result<bool> {
        let at = self.staged.iter().position(|staged| staged.is(payload)).unwrap_or_else(|| {
            self.last += 1;
            self.staged.push(Staged { payload: Arc::downgrade(payload), number: self.last, written: 0 });
            self.staged.len() - 1
        });
        let Staged { number, written, .. } = &mut self.staged[at];
        let rest = &payload[*written..];
        if rest.is_empty() {
            return Ok(true);
        }
        let piece = &rest[..rest.len().min(PIECE_BYTES)];
        let values = params![*number, (*written / PIECE_BYTES) as i64, payload.len() as i64, piece];
        conn.prepare_cached(PUT_PIECE)?.execute(values)?;
        *written += piece.len();
        Ok(*written == payload.len())
    }

    /// What the new row of a job has for its payload.
    pub(crate) fn bind<'b>(&mut self, job: JobKey, data: &'b Blob) -> ToSqlOutput<'b> {
        let payload = match data {
            Blob::Here(payload) => payload,
            Blob::Absent | Blob::OnDisk => return ToSqlOutput::Owned(Value::Null),
        };
        let is_whole = |staged: &Staged| staged.is(payload) && staged.written == payload.len();
        match self.staged.iter().position(is_whole) {
            Some(at) => {
                let number = self.staged.swap_remove(at).number;
                self.of.insert(job, number);
                ToSqlOutput::Owned(Value::Integer(number))
            }
            None => ToSqlOutput::Borrowed(ValueRef::Blob(payload)),
        }
    }

    /// The job's row is gone, or has other bytes.
    pub(crate) fn leave(&mut self, job: JobKey) {
        if !self.of.is_empty() {
            self.garbage.extend(self.of.remove(&job));
        }
    }

    /// Deletes a piece of what nobody needs, if there is any.
    pub(crate) fn sweep(&mut self, conn: &Connection) -> rusqlite::Result<()> {
        if !self.staged.is_empty() {
            let dropped = self.staged.extract_if(.., |staged| staged.payload.strong_count() == 0);
            self.garbage.extend(dropped.map(|staged| staged.number));
        }
        if let Some(number) = self.garbage.last()
            && conn.prepare_cached(DELETE_PIECE)?.execute([number])? == 0
        {
            self.garbage.pop();
        }
        Ok(())
    }

    /// Before the jobs are read. Numbers go on from anywhere, so that none is given twice: a row that was set aside, or a damaged
    /// one, may name a number that the table does not know any more.
    pub(crate) fn begin_load(&mut self) {
        let anywhere = RandomState::new().build_hasher().finish() >> 2;
        *self = Pieces { last: anywhere.cast_signed(), ..Pieces::default() };
    }

    /// A job that was read refers to a payload in pieces.
    pub(crate) fn refers(&mut self, job: JobKey, number: i64) {
        self.of.insert(job, number);
    }

    /// After the jobs were read: the others are needed by nobody.
    pub(crate) fn end_load(&mut self, conn: &Connection) -> rusqlite::Result<()> {
        let mut numbers = conn.prepare("SELECT DISTINCT number FROM pieces")?;
        let needed: HashSet<i64> = self.of.values().copied().collect();
        for number in numbers.query_map([], |row| row.get(0))? {
            let number = number?;
            self.garbage.extend((!needed.contains(&number)).then_some(number));
        }
        Ok(())
    }
}

/// The payload with that number.
pub(crate) fn read(conn: &Connection, number: i64) -> rusqlite::Result<Payload> {
    let mut statement = conn.prepare_cached(READ_PIECES)?;
    let mut rows = statement.query([number])?;
    let (mut bytes, mut length) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        length = row.get::<_, i64>(0)?;
        bytes.extend_from_slice(row.get_ref(1)?.as_blob()?);
    }
    if bytes.is_empty() || i64::try_from(bytes.len()) != Ok(length) {
        let why = format!("of payload {number} in table pieces there are {} bytes of {length}", bytes.len());
        return Err(rusqlite::Error::FromSqlConversionFailure(1, Type::Blob, why.into()));
    }
    Ok(bytes.into())
}

/// The payload that a cell has or refers to.
pub(crate) fn payload_of(conn: &Connection, cell: ValueRef<'_>) -> rusqlite::Result<Payload> {
    match cell {
        ValueRef::Integer(number) => read(conn, number),
        other => Ok(Payload::from(other.as_blob()?)),
    }
}

/// The payload or result that a statement finds for a job.
pub(crate) fn blob_of(
    conn: &Connection,
    statement: &mut rusqlite::CachedStatement<'_>,
    generation: i64,
) -> rusqlite::Result<Option<Payload>> {
    statement.query_row([generation], |row| payload_of(conn, row.get_ref(0)?)).optional()
}

#[cfg(test)]
#[path = "pieces_tests.rs"]
mod pieces_tests;
