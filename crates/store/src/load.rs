//! All rows, read once at start.
//!
//! A row that cannot be read is returned as a fault that names table and row: a job is never left out without a word. Whether
//! the rows fit together is for the engine to judge.

mod cells;
mod taken;

use crate::error::StoreError;
use crate::pieces::{Pieces, payload_of};
use crate::set_aside::Fault;
use crate::writer::{CONTINUED, DROPPED, IGNORED, MET, RESERVED, VALUE, told_by_columns};
use cells::Cells;
use onceover_engine::change::{EndRow, GroupRow, GroupSettings, JobRow, KeyRow, QueueSettings, Snapshot};
use onceover_engine::command::{NewJob, Payload};
use onceover_engine::dead::DlqConfig;
use onceover_engine::dedup::{KeyEntry, KeyTally, Tally, Window};
use onceover_engine::flow_wait::{End, Ending};
use onceover_engine::job::{Blob, Extra, Job, JobState};
use onceover_engine::limit::Limits;
use onceover_engine::names::{EntryId, JobKey, KeyText, QueueId};
use onceover_engine::reply::StallConfig;
use onceover_engine::schedule::{LastRun, Rule, Schedule, ScheduleId};
use onceover_engine::time::{Millis, Timestamp};
use onceover_engine::webhook::{Secret, Webhook, WebhookEvent};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use taken::{TAKEN_LISTS, TakenList, taken_list};

/// A payload is read only for jobs that may still be delivered, or whose next run needs it; of others it is enough to know
/// that it is there.
const JOBS: &str = "
SELECT generation, id, created_at_ms, payload_fingerprint, spec, has_custom_id, dedup_key,
    state, started_at_ms, completed_at_ms, last_heartbeat_at_ms, progress, extra, failed_attempts, stalls, priority, lifo,
    run_at_ms,
    results.generation IS NOT NULL AS has_result,
    took_key = 1 AND NOT EXISTS (SELECT 1 FROM dedup_keys WHERE entry = jobs.generation + 1) AS took_key,
    payload IS NOT NULL AS has_payload,
    CASE WHEN state IN ('completed', 'failed') AND spec NOT LIKE '%\"repeat\"%' THEN NULL ELSE payload END AS payload,
    CASE WHEN typeof(payload) = 'integer' THEN payload END AS in_pieces
FROM jobs LEFT JOIN job_states USING (generation) LEFT JOIN results USING (generation)
ORDER BY generation";

/// States of jobs that have disappeared from the file, which only another program can have done.
const STRAYS: &str = "
SELECT generation FROM job_states WHERE generation NOT IN (SELECT generation FROM jobs) ORDER BY generation";

const KEYS: &str = "
SELECT entry, queue, key, is_payload_hash, owner_generation, owner_id, ttl_ms, expires_at_ms, registered_at_ms, tally
FROM dedup_keys ORDER BY entry";

const QUEUES: &str = "
SELECT name, paused, stall_detection, stall_interval_ms, stalls_max, stall_grace_ms, rate_max, rate_duration_ms,
    temporary_rate_max, temporary_rate_duration_ms, temporary_rate_ends_at_ms, concurrency_max, place,
    dead_letters
FROM queues ORDER BY name";

const GROUPS: &str = "
SELECT rowid, queue, group_id, paused, held_until_ms, rate_max, rate_duration_ms, concurrency_max FROM group_settings
ORDER BY queue, group_id";

const WEBHOOKS: &str = "
SELECT id, url, events, queue, secret, created_at_ms, last_triggered_at_ms, successes, failures, enabled FROM webhooks
ORDER BY id";

const ENDS: &str = "
SELECT number, generation, dependency, queue, ending, result_generation, error FROM dependency_ends ORDER BY number";

const COMPLETED_IDS: &str = "SELECT generation, id FROM completed_ids ORDER BY generation";

const SCHEDULES: &str = "
SELECT number, name, next_run_at_ms, executions, last_run, rule, payload FROM schedules ORDER BY number";

/// Columns of a job's state behind the first.
const STATE_COLUMNS_LEFT: usize = 10;

const READ: &str = "read";

/// Rows of one part.
const PART: usize = 1_024;

/// Reads everything, in one read transaction: settings first, then jobs, then keys. Returns what of it cannot be read.
pub(crate) fn load(
    conn: &mut Connection,
    file: &Path,
    pieces: &mut Pieces,
    take: &mut dyn FnMut(Snapshot),
) -> Result<Vec<Fault>, StoreError> {
    let failed = |cause| StoreError::from_sqlite(READ, file, cause);
    let moment = conn.transaction().map_err(failed)?;
    let mut names = Names::default();
    let mut specs = Specs::default();
    let mut faults = Vec::new();
    let lists = rows(&moment, file, "taken_lists", TAKEN_LISTS, &mut faults, taken_list)?;
    let stray = |_: &mut Cells<'_, '_>| Err::<(), _>("its job has disappeared from the file".to_owned());
    rows(&moment, file, "job_states", STRAYS, &mut faults, stray)?;
    take(Snapshot {
        queues: rows(&moment, file, "queues", QUEUES, &mut faults, |cells| queue(cells, &mut names))?,
        groups: rows(&moment, file, "group_settings", GROUPS, &mut faults, |cells| group(cells, &mut names))?,
        webhooks: rows(&moment, file, "webhooks", WEBHOOKS, &mut faults, webhook)?,
        reserved: reserved(&moment, file)?,
        ends: rows(&moment, file, "dependency_ends", ENDS, &mut faults, |cells| end(cells, &mut names))?,
        completed_ids: rows(&moment, file, "completed_ids", COMPLETED_IDS, &mut faults, |cells| {
            Ok((JobKey(cells.number("generation")?), cells.take::<Arc<str>>("id")?))
        })?,
        schedules: rows(&moment, file, "schedules", SCHEDULES, &mut faults, schedule)?,
        taken_lists: lists.iter().map(|list| list.first).collect(),
        ..Snapshot::default()
    });
    let taken = TakenList::by_job(lists);
    pieces.begin_load();
    let read = |cells: &mut Cells<'_, '_>| {
        let (mut row, key) = job(cells, &taken, &mut names, &mut specs)?;
        row.job.data = payload(cells, &moment, row.job.key, pieces)?;
        Ok((row, key))
    };
    let part = |part: Vec<(JobRow, Option<KeyRow>)>| {
        let (jobs, keys): (Vec<_>, Vec<_>) = part.into_iter().unzip();
        take(Snapshot { jobs, keys: keys.into_iter().flatten().collect(), ..Snapshot::default() });
    };
    in_parts(&moment, file, "jobs", JOBS, &mut faults, read, part)?;
    pieces.end_load(&moment).map_err(failed)?;
    let read = |cells: &mut Cells<'_, '_>| key(cells, &mut names);
    let part = |keys| take(Snapshot { keys, ..Snapshot::default() });
    in_parts(&moment, file, "dedup_keys", KEYS, &mut faults, read, part)?;
    moment.commit().map_err(failed)?;
    Ok(faults)
}

/// All rows of a small table.
fn rows<T>(
    conn: &Connection,
    file: &Path,
    table: &'static str,
    query: &str,
    faults: &mut Vec<Fault>,
    read: impl FnMut(&mut Cells<'_, '_>) -> Result<T, String>,
) -> Result<Vec<T>, StoreError> {
    let mut all = Vec::new();
    in_parts(conn, file, table, query, faults, read, |part| all.extend(part))?;
    Ok(all)
}

fn in_parts<T>(
    conn: &Connection,
    file: &Path,
    table: &'static str,
    query: &str,
    faults: &mut Vec<Fault>,
    mut read: impl FnMut(&mut Cells<'_, '_>) -> Result<T, String>,
    mut take: impl FnMut(Vec<T>),
) -> Result<(), StoreError> {
    let failed = |cause| StoreError::from_sqlite(READ, file, cause);
    let mut statement = conn.prepare(query).map_err(failed)?;
    let mut found = statement.query([]).map_err(failed)?;
    let mut part = Vec::new();
    while let Some(row) = found.next().map_err(failed)? {
        let mut cells = Cells { row, next: 0 };
        match read(&mut cells) {
            Ok(value) => part.push(value),
            Err(why) => {
                let row = row.get(0).map_err(failed)?;
                faults.push(Fault { table, row, name: cells.row_name(), why });
            }
        }
        if part.len() == PART {
            take(std::mem::take(&mut part));
        }
    }
    take(part);
    Ok(())
}

/// A job, and the key that its row tells of.
fn job(
    cells: &mut Cells<'_, '_>,
    taken: &HashMap<JobKey, Timestamp>,
    names: &mut Names,
    specs: &mut Specs,
) -> Result<(JobRow, Option<KeyRow>), String> {
    let key = JobKey(cells.number("generation")?);
    let id = cells.id("id")?;
    let created_at = cells.moment("created_at_ms")?;
    let fingerprint = cells.take::<i64>("payload_fingerprint")?.cast_unsigned();
    let spec = cells.spec(names, specs)?;
    let mut job = Job {
        key,
        id,
        queue: QueueId(0),
        has_custom_id: cells.take("has_custom_id")?,
        dedup_key: cells.text_or_null("dedup_key")?.map(KeyText::from),
        state: JobState::Queued,
        ready: false,
        priority: spec.priority,
        lifo: spec.lifo,
        created_at,
        run_at: created_at.plus(spec.delay),
        started_at: None,
        completed_at: None,
        last_heartbeat: created_at,
        attempts: 0,
        stall_count: 0,
        progress: 0.0,
        fingerprint,
        spec,
        extra: Extra::default(),
        data: Blob::Absent,
        result: Blob::Absent,
        delivery: None,
        has_state_row: false,
    };
    job_state(cells, taken.get(&key), &mut job)?;
    if cells.take("has_result")? {
        job.result = Blob::OnDisk;
    }
    let queue = Arc::clone(&job.spec.queue);
    let key = match cells.take::<Option<bool>>("took_key")? {
        Some(true) => {
            let entry = KeyEntry::of(&job, job.key.first_entry(), job.created_at);
            let entry = entry.ok_or("columns took_key and dedup_key: it owns a key and asks for none")?;
            Some(KeyRow { entry, queue: Arc::clone(&queue) })
        }
        Some(false) | None => None,
    };
    Ok((JobRow { job, queue }, key))
}

/// The last columns of a job, which tell of its payload.
fn payload(cells: &mut Cells<'_, '_>, conn: &Connection, job: JobKey, pieces: &mut Pieces) -> Result<Blob, String> {
    let (has_payload, payload) = (cells.take("has_payload")?, cells.value("payload")?);
    if let Some(number) = cells.take("in_pieces")? {
        pieces.refers(job, number);
    }
    match (has_payload, payload) {
        (false, _) => Ok(Blob::Absent),
        (true, ValueRef::Null) => Ok(Blob::OnDisk),
        (true, found) => payload_of(conn, found).map(Blob::Here).map_err(|cause| format!("column payload: {cause}")),
    }
}

/// The columns of `job_states`, which are NULL when the job waits as it was added, or runs since it was `taken`.
fn job_state(cells: &mut Cells<'_, '_>, taken: Option<&Timestamp>, job: &mut Job) -> Result<(), String> {
    let Some(state) = cells.state()? else {
        cells.next += STATE_COLUMNS_LEFT;
        if let Some(at) = taken {
            (job.state, job.started_at, job.last_heartbeat) = (JobState::Active, Some(*at), *at);
            job.extra.timeline = told_by_columns(job.started_at, None).collect();
        }
        return Ok(());
    };
    job.has_state_row = true;
    job.state = state;
    job.started_at = cells.take::<Option<i64>>("started_at_ms")?.map(Timestamp);
    job.completed_at = cells.take::<Option<i64>>("completed_at_ms")?.map(Timestamp);
    job.last_heartbeat = cells.moment("last_heartbeat_at_ms")?;
    job.progress = cells.take("progress")?;
    match cells.json::<Option<Extra>>("extra")? {
        Some(extra) => job.extra = extra,
        None => job.extra.timeline = told_by_columns(job.started_at, job.completed_at).collect(),
    }
    job.attempts = cells.take("failed_attempts")?;
    job.stall_count = cells.take("stalls")?;
    job.priority = cells.take::<Option<i32>>("priority")?.unwrap_or(job.priority);
    job.lifo = cells.take::<Option<bool>>("lifo")?.unwrap_or(job.lifo);
    job.run_at = cells.take::<Option<i64>>("run_at_ms")?.map_or(job.run_at, Timestamp);
    Ok(())
}

fn key(cells: &mut Cells<'_, '_>, names: &mut Names) -> Result<KeyRow, String> {
    let entry = EntryId(cells.number("entry")?);
    let queue = names.shared(cells.text("queue")?);
    let entry = KeyEntry {
        entry,
        queue: QueueId(0),
        key: KeyText::from(cells.text("key")?),
        from_hash: cells.take("is_payload_hash")?,
        owner: JobKey(cells.number("owner_generation")?),
        owner_id: cells.id("owner_id")?,
        window: {
            let ttl = cells.take::<Option<i64>>("ttl_ms")?.map(Millis);
            Window::new(ttl, cells.take::<Option<i64>>("expires_at_ms")?.map(Timestamp))
        },
        registered_at: cells.moment("registered_at_ms")?,
        tally: cells.json::<Option<KeyTally>>("tally")?.map_or_else(Tally::made_earlier, Tally::new),
    };
    Ok(KeyRow { entry, queue })
}

fn queue(cells: &mut Cells<'_, '_>, names: &mut Names) -> Result<(Arc<str>, QueueSettings), String> {
    let name = names.shared(cells.text("name")?);
    let paused = cells.take("paused")?;
    let stall = StallConfig {
        enabled: cells.take("stall_detection")?,
        stall_interval: Millis(cells.take("stall_interval_ms")?),
        max_stalls: cells.take("stalls_max")?,
        grace_period: Millis(cells.take("stall_grace_ms")?),
    };
    let rate = cells.rate("rate_max", "rate_duration_ms")?;
    let temporary = cells.rate("temporary_rate_max", "temporary_rate_duration_ms")?;
    let end = cells.take::<Option<i64>>("temporary_rate_ends_at_ms")?.map(Timestamp);
    let limits = Limits { rate, temporary: temporary.zip(end), concurrency: cells.maybe("concurrency_max", 0)? };
    let place = cells.number("place")?;
    let dlq = cells.json::<Option<DlqConfig>>("dead_letters")?.unwrap_or_default();
    Ok((name, QueueSettings { paused, stall, limits, dlq, place }))
}

fn group(cells: &mut Cells<'_, '_>, names: &mut Names) -> Result<GroupRow, String> {
    cells.take::<i64>("rowid")?;
    let (queue, group) = (names.shared(cells.text("queue")?), cells.take("group_id")?);
    let paused = cells.take("paused")?;
    let held_until = cells.take::<Option<i64>>("held_until_ms")?.map(Timestamp);
    let rate = cells.rate("rate_max", "rate_duration_ms")?;
    let concurrency = cells.maybe("concurrency_max", 0)?;
    Ok(GroupRow { queue, group, settings: GroupSettings { paused, held_until, rate, concurrency } })
}

fn schedule(cells: &mut Cells<'_, '_>) -> Result<Schedule, String> {
    let id = ScheduleId(cells.number("number")?);
    let name: Arc<str> = cells.take("name")?;
    let (next_run, executions) = (cells.moment("next_run_at_ms")?, cells.number("executions")?);
    let last = cells.json::<Option<LastRun>>("last_run")?;
    let rule: Rule = cells.json("rule")?;
    if rule.name != name {
        return Err(format!("columns name and rule: they name two schedules, '{name}' and '{}'", rule.name));
    }
    let data = cells.take::<Option<Vec<u8>>>("payload")?.map(Payload::from);
    Ok(Schedule { id, rule: Arc::new(rule), data, next_run, executions, last })
}

fn webhook(cells: &mut Cells<'_, '_>) -> Result<Webhook, String> {
    let event =
        |name: &str| WebhookEvent::parse(name).ok_or_else(|| format!("column events: no event is called '{name}'"));
    let names = |text: Arc<str>| text.split(',').filter(|name| !name.is_empty()).map(event).collect();
    Ok(Webhook {
        id: cells.take("id")?,
        url: cells.take("url")?,
        events: cells.take("events").and_then(names)?,
        queue: cells.take("queue")?,
        secret: cells.take::<Option<Arc<str>>>("secret")?.map(Secret),
        created_at: cells.moment("created_at_ms")?,
        last_triggered: cells.take::<Option<i64>>("last_triggered_at_ms")?.map(Timestamp),
        successes: cells.number("successes")?,
        failures: cells.number("failures")?,
        enabled: cells.take("enabled")?,
    })
}

fn end(cells: &mut Cells<'_, '_>, names: &mut Names) -> Result<EndRow, String> {
    let number = cells.number("number")?;
    let job = JobKey(cells.number("generation")?);
    let dependency = cells.take("dependency")?;
    let queue = names.shared(cells.text("queue")?);
    let ending: Arc<str> = cells.take("ending")?;
    let result: Option<i64> = cells.take("result_generation")?;
    let error: Option<String> = cells.take("error")?;
    let ending = match (&*ending, result.map(u64::try_from), error) {
        (MET, None, None) => Ending::Met,
        (DROPPED, None, None) => Ending::Dropped,
        (VALUE, Some(Ok(child)), None) => Ending::Value(JobKey(child)),
        (CONTINUED, None, Some(error)) => Ending::Continued(error),
        (IGNORED, None, Some(error)) => Ending::Ignored(error),
        _ => {
            return Err(format!("columns ending, result_generation and error: they do not fit together at '{ending}'"));
        }
    };
    Ok(EndRow { job, dependency, end: End { number, queue, ending } })
}

/// 0 when the engine has not reserved any numbers yet.
fn reserved(conn: &Connection, file: &Path) -> Result<u64, StoreError> {
    let query = format!("SELECT name, value FROM meta WHERE name = '{RESERVED}'");
    let mut faults = Vec::new();
    let found = rows(conn, file, "meta", &query, &mut faults, |cells| {
        cells.take::<Arc<str>>("name")?;
        cells.number("value")
    })?;
    // Without it numbers would be given out a second time.
    if let Some(Fault { table, name, why, .. }) = faults.first() {
        let what = format!("table {table}, row {name}: {why}");
        return Err(StoreError::Corrupt { operation: READ, file: file.to_owned(), what });
    }
    Ok(found.first().copied().unwrap_or(0))
}

/// Names of queues, each of them once in memory however many jobs carry it.
#[derive(Default)]
struct Names {
    known: HashSet<Arc<str>>,
}

impl Names {
    fn shared(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let name: Arc<str> = Arc::from(name);
        self.known.insert(name.clone());
        name
    }
}

/// Most kinds of requests that are remembered while rows are read.
const SPECS_MAX: usize = 4_096;

/// Requests by their text: most jobs of a queue have the same one, and it is read once.
#[derive(Default)]
struct Specs {
    known: HashMap<String, Arc<NewJob>>,
}

impl Specs {
    fn read(&mut self, text: &str, names: &mut Names) -> serde_json::Result<Arc<NewJob>> {
        if let Some(known) = self.known.get(text) {
            return Ok(Arc::clone(known));
        }
        let mut spec: NewJob = serde_json::from_str(text)?;
        spec.queue = names.shared(&spec.queue);
        let spec = Arc::new(spec);
        if self.known.len() == SPECS_MAX {
            self.known.clear();
        }
        self.known.insert(text.to_owned(), Arc::clone(&spec));
        Ok(spec)
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod load_tests;
