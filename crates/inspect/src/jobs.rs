//! Jobs: pages of them, and the row that pages and details share. One job in full is made by `job_detail.rs`.
//!
//! Order and bounds of a page are the engine's: active, ready, delayed, waiting-children, failed, completed.

use crate::adds::searched;
use crate::attention::{Looker, ended_at};
use crate::filter::{Fields, Filter, Kind, Row, id_has_word, id_is};
use crate::key_detail::worker;
use crate::limits::{PAGE_ROWS_MAX, SEARCH_BYTES_MAX};
use crate::payload::Needle;
use crate::request::JobsQuery;
use crate::view::{Failure, FailureCode, JobCounts, JobHolder, JobKey, JobRow, JobState, JobsPage};
use crate::words::{self, count};
use onceover_broker::CoreView;
use onceover_engine::job::{Blob, Job, JobState as Stored};
use onceover_engine::names::JobKey as Generation;
use onceover_engine::reply;
use onceover_engine::time::Timestamp;
use onceover_engine::view::{JobsPage as EnginePage, JobsQuery as EngineQuery, Look};
use std::cell::Cell;
use std::sync::Arc;

/// What jobs can be filtered by.
#[derive(Clone, Copy, Debug)]
pub enum Field {
    Queue,
    State,
    Id,
    Name,
    Key,
    Error,
    Attempts,
    Priority,
    Age,
    /// Why it is a dead letter.
    Reason,
    /// Time since it failed for good.
    Failed,
}

const FIELDS: Fields<Field> = &[
    ("queue", Kind::Text, Field::Queue),
    ("state", Kind::Text, Field::State),
    ("id", Kind::Id, Field::Id),
    ("job", Kind::Id, Field::Id),
    ("name", Kind::Text, Field::Name),
    ("key", Kind::Text, Field::Key),
    ("error", Kind::Text, Field::Error),
    ("attempts", Kind::Number, Field::Attempts),
    ("priority", Kind::Number, Field::Priority),
    ("age", Kind::Duration, Field::Age),
    ("reason", Kind::Text, Field::Reason),
    ("failed", Kind::Duration, Field::Failed),
];

/// A question about jobs, understood.
pub struct Question {
    filter: Filter<Field>,
    page: EngineQuery,
    /// Jobs that the pages before this one looked at.
    looked: u64,
}

/// Understands a query.
///
/// # Errors
/// The filter has a mistake, or no job can ever be in the state.
pub fn question(query: &JobsQuery) -> Result<Question, Failure> {
    let bad = |message: &str| Failure { code: FailureCode::BadRequest, message: message.to_owned() };
    if query.state == Some(JobState::Gone) {
        return Err(bad("state: no job is gone, only owners of keys are"));
    }
    // A cursor says how far the pages before it have looked, then where they ended.
    let after = query.after.as_deref().map(|after| {
        let (looked, after) = after.split_once(':')?;
        Some((looked.parse::<u64>().ok()?, after.to_owned()))
    });
    let after = after.map(|after| after.ok_or_else(|| bad("after: not a cursor of this list"))).transpose()?;
    let (looked, after) = after.map_or((0, None), |(looked, after)| (looked, Some(after)));
    let page = EngineQuery {
        queue: query.queue.as_deref().map(Arc::from),
        state: query.state.and_then(words::state_name),
        after,
        limit: (query.limit as usize).min(PAGE_ROWS_MAX),
    };
    Ok(Question { filter: Filter::parse(&query.filter, FIELDS)?, page, looked })
}

impl Question {
    fn look(&self, core: &CoreView<'_>, page: &EngineQuery) -> EnginePage {
        let budget = Cell::new(SEARCH_BYTES_MAX);
        core.engine.jobs_page(page, core.now, &mut |job| match budget.get() {
            0 => Look::Stop,
            _ => Look::take_if(self.filter.accepts(&Known { job, now: core.now, budget: &budget })),
        })
    }
}

/// A page of jobs in the making. A search goes on in steps of bounded work, between which the core serves its clients.
pub struct Search {
    question: Question,
    found: Option<JobsPage>,
}

impl Search {
    /// Nothing is found yet.
    #[must_use]
    pub fn new(question: Question) -> Search {
        Search { question, found: None }
    }

    /// Looks on. Runs on the core thread.
    #[must_use]
    pub fn step(mut self, core: &CoreView<'_>) -> Search {
        let mut page = match self.found.take() {
            Some(page) => page,
            None => start(core, &self.question),
        };
        let found = self.question.look(core, &self.question.page);
        let Question { page: rest, looked, .. } = &mut self.question;
        *looked += found.scanned as u64;
        rest.limit -= found.jobs.len();
        page.next = found.next.as_ref().map(|next| format!("{looked}:{next}"));
        rest.after = found.next;
        let known = found.jobs.iter().filter_map(|key| core.engine.job_by_key(*key));
        page.rows.extend(rows(core, known));
        let of = core.engine.listed_len(rest.queue.as_deref(), rest.state) as u64;
        let searched = format!("Searched {} of {} jobs.", count((*looked).min(of)), count(of));
        page.note = (!self.is_done()).then_some(searched);
        self.found = Some(page);
        self
    }

    /// Whether the page is full or the list at its end.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let rest = &self.question.page;
        self.question.filter.is_empty() || rest.limit == 0 || rest.after.is_none()
    }

    /// The page as far as it was found, at least one step after the question.
    #[must_use]
    pub fn page(self) -> JobsPage {
        self.found.expect("a search has made its first step")
    }
}

/// A page without rows: its counts. How many match is counted as far as one step reaches.
fn start(core: &CoreView<'_>, question: &Question) -> JobsPage {
    let asked = &question.page;
    let counts = chip_counts(core.engine.counts(asked.queue.as_deref()));
    let in_question = asked.state.map_or(counts.all, |state| count_of(&counts, words::state_view(Some(state))));
    let total = if question.filter.is_empty() {
        in_question
    } else {
        let everything = EngineQuery { after: None, limit: usize::MAX, ..asked.clone() };
        question.look(core, &everything).jobs.len() as u64
    };
    JobsPage {
        revision: core.revision,
        now: core.now.0,
        rows: Vec::new(),
        next: None,
        total,
        hidden: counts_of(core.engine.counts(None)).saturating_sub(total),
        counts,
        note: None,
    }
}

/// Jobs that a question means, in the making.
pub struct Matching {
    question: Question,
    /// Those found.
    pub jobs: Vec<Generation>,
    /// Whether there may be more.
    pub more: bool,
}

impl Matching {
    /// At most `max`.
    #[must_use]
    pub fn new(mut question: Question, max: usize) -> Matching {
        question.page = EngineQuery { after: None, limit: max, ..question.page };
        Matching { question, jobs: Vec::new(), more: true }
    }

    /// Looks on. Runs on the core thread.
    #[must_use]
    pub fn step(mut self, core: &CoreView<'_>) -> Matching {
        let found = self.question.look(core, &self.question.page);
        self.question.page.limit -= found.jobs.len();
        self.jobs.extend(found.jobs);
        self.more = found.next.is_some();
        self.question.page.after = found.next;
        self
    }

    /// Whether all are found, or as many as were wanted.
    #[must_use]
    pub fn is_done(&self) -> bool {
        !self.more || self.question.page.limit == 0
    }
}

/// Counts for chips. What is ready while its queue is paused counts as waiting: it is, only nothing takes it.
fn chip_counts(counts: reply::JobCounts) -> JobCounts {
    JobCounts {
        all: counts_of(counts),
        waiting: counts.waiting + counts.paused,
        prioritized: counts.prioritized,
        delayed: counts.delayed,
        active: counts.active,
        waiting_children: counts.waiting_children,
        completed: counts.completed,
        failed: counts.failed,
    }
}

/// Jobs of all states.
pub fn counts_of(counts: reply::JobCounts) -> u64 {
    let live = counts.waiting + counts.paused + counts.prioritized + counts.delayed + counts.active;
    live + counts.waiting_children + counts.completed + counts.failed
}

fn count_of(counts: &JobCounts, state: JobState) -> u64 {
    match state {
        JobState::Waiting => counts.waiting,
        JobState::Prioritized => counts.prioritized,
        JobState::Delayed => counts.delayed,
        JobState::Active => counts.active,
        JobState::WaitingChildren => counts.waiting_children,
        JobState::Completed => counts.completed,
        JobState::Failed => counts.failed,
        JobState::Gone => 0,
    }
}

struct Known<'a> {
    job: &'a Job,
    now: Timestamp,
    budget: &'a Cell<usize>,
}

impl Row<Field> for Known<'_> {
    fn text(&self, field: Field, is: &mut dyn FnMut(&str) -> bool) -> bool {
        let job = self.job;
        match field {
            Field::Queue => is(&job.spec.queue),
            Field::State => is(job.state_name(self.now).as_str()),
            Field::Id => id_is(&job.id, is),
            Field::Name => is(&job.spec.name),
            Field::Key => job.dedup_key.as_ref().is_some_and(|key| is(key)),
            Field::Error => error(job).is_some_and(is),
            Field::Reason => job.failure().is_some_and(|failure| is(failure.reason.as_str())),
            Field::Attempts | Field::Priority | Field::Age | Field::Failed => false,
        }
    }

    fn number(&self, field: Field) -> Option<i64> {
        match field {
            Field::Attempts => Some(i64::from(attempts_made(self.job))),
            Field::Priority => Some(i64::from(self.job.priority)),
            Field::Age => Some(self.now.since(self.job.created_at).0),
            Field::Failed => self.job.failure().map(|failure| self.now.since(failure.entered_at).0),
            Field::Queue | Field::State | Field::Id | Field::Name | Field::Key | Field::Error | Field::Reason => None,
        }
    }

    fn has_word(&self, word: &Needle) -> bool {
        let job = self.job;
        let is = |text: &str| word.is_in(text.as_bytes());
        is(&job.spec.name)
            || is(&job.spec.queue)
            || job.dedup_key.as_ref().is_some_and(|key| is(key))
            || error(job).is_some_and(is)
            || id_has_word(&job.id, word)
            || matches!(&job.data, Blob::Here(data) if searched(data, word, self.budget))
    }
}

/// The text of a job's last failure.
pub fn error(job: &Job) -> Option<&str> {
    let dead = job.failure().and_then(|failure| failure.error.as_deref());
    dead.filter(|error| !error.is_empty()).or_else(|| job.failed_reason())
}

/// Attempts that have started: the failed ones, and the one that runs or ended well.
pub fn attempts_made(job: &Job) -> u32 {
    match job.state {
        Stored::Active | Stored::Completed => job.attempts + 1,
        Stored::Queued | Stored::Blocked | Stored::Failed => job.attempts,
    }
}

/// Rows of these jobs.
pub fn rows<'a>(core: &CoreView<'_>, jobs: impl Iterator<Item = &'a Job>) -> Vec<JobRow> {
    let looker = Looker::new(core);
    jobs.map(|job| row(core, &looker, job)).collect()
}

/// One row.
pub fn row(core: &CoreView<'_>, looker: &Looker<'_>, job: &Job) -> JobRow {
    let state = job.state_name(core.now);
    let state = words::state_view(Some(state));
    JobRow {
        id: job.id.to_string(),
        custom_id: job.has_custom_id,
        name: job.spec.name.to_string(),
        queue: job.spec.queue.to_string(),
        state,
        key: job_key(core, job),
        attempts_made: attempts_made(job),
        attempts_max: job.spec.max_attempts,
        created_at: job.created_at.0,
        run_at: (state == JobState::Delayed).then_some(job.run_at.0),
        started_at: job.started_at.map(|at| at.0),
        finished_at: (!job.is_live()).then(|| ended_at(job).0),
        error: error(job).and_then(|error| error.lines().next()).map(str::to_owned),
        stalls: job.stall_count,
        holder: holder(core, looker, job),
        reason: job.failure().map(|failure| failure.reason.as_str().to_owned()),
    }
}

fn holder(core: &CoreView<'_>, looker: &Looker<'_>, job: &Job) -> Option<JobHolder> {
    let delivery = job.delivery.as_deref()?;
    let conn = delivery.conn.and_then(|conn| core.connections.get(conn));
    let lock = delivery.lock.as_ref();
    Some(JobHolder {
        name: worker(core, looker, job)?.name,
        client: conn.map(|conn| conn.client.label()),
        pid: conn.and_then(|conn| conn.client.process()).map(|process| process.pid),
        gone_since: looker.worker_left_at(job).map(|at| at.0),
        lease_ends_at: lock.map(|lock| lock.expires_at.0),
        lease_ms: lock.map(|lock| lock.ttl.0),
        renewals: lock.map_or(0, |lock| lock.renewals),
    })
}

fn job_key(core: &CoreView<'_>, job: &Job) -> Option<JobKey> {
    let (key, asked) = (job.dedup_key.as_deref()?, &job.spec.dedup);
    let entry = core.engine.key(&job.spec.queue, key, core.now);
    let held = entry.filter(|entry| entry.owner == job.key);
    let ttl = held.map_or(asked.ttl, |entry| entry.ttl());
    Some(JobKey {
        key: key.to_owned(),
        held: held.is_some(),
        holder_id: entry.filter(|entry| entry.owner != job.key).map(|entry| entry.owner_id.to_string()),
        ttl_ms: ttl.map(|ttl| ttl.0),
        expires_at: held.and_then(|entry| entry.expires_at()).map(|end| end.0),
        strategy: words::strategy(asked),
        absorbed: held.map_or(0, |entry| entry.tally().collapsed),
    })
}

#[cfg(test)]
#[path = "jobs_tests.rs"]
mod jobs_tests;
