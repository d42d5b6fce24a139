//! The keys that are held: what they are found by, their orders, their rows, and the list of those that deserve a look.
//!
//! Pages are made by `key_search.rs`, custom job ids are listed by `job_ids.rs`, one key in full by `key_detail.rs`.

use crate::attention::{Codes, Looker, code_word};
use crate::filter::{Fields, Filter, Kind, Row, id_has_word, id_is};
use crate::health::{self, Health};
use crate::limits::{ATTENTION_ROWS_MAX, PAGE_ROWS_MAX};
use crate::order::{Place, Rank, Window};
use crate::payload::Needle;
use crate::request::{KeysChip, KeysQuery, KeysSort};
use crate::view::{AttentionView, EndedKey, Failure, KeyKind, KeyRow, LastDecision, Strategy};
use crate::words;
use onceover_broker::CoreView;
use onceover_engine::command::StateName;
use onceover_engine::dedup::{FreedBy, FreedKey, KeyEntry, LastAdd};
use onceover_engine::job::Job;
use onceover_engine::names::ConnId;
use onceover_engine::time::{Millis, Timestamp};

/// Less than this left counts as expiring.
pub const EXPIRING: Millis = Millis(10_000);
/// More absorbed adds a minute than this count as hot.
const HOT_PER_MINUTE: i64 = 60;
const MINUTE_MS: i64 = 60_000;
/// So long a key that ended is named with the pages.
const ENDED_SHOWN: Millis = Millis(3_000);

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
    pub chip: KeysChip,
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

/// The keys that ended a moment ago, newest first: a row that was on the screen stays a little with its reason.
pub fn ended(core: &CoreView<'_>) -> Vec<EndedKey> {
    let lately = core.engine.freed_lately().take_while(|freed| core.now.since(freed.at) <= ENDED_SHOWN);
    let one = |freed: &FreedKey| EndedKey {
        queue: core.engine.queue_name(freed.entry.queue).to_string(),
        key: freed.entry.key.to_string(),
        generation: freed.owner.0,
        reason: match freed.by {
            FreedBy::WindowEnded => "TTL ended".to_owned(),
            by => words::freed(by).to_owned(),
        },
    };
    lately.take(PAGE_ROWS_MAX).map(one).collect()
}

/// What deserves a look, worst first, then the oldest.
pub fn attention(core: &CoreView<'_>, health: &Health) -> AttentionView {
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

/// The mean since the owner took the key, over a minute at least; a key that has calmed down is not hot any more.
pub fn is_hot(entry: &KeyEntry, now: Timestamp) -> bool {
    let age = now.since(entry.registered_at).0.max(MINUTE_MS);
    let calm = entry.tally().last.is_none_or(|last| now.since(last.at).0 > MINUTE_MS);
    let collapsed = i64::try_from(entry.tally().collapsed).unwrap_or(i64::MAX);
    !calm && collapsed.saturating_mul(MINUTE_MS) > age.saturating_mul(HOT_PER_MINUTE)
}

impl<'a> Held<'a> {
    fn owner(&self) -> Option<&'a Job> {
        self.core.engine.job_by_key(self.entry.owner)
    }

    /// Time left of its window.
    pub fn left(&self) -> Option<Millis> {
        self.entry.expires_at().map(|end| end.since(self.core.now))
    }

    /// Where it stands in an order.
    pub fn rank(&self, sort: KeysSort) -> Rank<'a> {
        let entry = self.entry;
        let end = entry.expires_at().map_or(i64::MAX, |end| end.0);
        let (numbers, texts) = match sort {
            KeysSort::Attention => (health::place(entry, self.codes), ("", "")),
            KeysSort::TimeLeft => ((end, 0), ("", "")),
            KeysSort::Key => ((0, 0), (&*entry.key, self.queue)),
            KeysSort::Queue => ((0, 0), (self.queue, &*entry.key)),
            KeysSort::Collapsed => ((-i64::try_from(entry.tally().collapsed).unwrap_or(i64::MAX), end), ("", "")),
            KeysSort::Owner => ((state_rank(self.owner().map(|job| job.state_name(self.core.now))), end), ("", "")),
            KeysSort::Age => ((entry.registered_at.0, 0), ("", "")),
            KeysSort::Extended => ((-i64::try_from(entry.tally().extended).unwrap_or(i64::MAX), end), ("", "")),
            KeysSort::Replaced => ((-i64::try_from(entry.tally().replaced).unwrap_or(i64::MAX), end), ("", "")),
            KeysSort::Strategy => ((0, end), (strategy_word(strategy(self.owner())), "")),
            KeysSort::LastDecision => {
                ((-entry.tally().last.map_or(entry.registered_at, |last| last.at).0, 0), ("", ""))
            }
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
        let tally = self.entry.tally();
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
    owner.map_or(Strategy::Plain, |job| words::strategy(&job.spec.dedup))
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
        ttl_ms: entry.ttl().map(|ttl| ttl.0),
        expires_at: entry.expires_at().map(|end| end.0),
        strategy: strategy(owner),
        collapsed: entry.tally().collapsed,
        data_differs: entry.tally().data_differs,
        extended: entry.tally().extended,
        replaced: entry.tally().replaced,
        last_decision: entry.tally().last.map(|last| last_decision(core, last)),
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
