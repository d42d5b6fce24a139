//! How many bytes a request or an answer roughly takes, in memory and on the wire. Only bounds are made of it.

use crate::outbox::Out;
use onceover_engine::command::{Ack, Add, Command, NewJob, RareOptions, Renewal};
use onceover_engine::event::{Event, EventKind};
use onceover_engine::flow;
use onceover_engine::job::Blob;
use onceover_engine::reply::{JobRecord, Reply};
use onceover_engine::schedule::Answer;
use onceover_engine::webhook;
use onceover_wire::request::Request;
use std::mem::size_of;

/// Of anything that has no payload.
const SMALL: usize = 128;
/// Of a job record without its payloads.
const RECORD: usize = 1_024;

/// Of a short id or text with its place in a list.
const LISTED: usize = 64;

/// Of a request in memory, where that can be more than its frame: an entry of a list takes a client one byte. A new
/// command that carries a list has to be named here.
pub fn of_request(request: &Request) -> usize {
    match request {
        Request::Engine(Command::Push { add, .. }) => of_rare(add),
        Request::Engine(Command::PushBulk { adds }) => adds.iter().map(of_add).sum(),
        Request::Engine(Command::Flow(flow::Request::Push(jobs))) => jobs.iter().map(|job| of_add(&job.add)).sum(),
        Request::Engine(Command::AckBulk { acks }) => acks.len() * (size_of::<Ack>() + LISTED),
        Request::Engine(Command::JobHeartbeatBulk { renewals } | Command::ExtendLocks { renewals }) => {
            renewals.len() * (size_of::<Renewal>() + LISTED)
        }
        _ => 0,
    }
}

fn of_add(add: &Add) -> usize {
    size_of::<Add>() + size_of::<NewJob>() + LISTED + add.data.as_ref().map_or(0, |data| data.len()) + of_rare(add)
}

fn of_rare(add: &Add) -> usize {
    let Some(rare) = &add.spec.rare else { return 0 };
    size_of::<RareOptions>() + (rare.depends_on.len() + rare.children_ids.len() + rare.tags.len()) * LISTED
}

/// Of one thing to write.
pub fn of_out(out: &Out) -> usize {
    match out {
        Out::Reply { reply, .. } => of_reply(reply),
        Out::Refused { text, .. } => SMALL + text.len(),
        Out::Hello { .. } | Out::Pong { .. } | Out::Unsubscribed { .. } | Out::Close => SMALL,
        Out::Event(event) => of_event(event),
        Out::Figures { body, .. } => of_figures(body),
    }
}

fn of_figures(body: &serde_json::Value) -> usize {
    match body {
        serde_json::Value::Array(items) => SMALL + items.iter().map(of_figures).sum::<usize>(),
        serde_json::Value::Object(members) => {
            members.iter().map(|(name, value)| name.len() + of_figures(value)).sum::<usize>()
        }
        serde_json::Value::String(text) => text.len(),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => 8,
    }
}

fn of_event(event: &Event) -> usize {
    let payload = match &event.kind {
        EventKind::Completed { result } => result.as_ref().map_or(0, |bytes| bytes.len()),
        EventKind::Failed { error, data, .. } => {
            error.as_ref().map_or(0, String::len) + data.as_ref().map_or(0, of_blob)
        }
        EventKind::Progress { message, .. } => message.as_ref().map_or(0, String::len),
        EventKind::Pushed
        | EventKind::Duplicated { .. }
        | EventKind::Pulled
        | EventKind::Retried
        | EventKind::Stalled { .. }
        | EventKind::Delayed { .. }
        | EventKind::Waiting { .. }
        | EventKind::WaitingChildren
        | EventKind::Removed { .. }
        | EventKind::Paused
        | EventKind::Resumed => 0,
    };
    SMALL + payload
}

fn of_reply(reply: &Reply) -> usize {
    match reply {
        Reply::Pulled { job, .. } => job.as_ref().map_or(SMALL, |job| of_record(&job.record)),
        Reply::PulledBulk { jobs, .. } => SMALL + jobs.iter().map(|job| of_record(&job.record)).sum::<usize>(),
        Reply::Job(record) | Reply::JobByCustomId(record) => of_record(record),
        Reply::Jobs(records) | Reply::Dlq(records) => SMALL + records.iter().map(of_record).sum::<usize>(),
        Reply::Result { result, .. } | Reply::Waited { result, .. } => SMALL + of_blob(result),
        Reply::AddedBulk(added) => SMALL + added.len() * 64,
        Reply::AckBulkIgnored { ignored } => SMALL + ignored.len() * 64,
        Reply::Cleaned(ids) => SMALL + ids.len() * 48,
        Reply::Workers { workers, .. } => SMALL + workers.len() * RECORD,
        Reply::Webhook(webhook::Answer::List(webhooks)) => SMALL + webhooks.len() * RECORD,
        Reply::Flow(answer) => of_flow(answer),
        Reply::Keys { keys, .. } => SMALL + keys.iter().map(|key| SMALL + key.key.len()).sum::<usize>(),
        Reply::Queues(names) => SMALL + names.iter().map(|name| name.len()).sum::<usize>(),
        Reply::Schedule(Answer::One(_)) => RECORD,
        Reply::Schedule(Answer::All(schedules)) => SMALL + schedules.len() * RECORD,
        Reply::Logs { lines, .. } => SMALL + lines.iter().map(|line| line.message.len() + 64).sum::<usize>(),
        Reply::PriorityCounts { counts, .. } => SMALL + counts.len() * 16,
        Reply::Progress { message, .. } => SMALL + message.as_ref().map_or(0, String::len),
        Reply::Ok
        | Reply::Rejected(_)
        | Reply::Added(_)
        | Reply::AlreadyFinalized
        | Reply::DataOk
        | Reply::Renewed { .. }
        | Reply::Count(_)
        | Reply::Worker(_)
        | Reply::WorkerRemoved
        | Reply::Webhook(webhook::Answer::Added(_) | webhook::Answer::Removed)
        | Reply::State { .. }
        | Reply::Counts(_)
        | Reply::LogAdded
        | Reply::KeyOwner(_)
        | Reply::KeysRemoved(_)
        | Reply::Removed(_)
        | Reply::Moved
        | Reply::Paused(_)
        | Reply::DlqStats { .. }
        | Reply::StallConfig(_)
        | Reply::Limits(_)
        | Reply::Group(_)
        | Reply::DlqConfig(_)
        | Reply::Totals { .. } => SMALL,
    }
}

fn of_flow(answer: &flow::Answer) -> usize {
    match answer {
        flow::Answer::Pushed(records) => SMALL + records.iter().map(of_record).sum::<usize>(),
        flow::Answer::Values(values) => SMALL + values.iter().map(|child| SMALL + of_blob(&child.value)).sum::<usize>(),
        flow::Answer::Failures(failures) => {
            SMALL + failures.iter().map(|child| SMALL + child.error.len()).sum::<usize>()
        }
        flow::Answer::Detached(_) => SMALL,
    }
}

fn of_record(record: &JobRecord) -> usize {
    RECORD + of_blob(&record.job.data) + of_blob(&record.job.result)
}

/// What is only on disk is filled in before it is weighed.
fn of_blob(blob: &Blob) -> usize {
    match blob {
        Blob::Here(bytes) => bytes.len(),
        Blob::Absent | Blob::OnDisk => 0,
    }
}
