//! Every bound of the playground, with its reason.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Lanes beside each other: what fits a window and an eye.
pub const LANES_MAX: usize = 3;
/// Adds of one run. With at most four attempts each this bounds a lane's jobs, ticks and bands.
pub const ADDS_MAX: usize = 200;
/// Lines of the log that are kept; the oldest go.
pub const LINES_MAX: usize = 600;
/// Longest run, in ms.
pub const LENGTH_MS_MAX: u32 = 600_000;
/// Delays and windows, in ms.
pub const ZERO_MS: RangeInclusive<u32> = 0..=3_600_000;
/// Time a job takes, in ms. A shorter one would not be seen.
pub const WORK_MS: RangeInclusive<u32> = 10..=600_000;
/// Leases, in ms.
pub const LEASE_MS: RangeInclusive<u32> = 1_000..=600_000;
/// Characters of a key.
pub const KEY_CHARS_MAX: usize = 256;
/// Characters of a title.
pub const TITLE_CHARS_MAX: usize = 80;
/// Lines beside a scenario.
pub const TEXT_LINES_MAX: usize = 5;
/// Characters of such a line.
pub const TEXT_CHARS_MAX: usize = 400;
/// Bytes of a scenario's file: more than the longest one that can run.
pub const FILE_BYTES_MAX: usize = 256 * 1024;
/// How fast the clock may go.
pub const SPEEDS: [u32; 3] = [1, 2, 5];
/// A run by hand stops its clock this long after the last thing that happened, when nothing is left that could, in ms.
pub const QUIET_MS: i64 = 2_000;
/// Between two looks the clock goes on at most this far: a window that nobody looks at stands still.
pub const LOOK_GAP_MAX: Duration = Duration::from_secs(2);
/// How far one step may go, in ms: a window of an hour is left out of a picture of seconds.
pub const STEP_MS_MAX: i64 = 60_000;
/// Windows with a run of their own; the one looked at longest ago ends first.
pub const SESSIONS_MAX: usize = 8;
/// A run that nobody looked at this long ends.
pub const SESSION_IDLE_MAX: Duration = Duration::from_secs(15 * 60);
/// Characters of a session's name.
pub const SESSION_NAME_MAX: usize = 64;
