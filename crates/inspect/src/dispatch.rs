//! `Inspector`: one door for every question and action of a window, whatever host it runs in. JSON in, JSON out.
//!
//! Questions run as short closures on the core thread and give plain owned data; JSON is made afterwards, off that thread.

use crate::actions::{self, down};
use crate::add_search::{self, Search as AddSearch};
use crate::health::HealthCache;
use crate::job_bulk::{self, BulkAction};
use crate::jobs::Search;
use crate::key_search::Search as KeySearch;
use crate::limits::SEARCH_TIME_MAX;
use crate::overview::{self, Closed};
use crate::playground::{self, Playgrounds};
use crate::request::{KeyRef, OfQueue, Request};
use crate::settings::{self, Settings};
use crate::view::{Changed, Failure, FailureCode, Reply, RunView, SettingChange};
use crate::{
    adds, clients, compose, export, job_actions, job_detail, jobs, key_actions, key_bulk, key_detail, keys,
    queue_actions, queue_limits, queues, runs, schedules, webhooks,
};
use onceover_broker::{BrokerHandle, CoreView};
use serde_json::Value;
use std::time::Instant;

/// Answers windows. Cheap to clone.
#[derive(Clone)]
pub struct Inspector {
    source: Source,
    health: HealthCache,
    playgrounds: Playgrounds,
    settings: Settings,
}

#[derive(Clone)]
enum Source {
    Broker(BrokerHandle),
    Closed(Box<Closed>),
}

impl Inspector {
    /// For a broker, whether it listens or not.
    #[must_use]
    pub fn new(broker: BrokerHandle) -> Inspector {
        Inspector::of(Source::Broker(broker))
    }

    /// For a host whose broker could not be opened: the overview says why, everything else is `NotRunning`.
    #[must_use]
    pub fn closed(closed: Closed) -> Inspector {
        Inspector::of(Source::Closed(Box::new(closed)))
    }

    fn of(source: Source) -> Inspector {
        Inspector {
            source,
            health: HealthCache::default(),
            playgrounds: Playgrounds::default(),
            settings: Settings::default(),
        }
    }

    /// With the settings of this door.
    #[must_use]
    pub fn with_settings(self, settings: Settings) -> Inspector {
        Inspector { settings, ..self }
    }

    /// Carries out one request.
    ///
    /// # Errors
    /// It makes no sense, what it names is not there, or the broker does not run.
    pub async fn call(&self, request: Value) -> Result<Value, Failure> {
        let reply = self.answer(parsed(request)?).await?;
        serde_json::to_value(&reply).map_err(|error| failure(FailureCode::Internal, error.to_string()))
    }

    /// The hint that goes with a revision.
    #[must_use]
    pub fn changed(&self, revision: u64) -> Changed {
        let now = match &self.source {
            Source::Broker(broker) => broker.now().0,
            Source::Closed(closed) => closed.at,
        };
        Changed { revision, now }
    }

    async fn answer(&self, request: Request) -> Result<Reply, Failure> {
        let request = match request {
            Request::Scenarios => return Ok(Reply::Scenarios(playground::scenarios())),
            Request::Playground { session, act } => {
                return self.playgrounds.act(&session, act, Instant::now()).map(Reply::Playground);
            }
            request => request,
        };
        let broker = match (&self.source, &request) {
            (Source::Closed(closed), Request::Overview) => {
                return Ok(Reply::Overview(Box::new(overview::of_closed(closed))));
            }
            (Source::Closed(closed), _) => return Err(failure(FailureCode::NotRunning, closed.message.clone())),
            (Source::Broker(broker), _) => broker,
        };
        match request {
            Request::Overview => Ok(Reply::Overview(Box::new(self.overview(broker).await))),
            Request::Adds(query) => {
                let mut search = AddSearch::new(add_search::question(&query)?);
                let began = Instant::now();
                loop {
                    search = view(broker, move |core| search.step(core)).await?;
                    if search.is_done() || began.elapsed() >= SEARCH_TIME_MAX {
                        return Ok(Reply::Adds(search.page()));
                    }
                }
            }
            Request::Add { seq } => {
                let found = view(broker, move |core| adds::find_one(core, seq)).await?;
                let found = found.ok_or_else(|| no_add(seq))?;
                Ok(Reply::Add(Box::new(adds::detail(found))))
            }
            Request::Jobs(query) => {
                let mut search = Search::new(jobs::question(&query)?);
                let began = Instant::now();
                loop {
                    search = view(broker, move |core| search.step(core)).await?;
                    if search.is_done() || began.elapsed() >= SEARCH_TIME_MAX {
                        return Ok(Reply::Jobs(search.page()));
                    }
                }
            }
            Request::Job { id } => {
                let gone = not_found(format!("There is no job {} any more.", crate::words::code(&id)));
                let found = view(broker, move |core| job_detail::find(core, &id)).await?;
                found.map(|found| Reply::Job(Box::new(found))).ok_or(gone)
            }
            Request::JobData { id } => {
                let gone = not_found(format!("There is no job {} any more.", crate::words::code(&id)));
                view(broker, move |core| job_actions::data_text(core, &id)).await?.map(Reply::Text).ok_or(gone)
            }
            Request::JobsPreview { action, jobs } => {
                let (action, chosen) = (BulkAction::of(action)?, job_bulk::chosen(jobs)?);
                job_bulk::preview(broker, action, chosen).await.map(Reply::JobsPreview)
            }
            Request::Queues => view(broker, queues::view).await.map(Reply::Queues),
            Request::Groups(of) => view(broker, move |core| queue_limits::groups(core, &of)).await.map(Reply::Groups),
            Request::Clients => view(broker, clients::view).await.map(Reply::Clients),
            Request::Settings => {
                settings::view(broker, &self.settings).await.map(|settings| Reply::Settings(Box::new(settings)))
            }
            Request::ChangeSetting { change } => {
                if !matches!(change, SettingChange::ReadOnly { .. }) {
                    self.may_act()?;
                }
                settings::change(broker, &self.settings, change).await.map(|result| Reply::Action(Box::new(result)))
            }
            other => self.answer_about_keys(broker, other).await,
        }
    }

    async fn answer_about_keys(&self, broker: &BrokerHandle, request: Request) -> Result<Reply, Failure> {
        match request {
            Request::Keys(query) => {
                let mut search = KeySearch::new(keys::question(&query)?, self.health.get(broker).await?);
                loop {
                    search = match view(broker, move |core| search.step(core)).await?.page() {
                        Ok(page) => return Ok(Reply::Keys(page)),
                        Err(unfinished) => *unfinished,
                    }
                }
            }
            Request::Key { queue, key } => {
                let gone = no_key(&key);
                let found = view(broker, move |core| key_detail::find(core, &queue, &key)).await?;
                found.map(|found| Reply::Key(Box::new(found))).ok_or(gone)
            }
            Request::ReleasePreview { queue, key } => {
                let gone = no_key(&key);
                let found = view(broker, move |core| key_detail::find_preview(core, &queue, &key)).await?;
                found.map(Reply::ReleasePreview).ok_or(gone)
            }
            Request::KeysPreview { keys } => {
                key_bulk::preview(broker, key_bulk::chosen(keys)?, &self.health).await.map(Reply::KeysPreview)
            }
            Request::Attention => {
                let health = self.health.get(broker).await?;
                view(broker, move |core| keys::attention(core, &health)).await.map(Reply::Attention)
            }
            other => self.answer_about_drafts(broker, other).await,
        }
    }

    async fn answer_about_drafts(&self, broker: &BrokerHandle, request: Request) -> Result<Reply, Failure> {
        match request {
            Request::Draft { seq } => {
                let found = view(broker, move |core| compose::draft(core, seq)).await?;
                let drafted = found.ok_or_else(|| no_add(seq))?;
                drafted.map(|draft| Reply::Draft(Box::new(draft))).map_err(not_found)
            }
            Request::AddData { seq } => {
                let found = view(broker, move |core| compose::origin(core, seq)).await?.map_err(not_found)?;
                Ok(Reply::Text(compose::data_text(found.as_deref())))
            }
            Request::ReadAdd { text, origin } => Ok(Reply::AddRead(Box::new(compose::read(&text, origin)))),
            Request::DryRun(new) => compose::dry_run(broker, &new).await.map(|run| Reply::DryRun(Box::new(run))),
            Request::Schedules(query) => schedules::view(broker, query).await.map(Reply::Schedules),
            Request::Webhooks => webhooks::view(broker).await.map(Reply::Webhooks),
            Request::Run => {
                let revision = view(broker, |core| core.revision).await?;
                Ok(Reply::Run(RunView { revision, run: broker.run().as_ref().map(runs::progress) }))
            }
            Request::ExportAdds(asked) => {
                let mut search = export::search(&asked)?;
                let began = Instant::now();
                loop {
                    search = view(broker, move |core| search.step(core)).await?;
                    if search.is_done() || began.elapsed() >= SEARCH_TIME_MAX {
                        return Ok(Reply::Export(export::part(search, &asked)));
                    }
                }
            }
            action => {
                self.may_act()?;
                act(broker, action).await
            }
        }
    }

    /// A window that may only look does nothing.
    fn may_act(&self) -> Result<(), Failure> {
        if self.settings.read_only() {
            return Err(failure(FailureCode::ReadOnly, "This window may only look.".to_owned()));
        }
        Ok(())
    }

    async fn overview(&self, broker: &BrokerHandle) -> crate::view::Overview {
        // Without a core there is nothing to look at, and the overview says why.
        let attention = self.health.get(broker).await.map_or(0, |health| health.attention());
        let found = broker.view(move |core| overview::of_core(core, attention)).await;
        let found = found.map_or_else(|_| overview::of_ended(broker), |found| overview::with_handle(found, broker));
        crate::view::Overview { read_only: self.settings.read_only(), ..found }
    }
}

/// Every request that changes something.
async fn act(broker: &BrokerHandle, request: Request) -> Result<Reply, Failure> {
    let result = match request {
        Request::ReleaseKey(key) => key_actions::release(broker, named(key)?).await?,
        Request::ReleaseKeys { keys, leave_out_active } => {
            key_bulk::release(broker, key_bulk::bounded(keys)?, leave_out_active).await?
        }
        Request::RestoreKeys { mut keys } if keys.len() == 1 => {
            key_actions::restore(broker, named(keys.remove(0))?).await?
        }
        Request::RestoreKeys { keys } => key_bulk::restore(broker, key_bulk::bounded(keys)?).await?,
        Request::SetKeyWindow(window) => key_actions::set_window(broker, window).await?,
        Request::ReplayAdd { seq } => actions::replay_add(broker, seq).await?,
        Request::RetryJob { id } => job_actions::retry(broker, id).await?,
        Request::RemoveJob { id } => job_actions::remove(broker, id).await?,
        Request::PromoteJob { id } => job_actions::promote(broker, id).await?,
        Request::EditJobData { id, generation, data_mark, data_text } => {
            job_actions::edit_data(broker, &id, generation, &data_mark, &data_text).await?
        }
        Request::FailJob { id } => job_actions::fail(broker, id).await?,
        Request::ReturnJob { id } => job_actions::return_to_waiting(broker, id).await?,
        Request::BulkJobs { action, jobs } => job_bulk::act(broker, action, jobs).await?,
        Request::PauseQueue { queue } => queue_actions::pause(broker, queue).await?,
        Request::ResumeQueue { queue } => queue_actions::resume(broker, queue).await?,
        Request::DrainQueue(OfQueue { queue }) => queue_actions::drain(broker, queue).await?,
        Request::CleanQueue { queue, state, older_than_ms } => {
            queue_actions::clean(broker, queue, state, older_than_ms).await?
        }
        Request::ObliterateQueue(OfQueue { queue }) => queue_actions::obliterate(broker, queue).await?,
        Request::ConfigureQueue(asked) => queue_actions::configure(broker, asked).await?,
        Request::ActOnSchedule(asked) => schedules::act(broker, asked).await?,
        Request::AddWebhook(new) => webhooks::add(broker, new).await?,
        Request::ActOnWebhook(asked) => webhooks::act(broker, asked).await?,
        Request::ChangeLimits(change) => queue_limits::change(broker, change).await?,
        Request::PauseGroup(asked) => queue_limits::pause_group(broker, asked).await?,
        Request::SendAdd(new) => actions::send_add(broker, &new).await?,
        Request::StartRun(asked) => runs::start(broker, asked).await?,
        Request::StopRun { id } => runs::stop(broker, id).await?,
        Request::ClearLog => actions::clear_log(broker).await?,
        Request::UsePort { port } => actions::use_port(broker, port).await?,
        Request::RetryPort => actions::retry_port(broker).await?,
        Request::Overview
        | Request::Adds(_)
        | Request::Add { .. }
        | Request::Draft { .. }
        | Request::AddData { .. }
        | Request::ReadAdd { .. }
        | Request::DryRun(_)
        | Request::Run
        | Request::ExportAdds(_)
        | Request::Keys(_)
        | Request::Key { .. }
        | Request::ReleasePreview { .. }
        | Request::KeysPreview { .. }
        | Request::Attention
        | Request::Jobs(_)
        | Request::Job { .. }
        | Request::JobData { .. }
        | Request::JobsPreview { .. }
        | Request::Queues
        | Request::Groups(_)
        | Request::Clients
        | Request::Schedules(_)
        | Request::Webhooks
        | Request::Settings
        | Request::ChangeSetting { .. }
        | Request::Scenarios
        | Request::Playground { .. } => unreachable!("questions are answered before actions are looked at"),
    };
    Ok(Reply::Action(Box::new(result)))
}

async fn view<T: Send + 'static>(
    broker: &BrokerHandle,
    question: impl FnOnce(&CoreView<'_>) -> T + Send + 'static,
) -> Result<T, Failure> {
    broker.view(question).await.map_err(|error| down(broker, &error))
}

/// An action on a key names the key, so that an empty form releases nothing.
fn named(key: KeyRef) -> Result<KeyRef, Failure> {
    let missing = [("queue", &key.queue), ("key", &key.key)].into_iter().find(|(_, text)| text.is_empty());
    match missing {
        Some((field, _)) => Err(failure(FailureCode::BadRequest, format!("{field}: must not be empty"))),
        None => Ok(key),
    }
}

/// The request in a JSON value, or what is wrong with it and where.
fn parsed(value: Value) -> Result<Request, Failure> {
    let bad = |message: String| failure(FailureCode::BadRequest, message);
    let Value::Object(members) = &value else { return Err(bad("the request must be an object".to_owned())) };
    if !members.get("type").is_some_and(Value::is_string) {
        return Err(bad("type: must name the request".to_owned()));
    }
    serde_json::from_value(value.clone()).map_err(|error| {
        let text = error.to_string();
        let field = members.keys().filter(|name| *name != "type").find(|name| changes_error(&value, name, &text));
        bad(field.map_or_else(|| text.clone(), |field| format!("{field}: {text}")))
    })
}

/// The decoder of a tagged enum does not say which field it failed at. It is the one without which the error is another.
fn changes_error(value: &Value, name: &str, text: &str) -> bool {
    let mut without = value.clone();
    if let Value::Object(members) = &mut without {
        members.remove(name);
    }
    serde_json::from_value::<Request>(without).err().is_none_or(|error| error.to_string() != text)
}

fn failure(code: FailureCode, message: String) -> Failure {
    Failure { code, message }
}

fn not_found(message: String) -> Failure {
    failure(FailureCode::NotFound, message)
}

fn no_add(seq: u64) -> Failure {
    not_found(format!("Add #{seq} is not in the log any more."))
}

fn no_key(key: &str) -> Failure {
    not_found(format!("{} is free: no job holds it any more.", crate::words::code(key)))
}

#[cfg(test)]
#[path = "dispatch_tests.rs"]
mod dispatch_tests;
