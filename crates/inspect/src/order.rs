//! Pages of a list that is put in order on the spot: rank, cut, continue. Only the page is sorted, not the list, so that a
//! page of 100,000 keys stays a short pause for the core.

use crate::view::{Failure, FailureCode};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Where a row stands: two numbers, then two texts, then a number of its own, which makes it unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank<'a> {
    pub numbers: (i64, i64),
    pub texts: (&'a str, &'a str),
    pub own: u64,
}

/// The last row of a page, as its cursor holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    numbers: (i64, i64),
    texts: (String, String),
    own: u64,
}

impl Rank<'_> {
    /// Whether it comes behind a place.
    pub fn is_after(&self, place: &Place) -> bool {
        *self > place.rank()
    }

    /// It as a cursor holds it.
    pub fn place(&self) -> Place {
        let (first, second) = self.texts;
        Place { numbers: self.numbers, texts: (first.to_owned(), second.to_owned()), own: self.own }
    }
}

impl Place {
    /// The place in a cursor.
    ///
    /// # Errors
    /// It is none of ours.
    pub fn parse(cursor: &str) -> Result<Place, Failure> {
        let message = "after: not a cursor of this list".to_owned();
        serde_json::from_str(cursor).map_err(|_| Failure { code: FailureCode::BadRequest, message })
    }

    /// The cursor for this place.
    pub fn cursor(&self) -> String {
        serde_json::to_string(self).expect("numbers and texts are always JSON")
    }

    /// The numbers it is ordered by.
    pub fn numbers(&self) -> (i64, i64) {
        self.numbers
    }

    /// The row's own number.
    pub fn own(&self) -> u64 {
        self.own
    }

    fn rank(&self) -> Rank<'_> {
        Rank { numbers: self.numbers, texts: (&self.texts.0, &self.texts.1), own: self.own }
    }
}

/// Which part of a list is wanted.
#[derive(Clone, Debug)]
pub struct Window {
    /// Behind this place; none = from the start.
    pub after: Option<Place>,
    /// At most so many rows.
    pub limit: usize,
    /// The other way round.
    pub reverse: bool,
}

impl Window {
    fn compare(&self, one: &Rank<'_>, other: &Rank<'_>) -> Ordering {
        if self.reverse { other.cmp(one) } else { one.cmp(other) }
    }

    /// Puts the best rows of several cuts in order and drops the others. Whether any were dropped.
    pub fn keep<T>(&self, rows: &mut Vec<(Place, T)>) -> bool {
        rows.sort_unstable_by(|one, other| self.compare(&one.0.rank(), &other.0.rank()));
        let dropped = rows.len() > self.limit;
        rows.truncate(self.limit);
        dropped
    }

    /// The rows of the page in order, and the place where the next one goes on.
    pub fn cut<'a, T>(&self, mut rows: Vec<(Rank<'a>, T)>) -> (Vec<(Rank<'a>, T)>, Option<Place>) {
        if let Some(after) = &self.after {
            rows.retain(|(rank, _)| self.compare(rank, &after.rank()) == Ordering::Greater);
        }
        let more = rows.len() > self.limit;
        if more && self.limit > 0 {
            rows.select_nth_unstable_by(self.limit - 1, |one, other| self.compare(&one.0, &other.0));
        }
        rows.truncate(self.limit);
        rows.sort_unstable_by(|one, other| self.compare(&one.0, &other.0));
        let next = rows.last().filter(|_| more).map(|(rank, _)| rank.place());
        (rows, next)
    }
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod order_tests;
