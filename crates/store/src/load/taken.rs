//! Lists of jobs that were taken and have no row of their own about it.

use super::cells::Cells;
use onceover_engine::names::JobKey;
use onceover_engine::time::Timestamp;
use std::collections::HashMap;

pub(super) const TAKEN_LISTS: &str =
    "SELECT first_generation, at_ms, generations FROM taken_lists ORDER BY first_generation";

/// One row.
pub(super) struct TakenList {
    pub(super) first: JobKey,
    at: Timestamp,
    jobs: Vec<JobKey>,
}

impl TakenList {
    /// When each job was taken.
    pub(super) fn by_job(lists: Vec<TakenList>) -> HashMap<JobKey, Timestamp> {
        lists.into_iter().flat_map(|TakenList { jobs, at, .. }| jobs.into_iter().map(move |job| (job, at))).collect()
    }
}

pub(super) fn taken_list(cells: &mut Cells<'_, '_>) -> Result<TakenList, String> {
    Ok(TakenList {
        first: JobKey(cells.number("first_generation")?),
        at: cells.moment("at_ms")?,
        jobs: cells.json("generations")?,
    })
}
