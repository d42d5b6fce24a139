//! The keys that are held: pages of them with what deserves a look, and the numbers at the chips.
//!
//! A page is one pass over all keys on the core thread. Custom job ids are listed by `job_ids.rs`, one key in full by
//! `key_detail.rs`.

use crate::attention::{Codes, Looker, code_word};
use crate::filter::{Fields, Filter, Kind, Row, id_has_word, id_is};
use crate::health::HealthCache;
use crate::job_ids;
use crate::limits::{ATTENTION_ROWS_MAX, PAGE_ROWS_MAX};
use crate::order::{Place, Rank, Window};
use crate::payload::Needle;
use crate::request::{KeysChip, KeysQuery, KeysSort};
use crate::view::{AttentionView, Failure, KeyCounts, KeyKind, KeyRow, KeysPage, LastDecision, Strategy};
use crate::words;
use onceover_broker::CoreView;
use onceover_engine::command::StateName;
use onceover_engine::dedup::{KeyEntry, LastAdd};
use onceover_engine::job::Job;
use onceover_engine::names::ConnId;
use onceover_engine::time::Millis;

/// Less than this left counts as expiring.
const EXPIRING: Millis = Millis(10_000);
/// More absorbed adds a minute than this count as hot.
const HOT_PER_MINUTE: i64 = 60;
const MINUTE_MS: i64 = 60_000;

/// What keys can be filtered by.
#[derive(Clone, Copy, Debug)]
pub enum Field {
    Queue,
    Key,
    Owner,
    State,
    Strategy,
    Attention,
    Left,
    Age,
    Collapsed,
    Extended,
    Replaced,
}

const FIELDS: Fields<Field> = &[
    ("queue", Kind::Text, Field::Queue),
    ("key", Kind::Text, Field::Key),
    ("owner", Kind::Id, Field::Owner),
    ("id", Kind::Id, Field::Owner),
    ("state", Kind::Text, Field::State),
    ("strategy", Kind::Text, Field::Strategy),
    ("attention", Kind::Text, Field::Attention),
    ("left", Kind::Duration, Field::Left),
    ("age", Kind::Duration, Field::Age),
    ("collapsed", Kind::Number, Field::Collapsed),
    ("extended", Kind::Number, Field::Extended),
    ("replaced", Kind::Number, Field::Replaced),
];

/// A question about keys, understood.
pub struct Question {
    pub filter: Filter<Field>,
    chip: KeysChip,
    pub sort: KeysSort,
    pub window: Window,
}

/// Understands a query.
///
/// # Errors
/// The filter has a mistake, or the cursor is none of ours.
pub fn question(query: &KeysQuery) -> Result<Question, Failure> {
    let window = Window {
        after: query.after.as_deref().map(Place::parse).transpose()?,
        limit: (query.limit as usize).min(PAGE_ROWS_MAX),
        reverse: query.reverse,
    };
    Ok(Question { filter: Filter::parse(&query.filter, FIELDS)?, chip: query.chip, sort: query.sort, window })
}

/// A key with what its row needs. Its owner is looked up only where it is asked for.
pub struct Held<'a> {
    pub core: &'a CoreView<'a>,
    pub entry: &'a KeyEntry,
    pub queue: &'a str,
    pub codes: Codes,
}

/// Runs on the core thread.
pub fn page(core: &CoreView<'_>, question: &Question, health: &HealthCache) -> KeysPage {
    let health = health.get(core);
    let mut counts = KeyCounts { job_ids: health.job_ids, ..KeyCounts::default() };
    let looker = Looker::new(core);
    let held = |entry| Held { core, entry, queue: &looker.queue(entry.queue).name, codes: health.codes(entry) };
    let mut rows: Vec<(Rank<'_>, &KeyEntry)> = Vec::new();
    for entry in core.engine.keys() {
        let held = held(entry);
        count(&mut counts, &held);
        if held.is_in(question.chip) && question.filter.accepts(&held) {
            rows.push((held.rank(question.sort), entry));
        }
    }
    if question.chip == KeysChip::JobIds {
        return job_ids::page(core, question, counts);
    }
    let total = rows.len() as u64;
    let (rows, next) = question.window.cut(rows);
    KeysPage {
        revision: core.revision,
        now: core.now.0,
        rows: rows.into_iter().map(|(_, entry)| row(&looker, &held(entry))).collect(),
        next: next.map(|place| place.cursor()),
        total,
        hidden: counts.all - total,
        counts,
    }
}

/// What deserves a look, worst first, then the oldest.
pub fn attention(core: &CoreView<'_>, health: &HealthCache) -> AttentionView {
    let health = health.get(core);
    let looker = Looker::new(core);
    let known = |(entry, codes)| Some((core.engine.key_by_entry(entry)?, codes));
    let mut keys: Vec<(&KeyEntry, Codes)> = health.entries().filter_map(known).collect();
    keys.sort_unstable_by_key(|(entry, codes)| (codes.worst(), entry.registered_at, entry.entry));
    let held = |(entry, codes): (&KeyEntry, Codes)| {
        row(&looker, &Held { core, entry, queue: &looker.queue(entry.queue).name, codes })
    };
    AttentionView {
        revision: core.revision,
        now: core.now.0,
        total: keys.len() as u64,
        keys: keys.into_iter().take(ATTENTION_ROWS_MAX).map(held).collect(),
    }
}

/// The keys that a question lets through, in no order, at most `max`; and whether there are more.
pub fn matching<'a>(
    core: &'a CoreView<'_>,
    question: &Question,
    health: &HealthCache,
    max: usize,
) -> (Vec<&'a KeyEntry>, bool) {
    let health = health.get(core);
    let looker = Looker::new(core);
    let accepted = |entry: &&KeyEntry| {
        let held = Held { core, entry, queue: &looker.queue(entry.queue).name, codes: health.codes(entry) };
        held.is_in(question.chip) && question.filter.accepts(&held)
    };
    let mut entries: Vec<&KeyEntry> = core.engine.keys().filter(accepted).take(max + 1).collect();
    let more = entries.len() > max;
    entries.truncate(max);
    (entries, more)
}

fn count(counts: &mut KeyCounts, held: &Held<'_>) {
    let is = |chip| u64::from(held.is_in(chip));
    counts.all += 1;
    counts.attention += is(KeysChip::Attention);
    counts.expiring += is(KeysChip::Expiring);
    counts.no_ttl += is(KeysChip::NoTtl);
    counts.hot += is(KeysChip::Hot);
}

impl<'a> Held<'a> {
    fn is_in(&self, chip: KeysChip) -> bool {
        match chip {
            KeysChip::All => true,
            KeysChip::Attention => !self.codes.is_empty(),
            KeysChip::Expiring => self.left().is_some_and(|left| left < EXPIRING),
            KeysChip::NoTtl => self.entry.expires_at.is_none(),
            KeysChip::Hot => self.is_hot(),
            KeysChip::JobIds => false,
        }
    }

    fn owner(&self) -> Option<&'a Job> {
        self.core.engine.job_by_key(self.entry.owner)
    }

    fn left(&self) -> Option<Millis> {
        self.entry.expires_at.map(|end| end.since(self.core.now))
    }

    /// The mean since the owner took the key, over a minute at least; a key that has calmed down is not hot any more.
    fn is_hot(&self) -> bool {
        let age = self.core.now.since(self.entry.registered_at).0.max(MINUTE_MS);
        let calm = self.entry.tally.last.is_none_or(|last| self.core.now.since(last.at).0 > MINUTE_MS);
        let collapsed = i64::try_from(self.entry.tally.collapsed).unwrap_or(i64::MAX);
        !calm && collapsed.saturating_mul(MINUTE_MS) > age.saturating_mul(HOT_PER_MINUTE)
    }

    fn rank(&self, sort: KeysSort) -> Rank<'a> {
        let entry = self.entry;
        let end = entry.expires_at.map_or(i64::MAX, |end| end.0);
        let (numbers, texts) = match sort {
            KeysSort::Attention => ((-i64::from(self.codes.rank()), end), ("", "")),
            KeysSort::TimeLeft => ((end, 0), ("", "")),
            KeysSort::Key => ((0, 0), (&*entry.key, self.queue)),
            KeysSort::Queue => ((0, 0), (self.queue, &*entry.key)),
            KeysSort::Collapsed => ((-i64::try_from(entry.tally.collapsed).unwrap_or(i64::MAX), end), ("", "")),
            KeysSort::Owner => ((state_rank(self.owner().map(|job| job.state_name(self.core.now))), end), ("", "")),
            KeysSort::Age => ((entry.registered_at.0, 0), ("", "")),
            KeysSort::Extended => ((-i64::try_from(entry.tally.extended).unwrap_or(i64::MAX), end), ("", "")),
            KeysSort::Replaced => ((-i64::try_from(entry.tally.replaced).unwrap_or(i64::MAX), end), ("", "")),
            KeysSort::Strategy => ((0, end), (strategy_word(strategy(self.owner())), "")),
            KeysSort::LastDecision => ((-entry.tally.last.map_or(entry.registered_at, |last| last.at).0, 0), ("", "")),
        };
        Rank { numbers, texts, own: entry.entry.0 }
    }
}

impl Row<Field> for Held<'_> {
    fn text(&self, field: Field, is: &mut dyn FnMut(&str) -> bool) -> bool {
        match field {
            Field::Queue => is(self.queue),
            Field::Key => is(&self.entry.key),
            Field::Owner => id_is(&self.entry.owner_id, is),
            Field::State => is(words::state_word(self.owner().map(|job| job.state_name(self.core.now)))),
            Field::Strategy => is(strategy_word(strategy(self.owner()))),
            Field::Attention => self.codes.iter().any(|code| is(code_word(code))),
            Field::Left | Field::Age | Field::Collapsed | Field::Extended | Field::Replaced => false,
        }
    }

    fn number(&self, field: Field) -> Option<i64> {
        let tally = &self.entry.tally;
        match field {
            Field::Left => self.left().map(|left| left.0),
            Field::Age => Some(self.core.now.since(self.entry.registered_at).0),
            Field::Collapsed => i64::try_from(tally.collapsed).ok(),
            Field::Extended => i64::try_from(tally.extended).ok(),
            Field::Replaced => i64::try_from(tally.replaced).ok(),
            Field::Queue | Field::Key | Field::Owner | Field::State | Field::Strategy | Field::Attention => None,
        }
    }

    fn has_word(&self, word: &Needle) -> bool {
        word.is_in(self.entry.key.as_bytes())
            || word.is_in(self.queue.as_bytes())
            || id_has_word(&self.entry.owner_id, word)
    }
}

/// Owners that run first, then in the order in which they will; ended ones last.
fn state_rank(state: Option<StateName>) -> i64 {
    match state {
        Some(StateName::Active) => 0,
        Some(StateName::Prioritized) => 1,
        Some(StateName::Waiting) => 2,
        Some(StateName::Delayed) => 3,
        Some(StateName::WaitingChildren) => 4,
        Some(StateName::Failed) => 5,
        Some(StateName::Completed) => 6,
        None => 7,
    }
}

/// What an add of the key does, as its owner asked for it.
pub fn strategy(owner: Option<&Job>) -> Strategy {
    owner.and_then(|job| job.spec.dedup.as_deref()).map_or(Strategy::Plain, words::strategy)
}

/// A strategy in the word that filters use.
pub fn strategy_word(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Plain => "plain",
        Strategy::Extend => "extend",
        Strategy::Replace => "replace",
        Strategy::KeepLast => "keepLast",
    }
}

/// One row.
pub fn row(looker: &Looker<'_>, held: &Held<'_>) -> KeyRow {
    let Held { core, entry, queue, codes } = held;
    let owner = held.owner();
    KeyRow {
        queue: (*queue).to_owned(),
        key: entry.key.to_string(),
        kind: if entry.from_hash { KeyKind::Hash } else { KeyKind::Dedup },
        owner_id: entry.owner_id.to_string(),
        owner_state: words::state_view(owner.map(|job| job.state_name(core.now))),
        generation: entry.owner.0,
        registered_at: entry.registered_at.0,
        ttl_ms: entry.ttl.map(|ttl| ttl.0),
        expires_at: entry.expires_at.map(|end| end.0),
        strategy: strategy(owner),
        collapsed: entry.tally.collapsed,
        data_differs: entry.tally.data_differs,
        extended: entry.tally.extended,
        replaced: entry.tally.replaced,
        last_decision: entry.tally.last.map(|last| last_decision(core, last)),
        attention: looker.words(entry, owner, *codes),
    }
}

fn last_decision(core: &CoreView<'_>, last: LastAdd) -> LastDecision {
    let decision = words::decision(last.decision);
    LastDecision { decision, chip: words::chip(decision), at: last.at.0, client: client_of(core, last) }
}

/// Connections are numbered anew after a restart: a number that connected after the add is another client's.
fn client_of(core: &CoreView<'_>, last: LastAdd) -> String {
    if last.conn == 0 {
        return "UI".to_owned();
    }
    let open = core.connections.get(ConnId(last.conn)).filter(|conn| conn.client.connected_at <= last.at);
    open.map_or_else(|| "a closed connection".to_owned(), |conn| conn.client.label())
}
