//! Views of the composer: a logged add as a draft.

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
}
