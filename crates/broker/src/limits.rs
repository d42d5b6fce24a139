//! Every bound of the running broker, with its reason. The engine's own bounds are in the engine.

use std::time::Duration;

/// Commands taken into one turn, so that a flood holds back nobody's replies for long: whoever comes in the middle of a turn
/// waits for the rest of it and for the next one, some milliseconds each.
pub const TURN_COMMANDS_MAX: usize = 1_024;
/// The same while somebody asks for little (see [`SPARSE_COMMANDS_MAX`]): a third of a millisecond.
pub const SHORT_TURN_COMMANDS_MAX: usize = 100;
/// A message of so few commands goes before longer ones of others.
pub const SPARSE_COMMANDS_MAX: usize = 16;
/// If it has so few bytes, too.
pub const SPARSE_BYTES_MAX: usize = 64 * 1024;
/// For so long after one of them has asked, turns are short.
pub const SPARSE_LATELY: Duration = Duration::from_millis(100);
/// If one of them has asked within this time, there is as much time for them after a turn with something long in it.
pub const ASKED_JUST_NOW: Duration = Duration::from_millis(20);
/// Unless that turn was shorter than this: nobody notices it, and to sleep after each of them would cost more than they do.
pub const REST_AFTER: Duration = Duration::from_micros(100);
/// Bytes of frames taken into one turn, for the same reason.
pub const TURN_BYTES_MAX: usize = 1024 * 1024;
/// The same while somebody asks for little.
pub const SHORT_TURN_BYTES_MAX: usize = 128 * 1024;
/// The end of a connection counts as so many commands: it may have to put back as many requests as it may have parked.
pub const HANG_UP_COMMANDS: usize = 128;
/// Jobs that a part of something long concerns while somebody asks for little; otherwise it may be the engine's
/// [`PART_JOBS_MAX`](onceover_engine::limits::PART_JOBS_MAX).
pub const SHORT_PART_JOBS_MAX: usize = 100;
/// Jobs that the commands over many of them have changed in a turn, after which it ends as well: a short command may mean a
/// thousand jobs.
pub const TURN_JOBS_MAX: usize = 2_000;
/// Bytes of answers after which a turn ends and leaves the rest of its commands to the next one. Questions are short and
/// answers are not, so the bounds of what comes in do not bound this. A job without data counts 1 KiB.
pub const TURN_ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes of frames that wait for the core; beyond it connections are not read any more (TCP backpressure).
pub const INBOX_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of long frames (see [`LONG_FRAME_BYTES`]) that wait for the core. Apart from the others, so that short ones never
/// wait for the room that a long one needs.
pub const INBOX_LONG_BYTES_MAX: usize = 64 * 1024 * 1024;
/// A frame longer than this is decoded away from the threads that serve all connections, one at a time: up to here the
/// dearest one takes some milliseconds.
pub const LONG_FRAME_BYTES: usize = 64 * 1024;
/// So is a batch of more jobs than this, however short: a job may take one byte.
pub const SHORT_BATCH_JOBS_MAX: usize = 1_000;
/// Bytes of unfinished long frames of all connections together.
pub const UNFINISHED_BYTES_MAX: usize = 256 * 1024 * 1024;
/// How they are counted: a frame grows by so much at a time.
pub const UNFINISHED_STEP_BYTES: usize = 1024 * 1024;
/// How long a long frame may take to arrive when others need its room; the largest one takes half a second on a fast
/// network, a tenth of it on a machine of its own.
pub const UNFINISHED_PATIENCE: Duration = Duration::from_secs(2);
/// Bytes that one connection reads of a long frame before others have their turn.
pub const READ_ON_BYTES: usize = 512 * 1024;
/// Bytes of frames that go to the core as one message, after which it ends, for the same reason as their number.
pub const MESSAGE_BYTES_MAX: usize = 256 * 1024;
/// Frames that go to the core as one message, so that a turn can stop near its bound.
pub const MESSAGE_FRAMES_MAX: usize = 256;
/// Bytes of replies that wait for a client; beyond it the connection is closed (protocol-core.md 2.1).
pub const UNSENT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of replies that wait for all clients together; beyond it those with the most are closed. A payload that is also in
/// a queue or in two replies is counted each time and held once.
pub const UNSENT_TOTAL_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Bytes of events that wait for a subscriber; beyond it the subscription ends. Some 120,000 events without data: more
/// than a burst of adds makes, and far less than what replies may take.
pub const UNSENT_EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Commands of one connection in progress, parked ones included; those behind wait unread. As many as one turn takes, so
/// that a single client can fill it; bunqueue's 50 makes everything behind 50 parked pulls wait.
pub const IN_PROGRESS_MAX: usize = 4 * TURN_COMMANDS_MAX;
/// Bytes of request ids that a connection may have in progress, for the same reason: a client chooses their length.
pub const IN_PROGRESS_ID_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Connections served at the same time when nothing else is said, as far as the system's limit of open files allows.
pub const CONNECTIONS_MAX: usize = 10_000;
/// Open files that are not clients: the data, the listeners, the runtime, the window's door, look-ups of programs.
pub const FILES_RESERVED: usize = 64;
/// Connections that are told at the same time that there are too many; others are closed without a word.
pub const TURNED_AWAY_MAX: usize = 32;
/// Connections the system may hold for us until they are accepted.
pub const BACKLOG_MAX: u32 = 1_024;
/// Connections accepted before the next pause: at most 16,000 a second, and the last of a full backlog waits some tenth of a
/// second.
pub const ACCEPTS_AT_ONCE_MAX: usize = 16;
/// The least that the runtime's clock can wait.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(1);
/// Silence in the middle of a frame after which the connection is closed; an idle connection may stay for ever.
pub const PARTIAL_FRAME_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a client's TLS handshake may take.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the last answer of a connection that we close may take to leave, and how long its rest is read away.
pub const LAST_WORDS_TIMEOUT: Duration = Duration::from_secs(2);
/// How long after its end a connection's jobs are released. Long enough that a worker which is killed together with the
/// broker leaves its jobs active in the file, so that the restart counts the attempt; too short for anyone to wait for.
pub const RELEASE_AFTER: Duration = Duration::from_millis(20);
/// Free bytes offered to each read of a socket.
pub const READ_BYTES: usize = 64 * 1024;
/// Encoded bytes after which the write loop writes before it takes more replies.
pub const WRITE_BYTES: usize = 256 * 1024;
/// Adds kept in the log of adds.
pub const ACTIVITY_ENTRIES_MAX: usize = 50_000;
/// Bytes of payloads and texts kept in the log of adds.
pub const ACTIVITY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes kept of one payload in the log of adds.
pub const ACTIVITY_PAYLOAD_BYTES_MAX: usize = 256 * 1024;
/// Minutes of a queue that are counted, two weeks of them as in 2.9.5.
pub const MINUTES_MAX: usize = 20_160;
/// Queues whose minutes are counted; others have totals only.
pub const MINUTES_QUEUES_MAX: usize = 10_000;
/// Minutes of all queues together, 16 bytes each; the oldest go.
pub const MINUTES_TOGETHER_MAX: usize = 500_000;
/// Queues with a curve of their last minute, 500 bytes each.
pub const HISTORY_QUEUES_MAX: usize = 500;
/// Happenings that wait for a watcher of everything; one that is further behind misses some.
pub const NEWS_MAX: usize = 8_192;
/// Calls of one webhook that wait, those that are under way included.
pub const WEBHOOK_CALLS_MAX: usize = 1_000;
/// Bytes of payloads that wait with them.
pub const WEBHOOK_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Calls of one webhook at the same time.
pub const WEBHOOK_SLOTS: usize = 4;
/// How long a call may take, from the look-up of the name to the answer.
pub const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(10);
/// Protocol problems kept for the window.
pub const PROBLEMS_MAX: usize = 200;
/// Of them, problems of one program, or of one address while its program is not known; so a noisy one leaves room for the
/// others.
pub const PROBLEMS_OF_ONE_MAX: usize = 50;
/// Bytes kept of a frame that made a problem.
pub const PROBLEM_FRAME_BYTES_MAX: usize = 256;
/// Bytes kept of a text that a client sent and that is only shown: a command's name, an error.
pub const SHOWN_TEXT_BYTES_MAX: usize = 1_024;
/// Least time between two hints to the window.
pub const HINT_EVERY: Duration = Duration::from_millis(100);
/// Time until a hint goes out when nothing but counters of connections has changed.
pub const QUIET_HINT_AFTER: Duration = Duration::from_secs(1);
/// How long a stop waits for connections to write their last replies.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(3);
