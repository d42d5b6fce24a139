//! The figures in the text format that Prometheus reads (version 0.0.4), by bunqueue's names (protocol-admin.md 11.1).

use crate::core_view::CoreView;
use crate::figures::{CLASS_ENDS_US, Durations};
use crate::monitor::{active_workers, cpu_seconds};
use crate::process_figures::ProcessFigures;
use onceover_engine::reply::{JobCounts, WorkerRecord};
use std::fmt::Write as _;

/// Queues with series of their own; more would make a scrape as large as the broker.
const QUEUES_MAX: usize = 100;

type Count = fn(&JobCounts) -> u64;

/// One scrape.
pub fn text(core: &CoreView<'_>) -> String {
    let mut page = Page(String::with_capacity(8_192));
    jobs(&mut page, core);
    workers(&mut page, core);
    process(&mut page, core);
    queues(&mut page, core);
    let figures = core.figures;
    page.histogram("push", "From the read of an add to the commit of what it did.", &figures.push);
    page.histogram(
        "pull",
        "From the read of an ask for jobs to its answer, or to when it began to wait.",
        &figures.pull,
    );
    page.histogram("ack", "From the read of a job's end to the commit of it.", &figures.ack);
    page.0
}

fn jobs(page: &mut Page, core: &CoreView<'_>) {
    let (counts, totals) = (core.engine.counts(None), core.figures.totals);
    page.gauge("bunqueue_jobs_waiting", "Jobs that are ready.", (counts.waiting + counts.paused) as f64);
    page.gauge("bunqueue_jobs_prioritized", "Jobs that are ready, with a priority.", counts.prioritized as f64);
    page.gauge("bunqueue_jobs_delayed", "Jobs whose time has not come.", counts.delayed as f64);
    page.gauge("bunqueue_jobs_active", "Jobs that workers have.", counts.active as f64);
    page.gauge("bunqueue_jobs_dlq", "Dead letters.", counts.failed as f64);
    page.gauge("bunqueue_jobs_completed", "Completed jobs that are kept.", counts.completed as f64);
    let enabled = core.engine.webhooks().filter(|webhook| webhook.enabled).count() as f64;
    page.gauge("bunqueue_webhooks_registered", "Webhooks.", core.engine.webhooks().count() as f64);
    page.gauge("bunqueue_webhooks_enabled", "Webhooks that are called.", enabled);
    page.counter("bunqueue_jobs_pushed_total", "Jobs made since the start.", totals.pushed as f64);
    page.counter("bunqueue_jobs_pulled_total", "Deliveries since the start.", totals.pulled as f64);
    page.counter("bunqueue_jobs_completed_total", "Completions since the start.", totals.completed as f64);
    page.counter("bunqueue_jobs_failed_total", "Final failures since the start.", totals.failed as f64);
}

fn workers(page: &mut Page, core: &CoreView<'_>) {
    let sum = |of: fn(&WorkerRecord) -> u64| core.engine.workers().map(of).sum::<u64>() as f64;
    let count = core.engine.workers().count() as f64;
    page.gauge("bunqueue_workers_registered", "Registered workers.", count);
    page.gauge("bunqueue_workers_active", "Registered workers that were heard of lately.", active_workers(core) as f64);
    page.gauge("bunqueue_worker_active_jobs", "Jobs that workers say they run.", sum(|worker| worker.active_jobs));
    let slots = sum(|worker| u64::from(worker.concurrency));
    page.gauge("bunqueue_worker_concurrency_slots", "Jobs that all workers could run at once.", slots);
    page.counter(
        "bunqueue_workers_processed_total",
        "Jobs that workers say they completed.",
        sum(|worker| worker.processed),
    );
    page.counter("bunqueue_workers_failed_total", "Jobs that workers say they failed.", sum(|worker| worker.failed));
}

fn process(page: &mut Page, core: &CoreView<'_>) {
    let trouble = f64::from(u8::from(core.notices.trouble().is_some()));
    let uptime = core.figures.uptime().0 as f64 / 1_000.0;
    page.gauge("bunqueue_uptime_seconds", "Time since the start.", uptime);
    page.gauge("bunqueue_storage_degraded", "1 while jobs cannot be stored.", trouble);
    page.gauge("bunqueue_storage_disk_full", "The same, by the name of its usual reason.", trouble);
    page.gauge("bunqueue_sqlite_database_size_bytes", "Size of the data file.", core.store_bytes as f64);
    page.header("bunqueue_connections", "gauge", "Open connections.");
    page.line("bunqueue_connections{transport=\"tcp\"}", core.connections.len() as f64);
    page.line("bunqueue_connections{transport=\"sse\"}", core.streams as f64);
    page.header("bunqueue_build_info", "gauge", "The program.");
    page.line(
        concat!("bunqueue_build_info{implementation=\"onceover\",version=\"", env!("CARGO_PKG_VERSION"), "\"}"),
        1.0,
    );
    let process = ProcessFigures::now();
    if let Some(bytes) = process.resident_bytes {
        page.gauge("bunqueue_process_resident_memory_bytes", "Memory of the process.", bytes as f64);
        page.gauge("process_resident_memory_bytes", "Memory of the process.", bytes as f64);
    }
    if let Some(seconds) = cpu_seconds(&process) {
        page.counter("process_cpu_seconds_total", "Processor time of the process.", seconds);
    }
    page.gauge("process_start_time_seconds", "When it started.", core.now.0 as f64 / 1_000.0 - uptime);
}

fn queues(page: &mut Page, core: &CoreView<'_>) {
    let queues = core.engine.queues();
    let shown = &queues[..queues.len().min(QUEUES_MAX)];
    page.gauge("bunqueue_queue_metrics_exported", "Queues with series of their own.", shown.len() as f64);
    page.gauge("bunqueue_queue_metrics_omitted", "Queues without.", (queues.len() - shown.len()) as f64);
    let states: [(&str, Count); 5] = [
        ("waiting", |counts| counts.waiting + counts.paused),
        ("prioritized", |counts| counts.prioritized),
        ("delayed", |counts| counts.delayed),
        ("active", |counts| counts.active),
        ("dlq", |counts| counts.failed),
    ];
    for (state, count) in states {
        let name = format!("bunqueue_queue_jobs_{state}");
        page.header(&name, "gauge", "Jobs of one queue.");
        for queue in shown {
            page.line(&format!("{name}{{queue=\"{}\"}}", escaped(&queue.name)), count(&queue.counts) as f64);
        }
    }
}

/// Names of queues have no such characters today; a label must not break whatever they become.
fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

struct Page(String);

impl Page {
    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.header(name, "gauge", help);
        self.line(name, value);
    }

    fn counter(&mut self, name: &str, help: &str, value: f64) {
        self.header(name, "counter", help);
        self.line(name, value);
    }

    fn histogram(&mut self, what: &str, help: &str, durations: &Durations) {
        let name = format!("bunqueue_{what}_duration_seconds");
        self.header(&name, "histogram", help);
        let mut below = 0;
        for (end, count) in CLASS_ENDS_US.iter().zip(durations.counts) {
            below += count;
            self.line(&format!("{name}_bucket{{le=\"{}\"}}", *end as f64 / 1e6), below as f64);
        }
        let all = durations.count() as f64;
        self.line(&format!("{name}_bucket{{le=\"+Inf\"}}"), all);
        self.line(&format!("{name}_sum"), durations.sum.as_secs_f64());
        self.line(&format!("{name}_count"), all);
    }

    fn header(&mut self, name: &str, kind: &str, help: &str) {
        self.put(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    fn line(&mut self, series: &str, value: f64) {
        self.put(format_args!("{series} {value}\n"));
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.0.write_fmt(text).expect("a string that grows takes any text");
    }
}
