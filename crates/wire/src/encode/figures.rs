//! Counts, workers, configuration, totals: maps of small values.

use super::job::{millis, time};
use crate::msgpack::write::{self, MapWriter};
use bytes::BytesMut;
use onceover_engine::dead::DlqConfig;
use onceover_engine::reply::{DlqStats, JobCounts, StallConfig, Totals, WorkerRecord};
use onceover_engine::time::Timestamp;
use std::sync::Arc;

/// All reasons that clients know, whether or not this broker has them.
const REASONS: [&str; 7] =
    ["explicit_fail", "max_attempts_exceeded", "timeout", "stalled", "ttl_expired", "worker_lost", "unknown"];

pub fn counts(map: &mut MapWriter<'_>, counts: &JobCounts) {
    map.int("waiting", counts.waiting as i64);
    map.int("prioritized", counts.prioritized as i64);
    map.int("delayed", counts.delayed as i64);
    map.int("active", counts.active as i64);
    map.int("completed", counts.completed as i64);
    map.int("failed", counts.failed as i64);
    map.int("waiting-children", counts.waiting_children as i64);
    map.int("paused", counts.paused as i64);
}

pub fn priority_counts(map: &mut MapWriter<'_>, queue: &str, counts: &[(i32, u64)]) {
    map.str("queue", queue);
    let out = map.key("counts");
    // There are two million priorities, more than a MapWriter counts.
    write::map(out, counts.len());
    for (priority, count) in counts {
        write::str(out, &priority.to_string());
        write::int(out, *count as i64);
    }
}

pub fn worker(data: &mut MapWriter<'_>, worker: &WorkerRecord) {
    data.str("workerId", &worker.worker_id);
    data.str("status", "active");
    worker_fields(data, worker);
}

/// `totals`: jobs completed and failed since the start, by all workers.
pub fn workers(data: &mut MapWriter<'_>, workers: &[WorkerRecord], totals: [u64; 2], now: Timestamp) {
    data.list("workers", workers.iter(), |out, worker| listed_worker(out, worker, now));
    let total = |figure: fn(&WorkerRecord) -> u64| workers.iter().map(figure).fold(0, u64::saturating_add) as i64;
    let mut stats = data.map("stats");
    stats.int("total", workers.len() as i64);
    stats.int("active", workers.iter().filter(|worker| !worker.is_stale(now)).count() as i64);
    stats.int("totalProcessed", totals[0] as i64);
    stats.int("totalFailed", totals[1] as i64);
    stats.int("activeJobs", total(|worker| worker.active_jobs));
    stats.int("concurrencySlots", total(|worker| u64::from(worker.concurrency)));
}

fn listed_worker(out: &mut BytesMut, worker: &WorkerRecord, now: Timestamp) {
    let mut map = MapWriter::begin(out);
    map.str("id", &worker.worker_id);
    map.str("status", if worker.is_stale(now) { "stale" } else { "active" });
    map.int("uptime", now.since(worker.registered_at).0);
    worker_fields(&mut map, worker);
}

fn worker_fields(map: &mut MapWriter<'_>, worker: &WorkerRecord) {
    map.str("name", &worker.name);
    map.strs("queues", &worker.queues);
    map.int("concurrency", i64::from(worker.concurrency));
    map.str("hostname", &worker.hostname);
    map.int("pid", worker.pid as i64);
    map.time("registeredAt", worker.registered_at.0);
    map.time("lastSeen", worker.last_seen.0);
    map.int("activeJobs", worker.active_jobs as i64);
    map.int("processedJobs", worker.processed as i64);
    map.int("failedJobs", worker.failed as i64);
    // bunqueue never names one either.
    map.nil("currentJob");
}

pub fn dlq_stats(data: &mut MapWriter<'_>, queue: &Arc<str>, stats: &DlqStats) {
    let mut map = data.map("stats");
    map.int("total", stats.total as i64);
    let mut by_reason = map.map("byReason");
    for reason in REASONS {
        let count = stats.by_reason.iter().find(|(name, _)| *name == reason).map_or(0, |(_, count)| *count);
        by_reason.int(reason, count as i64);
    }
    drop(by_reason);
    map.map("byQueue").int(queue, stats.total as i64);
    map.int("pendingRetry", stats.pending_retry as i64);
    // What is past its age is removed before anybody can ask.
    map.int("expired", 0);
    map.or_nil("oldestEntry", stats.oldest, time);
    map.or_nil("newestEntry", stats.newest, time);
}

pub fn dlq_config(map: &mut MapWriter<'_>, config: &DlqConfig) {
    map.bool("autoRetry", config.auto_retry);
    millis(map.key("autoRetryInterval"), config.auto_retry_interval);
    map.int("maxAutoRetries", i64::from(config.max_auto_retries));
    map.or_nil("maxAge", config.max_age, millis);
    map.or_nil("maxEntries", config.max_entries.map(i64::from), write::int);
}

pub fn stall_config(map: &mut MapWriter<'_>, config: &StallConfig) {
    map.bool("enabled", config.enabled);
    millis(map.key("stallInterval"), config.stall_interval);
    map.int("maxStalls", i64::from(config.max_stalls));
    millis(map.key("gracePeriod"), config.grace_period);
}

/// Stats reads `stats`, Metrics reads `metrics`; one answer serves both. Rates, latencies and sizes are not measured
/// here and left out rather than sent as zeros.
pub fn broker_totals(map: &mut MapWriter<'_>, totals: &Totals, counts: &JobCounts) {
    let mut stats = map.map("stats");
    stats.int("waiting", counts.waiting as i64);
    stats.int("active", counts.active as i64);
    stats.int("delayed", counts.delayed as i64);
    stats.int("dlq", counts.failed as i64);
    stats.int("completed", totals.completed as i64);
    stats.int("failed", totals.failed as i64);
    drop(stats);
    let mut metrics = map.map("metrics");
    metrics.int("totalPushed", totals.pushed as i64);
    metrics.int("totalPulled", totals.pulled as i64);
    metrics.int("totalCompleted", totals.completed as i64);
    metrics.int("totalFailed", totals.failed as i64);
}
