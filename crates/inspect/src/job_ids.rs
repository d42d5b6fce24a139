//! Custom job ids of unfinished jobs, listed like keys: they are keys too, broker-wide, and end with their job.
//!
//! There can be a million, so a page looks at a bounded number of them.

use crate::filter::{Row, id_is};
use crate::keys::{Field, Question, strategy};
use crate::limits::JOB_ID_SCAN_MAX;
use crate::order::Rank;
use crate::payload::Needle;
use crate::request::KeysSort;
use crate::view::{KeyCounts, KeyKind, KeyRow, KeysPage};
use crate::words;
use onceover_broker::CoreView;
use onceover_engine::job::Job;
use onceover_engine::names::JobKey;
use onceover_engine::time::Timestamp;

struct Named<'a> {
    job: &'a Job,
    now: Timestamp,
    id: String,
}

/// A page of them; `counts` are the numbers at the chips. Only the newest are looked at, from the cursor on where the newest
/// come first anyway.
pub fn page(core: &CoreView<'_>, question: &Question, counts: KeyCounts) -> KeysPage {
    let newest_first = !question.window.reverse && is_by_age(question.sort);
    let after = question.window.after.as_ref().filter(|_| newest_first).map(|place| {
        let (created_at, _) = place.numbers();
        (Timestamp(created_at.saturating_neg()), JobKey(place.own()))
    });
    let in_order = newest_first && question.filter.is_empty();
    let looked = if in_order { question.window.limit + 1 } else { JOB_ID_SCAN_MAX };
    let known = core.engine.custom_ids(after).take(looked);
    let named: Vec<Named<'_>> = known.map(|job| Named { job, now: core.now, id: job.id.to_string() }).collect();
    let accepted = named.iter().filter(|named| question.filter.accepts(*named));
    let rows: Vec<(Rank<'_>, &Named<'_>)> = accepted.map(|named| (named.rank(question.sort), named)).collect();
    let total = if question.filter.is_empty() { counts.job_ids } else { rows.len() as u64 };
    let (rows, next) = question.window.cut(rows);
    KeysPage {
        revision: core.revision,
        now: core.now.0,
        rows: rows.into_iter().map(|(_, named)| row(named.job, core.now)).collect(),
        next: next.map(|place| place.cursor()),
        total,
        hidden: counts.job_ids.saturating_sub(total),
        ended: Vec::new(),
        counts,
    }
}

/// A job id has no window and no counters, so these orders are all the same for it.
fn is_by_age(sort: KeysSort) -> bool {
    match sort {
        KeysSort::Attention | KeysSort::TimeLeft | KeysSort::Collapsed | KeysSort::LastDecision => true,
        KeysSort::Extended | KeysSort::Replaced | KeysSort::Strategy => true,
        KeysSort::Key | KeysSort::Queue | KeysSort::Owner | KeysSort::Age => false,
    }
}

impl Named<'_> {
    /// By text where that was asked for, else the newest first: a job id has no window and no counters.
    fn rank(&self, sort: KeysSort) -> Rank<'_> {
        let queue: &str = &self.job.spec.queue;
        let newest = (-self.job.created_at.0, ("", ""));
        let (number, texts) = match sort {
            KeysSort::Key => (0, (self.id.as_str(), queue)),
            KeysSort::Queue => (0, (queue, self.id.as_str())),
            KeysSort::Age => (self.job.created_at.0, ("", "")),
            KeysSort::Owner => (0, (self.job.state_name(self.now).as_str(), self.id.as_str())),
            KeysSort::Attention | KeysSort::TimeLeft | KeysSort::Collapsed | KeysSort::LastDecision => newest,
            KeysSort::Extended | KeysSort::Replaced | KeysSort::Strategy => newest,
        };
        Rank { numbers: (number, 0), texts, own: self.job.key.0 }
    }
}

impl Row<Field> for Named<'_> {
    fn text(&self, field: Field, is: &mut dyn FnMut(&str) -> bool) -> bool {
        match field {
            Field::Queue => is(&self.job.spec.queue),
            Field::Key | Field::Owner => id_is(&self.job.id, is),
            Field::State => is(self.job.state_name(self.now).as_str()),
            Field::Strategy | Field::Attention | Field::Left => false,
            Field::Age | Field::Collapsed | Field::Extended | Field::Replaced => false,
        }
    }

    fn number(&self, field: Field) -> Option<i64> {
        match field {
            Field::Age => Some(self.now.since(self.job.created_at).0),
            Field::Queue | Field::Key | Field::Owner | Field::State | Field::Strategy => None,
            Field::Attention | Field::Left | Field::Collapsed | Field::Extended | Field::Replaced => None,
        }
    }

    fn has_word(&self, word: &Needle) -> bool {
        word.is_in(self.id.as_bytes())
            || word.is_in(self.job.spec.queue.as_bytes())
            || word.is_in(self.job.spec.name.as_bytes())
    }
}

/// The row of a job's custom id.
pub fn row(job: &Job, now: Timestamp) -> KeyRow {
    KeyRow {
        queue: job.spec.queue.to_string(),
        key: job.id.to_string(),
        kind: KeyKind::JobId,
        owner_id: job.id.to_string(),
        owner_state: words::state_view(Some(job.state_name(now))),
        generation: job.key.0,
        registered_at: job.created_at.0,
        ttl_ms: None,
        expires_at: None,
        strategy: strategy(Some(job)),
        collapsed: 0,
        data_differs: 0,
        extended: 0,
        replaced: 0,
        last_decision: None,
        attention: Vec::new(),
    }
}
