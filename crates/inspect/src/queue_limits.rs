//! Limits of a queue and of its groups: what they are, and their change, on the path that clients' commands take.

use crate::actions::{Done, Outcome, act, done, finished, refused};
use crate::limits::GROUPS_SHOWN_MAX;
use crate::queue_actions::gone;
use crate::request::{GroupPause, LimitChange, OfQueue};
use crate::view::{Failure, FailureCode, GroupRow, GroupsView, QueueLimits, RateLimit, RefusalCode};
use crate::words::{code, left, plural, span};
use onceover_broker::{BrokerHandle, CoreView};
use onceover_engine::command::Command;
use onceover_engine::group::{About, GroupView, Request as Group};
use onceover_engine::limit::{Limits, Rate, Request as Limit};
use onceover_engine::time::{Millis, Timestamp};
use std::sync::Arc;

/// The largest whole number that every client counts exactly.
const SAFE_MAX: u64 = 9_007_199_254_740_991;

/// What limits a queue and its groups. Runs on the core thread.
pub fn groups(core: &CoreView<'_>, OfQueue { queue }: &OfQueue) -> GroupsView {
    let known = core.engine.queues().into_iter().find(|known| *known.name == **queue);
    let limits = known.as_ref().map_or(QueueLimits::default(), |queue| limits(&queue.limits));
    let rows = core.engine.groups(queue).take(GROUPS_SHOWN_MAX).map(|group| row(&group, core.now)).collect();
    GroupsView { limits, rows, total: known.map_or(0, |queue| queue.groups as u64) }
}

/// A queue's limits as the window shows them.
pub fn limits(limits: &Limits) -> QueueLimits {
    QueueLimits {
        concurrency: limits.concurrency,
        rate: limits.rate.map(rate),
        temporary_rate: limits.temporary.map(|(shown, _)| rate(shown)),
        temporary_until: limits.temporary.map(|(_, end)| end.0),
    }
}

fn rate(rate: Rate) -> RateLimit {
    RateLimit { max: rate.max, duration_ms: rate.duration.0.unsigned_abs() }
}

fn row(group: &GroupView, now: Timestamp) -> GroupRow {
    let held = group.settings.held_until.map(|end| format!("held for {}", left(end.since(now))));
    let rate = group.settings.rate.map(|rate| format!("{} per {}", rate.max, span(rate.duration)));
    let most = group.settings.concurrency.map(|most| format!("{most} at once"));
    GroupRow {
        name: group.name.to_string(),
        waiting: group.queued,
        active: group.active,
        paused: group.settings.paused,
        limits: [held, rate, most].into_iter().flatten().collect::<Vec<_>>().join(", "),
    }
}

/// Sets a queue's limits as they are given; what is absent is cleared.
///
/// # Errors
/// A number out of its bounds is named.
pub async fn change(broker: &BrokerHandle, change: LimitChange) -> Outcome {
    let LimitChange { queue, concurrency, rate } = change;
    let over = |most: Option<u64>| most.is_some_and(|most| most > SAFE_MAX);
    let is_bad_rate =
        rate.is_some_and(|rate| over(Some(rate.max)) || rate.duration_ms == 0 || over(Some(rate.duration_ms)));
    let wrong = [("concurrency", over(concurrency)), ("rate", is_bad_rate)].into_iter().find(|(_, wrong)| *wrong);
    if let Some((field, _)) = wrong {
        let message = format!("{field}: must be whole numbers up to {SAFE_MAX}, its time at least 1 ms");
        return Err(Failure { code: FailureCode::BadRequest, message });
    }
    let name: Arc<str> = Arc::from(queue);
    if let Some(gone) = gone(broker, &name).await? {
        return finished(broker, gone).await;
    }
    let queue = || Arc::clone(&name);
    let of_rate = match rate {
        Some(RateLimit { max, duration_ms }) => {
            let rate = Rate { max, duration: Millis(duration_ms.cast_signed()) };
            Limit::SetRate { queue: queue(), rate, ttl: None }
        }
        None => Limit::ClearRate { queue: queue() },
    };
    let of_concurrency = match concurrency {
        Some(limit) => Limit::SetConcurrency { queue: queue(), limit },
        None => Limit::ClearConcurrency { queue: queue() },
    };
    for command in [of_rate, of_concurrency] {
        if let Done::No(text) = act(broker, Command::Limit(command)).await? {
            return finished(broker, refused(RefusalCode::NotPossible, text)).await;
        }
    }
    finished(broker, done(told(&name, concurrency, rate))).await
}

/// What holds from now on.
fn told(name: &str, concurrency: Option<u64>, rate: Option<RateLimit>) -> String {
    let most = concurrency.map(|most| format!("at most {} at once", plural(most, "job")));
    let rate = rate.map(|rate| {
        let time = span(Millis(i64::try_from(rate.duration_ms).unwrap_or(i64::MAX)));
        format!("{} per {time}", plural(rate.max, "job"))
    });
    let parts: Vec<String> = [most, rate].into_iter().flatten().collect();
    match parts.is_empty() {
        true => format!("{} has no limits.", code(name)),
        false => format!("{} hands out {}.", code(name), parts.join(" and ")),
    }
}

/// Pauses a group of a queue, or resumes it.
pub async fn pause_group(broker: &BrokerHandle, asked: GroupPause) -> Outcome {
    let GroupPause { queue, group, paused } = asked;
    let name: Arc<str> = Arc::from(queue);
    if let Some(gone) = gone(broker, &name).await? {
        return finished(broker, gone).await;
    }
    let about = if paused { About::Pause } else { About::Resume };
    let message = match paused {
        true => format!("Group {} is paused: its jobs wait, adds are accepted.", code(&group)),
        false => format!("Group {} hands out jobs again.", code(&group)),
    };
    let command = Command::Group(Group::Of { queue: name, group: Arc::from(group), about });
    let result = match act(broker, command).await? {
        Done::Yes => done(message),
        Done::No(text) => refused(RefusalCode::NotPossible, text),
    };
    finished(broker, result).await
}

#[cfg(test)]
#[path = "queue_limits_tests.rs"]
mod queue_limits_tests;
