//! Rows that cannot be read are moved to the table `set_aside`, each as the statement that would put it back, so that one
//! damaged row does not keep all the others from their work.
//!
//! Nothing is thrown away: a job goes with its payload and result, and with the keys that it alone kept alive. A key with a
//! window of its own stays until that ends, unless only the job's row told of it and its request cannot be read. More than a few damaged rows are a damaged file, which is refused as before.

use crate::error::StoreError;
use rusqlite::types::Value;
use rusqlite::{Connection, params};
use std::path::Path;

/// With more the file is refused.
const ROWS_MAX: usize = 100;

/// A key with a window, of which a job's row tells, gets a row of its own.
const KEEP_WINDOW: &str = "
INSERT INTO dedup_keys (entry, queue, key, is_payload_hash, owner_generation, owner_id, ttl_ms, expires_at_ms,
    registered_at_ms)
SELECT generation + 1, json_extract(spec, '$.queue'), dedup_key, coalesce(json_extract(spec, '$.dedup.from_hash'), 0),
    generation, id, json_extract(spec, '$.dedup.ttl'), created_at_ms + json_extract(spec, '$.dedup.ttl'), created_at_ms
FROM jobs
WHERE generation = ?1 AND took_key = 1 AND generation + 1 NOT IN (SELECT entry FROM dedup_keys)
    AND CASE WHEN json_valid(spec) THEN json_extract(spec, '$.dedup.ttl') NOT NULL
        AND json_extract(spec, '$.dedup.keep_last') IS NOT 1 END";

/// Put back, the job's row is not to tell of it once more.
const TOLD_ELSEWHERE: &str = "
UPDATE jobs SET took_key = 0 WHERE generation = ?1 AND generation + 1 IN (SELECT entry FROM dedup_keys)";

/// The pieces of a job's payload.
const ITS_PIECES: &str = "number = (SELECT payload FROM jobs WHERE generation = ?1 AND typeof(payload) = 'integer')";

/// A row that cannot be read.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) table: &'static str,
    /// Its primary key.
    pub(crate) row: Value,
    /// The same, for people.
    pub(crate) name: String,
    pub(crate) why: String,
}

impl Fault {
    fn text(&self) -> String {
        format!("table {}, row {}: {}", self.table, self.name, self.why)
    }
}

/// Moves the rows, all or none, and returns what people must be told.
pub(crate) fn set_aside(conn: &mut Connection, file: &Path, faults: &[Fault]) -> Result<String, StoreError> {
    let Some(first) = faults.first() else { return Ok(String::new()) };
    let more = match faults.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    if faults.len() > ROWS_MAX {
        let what = format!("{}{more}", first.text());
        return Err(StoreError::Corrupt { operation: "read", file: file.to_owned(), what });
    }
    move_all(conn, faults).map_err(|cause| StoreError::from_sqlite("set unreadable rows aside in", file, cause))?;
    for fault in faults {
        tracing::error!(file = %file.display(), "set aside, because it cannot be read: {}", fault.text());
    }
    let rows = if faults.len() == 1 { "A row" } else { "Rows" };
    Ok(format!(
        "{rows} of the data file could not be read and went into its table set_aside: {}{more}. Everything else goes on. \
         File: {}",
        first.text(),
        file.display()
    ))
}

fn move_all(conn: &mut Connection, faults: &[Fault]) -> rusqlite::Result<()> {
    let turn = conn.transaction()?;
    for Fault { table, row, name: _, why } in faults {
        match *table {
            "jobs" => {
                turn.execute(KEEP_WINDOW, [row])?;
                turn.execute(TOLD_ELSEWHERE, [row])?;
                move_rows(&turn, "pieces", ITS_PIECES, row, "its job was set aside")?;
                move_rows(&turn, "jobs", "generation = ?1", row, why)?;
                move_rows(&turn, "job_states", "generation = ?1", row, why)?;
                move_rows(&turn, "results", "generation = ?1", row, "its job was set aside")?;
                let kept_alive = "owner_generation = ?1 AND expires_at_ms IS NULL";
                move_rows(&turn, "dedup_keys", kept_alive, row, "its owner was set aside")?;
            }
            "dedup_keys" => move_rows(&turn, "dedup_keys", "entry = ?1", row, why)?,
            "schedules" => move_rows(&turn, "schedules", "number = ?1", row, why)?,
            "dependency_ends" => move_rows(&turn, "dependency_ends", "number = ?1", row, why)?,
            "taken_lists" => move_rows(&turn, "taken_lists", "first_generation = ?1", row, why)?,
            "queues" => move_rows(&turn, "queues", "name = ?1", row, why)?,
            "group_settings" => move_rows(&turn, "group_settings", "rowid = ?1", row, why)?,
            "webhooks" => move_rows(&turn, "webhooks", "id = ?1", row, why)?,
            other => move_rows(&turn, other, "generation = ?1", row, why)?,
        }
    }
    turn.commit()
}

fn move_rows(conn: &Connection, table: &str, which: &str, row: &Value, why: &str) -> rusqlite::Result<()> {
    let mut columns = conn.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let columns: Vec<String> = columns.query_map([table], |row| row.get(0))?.collect::<Result<_, _>>()?;
    // `quote` ends a text at its first NUL.
    let cell = |name: &String| {
        format!(
            "CASE WHEN typeof({name}) = 'text' AND instr({name}, char(0)) > 0 \
             THEN 'CAST(X''' || hex({name}) || ''' AS TEXT)' ELSE quote({name}) END"
        )
    };
    let cells: Vec<String> = columns.iter().map(cell).collect();
    let copy = format!(
        "INSERT INTO set_aside (at_ms, source, reason, statement)
         SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), '{table}', ?2,
             'INSERT INTO {table} ({}) VALUES (' || {} || ');'
         FROM {table} WHERE {which}",
        columns.join(", "),
        cells.join(" || ', ' || ")
    );
    conn.execute(&copy, params![row, why])?;
    conn.execute(&format!("DELETE FROM {table} WHERE {which}"), [row]).map(drop)
}
