//! What every store promises, checked on each of them.

use crate::samples::{
    Folder, again, bytes, fresh, full_job, full_key, full_schedule, plain_job, plain_key, put_key, settings,
};
use crate::{PIECE_BYTES, SimDisk, SqliteStore, Storage, StoreError, Stored};
use onceover_engine::change::{Change, Snapshot};
use onceover_engine::command::{Add, Command, Payload, StateName};
use onceover_engine::dedup::Window;
use onceover_engine::effects::Effects;
use onceover_engine::flow_wait::{End, Ending};
use onceover_engine::job::{Blob, Delivery, Job, JobState, TimelineEntry};
use onceover_engine::names::{EntryId, JobKey, Origin, QueueId};
use onceover_engine::schedule::ScheduleId;
use onceover_engine::time::{Millis, Timestamp};
use onceover_engine::{Engine, EngineConfig};

fn on_each_store(test: fn(&mut dyn Storage)) {
    let folder = Folder::new();
    test(&mut SqliteStore::open(&folder.file()).unwrap());
    test(&mut SimDisk::default().open().unwrap());
}

fn commit(store: &mut dyn Storage, changes: Vec<Change<'_>>) -> Result<(), StoreError> {
    let mut changes = Some(changes);
    store.commit_rows(false, &mut |sink| changes.take().expect("asked once").into_iter().try_for_each(&mut *sink))
}

/// Jobs have no equality, so they are compared as they print.
fn text(snapshot: &Snapshot) -> String {
    format!("{snapshot:#?}")
}

fn loaded(store: &mut dyn Storage) -> Snapshot {
    store.load().unwrap()
}

/// The job as it must come back.
fn stored(job: &Job) -> Job {
    let mut job = Job { queue: QueueId(0), ready: false, delivery: None, ..job.clone() };
    if let Some(rare) = job.extra.rare.as_deref_mut() {
        rare.late_token = None;
        rare.timed_out.clear();
    }
    job
}

#[track_caller]
fn assert_same(found: &Job, expected: &Job) {
    let found = Job { has_state_row: false, ..found.clone() };
    assert_eq!(format!("{found:#?}"), format!("{expected:#?}"));
}

#[test]
fn a_new_store_is_empty() {
    on_each_store(|store| assert_eq!(text(&loaded(store)), text(&Snapshot::default())));
}

#[test]
fn every_kind_of_row_comes_back() {
    on_each_store(|store| {
        let (plain, full) = (plain_job(3), full_job(4));
        let (plain_entry, full_entry, queue) = (plain_key(5, 3), full_key(6, 4), settings());
        let schedule = full_schedule(9);
        let ends = ends();
        let rows = vec![
            Change::Reserve(1_007),
            fresh(&full),
            fresh(&plain),
            put_key(&plain_entry),
            put_key(&full_entry),
            Change::PutQueue { name: "mail", settings: &queue },
            Change::PutCompletedId { n: JobKey(2), id: "gone 2" },
            Change::PutCompletedId { n: JobKey(1), id: "gone 1" },
            Change::PutSchedule { schedule: &schedule, whole: true },
            Change::PutEnd { job: JobKey(3), dependency: "a", end: &ends[1] },
            Change::PutEnd { job: JobKey(3), dependency: "b", end: &ends[0] },
        ];
        commit(store, rows).unwrap();

        let found = loaded(store);
        assert_eq!(found.reserved, 1_007);
        assert_eq!(found.jobs.len(), 2);
        assert_same(&found.jobs[0].job, &stored(&plain));
        // A finished job's payload stays on disk, but for one that repeats.
        let on_disk = Job { result: Blob::OnDisk, ..stored(&full) };
        assert_same(&found.jobs[1].job, &on_disk);
        assert!(found.jobs.iter().all(|row| &*row.queue == "mail"));
        let keys: Vec<_> = found.keys.iter().map(|row| (&row.entry, &*row.queue)).collect();
        assert_eq!(keys, [(&plain_entry, "mail"), (&full_entry, "mail")]);
        assert_eq!(found.queues, [("mail".into(), queue)]);
        let found_ends: Vec<_> = found.ends.iter().map(|row| (row.job, &*row.dependency, &row.end)).collect();
        assert_eq!(found_ends, [(JobKey(3), "b", &ends[0]), (JobKey(3), "a", &ends[1])]);
        assert_eq!(found.completed_ids, [(JobKey(1), "gone 1".into()), (JobKey(2), "gone 2".into())]);
        assert_eq!(found.schedules, [schedule]);
        assert_eq!(store.payload(JobKey(4)).unwrap(), Some(bytes("\0\u{1}")));
        assert_eq!(store.result(JobKey(4)).unwrap(), Some(bytes("")));
        assert_eq!(store.result(JobKey(3)).unwrap(), None);
        assert_eq!(store.payload(JobKey(99)).unwrap(), None);
    });
}

/// One of each kind, ascending.
fn ends() -> Vec<End> {
    let kinds = [
        Ending::Met,
        Ending::Value(JobKey(9)),
        Ending::Continued("a\0b".into()),
        Ending::Ignored(String::new()),
        Ending::Dropped,
    ];
    let number = 100..;
    number.zip(kinds).map(|(number, ending)| End { number, queue: "mail".into(), ending }).collect()
}

#[test]
fn every_ending_comes_back_until_it_is_deleted() {
    on_each_store(|store| {
        let ends = ends();
        let put = |end| Change::PutEnd { job: JobKey(3), dependency: "order 7\0", end };
        commit(store, ends.iter().map(put).collect()).unwrap();
        assert_eq!(loaded(store).ends.into_iter().map(|row| row.end).collect::<Vec<_>>(), ends);
        commit(store, ends.iter().skip(1).map(|end| Change::DeleteEnd(end.number)).collect()).unwrap();
        let found = loaded(store).ends;
        assert_eq!(found.iter().map(|row| (&*row.dependency, &row.end)).collect::<Vec<_>>(), [("order 7\0", &ends[0])]);
    });
}

#[test]
fn a_result_stays_without_its_job_until_it_is_deleted_itself() {
    on_each_store(|store| {
        let mut job = plain_job(1);
        job.result = Blob::Here(bytes("kept"));
        commit(store, vec![fresh(&job)]).unwrap();
        commit(store, vec![Change::DeleteJob { key: JobKey(1), keep_result: true }]).unwrap();
        assert_eq!(loaded(store).jobs.len(), 0);
        assert_eq!(store.result(JobKey(1)).unwrap(), Some(bytes("kept")));
        assert_eq!(store.payload(JobKey(1)).unwrap(), None);
        let late = bytes("never had a row");
        commit(store, vec![Change::DeleteResult(JobKey(1)), Change::PutResult { key: JobKey(2), result: &late }])
            .unwrap();
        assert_eq!(store.result(JobKey(1)).unwrap(), None);
        assert_eq!(store.result(JobKey(2)).unwrap(), Some(late));
    });
}

#[test]
fn a_later_row_replaces_what_can_change() {
    on_each_store(|store| {
        let mut job = plain_job(1);
        commit(store, vec![fresh(&job)]).unwrap();
        let Job { id, spec, dedup_key, has_custom_id, created_at, .. } = job;
        job = Job { id, spec, dedup_key, has_custom_id, created_at, ..full_job(1) };
        job.delivery = Some(Box::new(Delivery {
            number: 1,
            conn: None,
            conn_lost_at: None,
            lock: None,
            detached: false,
            stall_candidate: false,
            skipped: Millis(0),
            list: None,
        }));
        job.state = JobState::Active;
        commit(store, vec![again(&job, true, true)]).unwrap();
        assert_same(&loaded(store).jobs[0].job, &Job { result: Blob::OnDisk, ..stored(&job) });
        assert_eq!(store.payload(JobKey(1)).unwrap(), Some(bytes("\0\u{1}")));

        job.extra = plain_job(1).extra;
        (job.data, job.result) = (Blob::Absent, Blob::Absent);
        commit(store, vec![again(&job, true, true)]).unwrap();
        assert_same(&loaded(store).jobs[0].job, &stored(&job));
        assert_eq!(store.payload(JobKey(1)).unwrap(), None);
    });
}

#[test]
fn bytes_that_are_not_said_to_have_changed_stay() {
    on_each_store(|store| {
        let mut job = plain_job(1);
        commit(store, vec![fresh(&job)]).unwrap();
        (job.state, job.data) = (JobState::Completed, Blob::OnDisk);
        job.result = Blob::Here(bytes("done"));
        commit(store, vec![again(&job, false, true)]).unwrap();
        assert_eq!(store.payload(JobKey(1)).unwrap(), Some(bytes("payload")));
        assert_eq!(store.result(JobKey(1)).unwrap(), Some(bytes("done")));
        let found = loaded(store);
        assert_eq!((&found.jobs[0].job.data, &found.jobs[0].job.result), (&Blob::OnDisk, &Blob::OnDisk));

        job.state = JobState::Queued;
        commit(store, vec![again(&job, false, false)]).unwrap();
        assert_eq!(loaded(store).jobs[0].job.data, Blob::Here(bytes("payload")), "a live job may be delivered");
    });
}

#[test]
fn payloads_and_results_of_several_jobs_come_in_order() {
    on_each_store(|store| {
        let (mut done, mut bare) = (plain_job(2), plain_job(3));
        (done.data, done.result) = (Blob::Here(bytes("in")), Blob::Here(bytes("out")));
        bare.data = Blob::Absent;
        commit(store, vec![fresh(&done), fresh(&bare)]).unwrap();
        let wanted = [
            (Stored::Result, JobKey(2)),
            (Stored::Payload, JobKey(3)),
            (Stored::Payload, JobKey(2)),
            (Stored::Payload, JobKey(4)),
        ];
        let read = |store: &dyn Storage, most: usize| {
            let mut found = Vec::new();
            let take = &mut |one| {
                found.push(one);
                found.len() < most
            };
            store.read(&wanted, take).unwrap();
            found
        };
        let all = [Some(bytes("out")), None, Some(bytes("in")), None];
        assert_eq!(read(store, 9), all);
        assert_eq!(read(store, 2), all[..2]);
        // Whether or not all were taken, the next turn is stored.
        commit(store, vec![fresh(&plain_job(5))]).unwrap();
        assert_eq!(read(store, 9), all);
    });
}

#[test]
fn the_steps_of_a_life_come_back_whether_or_not_the_moments_tell_them() {
    on_each_store(|store| {
        let step = |state, at| TimelineEntry { state, at: Timestamp(at), error: None, attempt: None };
        let lives: [(Option<i64>, Option<i64>, &[TimelineEntry]); 6] = [
            (None, None, &[]),
            (Some(5), None, &[step(StateName::Active, 5)]),
            (Some(5), Some(7), &[step(StateName::Active, 5), step(StateName::Completed, 7)]),
            (Some(5), Some(7), &[step(StateName::Active, 5)]),
            (Some(9), None, &[step(StateName::Active, 5), step(StateName::Waiting, 8), step(StateName::Active, 9)]),
            (Some(5), None, &[]),
        ];
        let mut jobs = Vec::new();
        for (key, (started_at, completed_at, steps)) in (1..).zip(lives) {
            let mut job = plain_job(key);
            (job.started_at, job.completed_at) = (started_at.map(Timestamp), completed_at.map(Timestamp));
            job.extra.timeline.extend(steps.iter().cloned());
            jobs.push(job);
        }
        commit(store, jobs.iter().map(fresh).collect()).unwrap();
        let found = loaded(store).jobs;
        assert_eq!(found.len(), jobs.len());
        found.iter().zip(&jobs).for_each(|(row, job)| assert_same(&row.job, &stored(job)));
    });
}

#[test]
fn deleted_rows_are_gone() {
    on_each_store(|store| {
        let (job, entry, queue, schedule) = (full_job(1), full_key(2, 1), settings(), full_schedule(3));
        let rows = vec![
            fresh(&job),
            put_key(&entry),
            Change::PutQueue { name: "mail", settings: &queue },
            Change::PutCompletedId { n: JobKey(7), id: "gone" },
            Change::PutSchedule { schedule: &schedule, whole: true },
        ];
        commit(store, rows).unwrap();
        let rows = vec![
            Change::DeleteJob { key: JobKey(1), keep_result: false },
            Change::DeleteKey(EntryId(2)),
            Change::DeleteQueue("mail"),
            Change::DeleteCompletedId(JobKey(7)),
            Change::DeleteSchedule(ScheduleId(3)),
        ];
        commit(store, rows).unwrap();
        assert_eq!(text(&loaded(store)), text(&Snapshot::default()));
        assert_eq!((store.payload(JobKey(1)).unwrap(), store.result(JobKey(1)).unwrap()), (None, None));

        let unknown = vec![
            Change::DeleteJob { key: JobKey(1), keep_result: false },
            Change::DeleteKey(EntryId(2)),
            Change::DeleteQueue("mail"),
        ];
        commit(store, unknown).unwrap();
    });
}

#[test]
fn a_firing_leaves_the_rule_of_its_schedule_alone() {
    on_each_store(|store| {
        let mut schedule = full_schedule(1);
        commit(store, vec![Change::PutSchedule { schedule: &schedule, whole: true }]).unwrap();
        (schedule.next_run, schedule.executions, schedule.last) = (Timestamp(9), 3, None);
        commit(store, vec![Change::PutSchedule { schedule: &schedule, whole: false }]).unwrap();
        assert_eq!(loaded(store).schedules, [schedule.clone()]);
        schedule.data = None;
        commit(store, vec![Change::PutSchedule { schedule: &schedule, whole: true }]).unwrap();
        assert_eq!(loaded(store).schedules, [schedule]);
        let missing =
            commit(store, vec![Change::PutSchedule { schedule: &full_schedule(2), whole: false }]).unwrap_err();
        assert!(missing.to_string().contains("table schedules, row 2"), "{missing}");
    });
}

#[test]
fn an_entry_is_written_as_it_stands() {
    on_each_store(|store| {
        let mut entry = full_key(1, 5);
        commit(store, vec![put_key(&entry)]).unwrap();
        entry = plain_key(1, 6);
        entry.window = Window::new(None, Some(Timestamp(5)));
        commit(store, vec![put_key(&entry), Change::Reserve(1)]).unwrap();
        commit(store, vec![Change::Reserve(2)]).unwrap();
        let found = loaded(store);
        assert_eq!(found.keys.len(), 1);
        assert_eq!(found.keys[0].entry, entry);
        assert_eq!(found.reserved, 2);
    });
}

#[test]
fn a_payload_is_staged_piece_by_piece_before_its_job() {
    on_each_store(|store| {
        let data: Payload = vec![7; 2 * PIECE_BYTES + 1].into();
        assert!(store.stage(&vec![7; PIECE_BYTES].into()).unwrap(), "it is short");
        let staged: Vec<bool> = (0..4).map(|_| store.stage(&data).unwrap()).collect();
        assert_eq!(staged, [false, false, true, true]);
        let job = Job { data: Blob::Here(data.clone()), ..plain_job(1) };
        commit(store, vec![fresh(&job)]).unwrap();
        assert_eq!(store.payload(JobKey(1)).unwrap(), Some(data));
        assert_same(&loaded(store).jobs[0].job, &stored(&job));
    });
}

#[test]
fn what_is_staged_is_forgotten_by_a_load() {
    on_each_store(|store| {
        let data: Payload = vec![7; 2 * PIECE_BYTES + 1].into();
        assert!(!store.stage(&data).unwrap());
        assert_eq!(text(&loaded(store)), text(&Snapshot::default()), "nobody has it yet");
        let staged: Vec<bool> = (0..3).map(|_| store.stage(&data).unwrap()).collect();
        assert_eq!(staged, [false, false, true]);
    });
}

#[test]
fn a_failed_commit_stores_nothing_of_its_turn() {
    on_each_store(|store| {
        let (kept, new, missing) = (plain_job(1), plain_job(2), full_schedule(3));
        commit(store, vec![fresh(&kept)]).unwrap();
        let before = text(&loaded(store));
        let changes = vec![
            Change::DeleteJob { key: JobKey(1), keep_result: false },
            fresh(&new),
            Change::PutSchedule { schedule: &missing, whole: false },
        ];
        let refused = commit(store, changes).unwrap_err();
        assert!(refused.to_string().contains("table schedules, row 3"), "{refused}");
        assert_eq!(text(&loaded(store)), before);
        assert!(
            matches!(commit(store, vec![fresh(&kept)]), Err(StoreError::Corrupt { .. })),
            "the row is there already"
        );
        commit(store, vec![fresh(&new)]).unwrap();
        assert_eq!(loaded(store).jobs.len(), 2);
    });
}

#[test]
fn a_source_that_fails_stores_nothing() {
    on_each_store(|store| {
        let job = plain_job(1);
        let failed = store.commit_rows(true, &mut |sink| {
            sink(fresh(&job))?;
            Err(StoreError::Full { operation: "write to", file: "there".into() })
        });
        assert!(matches!(failed, Err(StoreError::Full { .. })));
        assert_eq!(text(&loaded(store)), text(&Snapshot::default()));
    });
}

#[test]
fn what_changed_in_an_engine_is_written_once() {
    let disk = SimDisk::default();
    let mut store = disk.open().unwrap();
    let mut engine = Engine::new(EngineConfig::default(), 1);
    store.commit(&engine, true).unwrap();
    assert_eq!(disk.commits().all, 0, "nothing has changed");

    let add = Add { data: Some(bytes("payload")), ..Add::new(plain_job(1).spec) };
    let push = Command::Push { add, replay_of: None };
    engine.handle(Timestamp(5), Origin::Internal, push, &mut Effects::default());
    store.commit(&engine, true).unwrap();
    engine.committed();
    store.commit(&engine, true).unwrap();
    assert_eq!((disk.commits().all, disk.commits().durable), (1, 1));
    let found = loaded(&mut store);
    assert_eq!(found.jobs.len(), 1);
    assert_eq!(found.jobs[0].job.created_at, Timestamp(5));
    assert_eq!(found.jobs[0].job.data, Blob::Here(bytes("payload")));
    assert!(found.reserved > found.jobs[0].job.key.0);
}

#[test]
fn jobs_come_back_in_the_order_of_their_generations() {
    on_each_store(|store| {
        for key in [300, 2, 70_000, 1] {
            commit(store, vec![fresh(&plain_job(key))]).unwrap();
        }
        let order: Vec<u64> = loaded(store).jobs.iter().map(|row| row.job.key.0).collect();
        assert_eq!(order, [1, 2, 300, 70_000]);
    });
}
