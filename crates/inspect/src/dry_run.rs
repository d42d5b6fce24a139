//! If sent now: the decision of the real admission code about an add that is not made, in the words of the log, with what
//! is wrong with it or without effect.

use crate::explain;
use crate::request::NewAdd;
use crate::send::OPTIONS;
use crate::view::{Chip, Decision, DryRun, Fact};
use crate::words;
use onceover_broker::CoreView;
use onceover_engine::command::Add;
use onceover_engine::effects::AddRecord;

/// What the core says: the record that the add would leave, and when.
pub struct Foreseen {
    revision: u64,
    record: AddRecord,
}

/// Runs on the core thread, and changes nothing.
pub fn foresee(core: &CoreView<'_>, add: &Add) -> Foreseen {
    Foreseen { revision: core.revision, record: core.engine.dry_run(core.now, add) }
}

/// In words, off the core thread.
pub fn view(new: &NewAdd, foreseen: &Foreseen) -> DryRun {
    let Foreseen { revision, record } = foreseen;
    let decision = words::decision(record.decision.code);
    let facts: Vec<Fact> = explain::facts(record, 0);
    DryRun {
        revision: *revision,
        now: record.at.0,
        decision,
        chip: words::chip(decision),
        warn: explain::warns(record),
        why: explain::sentence(record),
        facts,
        field: record.decision.refusal.as_deref().and_then(field_of),
        data_bytes: record.add.data.as_ref().map(|data| data.len() as u64),
        notes: notes(new),
    }
}

/// Of an add that never reaches the engine.
pub fn invalid(revision: u64, now: i64, why: String) -> DryRun {
    DryRun {
        revision,
        now,
        decision: Decision::RejectedInvalid,
        chip: Chip::Rejected,
        warn: true,
        field: field_of(&why),
        why,
        facts: Vec::new(),
        data_bytes: None,
        notes: Vec::new(),
    }
}

/// The option that a refusal speaks of. Most name it first.
fn field_of(refusal: &str) -> Option<String> {
    const PHRASES: [(&str, &str); 8] = [
        ("Queue name", "queue"),
        ("Job name", "name"),
        ("Job data", "data"),
        ("The data", "data"),
        ("Deduplication requires", "dedup.key"),
        ("group.priority", "priority"),
        ("group.maxSize", "groupMaxSize"),
        ("Dependency job", "dependsOn"),
    ];
    if let Some((_, field)) = PHRASES.iter().find(|(phrase, _)| refusal.starts_with(phrase)) {
        return Some((*field).to_owned());
    }
    let first = refusal.split([' ', ':', '[']).next().unwrap_or_default();
    let option = first.split('.').next().unwrap_or_default();
    OPTIONS.contains(&option).then(|| first.to_owned())
}

/// Options that do nothing beside others.
fn notes(new: &NewAdd) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |holds: bool, text: &str| {
        if holds {
            notes.push(text.to_owned());
        }
    };
    let has_key = new.dedup_hash || new.dedup_id.as_deref().is_some_and(|id| !id.is_empty());
    let has_id = new.job_id.as_deref().is_some_and(|id| !id.is_empty());
    note(has_key && has_id, "Both are set: the job ID is looked up first and wins.");
    note(new.extend && new.replace, "`replace` wins over `extend`.");
    let without_ttl = new.ttl_ms.is_none_or(|ttl| ttl == 0);
    note(has_key && new.extend && !new.replace && without_ttl, "`extend` has no effect without a `ttl`.");
    note(has_key && new.ttl_ms == Some(0), "A `ttl` of 0 registers no key.");
    note(new.keep_last_if_active && new.extend && !new.replace, "`keepLastIfActive` wins over `extend`.");
    notes
}

#[cfg(test)]
#[path = "dry_run_tests.rs"]
mod dry_run_tests;
