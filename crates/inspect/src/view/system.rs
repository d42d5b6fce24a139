//! Views of the broker as a whole: its state, its queues, and who is connected.

use serde::{Deserialize, Serialize};

use super::Can;

/// State of the broker and the counts beside the navigation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// See the module `view`.
    pub revision: u64,
    /// The broker's clock, in ms.
    pub now: i64,
    /// Version of the program.
    pub version: String,
    /// What the broker does now.
    pub broker: BrokerState,
    /// Address really bound, or the one wanted while it is not.
    pub host: String,
    /// Port really bound, or the one wanted.
    pub port: u16,
    /// Path of the data file; absent for a workspace in memory.
    pub data_file: Option<String>,
    /// Size of the data file, in bytes.
    pub data_bytes: u64,
    /// Why the file could not be written the last time, as clients were told; absent when it could.
    pub storage_trouble: Option<String>,
    /// When the broker started, in ms.
    pub started_at: i64,
    /// Numbers beside the navigation.
    pub counts: NavCounts,
    /// Adds per second, over the last seconds.
    pub adds_per_s: f64,
    /// Open connections.
    pub connections: u32,
    /// Registered or pulling workers.
    pub workers: u32,
    /// When a key with TTL ends.
    pub dedup_window: DedupWindow,
    /// Whether a client ever connected to this data file.
    pub ever_connected: bool,
    /// Label of the client that connected last.
    pub last_client: Option<String>,
    /// Oldest entry of the log of adds.
    pub first_add_seq: Option<u64>,
    /// Whether the window may only look.
    pub read_only: bool,
    /// What happened to the data file or the clock, oldest first, at most 8.
    pub notices: Vec<Notice>,
}

/// Something that happened while the broker went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// When, in ms.
    pub at: i64,
    /// What, and what it means.
    pub text: String,
}

/// What the broker does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum BrokerState {
    /// Reads its file.
    Starting,
    /// Serves clients.
    Listening,
    /// Runs, but no client can connect: the port belongs to another program.
    PortTaken {
        /// The port that was wanted.
        port: u16,
        /// A free one nearby, where one was found.
        suggestion: Option<u16>,
    },
    /// Runs, but no client can connect for another reason.
    NotListening {
        /// What happened.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// Stopped by a fault.
    Failed {
        /// What happened.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// Stopped on request.
    Stopped,
}

/// Numbers beside the navigation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct NavCounts {
    /// Adds since start.
    pub adds: u64,
    /// Keys held.
    pub keys: u64,
    /// Jobs of all states.
    pub jobs: u64,
    /// Queues.
    pub queues: u64,
    /// Schedules.
    pub schedules: u64,
    /// Connected programs.
    pub clients: u64,
    /// Keys with something to look at.
    pub attention: u64,
}

/// When a key with TTL ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum DedupWindow {
    /// With its TTL, whatever becomes of its owner.
    Ttl,
    /// With its owner at the latest.
    UntilDone,
}

/// All queues, by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct QueuesView {
    /// See the module `view`.
    pub revision: u64,
    /// The broker's clock, in ms.
    pub now: i64,
    /// The queues.
    pub rows: Vec<QueueRow>,
}

/// One queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct QueueRow {
    /// Its name.
    pub name: String,
    /// Ready to run, prioritized ones included.
    pub waiting: u64,
    /// A worker has them.
    pub active: u64,
    /// Run later.
    pub delayed: u64,
    /// Run when their children ended.
    pub waiting_children: u64,
    /// Ended badly.
    pub failed: u64,
    /// Ended well and kept.
    pub completed: u64,
    /// Keys held.
    pub keys: u64,
    /// Share of the adds of the last minute that made no job, 0 to 100; absent without adds.
    pub collapsed_percent: Option<f64>,
    /// Adds per second, over the last seconds.
    pub adds_per_s: f64,
    /// Jobs made in each of the last 60 full seconds, oldest first; empty when nothing happened.
    pub added: Vec<u32>,
    /// Jobs that ended in the same seconds.
    pub ended: Vec<u32>,
    /// When the oldest ready job was added, in ms.
    pub oldest_waiting_at: Option<i64>,
    /// Workers that take from it.
    pub workers: u32,
    /// Whether it hands out no jobs.
    pub paused: bool,
    /// What limits it.
    pub limits: super::QueueLimits,
    /// A few words when something is wrong, such as `no workers`; absent for a healthy queue.
    pub note: Option<String>,
    /// What is set about stalled jobs and dead letters.
    pub config: QueueConfig,
    /// Possible actions.
    pub can: Vec<Can>,
}

/// What becomes of a queue's stalled jobs and dead letters. Times in ms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct QueueConfig {
    /// Whether silent workers are looked for.
    pub stall_detection: bool,
    /// Silence after which a job counts as stalled.
    pub stall_interval_ms: u64,
    /// Stalls at which a job fails for good.
    pub stalls_max: u32,
    /// Time after the start in which nothing is checked.
    pub stall_grace_ms: u64,
    /// Whether dead letters are tried once more by themselves.
    pub auto_retry: bool,
    /// Time to the first such retry; each further one waits twice as long.
    pub auto_retry_interval_ms: u64,
    /// Such retries of one job.
    pub auto_retries_max: u32,
    /// Age at which a dead letter is forgotten; absent = never.
    pub dead_age_ms: Option<u64>,
    /// Dead letters kept, at least 1.
    pub dead_max: u32,
}

/// What is to be set for a queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct QueueConfigured {
    /// Name of the queue.
    pub queue: String,
    /// All of it.
    pub config: QueueConfig,
}

/// Who is connected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct ClientsView {
    /// See the module `view`.
    pub revision: u64,
    /// The broker's clock, in ms.
    pub now: i64,
    /// Programs, newest first.
    pub processes: Vec<ClientProcess>,
    /// What clients sent that the broker could not take, newest first, at most 100.
    pub problems: Vec<ProtocolProblem>,
}

/// One program with its connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct ClientProcess {
    /// Process name, or address and port where it is unknown.
    pub label: String,
    /// Process id, where known.
    pub pid: Option<u32>,
    /// Numbers of its open connections.
    pub connections: Vec<u64>,
    /// What it does, as seen from its commands.
    pub roles: Vec<ClientRole>,
    /// When its first open connection came, in ms.
    pub since: i64,
    /// Commands per second, over the last seconds.
    pub commands_per_s: f64,
    /// Commands since it connected.
    pub commands: u64,
    /// Name of the last command; empty before the first.
    pub last_command: String,
    /// When that was, in ms.
    pub last_command_at: Option<i64>,
    /// Jobs it has.
    pub leases: u32,
    /// The first of them.
    pub leased: Vec<Lease>,
    /// Commands answered with an error.
    pub errors: u64,
    /// Workers it registered.
    pub workers: Vec<WorkerRow>,
}

/// A job that a program has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// Public id of the job.
    pub id: String,
    /// Its queue.
    pub queue: String,
    /// Number of the connection that took it.
    pub connection: u64,
    /// When it started, in ms.
    pub started_at: Option<i64>,
    /// End of its lease, in ms; absent without one.
    pub ends_at: Option<i64>,
}

/// What a program does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum ClientRole {
    /// Adds jobs.
    Producer,
    /// Takes jobs.
    Worker,
    /// Looks and manages.
    Observer,
}

/// A registered worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct WorkerRow {
    /// As registered.
    pub name: String,
    /// Machine, as registered.
    pub host: String,
    /// Queues it takes from.
    pub queues: Vec<String>,
    /// Jobs it takes at once.
    pub concurrency: u32,
    /// Jobs it has.
    pub active: u32,
    /// Jobs it completed.
    pub processed: u64,
    /// Jobs it failed.
    pub failed: u64,
    /// Last sign of life, in ms.
    pub last_seen_at: i64,
}

/// Something a client sent that the broker could not take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub struct ProtocolProblem {
    /// When, in ms.
    pub at: i64,
    /// Who.
    pub client: String,
    /// A few words, such as `unknown command`.
    pub label: String,
    /// One sentence, with the error that was answered.
    pub text: String,
    /// Start of the frame in hexadecimal, at most 256 bytes.
    pub bytes_hex: String,
    /// The same as text; what is not printable ASCII is a dot.
    pub bytes_text: String,
}
