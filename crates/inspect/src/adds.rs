//! The log of adds: what its entries are found by, their rows, and one add in full. Pages are made by `add_search.rs`.

use crate::asked::asked;
use crate::explain;
use crate::filter::{Fields, Kind, Row, id_has_word, id_is};
use crate::limits::{PREVIEW_CHARS_MAX, TEXT_BYTES_MAX};
use crate::payload::{self, Needle};
use crate::view::{Action, AddDetail, AddRow, BulkPlace, Can, Decision, IdKind, Text};
use crate::words;
use onceover_broker::CoreView;
use onceover_broker::activity::{AddEntry, AddSource, LoggedAdd};
use onceover_engine::command::Payload;
use onceover_engine::effects::AddRecord;
use onceover_engine::job::Blob;
use onceover_engine::names::JobKey;
use onceover_engine::time::Timestamp;
use std::cell::Cell;

/// What rows of the log can be filtered by.
#[derive(Clone, Copy, Debug)]
pub enum Field {
    Queue,
    Key,
    Id,
    Name,
    Decision,
    Client,
    Size,
    Took,
    Age,
    Replay,
    Run,
}

/// Their names.
pub const FIELDS: Fields<Field> = &[
    ("queue", Kind::Text, Field::Queue),
    ("key", Kind::Text, Field::Key),
    ("id", Kind::Id, Field::Id),
    ("job", Kind::Id, Field::Id),
    ("name", Kind::Text, Field::Name),
    ("decision", Kind::Text, Field::Decision),
    ("client", Kind::Text, Field::Client),
    ("size", Kind::Number, Field::Size),
    ("took", Kind::Duration, Field::Took),
    ("age", Kind::Duration, Field::Age),
    ("replay", Kind::Number, Field::Replay),
    ("run", Kind::Number, Field::Run),
];

fn decision_of(entry: &AddEntry) -> Decision {
    entry.decided().map_or(Decision::RejectedInvalid, |record| words::decision(record.decision.code))
}

/// An entry with what its fields need. The budget is what may still be searched of payloads.
pub struct Logged<'a> {
    pub entry: &'a AddEntry,
    pub now: Timestamp,
    pub budget: &'a Cell<usize>,
}

impl Row<Field> for Logged<'_> {
    fn text(&self, field: Field, is: &mut dyn FnMut(&str) -> bool) -> bool {
        let entry = self.entry;
        match field {
            Field::Queue => entry.queue().is_some_and(is),
            Field::Key => entry.key().is_some_and(is),
            Field::Name => name_of(entry).is_some_and(is),
            Field::Id => any_id(entry, is),
            Field::Decision => {
                let decision = decision_of(entry);
                let code = words::decision_code(decision);
                is(code)
                    || is(words::chip_word(words::chip(decision)))
                    || code.split_once('.').is_some_and(|(head, _)| is(head))
            }
            Field::Client => {
                let label = client(&entry.source);
                is(&label) || label.rsplit_once(" #").is_some_and(|(name, _)| is(name))
            }
            Field::Size | Field::Took | Field::Age | Field::Replay | Field::Run => false,
        }
    }

    fn number(&self, field: Field) -> Option<i64> {
        match field {
            Field::Size => i64::try_from(self.entry.data_bytes).ok(),
            Field::Took => i64::try_from(self.entry.took_us / 1_000).ok(),
            Field::Age => Some(self.now.since(self.entry.at()).0),
            Field::Replay => self.entry.decided()?.replay_of.and_then(|seq| i64::try_from(seq).ok()),
            Field::Run => match &self.entry.source {
                AddSource::Client(client) => client.run().and_then(|mark| i64::try_from(mark.run).ok()),
                AddSource::Window | AddSource::Http | AddSource::Broker => None,
            },
            Field::Queue | Field::Key | Field::Name | Field::Id | Field::Decision | Field::Client => None,
        }
    }

    fn has_word(&self, word: &Needle) -> bool {
        let entry = self.entry;
        let texts = [entry.queue(), entry.key(), name_of(entry)];
        texts.iter().flatten().any(|text| word.is_in(text.as_bytes()))
            || has_id_with(entry, word)
            || entry
                .decided()
                .and_then(|record| record.add.data.as_ref())
                .is_some_and(|data| searched(data, word, self.budget))
    }
}

/// Whether a word stands in a payload, while the budget lasts. It counts at least one byte, so that it always runs out.
pub fn searched(data: &Payload, word: &Needle, budget: &Cell<usize>) -> bool {
    let rest = budget.get();
    if rest == 0 {
        return false;
    }
    budget.set(rest.saturating_sub(data.len().max(1)));
    payload::contains(data, word)
}

fn name_of(entry: &AddEntry) -> Option<&str> {
    match &entry.add {
        LoggedAdd::Decided(record) => Some(&record.add.spec.name),
        LoggedAdd::Refused(refused) => refused.add.name.as_deref(),
    }
}

/// Whether one of the ids in the row, asked for or answered, is what is looked for.
fn any_id(entry: &AddEntry, is: &mut dyn FnMut(&str) -> bool) -> bool {
    match &entry.add {
        LoggedAdd::Decided(record) => {
            let named = [record.add.custom_id.as_ref(), record.decision.job.as_ref()];
            named.into_iter().flatten().any(|id| id_is(id, is))
        }
        LoggedAdd::Refused(refused) => refused.add.custom_id.as_deref().is_some_and(is),
    }
}

fn has_id_with(entry: &AddEntry, word: &Needle) -> bool {
    match &entry.add {
        LoggedAdd::Decided(record) => {
            let named = [record.add.custom_id.as_ref(), record.decision.job.as_ref()];
            named.into_iter().flatten().any(|id| id_has_word(id, word))
        }
        LoggedAdd::Refused(refused) => refused.add.custom_id.as_ref().is_some_and(|id| word.is_in(id.as_bytes())),
    }
}

/// Process and connection, `UI` or `scheduler`.
pub fn client(source: &AddSource) -> String {
    match source {
        AddSource::Client(_) | AddSource::Http => source.label(),
        AddSource::Window => "UI".to_owned(),
        AddSource::Broker => "scheduler".to_owned(),
    }
}

/// One row.
pub fn row(entry: &AddEntry) -> AddRow {
    let decision = decision_of(entry);
    let blank = AddRow {
        seq: entry.seq,
        at: entry.at().0,
        client: client(&entry.source),
        queue: entry.queue().unwrap_or_default().to_owned(),
        name: name_of(entry).unwrap_or_default().to_owned(),
        id_kind: IdKind::None,
        id_text: String::new(),
        decision,
        chip: words::chip(decision),
        warn: true,
        job_id: None,
        why: String::new(),
        facts: Vec::new(),
        data_preview: String::new(),
        size_bytes: entry.data_bytes as u64,
        took_us: entry.took_us,
        replay_of: None,
        bulk: None,
        group: None,
    };
    match &entry.add {
        LoggedAdd::Refused(refused) => {
            let (id_kind, id_text) = match (&refused.add.key, &refused.add.custom_id) {
                (Some(key), _) => (IdKind::Key, key.clone()),
                (None, Some(id)) => (IdKind::JobId, id.clone()),
                (None, None) => (IdKind::None, String::new()),
            };
            AddRow { id_kind, id_text, why: refused.text.clone(), ..blank }
        }
        LoggedAdd::Decided(record) => {
            let (id_kind, id_text) = identity(record);
            AddRow {
                id_kind,
                id_text,
                warn: explain::warns(record),
                job_id: record.decision.job.as_ref().map(ToString::to_string),
                why: explain::sentence(record),
                facts: explain::facts(record, entry.took_us),
                data_preview: record
                    .add
                    .data
                    .as_ref()
                    .map_or_else(String::new, |data| payload::line(data, PREVIEW_CHARS_MAX)),
                replay_of: record.replay_of,
                bulk: record.bulk.map(|(index, total)| BulkPlace { index, total }),
                ..blank
            }
        }
    }
}

/// What identified the add; of two, what was looked up first and decided.
fn identity(record: &AddRecord) -> (IdKind, String) {
    let by_id = matches!(words::decision(record.decision.code), Decision::ExistingJobId | Decision::ExistingElsewhere);
    match (&record.add.dedup_key, &record.add.custom_id) {
        (Some(_), Some(id)) if by_id => (IdKind::JobId, id.to_string()),
        (Some(key), _) if record.add.spec.dedup.from_hash => (IdKind::Hash, key.to_string()),
        (Some(key), _) => (IdKind::Key, key.to_string()),
        (None, Some(id)) => (IdKind::JobId, id.to_string()),
        (None, None) => (IdKind::None, String::new()),
    }
}

/// What the core gives for one add.
pub struct FoundOne {
    revision: u64,
    now: Timestamp,
    entry: AddEntry,
    data: Option<Payload>,
    owner_data: Option<Payload>,
}

/// Runs on the core thread.
pub fn find_one(core: &CoreView<'_>, seq: u64) -> Option<FoundOne> {
    let entry = core.activity.get(seq)?.clone();
    let data = whole_data(core, &entry);
    let differs = entry.decided().filter(|record| record.decision.facts.data_differs);
    let owner = differs.and_then(|record| record.decision.owner.as_ref());
    let owner_data = owner.and_then(|owner| job_data(core, owner.key));
    Some(FoundOne { revision: core.revision, now: core.now, entry, data, owner_data })
}

/// The add's whole payload: from the log, or, where the log kept a part only, from the job it made while that exists.
pub fn whole_data(core: &CoreView<'_>, entry: &AddEntry) -> Option<Payload> {
    let record = entry.decided()?;
    if !entry.data_is_cut() {
        return record.add.data.clone();
    }
    let made = record.decision.job_key.filter(|_| !words::is_collapsed(record.decision.code))?;
    job_data(core, made).filter(|data| data.len() == entry.data_bytes)
}

/// A job's payload, wherever it is. One that cannot be read is shown as not kept.
pub fn job_data(core: &CoreView<'_>, job: JobKey) -> Option<Payload> {
    match &core.engine.job_by_key(job)?.data {
        Blob::Absent => None,
        Blob::Here(data) => Some(data.clone()),
        Blob::OnDisk => core.payload(job).ok().flatten(),
    }
}

/// One add in full, off the core thread.
pub fn detail(found: FoundOne) -> AddDetail {
    let FoundOne { revision, now, entry, data, owner_data } = found;
    let row = row(&entry);
    let record = entry.decided();
    let (key_before, key_after) = record.map_or((None, None), explain::faces);
    let asked = match &entry.add {
        LoggedAdd::Decided(record) => asked(&record.add, record.bulk.is_some()),
        LoggedAdd::Refused(_) => Vec::new(),
    };
    let kept = data.as_ref().or(record.and_then(|record| record.add.data.as_ref()));
    AddDetail {
        revision,
        now: now.0,
        asked,
        steps: record
            .map_or_else(|| vec![format!("Refused before anything was looked up: {}", row.why)], explain::steps),
        key_before,
        key_after,
        data: kept.map(|data| shown(data, entry.data_bytes)),
        owner_data: owner_data.map(|data| shown(&data, data.len())),
        answered: answered(&entry),
        can: vec![can_replay(&entry, data.is_some())],
        row,
    }
}

/// A payload as text.
pub fn shown(data: &[u8], bytes: usize) -> Text {
    let shown = payload::text(data, TEXT_BYTES_MAX);
    Text { text: shown.text, bytes: bytes as u64, complete: shown.complete && data.len() == bytes }
}

/// Whether the add can be sent again, and why not.
pub fn can_replay(entry: &AddEntry, data_is_there: bool) -> Can {
    let reason = match &entry.add {
        LoggedAdd::Refused(_) => Some("It was not valid, so there is nothing to send again."),
        LoggedAdd::Decided(_) if entry.data_is_cut() && !data_is_there => {
            Some("Payload kept in part, replay not possible.")
        }
        LoggedAdd::Decided(_) => None,
    };
    Can { action: Action::Replay, allowed: reason.is_none(), reason: reason.map(str::to_owned) }
}

/// The answer as it went out, without the request's number; of a batch, this entry's share in it.
fn answered(entry: &AddEntry) -> String {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let record = match &entry.add {
        LoggedAdd::Refused(refused) => return format!("{{\"ok\": false, \"error\": {}}}", text(&refused.text)),
        LoggedAdd::Decided(record) => record,
    };
    let decision = &record.decision;
    if let Some(refusal) = &decision.refusal {
        return format!("{{\"ok\": false, \"error\": {}}}", text(refusal));
    }
    let id = decision.job.as_ref().map_or_else(|| "null".to_owned(), |id| text(&id.to_string()));
    match record.bulk {
        Some(_) => format!("{{\"ok\": true, \"ids\": [… {id} …]}}"),
        None => format!("{{\"ok\": true, \"id\": {id}{}}}", added(record)),
    }
}

/// What the answer says besides the id (dedup.md 11).
fn added(record: &AddRecord) -> String {
    use onceover_engine::dedup::DecisionCode as Code;
    let quoted = |name: &str, value: &str| format!(", \"{name}\": \"{value}\"");
    match record.decision.code {
        Code::ExistingJobId | Code::ExistingElsewhere => quoted("duplicate", "jobId"),
        Code::ExistingKey | Code::ExistingHash | Code::ExtendedNoTtl => quoted("duplicate", "default"),
        Code::Extended => quoted("duplicate", "extend"),
        Code::NextHeld | Code::NextUpdated => quoted("duplicate", "keepLast"),
        Code::Replaced => {
            let replaced = record.decision.owner.as_ref().map(|owner| owner.id.to_string());
            replaced.map_or_else(String::new, |id| quoted("replaced", &id))
        }
        Code::Created | Code::CreatedFreed | Code::CreatedTwin | Code::Moved => String::new(),
        Code::RejectedExtend | Code::RejectedDependents => String::new(),
        Code::RejectedInvalid | Code::RejectedLimit | Code::RejectedStorage => String::new(),
    }
}
