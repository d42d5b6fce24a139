//! The queues in figures, with what each can be asked to do. Rates come from the log of adds, so they reach back as far as
//! the log does.

use crate::jobs::counts_of;
use crate::view::{Action, Can, QueueRow, QueuesView};
use crate::words;
use onceover_broker::CoreView;
use onceover_broker::history::Second;
use onceover_engine::time::{Millis, Timestamp};
use onceover_engine::view::QueueView;
use std::collections::HashMap;

/// How far back the share of collapsed adds looks.
const SHARE_OVER: Millis = Millis(60_000);
/// How far back the rate of adds looks.
const RATE_OVER: Millis = Millis(5_000);

/// Adds of one queue in the last minute.
#[derive(Clone, Copy, Debug, Default)]
struct Lately {
    all: u64,
    collapsed: u64,
    in_rate: u64,
}

/// Runs on the core thread.
pub fn view(core: &CoreView<'_>) -> QueuesView {
    let lately = lately(core);
    let mut rows: Vec<QueueRow> = core
        .engine
        .queues()
        .iter()
        .map(|queue| row(core, queue, lately.get(&*queue.name).copied().unwrap_or_default()))
        .collect();
    rows.sort_by(|one, other| one.name.cmp(&other.name));
    QueuesView { revision: core.revision, now: core.now.0, rows }
}

fn lately<'a>(core: &'a CoreView<'_>) -> HashMap<&'a str, Lately> {
    let since = |over: Millis| Timestamp(core.now.0 - over.0);
    let mut queues: HashMap<&str, Lately> = HashMap::new();
    for entry in core.activity.iter().take_while(|entry| entry.at() > since(SHARE_OVER)) {
        let Some(record) = entry.decided() else { continue };
        let counts = queues.entry(&*record.spec.queue).or_default();
        counts.all += 1;
        counts.collapsed += u64::from(words::is_collapsed(record.decision.code));
        counts.in_rate += u64::from(entry.at() > since(RATE_OVER));
    }
    queues
}

fn row(core: &CoreView<'_>, queue: &QueueView, lately: Lately) -> QueueRow {
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
        collapsed_percent: (lately.all > 0).then(|| lately.collapsed as f64 * 100.0 / lately.all as f64),
        adds_per_s: lately.in_rate as f64 * 1_000.0 / RATE_OVER.0 as f64,
        added: curve(core, &queue.name, |second| second.added),
        ended: curve(core, &queue.name, |second| second.ended),
        oldest_waiting_at: queue.oldest_ready_at.map(|at| at.0),
        workers,
        paused: queue.paused,
        note: note.map(str::to_owned),
        can: vec![
            can(Action::Pause, queue.paused, "It is paused."),
            can(Action::Resume, !queue.paused, "It is not paused."),
            can(Action::Drain, waiting + queue.counts.delayed == 0, "Nothing waits in it."),
            can(Action::Clean, jobs == 0, "It has no jobs."),
            can(Action::Obliterate, false, ""),
        ],
    }
}

fn curve(core: &CoreView<'_>, queue: &str, of: fn(&Second) -> u32) -> Vec<u32> {
    core.history.of(queue, core.now).iter().map(of).collect()
}

fn can(action: Action, refused: bool, reason: &str) -> Can {
    Can { action, allowed: !refused, reason: refused.then(|| reason.to_owned()) }
}
