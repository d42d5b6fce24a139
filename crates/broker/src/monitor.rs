//! Figures of the whole broker as trees: what monitoring commands answer and what dashboards ask for over HTTP
//! (protocol-admin.md 11 and 13.3). Members are in JSON's form; `wire` writes them as MessagePack for TCP.
//!
//! What this broker does not measure is left out rather than sent as a zero: sizes of the garbage collector's heap, backups.

use crate::core_view::CoreView;
use crate::figures::Durations;
use crate::process_figures::{CPU_UNIT, ProcessFigures};
use crate::prometheus;
use onceover_engine::command::StateName;
use onceover_engine::job::Job;
use onceover_engine::reply::{JobCounts, WorkerRecord};
use onceover_engine::schedule::{Schedule, Timing};
use onceover_engine::view::{JobsQuery, Look, QueueView};
use onceover_wire::request::Monitor;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Workers or schedules that an overview lists.
const LISTED_MAX: usize = 100;
/// Queues in the snapshot that streams are told.
const SNAPSHOT_QUEUES_MAX: usize = 1_000;
/// Dead letters, and jobs of a state, that the page of a queue shows.
const PREVIEW: usize = 10;
/// Bytes of a payload that is shown in a preview.
const PREVIEW_BYTES_MAX: usize = 64 * 1024;
const MIB: f64 = 1_048_576.0;

/// The members of the answer to a command.
pub fn answer(core: &CoreView<'_>, question: &Monitor) -> Value {
    match question {
        Monitor::Stats => json!({ "stats": short_stats(core) }),
        Monitor::Metrics => json!({ "metrics": metrics(core) }),
        Monitor::QueueMetrics { queue, failed, start, end } => {
            json!({ "data": queue_metrics(core, queue, *failed, *start, *end) })
        }
        Monitor::Prometheus => json!({ "data": { "metrics": prometheus::text(core) } }),
        Monitor::StorageStatus => json!({ "data": storage(core) }),
        Monitor::CompactMemory => json!({}),
        Monitor::Overview => json!({ "data": command_overview(core) }),
        Monitor::Queues => json!({ "data": { "queues": queue_list(core), "timestamp": core.now.0 } }),
        Monitor::Queue { queue, jobs } => json!({ "data": queue_page(core, queue, *jobs) }),
        Monitor::TrimEvents => json!({ "data": { "removed": 0 } }),
    }
}

fn short_stats(core: &CoreView<'_>) -> Value {
    let (counts, figures) = (core.engine.counts(None), core.figures);
    json!({
        "waiting": counts.waiting,
        "active": counts.active,
        "delayed": counts.delayed,
        "dlq": counts.failed,
        "completed": figures.totals.completed,
        "failed": figures.totals.failed,
        "uptime": figures.uptime().0,
        "pushPerSec": figures.pushed.per_second(core.now),
        "pullPerSec": figures.pulled.per_second(core.now),
    })
}

fn metrics(core: &CoreView<'_>) -> Value {
    let Value::Object(mut all) = totals(core) else { unreachable!("totals are an object") };
    all.insert("avgLatencyMs".to_owned(), json!(core.figures.push.mean_ms()));
    if let Some(mean) = core.figures.mean_work_ms() {
        all.insert("avgProcessingMs".to_owned(), json!(mean));
    }
    if let Some(resident) = ProcessFigures::now().resident_bytes {
        all.insert("memoryUsageMb".to_owned(), mebibytes(resident));
    }
    all.insert("sqliteSizeMb".to_owned(), mebibytes(core.store_bytes));
    all.insert("activeConnections".to_owned(), json!(core.connections.len()));
    Value::Object(all)
}

/// Completions or final failures of a queue since the start, per minute and all together.
fn queue_metrics(core: &CoreView<'_>, queue: &Arc<str>, failed: bool, start: usize, end: Option<usize>) -> Value {
    let minutes = core.history.minutes(queue, failed, core.engine.totals_of(queue), core.now);
    let data = minutes.data();
    let end = end.map_or(data.len(), |end| end.saturating_add(1).min(data.len()));
    json!({
        "meta": {
            "count": minutes.total,
            "prevTS": minutes.last_at.map_or(0, |at| at.0),
            "prevCount": minutes.newest(),
        },
        "data": data.get(start..end).unwrap_or_default(),
        "count": data.len(),
    })
}

/// `totalPushed` and so on, since the start.
pub fn totals(core: &CoreView<'_>) -> Value {
    let totals = core.figures.totals;
    json!({
        "totalPushed": totals.pushed,
        "totalPulled": totals.pulled,
        "totalCompleted": totals.completed,
        "totalFailed": totals.failed,
    })
}

/// Whether jobs can be stored: `{diskFull, error, since}`.
pub fn storage(core: &CoreView<'_>) -> Value {
    let trouble = core.notices.trouble();
    // Any file that cannot be written counts as a full disk: clients know no other reason.
    json!({
        "diskFull": trouble.is_some(),
        "error": trouble.map(|trouble| &trouble.error),
        "since": trouble.map(|trouble| trouble.since.0),
    })
}

/// Jobs by state and totals, in the names of HTTP's `/stats`.
pub fn stats(core: &CoreView<'_>) -> Value {
    let (counts, figures) = (core.engine.counts(None), core.figures);
    let Value::Object(mut all) = totals(core) else { unreachable!("totals are an object") };
    let Value::Object(rates) = throughput(core) else { unreachable!("rates are an object") };
    all.extend(states(&counts));
    all.extend(rates);
    all.insert("uptime".to_owned(), json!(figures.uptime().0));
    all.insert("cronJobs".to_owned(), json!(core.engine.schedules().count()));
    // Those that will run again.
    all.insert("cronPending".to_owned(), json!(core.engine.schedules().filter(|one| !one.is_exhausted()).count()));
    Value::Object(all)
}

fn states(counts: &JobCounts) -> Map<String, Value> {
    let pairs = [
        ("waiting", counts.waiting),
        ("prioritized", counts.prioritized),
        ("delayed", counts.delayed),
        ("active", counts.active),
        ("dlq", counts.failed),
        ("completed", counts.completed),
        ("waiting-children", counts.waiting_children),
        ("paused", counts.paused),
    ];
    pairs.into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect()
}

fn throughput(core: &CoreView<'_>) -> Value {
    let figures = core.figures;
    json!({
        "pushPerSec": figures.pushed.per_second(core.now),
        "pullPerSec": figures.pulled.per_second(core.now),
        "completePerSec": figures.completed.per_second(core.now),
        "failPerSec": figures.failed.per_second(core.now),
    })
}

fn latency(core: &CoreView<'_>) -> Value {
    let figures = core.figures;
    let shares = |of: &Durations| json!({ "p50": of.percentile_ms(0.5), "p95": of.percentile_ms(0.95), "p99": of.percentile_ms(0.99) });
    json!({
        "averages": {
            "pushMs": figures.push.mean_ms(),
            "pullMs": figures.pull.mean_ms(),
            "ackMs": figures.ack.mean_ms(),
        },
        "percentiles": { "push": shares(&figures.push), "pull": shares(&figures.pull), "ack": shares(&figures.ack) },
    })
}

/// Memory in MB. There is no heap with a collector, so all of it counts as used.
pub fn memory() -> Value {
    let resident = ProcessFigures::now().resident_bytes.map(mebibytes);
    json!({ "heapUsed": resident, "heapTotal": resident, "rss": resident })
}

/// Sizes of what is held in memory.
pub fn collections(core: &CoreView<'_>) -> Value {
    let (engine, counts) = (core.engine, core.engine.counts(None));
    json!({
        "jobIndex": engine.jobs_len(),
        "completedJobs": counts.completed,
        "customIdMap": engine.custom_ids_len(),
        "dedupKeys": engine.keys_len(),
        "jobLocks": counts.active,
        "processingTotal": counts.active,
        "queuedTotal": counts.waiting + counts.prioritized + counts.paused,
        "waitingDepsTotal": counts.waiting_children,
        "delayedHeapTotal": counts.delayed,
    })
}

/// HTTP's `/dashboard`, without `ok`.
pub fn dashboard(core: &CoreView<'_>) -> Value {
    let Value::Object(mut stats) = totals(core) else { unreachable!("totals are an object") };
    stats.extend(states(&core.engine.counts(None)));
    stats.insert("uptime".to_owned(), json!(core.figures.uptime().0));
    json!({
        "stats": stats,
        "throughput": throughput(core),
        "latency": latency(core),
        "memory": memory(),
        "collections": collections(core),
        "workers": workers(core),
        "crons": crons(core),
        "storage": storage(core),
        "timestamp": core.now.0,
    })
}

/// The same as the command answers it.
fn command_overview(core: &CoreView<'_>) -> Value {
    let mut all = dashboard(core);
    if let Some(workers) = all["workers"].as_object_mut() {
        workers.remove("truncated");
    }
    all["crons"] = all["crons"]["list"].take();
    all
}

fn crons(core: &CoreView<'_>) -> Value {
    let total = core.engine.schedules().count();
    let list: Vec<Value> = core.engine.schedules().take(LISTED_MAX).map(cron).collect();
    json!({ "total": total, "list": list, "truncated": total > LISTED_MAX })
}

/// A schedule in the few words of an overview.
fn cron(schedule: &Schedule) -> Value {
    let rule = &*schedule.rule;
    let (pattern, every) = match &rule.timing {
        Timing::Calendar(pattern) => (Some(&**pattern.text()), rule.also_every),
        Timing::Every(every) => (None, Some(*every)),
    };
    json!({
        "name": &*rule.name,
        "queue": &*rule.spec.queue,
        "schedule": pattern,
        "repeatEvery": every,
        "nextRun": schedule.next_run,
        "executions": schedule.executions,
    })
}

fn workers(core: &CoreView<'_>) -> Value {
    let all: Vec<&WorkerRecord> = core.engine.workers().collect();
    let list: Vec<Value> = all.iter().take(LISTED_MAX).map(|worker| short_worker(worker)).collect();
    let active = active_workers(core);
    json!({ "total": all.len(), "active": active, "truncated": all.len() > LISTED_MAX, "list": list })
}

/// Registered workers that were heard of lately.
pub(crate) fn active_workers(core: &CoreView<'_>) -> usize {
    core.engine.workers().filter(|worker| !worker.is_stale(core.now)).count()
}

/// A worker in the few words of an overview.
pub fn short_worker(worker: &WorkerRecord) -> Value {
    json!({
        "id": worker.worker_id,
        "name": worker.name,
        "queues": worker.queues.iter().map(|queue| &**queue).collect::<Vec<_>>(),
        "lastSeen": worker.last_seen.0,
        "activeJobs": worker.active_jobs,
        "processedJobs": worker.processed,
        "failedJobs": worker.failed,
    })
}

/// All queues, each with its jobs by state.
pub fn queue_list(core: &CoreView<'_>) -> Vec<Value> {
    core.engine.queues().iter().map(short_queue).collect()
}

/// Ready jobs of a paused queue are waiting here, as everywhere where `paused` is a flag.
fn short_queue(queue: &QueueView) -> Value {
    let counts = queue.counts;
    json!({
        "name": &*queue.name,
        "waiting": counts.waiting + counts.paused,
        "prioritized": counts.prioritized,
        "delayed": counts.delayed,
        "active": counts.active,
        "dlq": counts.failed,
        "paused": queue.paused,
    })
}

/// HTTP's `/queues/summary`.
pub fn summary(core: &CoreView<'_>) -> Value {
    let of = |queue: &QueueView| json!({ "name": &*queue.name, "paused": queue.paused, "counts": queue_counts(&queue.counts) });
    core.engine.queues().iter().map(of).collect()
}

/// A queue's jobs by state, as `queue:counts` tells them.
pub fn queue_counts(counts: &JobCounts) -> Value {
    json!({
        "waiting": counts.waiting + counts.paused,
        "prioritized": counts.prioritized,
        "active": counts.active,
        "completed": counts.completed,
        "failed": counts.failed,
        "delayed": counts.delayed,
    })
}

/// HTTP's `/dashboard/queues/:q`, without `ok`. A queue that nobody knows has zeros.
pub fn queue_page(core: &CoreView<'_>, queue: &Arc<str>, jobs: Option<usize>) -> Value {
    let counts = core.engine.counts(Some(queue));
    let totals = core.engine.totals_of(queue);
    let paused = core.engine.queues().iter().any(|known| known.name == *queue && known.paused);
    let priorities: Map<String, Value> =
        core.engine.priorities(queue).map(|(priority, count)| (priority.to_string(), json!(count))).collect();
    let mut page = json!({
        "name": &**queue,
        "counts": {
            "waiting": counts.waiting,
            "prioritized": counts.prioritized,
            "delayed": counts.delayed,
            "active": counts.active,
            "completed": counts.completed,
            "failed": counts.failed,
            "waiting-children": counts.waiting_children,
            "totalCompleted": totals.completed,
            "totalFailed": totals.failed,
            "paused": counts.paused,
        },
        "paused": paused,
        "priorityCounts": priorities,
        "dlqPreview": listed(core, queue, StateName::Failed, PREVIEW, dead_letter),
        "timestamp": core.now.0,
    });
    if let Some(limit) = jobs {
        let of = |state| listed(core, queue, state, limit, short_job);
        let mut ready = of(StateName::Prioritized);
        ready.extend(of(StateName::Waiting));
        ready.truncate(limit);
        let (waiting, held) = if paused { (Vec::new(), ready) } else { (ready, Vec::new()) };
        page["jobs"] = json!({
            "waiting": waiting,
            "active": of(StateName::Active),
            "delayed": of(StateName::Delayed),
            "paused": held,
        });
    }
    page
}

fn listed(
    core: &CoreView<'_>,
    queue: &Arc<str>,
    state: StateName,
    limit: usize,
    show: fn(&CoreView<'_>, &Job) -> Value,
) -> Vec<Value> {
    let query = JobsQuery { queue: Some(Arc::clone(queue)), state: Some(state), after: None, limit };
    let page = core.engine.jobs_page(&query, core.now, &mut |_| Look::Take);
    page.jobs.iter().filter_map(|key| core.engine.job_by_key(*key)).map(|job| show(core, job)).collect()
}

fn short_job(_: &CoreView<'_>, job: &Job) -> Value {
    json!({
        "id": job.id.to_string(),
        "priority": job.priority,
        "createdAt": job.created_at.0,
        "runAt": job.run_at.0,
        "attempts": job.attempts,
        "progress": job.progress,
    })
}

fn dead_letter(core: &CoreView<'_>, job: &Job) -> Value {
    // A preview: a payload that is large, or cannot be read, is not worth the wait of everybody else.
    let data = core.payload_of(job).ok().flatten().filter(|bytes| bytes.len() <= PREVIEW_BYTES_MAX);
    let data = data.map(|bytes| onceover_wire::json::to_tree(&bytes));
    json!({ "id": job.id.to_string(), "data": data, "attempts": job.attempts, "createdAt": job.created_at.0 })
}

/// HTTP's `/health`, with `ok`, and whether all is well.
pub fn health(core: &CoreView<'_>) -> (bool, Value) {
    let counts = core.engine.counts(None);
    let well = core.notices.trouble().is_none();
    let mut health = json!({
        "ok": well,
        "status": if well { "healthy" } else { "degraded" },
        "uptime": core.figures.uptime().0 / 1_000,
        "version": env!("CARGO_PKG_VERSION"),
        "queues": {
            "waiting": counts.waiting + counts.prioritized + counts.paused,
            "active": counts.active,
            "delayed": counts.delayed,
            "completed": counts.completed,
            "dlq": counts.failed,
        },
        "connections": { "tcp": core.connections.len(), "ws": 0, "sse": core.streams },
        "memory": memory(),
    });
    if !well {
        health["storage"] = storage(core);
    }
    (well, health)
}

/// What a stream is told every few seconds.
pub fn snapshot(core: &CoreView<'_>) -> Value {
    let (counts, figures) = (core.engine.counts(None), core.figures);
    let of = |queue: &QueueView| {
        let counts = queue.counts;
        let members = json!({
            "waiting": counts.waiting + counts.prioritized + counts.paused,
            "active": counts.active,
            "delayed": counts.delayed,
            "dlq": counts.failed,
            "paused": queue.paused,
        });
        (queue.name.to_string(), members)
    };
    let queues: Map<String, Value> = core.engine.queues().iter().take(SNAPSHOT_QUEUES_MAX).map(of).collect();
    let workers = core.engine.workers().count();
    json!({
        "waiting": counts.waiting + counts.prioritized + counts.paused,
        "active": counts.active,
        "delayed": counts.delayed,
        "completed": counts.completed,
        "dlq": counts.failed,
        "totalPushed": figures.totals.pushed,
        "totalCompleted": figures.totals.completed,
        "totalFailed": figures.totals.failed,
        "pushPerSec": figures.pushed.per_second(core.now),
        "pullPerSec": figures.pulled.per_second(core.now),
        "uptime": figures.uptime().0,
        "queues": queues,
        "workers": { "total": workers, "active": active_workers(core) },
        "cronJobs": core.engine.schedules().count(),
    })
}

fn mebibytes(bytes: u64) -> Value {
    json!((bytes as f64 / MIB * 100.0).round() / 100.0)
}

/// Seconds of processor time, for Prometheus.
pub(crate) fn cpu_seconds(figures: &ProcessFigures) -> Option<f64> {
    figures.cpu_ticks.map(|ticks| ticks as f64 / CPU_UNIT)
}

#[cfg(test)]
#[path = "monitor_tests.rs"]
mod monitor_tests;
