//! Every bound of this crate, with its reason. Questions run on the core thread, so each is bounded.

use std::time::Duration;

/// Rows of one page, so that a page is a short pause for the core.
pub const PAGE_ROWS_MAX: usize = 200;
/// Bytes of payloads searched for free words in one go: a millisecond or two.
pub const SEARCH_BYTES_MAX: usize = 4 * 1024 * 1024;
/// A search goes on in steps, between which clients are served, for so long; then it says how far it looked.
pub const SEARCH_TIME_MAX: Duration = Duration::from_millis(300);
/// Custom ids looked at by one page of them.
pub const JOB_ID_SCAN_MAX: usize = 10_000;
/// Keys looked at in one step of a pass over all: two milliseconds or three.
pub const KEY_STEP_MAX: usize = 10_000;
/// Entries of the log looked at in one step of a search: a millisecond or two.
pub const LOG_STEP_MAX: usize = 10_000;
/// Newest entries of the log looked at for the adds of one key or job.
pub const LOG_SCAN_MAX: usize = 50_000;
/// Newest adds shown with a key.
pub const KEY_ADDS_MAX: usize = 20;
/// Adds shown in a job's timeline.
pub const JOB_ADDS_MAX: usize = 100;
/// Bytes of text shown of one payload.
pub const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Characters of a payload in a row.
pub const PREVIEW_CHARS_MAX: usize = 120;
/// Problems shown with the clients.
pub const PROBLEMS_MAX: usize = 100;
/// Jobs that one action on many takes: a second or two of the core's time, in parts.
pub const BULK_JOBS_MAX: usize = 10_000;
/// Jobs of such an action that are under way at once: one commit for all of them.
pub const BULK_AT_ONCE: usize = 500;
/// Jobs or keys that an action on many names as left alone.
pub const LEFT_ALONE_MAX: usize = 100;
/// Jobs shown before an action on many.
pub const SAMPLE_ROWS: usize = 5;
/// Children or dependencies shown with a job.
pub const RELATIVES_SHOWN_MAX: usize = 100;
/// Jobs shown with the program that has them.
pub const LEASES_SHOWN_MAX: usize = 100;
/// Keys that one action on many takes; the engine remembers as many for the undo.
pub const BULK_KEYS_MAX: usize = onceover_engine::limits::RELEASED_KEYS_MAX;
/// Keys in the list of what deserves a look.
pub const ATTENTION_ROWS_MAX: usize = 200;
/// Longest window that can be set by hand, in ms: as long as any duration of an add.
pub const WINDOW_MS_MAX: i64 = 365 * 86_400_000;
/// Groups of a queue shown with its limits.
pub const GROUPS_SHOWN_MAX: usize = 200;
