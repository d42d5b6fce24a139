//! A payload in pieces is the job's as if it stood in its row, and nothing of one that nobody needs stays.

use super::*;
use crate::samples::{Folder, again, bytes, fresh, plain_job};
use crate::{SqliteStore, Storage, StoreError, Stored};
use onceover_engine::change::Change;
use onceover_engine::job::{Job, JobState};

struct Stage {
    folder: Folder,
    store: SqliteStore,
}

/// Three pieces, the last one short.
fn long(fill: u8) -> Payload {
    let bytes: Vec<u8> = (0..2 * PIECE_BYTES + 7).map(|at| fill ^ (at / 1_000) as u8).collect();
    bytes.into()
}

fn job(key: u64, data: &Payload) -> Job {
    Job { data: Blob::Here(Arc::clone(data)), ..plain_job(key) }
}

impl Stage {
    fn new() -> Stage {
        let folder = Folder::new();
        let store = SqliteStore::open(&folder.file()).unwrap();
        Stage { folder, store }
    }

    fn commit(&mut self, changes: Vec<Change<'_>>) -> Result<(), StoreError> {
        let mut changes = Some(changes);
        self.store.commit_rows(false, &mut |sink| changes.take().unwrap().into_iter().try_for_each(&mut *sink))
    }

    fn stage(&mut self, payload: &Payload) {
        let whole: Vec<bool> = (0..4).map(|_| self.store.stage(payload).unwrap()).collect();
        assert_eq!(whole, [false, false, true, true], "one piece at a time");
    }

    /// Adds the job with its payload in pieces.
    fn add(&mut self, key: u64, data: &Payload) {
        self.stage(data);
        self.commit(vec![fresh(&job(key, data))]).unwrap();
    }

    /// The next start, whatever the one before had in mind.
    fn reopen(self) -> Stage {
        let Stage { folder, store } = self;
        drop(store);
        let store = SqliteStore::open(&folder.file()).unwrap();
        Stage { folder, store }
    }

    fn read(&self, query: &str) -> i64 {
        let tool = Connection::open(self.folder.file()).unwrap();
        tool.query_row(query, [], |row| row.get(0)).unwrap()
    }

    fn pieces(&self) -> i64 {
        self.read("SELECT count(*) FROM pieces")
    }

    fn in_pieces(&self) -> i64 {
        self.read("SELECT count(*) FROM jobs WHERE typeof(payload) = 'integer'")
    }

    /// Payloads of the jobs after a start.
    fn loaded(&mut self) -> Vec<(u64, Blob)> {
        self.store.load().unwrap().jobs.into_iter().map(|row| (row.job.key.0, row.job.data)).collect()
    }

    fn sweep(&mut self) {
        (0..20).for_each(|_| self.commit(Vec::new()).unwrap());
    }
}

#[test]
fn a_payload_in_pieces_is_read_as_one_in_its_row() {
    let mut stage = Stage::new();
    let data = long(1);
    stage.add(7, &data);
    assert_eq!((stage.pieces(), stage.in_pieces()), (3, 1));
    for _ in 0..2 {
        assert_eq!(stage.store.payload(JobKey(7)).unwrap().as_ref(), Some(&data));
        let mut found = None;
        stage.store.read(&[(Stored::Payload, JobKey(7))], &mut |one| (found = one, true).1).unwrap();
        assert_eq!(found.as_ref(), Some(&data));
        assert!(matches!(&stage.loaded()[..], [(7, Blob::Here(bytes))] if *bytes == data));
        stage = stage.reopen();
    }
    stage.commit(vec![again(&Job { state: JobState::Completed, ..job(7, &data) }, false, false)]).unwrap();
    assert!(matches!(stage.loaded()[..], [(7, Blob::OnDisk)]), "of a finished job it stays behind");
    assert_eq!(stage.store.payload(JobKey(7)).unwrap(), Some(data));
    stage.sweep();
    assert_eq!(stage.pieces(), 3, "a load keeps what a row refers to");
}

#[test]
fn what_is_short_or_not_all_staged_is_written_in_its_row() {
    let mut stage = Stage::new();
    assert!(stage.store.stage(&bytes("short")).unwrap());
    let data = long(2);
    assert!(!stage.store.stage(&data).unwrap());
    stage.commit(vec![fresh(&job(1, &data)), fresh(&job(2, &data))]).unwrap();
    assert_eq!(stage.in_pieces(), 0);
    assert_eq!(stage.store.payload(JobKey(2)).unwrap().as_ref(), Some(&data));
    drop(data);
    stage.sweep();
    assert_eq!(stage.pieces(), 0, "the piece went with the last who held the payload");
}

#[test]
fn of_two_jobs_with_one_payload_each_keeps_its_own() {
    let mut stage = Stage::new();
    let data = long(3);
    stage.stage(&data);
    stage.commit(vec![fresh(&job(1, &data)), fresh(&job(2, &data))]).unwrap();
    assert_eq!(stage.in_pieces(), 1);
    stage.commit(vec![Change::DeleteJob { key: JobKey(1), keep_result: true }]).unwrap();
    stage.sweep();
    assert_eq!((stage.pieces(), stage.store.payload(JobKey(2)).unwrap()), (0, Some(data)));
}

#[test]
fn pieces_of_a_job_that_is_gone_are_deleted_one_by_one() {
    let mut stage = Stage::new();
    stage.add(1, &long(4));
    stage.add(2, &long(5));
    stage.sweep();
    stage.commit(vec![Change::DeleteJob { key: JobKey(1), keep_result: false }]).unwrap();
    assert_eq!(stage.pieces(), 5, "the first of them with the job itself");
    stage.sweep();
    assert_eq!(stage.pieces(), 3);
    stage.commit(vec![again(&job(2, &bytes("new")), true, false)]).unwrap();
    stage.sweep();
    assert_eq!((stage.pieces(), stage.store.payload(JobKey(2)).unwrap()), (0, Some(bytes("new"))));
}

#[test]
fn a_payload_that_came_to_nothing_goes() {
    let mut stage = Stage::new();
    let data = long(6);
    stage.stage(&data);
    stage.sweep();
    assert_eq!(stage.pieces(), 3, "somebody may still have use for it");
    drop(data);
    stage.sweep();
    assert_eq!(stage.pieces(), 0);
}

#[test]
fn after_a_crash_before_the_commit_nothing_of_it_is_there() {
    let mut stage = Stage::new();
    let data = long(7);
    stage.stage(&data);
    stage.add(1, &long(8));
    stage = stage.reopen();
    assert_eq!(stage.loaded().len(), 1);
    stage.sweep();
    assert_eq!(stage.pieces(), 3);
    stage.add(2, &data);
    assert_eq!(stage.store.payload(JobKey(2)).unwrap(), Some(data), "no number is given twice");
}

#[test]
fn a_failed_commit_takes_its_references_back() {
    let mut stage = Stage::new();
    let (kept, data) = (long(9), long(10));
    stage.add(1, &kept);
    stage.stage(&data);
    let gone = Change::DeleteJob { key: JobKey(1), keep_result: false };
    // The same generation twice cannot be written.
    let failed = stage.commit(vec![gone, fresh(&job(2, &data)), fresh(&job(2, &data))]);
    assert!(failed.is_err());
    assert!(matches!(&stage.loaded()[..], [(1, Blob::Here(bytes))] if *bytes == kept));
    stage.sweep();
    assert_eq!(stage.pieces(), 3, "those of the job that stayed");
    stage.add(2, &data);
    stage.commit(vec![Change::DeleteJob { key: JobKey(1), keep_result: false }]).unwrap();
    stage.sweep();
    assert_eq!((stage.pieces(), stage.store.payload(JobKey(2)).unwrap()), (3, Some(data)));
}

#[test]
fn a_job_with_a_piece_missing_is_set_aside_with_the_others() {
    for damage in ["DELETE FROM pieces WHERE place = 1", "UPDATE pieces SET bytes = 'text' WHERE place = 2"] {
        let mut stage = Stage::new();
        stage.add(1, &long(11));
        stage.add(2, &long(12));
        Connection::open(stage.folder.file()).unwrap().execute_batch(&format!("{damage} AND number = 1")).unwrap();
        assert!(stage.store.payload(JobKey(1)).is_err(), "never half of it");
        assert_eq!(stage.loaded().iter().map(|(key, _)| *key).collect::<Vec<_>>(), [2]);
        let remark = stage.store.take_remarks().concat();
        assert!(remark.contains("table jobs, row 1: column payload: "), "{remark}");
        let left = 6 - stage.pieces();
        let aside = stage.read("SELECT count(*) FROM set_aside WHERE source = 'pieces'");
        assert_eq!(aside, left - i64::from(damage.starts_with("DELETE")), "nothing is thrown away");
        stage.sweep();
        assert_eq!(stage.pieces(), 3);
    }
}

#[test]
fn a_job_that_is_put_back_finds_its_own_pieces() {
    let mut stage = Stage::new();
    let (first, second) = (long(13), long(14));
    stage.add(1, &first);
    let tool = Connection::open(stage.folder.file()).unwrap();
    let spec: String = tool.query_row("SELECT spec FROM jobs", [], |row| row.get(0)).unwrap();
    tool.execute_batch("UPDATE jobs SET spec = 'unreadable'").unwrap();
    assert!(stage.loaded().is_empty(), "it is set aside, its pieces with it");
    stage = stage.reopen();
    assert!(stage.loaded().is_empty());
    stage.add(2, &second);
    let mut found = tool.prepare("SELECT statement FROM set_aside").unwrap();
    let statements: Vec<String> = found.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    statements.iter().for_each(|statement| tool.execute_batch(statement).unwrap());
    tool.execute("UPDATE jobs SET spec = ?1 WHERE generation = 1", [spec]).unwrap();
    let loaded = stage.loaded();
    let of = |key: u64, data: &Payload| {
        loaded.iter().any(|(job, blob)| *job == key && matches!(blob, Blob::Here(bytes) if bytes == data))
    };
    assert!(of(1, &first) && of(2, &second), "no number is given twice");
}

#[test]
fn a_finished_job_whose_pieces_are_lost_does_not_give_those_of_another() {
    let mut stage = Stage::new();
    let (finished, other) = (long(15), long(16));
    stage.add(1, &finished);
    stage.commit(vec![again(&Job { state: JobState::Completed, ..job(1, &finished) }, false, false)]).unwrap();
    Connection::open(stage.folder.file()).unwrap().execute_batch("DELETE FROM pieces").unwrap();
    stage = stage.reopen();
    assert_eq!(stage.loaded().len(), 1);
    stage.add(2, &other);
    assert!(stage.store.payload(JobKey(1)).is_err());
    assert_eq!(stage.store.payload(JobKey(2)).unwrap(), Some(other));
}

#[test]
fn changed_data_is_written_whole_however_long() {
    let mut stage = Stage::new();
    let data = long(17);
    stage.add(1, &data);
    stage.commit(vec![again(&job(1, &bytes("new")), true, false)]).unwrap();
    stage.stage(&data);
    stage.commit(vec![again(&job(1, &data), true, false)]).unwrap();
    assert_eq!(stage.in_pieces(), 0);
    stage = stage.reopen();
    assert_eq!(stage.loaded(), [(1, Blob::Here(data))]);
    stage.sweep();
    assert_eq!(stage.pieces(), 0);
}

#[cfg(unix)]
#[test]
fn a_file_that_is_written_anew_between_two_pieces_has_both() {
    let mut stage = Stage::new();
    let data = long(18);
    assert!(!stage.store.stage(&data).unwrap());
    std::fs::remove_file(stage.folder.file()).unwrap();
    // A stage looks once a second at most; this does the same at once.
    stage.store.leave_in_place().unwrap();
    assert!(!stage.store.stage(&data).unwrap());
    assert!(stage.store.stage(&data).unwrap());
    stage.commit(vec![fresh(&job(1, &data))]).unwrap();
    assert_eq!((stage.pieces(), stage.in_pieces()), (3, 1));
    stage = stage.reopen();
    assert_eq!(stage.loaded(), [(1, Blob::Here(data))]);
}
