//! Settings of the broker and of the window's door, and their changes.

use serde::{Deserialize, Serialize};

use super::DedupWindow;

/// Every setting as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct SettingsView {
    /// See the module `view`.
    pub revision: u64,
    /// The broker's clock, in ms.
    pub now: i64,
    /// Address for clients, as it is or as it is wanted.
    pub host: String,
    /// Their port.
    pub port: u16,
    /// Whether only this machine can reach it.
    pub loopback: bool,
    /// Tokens of which clients must know one; none = everybody may connect.
    pub auth_tokens: Vec<String>,
    /// Whether clients must speak TLS; only a start changes that.
    pub tls: bool,
    /// How the data was named.
    pub data: DataKind,
    /// The data file.
    pub data_file: String,
    /// Its size, in bytes.
    pub data_bytes: u64,
    /// When a key with TTL ends, until the next start.
    pub dedup_window: DedupWindow,
    /// The same after it.
    pub dedup_window_next: DedupWindow,
    /// Whether this window may only look.
    pub read_only: bool,
    /// Whether that cannot be switched off here.
    pub read_only_locked: bool,
    /// Whether changes hold after the program ended.
    pub kept: bool,
    /// Settings that the start was given by flag or environment, so that they win the next time too.
    pub pinned: Vec<String>,
}

/// How the data was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum DataKind {
    /// By its folder.
    Folder,
    /// By the file itself.
    File,
    /// A workspace that goes away.
    Temporary,
}

/// Data to be opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum DataChoice {
    /// This file, made when it is not there; or `onceover.db` in this folder.
    File {
        /// A whole path.
        path: String,
    },
    /// A workspace that goes away when other data is opened or the program ends.
    Temporary,
}

/// One setting to be changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(tag = "setting", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum SettingChange {
    /// Where clients connect.
    Address {
        /// An IP address, or `localhost`.
        host: String,
        /// 1 to 65535.
        port: u16,
    },
    /// These tokens and no others.
    Tokens {
        /// None = everybody may connect.
        tokens: Vec<String>,
    },
    /// Other data.
    Data {
        /// Which.
        data: DataChoice,
    },
    /// Removes every queue of the present data.
    Empty,
    /// Whether this window may only look.
    ReadOnly {
        /// Whether it may not act.
        on: bool,
    },
    /// When a key with TTL ends; from the next start on.
    DedupWindow {
        /// When.
        window: DedupWindow,
    },
}
