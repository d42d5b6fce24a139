//! One changed row to one or a few statements, all of them prepared once and kept.
//!
//! Structures are taken apart field by field, so that a field
//! added to the engine does not compile until it is stored or left out on purpose.

mod job_rows;

use crate::error::StoreError;
use crate::pieces::Pieces;
use job_rows::{DELETE_TAKEN, DROP_TAKEN_KEY, Dirt, Fresh, SpecTexts};
use onceover_engine::change::{Change, GroupSettings, QueueSettings};
use onceover_engine::dead::DlqConfig;
use onceover_engine::dedup::KeyEntry;
use onceover_engine::flow_wait::{End, Ending};
use onceover_engine::limit::{Limits, Rate};
use onceover_engine::names::{JobId, JobKey};
use onceover_engine::reply::StallConfig;
use onceover_engine::schedule::Schedule;
use onceover_engine::webhook::Webhook;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, params};
use serde::Serialize;
use std::path::Path;

pub(crate) use job_rows::{state_text, told_by_columns};

/// The row of `meta` with the last `Change::Reserve`.
pub(crate) const RESERVED: &str = "numbers_reserved_below";

const PUT_KEY: &str = "
INSERT OR REPLACE INTO dedup_keys (entry, queue, key, is_payload_hash, owner_generation, owner_id, ttl_ms, expires_at_ms,
    registered_at_ms, tally)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

/// Of a key that was asked for by name, and that nothing has happened to yet.
const PUT_PLAIN_KEY: &str = "
INSERT OR REPLACE INTO dedup_keys (entry, queue, key, is_payload_hash, owner_generation, owner_id, ttl_ms, expires_at_ms,
    registered_at_ms)
VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7, ?8)";

const PUT_QUEUE: &str = "
INSERT OR REPLACE INTO queues (name, paused, stall_detection, stall_interval_ms, stalls_max, stall_grace_ms, rate_max,
    rate_duration_ms, temporary_rate_max, temporary_rate_duration_ms, temporary_rate_ends_at_ms, concurrency_max, place,
    dead_letters)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";

const PUT_GROUP: &str = "
INSERT OR REPLACE INTO group_settings (queue, group_id, paused, held_until_ms, rate_max, rate_duration_ms, concurrency_max)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

const PUT_RESULT: &str = "INSERT OR REPLACE INTO results (generation, result) VALUES (?1, ?2)";
const PUT_META: &str = "INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)";
const PUT_COMPLETED_ID: &str = "INSERT OR REPLACE INTO completed_ids (generation, id) VALUES (?1, ?2)";

const PUT_SCHEDULE: &str = "
INSERT OR REPLACE INTO schedules (number, next_run_at_ms, executions, last_run, name, rule, payload)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

const UPDATE_SCHEDULE: &str = "
UPDATE schedules SET next_run_at_ms = ?2, executions = ?3, last_run = ?4 WHERE number = ?1";
const PUT_WEBHOOK: &str = "
INSERT OR REPLACE INTO webhooks (id, url, events, queue, secret, created_at_ms, last_triggered_at_ms, successes, failures,
    enabled)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

const PUT_END: &str = "
INSERT OR REPLACE INTO dependency_ends (number, generation, dependency, queue, ending, result_generation, error)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

const DELETE_END: &str = "DELETE FROM dependency_ends WHERE number = ?1";
const DELETE_RESULT: &str = "DELETE FROM results WHERE generation = ?1";
const DELETE_KEY: &str = "DELETE FROM dedup_keys WHERE entry = ?1";
const DELETE_QUEUE: &str = "DELETE FROM queues WHERE name = ?1";
const DELETE_GROUP: &str = "DELETE FROM group_settings WHERE queue = ?1 AND group_id = ?2";
const DELETE_SCHEDULE: &str = "DELETE FROM schedules WHERE number = ?1";
const DELETE_WEBHOOK: &str = "DELETE FROM webhooks WHERE id = ?1";
const DELETE_COMPLETED_ID: &str = "DELETE FROM completed_ids WHERE generation = ?1";

/// Buffers that are filled anew for each row and keep their memory.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    first: Vec<u8>,
    second: Vec<u8>,
    spec: SpecTexts,
}

/// Writes rows into the transaction that is open on its connection.
pub(crate) struct Writer<'s> {
    statements: Statements<'s>,
    scratch: &'s mut Scratch,
    pieces: &'s mut Pieces,
}

/// The statements of a turn: each is looked up once, not for every row.
struct Statements<'s> {
    conn: &'s Connection,
    file: &'s Path,
    ready: Vec<(&'static str, CachedStatement<'s>)>,
}

impl<'s> Writer<'s> {
    /// For a connection with a transaction begun; its file is for the texts of errors.
    pub(crate) fn new(
        conn: &'s Connection,
        file: &'s Path,
        scratch: &'s mut Scratch,
        pieces: &'s mut Pieces,
    ) -> Writer<'s> {
        Writer { statements: Statements { conn, file, ready: Vec::new() }, scratch, pieces }
    }

    /// Writes or deletes one row.
    pub(crate) fn write(&mut self, change: &Change<'_>) -> Result<(), StoreError> {
        match *change {
            Change::PutJob { job, queue: _, fresh, data, result, took_key, told_by_list } => {
                let fresh = fresh.then_some(Fresh { took_key });
                self.put_job(job, fresh, Dirt { state: !told_by_list, data, result })
            }
            Change::PutTaken { at, jobs } => self.put_taken(at, jobs),
            Change::DeleteTaken(list) => self.run(DELETE_TAKEN, params![row_id(list.0)]).map(drop),
            Change::DropTakenKey(job) => self.run(DROP_TAKEN_KEY, params![row_id(job.0)]).map(drop),
            Change::DeleteJob { key, keep_result } => self.delete_job(key, keep_result),
            Change::PutResult { key, result } => self.run(PUT_RESULT, params![row_id(key.0), &**result]).map(drop),
            Change::DeleteResult(key) => self.run(DELETE_RESULT, params![row_id(key.0)]).map(drop),
            Change::PutEnd { job, dependency, end } => self.put_end(job, dependency, end),
            Change::DeleteEnd(number) => self.run(DELETE_END, params![row_id(number)]).map(drop),
            Change::PutKey { told_by_job: true, .. } => Ok(()),
            Change::PutKey { entry, queue, told_by_job: false } => self.put_key(entry, queue),
            Change::DeleteKey(entry) => self.run(DELETE_KEY, params![row_id(entry.0)]).map(drop),
            Change::PutQueue { name, settings } => self.put_queue(name, settings),
            Change::DeleteQueue(name) => self.run(DELETE_QUEUE, params![name]).map(drop),
            Change::PutGroup { queue, group, settings } => self.put_group(queue, group, settings),
            Change::DeleteGroup { queue, group } => self.run(DELETE_GROUP, params![queue, group]).map(drop),
            Change::PutWebhook(webhook) => self.put_webhook(webhook),
            Change::DeleteWebhook(id) => self.run(DELETE_WEBHOOK, params![id]).map(drop),
            Change::Reserve(below) => self.run(PUT_META, params![RESERVED, row_id(below)]).map(drop),
            Change::PutCompletedId { n, id } => self.run(PUT_COMPLETED_ID, params![row_id(n.0), id]).map(drop),
            Change::PutSchedule { schedule, whole } => self.put_schedule(schedule, whole),
            Change::DeleteSchedule(id) => self.run(DELETE_SCHEDULE, params![row_id(id.0)]).map(drop),
            Change::DeleteCompletedId(n) => self.run(DELETE_COMPLETED_ID, params![row_id(n.0)]).map(drop),
        }
    }

    fn put_webhook(&mut self, webhook: &Webhook) -> Result<(), StoreError> {
        let Webhook { id, url, events, queue, secret, created_at, last_triggered, successes, failures, enabled } =
            webhook;
        let events = events.iter().map(|event| event.as_str()).collect::<Vec<_>>().join(",");
        let values = params![
            &**id,
            &**url,
            events,
            queue.as_deref(),
            secret.as_ref().map(|secret| &*secret.0),
            created_at.0,
            last_triggered.map(|at| at.0),
            row_id(*successes),
            row_id(*failures),
            enabled,
        ];
        self.run(PUT_WEBHOOK, values).map(drop)
    }

    fn put_key(&mut self, entry: &KeyEntry, queue: &str) -> Result<(), StoreError> {
        let KeyEntry {
            entry: id,
            queue: _, // A number of this process; the name is written.
            key,
            from_hash,
            owner,
            owner_id,
            window,
            registered_at,
            tally: _, // Written unless the columns say what it says.
        } = entry;
        let tally = entry.tally_to_store();
        let tally = tally.map(|tally| json(&mut self.scratch.first, &tally));
        let owner_text = IdText::of(owner_id);
        let (id, key, owner) = (row_id(id.0), &**key, row_id(owner.0));
        let (ttl, end, since) = (window.ttl().map(|ttl| ttl.0), window.end().map(|at| at.0), registered_at.0);
        if !from_hash && tally.is_none() {
            let values = params![id, queue, key, owner, owner_text, ttl, end, since];
            return self.statements.run(PUT_PLAIN_KEY, values).map(drop);
        }
        let values = params![id, queue, key, from_hash, owner, owner_text, ttl, end, since, tally];
        self.statements.run(PUT_KEY, values).map(drop)
    }

    /// A firing writes what it changes; the payload may be large.
    fn put_schedule(&mut self, schedule: &Schedule, whole: bool) -> Result<(), StoreError> {
        let Schedule { id, rule, data, next_run, executions, last } = schedule;
        let last = last.as_ref().map(|last| json(&mut self.scratch.second, last));
        if whole {
            let rule_text = json(&mut self.scratch.first, &**rule);
            let data = data.as_deref();
            let values = params![row_id(id.0), next_run.0, row_id(*executions), last, &*rule.name, rule_text, data];
            return self.statements.run(PUT_SCHEDULE, values).map(drop);
        }
        let values = params![row_id(id.0), next_run.0, row_id(*executions), last];
        if self.statements.run(UPDATE_SCHEDULE, values)? == 1 {
            return Ok(());
        }
        let what = format!("table schedules, row {}: the row has disappeared from the file", id.0);
        Err(StoreError::Corrupt { operation: WRITE, file: self.statements.file.to_owned(), what })
    }

    fn put_end(&mut self, job: JobKey, dependency: &str, end: &End) -> Result<(), StoreError> {
        let End { number, queue, ending } = end;
        let (result, error) = match ending {
            Ending::Met | Ending::Dropped => (None, None),
            Ending::Value(child) => (Some(row_id(child.0)), None),
            Ending::Continued(error) | Ending::Ignored(error) => (None, Some(error)),
        };
        let (number, job) = (row_id(*number), row_id(job.0));
        self.run(PUT_END, params![number, job, dependency, &**queue, ending_text(ending), result, error]).map(drop)
    }

    fn put_queue(&mut self, name: &str, settings: &QueueSettings) -> Result<(), StoreError> {
        let QueueSettings { paused, stall, limits, dlq, place } = settings;
        let StallConfig { enabled, stall_interval, max_stalls, grace_period } = stall;
        let Limits { rate, temporary, concurrency } = limits;
        let (rate_max, rate_duration) = rate_cells(*rate);
        let (temporary_max, temporary_duration) = rate_cells(temporary.map(|(rate, _)| rate));
        let dlq = (*dlq != DlqConfig::default()).then(|| json(&mut self.scratch.first, dlq));
        let values = params![
            name,
            paused,
            enabled,
            stall_interval.0,
            max_stalls,
            grace_period.0,
            rate_max,
            rate_duration,
            temporary_max,
            temporary_duration,
            temporary.map(|(_, end)| end.0),
            concurrency.map(row_id),
            row_id(*place),
            dlq,
        ];
        self.statements.run(PUT_QUEUE, values).map(drop)
    }

    fn put_group(&mut self, queue: &str, group: &str, settings: GroupSettings) -> Result<(), StoreError> {
        let GroupSettings { paused, held_until, rate, concurrency } = settings;
        let (max, duration) = rate_cells(rate);
        let held_until = held_until.map(|end| end.0);
        self.run(PUT_GROUP, params![queue, group, paused, held_until, max, duration, concurrency.map(row_id)]).map(drop)
    }

    fn run(&mut self, statement: &'static str, values: &[&dyn ToSql]) -> Result<usize, StoreError> {
        self.statements.run(statement, values)
    }
}

/// A rate's two columns.
fn rate_cells(rate: Option<Rate>) -> (Option<i64>, Option<i64>) {
    (rate.map(|rate| row_id(rate.max)), rate.map(|rate| rate.duration.0))
}

const WRITE: &str = "write to";

impl Statements<'_> {
    /// Runs one with these values. How many rows it changed.
    fn run(&mut self, statement: &'static str, values: &[&dyn ToSql]) -> Result<usize, StoreError> {
        let failed = |cause| StoreError::from_sqlite(WRITE, self.file, cause);
        // The same text at another address would only be looked up once more.
        let place = match self.ready.iter().position(|(text, _)| std::ptr::eq(*text, statement)) {
            Some(place) => place,
            None => {
                self.ready.push((statement, self.conn.prepare_cached(statement).map_err(failed)?));
                self.ready.len() - 1
            }
        };
        self.ready[place].1.execute(values).map_err(failed)
    }
}

/// An ending as the file spells it.
fn ending_text(ending: &Ending) -> &'static str {
    match ending {
        Ending::Met => MET,
        Ending::Value(_) => VALUE,
        Ending::Continued(_) => CONTINUED,
        Ending::Ignored(_) => IGNORED,
        Ending::Dropped => DROPPED,
    }
}

pub(crate) const MET: &str = "met";
pub(crate) const VALUE: &str = "value";
pub(crate) const CONTINUED: &str = "continued";
pub(crate) const IGNORED: &str = "ignored";
pub(crate) const DROPPED: &str = "dropped";

/// A generation, an entry or the number after the last one as a row id.
pub(crate) fn row_id(number: u64) -> i64 {
    i64::try_from(number).expect("numbers are given out one by one from 1, so they stay below 2^63")
}

/// JSON text in a buffer, bound without a copy.
struct Json<'b>(&'b [u8]);

impl ToSql for Json<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

/// An id as text, bound without a copy of ours.
enum IdText<'i> {
    Uuid([u8; 36]),
    Text(&'i str),
}

impl IdText<'_> {
    fn of(id: &JobId) -> IdText<'_> {
        match id {
            JobId::Uuid(uuid) => IdText::Uuid(uuid.text()),
            JobId::Text(text) => IdText::Text(text),
        }
    }
}

impl ToSql for IdText<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let text = match self {
            IdText::Uuid(text) => ValueRef::Text(text),
            IdText::Text(text) => ValueRef::Text(text.as_bytes()),
        };
        Ok(ToSqlOutput::Borrowed(text))
    }
}

fn json<'b, T: Serialize>(buffer: &'b mut Vec<u8>, value: &T) -> Json<'b> {
    buffer.clear();
    serde_json::to_writer(&mut *buffer, value).expect("rows have text keys only and memory takes every byte");
    Json(buffer)
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod writer_tests;
