//! Actions on a whole queue, on the path that clients' commands take.

use crate::actions::{Done, Outcome, act, act_for, done, finished, look, refused};
use crate::view::{ActionResult, Failure, FailureCode, JobState, RefusalCode};
use crate::words::{code, plural};
use onceover_broker::BrokerHandle;
use onceover_engine::command::{CleanState, Command};
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

/// Removes a queue with everything in it.
pub async fn obliterate(broker: &BrokerHandle, queue: String) -> Outcome {
    let message = format!("Obliterated {}: its jobs, results and keys are gone.", code(&queue));
    switch(broker, queue, message, |queue| Command::Obliterate { queue }).await
}
