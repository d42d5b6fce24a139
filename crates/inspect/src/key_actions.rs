//! Actions on one key: each is an engine command that names the owner and generation that were on the screen, and its
//! outcome in words. Actions on many keys are in `key_bulk.rs`.

use crate::actions::{Done, Outcome, act, done, finished, look, refused};
use crate::limits::WINDOW_MS_MAX;
use crate::request::{KeyRef, KeyWindow, Request};
use crate::view::{ActionResult, Failure, FailureCode, RefusalCode};
use crate::words::{ago, code, left, short_id, span};
use onceover_broker::{BrokerHandle, CoreView};
use onceover_engine::command::{Command, WindowChange};
use onceover_engine::names::{JobId, JobKey};
use onceover_engine::time::{Millis, Timestamp};
use std::sync::Arc;

impl KeyRef {
    /// The command that frees it, if it is still what was on the screen.
    pub fn release(&self) -> Command {
        Command::ReleaseKey {
            queue: Arc::from(&*self.queue),
            key: Arc::from(&*self.key),
            owner: JobId::parse(&self.owner_id),
            generation: JobKey(self.generation),
        }
    }

    /// The command that undoes its release.
    pub fn restore(&self) -> Command {
        Command::RestoreKey {
            queue: Arc::from(&*self.queue),
            key: Arc::from(&*self.key),
            generation: JobKey(self.generation),
        }
    }
}

/// Frees a key.
pub async fn release(broker: &BrokerHandle, key: KeyRef) -> Outcome {
    let result = match act(broker, key.release()).await? {
        Done::Yes => {
            let message = format!("Released {}.", code(&key.key));
            let job_id = Some(key.owner_id.clone());
            ActionResult { job_id, undo: Some(Box::new(Request::RestoreKeys { keys: vec![key] })), ..done(message) }
        }
        Done::No(text) => look(broker, move |core| not_as_seen(core, &key, text)).await?,
    };
    finished(broker, result).await
}

/// Says what the key is now, for whoever saw something older.
pub fn not_as_seen(core: &CoreView<'_>, key: &KeyRef, text: String) -> ActionResult {
    let Some(entry) = core.engine.key(&key.queue, &key.key, core.now) else {
        return refused(RefusalCode::Gone, format!("{} is free already; nothing was done.", code(&key.key)));
    };
    if entry.owner == JobKey(key.generation) {
        return refused(RefusalCode::NotPossible, format!("{text}."));
    }
    let since = ago(core.now.since(entry.registered_at));
    let owner = short_id(&entry.owner_id);
    let message =
        format!("This key changed while you looked: it belongs to {owner}, which took it {since}. Nothing was done.");
    ActionResult { job_id: Some(entry.owner_id.to_string()), ..refused(RefusalCode::Changed, message) }
}

/// Puts a released key back.
pub async fn restore(broker: &BrokerHandle, key: KeyRef) -> Outcome {
    let result = match act(broker, key.restore()).await? {
        Done::Yes => {
            let owner = short_id(&JobId::parse(&key.owner_id));
            ActionResult { job_id: Some(key.owner_id), ..done(format!("{} belongs to {owner} again.", code(&key.key))) }
        }
        Done::No(text) => look(broker, move |core| restore_refused(core, &key, &text)).await?,
    };
    finished(broker, result).await
}

/// Says why a key cannot be put back.
pub fn restore_refused(core: &CoreView<'_>, key: &KeyRef, text: &str) -> ActionResult {
    match core.engine.key(&key.queue, &key.key, core.now) {
        Some(entry) => {
            let owner = short_id(&entry.owner_id);
            let message = format!("{} cannot be put back: it belongs to {owner} now.", code(&key.key));
            ActionResult { job_id: Some(entry.owner_id.to_string()), ..refused(RefusalCode::KeyTaken, message) }
        }
        None => refused(RefusalCode::NotPossible, format!("{} cannot be put back. {text}.", code(&key.key))),
    }
}

/// Gives a key another window.
pub async fn set_window(broker: &BrokerHandle, wanted: KeyWindow) -> Outcome {
    let out_of_range = |field: &str| Failure {
        code: FailureCode::BadRequest,
        message: format!("{field}: must be 1 ms to 365 days from now"),
    };
    if wanted.ttl_ms.is_some_and(|ttl| !(1..=WINDOW_MS_MAX).contains(&ttl)) {
        return Err(out_of_range("ttlMs"));
    }
    let key = KeyRef { queue: wanted.queue, key: wanted.key, owner_id: wanted.owner_id, generation: wanted.generation };
    let seen = key.clone();
    let (now, before) = look(broker, move |core| {
        let entry = core.engine.key(&seen.queue, &seen.key, core.now);
        (core.now, entry.map(|entry| (entry.ttl(), entry.expires_at())))
    })
    .await?;
    let ttl = wanted.ttl_ms.map(Millis);
    let until = wanted.expires_at.map(Timestamp).or(ttl.map(|ttl| now.plus(ttl)));
    if until.is_some_and(|until| until.since(now).0 > WINDOW_MS_MAX) {
        return Err(out_of_range("expiresAt"));
    }
    let change = WindowChange {
        queue: Arc::from(&*key.queue),
        key: Arc::from(&*key.key),
        owner: JobId::parse(&key.owner_id),
        generation: JobKey(key.generation),
        ttl,
        until,
    };
    let result = match act(broker, Command::SetKeyWindow(change)).await? {
        Done::Yes => {
            let undo = before.map(|(ttl, until)| Box::new(Request::SetKeyWindow(key.window(ttl, until))));
            let job_id = Some(key.owner_id.clone());
            ActionResult { job_id, undo, ..done(window_sentence(&key.key, ttl, until, now)) }
        }
        Done::No(text) => look(broker, move |core| not_as_seen(core, &key, text)).await?,
    };
    finished(broker, result).await
}

impl KeyRef {
    fn window(&self, ttl: Option<Millis>, until: Option<Timestamp>) -> KeyWindow {
        let KeyRef { queue, key, owner_id, generation } = self.clone();
        KeyWindow {
            queue,
            key,
            owner_id,
            generation,
            ttl_ms: ttl.map(|ttl| ttl.0),
            expires_at: until.map(|until| until.0),
        }
    }
}

fn window_sentence(key: &str, ttl: Option<Millis>, until: Option<Timestamp>, now: Timestamp) -> String {
    match (ttl, until) {
        (Some(ttl), Some(until)) if until == now.plus(ttl) => {
            format!("{} is held for {} from now.", code(key), span(ttl))
        }
        (_, Some(until)) => format!("{} is held for another {}.", code(key), left(until.since(now))),
        (_, None) => format!("{} has no TTL now: it is held until its owner ends.", code(key)),
    }
}

#[cfg(test)]
#[path = "key_actions_tests.rs"]
mod key_actions_tests;
