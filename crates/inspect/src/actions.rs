//! What the window does: each action is an engine command on the path that clients' commands take, and its outcome in words.
//!
//! A refusal that must be expected is an `ActionResult` with `ok: false`; `Failure` is for requests that got no answer.

use crate::adds::{can_replay, whole_data};
use crate::compose;
use crate::explain::sentence;
use crate::request::NewAdd;
use crate::view::{ActionResult, Failure, FailureCode, RefusalCode};
use onceover_broker::activity::{AddEntry, AddSource};
use onceover_broker::{BrokerDown, BrokerHandle, BrokerStatus, CoreView};
use onceover_engine::command::{Add, Command};
use onceover_engine::reply::Reply;
use std::net::SocketAddr;

/// What became of an action, or that nobody could be asked.
pub type Outcome = Result<ActionResult, Failure>;

/// Newest entries of the log among which an action looks for its own.
const OWN_ADD_SCAN_MAX: usize = 10_000;

/// A question or action that got no answer from the core.
pub fn down(broker: &BrokerHandle, error: &BrokerDown) -> Failure {
    let ended = matches!(broker.status(), BrokerStatus::Stopped | BrokerStatus::Failed { .. });
    let code = if ended { FailureCode::NotRunning } else { FailureCode::Internal };
    Failure { code, message: error.to_string() }
}

/// What became of a command.
pub enum Done {
    /// It happened.
    Yes,
    /// With the refusal's text.
    No(String),
}

/// Runs a command.
pub async fn act(broker: &BrokerHandle, command: Command) -> Result<Done, Failure> {
    Ok(match act_for(broker, command).await? {
        Ok(_) => Done::Yes,
        Err(text) => Done::No(text),
    })
}

/// Runs a command whose answer matters; a refusal is its text.
pub async fn act_for(broker: &BrokerHandle, command: Command) -> Result<Result<Reply, String>, Failure> {
    match broker.act(command).await {
        Ok(Reply::Rejected(why)) => Ok(Err(why.to_string())),
        Ok(reply) => Ok(Ok(reply)),
        Err(BrokerDown::Storage { message }) => Ok(Err(format!("Storage error: {message}"))),
        Err(error) => Err(down(broker, &error)),
    }
}

/// Asks the core.
pub async fn look<T: Send + 'static>(
    broker: &BrokerHandle,
    question: impl FnOnce(&CoreView<'_>) -> T + Send + 'static,
) -> Result<T, Failure> {
    broker.view(question).await.map_err(|error| down(broker, &error))
}

/// It happened.
pub fn done(message: String) -> ActionResult {
    ActionResult {
        ok: true,
        message,
        code: None,
        detail: None,
        job_id: None,
        seq: None,
        undo: None,
        left_alone: Vec::new(),
        revision: 0,
    }
}

/// It did not happen, as can be expected.
pub fn refused(code: RefusalCode, message: String) -> ActionResult {
    ActionResult { ok: false, code: Some(code), ..done(message) }
}

/// Fills in the state after the action.
pub async fn finished(broker: &BrokerHandle, result: ActionResult) -> Outcome {
    let revision = look(broker, |core| core.revision).await?;
    Ok(ActionResult { revision, ..result })
}

/// Sends a logged add again, with the same options and payload.
pub async fn replay_add(broker: &BrokerHandle, seq: u64) -> Outcome {
    let logged = look(broker, move |core| core.activity.get(seq).map(|entry| replayable(core, entry))).await?;
    let add = match logged {
        None => Err((RefusalCode::Gone, format!("Add #{seq} is not in the log any more."))),
        Some(logged) => logged,
    };
    match add {
        Ok(add) => push(broker, add, Some(seq)).await,
        Err((code, text)) => finished(broker, refused(code, text)).await,
    }
}

fn replayable(core: &CoreView<'_>, entry: &AddEntry) -> Result<Add, (RefusalCode, String)> {
    let data = whole_data(core, entry);
    let can = can_replay(entry, data.is_some());
    match (entry.decided(), can.reason) {
        (Some(record), None) => Ok(Add { data, ..record.add.clone() }),
        (Some(_), Some(reason)) => Err((RefusalCode::PayloadNotKept, reason)),
        (None, reason) => Err((RefusalCode::NotPossible, reason.unwrap_or_default())),
    }
}

/// Adds a job from the window.
pub async fn send_add(broker: &BrokerHandle, new: &NewAdd) -> Outcome {
    match compose::add(broker, new).await? {
        Ok(add) => push(broker, add, new.origin).await,
        Err(text) => finished(broker, refused(RefusalCode::Rejected, text)).await,
    }
}

/// Forgets the log, and nothing else.
pub async fn clear_log(broker: &BrokerHandle) -> Outcome {
    broker.clear_log().map_err(|error| down(broker, &error))?;
    finished(broker, done("The log of adds is empty. Jobs and keys are as they were.".to_owned())).await
}

async fn push(broker: &BrokerHandle, add: Add, replay_of: Option<u64>) -> Outcome {
    let asked = add.clone();
    let reply = act(broker, Command::Push { add, replay_of }).await?;
    let found = move |core: &CoreView<'_>| {
        let is_own = |entry: &&AddEntry| {
            let record = entry.decided();
            matches!(entry.source, AddSource::Window)
                && record.is_some_and(|record| record.replay_of == replay_of && same_request(&record.add, &asked))
        };
        let own = core.activity.iter().take(OWN_ADD_SCAN_MAX).find(is_own);
        own.and_then(|entry| Some((entry.seq, sentence(entry.decided()?), entry.decided()?.decision.job.clone())))
    };
    let logged = look(broker, found).await?;
    let (seq, why, job) = logged.map_or((None, None, None), |(seq, why, job)| (Some(seq), Some(why), job));
    let result = match reply {
        Done::Yes => done(why.unwrap_or_else(|| "Added.".to_owned())),
        Done::No(text) => ActionResult { detail: why, ..refused(RefusalCode::Rejected, text) },
    };
    finished(broker, ActionResult { seq, job_id: job.map(|id| id.to_string()), ..result }).await
}

/// The payload is not compared: the log may have cut it.
fn same_request(one: &Add, other: &Add) -> bool {
    one.custom_id == other.custom_id && one.dedup_key == other.dedup_key && one.spec == other.spec
}

/// Listens for clients on another port of the same host.
pub async fn use_port(broker: &BrokerHandle, port: u16) -> Outcome {
    if port == 0 {
        let message = "port: must be 1 to 65535".to_owned();
        return Err(Failure { code: FailureCode::BadRequest, message });
    }
    match wanted(broker) {
        Some(addr) => listen(broker, SocketAddr::new(addr.ip(), port)).await,
        None => finished(broker, done(String::new())).await,
    }
}

/// Tries the wanted address once more.
pub async fn retry_port(broker: &BrokerHandle) -> Outcome {
    match wanted(broker) {
        Some(addr) => listen(broker, addr).await,
        None => finished(broker, done(String::new())).await,
    }
}

/// The address that is or should be open; none when the broker has ended, which the next question then says.
fn wanted(broker: &BrokerHandle) -> Option<SocketAddr> {
    match broker.status() {
        BrokerStatus::Listening { addr } | BrokerStatus::NotListening { wanted: addr, .. } => Some(addr),
        BrokerStatus::Failed { .. } | BrokerStatus::Stopped => None,
    }
}

async fn listen(broker: &BrokerHandle, addr: SocketAddr) -> Outcome {
    let result = match broker.listen(addr) {
        Ok(bound) => done(format!("Clients can connect at {bound}.")),
        Err(error) => refused(RefusalCode::NotPossible, error.to_string()),
    };
    finished(broker, result).await
}
