//! Filling in what is only on disk, just before it leaves.

use crate::outbox::Out;
use onceover_engine::Engine;
use onceover_engine::event::{Event, EventKind};
use onceover_engine::flow::Answer;
use onceover_engine::job::{Blob, Job};
use onceover_engine::limits::ANSWER_BYTES_MAX;
use onceover_engine::names::JobKey;
use onceover_engine::rejection::Rejection;
use onceover_engine::reply::{JobRecord, Reply};
use onceover_store::{Storage, StoreError, Stored};
use std::sync::Arc;

/// Fills in everything of `out` that is on disk; when that cannot be read, a reply becomes the storage error.
pub fn fill_or_refuse(out: &mut Out, storage: &dyn Storage, engine: &Engine) {
    if let Err(why) = fill_out(out, storage, engine) {
        let text = match &why {
            Unfilled::TooLong => why.to_string(),
            Unfilled::Storage(error) => {
                tracing::error!(%error, "a payload could not be read");
                format!("Storage error: {error}")
            }
        };
        if let Out::Reply { request, .. } = out {
            *out = Out::Refused { request: *request, text: text.into() };
        }
    }
}

fn fill_out(out: &mut Out, storage: &dyn Storage, engine: &Engine) -> Result<(), Unfilled> {
    match out {
        Out::Reply { reply, .. } => fill_reply(reply, storage),
        Out::Event(event) => Ok(fill_event(event, storage, engine)?),
        Out::Figures { .. } => Ok(()),
        Out::Refused { .. } | Out::Hello { .. } | Out::Pong { .. } | Out::Unsubscribed { .. } | Out::Close => Ok(()),
    }
}

/// Fills in everything of `reply` that is on disk.
///
/// # Errors
/// The file cannot be read, or a list of jobs becomes longer than an answer may be.
pub fn fill_reply(reply: &mut Reply, storage: &dyn Storage) -> Result<(), Unfilled> {
    match reply {
        Reply::Pulled { job: Some(job), .. } => Ok(fill_record(&mut job.record, storage)?),
        Reply::PulledBulk { jobs, .. } => fill_records(jobs.iter_mut().map(|job| &mut job.record), storage),
        Reply::Job(record) | Reply::JobByCustomId(record) => Ok(fill_record(record, storage)?),
        Reply::Jobs(records) | Reply::Dlq(records) => fill_records(records.iter_mut(), storage),
        Reply::Result { key: Some(key), result, .. } | Reply::Waited { key: Some(key), result, .. } => {
            Ok(fill(result, || storage.result(*key))?)
        }
        Reply::Flow(Answer::Pushed(records)) => fill_records(records.iter_mut(), storage),
        Reply::Flow(Answer::Values(values)) => {
            fill_all(values.iter_mut().map(|child| (Stored::Result, child.key, &mut child.value)), storage)
        }
        Reply::Flow(Answer::Failures(failures)) => {
            let bytes: usize = failures.iter().map(|child| child.error.len()).sum();
            if bytes > ANSWER_BYTES_MAX { Err(Unfilled::TooLong) } else { Ok(()) }
        }
        Reply::Flow(Answer::Detached(_))
        | Reply::Pulled { job: None, .. }
        | Reply::Result { key: None, .. }
        | Reply::Waited { key: None, .. }
        | Reply::Ok
        | Reply::Rejected(_)
        | Reply::Added(_)
        | Reply::AddedBulk(_)
        | Reply::AlreadyFinalized
        | Reply::AckBulkIgnored { .. }
        | Reply::DataOk
        | Reply::Renewed { .. }
        | Reply::Count(_)
        | Reply::Worker(_)
        | Reply::Webhook(_)
        | Reply::WorkerRemoved
        | Reply::Workers { .. }
        | Reply::State { .. }
        | Reply::Progress { .. }
        | Reply::Counts(_)
        | Reply::PriorityCounts { .. }
        | Reply::LogAdded
        | Reply::Logs { .. }
        | Reply::KeyOwner(_)
        | Reply::KeysRemoved(_)
        | Reply::Removed(_)
        | Reply::Keys { .. }
        | Reply::Moved
        | Reply::Paused(_)
        | Reply::Cleaned(_)
        | Reply::Queues(_)
        | Reply::DlqStats { .. }
        | Reply::Limits(_)
        | Reply::Group(_)
        | Reply::StallConfig(_)
        | Reply::Schedule(_)
        | Reply::DlqConfig(_)
        | Reply::Totals { .. } => Ok(()),
    }
}

/// Why an answer cannot be given.
#[derive(Debug, thiserror::Error)]
pub enum Unfilled {
    /// The file cannot be read.
    #[error(transparent)]
    Storage(#[from] StoreError),
    /// Payloads and results together are too long.
    #[error("{}", Rejection::AnswerTooLong)]
    TooLong,
}

fn fill_records<'a>(records: impl Iterator<Item = &'a mut JobRecord>, storage: &dyn Storage) -> Result<(), Unfilled> {
    let blobs = records.flat_map(|record| {
        let Job { key, data, result, .. } = &mut record.job;
        [(Stored::Payload, *key, data), (Stored::Result, *key, result)]
    });
    fill_all(blobs, storage)
}

fn fill_all<'a>(
    blobs: impl Iterator<Item = (Stored, JobKey, &'a mut Blob)>,
    storage: &dyn Storage,
) -> Result<(), Unfilled> {
    let (mut bytes, mut wanted, mut empty) = (0, Vec::new(), Vec::new());
    for (what, job, blob) in blobs {
        match blob {
            Blob::Here(here) => bytes += here.len(),
            Blob::Absent => {}
            Blob::OnDisk => {
                wanted.push((what, job));
                empty.push(blob);
            }
        }
    }
    let mut empty = empty.into_iter();
    if !wanted.is_empty() {
        storage.read(&wanted, &mut |found| {
            bytes += found.as_ref().map_or(0, |found| found.len());
            if let Some(blob) = empty.next() {
                *blob = Blob::from(found);
            }
            bytes <= ANSWER_BYTES_MAX
        })?;
    }
    if bytes > ANSWER_BYTES_MAX { Err(Unfilled::TooLong) } else { Ok(()) }
}

fn fill_record(record: &mut JobRecord, storage: &dyn Storage) -> Result<(), StoreError> {
    let job: JobKey = record.job.key;
    fill(&mut record.job.data, || storage.payload(job))?;
    fill(&mut record.job.result, || storage.result(job))
}

/// Fills in what of `event` is on disk. Only `Failed` carries a payload that may be on disk.
///
/// # Errors
/// The file cannot be read.
pub fn fill_event(event: &mut Arc<Event>, storage: &dyn Storage, engine: &Engine) -> Result<(), StoreError> {
    if !matches!(event.kind, EventKind::Failed { data: Some(Blob::OnDisk), .. }) {
        return Ok(());
    }
    // A job that is gone has no payload any more either.
    let job = event.job.as_ref().and_then(|id| engine.job(id)).map(|job| job.key);
    let bytes = job.map_or(Ok(None), |job| storage.payload(job))?;
    if let EventKind::Failed { data, .. } = &mut Arc::make_mut(event).kind {
        *data = bytes.map(Blob::Here);
    }
    Ok(())
}

fn fill(
    blob: &mut Blob,
    read: impl FnOnce() -> Result<Option<onceover_engine::command::Payload>, StoreError>,
) -> Result<(), StoreError> {
    if *blob == Blob::OnDisk {
        *blob = Blob::from(read()?);
    }
    Ok(())
}
