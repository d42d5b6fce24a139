//! Custom ids: one id, one job in the whole broker (dedup.md 5).

use crate::engine::Engine;
use crate::names::{JobId, JobKey};
use crate::rejection::Rejection;

/// What an add's custom id means. Decided before any key is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdDecision {
    /// No id was given, or nobody has it.
    Free,
    /// A live job has it, in whichever queue: that job is the answer.
    Live(JobKey),
    /// A finished job has it: it is retired when, and only when, the new job is admitted.
    Retire(JobKey),
}

impl Engine {
    /// The rule of dedup.md 5. Only the state of the prior generation counts, not its queue.
    ///
    /// # Errors
    /// The id completed and was removed, and a live job still waits for it and for something else.
    pub(crate) fn decide_id(&self, id: Option<&JobId>) -> Result<IdDecision, Rejection> {
        let Some(id) = id else { return Ok(IdDecision::Free) };
        match self.jobs.by_id(id) {
            Some(job) if job.is_live() => Ok(IdDecision::Live(job.key)),
            Some(job) => Ok(IdDecision::Retire(job.key)),
            None if self.completed_ids.contains(id) && self.consumers.contains_key(id) => {
                Err(Rejection::UnresolvedConsumers(id.clone()))
            }
            None => Ok(IdDecision::Free),
        }
    }
}
