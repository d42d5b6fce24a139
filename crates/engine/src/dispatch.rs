//! The second half of the door: commands that look at or change jobs, queues and keys outside the add, take, finish path.

use crate::command::Command;
use crate::effects::Effects;
use crate::engine::Engine;
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::time::Timestamp;

impl Engine {
    /// Changes of single jobs.
    pub(crate) fn dispatch_change(
        &mut self,
        now: Timestamp,
        command: Command,
        effects: &mut Effects,
    ) -> Result<Reply, Rejection> {
        match command {
            Command::Progress { id, progress, message } => self.set_progress(now, &id, progress, message, effects),
            Command::Update { id, data } => self.update_data(&id, data),
            Command::ChangePriority { id, priority, lifo } => self.change_priority(now, &id, priority, lifo),
            Command::ChangeDelay { claim, delay } => self.change_delay(now, &claim, delay, effects),
            Command::MoveToDelayed { claim, delay } => self.move_to_delayed(now, &claim, delay, effects),
            Command::MoveToWait { claim } => self.move_to_wait(now, &claim, effects),
            Command::MoveToWaitingChildren { claim } => self.move_to_waiting_children(now, &claim, effects),
            Command::Promote { id } => self.promote(now, &id),
            Command::Cancel { id } => self.cancel(now, &id, effects),
            Command::Discard { claim } => self.discard(now, &claim, effects),
            Command::RemoveJob { id } => self.remove_by_hand(now, &id, effects),
            Command::EditData { id, generation, seen, data } => self.edit_by_hand(now, &id, generation, seen, data),
            Command::RetryJob { id } => self.retry_by_hand(now, &id),
            Command::AddLog { id, message, level } => self.add_log(now, &id, message, level),
            Command::ClearLogs { id, keep } => Ok(self.clear_logs(&id, keep)),
            other => self.dispatch_queue(now, other, effects),
        }
    }

    /// Changes of queues and keys.
    fn dispatch_queue(&mut self, now: Timestamp, command: Command, effects: &mut Effects) -> Result<Reply, Rejection> {
        Ok(match command {
            Command::Pause { queue } => self.pause(now, &queue, effects),
            Command::Resume { queue } => self.resume(now, &queue, effects),
            Command::Dead(request) => self.dead_letters(now, request)?,
            Command::SetStallConfig { queue, patch } => self.set_stall_config(&queue, patch),
            Command::RemoveDeduplicationKey { queue, key } => self.remove_key(now, &queue, &key),
            Command::RemoveJobDeduplicationKey { id } => self.remove_key_of_job(now, &id),
            Command::ReleaseKey { queue, key, owner, generation } => {
                self.release_key(now, &queue, &key, &owner, generation)?
            }
            Command::Schedule(request) => self.dispatch_schedule(now, request, effects)?,
            Command::SetKeyWindow(change) => self.set_window_by_hand(now, change)?,
            Command::RestoreKey { queue, key, generation } => self.restore_key(now, &queue, &key, generation)?,
            other => return self.dispatch_query(now, other),
        })
    }

    /// Questions: nothing changes.
    fn dispatch_query(&self, now: Timestamp, command: Command) -> Result<Reply, Rejection> {
        Ok(match command {
            Command::GetJob { id } => self.get_job(now, &id)?,
            Command::GetJobByCustomId { id } => self.get_job_by_custom_id(now, &id)?,
            Command::GetState { id } => self.get_state(now, id),
            Command::GetResult { id } => self.get_result(id),
            Command::GetProgress { id } => self.get_progress(now, &id)?,
            Command::GetJobs { queue, states, unknown_state, offset, limit, ascending } => {
                let limit = if unknown_state && states.is_empty() { 0 } else { limit };
                self.get_jobs(now, &queue, &states, offset, limit, ascending)?
            }
            Command::GetJobCounts { queue } => Reply::Counts(self.counts(Some(&queue))),
            Command::GetCountsPerPriority { queue } => self.counts_per_priority(queue),
            Command::Count { queue } => self.count_queued(&queue),
            Command::GetLogs { id, start, end } => self.get_logs(&id, start, end),
            Command::GetDeduplicationJobId { queue, key } => self.key_owner(now, &queue, &key),
            Command::ListDeduplicationKeys { queue, offset, limit } => {
                self.list_keys(now, queue.as_deref(), offset, limit)
            }
            Command::IsPaused { queue } => {
                Reply::Paused(self.queues.find(&queue).is_some_and(|queue| queue.settings.paused))
            }
            Command::ListQueues => self.list_queues(),
            Command::GetStallConfig { queue } => Reply::StallConfig(self.stall_of(&queue)),
            Command::Totals => self.broker_metrics(),
            _ => unreachable!("every other command was dispatched before"),
        })
    }
}
