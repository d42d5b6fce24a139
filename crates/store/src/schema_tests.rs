//! Files of earlier formats.

use super::*;
use crate::samples::Folder;
use crate::{PIECE_BYTES, SqliteStore, Storage};
use onceover_engine::command::{Add, DedupRequest};
use onceover_engine::job::{Blob, Extra, JobState};
use onceover_engine::names::{EntryId, JobId, JobKey};
use onceover_engine::time::{Millis, Timestamp};
use std::sync::Arc;

/// An empty file of that format.
fn file_of(folder: &Folder, format: usize) -> Connection {
    let mut conn = Connection::open(folder.file()).unwrap();
    conn.pragma_update(None, "journal_mode", "wal").unwrap();
    for (done, step) in STEPS[..format].iter().enumerate() {
        take_step(&mut conn, step, done as u32 + 1).unwrap();
    }
    conn
}

#[test]
fn keys_and_job_ids_leave_the_request() {
    let folder = Folder::new();
    let conn = file_of(&folder, 2);
    let dedup =
        r#"{"key":"k\"\u0000\u00e9","from_hash":false,"ttl":60000,"extend":true,"replace":false,"keep_last":false}"#;
    let keyed =
        format!(r#"{{"queue":"mail","name":"n","custom_id":"7","dedup":{dedup},"max_attempts":3,"priority":2}}"#);
    let plain = r#"{"queue":"mail","name":"n","max_attempts":3}"#;
    let follows = format!(r#"{{"rare":{{"stored_next":{{"spec":{keyed},"data":"01"}}}}}}"#);
    let insert = "INSERT INTO jobs VALUES (?1, ?2, 'mail', 'queued', 0, 0, 1, 1, NULL, NULL, 1, 0, 0, 0.0, 0, ?3, ?4)";
    conn.execute(insert, rusqlite::params![1, "7", keyed, None::<String>]).unwrap();
    conn.execute(insert, rusqlite::params![2, "a", plain, Some(follows)]).unwrap();
    drop(conn);

    let mut store = SqliteStore::open(&folder.file()).unwrap();
    let jobs: Vec<_> = store.load().unwrap().jobs.into_iter().map(|row| row.job).collect();
    let asked = DedupRequest { ttl: Some(Millis(60_000)), extend: true, ..DedupRequest::default() };
    let key: Arc<str> = Arc::from("k\"\0\u{e9}");
    assert_eq!((jobs[0].has_custom_id, jobs[1].has_custom_id), (true, false));
    assert_eq!((jobs[0].dedup_key.as_deref(), jobs[1].dedup_key.as_deref()), (Some(&*key), None));
    assert_eq!((&jobs[0].spec.dedup, jobs[0].spec.priority), (&asked, 2));
    assert_eq!(jobs[1].spec.dedup, DedupRequest::default());
    let next = jobs[1].rare().unwrap().stored_next.as_deref().unwrap();
    let data = Some([1].into());
    assert_eq!(
        *next,
        Add { custom_id: Some(JobId::parse("7")), dedup_key: Some(key), data, ..Add::new(next.spec.clone()) }
    );
    assert_eq!((&next.spec.dedup, next.spec.priority), (&asked, 2));
}

#[test]
fn jobs_are_taken_apart_into_what_was_asked_for_and_what_became_of_it() {
    let folder = Folder::new();
    let conn = file_of(&folder, 8);
    let spec = r#"{"queue":"mail","name":"n","max_attempts":3,"priority":2,"delay":100}"#;
    let insert =
        "INSERT INTO jobs VALUES (?1, ?2, 'mail', ?3, 7, 1, 1, ?4, 5, NULL, 6, 2, 3, 25.5, -9, ?5, ?6, 1, 'k')";
    let extra = r#"{"timeline":[{"state":"waiting","at":4}]}"#;
    for (generation, id, state) in [(1, "late", "queued"), (2, "runs", "active"), (3, "ended", "completed")] {
        conn.execute(insert, rusqlite::params![generation, id, state, 40, spec, extra]).unwrap();
    }
    conn.execute(insert, rusqlite::params![4, "stepless", "active", 40, spec, None::<String>]).unwrap();
    conn.execute_batch("INSERT INTO payloads VALUES (1, x'01'), (3, x'03'); INSERT INTO results VALUES (3, x'c0')")
        .unwrap();
    drop(conn);

    let mut store = SqliteStore::open(&folder.file()).unwrap();
    let mut rows = store.load().unwrap().jobs;
    let stepless = rows.pop().unwrap().job;
    assert_eq!((stepless.started_at, stepless.extra), (Some(Timestamp(5)), Extra::default()));
    let blobs: Vec<_> = rows.iter().map(|row| (&row.job.data, &row.job.result)).collect();
    let here = Blob::Here([1].into());
    assert_eq!(blobs, [(&here, &Blob::Absent), (&Blob::Absent, &Blob::Absent), (&Blob::OnDisk, &Blob::OnDisk)]);
    assert_eq!(store.payload(JobKey(3)).unwrap(), Some([3].into()));
    let states: Vec<_> = rows.iter().map(|row| row.job.state).collect();
    assert_eq!(states, [JobState::Queued, JobState::Active, JobState::Completed]);
    for job in rows.iter().map(|row| &row.job) {
        assert_eq!((job.priority, job.lifo, job.run_at), (7, true, Timestamp(40)), "not as the request says");
        assert_eq!((job.created_at, job.started_at, job.completed_at), (Timestamp(1), Some(Timestamp(5)), None));
        assert_eq!((job.last_heartbeat, job.attempts, job.stall_count), (Timestamp(6), 2, 3));
        assert_eq!((job.progress, job.fingerprint, job.has_custom_id), (25.5, (-9_i64).cast_unsigned(), true));
        assert_eq!((job.dedup_key.as_deref(), job.extra.timeline.len()), (Some("k"), 1));
        assert_eq!((&*job.spec.queue, job.spec.priority, job.spec.delay), ("mail", 2, Millis(100)));
    }
    assert!(rows.iter().all(|row| &*row.queue == "mail"));
    let overview = "SELECT group_concat(queue || ' ' || state || ' ' || priority || ' ' || run_at, '; ') FROM job_overview WHERE id <> 'stepless'";
    let seen: String = store.conn.query_row(overview, [], |row| row.get(0)).unwrap();
    let since = "7 1970-01-01 00:00:00";
    assert_eq!(seen, format!("mail prioritized {since}; mail active {since}; mail completed {since}"));
}

#[test]
fn keys_with_rows_of_their_own_keep_them() {
    let folder = Folder::new();
    let conn = file_of(&folder, 10);
    let spec = r#"{"queue":"mail","name":"n","max_attempts":3}"#;
    conn.execute("INSERT INTO jobs VALUES (1, 'a', 5, 0, ?1, 0, 'k', NULL)", [spec]).unwrap();
    conn.execute("INSERT INTO dedup_keys VALUES (2, 'mail', 'k', 0, 1, 'a', NULL, NULL, 5, NULL)", []).unwrap();
    drop(conn);

    let mut store = SqliteStore::open(&folder.file()).unwrap();
    let rows = store.load().unwrap();
    assert_eq!(rows.jobs.len(), 1);
    let keys: Vec<_> = rows.keys.iter().map(|row| (row.entry.entry, &*row.entry.key, row.entry.owner)).collect();
    assert_eq!(keys, [(EntryId(2), "k", JobKey(1))]);
}

#[test]
fn payloads_in_rows_stay_there_however_long() {
    let folder = Folder::new();
    let conn = file_of(&folder, 12);
    let long = vec![7; 3 * PIECE_BYTES];
    let insert = "
INSERT INTO jobs (generation, id, created_at_ms, payload_fingerprint, spec, payload) VALUES (?1, ?2, 5, 0, ?3, ?4)";
    let spec = r#"{"queue":"mail","name":"n","max_attempts":3}"#;
    conn.execute(insert, rusqlite::params![1, "a", spec, long]).unwrap();
    conn.execute(insert, rusqlite::params![2, "b", spec, None::<Vec<u8>>]).unwrap();
    drop(conn);

    let mut store = SqliteStore::open(&folder.file()).unwrap();
    let found: Vec<_> = store.load().unwrap().jobs.into_iter().map(|row| row.job.data).collect();
    assert_eq!(found, [Blob::Here(long.clone().into()), Blob::Absent]);
    assert_eq!(store.payload(JobKey(1)).unwrap(), Some(long.into()));
}
