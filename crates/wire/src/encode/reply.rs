//! The answers to engine commands, one arm per shape.

use super::job::{self, Extras, millis, time};
use super::{EncodeCtx, figures, flow, group, limit, schedule, webhook, write_id, write_ids};
use crate::msgpack::write::{self, MapWriter};
use bytes::BytesMut;
use onceover_engine::command::StateName;
use onceover_engine::job::{Blob, LogLine};
use onceover_engine::names::JobId;
use onceover_engine::reply::{Added, Delivered, JobRecord, KeyRecord, Reply};
use onceover_engine::time::Timestamp;

/// `{ok: false, error}`.
pub fn refusal(map: &mut MapWriter<'_>, text: &str) {
    map.bool("ok", false);
    map.str("error", text);
}

/// Everything of an answer but its request number.
pub fn reply(map: &mut MapWriter<'_>, reply: &Reply, ctx: EncodeCtx) {
    map.bool("ok", !matches!(reply, Reply::Rejected(_)));
    match reply {
        Reply::Ok => {}
        Reply::Rejected(rejection) => map.str("error", &rejection.to_string()),
        Reply::Added(one) => added(map, one),
        Reply::AddedBulk(all) => write_ids(map.key("ids"), all.iter().map(|one| &one.id)),
        Reply::Pulled { job, locked } => pulled(map, job.as_deref(), *locked, ctx),
        Reply::PulledBulk { jobs, locked } => pulled_bulk(map, jobs, *locked, ctx),
        Reply::AlreadyFinalized => already_finalized(&mut map.map("data")),
        Reply::AckBulkIgnored { ignored } => ignored_acks(&mut map.map("data"), ignored),
        Reply::DataOk => map.map("data").bool("ok", true),
        Reply::Renewed { count } => renewed(&mut map.map("data"), *count),
        Reply::Count(count) => map.int("count", *count as i64),
        Reply::Worker(worker) => figures::worker(&mut map.map("data"), worker),
        Reply::WorkerRemoved => map.map("data").bool("removed", true),
        Reply::Workers { workers, processed, failed, now } => {
            figures::workers(&mut map.map("data"), workers, [*processed, *failed], *now);
        }
        Reply::Webhook(answer) => webhook::answer(map, answer),
        Reply::Job(record) => job::record(map.key("job"), record, Extras::StateAndOutcome, ctx),
        Reply::JobByCustomId(record) => job::record(map.key("job"), record, Extras::Outcome, ctx),
        Reply::Jobs(records) => jobs(map, records, Extras::StateAndOutcome, ctx),
        Reply::State { id, state } => {
            write_id(map.key("id"), id);
            map.str("state", state.map_or("unknown", StateName::as_str));
        }
        Reply::Result { id, key: _, result } => {
            write_id(map.key("id"), id);
            blob(map, "result", result);
        }
        Reply::Progress { progress, message } => {
            map.number("progress", *progress);
            map.or_nil("message", message.as_deref(), write::str);
        }
        Reply::Counts(counts) => figures::counts(&mut map.map("counts"), counts),
        Reply::PriorityCounts { queue, counts } => figures::priority_counts(map, queue, counts),
        Reply::Waited { key: _, completed, result, failed } => {
            map.bool("completed", *completed);
            blob(map, "result", result);
            if let Some(reason) = failed {
                map.str("failedReason", reason);
            }
        }
        Reply::LogAdded => map.map("data").bool("added", true),
        Reply::Logs { lines, total } => logs(&mut map.map("data"), lines, *total),
        Reply::KeyOwner(id) => map.map("data").or_nil("jobId", id.as_ref(), write_id),
        Reply::KeysRemoved(count) => map.map("data").int("count", *count as i64),
        Reply::Removed(removed) => map.map("data").bool("removed", *removed),
        Reply::Keys { keys, total, now } => page_of_keys(&mut map.map("data"), keys, *total, *now),
        Reply::Flow(about) => flow::answer(map, about, ctx),
        Reply::Moved => map.map("data").bool("moved", true),
        Reply::Paused(paused) => map.bool("paused", *paused),
        Reply::Cleaned(ids) => cleaned(map, ids),
        Reply::Queues(queues) => map.strs("queues", queues),
        Reply::Dlq(records) => dead_letters(map, records, ctx),
        Reply::DlqStats { queue, stats } => figures::dlq_stats(&mut map.map("data"), queue, stats),
        Reply::Limits(standing) => limit::standing(&mut map.map("data"), standing),
        Reply::Group(answer) => group::answer(map, answer),
        Reply::StallConfig(config) => figures::stall_config(&mut map.map("config"), config),
        Reply::Schedule(answer) => schedule::answer(map, answer),
        Reply::DlqConfig(config) => figures::dlq_config(&mut map.map("config"), config),
        Reply::Totals { totals, counts } => figures::broker_totals(map, totals, counts),
    }
}

/// An add, with what only our own tools look at: which rule returned another job, and which job was removed.
fn added(map: &mut MapWriter<'_>, added: &Added) {
    write_id(map.key("id"), &added.id);
    if let Some(rule) = added.duplicate {
        map.str("duplicate", rule);
    }
    if let Some(replaced) = &added.replaced {
        write_id(map.key("replaced"), replaced);
    }
}

fn pulled(map: &mut MapWriter<'_>, delivered: Option<&Delivered>, locked: bool, ctx: EncodeCtx) {
    map.or_nil("job", delivered, |out, delivered| job::record(out, &delivered.record, Extras::None, ctx));
    if locked {
        map.or_nil("token", delivered.and_then(|delivered| delivered.token.as_deref()), write::str);
    }
}

fn pulled_bulk(map: &mut MapWriter<'_>, delivered: &[Delivered], locked: bool, ctx: EncodeCtx) {
    map.list("jobs", delivered.iter(), |out, one| job::record(out, &one.record, Extras::None, ctx));
    if locked {
        // Clients match tokens with jobs by position, so a missing one is an empty text.
        map.list("tokens", delivered.iter(), |out, one| write::str(out, one.token.as_deref().unwrap_or_default()));
    }
}

fn already_finalized(data: &mut MapWriter<'_>) {
    data.bool("applied", false);
    data.str("reason", "already-finalized");
}

fn ignored_acks(data: &mut MapWriter<'_>, ignored: &[(usize, JobId)]) {
    data.list("ignoredIndices", ignored.iter(), |out, (at, _)| write::int(out, *at as i64));
    data.list("ignoredIds", ignored.iter(), |out, (_, id)| write_id(out, id));
}

fn renewed(data: &mut MapWriter<'_>, count: u64) {
    data.bool("ok", true);
    data.int("count", count as i64);
}

fn jobs(map: &mut MapWriter<'_>, records: &[JobRecord], extras: Extras, ctx: EncodeCtx) {
    map.list("jobs", records.iter(), |out, record| job::record(out, record, extras, ctx));
}

/// The jobs twice: some clients read `jobs`, others `entries`.
fn dead_letters(map: &mut MapWriter<'_>, records: &[JobRecord], ctx: EncodeCtx) {
    jobs(map, records, Extras::None, ctx);
    map.list("entries", records.iter(), |out, dead| job::dead_letter(out, dead, ctx));
}

fn cleaned(map: &mut MapWriter<'_>, ids: &[JobId]) {
    map.int("count", ids.len() as i64);
    write_ids(map.key("ids"), ids.iter());
}

/// A result: absent means that there is none, nil that the job completed with null.
fn blob(map: &mut MapWriter<'_>, key: &str, blob: &Blob) {
    match blob {
        Blob::Here(bytes) => map.raw(key, bytes),
        Blob::Absent | Blob::OnDisk => {}
    }
}

fn logs(data: &mut MapWriter<'_>, lines: &[LogLine], total: u64) {
    data.list("logs", lines.iter(), |out, line| {
        let mut map = MapWriter::begin(out);
        map.time("timestamp", line.at.0);
        map.str("level", &line.level);
        map.str("message", &line.message);
    });
    data.int("count", total as i64);
}

fn page_of_keys(data: &mut MapWriter<'_>, keys: &[KeyRecord], total: u64, now: Timestamp) {
    data.list("keys", keys.iter(), |out, key| key_record(out, key, now));
    data.int("total", total as i64);
    data.time("now", now.0);
}

fn key_record(out: &mut BytesMut, key: &KeyRecord, now: Timestamp) {
    let mut map = MapWriter::begin(out);
    map.str("queue", &key.queue);
    map.str("key", &key.key);
    write_id(map.key("jobId"), &key.job_id);
    map.str("state", key.state.map_or("gone", StateName::as_str));
    map.or_nil("ttl", key.ttl, millis);
    map.or_nil("expiresAt", key.expires_at, time);
    map.or_nil("remainingMs", key.expires_at.map(|end| end.since(now)), millis);
    map.time("registeredAt", key.registered_at.0);
    map.int("hits", key.hits as i64);
}
