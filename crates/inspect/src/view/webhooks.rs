//! Webhooks as the window shows them.

use serde::{Deserialize, Serialize};

/// Answer to `Webhooks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct WebhooksView {
    /// See the module `view`.
    pub revision: u64,
    /// How many there may be.
    pub most: u64,
    /// All of them, oldest first.
    pub rows: Vec<WebhookRow>,
}

/// One webhook. Its secret is never shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct WebhookRow {
    /// Its id.
    pub id: String,
    /// Whom it calls.
    pub url: String,
    /// For what, such as `job.failed`.
    pub events: Vec<String>,
    /// Of which queue; none = of all.
    pub queue: Option<String>,
    /// Whether calls are signed.
    pub signed: bool,
    /// Whether it is called.
    pub enabled: bool,
    /// When it was added, in ms.
    pub created_at: i64,
    /// When a call ended last, in ms.
    pub last_triggered: Option<i64>,
    /// Calls that were taken.
    pub successes: u64,
    /// Calls that were given up.
    pub failures: u64,
    /// Why the last call was given up; none when it was taken, or the broker has started since.
    pub last_error: Option<String>,
}
