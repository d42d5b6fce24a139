//! The cells of a row, each read as what it is, with the column's name in what is told of one that cannot be read.

use super::{Names, Specs};
use crate::writer::state_text;
use onceover_engine::command::NewJob;
use onceover_engine::job::JobState;
use onceover_engine::limit::Rate;
use onceover_engine::names::JobId;
use onceover_engine::time::{Millis, Timestamp};
use rusqlite::Row;
use rusqlite::types::{FromSql, ValueRef};
use serde::de::DeserializeOwned;
use std::sync::Arc;

const STATES: [JobState; 5] =
    [JobState::Queued, JobState::Blocked, JobState::Active, JobState::Completed, JobState::Failed];

/// A row, read from left to right: looking columns up by name costs more than reading them.
pub(super) struct Cells<'row, 'stmt> {
    pub(super) row: &'row Row<'stmt>,
    pub(super) next: usize,
}

impl<'row> Cells<'row, '_> {
    /// What names the row: its first column.
    pub(super) fn row_name(&self) -> String {
        self.row.get::<_, i64>(0).map(|id| id.to_string()).or_else(|_| self.row.get(0)).unwrap_or_default()
    }

    pub(super) fn take<T: FromSql>(&mut self, column: &'static str) -> Result<T, String> {
        T::column_result(self.value(column)?).map_err(|cause| format!("column {column}: {cause}"))
    }

    pub(super) fn value(&mut self, column: &'static str) -> Result<ValueRef<'row>, String> {
        debug_assert_eq!(
            self.row.as_ref().column_name(self.next).ok(),
            Some(column),
            "columns are read in the query's order"
        );
        self.next += 1;
        self.row.get_ref(self.next - 1).map_err(|cause| format!("column {column}: {cause}"))
    }

    /// Text that is looked at where SQLite has it, or NULL.
    pub(super) fn text_or_null(&mut self, column: &'static str) -> Result<Option<&'row str>, String> {
        let value = self.value(column)?;
        value.as_str_or_null().map_err(|cause| format!("column {column}: {cause}"))
    }

    /// Text that is looked at where SQLite has it.
    pub(super) fn text(&mut self, column: &'static str) -> Result<&'row str, String> {
        let value = self.value(column)?;
        value.as_str().map_err(|cause| format!("column {column}: {cause}"))
    }

    pub(super) fn number(&mut self, column: &'static str) -> Result<u64, String> {
        let found: i64 = self.take(column)?;
        u64::try_from(found).map_err(|_| format!("column {column}: {found} is negative"))
    }

    /// At least `min`, or NULL.
    pub(super) fn maybe(&mut self, column: &'static str, min: i64) -> Result<Option<u64>, String> {
        match self.take::<Option<i64>>(column)? {
            Some(found) if found < min => Err(format!("column {column}: {found} is less than {min}")),
            found => Ok(found.map(i64::unsigned_abs)),
        }
    }

    /// Both columns, or NULL in both.
    pub(super) fn rate(&mut self, max: &'static str, duration: &'static str) -> Result<Option<Rate>, String> {
        match (self.maybe(max, 0)?, self.maybe(duration, 1)?) {
            (Some(max), Some(duration)) => Ok(Some(Rate { max, duration: Millis(duration.cast_signed()) })),
            (None, None) => Ok(None),
            (Some(_), None) | (None, Some(_)) => {
                Err(format!("columns {max} and {duration}: one is set without the other"))
            }
        }
    }

    pub(super) fn moment(&mut self, column: &'static str) -> Result<Timestamp, String> {
        self.take(column).map(Timestamp)
    }

    pub(super) fn id(&mut self, column: &'static str) -> Result<JobId, String> {
        self.text(column).map(JobId::parse)
    }

    /// None when the column is NULL.
    pub(super) fn state(&mut self) -> Result<Option<JobState>, String> {
        let Some(text) = self.text_or_null("state")? else { return Ok(None) };
        let known = STATES.into_iter().find(|state| state_text(*state) == text);
        known.map(Some).ok_or_else(|| format!("column state: no state is called '{text}'"))
    }

    /// JSON text; NULL is read as JSON's null.
    pub(super) fn json<T: DeserializeOwned>(&mut self, column: &'static str) -> Result<T, String> {
        let text: Option<Arc<str>> = self.take(column)?;
        serde_json::from_str(text.as_deref().unwrap_or("null")).map_err(|cause| format!("column {column}: {cause}"))
    }

    pub(super) fn spec(&mut self, names: &mut Names, specs: &mut Specs) -> Result<Arc<NewJob>, String> {
        specs.read(self.text("spec")?, names).map_err(|cause| format!("column spec: {cause}"))
    }
}
