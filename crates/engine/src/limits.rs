//! Every bound of the engine, with its reason.

use crate::time::Millis;

/// Steps of a job's timeline, the admission included; later ones are dropped (protocol-core.md 4.1).
pub const TIMELINE_MAX: usize = 20;
/// Log lines per job; the oldest go (protocol-core.md 8.3).
pub const LOGS_MAX: usize = 100;
/// Failed attempts remembered per job; the newest stay, so that a job with 1,000 attempts keeps a small row.
pub const FAILED_ATTEMPTS_MAX: usize = 100;
/// Stack lines accepted with one FAIL (protocol-core.md 6.9).
pub const STACK_LINES_MAX: usize = 100;
/// Bytes of a text about a job that is kept: an error, a log line, a message beside the progress. What is longer is cut, not
/// refused: a failure must not be refused for its text, nor a job fail for what it logs. A job has some hundred of them at
/// most, and they are written with it whenever it changes.
pub const TEXT_BYTES_MAX: usize = 16 * 1024;
/// Bytes of a line of a stack, likewise.
pub const STACK_LINE_BYTES_MAX: usize = 4 * 1024;
/// Stack lines kept when the job does not say (protocol-core.md 4.1).
pub const STACK_TRACE_LIMIT_DEFAULT: u32 = 10;
/// Parked requests per connection, so that one client cannot fill the memory with waits.
pub const PARKED_PER_CONN_MAX: usize = 1_000;
/// Kinds of group limits that the workers of one queue may ask for at a time; each has a list of its own to keep.
pub const GROUP_LIMITS_MAX: usize = 16;
/// A kind of group limits that no pull has asked for in this time is forgotten.
pub const GROUP_LIMITS_IDLE: Millis = Millis(60_000);
/// Different wishes about groups that may be parked on one queue: all are looked at when a job comes.
pub const PARKED_WISHES_MAX: usize = 1_000;
/// Freed keys remembered for the sentence of the next add (gui.md 11).
pub const FREED_KEYS_MAX: usize = 1_000;
/// Keys released by hand that an undo finds; as many as one action on many releases.
pub const RELEASED_KEYS_MAX: usize = 10_000;
/// Completed and removed ids that still satisfy a later `dependsOn`.
pub const COMPLETED_IDS_MAX: usize = 50_000;
/// Jobs or keys in one answer; a client pages through more with `offset` and `limit`, by 1,000 as the clients do. Everything
/// waits while they are gathered, a few milliseconds.
pub const ANSWER_RECORDS_MAX: usize = 10_000;
/// Bytes of payloads and results in one answer: the clients read no frame that is longer than 64 MiB.
pub const ANSWER_BYTES_MAX: usize = 60 * 1024 * 1024;
/// Bytes of payloads handed out with one PULLB, after which it brings fewer jobs than it asked for; one job always fits.
pub const DELIVERY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Children of a parent that more can join: as many as one flow may have. Each of them costs the next one some time.
pub const CHILDREN_MAX: usize = 10_000;
/// Jobs looked at by one page of the window before it says how far it got: two milliseconds, for which everything waits.
pub const PAGE_SCAN_MAX: usize = 10_000;
/// Generations reserved in one write, so that a number is never given out twice, not even after a crash.
pub const RESERVE_STEP: u64 = 10_000;
/// Locks that ran out and stalls are looked for this often; clients know it so (protocol-core.md 5.6, 5.7).
pub const SWEEP_EVERY: Millis = Millis(5_000);
/// Jobs that a part of something long concerns, such as a command over a whole queue; the broker gives less when others wait.
pub const PART_JOBS_MAX: usize = 1_000;
/// Bytes of payloads in memory that count as one job more in such a part: to free their pages in the file takes as long.
pub const PART_BYTES_PER_JOB: usize = 20 * 1024;
/// Jobs of an ACKB that are completed in one step whatever the length of a part; more of them may be completed in parts.
pub const ACKS_AT_ONCE_MAX: usize = 100;
/// Active jobs that are only looked at, for a lease that ran out or for the token of an ACKB: as many take as long as one that
/// is changed.
pub const LOOKED_AT_PER_JOB: usize = 10;
/// Jobs that one Clean removes: their ids are its answer.
pub const CLEANED_MAX: usize = 100_000;
/// Longest wait before a retry, jitter included (protocol-core.md 5.5).
pub const BACKOFF_MAX: Millis = Millis(3_600_000);
/// A worker that was silent this long is listed as stale (protocol-admin.md 9).
pub const WORKER_STALE_AFTER: Millis = Millis(30_000);
/// A worker that has had no slot free for this long is told of (protocol-admin.md 13.6).
pub const WORKER_OVERLOADED_AFTER: Millis = Millis(30_000);
/// A worker that was silent this long is no longer listed (protocol-admin.md 9: three times its 30 s).
pub const WORKER_SILENT_MAX: Millis = Millis(90_000);
/// Registered workers: as many as one answer lists.
pub const WORKERS_MAX: usize = 10_000;
/// Bytes of a worker's names: its own, its machine's, those of its queues.
pub const WORKER_BYTES_MAX: usize = 16 * 1024;
/// Timed-out deliveries per job whose late answers are still recognised.
pub const TIMED_OUT_TOKENS_MAX: usize = 20;
/// Highest priority of a job without a group; the lowest is its opposite (protocol-core.md 6.1).
pub const PRIORITY_MAX: i64 = 1_000_000;
/// Highest priority number of a job in a group; the lowest is 0.
pub const GROUP_PRIORITY_MAX: i64 = 2_097_151;
/// Schedules at once: as many as one answer can list.
pub const SCHEDULES_MAX: usize = 10_000;
/// Requests per queue that later jobs may share: as many kinds of jobs as a queue usually has.
pub const SHARED_SPECS_MAX: usize = 8;
