//! Field values: what a client means to send, and what nobody should.

use crate::source::Source;
use bytes::BytesMut;
use onceover_wire::msgpack::write;

/// Fields of each command; commands that are not here get fields of all.
const FIELDS: &[(&str, &[&str])] = &[
    ("ACK", &["id", "token", "result", "removeOnComplete"]),
    ("ACKB", &["ids", "tokens", "results", "removeOnCompletes"]),
    ("AddLog", &["id", "message", "level"]),
    ("AddWebhook", &["url", "events", "queue", "secret"]),
    ("ChangeDelay", &["id", "delay", "token"]),
    ("ChangePriority", &["id", "priority", "lifo"]),
    ("Clean", &["queue", "grace", "state", "limit"]),
    ("ClearLogs", &["id", "keepLogs"]),
    ("Discard", &["id", "token"]),
    (
        "Cron",
        &[
            "cron",
            "queue",
            "timing",
            "jobName",
            "data",
            "maxLimit",
            "uniqueKey",
            "preventOverlap",
            "immediately",
            "skipMissedOnRestart",
            "skipIfNoWorker",
            "timezone",
            "jobOptions",
        ],
    ),
    ("CronDelete", &["cron"]),
    ("CronGet", &["cron"]),
    ("Dlq", &["queue", "count", "filter"]),
    ("ExtendLock", &["id", "token", "duration"]),
    ("ExtendLocks", &["ids", "tokens", "durations"]),
    ("FAIL", &["id", "token", "error", "unrecoverable", "stack", "removeOnFail"]),
    ("GetGroupActiveCount", GROUP),
    ("GetGroupConcurrency", GROUP),
    ("GetGroupJobsCount", GROUP),
    ("GetGroupRateLimit", GROUP),
    ("GetGroupRateLimitTtl", &["queue", "groupId", "maxJobs"]),
    ("GetJobs", &["queue", "state", "offset", "limit", "asc"]),
    ("GetLogs", &["id", "start", "end"]),
    ("GetJobByCustomId", &["customId"]),
    ("GetProgress", &["id"]),
    ("Heartbeat", &["beat", "activeJobs", "processed", "failed"]),
    ("GetQueueLimits", &["queue", "maxJobs"]),
    ("IsGroupPaused", GROUP),
    ("JobHeartbeat", &["id", "token", "duration"]),
    ("JobHeartbeatB", &["ids", "tokens"]),
    ("MoveToDelayed", &["id", "delay", "token"]),
    ("MoveToWait", &["id", "token"]),
    ("MoveToWaitingChildren", &["id", "token"]),
    ("PULL", &["queue", "timeout", "owner", "lockTtl", "detach", "group"]),
    ("PULLB", &["queue", "count", "owner", "lockTtl", "timeout", "group"]),
    ("PUSHB", &["queue", "jobs"]),
    ("PUSHF", &["flow"]),
    ("PauseGroup", GROUP),
    ("Progress", &["id", "progress", "message"]),
    ("Promote", &["id"]),
    ("PromoteJobs", &["queue", "count"]),
    ("RateLimit", &["queue", "limit", "duration", "ttl"]),
    ("RateLimitGroup", &["queue", "groupId", "duration"]),
    ("RegisterWorker", &["worker", "name", "queues", "concurrency", "hostname", "pid", "startedAt"]),
    ("RemoveChildDependency", &["id"]),
    ("RemoveGroupConcurrency", GROUP),
    ("RemoveGroupRateLimit", GROUP),
    ("RemoveUnprocessedChildren", &["id"]),
    ("RemoveWebhook", &["webhookId"]),
    ("ResumeGroup", GROUP),
    ("RetryCompleted", &["queue", "id", "count", "timestamp"]),
    ("RetryDlq", &["queue", "jobId", "count", "filter"]),
    ("SetConcurrency", &["queue", "limit"]),
    ("SetDlqConfig", &["queue", "dead"]),
    ("SetGroupConcurrency", &["queue", "groupId", "concurrency"]),
    ("SetGroupRateLimit", &["queue", "groupId", "max", "duration"]),
    ("SetStallConfig", &["queue", "config"]),
    ("SetWebhookEnabled", &["webhook", "enabled"]),
    ("TrimEvents", &["queue", "maxLength"]),
    ("UnregisterWorker", &["worker"]),
    ("Update", &["id", "data"]),
    ("UpdateParent", &["childId", "parentId"]),
    ("WaitJob", &["id", "timeout"]),
];

/// What every command about one group needs.
const GROUP: &[&str] = &["queue", "groupId"];

/// What an add may carry; in front what decides most.
const ADD: &[&str] = &[
    "queue",
    "data",
    "name",
    "jobId",
    "customId",
    "uniqueKey",
    "dedup",
    "priority",
    "delay",
    "maxAttempts",
    "timeout",
    "ttl",
    "backoff",
    "stallTimeout",
    "dependsOn",
    "parentId",
    "childrenIds",
    "tags",
    "groupId",
    "groupMaxSize",
    "lifo",
    "removeOnComplete",
    "removeOnFail",
    "durable",
    "stackTraceLimit",
    "keepLogs",
    "sizeLimit",
    "debounceId",
    "debounceTtl",
    "failParentOnFailure",
    "timestamp",
    "repeat",
];
/// What most other commands are about.
const OTHERS: &[&str] =
    &["queue", "id", "customId", "jobId", "deduplicationId", "workerId", "offset", "limit", "type", "token"];

const NUMBERS: &[f64] = &[
    0.0,
    1.0,
    2.0,
    3.0,
    5.0,
    10.0,
    50.0,
    100.0,
    500.0,
    1_000.0,
    5_000.0,
    30_000.0,
    60_000.0,
    600_000.0,
    3_600_000.0,
    86_400_000.0,
    31_536_000_000.0,
    -1.0,
    -5.0,
    0.5,
    1.5,
    1e6,
    -1e6,
    2_097_151.0,
    4_294_967_296.0,
    9_007_199_254_740_991.0,
    9_007_199_254_740_992.0,
    8.64e15,
    -8.64e15,
    1e300,
    -1e300,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    -0.0,
];
const TEXTS: &[&str] = &[
    "a",
    "b",
    "c",
    "q",
    "r",
    "k",
    "1",
    "",
    "waiting",
    "completed",
    "failed",
    "delayed",
    "active",
    "paused",
    "prioritized",
    "waiting-children",
    "info",
    "fixed",
    "exponential",
    "py-1",
    "rust-1",
    "\u{1f600}\u{0}\u{fb33}",
    "cron:x",
    "00000000-0000-7000-8000-000000000001",
    "stalled",
    "pending",
];

/// Names a request's fields are taken from, and whether all of them are an add's.
pub fn fields_of(command: &str) -> &'static [&'static str] {
    if command == "PUSH" {
        return ADD;
    }
    FIELDS.iter().find(|(name, _)| *name == command).map_or(OTHERS, |(_, fields)| fields)
}

/// The name on the wire of a field that has another here, because its values differ from one command to the next.
pub fn wire_name(name: &'static str, source: &mut Source<'_>) -> &'static str {
    match name {
        "flow" => "jobs",
        "dead" => "config",
        "webhook" | "beat" => "id",
        "worker" => "workerId",
        "cron" => "name",
        "timing" => source.pick(&["repeatEvery", "schedule"]),
        other => other,
    }
}

/// What exists, so that requests can name it.
#[derive(Default)]
pub struct Known {
    pub ids: Vec<String>,
    pub tokens: Vec<String>,
    pub webhooks: Vec<String>,
}

impl Known {
    fn one<'a>(of: &'a [String], source: &mut Source<'_>) -> &'a str {
        match of.len() {
            0 => source.pick(TEXTS),
            // The newest are the likeliest to mean something.
            count => &of[count - 1 - source.below(count.min(8))],
        }
    }

    fn id(&self, source: &mut Source<'_>) -> &str {
        if source.one_in(4) { source.pick(TEXTS) } else { Known::one(&self.ids, source) }
    }
}

/// Appends a value for the field `name`: a fitting one mostly, now and then anything.
pub fn field(out: &mut BytesMut, name: &str, known: &Known, source: &mut Source<'_>) {
    if source.one_in(8) {
        return anything(out, source, 3);
    }
    match name {
        "id" | "parentId" | "childId" => write::str(out, known.id(source)),
        "webhookId" | "webhook" => write::str(out, Known::one(&known.webhooks, source)),
        "worker" | "beat" => write::str(out, source.pick(&["w", "v"])),
        "cron" => write::str(out, source.pick(&["s", "t"])),
        "flow" => flow(out, known, source),
        "schedule" => write::str(out, source.pick(&["*/5 * * * * *", "@hourly", "0 9 * * mon", "61 * * * *"])),
        "timezone" => write::str(out, source.pick(&["UTC", "Europe/Berlin", "Nowhere"])),
        "url" => write::str(out, source.pick(&["https://hooks.example/a", "http://localhost:1/", "ftp://x"])),
        "events" => list(out, source, |out, source| write::str(out, source.pick(&["job.pushed", "job.failed", "x"]))),
        "jobOptions" => map(out, &["maxAttempts", "backoff", "timeout", "delay", "removeOnComplete"], known, source),
        "dead" => {
            map(out, &["autoRetry", "autoRetryInterval", "maxAutoRetries", "maxAge", "maxEntries"], known, source);
        }
        "jobId" | "customId" => {
            write::str(out, if source.one_in(2) { known.id(source) } else { source.pick(&TEXTS[..3]) })
        }
        "token" => write::str(out, Known::one(&known.tokens, source)),
        "tokens" => list(out, source, |out, source| write::str(out, Known::one(&known.tokens, source))),
        "ids" | "dependsOn" | "childrenIds" => list(out, source, |out, source| write::str(out, known.id(source))),
        "queue" | "groupId" => write::str(out, source.pick(&["q", "q", "q", "r"])),
        "queues" | "tags" | "stack" => list(out, source, |out, source| write::str(out, source.pick(TEXTS))),
        "uniqueKey" | "deduplicationId" | "key" => write::str(out, source.pick(&["k", "k", "l"])),
        "dedup" => map(out, &["ttl", "extend", "replace", "hash", "key", "keepLastIfActive"], known, source),
        "backoff" if source.one_in(2) => map(out, &["type", "delay"], known, source),
        "type" => write::str(out, source.pick(&["fixed", "exponential", "completed"])),
        "repeat" => map(out, &["every", "limit", "count", "pattern"], known, source),
        "config" => map(out, &["enabled", "stallInterval", "maxStalls", "gracePeriod"], known, source),
        "filter" => map(out, &["reason", "olderThan", "newerThan", "offset", "limit"], known, source),
        "group" => map(out, &["affinity", "concurrency", "limit"], known, source),
        "jobs" => list(out, source, |out, source| map(out, ADD, known, source)),
        "results" | "removeOnCompletes" | "durations" => list(out, source, |out, source| anything(out, source, 2)),
        "data" | "result" | "error" => anything(out, source, 3),
        "name" | "message" | "level" | "state" | "owner" | "workerId" | "hostname" | "reason" | "debounceId"
        | "jobName" | "secret" => {
            write::str(out, source.pick(TEXTS));
        }
        "extend"
        | "replace"
        | "hash"
        | "keepLastIfActive"
        | "lifo"
        | "removeOnComplete"
        | "removeOnFail"
        | "durable"
        | "detach"
        | "unrecoverable"
        | "enabled"
        | "asc"
        | "immediately"
        | "preventOverlap"
        | "skipMissedOnRestart"
        | "skipIfNoWorker"
        | "autoRetry"
        | "failParentOnFailure" => write::bool(out, source.one_in(2)),
        _ => number(out, source),
    }
}

/// Appends a chain of jobs, each the child of the next one; now and then with something that does not fit.
fn flow(out: &mut BytesMut, known: &Known, source: &mut Source<'_>) {
    let count = 1 + source.below(4);
    let first = source.below(6);
    let id = |at: usize| format!("flow{}", first + at);
    write::array(out, count);
    for at in 0..count {
        let (child, parent) = ((at > 0).then(|| id(at - 1)), (at + 1 < count).then(|| id(at + 1)));
        let policy = parent.as_ref().and_then(|_| source.pick(&[None, Some("failParentOnFailure")]));
        let extra = source.one_in(4).then(|| source.pick(ADD));
        write::map(out, 3);
        write::str(out, "id");
        write::str(out, &id(at));
        write::str(out, "queue");
        write::str(out, "q");
        write::str(out, "input");
        let fields = 2 + usize::from(parent.is_some()) + 2 * usize::from(child.is_some());
        write::map(out, fields + usize::from(policy.is_some()) + usize::from(extra.is_some()));
        write::str(out, "customId");
        write::str(out, &id(at));
        write::str(out, "data");
        write::map(out, 2 * usize::from(parent.is_some()) + usize::from(child.is_some()));
        if let Some(parent) = &parent {
            write::str(out, "__parentId");
            write::str(out, parent);
            write::str(out, "__parentQueue");
            write::str(out, "q");
        }
        let one = |out: &mut BytesMut, name: &str, id: &str| {
            write::str(out, name);
            write::array(out, 1);
            write::str(out, id);
        };
        child.iter().for_each(|child| one(out, "__childrenIds", child));
        if let Some(parent) = &parent {
            write::str(out, "parentId");
            write::str(out, parent);
        }
        if let Some(child) = &child {
            one(out, "childrenIds", child);
            one(out, "dependsOn", child);
        }
        if let Some(policy) = policy {
            write::str(out, policy);
            write::bool(out, true);
        }
        if let Some(name) = extra {
            write::str(out, name);
            field(out, name, known, source);
        }
    }
}

/// Appends a map with some of the fields.
pub fn map(out: &mut BytesMut, names: &[&str], known: &Known, source: &mut Source<'_>) {
    let count = source.below(names.len().min(6) + 1);
    write::map(out, count);
    for at in 0..count {
        // The first fields of a list are those that a command needs; they are taken in order half of the time.
        let name = if source.one_in(2) { names[at] } else { source.pick(names) };
        write::str(out, name);
        field(out, name, known, source);
    }
}

fn list(out: &mut BytesMut, source: &mut Source<'_>, mut one: impl FnMut(&mut BytesMut, &mut Source<'_>)) {
    let count = source.below(5);
    write::array(out, count);
    (0..count).for_each(|_| one(out, source));
}

fn number(out: &mut BytesMut, source: &mut Source<'_>) {
    let number = source.pick(NUMBERS);
    match source.below(4) {
        0 => write::float(out, number),
        1 => {
            out.extend_from_slice(&[0xd3]);
            out.extend_from_slice(&(number as i64).to_be_bytes());
        }
        2 => {
            out.extend_from_slice(&[0xcf]);
            out.extend_from_slice(&(number as u64).to_be_bytes());
        }
        _ => write::number(out, number),
    }
}

/// Appends any value at all, well formed but for the last few forms.
fn anything(out: &mut BytesMut, source: &mut Source<'_>, depth: usize) {
    match source.below(18) {
        0 => write::nil(out),
        1 => write::bool(out, source.one_in(2)),
        2..=4 => number(out, source),
        5 | 6 => write::str(out, source.pick(TEXTS)),
        7 => {
            let text = source.take(4);
            write::str_bytes(out, text);
        }
        8 => out.extend_from_slice(&[0xd4, 0, 0]),
        9 => out.extend_from_slice(&[0xd6, 0xff, 1, 2, 3, 4]),
        10 => out.extend_from_slice(&[0xc4, 2, 0xff, 0]),
        11 => write::str(out, &"x".repeat(300 * (1 + source.below(4)))),
        12 | 13 if depth > 0 => {
            let count = source.below(4);
            write::array(out, count);
            (0..count).for_each(|_| anything(out, source, depth - 1));
        }
        14 | 15 if depth > 0 => {
            let count = source.below(4);
            write::map(out, count);
            for _ in 0..count {
                match source.below(4) {
                    0 => number(out, source),
                    1 => write::str(out, "name"),
                    _ => write::str(out, source.pick(TEXTS)),
                }
                anything(out, source, depth - 1);
            }
        }
        // Deeper than a decoder should go.
        16 => {
            out.extend_from_slice(&vec![0x91; 40 * source.below(32)]);
            write::nil(out);
        }
        17 => out.extend_from_slice(source.take(3)),
        _ => write::nil(out),
    }
}
