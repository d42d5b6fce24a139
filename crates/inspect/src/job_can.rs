//! What can be done with a job now, and why not. Buttons, keys, bulk actions and refused actions all read it here.

use crate::adds::{can_replay, whole_data};
use crate::attention::Looker;
use crate::job_detail::made_by;
use crate::view::{Action, Can};
use crate::words::{self, short_id};
use onceover_broker::CoreView;
use onceover_engine::command::StateName;
use onceover_engine::job::{Job, JobState};

/// Every action on a job.
pub fn all(core: &CoreView<'_>, job: &Job) -> Vec<Can> {
    let refusals = [
        (Action::Retry, retry_refusal(core, job)),
        (Action::Promote, promote_refusal(core, job)),
        (Action::Edit, edit_refusal(core, job)),
        (Action::Return, return_refusal(core, job)),
        (Action::Fail, fail_refusal(core, job)),
        (Action::Remove, remove_refusal(job)),
        (Action::Replay, replay_refusal(core, job)),
    ];
    refusals.into_iter().map(|(action, reason)| Can { action, allowed: reason.is_none(), reason }).collect()
}

/// Why a job cannot come back to waiting now.
pub fn retry_refusal(core: &CoreView<'_>, job: &Job) -> Option<String> {
    if job.is_live() {
        return Some(format!("It is {}; only completed and failed jobs can be retried.", state(core, job)));
    }
    let holder = job.dedup_key.as_ref().and_then(|key| core.engine.key(&job.spec.queue, key, core.now))?;
    let lives = core.engine.job_by_key(holder.owner).is_some_and(Job::is_live);
    (lives && holder.owner != job.key)
        .then(|| format!("Its key {} belongs to {} now.", words::code(&holder.key), short_id(&holder.owner_id)))
}

/// Why a job cannot be removed now.
pub fn remove_refusal(job: &Job) -> Option<String> {
    let active = job.delivery.is_some();
    active.then(|| "It is active: a worker has it. Wait until it ends, or fail it first.".to_owned())
}

/// Why a job cannot run at once.
pub fn promote_refusal(core: &CoreView<'_>, job: &Job) -> Option<String> {
    let reason = || format!("It is {}; only delayed jobs can be run now.", state(core, job));
    (job.state_name(core.now) != StateName::Delayed).then(reason)
}

/// Why a job's data cannot be edited now.
pub fn edit_refusal(core: &CoreView<'_>, job: &Job) -> Option<String> {
    match job.state {
        JobState::Queued | JobState::Blocked => None,
        JobState::Active | JobState::Completed | JobState::Failed => {
            Some(format!("It is {}; only the data of jobs that have not started can be edited.", state(core, job)))
        }
    }
}

/// Why a job cannot be failed for good now.
pub fn fail_refusal(core: &CoreView<'_>, job: &Job) -> Option<String> {
    match job.state {
        JobState::Queued | JobState::Active => None,
        JobState::Blocked | JobState::Completed | JobState::Failed => {
            Some(format!("It is {}; only waiting and active jobs can be failed.", state(core, job)))
        }
    }
}

/// Why a job cannot be taken from its worker.
pub fn return_refusal(core: &CoreView<'_>, job: &Job) -> Option<String> {
    if job.delivery.is_none() {
        return Some(format!("It is {}; only active jobs can go back to waiting.", state(core, job)));
    }
    let here = Looker::new(core).worker_left_at(job).is_none();
    here.then(|| "Its worker is still there.".to_owned())
}

fn replay_refusal(core: &CoreView<'_>, job: &Job) -> Option<String> {
    match made_by(core, job) {
        Some(entry) => can_replay(entry, whole_data(core, entry).is_some()).reason,
        None => Some("Its add is not in the log any more.".to_owned()),
    }
}

fn state(core: &CoreView<'_>, job: &Job) -> &'static str {
    job.state_name(core.now).as_str()
}
