//! A logged add as the form shows it: the options of the engine back under the names of the window, so that sending the draft
//! unchanged asks for the same.

use crate::new_add::{BackoffAsked, BackoffKind, NewAdd, RepeatAsked};
use onceover_engine::command::{Add, Backoff, DedupRequest, RareOptions, Repeat};
use onceover_engine::names::JobId;
use onceover_engine::schedule::Timing;
use onceover_engine::time::Millis;

/// Attempts of a job whose add does not say.
const ATTEMPTS_DEFAULT: u32 = 3;

/// The options of an add, without payload and origin.
pub fn options(add: &Add) -> NewAdd {
    let spec = &add.spec;
    let mut draft = NewAdd {
        queue: spec.queue.to_string(),
        name: spec.name.to_string(),
        job_id: add.custom_id.as_ref().map(JobId::to_string),
        priority: (spec.priority != 0).then_some(spec.priority),
        delay_ms: Some(spec.delay).filter(|delay| delay.0 != 0).map(millis),
        attempts: (spec.max_attempts != ATTEMPTS_DEFAULT).then_some(spec.max_attempts),
        backoff: (spec.backoff != Backoff::default()).then(|| backoff(spec.backoff)),
        lifo: spec.lifo,
        durable: spec.durable,
        remove_on_complete: spec.remove_on_complete,
        remove_on_fail: spec.remove_on_fail,
        ..NewAdd::default()
    };
    if let Some(key) = &add.dedup_key {
        dedup(&mut draft, key, &spec.dedup);
    }
    if let Some(asked) = &spec.rare {
        rare(&mut draft, asked);
    }
    draft
}

fn dedup(draft: &mut NewAdd, key: &str, asked: &DedupRequest) {
    // A hash is made anew from the payload, which may be changed before the draft is sent.
    draft.dedup_id = (!asked.from_hash).then(|| key.to_owned());
    draft.dedup_hash = asked.from_hash;
    draft.ttl_ms = asked.ttl.map(millis);
    draft.extend = asked.extend;
    draft.replace = asked.replace;
    draft.keep_last_if_active = asked.keep_last;
}

fn rare(draft: &mut NewAdd, asked: &RareOptions) {
    let ids = |ids: &[JobId]| ids.iter().map(JobId::to_string).collect();
    draft.depends_on = ids(&asked.depends_on);
    draft.parent_id = asked.parent_id.as_ref().map(JobId::to_string);
    draft.children_ids = ids(&asked.children_ids);
    draft.tags.clone_from(&asked.tags);
    draft.timeout_ms = asked.timeout.map(millis);
    draft.job_ttl_ms = asked.ttl.map(millis);
    draft.stall_timeout_ms = asked.stall_timeout.map(millis);
    draft.timestamp = asked.timestamp.map(|at| at.0);
    draft.stack_trace_limit = asked.stack_trace_limit;
    draft.keep_logs = asked.keep_logs;
    draft.size_limit = asked.size_limit;
    draft.debounce_id.clone_from(&asked.debounce_id);
    draft.debounce_ttl = asked.debounce_ttl;
    draft.fail_parent_on_failure = asked.fail_parent_on_failure;
    draft.remove_dependency_on_failure = asked.remove_dependency_on_failure;
    draft.continue_parent_on_failure = asked.continue_parent_on_failure;
    draft.ignore_dependency_on_failure = asked.ignore_dependency_on_failure;
    draft.group_id = asked.group.as_ref().map(|group| group.id.to_string());
    draft.group_max_size = asked.group.as_ref().and_then(|group| group.max_size);
    draft.repeat = asked.repeat.as_ref().map(repeat);
}

fn backoff(asked: Backoff) -> BackoffAsked {
    let kind = if asked.fixed { BackoffKind::Fixed } else { BackoffKind::Exponential };
    BackoffAsked { kind: asked.as_object.then_some(kind), delay_ms: millis(asked.delay) }
}

fn repeat(asked: &Repeat) -> RepeatAsked {
    let (every_ms, pattern) = match &asked.timing {
        Timing::Every(every) => (Some(millis(*every)), None),
        Timing::Calendar(pattern) => (None, Some(pattern)),
    };
    RepeatAsked {
        every_ms,
        pattern: pattern.map(|pattern| pattern.text().to_string()),
        tz: pattern.and_then(|pattern| Some(pattern.zone()?.name().to_string())),
        start_date: asked.start.map(|at| at.0),
        end_date: asked.end.map(|at| at.0),
        limit: asked.limit,
        count: asked.count,
        offset_ms: Some(asked.offset.0).filter(|offset| *offset != 0),
        job_id: asked.job_id.as_deref().map(str::to_owned),
    }
}

/// Times that an add asks for are never negative.
fn millis(time: Millis) -> u64 {
    time.0.unsigned_abs()
}

#[cfg(test)]
#[path = "draft_tests.rs"]
mod draft_tests;
