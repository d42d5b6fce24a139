//! The queues in figures, with what each can be asked to do.

use crate::jobs::counts_of;
use crate::queue_limits;
use crate::view::{Action, Can, QueueConfig, QueueRow, QueuesView};
use onceover_broker::CoreView;
use onceover_broker::history::Second;
use onceover_engine::time::Millis;
use onceover_engine::view::QueueView;

/// How many seconds back the rate of adds looks.
const RATE_SECONDS: usize = 5;

/// Runs on the core thread.
pub fn view(core: &CoreView<'_>) -> QueuesView {
    let mut rows: Vec<QueueRow> = core.engine.queues().iter().map(|queue| row(core, queue)).collect();
    rows.sort_by(|one, other| one.name.cmp(&other.name));
    QueuesView { revision: core.revision, now: core.now.0, rows }
}

/// Of all adds in these seconds, how many of a hundred made no job; none when there were none.
fn collapsed_percent(seconds: &[Second]) -> Option<f64> {
    let sum = |of: fn(&Second) -> u32| seconds.iter().map(|second| u64::from(of(second))).sum::<u64>() as f64;
    let (added, collapsed) = (sum(|second| second.added), sum(|second| second.collapsed));
    (added + collapsed > 0.0).then(|| collapsed * 100.0 / (added + collapsed))
}

fn adds_per_s(seconds: &[Second]) -> f64 {
    let last = &seconds[seconds.len().saturating_sub(RATE_SECONDS)..];
    let adds: u64 = last.iter().map(|second| u64::from(second.added) + u64::from(second.collapsed)).sum();
    adds as f64 / RATE_SECONDS as f64
}

fn row(core: &CoreView<'_>, queue: &QueueView) -> QueueRow {
    let seconds = core.history.of(&queue.name, core.now);
    let waiting = queue.counts.waiting + queue.counts.prioritized + queue.counts.paused;
    let serving = core.engine.workers().filter(|worker| worker.queues.contains(&queue.name)).count();
    // Clients that pull without registering count by the pulls that wait.
    let workers = u32::try_from(serving.max(queue.parked)).unwrap_or(u32::MAX);
    let idle = waiting > 0 && workers == 0 && queue.counts.active == 0;
    let jobs = counts_of(queue.counts);
    let note = match (queue.paused, idle) {
        (true, _) => Some("paused"),
        (false, true) => Some("no workers"),
        (false, false) => None,
    };
    QueueRow {
        name: queue.name.to_string(),
        waiting,
        active: queue.counts.active,
        delayed: queue.counts.delayed,
        waiting_children: queue.counts.waiting_children,
        failed: queue.counts.failed,
        completed: queue.counts.completed,
        keys: queue.keys as u64,
        collapsed_percent: collapsed_percent(&seconds),
        adds_per_s: adds_per_s(&seconds),
        added: seconds.iter().map(|second| second.added).collect(),
        ended: seconds.iter().map(|second| second.ended).collect(),
        oldest_waiting_at: queue.oldest_ready_at.map(|at| at.0),
        workers,
        paused: queue.paused,
        limits: queue_limits::limits(&queue.limits),
        note: note.map(str::to_owned),
        config: QueueConfig {
            stall_detection: queue.stall.enabled,
            stall_interval_ms: ms(queue.stall.stall_interval),
            stalls_max: queue.stall.max_stalls,
            stall_grace_ms: ms(queue.stall.grace_period),
            auto_retry: queue.dlq.auto_retry,
            auto_retry_interval_ms: ms(queue.dlq.auto_retry_interval),
            auto_retries_max: queue.dlq.max_auto_retries,
            dead_age_ms: queue.dlq.max_age.map(ms),
            dead_max: queue.dlq.max_entries.unwrap_or(u32::MAX),
        },
        can: vec![
            can(Action::Pause, queue.paused, "It is paused."),
            can(Action::Resume, !queue.paused, "It is not paused."),
            can(Action::Drain, waiting + queue.counts.delayed == 0, "Nothing waits in it."),
            can(Action::Clean, jobs == 0, "It has no jobs."),
            can(Action::Obliterate, false, ""),
        ],
    }
}

fn ms(time: Millis) -> u64 {
    time.0.max(0).unsigned_abs()
}

fn can(action: Action, refused: bool, reason: &str) -> Can {
    Can { action, allowed: !refused, reason: refused.then(|| reason.to_owned()) }
}

#[cfg(test)]
#[path = "queues_tests.rs"]
mod queues_tests;
