//! Pages of the log of adds.
//!
//! Without a filter a page is cut out of the log where it stands. With one the log is looked through in steps of bounded work,
//! between which the core serves its clients. Entries are only matched and cloned there (their payloads are shared); sentences
//! and previews are made from the clones afterwards.

use crate::adds::{FIELDS, Field, Logged, row};
use crate::filter::Filter;
use crate::limits::{LOG_STEP_MAX, PAGE_ROWS_MAX, SEARCH_BYTES_MAX};
use crate::request::{AddsChip, AddsQuery};
use crate::view::{AddCounts, AddGroup, AddRow, AddsPage, Failure, FailureCode};
use crate::words::count;
use onceover_broker::CoreView;
use onceover_broker::activity::{Activity, AddEntry, Group, Mark};
use onceover_engine::time::Timestamp;
use std::cell::Cell;

/// A question about the log, understood.
pub struct Question {
    filter: Filter<Field>,
    mark: Option<Mark>,
    after: Option<Cursor>,
    limit: usize,
    since: Option<u64>,
    grouped: bool,
    within: Option<u64>,
}

/// Where a page ended, and what it and those before it had met till then.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    /// The page behind holds entries with smaller numbers.
    seq: u64,
    matching: u64,
    looked: u64,
}

impl Cursor {
    fn parse(text: &str) -> Option<Cursor> {
        let mut numbers = text.split('.').map(str::parse);
        let mut number = || numbers.next()?.ok();
        Some(Cursor { seq: number()?, matching: number()?, looked: number()? })
    }

    fn text(self) -> String {
        format!("{}.{}.{}", self.seq, self.matching, self.looked)
    }
}

/// Understands a query.
///
/// # Errors
/// The filter has a mistake, or the cursor is none of ours.
pub fn question(query: &AddsQuery) -> Result<Question, Failure> {
    let message = "after: not a cursor of this list".to_owned();
    let bad = || Failure { code: FailureCode::BadRequest, message };
    let after = query.after.as_deref().map(|after| Cursor::parse(after).ok_or_else(bad)).transpose()?;
    Ok(Question {
        filter: Filter::parse(&query.filter, FIELDS)?,
        mark: mark(query.chip),
        after,
        limit: (query.limit as usize).min(PAGE_ROWS_MAX),
        since: query.since,
        grouped: query.grouped && query.within.is_none(),
        within: query.within,
    })
}

fn mark(chip: AddsChip) -> Option<Mark> {
    match chip {
        AddsChip::All => None,
        AddsChip::Collapsed => Some(Mark::Collapsed),
        AddsChip::Rejected => Some(Mark::Rejected),
        AddsChip::DataDiffers => Some(Mark::DataDiffers),
        AddsChip::Replays => Some(Mark::Replay),
    }
}

/// A page in the making.
pub struct Search {
    question: Question,
    found: Option<Found>,
    /// Entries with smaller numbers are still to be looked at.
    below: Option<u64>,
}

/// What the core gives for it.
struct Found {
    revision: u64,
    now: Timestamp,
    entries: Vec<AddEntry>,
    /// Of each entry, where groups were asked for.
    groups: Vec<AddGroup>,
    /// Of the last entry.
    last: Option<Cursor>,
    next: Option<Cursor>,
    newest_seq: u64,
    newer: u64,
    matching: u64,
    looked: u64,
    counts: AddCounts,
}

impl Search {
    /// Nothing is found yet.
    #[must_use]
    pub fn new(question: Question) -> Search {
        Search { question, found: None, below: None }
    }

    /// Looks on. Runs on the core thread.
    #[must_use]
    pub fn step(mut self, core: &CoreView<'_>) -> Search {
        let mut found = self.found.take().unwrap_or_else(|| Found::nothing(core, &self.question));
        if self.question.grouped {
            self.scan_groups(core, &mut found);
        } else if let Some(group) = self.question.within {
            self.scan_members(core, &mut found, group);
        } else if self.question.filter.is_empty() {
            found.cut(core.activity, &self.question);
            self.below = None;
        } else {
            self.scan(core, &mut found);
        }
        self.found = Some(found);
        self
    }

    fn scan(&mut self, core: &CoreView<'_>, found: &mut Found) {
        let budget = Cell::new(SEARCH_BYTES_MAX);
        let from = self.question.after.map_or(u64::MAX, |after| after.seq);
        let below = self.below.take().unwrap_or(from);
        for (at, entry) in core.activity.before(below).enumerate() {
            if at == LOG_STEP_MAX || budget.get() == 0 {
                self.below = Some(entry.seq + 1);
                return;
            }
            found.looked += 1;
            if self.accepts(core, entry, &budget) {
                found.take(&self.question, entry);
            }
        }
    }

    /// Groups are few, but for a log without repeats: then there are as many as entries.
    fn scan_groups(&mut self, core: &CoreView<'_>, found: &mut Found) {
        let budget = Cell::new(SEARCH_BYTES_MAX);
        let groups = core.activity.groups();
        let below = self.below.take().or(self.question.after.map(|after| after.seq)).unwrap_or(u64::MAX);
        let end = groups.partition_point(|group| group.number < below);
        for (at, group) in groups.range(..end).rev().enumerate() {
            if at == LOG_STEP_MAX || budget.get() == 0 {
                self.below = Some(group.number + 1);
                return;
            }
            let Some(entry) = core.activity.get(group.newest) else { continue };
            found.looked += group.count;
            if self.accepts(core, entry, &budget) {
                found.take_group(&self.question, *group, entry);
            }
        }
    }

    fn scan_members(&mut self, core: &CoreView<'_>, found: &mut Found, group: u64) {
        let budget = Cell::new(SEARCH_BYTES_MAX);
        let below = self.question.after.map_or(u64::MAX, |after| after.seq);
        for entry in core.activity.members(group).skip_while(|entry| entry.seq >= below) {
            found.looked += 1;
            if self.accepts(core, entry, &budget) {
                found.take(&self.question, entry);
            }
        }
    }

    fn accepts(&self, core: &CoreView<'_>, entry: &AddEntry, budget: &Cell<usize>) -> bool {
        let row = Logged { entry, now: core.now, budget };
        self.question.mark.is_none_or(|mark| entry.is(mark)) && self.question.filter.accepts(&row)
    }

    /// Whether the whole log was looked at.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.below.is_none()
    }

    /// The entries themselves, and behind which number the search goes on.
    #[must_use]
    pub fn entries(self) -> (Vec<AddEntry>, Option<u64>) {
        let found = self.found.expect("a search has made its first step");
        (found.entries, found.next.map(|next| next.seq).or(self.below))
    }

    /// The page as far as it was found, at least one step after the question; made off the core thread.
    #[must_use]
    pub fn page(self) -> AddsPage {
        let found = self.found.expect("a search has made its first step");
        let all = found.counts.all;
        // A page that is not full goes on where the search ended.
        let ended = Cursor { seq: self.below.unwrap_or(0), matching: found.matching, looked: found.looked };
        let ended = self.below.is_some().then_some(ended);
        AddsPage {
            revision: found.revision,
            now: found.now.0,
            rows: rows(&found),
            next: found.next.or(ended).map(Cursor::text),
            newest_seq: found.newest_seq,
            newer: found.newer,
            total: found.matching,
            // Of groups nobody knows how many adds the others stand for.
            hidden: if self.question.grouped { found.looked.min(all) } else { all }.saturating_sub(found.matching),
            counts: found.counts,
            note: ended.map(|ended| format!("Searched {} of {} adds.", count(ended.looked.min(all)), count(all))),
        }
    }
}

fn rows(found: &Found) -> Vec<AddRow> {
    let groups = found.groups.iter().copied().map(Some).chain(std::iter::repeat(None));
    found.entries.iter().zip(groups).map(|(entry, group)| AddRow { group, ..row(entry) }).collect()
}

impl Found {
    fn nothing(core: &CoreView<'_>, question: &Question) -> Found {
        let marked = |mark| core.activity.marked(mark).len() as u64;
        Found {
            revision: core.revision,
            now: core.now,
            entries: Vec::new(),
            groups: Vec::new(),
            last: None,
            next: None,
            newest_seq: core.activity.newest_seq(),
            newer: 0,
            matching: question.after.map_or(0, |after| after.matching),
            looked: question.after.map_or(0, |after| after.looked),
            counts: AddCounts {
                all: core.activity.len() as u64,
                collapsed: marked(Mark::Collapsed),
                rejected: marked(Mark::Rejected),
                data_differs: marked(Mark::DataDiffers),
                replays: marked(Mark::Replay),
            },
        }
    }

    /// A page without a filter.
    fn cut(&mut self, activity: &Activity, question: &Question) {
        let after = question.after.map_or(u64::MAX, |after| after.seq);
        let since = question.since.unwrap_or(u64::MAX);
        let Some(mark) = question.mark else {
            self.matching = self.counts.all;
            self.newer = activity.newest_seq().saturating_sub(since).min(self.matching);
            self.entries.extend(activity.before(after).take(question.limit).cloned());
            self.go_on_if(self.entries.last().is_some_and(|last| activity.before(last.seq).next().is_some()));
            return;
        };
        let numbers = activity.marked(mark);
        self.matching = numbers.len() as u64;
        self.newer = (numbers.len() - numbers.partition_point(|seq| *seq <= since)) as u64;
        let end = numbers.partition_point(|seq| *seq < after);
        let start = end.saturating_sub(question.limit);
        self.entries.extend(numbers.range(start..end).rev().filter_map(|seq| activity.get(*seq)).cloned());
        self.go_on_if(start > 0);
    }

    fn go_on_if(&mut self, more: bool) {
        let last = self.entries.last().filter(|_| more);
        self.next = last.map(|last| Cursor { seq: last.seq, matching: self.matching, looked: self.looked });
    }

    /// A group whose newest entry matches; they come newest first.
    fn take_group(&mut self, question: &Question, group: Group, entry: &AddEntry) {
        self.matching += 1;
        self.newer += u64::from(question.since.is_some_and(|since| group.oldest > since));
        if self.entries.len() < question.limit {
            self.entries.push(entry.clone());
            self.groups.push(AddGroup { number: group.number, count: group.count, first_seq: group.oldest });
            self.last = Some(Cursor { seq: group.number, matching: self.matching, looked: self.looked });
        } else if self.next.is_none() {
            self.next = self.last;
        }
    }

    /// An entry that matches; they come newest first.
    fn take(&mut self, question: &Question, entry: &AddEntry) {
        self.matching += 1;
        self.newer += u64::from(question.since.is_some_and(|since| entry.seq > since));
        if self.entries.len() < question.limit {
            self.entries.push(entry.clone());
            self.last = Some(Cursor { seq: entry.seq, matching: self.matching, looked: self.looked });
        } else if self.next.is_none() {
            self.next = self.last;
        }
    }
}

#[cfg(test)]
#[path = "add_search_tests.rs"]
mod add_search_tests;
