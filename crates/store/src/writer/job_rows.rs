//! The rows of a job: what was asked for, written once; what became of it since, once anything has; its result.
//!
//! Most jobs are written as they were added, and every column costs its part of an add, so the usual rows have statements of
//! their own that leave out what has its default.

use super::{DELETE_RESULT, IdText, Json, PUT_RESULT, WRITE, Writer, json, row_id};
use crate::error::StoreError;
use onceover_engine::command::{NewJob, StateName};
use onceover_engine::job::{Blob, Extra, Job, JobState, TimelineEntry};
use onceover_engine::names::JobKey;
use onceover_engine::time::Timestamp;
use rusqlite::params;
use std::sync::Arc;

/// A generation that is there already is an error: it must not be replaced.
pub(super) const INSERT_JOB: &str = "
INSERT INTO jobs (generation, id, created_at_ms, payload_fingerprint, spec, payload, has_custom_id, dedup_key, took_key)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

/// With a generated id and a key.
const INSERT_KEYED_JOB: &str = "
INSERT INTO jobs (generation, id, created_at_ms, payload_fingerprint, spec, payload, dedup_key, took_key)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

/// With a generated id, and without a key.
const INSERT_PLAIN_JOB: &str = "
INSERT INTO jobs (generation, id, created_at_ms, payload_fingerprint, spec, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

const PUT_STATE: &str = "
INSERT OR REPLACE INTO job_states (generation, state, started_at_ms, completed_at_ms, last_heartbeat_at_ms, progress, extra,
    failed_attempts, stalls, priority, lifo, run_at_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";

/// The two steps of a life without trouble: taken, at the first attempt and as it was asked for, and completed without having
/// been heard of in between.
const PUT_TAKEN: &str = "
INSERT OR REPLACE INTO job_states (generation, state, started_at_ms, last_heartbeat_at_ms, progress)
VALUES (?1, 'active', ?2, ?2, 0.0)";
const PUT_COMPLETED: &str = "
INSERT OR REPLACE INTO job_states (generation, state, started_at_ms, completed_at_ms, last_heartbeat_at_ms, progress)
VALUES (?1, 'completed', ?2, ?3, ?2, 100.0)";

const PUT_TAKEN_LIST: &str = "INSERT INTO taken_lists (first_generation, at_ms, generations) VALUES (?1, ?2, ?3)";
pub(super) const DELETE_TAKEN: &str = "DELETE FROM taken_lists WHERE first_generation = ?1";

pub(super) const UPDATE_PAYLOAD: &str = "UPDATE jobs SET payload = ?2, payload_fingerprint = ?3 WHERE generation = ?1";

pub(super) const DELETE_JOB: &str = "DELETE FROM jobs WHERE generation = ?1";
/// The row keeps its length, so that its payload is not written anew.
pub(super) const DROP_TAKEN_KEY: &str = "UPDATE jobs SET took_key = 0 WHERE generation = ?1 AND took_key = 1";
const DELETE_STATE: &str = "DELETE FROM job_states WHERE generation = ?1";

/// Requests whose texts are kept, at most.
const SPECS_KEPT_MAX: usize = 16;

/// Requests as JSON. Jobs that ask for the same share their request, and come one after the other or a few in turns.
#[derive(Debug, Default)]
pub(super) struct SpecTexts {
    kept: Vec<(Arc<NewJob>, Vec<u8>)>,
    /// The one to be replaced next.
    oldest: usize,
}

impl SpecTexts {
    fn of(&mut self, spec: &Arc<NewJob>) -> Json<'_> {
        let at = match self.kept.iter().position(|(of, _)| Arc::ptr_eq(of, spec)) {
            Some(at) => at,
            None => self.write(spec),
        };
        Json(&self.kept[at].1)
    }

    /// Its place.
    fn write(&mut self, spec: &Arc<NewJob>) -> usize {
        let mut text = Vec::new();
        json(&mut text, &**spec);
        let entry = (Arc::clone(spec), text);
        if self.kept.len() < SPECS_KEPT_MAX {
            self.kept.push(entry);
            return self.kept.len() - 1;
        }
        let at = self.oldest;
        self.kept[at] = entry;
        self.oldest = (at + 1) % SPECS_KEPT_MAX;
        at
    }
}

/// The job has no row yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fresh {
    /// Its row tells of its key.
    pub(super) took_key: bool,
}

/// What besides is to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dirt {
    pub(super) state: bool,
    pub(super) data: bool,
    pub(super) result: bool,
}

/// The columns of `job_states`.
struct State<'a> {
    state: JobState,
    started_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
    last_heartbeat: Timestamp,
    progress: f64,
    extra: &'a Extra,
    attempts: u32,
    stall_count: u32,
    /// None, here and below: as its request says.
    priority: Option<i32>,
    lifo: Option<bool>,
    run_at: Option<Timestamp>,
}

impl State<'_> {
    fn of(job: &Job) -> State<'_> {
        let Job {
            key: _,
            id: _,
            queue: _,
            spec,
            dedup_key: _,
            has_custom_id: _,
            state,
            ready: _, // Follows from `run_at`.
            data: _,
            fingerprint: _, // Changes with the data.
            priority,
            lifo,
            created_at,
            run_at,
            started_at,
            completed_at,
            last_heartbeat,
            attempts,
            stall_count,
            progress,
            result: _,
            delivery: _,      // Ends with the process: a job that was active is put back at the start.
            has_state_row: _, // Is seen when the file is read.
            extra,
        } = job;
        debug_assert!(progress.is_finite(), "progress is clamped to 0..100");
        State {
            state: *state,
            started_at: *started_at,
            completed_at: *completed_at,
            last_heartbeat: *last_heartbeat,
            progress: *progress,
            extra,
            attempts: *attempts,
            stall_count: *stall_count,
            priority: Some(*priority).filter(|priority| *priority != spec.priority),
            lifo: Some(*lifo).filter(|lifo| *lifo != spec.lifo),
            run_at: Some(*run_at).filter(|at| *at != created_at.plus(spec.delay)),
        }
    }

    /// What of `extra` the columns do not tell.
    fn extra_to_store(&self) -> Option<&Extra> {
        let Extra { timeline, rare } = self.extra;
        let mut steps = told_by_columns(self.started_at, self.completed_at);
        let told = timeline.iter().all(|step| steps.next().as_ref() == Some(step)) && steps.next().is_none();
        (!told || rare.is_some()).then_some(self.extra)
    }

    /// Nothing went wrong, and it is as it was asked for.
    fn is_plain(&self) -> bool {
        self.attempts == 0
            && self.stall_count == 0
            && self.priority.is_none()
            && self.lifo.is_none()
            && self.run_at.is_none()
    }
}

/// The steps of a job that was taken once and perhaps completed.
pub(crate) fn told_by_columns(
    started_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
) -> impl Iterator<Item = TimelineEntry> {
    let steps = [(StateName::Active, started_at), (StateName::Completed, completed_at)];
    let told = steps.into_iter().filter_map(|(state, at)| Some((state, at?)));
    told.map(|(state, at)| TimelineEntry { state, at, error: None, attempt: None })
}

impl Writer<'_> {
    pub(super) fn put_job(
        &mut self,
        job: &Job,
        fresh: Option<Fresh>,
        Dirt { state, data, result }: Dirt,
    ) -> Result<(), StoreError> {
        if let Some(fresh) = fresh {
            self.insert_job(job, fresh)?;
        }
        let fresh = fresh.is_some();
        // A row that is there already is not taken back: one that is as added again is rare.
        if state && !(fresh && job.is_as_added()) {
            self.put_state(job.key, &State::of(job))?;
        }
        if data && !fresh {
            self.update_payload(job)?;
        }
        if result {
            self.put_result(job.key, &job.result, fresh)?;
        }
        Ok(())
    }

    fn insert_job(&mut self, job: &Job, Fresh { took_key }: Fresh) -> Result<(), StoreError> {
        let id = IdText::of(&job.id);
        let spec = self.scratch.spec.of(&job.spec);
        let (key, created_at, fingerprint) = (row_id(job.key.0), job.created_at.0, signed(job.fingerprint));
        let payload = self.pieces.bind(job.key, &job.data);
        if !job.has_custom_id && job.dedup_key.is_none() {
            let values = params![key, id, created_at, fingerprint, spec, payload];
            return self.statements.run(INSERT_PLAIN_JOB, values).map(drop);
        }
        let dedup_key = job.dedup_key.as_deref();
        let took_key = took_key.then_some(true);
        if !job.has_custom_id {
            let values = params![key, id, created_at, fingerprint, spec, payload, dedup_key, took_key];
            return self.statements.run(INSERT_KEYED_JOB, values).map(drop);
        }
        let values = params![key, id, created_at, fingerprint, spec, payload, job.has_custom_id, dedup_key, took_key];
        self.statements.run(INSERT_JOB, values).map(drop)
    }

    fn put_state(&mut self, key: JobKey, state: &State<'_>) -> Result<(), StoreError> {
        let extra = state.extra_to_store().map(|extra| json(&mut self.scratch.second, extra));
        let (key, name) = (row_id(key.0), state_text(state.state));
        let (started_at, completed_at) = (state.started_at.map(|at| at.0), state.completed_at.map(|at| at.0));
        let (heartbeat, progress) = (state.last_heartbeat.0, state.progress);
        if state.is_plain() && extra.is_none() && started_at == Some(heartbeat) {
            match (state.state, completed_at) {
                (JobState::Active, None) if progress == 0.0 => {
                    return self.statements.run(PUT_TAKEN, params![key, started_at]).map(drop);
                }
                (JobState::Completed, Some(_)) if progress == 100.0 => {
                    return self.statements.run(PUT_COMPLETED, params![key, started_at, completed_at]).map(drop);
                }
                _ => {}
            }
        }
        let values = params![
            key,
            name,
            started_at,
            completed_at,
            heartbeat,
            progress,
            extra,
            state.attempts,
            state.stall_count,
            state.priority,
            state.lifo,
            state.run_at.map(|at| at.0),
        ];
        self.statements.run(PUT_STATE, values).map(drop)
    }

    pub(super) fn put_taken(&mut self, at: Timestamp, jobs: &[JobKey]) -> Result<(), StoreError> {
        let generations = json(&mut self.scratch.first, &jobs);
        self.statements.run(PUT_TAKEN_LIST, params![row_id(jobs[0].0), at.0, generations]).map(drop)
    }

    fn update_payload(&mut self, job: &Job) -> Result<(), StoreError> {
        let values = params![row_id(job.key.0), payload(&job.data), signed(job.fingerprint)];
        if self.statements.run(UPDATE_PAYLOAD, values)? == 1 {
            self.pieces.leave(job.key);
            return Ok(());
        }
        // Only another program can have taken it away; going on would lose the job at the next start without a word.
        let what = format!("table jobs, row {}: the row has disappeared from the file", job.key.0);
        Err(StoreError::Corrupt { operation: WRITE, file: self.statements.file.to_owned(), what })
    }

    fn put_result(&mut self, key: JobKey, result: &Blob, fresh: bool) -> Result<(), StoreError> {
        match payload(result) {
            Some(bytes) => self.run(PUT_RESULT, params![row_id(key.0), bytes]).map(drop),
            None if fresh => Ok(()),
            None => self.run(DELETE_RESULT, params![row_id(key.0)]).map(drop),
        }
    }

    pub(super) fn delete_job(&mut self, key: JobKey, keep_result: bool) -> Result<(), StoreError> {
        self.pieces.leave(key);
        let generation = row_id(key.0);
        let result = (!keep_result).then_some(DELETE_RESULT);
        for statement in [DELETE_JOB, DELETE_STATE].into_iter().chain(result) {
            self.run(statement, params![generation])?;
        }
        Ok(())
    }
}

fn payload(blob: &Blob) -> Option<&[u8]> {
    match blob {
        Blob::Here(bytes) => Some(bytes),
        Blob::Absent => None,
        Blob::OnDisk => {
            debug_assert!(false, "bytes that are only in the file are never given to be written");
            None
        }
    }
}

/// SQLite knows signed numbers only; the bits are what is kept.
fn signed(fingerprint: u64) -> i64 {
    fingerprint.cast_signed()
}

/// A state as the file spells it.
pub(crate) fn state_text(state: JobState) -> &'static str {
    match state {
        JobState::Queued => "queued",
        JobState::Blocked => "blocked",
        JobState::Active => "active",
        JobState::Completed => "completed",
        JobState::Failed => "failed",
    }
}
