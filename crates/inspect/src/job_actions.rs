//! Actions on one job: each is an engine command on the path that clients' commands take, and its outcome in words.

use crate::actions::{Done, Outcome, act, done, finished, look, refused};
use crate::adds::job_data;
use crate::compose;
use crate::job_can::{edit_refusal, fail_refusal, promote_refusal, remove_refusal, retry_refusal, return_refusal};
use crate::payload;
use crate::view::{ActionResult, RefusalCode, Text};
use crate::words::short_id;
use onceover_broker::{BrokerHandle, CoreView};
use onceover_engine::command::{Claim, Command};
use onceover_engine::job::Job;
use onceover_engine::names::{JobId, JobKey};

/// Says why an action on a job is not possible now.
type Refusal = fn(&CoreView<'_>, &Job) -> Option<String>;

/// Puts a finished job back to waiting.
pub async fn retry(broker: &BrokerHandle, id: String) -> Outcome {
    let job = JobId::parse(&id);
    let shown = short_id(&job);
    let result = match act(broker, Command::RetryJob { id: job.clone() }).await? {
        Done::Yes => ActionResult { job_id: Some(id), ..done(format!("{shown} waits again.")) },
        Done::No(text) => look(broker, move |core| retry_refused(core, &job, &text)).await?,
    };
    finished(broker, result).await
}

fn retry_refused(core: &CoreView<'_>, id: &JobId, text: &str) -> ActionResult {
    let Some(job) = core.engine.job(id) else { return gone(id) };
    let holder = job.dedup_key.as_ref().and_then(|key| core.engine.key(&job.spec.queue, key, core.now));
    let reason = retry_refusal(core, job).unwrap_or_else(|| format!("{text}."));
    let message = format!("Could not retry {}: {reason}", short_id(id));
    match holder.filter(|entry| entry.owner != job.key && !job.is_live()) {
        Some(entry) => {
            ActionResult { job_id: Some(entry.owner_id.to_string()), ..refused(RefusalCode::KeyTaken, message) }
        }
        None => refused(RefusalCode::NotPossible, message),
    }
}

/// Removes a job, and with it the key it holds.
pub async fn remove(broker: &BrokerHandle, id: String) -> Outcome {
    let job = JobId::parse(&id);
    let message = format!("Removed {}.", short_id(&job));
    change(broker, Command::RemoveJob { id: job.clone() }, job, message, |_, job| remove_refusal(job)).await
}

/// Makes a delayed job runnable now.
pub async fn promote(broker: &BrokerHandle, id: String) -> Outcome {
    let job = JobId::parse(&id);
    let message = format!("{} may run now.", short_id(&job));
    change(broker, Command::Promote { id: job.clone() }, job, message, promote_refusal).await
}

/// A job's payload as text for an editor.
pub fn data_text(core: &CoreView<'_>, id: &str) -> Option<Text> {
    let job = core.engine.job(&JobId::parse(id))?;
    let data = job_data(core, job.key).unwrap_or_default();
    let text = payload::edit(&data);
    Some(Text { complete: text.is_some() || data.is_empty(), text: text.unwrap_or_default(), bytes: data.len() as u64 })
}

/// Gives a job that has not started another payload.
pub async fn edit_data(broker: &BrokerHandle, id: &str, generation: u64, mark: &str, text: &str) -> Outcome {
    let job = JobId::parse(id);
    let Ok(seen) = u64::from_str_radix(mark, 16) else {
        let message = "dataMark: must be the mark of the data that was on the screen".to_owned();
        return finished(broker, refused(RefusalCode::NotPossible, message)).await;
    };
    let asked = job.clone();
    let base = look(broker, move |core| core.engine.job(&asked).and_then(|job| job_data(core, job.key))).await?;
    let data = match compose::typed(text, base.as_deref()) {
        Ok(data) => data,
        Err(message) => return finished(broker, refused(RefusalCode::Rejected, message)).await,
    };
    let command = Command::EditData { id: job.clone(), generation: JobKey(generation), seen, data };
    let result = match act(broker, command).await? {
        Done::Yes => ActionResult {
            job_id: Some(id.to_owned()),
            ..done(format!("{} has other data now. No add was made.", short_id(&job)))
        },
        Done::No(text) => look(broker, move |core| edit_refused(core, &job, generation, &text)).await?,
    };
    finished(broker, result).await
}

fn edit_refused(core: &CoreView<'_>, id: &JobId, generation: u64, text: &str) -> ActionResult {
    let job = core.engine.job(id).filter(|job| job.key == JobKey(generation));
    let Some(job) = job else { return gone(id) };
    match edit_refusal(core, job) {
        Some(reason) => refused(RefusalCode::NotPossible, format!("Nothing was saved. {reason}")),
        None => refused(RefusalCode::Changed, format!("Nothing was saved. {text}.")),
    }
}

/// Fails a job for good.
pub async fn fail(broker: &BrokerHandle, id: String) -> Outcome {
    let job = JobId::parse(&id);
    let claim = claim_of(broker, &job).await?;
    let message = format!("{} failed for good.", short_id(&job));
    change(broker, Command::Discard { claim }, job, message, fail_refusal).await
}

/// Takes an active job from a worker that has left.
pub async fn return_to_waiting(broker: &BrokerHandle, id: String) -> Outcome {
    let job = JobId::parse(&id);
    let asked = job.clone();
    let refusal = look(broker, move |core| match core.engine.job(&asked) {
        None => Some(gone(&asked)),
        Some(job) => {
            let why = return_refusal(core, job);
            why.map(|why| refused(RefusalCode::NotPossible, format!("{} stays where it is. {why}", short_id(&asked))))
        }
    });
    if let Some(refusal) = refusal.await? {
        return finished(broker, refusal).await;
    }
    let claim = claim_of(broker, &job).await?;
    let message = format!("{} waits again.", short_id(&job));
    change(broker, Command::MoveToWait { claim }, job, message, return_refusal).await
}

/// The right to a job that a worker has, so that a delivery that came after the one on the screen is left alone.
async fn claim_of(broker: &BrokerHandle, id: &JobId) -> Result<Claim, crate::view::Failure> {
    let id = id.clone();
    look(broker, move |core| {
        let delivery = core.engine.job(&id).and_then(|job| job.delivery.as_deref());
        let token = delivery.and_then(|delivery| delivery.lock.as_ref()).map(|lock| lock.token.to_string());
        Claim { id, token }
    })
    .await
}

/// There is no such job.
pub fn gone(id: &JobId) -> ActionResult {
    refused(RefusalCode::Gone, format!("There is no job {} any more.", short_id(id)))
}

async fn change(broker: &BrokerHandle, command: Command, id: JobId, message: String, why: Refusal) -> Outcome {
    let result = match act(broker, command).await? {
        Done::Yes => ActionResult { job_id: Some(id.to_string()), ..done(message) },
        Done::No(text) => {
            let refusal = move |core: &CoreView<'_>| match core.engine.job(&id) {
                None => gone(&id),
                Some(job) => {
                    let why = why(core, job).unwrap_or_else(|| format!("{text}."));
                    ActionResult { detail: Some(text), ..refused(RefusalCode::NotPossible, why) }
                }
            };
            look(broker, refusal).await?
        }
    };
    finished(broker, result).await
}

#[cfg(test)]
#[path = "job_actions_tests.rs"]
mod job_actions_tests;
