//! Files of earlier formats.

use super::*;
use crate::samples::Folder;
use crate::{SqliteStore, Storage};
use onceover_engine::command::{Add, DedupRequest};
use onceover_engine::names::JobId;
use onceover_engine::time::Millis;
use std::sync::Arc;

#[test]
fn keys_and_job_ids_leave_the_request() {
    let folder = Folder::new();
    let mut conn = Connection::open(folder.file()).unwrap();
    conn.pragma_update(None, "journal_mode", "wal").unwrap();
    for (done, step) in STEPS[..2].iter().enumerate() {
        take_step(&mut conn, step, done as u32 + 1).unwrap();
    }
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
    assert_eq!((jobs[0].dedup_key.as_ref(), jobs[1].dedup_key.as_ref()), (Some(&key), None));
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
