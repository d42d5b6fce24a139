//! Actions on a whole queue, on the path that clients' commands take.

use crate::actions::{Done, Outcome, act, act_for, done, finished, look, refused};
use crate::view::{ActionResult, Failure, FailureCode, JobState, QueueConfigured, RefusalCode};
use crate::words::{code, plural};
use onceover_broker::BrokerHandle;
use onceover_engine::command::{CleanState, Command, DlqPatch, StallPatch, dead};
use onceover_engine::reply::Reply;
use onceover_engine::time::Millis;
use std::sync::Arc;

/// Stops handing out jobs of a queue.
pub async fn pause(broker: &BrokerHandle, queue: String) -> Outcome {
    let message = format!("{} is paused: its jobs wait, adds are accepted.", code(&queue));
    switch(broker, queue, message, |queue| Command::Pause { queue }).await
}

/// Hands out jobs of a queue again.
pub async fn resume(broker: &BrokerHandle, queue: String) -> Outcome {
    let message = format!("{} hands out jobs again.", code(&queue));
    switch(broker, queue, message, |queue| Command::Resume { queue }).await
}

async fn switch(broker: &BrokerHandle, queue: String, message: String, command: fn(Arc<str>) -> Command) -> Outcome {
    let name: Arc<str> = Arc::from(queue);
    if let Some(gone) = gone(broker, &name).await? {
        return finished(broker, gone).await;
    }
    let result = match act(broker, command(name)).await? {
        Done::Yes => done(message),
        Done::No(text) => refused(RefusalCode::NotPossible, text),
    };
    finished(broker, result).await
}

/// Only of a queue that is there: a client may pause one that is to come, but the window shows what is.
pub(crate) async fn gone(broker: &BrokerHandle, name: &Arc<str>) -> Result<Option<ActionResult>, Failure> {
    let asked = Arc::clone(name);
    let known = look(broker, move |core| core.engine.queues().iter().any(|queue| queue.name == asked)).await?;
    let refusal = || refused(RefusalCode::Gone, format!("There is no queue {} any more.", code(name)));
    Ok((!known).then(refusal))
}

/// Removes what waits or is delayed.
pub async fn drain(broker: &BrokerHandle, queue: String) -> Outcome {
    let name: Arc<str> = Arc::from(queue);
    if let Some(gone) = gone(broker, &name).await? {
        return finished(broker, gone).await;
    }
    let result = match act_for(broker, Command::Drain { queue: Arc::clone(&name) }).await? {
        Ok(Reply::Count(0)) => done(format!("Nothing waited in {}; nothing was removed.", code(&name))),
        Ok(Reply::Count(jobs)) => done(format!("Drained {}: {} removed.", code(&name), plural(jobs, "job"))),
        Ok(_) => done(format!("Drained {}.", code(&name))),
        Err(text) => refused(RefusalCode::NotPossible, text),
    };
    finished(broker, result).await
}

/// Removes jobs of one state that are old enough.
///
/// # Errors
/// Also when jobs of that state are never cleaned.
pub async fn clean(broker: &BrokerHandle, queue: String, state: JobState, older_than_ms: u64) -> Outcome {
    let wanted = clean_state(state)?;
    let name: Arc<str> = Arc::from(queue);
    if let Some(gone) = gone(broker, &name).await? {
        return finished(broker, gone).await;
    }
    let grace = Millis(i64::try_from(older_than_ms).unwrap_or(i64::MAX));
    let command = Command::Clean { queue: Arc::clone(&name), grace, state: wanted, limit: usize::MAX };
    let result = match act_for(broker, command).await? {
        Ok(Reply::Cleaned(jobs)) if jobs.is_empty() => done("Nothing was that old; nothing was removed.".to_owned()),
        Ok(Reply::Cleaned(jobs)) => {
            done(format!("Cleaned {}: {} removed.", code(&name), plural(jobs.len() as u64, "job")))
        }
        Ok(_) => done(format!("Cleaned {}.", code(&name))),
        Err(text) => refused(RefusalCode::NotPossible, text),
    };
    finished(broker, result).await
}

fn clean_state(state: JobState) -> Result<CleanState, Failure> {
    match state {
        JobState::Completed => Ok(CleanState::Completed),
        JobState::Failed => Ok(CleanState::Failed),
        JobState::Waiting => Ok(CleanState::Waiting),
        JobState::Prioritized => Ok(CleanState::Prioritized),
        JobState::Delayed => Ok(CleanState::Delayed),
        JobState::Active | JobState::WaitingChildren | JobState::Gone => {
            let message = "state: must be completed, failed, waiting, prioritized or delayed".to_owned();
            Err(Failure { code: FailureCode::BadRequest, message })
        }
    }
}

/// Sets what becomes of stalled jobs and dead letters.
///
/// # Errors
/// Also when no dead letters at all are to be kept.
pub async fn configure(broker: &BrokerHandle, asked: QueueConfigured) -> Outcome {
    let QueueConfigured { queue, config } = asked;
    if config.dead_max == 0 {
        let message = "config.deadMax: must be at least 1".to_owned();
        return Err(Failure { code: FailureCode::BadRequest, message });
    }
    let name: Arc<str> = Arc::from(queue);
    if let Some(gone) = gone(broker, &name).await? {
        return finished(broker, gone).await;
    }
    let ms = |time: u64| Millis(i64::try_from(time).unwrap_or(i64::MAX));
    let patch = StallPatch {
        enabled: Some(config.stall_detection),
        stall_interval: Some(ms(config.stall_interval_ms)),
        max_stalls: Some(config.stalls_max),
        grace_period: Some(ms(config.stall_grace_ms)),
    };
    let stalls = act(broker, Command::SetStallConfig { queue: Arc::clone(&name), patch }).await?;
    let patch = DlqPatch {
        auto_retry: Some(config.auto_retry),
        auto_retry_interval: Some(ms(config.auto_retry_interval_ms)),
        max_auto_retries: Some(config.auto_retries_max),
        max_age: Some(config.dead_age_ms.map(ms)),
        max_entries: Some(config.dead_max),
    };
    let letters = act(broker, Command::Dead(dead::Request::Configure { queue: Arc::clone(&name), patch })).await?;
    let result = match (stalls, letters) {
        (Done::Yes, Done::Yes) => done(format!("Set for {}.", code(&name))),
        (Done::No(text), _) | (_, Done::No(text)) => refused(RefusalCode::NotPossible, text),
    };
    finished(broker, result).await
}

/// Removes a queue with everything in it.
pub async fn obliterate(broker: &BrokerHandle, queue: String) -> Outcome {
    let message = format!("Obliterated {}: its jobs, results and keys are gone.", code(&queue));
    switch(broker, queue, message, |queue| Command::Obliterate { queue }).await
}
