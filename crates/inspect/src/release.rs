//! What a release would do now, told before it is done (gui.md 3.4), from the state of the key's owner.

use crate::attention::Looker;
use crate::key_detail::worker;
use crate::view::ReleasePreview;
use crate::words::{code, left, short_id, state_view};
use onceover_broker::CoreView;
use onceover_engine::command::StateName;
use onceover_engine::dedup::KeyEntry;
use onceover_engine::job::Job;
use onceover_engine::time::Timestamp;

/// The preview of a key's release.
pub fn preview(core: &CoreView<'_>, looker: &Looker<'_>, entry: &KeyEntry) -> ReleasePreview {
    let owner = core.engine.job_by_key(entry.owner);
    let state = owner.map(|job| job.state_name(core.now));
    let worker = owner.and_then(|job| worker(core, looker, job)).map(|worker| worker.name);
    ReleasePreview {
        queue: looker.queue(entry.queue).name.to_string(),
        key: entry.key.to_string(),
        owner_id: entry.owner_id.to_string(),
        owner_state: state_view(state),
        generation: entry.owner.0,
        text: consequence(entry, state, worker.as_deref(), core.now),
        risky: state == Some(StateName::Active),
        allowed: true,
        reason: None,
    }
}

/// What becomes of the owner, and what the next add does.
pub fn consequence(entry: &KeyEntry, state: Option<StateName>, worker: Option<&str>, now: Timestamp) -> String {
    let (owner, key) = (short_id(&entry.owner_id), code(&entry.key));
    let second = format!("The next add of {key} creates a second job");
    let ended = |what: &str| {
        let window =
            entry.expires_at().map_or_else(String::new, |end| format!(" instead of after {}", left(end.since(now))));
        format!("Owner {owner} {what}. The next add of {key} creates a new job at once{window}.")
    };
    match state {
        Some(StateName::Active) => {
            let on = worker.map_or_else(String::new, |worker| format!(" on {}", code(worker)));
            format!("Owner {owner} stays active{on}. {second}, and both may run at the same time.")
        }
        Some(StateName::Delayed) => format!("Owner {owner} stays delayed. {second}, which may run before it."),
        Some(StateName::WaitingChildren) => {
            format!("Owner {owner} stays and waits for its children. {second}, which may run before it.")
        }
        Some(state @ (StateName::Waiting | StateName::Prioritized)) => {
            format!("Owner {owner} stays {}. {second}, and both will run.", state.as_str())
        }
        Some(StateName::Completed) => ended("has completed"),
        Some(StateName::Failed) => ended("has failed for good"),
        None => ended("is gone"),
    }
}

/// A custom job id has no window of its own, so there is nothing to release.
pub fn of_job_id(core: &CoreView<'_>, job: &Job) -> ReleasePreview {
    let id = job.id.to_string();
    let reason = "A job ID cannot be released without its job. Remove the job instead.";
    ReleasePreview {
        queue: job.spec.queue.to_string(),
        text: format!("{} is in use until its job ends. {reason}", code(&id)),
        key: id.clone(),
        owner_id: id,
        owner_state: state_view(Some(job.state_name(core.now))),
        generation: job.key.0,
        risky: false,
        allowed: false,
        reason: Some(reason.to_owned()),
    }
}

#[cfg(test)]
#[path = "release_tests.rs"]
mod release_tests;
