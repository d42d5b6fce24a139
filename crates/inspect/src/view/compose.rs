//! Views of the composer and of the log's export: a logged add as a draft, what an add would come to, how far a run is.

use super::{Chip, Decision, Fact};
use crate::request::NewAdd;
use serde::{Deserialize, Serialize};

/// A logged add, ready to be changed and sent again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct DraftView {
    /// See the module `view`.
    pub revision: u64,
    /// Its options, with `origin`, and with its payload left to it.
    pub add: NewAdd,
    /// Size of its payload, in bytes; 0 for none.
    pub data_bytes: u64,
    /// What is different when it is sent again, one sentence each.
    pub notes: Vec<String>,
}

/// A command that was read from JSON text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct AddRead {
    /// See the module `view`.
    pub revision: u64,
    /// What it asks for; absent when it cannot be sent.
    pub add: Option<NewAdd>,
    /// Why it cannot be sent, as a client would be told.
    pub error: Option<String>,
    /// Members that are no options of an add, which the broker ignores.
    pub ignored: Vec<String>,
}

/// What would become of an add if it were sent now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct DryRun {
    /// See the module `view`.
    pub revision: u64,
    /// The broker's clock, in ms.
    pub now: i64,
    /// What would be decided.
    pub decision: Decision,
    /// Word and colour of it.
    pub chip: Chip,
    /// Whether it deserves a second look.
    pub warn: bool,
    /// The sentence. For an add that is not valid, what a client would be told.
    pub why: String,
    /// What else to know.
    pub facts: Vec<Fact>,
    /// The option that is wrong, by its name on the wire.
    pub field: Option<String>,
    /// Size of the payload, in bytes; absent when there is none or it cannot be read.
    pub data_bytes: Option<u64>,
    /// Options that have no effect, and why, one sentence each.
    pub notes: Vec<String>,
}

/// The last run of many adds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// See the module `view`.
    pub revision: u64,
    /// Absent when there was none since the start.
    pub run: Option<RunProgress>,
}

/// How far a run is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct RunProgress {
    /// Its number, from 1. `run:3` in the filter of the log finds its adds.
    pub id: u64,
    /// The logged add that it repeats.
    pub origin: Option<u64>,
    /// Whether it still sends.
    pub going: bool,
    /// Adds it was to send.
    pub times: u32,
    /// Adds that were answered.
    pub answered: u32,
    /// Answered with a new job.
    pub created: u32,
    /// Answered with a new job in another one's place.
    pub replaced: u32,
    /// Answered with a job that was there.
    pub returned: u32,
    /// Answered with an error.
    pub rejected: u32,
    /// So far, or from start to end, in ms.
    pub took_ms: u64,
    /// What came of it, one sentence.
    pub sentence: String,
    /// The first error, if any.
    pub error: Option<String>,
}

/// A part of the log as a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct ExportPart {
    /// Whole lines, to be put after those of the parts before.
    pub text: String,
    /// How many adds they are.
    pub rows: u32,
    /// Ask for the part after this number; absent at the end.
    pub next: Option<u64>,
}
