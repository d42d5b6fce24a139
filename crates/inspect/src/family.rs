//! A job's place among others: parent, children with their states, and what keeps it blocked.

use crate::limits::RELATIVES_SHOWN_MAX;
use crate::view::{Family, JobState, Relative};
use crate::words;
use onceover_broker::CoreView;
use onceover_engine::job::{Job, JobState as Stored};
use onceover_engine::names::JobId;

/// Runs on the core thread.
pub fn family(core: &CoreView<'_>, job: &Job) -> Family {
    let children = job.children_ids();
    let open = core.engine.waits_for(job.key);
    let others = open.iter().filter(|id| !children.contains(id));
    let named = job.parent_id().filter(|_| !job.is_parent_pending());
    Family {
        parent: named.map(|id| relative(core, id)),
        children: children.iter().take(RELATIVES_SHOWN_MAX).map(|id| relative(core, id)).collect(),
        children_total: children.len() as u64,
        waits_for: others.take(RELATIVES_SHOWN_MAX).map(|id| relative(core, id)).collect(),
        note: note(core, job, &open),
    }
}

fn relative(core: &CoreView<'_>, id: &JobId) -> Relative {
    let state = core.engine.job(id).map(|job| job.state_name(core.now));
    Relative { id: id.to_string(), state: words::state_view(state) }
}

/// What keeps it from running, or what it still lacks.
fn note(core: &CoreView<'_>, job: &Job, open: &[&JobId]) -> Option<String> {
    if job.state == Stored::Blocked && open.is_empty() {
        return Some("Its worker parked it. It waits for a child to be linked to it.".to_owned());
    }
    if open.is_empty() {
        return job.is_parent_pending().then(|| "Its parent is still to be named.".to_owned());
    }
    let states: Vec<JobState> = open.iter().map(|id| relative(core, id).state).collect();
    let count = |wanted: JobState| states.iter().filter(|state| **state == wanted).count();
    let jobs = if open.len() == 1 { "1 job".to_owned() } else { format!("{} jobs", open.len()) };
    let mut text = format!("Waits for {jobs} to complete.");
    match count(JobState::Failed) {
        0 => {}
        1 => text += " 1 of them failed: it waits until that is retried.",
        failed => text += &format!(" {failed} of them failed: it waits until these are retried."),
    }
    match count(JobState::Gone) {
        0 => {}
        1 => text += " 1 is gone and will not complete: a client can detach it with RemoveChildDependency.",
        gone => {
            text +=
                &format!(" {gone} are gone and will not complete: a client can detach them with RemoveChildDependency.")
        }
    }
    Some(text)
}
