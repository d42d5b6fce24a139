//! Rows and folders for tests.

use crate::{SimDisk, SqliteStore, Storage};
use onceover_engine::calendar::{Pattern, Zone};
use onceover_engine::change::{Change, QueueSettings};
use onceover_engine::command::{Add, Backoff, DedupRequest, Group, NewJob, Payload, RareOptions, Repeat, StateName};
use onceover_engine::dead::DlqConfig;
use onceover_engine::dedup::{DecisionCode, KeyEntry, KeyTally, LastAdd, Tally, Window};
use onceover_engine::flow::Links;
use onceover_engine::job::{
    AutoRetries, Blob, Extra, FailedAttempt, Failure, FailureReason, Job, JobState, LogLine, RareState, TimelineEntry,
};
use onceover_engine::limit::{Limits, Rate};
use onceover_engine::names::{EntryId, JobId, JobKey, KeyText, LockToken, QueueId};
use onceover_engine::reply::StallConfig;
use onceover_engine::schedule::{LastRun, Rule, RunOutcome, Schedule, ScheduleId, Timing};
use onceover_engine::time::{Millis, Timestamp};
use onceover_engine::{Engine, EngineConfig};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of its own, removed at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("onceover-store-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("queue é#1.db")
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = std::fs::read_dir(&self.0).unwrap().map(name).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A second panic while a test fails would hide the first.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

pub(crate) fn bytes(text: &str) -> Payload {
    Payload::from(text.as_bytes())
}

/// A job with nothing but what every job has.
pub(crate) fn plain_job(key: u64) -> Job {
    let spec = NewJob::new("mail", "send");
    Job {
        key: JobKey(key),
        id: JobId::parse(&format!("0198c0de-0000-7000-8000-{key:012x}")),
        queue: QueueId(0),
        spec: Arc::new(spec),
        dedup_key: None,
        has_custom_id: false,
        state: JobState::Queued,
        ready: false,
        data: Blob::Here(bytes("payload")),
        fingerprint: u64::MAX - key,
        priority: 0,
        lifo: false,
        created_at: Timestamp(1_000),
        run_at: Timestamp(1_000),
        started_at: None,
        completed_at: None,
        last_heartbeat: Timestamp(1_000),
        attempts: 0,
        stall_count: 0,
        progress: 0.0,
        result: Blob::Absent,
        delivery: None,
        has_state_row: false,
        extra: Extra::default(),
    }
}

/// A job with everything a job can have, failed for good.
pub(crate) fn full_job(key: u64) -> Job {
    let plain = plain_job(key);
    let follower = Arc::clone(&plain.spec);
    let spec = NewJob {
        dedup: DedupRequest { from_hash: true, ttl: Some(Millis(0)), extend: true, replace: true, keep_last: true },
        priority: -1_000_000,
        delay: Millis(5),
        max_attempts: 1000,
        backoff: Backoff { delay: Millis(7), fixed: true, as_object: true },
        lifo: true,
        remove_on_complete: true,
        remove_on_fail: true,
        durable: true,
        rare: Some(Box::new(full_options())),
        ..NewJob::clone(&plain.spec)
    };
    Job {
        id: JobId::parse("order 7\0'\u{1f980}"),
        spec: Arc::new(spec),
        dedup_key: Some(KeyText::from("k\"1")),
        has_custom_id: true,
        state: JobState::Failed,
        data: Blob::Here(bytes("\0\u{1}")),
        fingerprint: 1 << 63 | key,
        priority: 1_000_000,
        lifo: true,
        created_at: Timestamp(-5),
        run_at: Timestamp(i64::MAX),
        started_at: Some(Timestamp(3)),
        completed_at: Some(Timestamp(0)),
        last_heartbeat: Timestamp(4),
        attempts: u32::MAX,
        stall_count: 2,
        progress: 33.25,
        result: Blob::Here(bytes("")),
        extra: full_extra(follower),
        ..plain
    }
}

fn full_options() -> RareOptions {
    RareOptions {
        depends_on: vec![JobId::parse("a"), JobId::parse("0198c0de-0000-7000-8000-000000000000")],
        parent_id: Some(JobId::parse("p")),
        parent_queue: Some("q".into()),
        children_ids: vec![JobId::parse("c")],
        tags: vec!["t".into()],
        timeout: Some(Millis(1)),
        ttl: Some(Millis(2)),
        stall_timeout: Some(Millis(3)),
        timestamp: Some(Timestamp(-5)),
        stack_trace_limit: Some(4),
        keep_logs: Some(0.5),
        size_limit: Some(6.0),
        debounce_id: Some("d".into()),
        debounce_ttl: Some(1e300),
        fail_parent_on_failure: true,
        remove_dependency_on_failure: true,
        continue_parent_on_failure: true,
        ignore_dependency_on_failure: true,
        group: Some(Group { id: "g".into(), max_size: Some(9) }),
        schedule: Some("hourly".into()),
        drop_if_lost: true,
        repeat: Some(Repeat {
            timing: Timing::Every(Millis(8)),
            limit: Some(u64::MAX),
            count: 9,
            start: Some(Timestamp(10)),
            end: Some(Timestamp(11)),
            offset: Millis(-12),
            job_id: Some("nightly".into()),
        }),
    }
}

fn full_extra(follower: Arc<NewJob>) -> Extra {
    let failed =
        TimelineEntry { state: StateName::Failed, at: Timestamp(9), error: Some("no\nroute".into()), attempt: Some(3) };
    let rare = RareState {
        admitted_as: Some(StateName::Delayed),
        progress_message: Some("half".into()),
        stacktrace: vec!["at a".into(), "at b".into()],
        failure: Some(Failure {
            reason: FailureReason::MaxAttemptsExceeded,
            error: Some("no\nroute".into()),
            entered_at: Timestamp(9),
            next_retry_at: Some(Timestamp(10)),
            expires_at: Some(Timestamp(11)),
        }),
        auto_retries: Some(AutoRetries { count: 2, last_at: Timestamp(8) }),
        failed_attempts: vec![FailedAttempt {
            attempt: 1,
            started_at: None,
            failed_at: Timestamp(9),
            reason: FailureReason::ExplicitFail,
            error: None,
        }],
        unresolved: vec![JobId::parse("a")],
        parked_by_worker: true,
        stored_next: Some(Box::new(Add {
            custom_id: Some(JobId::parse("next")),
            dedup_key: Some(Arc::from("k\"1")),
            data: Some(bytes("next")),
            ..Add::new(follower)
        })),
        links: Some(Box::new(Links {
            parent: Some(JobId::parse("p2")),
            parent_queue: Some("q2".into()),
            children: vec![JobId::parse("c2")],
            depends_on: vec![JobId::parse("a"), JobId::parse("c2")],
        })),
        remove_when_linked: true,
        next_run: Some(JobKey(7)),
        logs: vec![LogLine { at: Timestamp(8), level: "info".into(), message: "m".into() }],
        late_token: Some(LockToken(1)),
        timed_out: vec![LockToken(2)],
    };
    Extra { timeline: vec![failed].into(), rare: Some(Box::new(rare)) }
}

pub(crate) fn plain_key(entry: u64, owner: u64) -> KeyEntry {
    KeyEntry {
        entry: EntryId(entry),
        queue: QueueId(0),
        key: KeyText::from("k"),
        from_hash: false,
        owner: JobKey(owner),
        owner_id: plain_job(owner).id,
        window: Window::new(None, None),
        registered_at: Timestamp(1_000),
        tally: Tally::new(KeyTally::default()),
    }
}

pub(crate) fn full_key(entry: u64, owner: u64) -> KeyEntry {
    let last = LastAdd { decision: DecisionCode::ExistingKey, at: Timestamp(2_000), conn: 7 };
    KeyEntry {
        from_hash: true,
        window: Window::new(Some(Millis(60_000)), Some(Timestamp(61_000))),
        tally: Tally::new(KeyTally { collapsed: 1, data_differs: 2, extended: 3, replaced: 4, last: Some(last) }),
        ..plain_key(entry, owner)
    }
}

/// A schedule by the calendar, with everything a schedule can have.
pub(crate) fn full_schedule(number: u64) -> Schedule {
    let zone = Zone::parse("Europe/Berlin").unwrap();
    let rule = Rule {
        name: format!("nightly {number} \u{e9}").into(),
        timing: Timing::Calendar(Pattern::parse("30 2 * * mon-fri", Some(zone)).unwrap()),
        also_every: Some(Millis(7)),
        timezone: Some("Europe/Berlin".into()),
        limit: Some(3),
        skip_missed_on_restart: true,
        skip_if_no_worker: true,
        spec: full_job(1).spec,
        dedup_key: Some("k\"1".into()),
    };
    let last = LastRun { at: Timestamp(5), outcome: RunOutcome::Collapsed, job: Some(JobId::parse("order 7")) };
    Schedule {
        id: ScheduleId(number),
        rule: Arc::new(rule),
        data: Some(bytes("\0\u{1}")),
        next_run: Timestamp(1_700_000_000_000),
        executions: 2,
        last: Some(last),
    }
}

pub(crate) fn settings() -> QueueSettings {
    let stall =
        StallConfig { enabled: false, stall_interval: Millis(30_000), max_stalls: 3, grace_period: Millis(5_000) };
    let rate = |max| Rate { max, duration: Millis(1_500) };
    let temporary = Some((rate(0), Timestamp(1_700_000_009_000)));
    let limits = Limits { rate: Some(rate(9_007_199_254_740_991)), temporary, concurrency: Some(4) };
    let dlq = DlqConfig { auto_retry: true, max_age: None, max_entries: Some(7), ..DlqConfig::default() };
    QueueSettings { paused: true, stall, limits, dlq, place: 3 }
}

/// A job's first row.
pub(crate) fn fresh(job: &Job) -> Change<'_> {
    let result = !matches!(job.result, Blob::Absent);
    Change::PutJob { job, queue: "mail", fresh: true, data: true, result, took_key: false, told_by_list: false }
}

/// A job's later row.
pub(crate) fn again(job: &Job, data: bool, result: bool) -> Change<'_> {
    Change::PutJob { job, queue: "mail", fresh: false, data, result, took_key: false, told_by_list: false }
}

/// The row of a key.
pub(crate) fn put_key(entry: &KeyEntry) -> Change<'_> {
    Change::PutKey { entry, queue: "mail", told_by_job: false }
}

/// An engine whose turns are written by both stores. The simulated one has a row of its own for every key and every state.
pub(crate) struct Twins {
    pub(crate) folder: Folder,
    pub(crate) sqlite: SqliteStore,
    pub(crate) sim: Box<dyn Storage>,
    pub(crate) engine: Engine,
    pub(crate) now: Timestamp,
}

impl Twins {
    pub(crate) fn new() -> Twins {
        let folder = Folder::new();
        let sqlite = SqliteStore::open(&folder.file()).unwrap();
        let sim = Box::new(SimDisk::default().open().unwrap());
        Twins { folder, sqlite, sim, engine: Engine::new(EngineConfig::default(), 1), now: Timestamp(1_000) }
    }

    pub(crate) fn commit(&mut self) {
        self.sqlite.commit(&self.engine, false).unwrap();
        self.sim.commit(&self.engine, false).unwrap();
        self.engine.committed();
        self.engine.check(self.now);
    }

    /// Rows in the file, as another program sees them: of a table, and perhaps `WHERE` something.
    pub(crate) fn count(&self, of: &str) -> u32 {
        let tool = Connection::open(self.folder.file()).unwrap();
        tool.query_row(&format!("SELECT count(*) FROM {of}"), [], |row| row.get(0)).unwrap()
    }
}
