//! What a child's final failure means for its parent (protocol-admin.md 7.3).
//!
//! A failure is told to the parent at the end of the step in which it happened, one after the other: a failed parent may be
//! a child itself, and trees are deeper than a stack.

use crate::command::StateName;
use crate::dedup::FreedBy;
use crate::effects::Effects;
use crate::engine::Engine;
use crate::event::EventKind;
use crate::finish::Burial;
use crate::flow::{Policy, is_pending};
use crate::flow_wait::Ending;
use crate::job::{FailureReason, Job, JobState};
use crate::names::{JobId, JobKey};
use crate::time::Timestamp;
use std::sync::Arc;

const NO_TEXT: &str = "unknown error";

/// A child that will not complete by itself any more.
#[derive(Clone, Debug)]
pub(crate) struct FailedChild {
    id: JobId,
    queue: Arc<str>,
    parent: JobId,
    policy: Policy,
    error: Option<String>,
}

impl Engine {
    /// A job failed for good: its parent will hear of it, if it is known.
    pub(crate) fn tell_parent(&mut self, job: JobKey, error: Option<String>) {
        let job = self.known(job);
        let Some(parent) = job.parent_id().filter(|parent| !is_pending(parent)) else { return };
        let queue = self.queues.get(job.queue).name.clone();
        let failed = FailedChild { id: job.id.clone(), queue, parent: parent.clone(), policy: job.policy(), error };
        self.failed_children.push_back(failed);
    }

    /// The failures of this step, and those that follow from them.
    pub(crate) fn tell_parents(&mut self, now: Timestamp, effects: &mut Effects) {
        while let Some(failed) = self.failed_children.pop_front() {
            self.child_failed(failed, now, effects);
        }
    }

    fn child_failed(&mut self, failed: FailedChild, now: Timestamp, effects: &mut Effects) {
        let FailedChild { id, queue, parent, policy, error } = failed;
        // The id may be another job's by now, and a parent that runs or has ended is past waiting.
        let is_parent = |job: &&Job| job.children_ids().contains(&id) || job.depends_on().contains(&id);
        let waits = |job: &&Job| matches!(job.state, JobState::Queued | JobState::Blocked);
        let Some(job) = self.jobs.by_id(&parent).filter(is_parent) else { return };
        let fields = [
            ("parentJobId", (&parent).into()),
            ("failedChildId", (&id).into()),
            ("queue", (&self.queues.get(job.queue).name).into()),
            ("error", error.as_deref().unwrap_or(NO_TEXT).into()),
        ];
        effects.tell(now, "flow:failed", fields);
        let Some(key) = Some(job).filter(waits).map(|job| job.key) else { return };
        let text = || error.clone().unwrap_or_else(|| NO_TEXT.to_owned());
        match policy {
            Policy::KeepWaiting => {}
            Policy::Fail => self.fail_parent(key, format!("Child job {id} failed: {}", text()), now, effects),
            Policy::Continue => {
                self.record_end(key, id, queue, Ending::Continued(text()));
                if self.known(key).state == JobState::Blocked {
                    self.known_mut(key).run_at = now;
                    self.unblock(key, now);
                    self.tell_freed(key, now, effects);
                }
            }
            Policy::Ignore if self.is_open(key, &id) => {
                if self.dependency_ended(key, &id, &queue, Ending::Ignored(text()), now) {
                    self.tell_freed(key, now, effects);
                }
            }
            Policy::Ignore => self.record_end(key, id, queue, Ending::Ignored(text())),
            Policy::Forget => {
                if self.dependency_ended(key, &id, &queue, Ending::Dropped, now) {
                    self.tell_freed(key, now, effects);
                }
            }
        }
    }

    fn fail_parent(&mut self, key: JobKey, error: String, now: Timestamp, effects: &mut Effects) {
        let job = self.known(key);
        let (id, queue, remove) = (job.id.clone(), job.queue, job.spec.remove_on_fail);
        let kind = EventKind::Failed { error: Some(error.clone()), data: Some(job.data.clone()), terminal: Some(true) };
        self.emit(effects, queue, Some(&id), now, kind);
        let (reason, freed) = (FailureReason::Unknown, FreedBy::FailedForGood);
        self.bury(key, now, Burial { reason, error: Some(error), freed, remove }, effects);
    }

    /// A parent runs although a child did not complete.
    pub(crate) fn tell_freed(&self, key: JobKey, now: Timestamp, effects: &mut Effects) {
        let job = self.known(key);
        let kind = EventKind::Waiting { prev: StateName::WaitingChildren };
        self.emit(effects, job.queue, Some(&job.id), now, kind);
    }
}
