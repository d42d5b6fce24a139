//! The tables, as numbered steps. A step is never edited once it was released: a change is a new step at the end.
//!
//! Every table has an integer primary key that the engine assigns, apart from small ones of settings keyed by name, and none has
//! a secondary index. Columns are named for a person who opens the file with an SQLite tool: moments are `…_at_ms`,
//! milliseconds since 1970 in UTC. What few jobs have stands in columns of JSON text, NULL when there is nothing.
//! The syntax is kept to what SQLite knows since 2019 (version 3.28), so that old tools can read the file, too.

use crate::error::StoreError;
use rusqlite::Connection;
use std::path::Path;

/// "Once" in the file's header: how our files are told from all others.
pub(crate) const APPLICATION_ID: u32 = 0x4f6e_6365;

/// The newest format this program knows.
pub(crate) const NEWEST: u32 = STEPS.len() as u32;

/// Step n makes format n of format n - 1.
const STEPS: &[&str] = &[
    FORMAT_1, FORMAT_2, FORMAT_3, FORMAT_4, FORMAT_5, FORMAT_6, FORMAT_7, FORMAT_8, FORMAT_9, FORMAT_10, FORMAT_11,
    FORMAT_12, FORMAT_13,
];

const FORMAT_1: &str = "
CREATE TABLE jobs (
    generation INTEGER PRIMARY KEY,         -- ascending, never reused
    id TEXT NOT NULL,
    queue TEXT NOT NULL,
    state TEXT NOT NULL,                    -- queued, blocked, active, completed, failed
    priority INTEGER NOT NULL,
    lifo INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    run_at_ms INTEGER NOT NULL,
    started_at_ms INTEGER,
    completed_at_ms INTEGER,
    last_heartbeat_at_ms INTEGER NOT NULL,
    failed_attempts INTEGER NOT NULL,
    stalls INTEGER NOT NULL,
    progress REAL NOT NULL,
    payload_fingerprint INTEGER NOT NULL,
    spec TEXT NOT NULL,                     -- what was asked for, as JSON; written once
    extra TEXT                              -- what happened since, as JSON
);
CREATE TABLE payloads (
    generation INTEGER PRIMARY KEY,
    payload BLOB NOT NULL                   -- MessagePack
);
CREATE TABLE results (
    generation INTEGER PRIMARY KEY,
    result BLOB NOT NULL                    -- MessagePack
);
CREATE TABLE dedup_keys (
    entry INTEGER PRIMARY KEY,
    queue TEXT NOT NULL,
    key TEXT NOT NULL,
    is_payload_hash INTEGER NOT NULL,
    owner_generation INTEGER NOT NULL,
    owner_id TEXT NOT NULL,
    ttl_ms INTEGER,
    expires_at_ms INTEGER,                  -- NULL: as long as its owner lives
    registered_at_ms INTEGER NOT NULL,
    tally TEXT                              -- what happened to it since, as JSON
);
CREATE TABLE queues (
    name TEXT PRIMARY KEY,
    paused INTEGER NOT NULL,
    stall_detection INTEGER NOT NULL,
    stall_interval_ms INTEGER NOT NULL,
    stalls_max INTEGER NOT NULL,
    stall_grace_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE completed_ids (
    generation INTEGER PRIMARY KEY,         -- of a job that completed and was removed at once
    id TEXT NOT NULL
);
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
CREATE VIEW job_overview AS                 -- for people: jobs in the words of the window
SELECT generation, id, queue, json_extract(spec, '$.name') AS name,
    CASE
        WHEN state = 'queued' AND run_at_ms > (julianday('now') - 2440587.5) * 86400000 THEN 'delayed'
        WHEN state = 'queued' AND priority > 0 THEN 'prioritized'
        WHEN state = 'queued' THEN 'waiting'
        WHEN state = 'blocked' THEN 'waiting-children'
        ELSE state
    END AS state,
    json_extract(spec, '$.dedup.key') AS asked_key,
    (SELECT count(*) FROM payloads WHERE payloads.generation = jobs.generation) AS has_payload,
    priority, failed_attempts, json_extract(spec, '$.max_attempts') AS attempts_max,
    datetime(created_at_ms / 1000, 'unixepoch') AS created_at, datetime(run_at_ms / 1000, 'unixepoch') AS run_at,
    datetime(started_at_ms / 1000, 'unixepoch') AS started_at, datetime(completed_at_ms / 1000, 'unixepoch') AS completed_at,
    json_extract(extra, '$.rare.failure.error') AS failed_with
FROM jobs;
";

const FORMAT_2: &str = "
CREATE TABLE set_aside (                    -- rows that could not be read, for people
    number INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    source TEXT NOT NULL,                   -- their table
    reason TEXT NOT NULL,
    statement TEXT NOT NULL                 -- puts the row back
);
";

/// What differs from one job to the next leaves the request, so that all jobs of a kind have the same one.
const FORMAT_3: &str = "
ALTER TABLE jobs ADD COLUMN has_custom_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN dedup_key TEXT; -- the key it asked for, whether or not it owns it
UPDATE jobs SET has_custom_id = json_extract(spec, '$.custom_id') IS NOT NULL, dedup_key = json_extract(spec, '$.dedup.key'),
    spec = json_remove(spec, '$.custom_id', '$.dedup.key');
UPDATE jobs SET extra = json_remove(
        json_set(extra, '$.rare.stored_next.custom_id', json_extract(extra, '$.rare.stored_next.spec.custom_id'),
            '$.rare.stored_next.dedup_key', json_extract(extra, '$.rare.stored_next.spec.dedup.key')),
        '$.rare.stored_next.spec.custom_id', '$.rare.stored_next.spec.dedup.key')
WHERE json_extract(extra, '$.rare.stored_next') IS NOT NULL;
DROP VIEW job_overview;
CREATE VIEW job_overview AS                 -- for people: jobs in the words of the window
SELECT generation, id, queue, json_extract(spec, '$.name') AS name,
    CASE
        WHEN state = 'queued' AND run_at_ms > (julianday('now') - 2440587.5) * 86400000 THEN 'delayed'
        WHEN state = 'queued' AND priority > 0 THEN 'prioritized'
        WHEN state = 'queued' THEN 'waiting'
        WHEN state = 'blocked' THEN 'waiting-children'
        ELSE state
    END AS state,
    dedup_key AS asked_key,
    (SELECT count(*) FROM payloads WHERE payloads.generation = jobs.generation) AS has_payload,
    priority, failed_attempts, json_extract(spec, '$.max_attempts') AS attempts_max,
    datetime(created_at_ms / 1000, 'unixepoch') AS created_at, datetime(run_at_ms / 1000, 'unixepoch') AS run_at,
    datetime(started_at_ms / 1000, 'unixepoch') AS started_at, datetime(completed_at_ms / 1000, 'unixepoch') AS completed_at,
    json_extract(extra, '$.rare.failure.error') AS failed_with
FROM jobs;
";

const FORMAT_4: &str = "
ALTER TABLE queues ADD COLUMN rate_max INTEGER;
ALTER TABLE queues ADD COLUMN rate_duration_ms INTEGER;
ALTER TABLE queues ADD COLUMN temporary_rate_max INTEGER; -- counts instead until its end
ALTER TABLE queues ADD COLUMN temporary_rate_duration_ms INTEGER;
ALTER TABLE queues ADD COLUMN temporary_rate_ends_at_ms INTEGER;
ALTER TABLE queues ADD COLUMN concurrency_max INTEGER;
CREATE TABLE group_settings (
    queue TEXT NOT NULL,
    group_id TEXT NOT NULL,
    paused INTEGER NOT NULL,
    held_until_ms INTEGER,
    rate_max INTEGER,
    rate_duration_ms INTEGER,
    concurrency_max INTEGER,
    PRIMARY KEY (queue, group_id)
);
";

const FORMAT_5: &str = "
CREATE TABLE schedules (
    number INTEGER PRIMARY KEY,             -- ascending, never reused
    name TEXT NOT NULL,
    next_run_at_ms INTEGER NOT NULL,
    executions INTEGER NOT NULL,
    last_run TEXT,                          -- what came of it, as JSON
    rule TEXT NOT NULL,                     -- what was asked for, as JSON
    payload BLOB                            -- MessagePack; NULL: the jobs have none
);
";

const FORMAT_6: &str = "
ALTER TABLE queues ADD COLUMN place INTEGER NOT NULL DEFAULT 0; -- in the order of registration
ALTER TABLE queues ADD COLUMN dead_letters TEXT;                -- what is set about them, as JSON; NULL: nothing
";

const FORMAT_7: &str = "
CREATE TABLE webhooks (
    id TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    events TEXT NOT NULL,                   -- their names, separated by commas
    queue TEXT,                             -- NULL: all
    secret TEXT,
    created_at_ms INTEGER NOT NULL,
    last_triggered_at_ms INTEGER,
    successes INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    enabled INTEGER NOT NULL
) WITHOUT ROWID;
";

/// A result may outlive its job: then a row here names the job's generation.
const FORMAT_8: &str = "
CREATE TABLE dependency_ends (              -- of jobs that have not completed: how what they depend on ended
    number INTEGER PRIMARY KEY,
    generation INTEGER NOT NULL,            -- of the job that depends on it
    dependency TEXT NOT NULL,               -- its id
    queue TEXT NOT NULL,                    -- where it lived
    ending TEXT NOT NULL,                   -- met, value, continued, ignored, dropped
    result_generation INTEGER,              -- with value: the generation whose result the job may read
    error TEXT                              -- with continued and ignored
);
";

/// What an add asked for and what became of the job since stand apart: a job that waits as it was added has one slim row.
const FORMAT_9: &str = "
CREATE TABLE job_states (                   -- what became of a job since it was added; no row: it waits as it was added
    generation INTEGER PRIMARY KEY,
    state TEXT NOT NULL,                    -- queued, blocked, active, completed, failed
    started_at_ms INTEGER,
    completed_at_ms INTEGER,
    last_heartbeat_at_ms INTEGER NOT NULL,
    progress REAL NOT NULL,
    extra TEXT,                             -- the rest, as JSON
    failed_attempts INTEGER NOT NULL DEFAULT 0,
    stalls INTEGER NOT NULL DEFAULT 0,
    priority INTEGER,                       -- NULL, here and in the next two: as its spec says
    lifo INTEGER,
    run_at_ms INTEGER
);
INSERT INTO job_states SELECT generation, state, started_at_ms, completed_at_ms, last_heartbeat_at_ms, progress, extra,
    failed_attempts, stalls, priority, lifo, run_at_ms FROM jobs;
CREATE TABLE added_jobs (
    generation INTEGER PRIMARY KEY,         -- ascending, never reused
    id TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    payload_fingerprint INTEGER NOT NULL,
    spec TEXT NOT NULL,                     -- what was asked for, as JSON, with the queue's name; written once
    has_custom_id INTEGER NOT NULL DEFAULT 0,
    dedup_key TEXT,                         -- the key it asked for, whether or not it owns it
    payload BLOB                            -- MessagePack; NULL: it has none
);
INSERT INTO added_jobs SELECT generation, id, created_at_ms, payload_fingerprint, spec, has_custom_id, dedup_key, payload
FROM jobs LEFT JOIN payloads USING (generation) ORDER BY generation;
DROP VIEW job_overview;
DROP TABLE jobs;
DROP TABLE payloads;
ALTER TABLE added_jobs RENAME TO jobs;
CREATE VIEW job_overview AS                 -- for people: jobs in the words of the window
SELECT generation, id, json_extract(spec, '$.queue') AS queue, json_extract(spec, '$.name') AS name,
    CASE
        WHEN stored_state = 'queued' AND due_at_ms > (julianday('now') - 2440587.5) * 86400000 THEN 'delayed'
        WHEN stored_state = 'queued' AND current_priority > 0 THEN 'prioritized'
        WHEN stored_state = 'queued' THEN 'waiting'
        WHEN stored_state = 'blocked' THEN 'waiting-children'
        ELSE stored_state
    END AS state,
    dedup_key AS asked_key, has_payload, current_priority AS priority, failed_attempts,
    json_extract(spec, '$.max_attempts') AS attempts_max,
    datetime(created_at_ms / 1000, 'unixepoch') AS created_at, datetime(due_at_ms / 1000, 'unixepoch') AS run_at,
    datetime(started_at_ms / 1000, 'unixepoch') AS started_at, datetime(completed_at_ms / 1000, 'unixepoch') AS completed_at,
    failed_with
FROM (
    SELECT generation, id, spec, dedup_key, created_at_ms, started_at_ms, completed_at_ms,
        payload IS NOT NULL AS has_payload, coalesce(state, 'queued') AS stored_state,
        coalesce(priority, json_extract(spec, '$.priority'), 0) AS current_priority,
        coalesce(run_at_ms, created_at_ms + coalesce(json_extract(spec, '$.delay'), 0)) AS due_at_ms,
        coalesce(failed_attempts, 0) AS failed_attempts, json_extract(extra, '$.rare.failure.error') AS failed_with
    FROM jobs LEFT JOIN job_states USING (generation)
);
";

/// The steps of a job that was taken once and perhaps completed stand in its columns; `extra` is NULL then. It was NULL before
/// when there were no steps.
const FORMAT_10: &str = "
UPDATE job_states SET extra = '{}' WHERE extra IS NULL AND (started_at_ms IS NOT NULL OR completed_at_ms IS NOT NULL);
";

/// A job that takes its key as it is added tells of it in its own row.
const FORMAT_11: &str = "
ALTER TABLE jobs ADD COLUMN took_key INTEGER; -- 1: it owns its key since it was added, as its spec asks, unless dedup_keys says more
CREATE VIEW key_overview AS                 -- for people: all keys that are held
SELECT entry, queue, key, owner_generation, owner_id, ttl_ms, datetime(expires_at_ms / 1000, 'unixepoch') AS expires_at
FROM dedup_keys
UNION ALL
SELECT generation + 1, json_extract(spec, '$.queue'), dedup_key, generation, id, ttl_ms,
    datetime((created_at_ms + ttl_ms) / 1000, 'unixepoch')
FROM (SELECT *, CASE WHEN json_extract(spec, '$.dedup.keep_last') THEN NULL ELSE json_extract(spec, '$.dedup.ttl') END AS ttl_ms
    FROM jobs)
WHERE took_key = 1 AND generation + 1 NOT IN (SELECT entry FROM dedup_keys);
";

/// Jobs that were taken by one turn for the first time need no row each until something else becomes of them.
const FORMAT_12: &str = "
CREATE TABLE taken_lists (                  -- jobs that are active since that moment, unless job_states has a row of them
    first_generation INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    generations TEXT NOT NULL               -- as a list in JSON; some may be gone
);
DROP VIEW job_overview;
CREATE VIEW job_overview AS                 -- for people: jobs in the words of the window
SELECT generation, id, json_extract(spec, '$.queue') AS queue, json_extract(spec, '$.name') AS name,
    CASE
        WHEN stored_state = 'queued' AND due_at_ms > (julianday('now') - 2440587.5) * 86400000 THEN 'delayed'
        WHEN stored_state = 'queued' AND current_priority > 0 THEN 'prioritized'
        WHEN stored_state = 'queued' THEN 'waiting'
        WHEN stored_state = 'blocked' THEN 'waiting-children'
        ELSE stored_state
    END AS state,
    dedup_key AS asked_key, has_payload, current_priority AS priority, failed_attempts,
    json_extract(spec, '$.max_attempts') AS attempts_max,
    datetime(created_at_ms / 1000, 'unixepoch') AS created_at, datetime(due_at_ms / 1000, 'unixepoch') AS run_at,
    datetime(started_at_ms / 1000, 'unixepoch') AS started_at, datetime(completed_at_ms / 1000, 'unixepoch') AS completed_at,
    failed_with
FROM (
    SELECT generation, id, spec, dedup_key, created_at_ms, completed_at_ms,
        CASE WHEN state IS NULL THEN taken_at_ms ELSE started_at_ms END AS started_at_ms,
        payload IS NOT NULL AS has_payload,
        coalesce(state, CASE WHEN taken_at_ms IS NULL THEN 'queued' ELSE 'active' END) AS stored_state,
        coalesce(priority, json_extract(spec, '$.priority'), 0) AS current_priority,
        coalesce(run_at_ms, created_at_ms + coalesce(json_extract(spec, '$.delay'), 0)) AS due_at_ms,
        coalesce(failed_attempts, 0) AS failed_attempts, json_extract(extra, '$.rare.failure.error') AS failed_with
    FROM jobs LEFT JOIN job_states USING (generation)
        LEFT JOIN (SELECT value AS generation, at_ms AS taken_at_ms FROM taken_lists, json_each(generations)) USING (generation)
);
";

/// A long payload is written before its job, in pieces.
const FORMAT_13: &str = "
CREATE TABLE pieces (                       -- of payloads to which column payload of jobs refers by a number instead of bytes
    number INTEGER NOT NULL,
    place INTEGER NOT NULL,                 -- from 0; every piece but the last has 131,072 bytes
    length INTEGER NOT NULL,                -- bytes of the whole payload
    bytes BLOB NOT NULL,
    PRIMARY KEY (number, place)
) WITHOUT ROWID;
";

/// The format of an open file; 0 when it has no tables yet.
pub(crate) fn format(conn: &Connection, file: &Path) -> Result<u32, StoreError> {
    let read = conn.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    let found = read.map_err(|cause| StoreError::from_sqlite("open", file, cause))?;
    u32::try_from(found).map_err(|_| StoreError::Corrupt {
        operation: "open",
        file: file.to_owned(),
        what: format!("its format has the impossible number {found}"),
    })
}

/// Refuses a format that this program does not know.
pub(crate) fn accept(found: u32, file: &Path) -> Result<(), StoreError> {
    if found <= NEWEST {
        return Ok(());
    }
    Err(StoreError::NewerSchema { file: file.to_owned(), found, known: NEWEST })
}

/// Brings the file from format `from` to the newest one, each step in a transaction of its own.
pub(crate) fn migrate(conn: &mut Connection, from: u32, file: &Path) -> Result<(), StoreError> {
    for (done, step) in STEPS.iter().enumerate().skip(from as usize) {
        take_step(conn, step, done as u32 + 1)
            .map_err(|cause| StoreError::from_sqlite("bring up to date", file, cause))?;
        tracing::info!(file = %file.display(), format = done + 1, "the file's tables are up to date");
    }
    Ok(())
}

fn take_step(conn: &mut Connection, step: &str, format: u32) -> Result<(), rusqlite::Error> {
    let step_taken = conn.transaction()?;
    step_taken.execute_batch(step)?;
    step_taken.pragma_update(None, "application_id", APPLICATION_ID)?;
    step_taken.pragma_update(None, "user_version", format)?;
    step_taken.commit()
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod schema_tests;
