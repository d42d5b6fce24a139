//! Calls webhooks, outside of the core: it only hands over what happened, and learns later what came of it.
//!
//! A call is tried a few times with growing pauses, then given up. Calls of one webhook run side by side, a few at a
//! time, and those that wait are bounded, so a receiver that is slow or gone costs neither the broker nor other
//! receivers anything. Beyond the bound calls are given up at once and counted as failures. What waits when the broker
//! stops is not called any more.

use crate::inbox::{Inbox, Message};
use crate::limits::{WEBHOOK_BYTES_MAX, WEBHOOK_CALLS_MAX, WEBHOOK_SLOTS};
use crate::webhook_body::{self, Signed};
use crate::webhook_call::Caller;
use onceover_engine::Engine;
use onceover_engine::command::Command;
use onceover_engine::event::Event;
use onceover_engine::webhook::{Request, Webhook, WebhookEvent};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};

/// Between two reports of calls that were given up because too many waited.
const DROPPED_EVERY: Duration = Duration::from_secs(1);

/// How webhooks are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookSettings {
    /// Only addresses of the world are called.
    pub strict: bool,
    /// How often a call is tried, at least once.
    pub tries: u32,
    /// Pause before the second try; each further one is twice as long.
    pub retry_delay: Duration,
}

impl Default for WebhookSettings {
    fn default() -> WebhookSettings {
        WebhookSettings { strict: false, tries: 3, retry_delay: Duration::from_secs(1) }
    }
}

/// The core's way to them.
pub(crate) struct Courier {
    runtime: Handle,
    inbox: Inbox,
    settings: WebhookSettings,
    caller: Arc<Caller>,
    /// Those that are called, as of `revision`.
    hooks: Vec<(Arc<Webhook>, Arc<Backlog>)>,
    revision: Option<u64>,
}

/// The calls of one webhook.
struct Backlog {
    waiting: AtomicUsize,
    waiting_bytes: AtomicUsize,
    slots: Semaphore,
    /// The webhook is gone, or switched off.
    closed: AtomicBool,
    /// Calls that were given up because too many waited, and not told of yet.
    dropped: AtomicU64,
}

impl Backlog {
    fn new() -> Backlog {
        Backlog {
            waiting: AtomicUsize::new(0),
            waiting_bytes: AtomicUsize::new(0),
            slots: Semaphore::new(WEBHOOK_SLOTS),
            closed: AtomicBool::new(false),
            dropped: AtomicU64::new(0),
        }
    }

    /// A place for one more call. A single one may be larger than the bound.
    fn place(self: &Arc<Backlog>, bytes: usize) -> Option<Place> {
        let (waiting, before) = (self.waiting.load(Ordering::Relaxed), self.waiting_bytes.load(Ordering::Relaxed));
        if waiting >= WEBHOOK_CALLS_MAX || (before > 0 && before + bytes > WEBHOOK_BYTES_MAX) {
            return None;
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        Some(Place { backlog: Arc::clone(self), bytes })
    }
}

/// Given back when the call has ended.
struct Place {
    backlog: Arc<Backlog>,
    bytes: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.backlog.waiting.fetch_sub(1, Ordering::Relaxed);
        self.backlog.waiting_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Courier {
    pub(crate) fn new(runtime: Handle, inbox: Inbox, settings: WebhookSettings) -> Courier {
        let caller = Arc::new(Caller::new(settings.strict));
        Courier { runtime, inbox, settings, caller, hooks: Vec::new(), revision: None }
    }

    /// Who is called from now on. Calls of those that are not any more are dropped.
    pub(crate) fn learn(&mut self, engine: &Engine) {
        if self.revision == Some(engine.webhooks_revision()) {
            return;
        }
        self.revision = Some(engine.webhooks_revision());
        let before: HashMap<Arc<str>, Arc<Backlog>> =
            self.hooks.drain(..).map(|(hook, backlog)| (hook.id.clone(), backlog)).collect();
        for hook in engine.webhooks().filter(|hook| hook.enabled) {
            let backlog = before.get(&hook.id).cloned().unwrap_or_else(|| Arc::new(Backlog::new()));
            self.hooks.push((Arc::new(hook.clone()), backlog));
        }
        for (id, backlog) in before {
            if !self.hooks.iter().any(|(hook, _)| hook.id == id) {
                backlog.closed.store(true, Ordering::Relaxed);
            }
        }
    }

    /// The engine is another one: its webhooks are looked at anew.
    pub(crate) fn forget(&mut self) {
        self.revision = None;
    }

    /// Whether somebody is called for it.
    pub(crate) fn wants(&self, event: &Event) -> bool {
        let Some(kind) = WebhookEvent::of(&event.kind).filter(|_| !self.hooks.is_empty()) else { return false };
        self.hooks.iter().any(|(hook, _)| hook.wants(&event.queue, kind))
    }

    /// Calls everybody who wants to know. Returns at once.
    pub(crate) fn call(&self, event: &Arc<Event>) {
        let Some(kind) = WebhookEvent::of(&event.kind) else { return };
        let bytes = webhook_body::weight(event);
        for (hook, backlog) in self.hooks.iter().filter(|(hook, _)| hook.wants(&event.queue, kind)) {
            match backlog.place(bytes) {
                Some(place) => {
                    let call = Call {
                        hook: Arc::clone(hook),
                        event: Arc::clone(event),
                        kind,
                        caller: Arc::clone(&self.caller),
                        settings: self.settings,
                        inbox: self.inbox.clone(),
                    };
                    self.runtime.spawn(call.run(place));
                }
                None => self.drop_one(hook, backlog),
            }
        }
    }

    /// Those that are given up at once are told of together, so that a flood of them is not one of reports too.
    fn drop_one(&self, hook: &Webhook, backlog: &Arc<Backlog>) {
        if backlog.dropped.fetch_add(1, Ordering::Relaxed) > 0 {
            return;
        }
        let (id, backlog, inbox) = (hook.id.clone(), Arc::clone(backlog), self.inbox.clone());
        self.runtime.spawn(async move {
            tokio::time::sleep(DROPPED_EVERY).await;
            let failures = backlog.dropped.swap(0, Ordering::Relaxed);
            tracing::warn!(webhook = %id, failures, "calls were given up: too many wait for this receiver");
            report(&inbox, id, None, 0, failures, Some("too many calls wait for this receiver".to_owned()));
        });
    }
}

struct Call {
    hook: Arc<Webhook>,
    event: Arc<Event>,
    kind: WebhookEvent,
    caller: Arc<Caller>,
    settings: WebhookSettings,
    inbox: Inbox,
}

impl Call {
    async fn run(self, place: Place) {
        let backlog = Arc::clone(&place.backlog);
        let Ok(_slot) = backlog.slots.acquire().await else { return };
        if backlog.closed.load(Ordering::Relaxed) {
            return;
        }
        let signed = Signed::new(self.kind, &self.event, self.hook.secret.as_ref());
        let mut pause = self.settings.retry_delay;
        let mut tried = 1;
        loop {
            let error = match self.caller.call(&self.hook.url, &signed).await {
                Ok(()) => return report(&self.inbox, self.hook.id.clone(), Some(self.kind), 1, 0, None),
                Err(error) => error,
            };
            if tried >= self.settings.tries || backlog.closed.load(Ordering::Relaxed) {
                // The URL may hold a secret of the receiver's, so the log names the webhook only.
                tracing::warn!(webhook = %self.hook.id, %error, "a call was given up");
                return report(&self.inbox, self.hook.id.clone(), Some(self.kind), 0, 1, Some(error));
            }
            tried += 1;
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2);
        }
    }
}

/// The core is told as of any command; when it has ended there is nobody to count.
fn report(
    inbox: &Inbox,
    id: Arc<str>,
    event: Option<WebhookEvent>,
    successes: u64,
    failures: u64,
    error: Option<String>,
) {
    let command = Box::new(Command::Webhook(Request::Called { id, event, successes, failures, error }));
    let _ = inbox.send(Message::Act { command, answer: oneshot::channel().0 });
}

/// What protects the certificates from being read twice.
pub(crate) type Once<T> = Mutex<Option<T>>;

/// Its value, made when it is wanted first.
pub(crate) fn once<T: Clone>(cell: &Once<T>, make: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let mut cell = cell.lock().unwrap_or_else(PoisonError::into_inner);
    match &*cell {
        Some(value) => Ok(value.clone()),
        None => Ok(cell.insert(make()?).clone()),
    }
}
