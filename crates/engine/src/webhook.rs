//! Webhooks: who is called when something happens to jobs (protocol-admin.md 10). What is asked for and what came of it;
//! the calls themselves are made outside.
//!
//! Unlike in bunqueue they survive a restart, with their counters.

use crate::effects::Effects;
use crate::engine::Engine;
use crate::event::EventKind;
use crate::notice::Field;
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::time::Timestamp;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Webhooks that may be set at the same time.
pub const WEBHOOKS_MAX: usize = 100;

/// What a webhook is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WebhookEvent {
    /// `job.pushed`
    Pushed,
    /// `job.started`
    Started,
    /// `job.completed`
    Completed,
    /// `job.failed`: every failed attempt.
    Failed,
    /// `job.progress`
    Progress,
}

impl WebhookEvent {
    /// All of them, in the order in which errors list them.
    pub const ALL: [WebhookEvent; 5] = [
        WebhookEvent::Pushed,
        WebhookEvent::Started,
        WebhookEvent::Completed,
        WebhookEvent::Failed,
        WebhookEvent::Progress,
    ];

    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            WebhookEvent::Pushed => "job.pushed",
            WebhookEvent::Started => "job.started",
            WebhookEvent::Completed => "job.completed",
            WebhookEvent::Failed => "job.failed",
            WebhookEvent::Progress => "job.progress",
        }
    }

    /// The event of that name.
    pub fn parse(name: &str) -> Option<WebhookEvent> {
        WebhookEvent::ALL.into_iter().find(|event| event.as_str() == name)
    }

    /// What an event of a queue is for webhooks, if anything.
    pub fn of(kind: &EventKind) -> Option<WebhookEvent> {
        match kind {
            EventKind::Pushed => Some(WebhookEvent::Pushed),
            EventKind::Pulled => Some(WebhookEvent::Started),
            EventKind::Completed { .. } => Some(WebhookEvent::Completed),
            EventKind::Failed { .. } => Some(WebhookEvent::Failed),
            EventKind::Progress { .. } => Some(WebhookEvent::Progress),
            _ => None,
        }
    }
}

/// Where a URL or an address leads, as far as it matters for who may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// To the world, or to a name that has to be looked up.
    World,
    /// `localhost`, 127.0.0.1, ::1.
    Localhost,
    /// The rest of 127/8, and such addresses inside of IPv6.
    Loopback,
    /// 10/8, 172.16/12, 192.168/16, and what else is not routed.
    Private,
    /// fc00::/7.
    UniqueLocal,
    /// 169.254/16, fe80::/10: on rented machines the keys of their owner are there.
    LinkLocal,
    /// 0/8, ::.
    Unspecified,
    /// `*.internal`.
    Metadata,
}

impl Reach {
    /// Whether it may be called. A broker on a developer's machine calls receivers beside it; one that is strict calls
    /// only the world (D-11 of protocol-admin.md 17).
    pub fn is_allowed(self, strict: bool) -> bool {
        match self {
            Reach::World => true,
            Reach::Localhost | Reach::Loopback | Reach::Private | Reach::UniqueLocal => !strict,
            Reach::LinkLocal | Reach::Unspecified | Reach::Metadata => false,
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Reach::World => "the world",
            Reach::Localhost => "localhost",
            Reach::Loopback => "loopback IP",
            Reach::Private => "private IP",
            Reach::UniqueLocal => "private (ULA) IP",
            Reach::LinkLocal => "link-local IP",
            Reach::Unspecified => "unspecified IP",
            Reach::Metadata => "cloud metadata endpoints",
        })
    }
}

/// A text that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub Arc<str>);

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret")
    }
}

/// AddWebhook.
#[derive(Clone, Debug, PartialEq)]
pub struct NewWebhook {
    /// A URL with `http` or `https`, at most 2,048 characters.
    pub url: Arc<str>,
    /// Where it leads.
    pub reach: Reach,
    /// Empty = it is never called.
    pub events: Vec<WebhookEvent>,
    /// None = of all queues.
    pub queue: Option<Arc<str>>,
    /// Calls are signed with it.
    pub secret: Option<Secret>,
}

/// What can be asked about webhooks.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// AddWebhook.
    Add(NewWebhook),
    /// RemoveWebhook.
    Remove {
        /// Which.
        id: Arc<str>,
    },
    /// ListWebhooks.
    List,
    /// SetWebhookEnabled.
    SetEnabled {
        /// Which.
        id: Arc<str>,
        /// Whether it is called.
        enabled: bool,
    },
    /// The broker's own: what came of calls. Of a webhook that is gone nothing is noted.
    Called {
        /// Which.
        id: Arc<str>,
        /// For what; none = for several things.
        event: Option<WebhookEvent>,
        /// Calls that were taken.
        successes: u64,
        /// Calls that were given up.
        failures: u64,
        /// Why the last one was given up.
        error: Option<String>,
    },
}

/// What the answers are.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// AddWebhook: `{ok, data: {webhookId, url, events, queue, createdAt}}`
    Added(Box<Webhook>),
    /// RemoveWebhook: `{ok, data: {removed: true}}`
    Removed,
    /// ListWebhooks: `{ok, data: {webhooks, stats}}`
    List(Vec<Webhook>),
}

/// A webhook as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Webhook {
    /// A UUID of version 7, so that they sort by age.
    pub id: Arc<str>,
    /// Whom to call.
    pub url: Arc<str>,
    /// For what.
    pub events: Vec<WebhookEvent>,
    /// Of which queue; none = of all.
    pub queue: Option<Arc<str>>,
    /// Calls are signed with it.
    pub secret: Option<Secret>,
    /// When it was added.
    pub created_at: Timestamp,
    /// When a call ended last.
    pub last_triggered: Option<Timestamp>,
    /// Calls that were taken.
    pub successes: u64,
    /// Calls that were given up.
    pub failures: u64,
    /// Whether it is called.
    pub enabled: bool,
}

impl Webhook {
    /// Whether it is called for this event of this queue.
    pub fn wants(&self, queue: &str, event: WebhookEvent) -> bool {
        self.enabled && self.events.contains(&event) && self.queue.as_deref().is_none_or(|own| own == queue)
    }
}

/// All webhooks.
#[derive(Debug, Default)]
pub(crate) struct Webhooks {
    by_id: BTreeMap<Arc<str>, Webhook>,
    /// Why the last call of each was given up, until one is taken. Memory only, unlike the counters.
    errors: BTreeMap<Arc<str>, String>,
    /// Grows whenever it changes who is called for what.
    revision: u64,
}

impl Webhooks {
    pub(crate) fn get(&self, id: &str) -> Option<&Webhook> {
        self.by_id.get(id)
    }

    pub(crate) fn insert(&mut self, webhook: Webhook) {
        self.revision += 1;
        self.by_id.insert(webhook.id.clone(), webhook);
    }
}

impl Engine {
    /// Why the last call of a webhook was given up; none when it was taken.
    pub fn webhook_error(&self, id: &str) -> Option<&str> {
        self.webhooks.errors.get(id).map(String::as_str)
    }

    /// All webhooks, in the order in which they were added.
    pub fn webhooks(&self) -> impl Iterator<Item = &Webhook> {
        self.webhooks.by_id.values()
    }

    /// Grows whenever it changes who is called for what.
    pub fn webhooks_revision(&self) -> u64 {
        self.webhooks.revision
    }

    pub(crate) fn webhook(
        &mut self,
        now: Timestamp,
        request: Request,
        effects: &mut Effects,
    ) -> Result<Reply, Rejection> {
        match request {
            Request::Add(new) => self.add_webhook(now, new, effects),
            Request::List => Ok(Reply::Webhook(Answer::List(self.webhooks().cloned().collect()))),
            Request::Remove { id } => {
                self.webhooks.by_id.remove(&id).ok_or(Rejection::WebhookNotFound)?;
                self.webhooks.errors.remove(&id);
                self.webhooks.revision += 1;
                self.dirty.webhook(&id);
                effects.tell(now, "webhook:removed", [("id", (&id).into())]);
                Ok(Reply::Webhook(Answer::Removed))
            }
            Request::SetEnabled { id, enabled } => {
                let webhook = self.webhooks.by_id.get_mut(&id).ok_or(Rejection::WebhookNotFound)?;
                webhook.enabled = enabled;
                self.webhooks.revision += 1;
                self.dirty.webhook(&id);
                let name = if enabled { "webhook:enabled" } else { "webhook:disabled" };
                effects.tell(now, name, [("webhookId", (&id).into())]);
                Ok(Reply::Ok)
            }
            Request::Called { id, event, successes, failures, error } => {
                let Some(webhook) = self.webhooks.by_id.get_mut(&id) else { return Ok(Reply::Ok) };
                webhook.last_triggered = Some(now);
                webhook.successes += successes;
                webhook.failures += failures;
                self.dirty.webhook(&id);
                let error = error.filter(|_| failures > 0);
                match &error {
                    Some(error) => self.webhooks.errors.insert(id, error.clone()),
                    None => self.webhooks.errors.remove(&id),
                };
                tell_of_call(now, webhook, event, error, effects);
                Ok(Reply::Ok)
            }
        }
    }

    fn add_webhook(&mut self, now: Timestamp, new: NewWebhook, effects: &mut Effects) -> Result<Reply, Rejection> {
        if !new.reach.is_allowed(self.config.strict_webhooks) {
            return Err(Rejection::WebhookReach(new.reach));
        }
        if self.webhooks.by_id.len() >= WEBHOOKS_MAX {
            return Err(Rejection::TooManyWebhooks(WEBHOOKS_MAX));
        }
        let webhook = Webhook {
            id: self.ids.job_id(now).to_string().into(),
            url: new.url,
            events: new.events,
            queue: new.queue,
            secret: new.secret,
            created_at: now,
            last_triggered: None,
            successes: 0,
            failures: 0,
            enabled: true,
        };
        self.dirty.webhook(&webhook.id);
        let events = Field::Texts(webhook.events.iter().map(|event| event.as_str().into()).collect());
        let id = ("id", (&webhook.id).into());
        effects.tell(now, "webhook:added", [id, ("url", (&webhook.url).into()), ("events", events)]);
        self.webhooks.insert(webhook.clone());
        Ok(Reply::Webhook(Answer::Added(Box::new(webhook))))
    }
}

fn tell_of_call(
    at: Timestamp,
    webhook: &Webhook,
    event: Option<WebhookEvent>,
    error: Option<String>,
    effects: &mut Effects,
) {
    let event = event.map_or("several", WebhookEvent::as_str);
    let [id, url, event] =
        [("webhookId", (&webhook.id).into()), ("url", (&webhook.url).into()), ("event", event.into())];
    match error {
        None => effects.tell(at, "webhook:fired", [id, url, event]),
        Some(error) => effects.tell(at, "webhook:failed", [id, url, event, ("error", error.as_str().into())]),
    }
}

#[cfg(test)]
#[path = "webhook_tests.rs"]
mod webhook_tests;
