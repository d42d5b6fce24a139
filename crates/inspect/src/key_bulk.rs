//! Releasing many keys: what it would do, and each key's own outcome. Keys that changed are left alone and named; nothing is
//! undone because of them.

use crate::actions::{Outcome, done, finished, look, refused};
use crate::attention::Looker;
use crate::health::HealthCache;
use crate::key_actions::{not_as_seen, restore_refused};
use crate::key_search::Matching;
use crate::keys::{self, Held, Question};
use crate::limits::{BULK_AT_ONCE, BULK_KEYS_MAX, LEFT_ALONE_MAX, SAMPLE_ROWS};
use crate::request::{KeyRef, KeysChosen, KeysQuery, Request};
use crate::view::{ActionResult, Failure, FailureCode, KeyGroup, KeysPreview, LeftAlone, RefusalCode};
use crate::words::{count, plural, state_view, state_word};
use onceover_broker::{BrokerHandle, CoreView};
use onceover_engine::command::{Command, StateName};
use onceover_engine::dedup::KeyEntry;
use onceover_engine::names::JobKey;
use onceover_engine::reply::Reply;
use std::collections::BTreeMap;

/// Which keys, understood.
pub enum Chosen {
    Refs(Vec<KeyRef>),
    Matching(Box<Question>),
}

/// Understands a choice.
///
/// # Errors
/// Too many keys, or a filter with a mistake.
pub fn chosen(keys: KeysChosen) -> Result<Chosen, Failure> {
    match keys {
        KeysChosen::Refs { keys } => Ok(Chosen::Refs(bounded(keys)?)),
        KeysChosen::Matching { filter, chip } => {
            let query = KeysQuery { filter, chip, ..KeysQuery::default() };
            Ok(Chosen::Matching(Box::new(keys::question(&query)?)))
        }
    }
}

/// # Errors
/// More keys than one action takes.
pub fn bounded(keys: Vec<KeyRef>) -> Result<Vec<KeyRef>, Failure> {
    match keys.len() {
        0..=BULK_KEYS_MAX => Ok(keys),
        _ => Err(Failure {
            code: FailureCode::BadRequest,
            message: format!("keys: at most {} at once", count(BULK_KEYS_MAX as u64)),
        }),
    }
}

/// A key as it is now, if it is still what was on the screen.
fn as_seen<'a>(core: &CoreView<'a>, seen: &KeyRef) -> Option<&'a KeyEntry> {
    core.engine.key(&seen.queue, &seen.key, core.now).filter(|entry| entry.owner == JobKey(seen.generation))
}

/// What a release would do.
///
/// # Errors
/// The broker does not run.
pub async fn preview(broker: &BrokerHandle, chosen: Chosen, health: &HealthCache) -> Result<KeysPreview, Failure> {
    let question = match chosen {
        Chosen::Refs(keys) => {
            return look(broker, move |core| {
                let entries: Vec<&KeyEntry> = keys.iter().filter_map(|seen| as_seen(core, seen)).collect();
                found(core, &entries, keys.clone(), false)
            })
            .await;
        }
        Chosen::Matching(question) => question,
    };
    let mut matching = Matching::new(*question, health.get(broker).await?, BULK_KEYS_MAX);
    while !matching.done {
        matching = look(broker, move |core| matching.step(core)).await?;
    }
    look(broker, move |core| {
        let entries = matching.keys.iter().filter_map(|entry| core.engine.key_by_entry(*entry));
        let entries: Vec<&KeyEntry> = entries.collect();
        let looker = Looker::new(core);
        let keys = entries.iter().map(|entry| seen(&looker, entry)).collect();
        found(core, &entries, keys, matching.more)
    })
    .await
}

/// What a release of these keys would do; runs on the core thread.
fn found(core: &CoreView<'_>, entries: &[&KeyEntry], keys: Vec<KeyRef>, more: bool) -> KeysPreview {
    let looker = Looker::new(core);
    let mut by_state: BTreeMap<u8, (Option<StateName>, u64)> = BTreeMap::new();
    for entry in entries {
        let state = core.engine.job_by_key(entry.owner).map(|job| job.state_name(core.now));
        by_state.entry(risk(state)).or_insert((state, 0)).1 += 1;
    }
    let row = |entry: &&KeyEntry| {
        let held = Held { core, entry, queue: &looker.queue(entry.queue).name, codes: Default::default() };
        keys::row(&looker, &held)
    };
    KeysPreview {
        revision: core.revision,
        now: core.now.0,
        changed: (keys.len() - entries.len()) as u64,
        active: by_state.get(&risk(Some(StateName::Active))).map_or(0, |(_, keys)| *keys),
        groups: by_state.into_values().map(|(state, keys)| group(state, keys)).collect(),
        sample: entries.iter().take(SAMPLE_ROWS).map(row).collect(),
        keys,
        note: more
            .then(|| format!("More match than one action takes: these are the first {}.", count(BULK_KEYS_MAX as u64))),
    }
}

fn seen(looker: &Looker<'_>, entry: &KeyEntry) -> KeyRef {
    KeyRef {
        queue: looker.queue(entry.queue).name.to_string(),
        key: entry.key.to_string(),
        owner_id: entry.owner_id.to_string(),
        generation: entry.owner.0,
    }
}

/// Order of the groups: the riskiest last.
fn risk(state: Option<StateName>) -> u8 {
    match state {
        None => 0,
        Some(StateName::Completed) => 1,
        Some(StateName::Failed) => 2,
        Some(StateName::Waiting) => 3,
        Some(StateName::Prioritized) => 4,
        Some(StateName::WaitingChildren) => 5,
        Some(StateName::Delayed) => 6,
        Some(StateName::Active) => 7,
    }
}

fn group(state: Option<StateName>, keys: u64) -> KeyGroup {
    let owners = plural(keys, "owner");
    let are = if keys == 1 { "is" } else { "are" };
    let have = if keys == 1 { "has" } else { "have" };
    let waits = if keys == 1 { "waits" } else { "wait" };
    let (owners, next) = match state {
        None => (format!("{owners} {are} gone"), "the next add creates a job at once"),
        Some(StateName::Completed | StateName::Failed) => {
            (format!("{owners} {have} {}", state_word(state)), "the next add creates a job at once")
        }
        Some(StateName::Waiting) => (format!("{owners} {waits}"), "the next add makes a second pending job"),
        Some(StateName::Prioritized) => {
            (format!("{owners} {are} prioritized"), "the next add makes a second pending job")
        }
        Some(StateName::WaitingChildren) => {
            (format!("{owners} {waits} for children"), "the next add may run before them")
        }
        Some(StateName::Delayed) => (format!("{owners} {are} delayed"), "the next add may run before them"),
        Some(StateName::Active) => (format!("{owners} {are} active"), "two jobs can run at once"),
    };
    KeyGroup { state: state_view(state), keys, owners, next: next.to_owned() }
}

/// Runs commands, many to a commit. The refused keys come with the refusal's text.
async fn run(
    broker: &BrokerHandle,
    keys: &[KeyRef],
    command: fn(&KeyRef) -> Command,
) -> (Vec<KeyRef>, Vec<(KeyRef, String)>, Option<String>) {
    let (mut changed, mut refused) = (Vec::new(), Vec::new());
    for part in keys.chunks(BULK_AT_ONCE) {
        // All of a part are on their way before the first is answered, so that they share a commit.
        let acts: Vec<_> = part.iter().map(|key| broker.begin(command(key))).collect();
        for (key, act) in part.iter().zip(acts) {
            match act.await {
                Ok(Reply::Rejected(why)) => refused.push((key.clone(), why.to_string())),
                Ok(_) => changed.push(key.clone()),
                Err(error) => return (changed, refused, Some(error.to_string())),
            }
        }
    }
    (changed, refused, None)
}

/// Frees many keys.
pub async fn release(broker: &BrokerHandle, mut keys: Vec<KeyRef>, leave_out_active: bool) -> Outcome {
    let mut active = 0;
    if leave_out_active {
        let asked = keys.len();
        keys = look(broker, move |core| {
            keys.retain(|seen| !as_seen(core, seen).is_some_and(|entry| is_active(core, entry)));
            keys
        })
        .await?;
        active = (asked - keys.len()) as u64;
    }
    let (released, changed, error) = run(broker, &keys, KeyRef::release).await;
    let mut message = format!("Released {}.", plural(released.len() as u64, "key"));
    if active > 0 {
        message.push_str(&format!(" {} with an active owner {} left out.", count(active), were(active)));
    }
    if !changed.is_empty() {
        let number = changed.len() as u64;
        message.push_str(&format!(" {} had changed and {} left alone.", count(number), were(number)));
    }
    if let Some(error) = &error {
        message.push_str(&format!(" Then it ended: {error}"));
    }
    let left_alone = look(broker, move |core| {
        let why = |(seen, text): &(KeyRef, String)| left(seen, not_as_seen(core, seen, text.clone()).message);
        changed.iter().take(LEFT_ALONE_MAX).map(why).collect()
    })
    .await?;
    let nothing = released.is_empty() && error.is_none() && !keys.is_empty();
    let result = match error.is_some() || nothing {
        true => refused(RefusalCode::Changed, message),
        false => done(message),
    };
    let undo = (!released.is_empty()).then(|| Box::new(Request::RestoreKeys { keys: released }));
    finished(broker, ActionResult { left_alone, undo, ..result }).await
}

/// Puts many released keys back.
pub async fn restore(broker: &BrokerHandle, keys: Vec<KeyRef>) -> Outcome {
    let (restored, not, error) = run(broker, &keys, KeyRef::restore).await;
    let number = restored.len() as u64;
    let mut message = format!("{} {} held again.", plural(number, "key"), if number == 1 { "is" } else { "are" });
    if !not.is_empty() {
        message.push_str(&format!(" {} could not be put back.", count(not.len() as u64)));
    }
    if let Some(error) = &error {
        message.push_str(&format!(" Then it ended: {error}"));
    }
    let left_alone = look(broker, move |core| {
        let why = |(seen, text): &(KeyRef, String)| left(seen, restore_refused(core, seen, text).message);
        not.iter().take(LEFT_ALONE_MAX).map(why).collect()
    })
    .await?;
    let result = match error.is_some() || number == 0 {
        true => refused(RefusalCode::NotPossible, message),
        false => done(message),
    };
    finished(broker, ActionResult { left_alone, ..result }).await
}

fn is_active(core: &CoreView<'_>, entry: &KeyEntry) -> bool {
    core.engine.job_by_key(entry.owner).is_some_and(|job| job.state_name(core.now) == StateName::Active)
}

fn left(seen: &KeyRef, reason: String) -> LeftAlone {
    LeftAlone { id: seen.key.clone(), queue: seen.queue.clone(), reason }
}

fn were(number: u64) -> &'static str {
    if number == 1 { "was" } else { "were" }
}
