//! The sentence of a decision, its steps and its facts: gui.md 1.1 in code, and the only place where these texts are made.
//!
//! Everything comes from the `AddRecord` that the engine wrote at the moment of deciding; nothing is looked up or guessed
//! later, so a row keeps saying what was true when it was made.

use crate::view::{Decision, Fact, KeyFace};
use crate::words::{self, ago, code, left, plural, short_id, span, state_word};
use onceover_engine::command::{NewJob, StateName};
use onceover_engine::dedup::{DecisionCode, FreedBy, FreedKey, KeySeen, OwnerSeen};
use onceover_engine::effects::AddRecord;
use onceover_engine::time::{Millis, Timestamp};

/// From this many microseconds on an add counts as slow.
const SLOW_US: u64 = 20_000;

/// One sentence, or two: what was done with the add, and why.
pub fn sentence(record: &AddRecord) -> String {
    let key = key_text(record);
    let owner = owner_id(record);
    let new = record.decision.job.as_ref().map_or_else(|| "a job".to_owned(), short_id);
    match record.decision.code {
        DecisionCode::Created => created(record),
        DecisionCode::CreatedFreed => created_freed(record, &key),
        DecisionCode::CreatedTwin => {
            let freed = record.decision.freed.as_ref().map_or("was freed", |freed| words::freed(freed.by));
            format!(
                "Created, but {owner} is still live and carries {key} too: it lost the key when it {freed}. Both can run."
            )
        }
        DecisionCode::ExistingKey => {
            format!("Returned {owner} ({}). It holds {key} {}.", owner_word(record), hold(record))
        }
        DecisionCode::ExistingJobId => {
            format!("Returned {owner} ({}): the job ID is in use by an unfinished job.", owner_word(record))
        }
        DecisionCode::ExistingElsewhere => {
            let home = record.decision.elsewhere.as_deref().unwrap_or("another");
            let asked = code(&record.add.spec.queue);
            format!(
                "Returned {owner}, which lives in queue {}. Job IDs are broker-wide; nothing was added to {asked}.",
                code(home)
            )
        }
        DecisionCode::ExistingHash => format!("Returned {owner}: the payload has the same hash {key}."),
        DecisionCode::Extended => {
            format!(
                "Kept {owner} ({}). TTL set to {} again ({}).",
                owner_word(record),
                ttl_text(record),
                had_left(record)
            )
        }
        DecisionCode::ExtendedNoTtl => {
            format!("Returned {owner}. `extend` had no effect: the add carried no `ttl`.")
        }
        DecisionCode::Replaced => format!(
            "Removed {owner} ({}, {} made) and created {new} with the new data.",
            owner_word(record),
            plural(u64::from(record.decision.owner.as_ref().map_or(0, |owner| owner.attempts)), "attempt"),
        ),
        DecisionCode::Moved => {
            let state = state_after_admission(&record.add.spec).as_str();
            format!("{owner} is running and keeps running. {key} now belongs to {new} ({state}).")
        }
        DecisionCode::NextHeld => {
            format!("{owner} is running. This data is kept and becomes a job when it ends.")
        }
        DecisionCode::NextUpdated => format!("{owner} is running. The kept data was overwritten."),
        DecisionCode::RejectedExtend => format!(
            "Owner {owner} is {}, so it cannot be kept by `extend`. The TTL was set to {} again all the same.",
            owner_word(record),
            ttl_text(record),
        ),
        DecisionCode::RejectedDependents => {
            format!("Live jobs depend on {owner}, so it cannot be replaced. Nothing changed.")
        }
        DecisionCode::RejectedInvalid | DecisionCode::RejectedLimit | DecisionCode::RejectedStorage => {
            record.decision.refusal.clone().unwrap_or_else(|| "Refused.".to_owned())
        }
    }
}

/// A plain creation: without a key, with a free one, or with one taken over from an owner that had ended.
fn created(record: &AddRecord) -> String {
    let (key, queue) = (key_text(record), code(&record.add.spec.queue));
    if let Some(before) = &record.key_before {
        let held = short_id(&before.owner_id);
        return match &record.decision.owner {
            Some(owner) => format!(
                "Created. {held} ({}) still held {key} {}; `replace` took the key over.",
                state_word(owner.state),
                window_of(before, record.at),
            ),
            None => format!("Created. It is the next run of {held} and took {key} over from it."),
        };
    }
    match (&record.add.dedup_key, &record.add.custom_id) {
        (Some(_), _) if record.add.spec.dedup.ttl == Some(Millis(0)) => {
            format!(
                "Created. No live job held {key} in {queue}. A `ttl` of 0 registers no key: the next add makes a job too."
            )
        }
        (Some(_), _) => format!("Created. No live job held {key} in {queue}."),
        (None, Some(id)) => format!("Created. No unfinished job had the ID {}.", code(&id.to_string())),
        (None, None) => "Created. The add carried neither key nor job ID.".to_owned(),
    }
}

fn created_freed(record: &AddRecord, key: &str) -> String {
    let Some(freed) = &record.decision.freed else { return created(record) };
    format!(
        "Created. {key} was free: its last owner {} {} {}{}.",
        short_id(&freed.owner_id),
        words::freed(freed.by),
        ago(record.at.since(freed.at)),
        before_its_end(freed),
    )
}

/// How much of its window a freed key gave up.
fn before_its_end(freed: &FreedKey) -> String {
    match freed.would_end_at {
        Some(end) if end > freed.at && freed.by != FreedBy::WindowEnded => {
            format!(", {} before its TTL would have ended", left(end.since(freed.at)))
        }
        Some(_) | None => String::new(),
    }
}

/// How the decision was reached, one step per line.
pub fn steps(record: &AddRecord) -> Vec<String> {
    let decision = &record.decision;
    let mut steps = Vec::new();
    if let Some(id) = &record.add.custom_id {
        let hit = matches!(decision.code, DecisionCode::ExistingJobId | DecisionCode::ExistingElsewhere);
        let found = if hit { format!("in use by a job that is {}", owner_word(record)) } else { "free".to_owned() };
        steps.push(format!("Job ID look-up: {} is {found}.", code(&id.to_string())));
        if hit {
            steps.push("The job ID is looked up first and wins; the key was not looked at.".to_owned());
        }
    }
    if let (Some(key), false) = (&record.add.dedup_key, is_id_hit(decision.code)) {
        if record.add.spec.dedup.from_hash {
            steps.push(format!("The key is the hash of the payload: {}.", code(key)));
        }
        steps.push(key_look_up(record));
        steps.extend(strategy_steps(record));
    }
    steps.push(outcome(record));
    steps
}

fn is_id_hit(code: DecisionCode) -> bool {
    matches!(code, DecisionCode::ExistingJobId | DecisionCode::ExistingElsewhere)
}

fn key_look_up(record: &AddRecord) -> String {
    let key = key_text(record);
    match (&record.key_before, &record.decision.freed) {
        (Some(before), _) => format!(
            "Key look-up: {key} is held by {} ({}), {}.",
            short_id(&before.owner_id),
            owner_word(record),
            window_of(before, record.at)
        ),
        (None, Some(freed)) => format!(
            "Key look-up: {key} is free. Its last owner {} {} {}.",
            short_id(&freed.owner_id),
            words::freed(freed.by),
            ago(record.at.since(freed.at))
        ),
        (None, None) => format!("Key look-up: {key} is free."),
    }
}

/// What the options of the key asked for, and what that means for the owner that was met.
fn strategy_steps(record: &AddRecord) -> Vec<String> {
    let dedup = &record.add.spec.dedup;
    let mut steps = Vec::new();
    if record.key_before.is_none() {
        return steps;
    }
    let extends = dedup.extend && dedup.ttl.is_some_and(|ttl| ttl.0 > 0);
    match (dedup.keep_last, dedup.replace, dedup.extend) {
        (true, _, _) => steps.push("`keepLastIfActive` is set.".to_owned()),
        (false, true, true) => steps.push("`replace` and `extend` are set: `replace` wins.".to_owned()),
        (false, true, false) => steps.push("`replace` is set.".to_owned()),
        (false, false, true) if extends => {
            steps.push(format!("`extend` is set, with a `ttl` of {}.", ttl_text(record)))
        }
        (false, false, true) => steps.push("`extend` is set, but without a `ttl` it has no effect.".to_owned()),
        (false, false, false) => steps.push("Neither `extend` nor `replace` is set: the owner is returned.".to_owned()),
    }
    let standing = match record.decision.owner.as_ref().and_then(|owner| owner.state) {
        Some(StateName::Active) => "The owner is active",
        Some(state) if state.is_live() => "The owner has not started",
        Some(_) => "The owner has ended, its window is still open",
        None => "The owner is gone",
    };
    let then = match record.decision.code {
        DecisionCode::Replaced => "it is removed",
        DecisionCode::Moved => "the key moves, the owner runs on",
        DecisionCode::Created => "the key changes hands",
        DecisionCode::Extended => "its window starts anew",
        DecisionCode::NextHeld | DecisionCode::NextUpdated => "the data is kept with it",
        DecisionCode::RejectedExtend => "it cannot be kept, but its window starts anew",
        DecisionCode::RejectedDependents => "live jobs depend on it, so it cannot be removed",
        DecisionCode::ExistingKey
        | DecisionCode::ExistingHash
        | DecisionCode::ExtendedNoTtl
        | DecisionCode::CreatedFreed
        | DecisionCode::CreatedTwin
        | DecisionCode::ExistingJobId
        | DecisionCode::ExistingElsewhere
        | DecisionCode::RejectedInvalid
        | DecisionCode::RejectedLimit
        | DecisionCode::RejectedStorage => return steps,
    };
    steps.push(format!("{standing}: {then}."));
    steps
}

fn outcome(record: &AddRecord) -> String {
    let decision = &record.decision;
    match (&decision.job, &decision.refusal) {
        (_, Some(refusal)) => format!("Refused: {refusal}"),
        (Some(job), None) if words::is_collapsed(decision.code) => {
            format!("{} was returned, no job was made.", short_id(job))
        }
        (Some(job), None) => format!("{} was created.", short_id(job)),
        (None, None) => "No job was made.".to_owned(),
    }
}

/// What else to know about the add, above all what was dropped without an error.
pub fn facts(record: &AddRecord, took_us: u64) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut fact = |label: String, text: String, warn| facts.push(Fact { label, text, warn });
    let noted = record.decision.facts;
    if noted.data_differs {
        let text = format!("Its payload is not that of {} and is lost.", owner_id(record));
        fact("data differs".to_owned(), text, true);
    }
    if noted.options_dropped {
        let asked: Vec<String> = crate::asked::options(&record.add.spec, None)
            .iter()
            .map(|option| format!("`{}` {}", option.name, option.value))
            .collect();
        let named = if asked.is_empty() { String::new() } else { format!(" ({})", asked.join(", ")) };
        let text = format!("Its options{named} are not those of {} and are lost.", owner_id(record));
        fact("options dropped".to_owned(), text, true);
    }
    if noted.key_not_taken {
        let text = format!("The job ID was found, so {} was not registered.", key_text(record));
        fact("key not taken".to_owned(), text, true);
    }
    if noted.job_id_not_used
        && let Some(id) = &record.add.custom_id
    {
        let text = format!("The key was found, so no job has the ID {} because of this add.", code(&id.to_string()));
        fact("job id not used".to_owned(), text, true);
    }
    if let Some(home) = &record.decision.elsewhere {
        let text = format!("The job lives in {}, not in {}.", code(home), code(&record.add.spec.queue));
        fact("other queue".to_owned(), text, true);
    }
    if let Some((index, of)) = record.bulk {
        fact(format!("bulk {index}/{of}"), format!("Entry {index} of {of} of one bulk add."), false);
    }
    if let Some(seq) = record.replay_of {
        fact(
            format!("replay of #{seq}"),
            format!("Sent again from the window, with the options of add #{seq}."),
            false,
        );
    }
    if took_us >= SLOW_US {
        let ms = took_us / 1_000;
        fact(format!("slow {ms} ms"), format!("{ms} ms from its arrival to its answer."), false);
    }
    facts
}

/// Whether the row deserves a second look.
pub fn warns(record: &AddRecord) -> bool {
    match words::decision(record.decision.code) {
        Decision::ExistingElsewhere
        | Decision::CreatedTwin
        | Decision::RejectedExtend
        | Decision::RejectedDependents
        | Decision::RejectedInvalid
        | Decision::RejectedLimit
        | Decision::RejectedStorage => true,
        Decision::Created
        | Decision::CreatedFreed
        | Decision::ExistingKey
        | Decision::ExistingJobId
        | Decision::ExistingHash
        | Decision::Extended
        | Decision::ExtendedNoTtl
        | Decision::Replaced
        | Decision::Moved
        | Decision::NextHeld
        | Decision::NextUpdated
        | Decision::Superseded => record.decision.facts.data_differs,
    }
}

/// The key before and after the add. The state beside it is that of its owner then, as far as the decision saw it.
pub fn faces(record: &AddRecord) -> (Option<KeyFace>, Option<KeyFace>) {
    let met = |key: &KeySeen| record.decision.owner.as_ref().filter(|owner| owner.key == key.owner);
    let before = record.key_before.as_ref().map(|entry| face(entry, met(entry).and_then(|owner| owner.state)));
    let after = record.key_after.as_ref().map(|entry| {
        let new = record.decision.job_key == Some(entry.owner) && !words::is_collapsed(record.decision.code);
        let state =
            if new { Some(state_after_admission(&record.add.spec)) } else { met(entry).and_then(|owner| owner.state) };
        face(entry, state)
    });
    (before, after)
}

fn face(key: &KeySeen, state: Option<StateName>) -> KeyFace {
    KeyFace {
        owner_id: key.owner_id.to_string(),
        owner_state: words::state_view(state),
        generation: key.owner.0,
        ttl_ms: key.window.ttl().map(|ttl| ttl.0),
        expires_at: key.window.end().map(|end| end.0),
    }
}

/// The state in which an admitted job starts.
pub fn state_after_admission(spec: &NewJob) -> StateName {
    if spec.rare.as_ref().is_some_and(|rare| !rare.depends_on.is_empty()) {
        StateName::WaitingChildren
    } else if spec.delay.0 > 0 {
        StateName::Delayed
    } else if spec.priority > 0 {
        StateName::Prioritized
    } else {
        StateName::Waiting
    }
}

fn key_text(record: &AddRecord) -> String {
    record.add.dedup_key.as_ref().map_or_else(|| "the key".to_owned(), |key| code(key))
}

fn owner_id(record: &AddRecord) -> String {
    record.decision.owner.as_ref().map_or_else(|| "the owner".to_owned(), |owner| short_id(&owner.id))
}

fn owner_word(record: &AddRecord) -> &'static str {
    let owner: Option<&OwnerSeen> = record.decision.owner.as_ref();
    state_word(owner.and_then(|owner| owner.state))
}

/// `for another 41 s`, `until it ends`.
fn hold(record: &AddRecord) -> String {
    match record.key_before.as_ref().and_then(|key| key.window.end()) {
        Some(end) => format!("for another {}", left(end.since(record.at))),
        None => "until it ends".to_owned(),
    }
}

fn window_of(key: &KeySeen, at: Timestamp) -> String {
    key.window.end().map_or_else(|| "without a TTL".to_owned(), |end| format!("with {} left", left(end.since(at))))
}

fn ttl_text(record: &AddRecord) -> String {
    record.add.spec.dedup.ttl.map_or_else(|| "its TTL".to_owned(), span)
}

fn had_left(record: &AddRecord) -> String {
    match record.key_before.as_ref().and_then(|key| key.window.end()) {
        Some(end) => format!("had {} left", left(end.since(record.at))),
        None => "had no TTL".to_owned(),
    }
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod explain_tests;
