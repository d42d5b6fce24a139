//! What the composer and the log's export ask besides an add.

use super::{AddsQuery, NewAdd};
use serde::{Deserialize, Serialize};

/// An add to be sent many times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct StartRun {
    /// What is sent.
    pub add: Box<NewAdd>,
    /// How often, 1 to 1,000.
    pub times: u32,
    /// Time from one add to the next, 0 to 60,000 ms.
    pub gap_ms: u64,
    /// Over how many connections, 1 to 16.
    pub connections: u32,
}

/// A part of the log of adds, as a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct ExportAdds {
    /// Filter and chip of the list; its other members mean nothing here.
    pub query: AddsQuery,
    /// How the file is written.
    pub format: ExportFormat,
    /// `next` of the part before this one; absent for the newest adds.
    pub after: Option<u64>,
}

/// How a file of adds is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum ExportFormat {
    /// An object per line.
    Ndjson,
    /// A table, with a line of names first.
    Csv,
}
