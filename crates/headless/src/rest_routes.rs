//! The table of routes that are one command each (protocol-admin.md 13.2), and how a request becomes its fields.
//!
//! Names in a path are fields of the command. Unlike bunqueue's, all of them are percent-decoded, and a body is not cut
//! down to some of a command's fields: `dedup` works for every add.

use axum::http::Uri;
use onceover_inspect::call::{Body, Call};
use serde_json::{Value, json};

/// One of them.
pub struct Route {
    /// GET, POST, PUT or DELETE.
    pub method: &'static str,
    /// With names in braces, which are fields of the command.
    pub path: &'static str,
    /// The command.
    pub cmd: &'static str,
    /// The status when the command is refused.
    pub refused: u16,
    /// How the rest of its fields comes.
    pub with: With,
}

/// How the fields of a command come that are not in the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum With {
    /// There are none.
    Nothing,
    /// The body's members are fields.
    Body,
    /// An add: the name has a default, attempts an older name.
    Add,
    /// A schedule, likewise.
    Schedule,
    /// A clean: an age that is no number is 0.
    Clean,
    /// `concurrency` or `limit`.
    Concurrency,
    /// `{config: …}`, or its members bare.
    Config,
    /// States, limit and offset in the query.
    ListQuery,
    /// Numbers in the query.
    NumbersQuery,
}

use With::{Add, Clean, Concurrency, Config, ListQuery, Nothing, NumbersQuery, Schedule};

const fn route(method: &'static str, path: &'static str, cmd: &'static str, refused: u16, with: With) -> Route {
    Route { method, path, cmd, refused, with }
}

/// All of them.
#[rustfmt::skip]
pub const ROUTES: &[Route] = &[
    route("GET", "/ping", "Ping", 200, Nothing),
    route("GET", "/queues", "ListQueues", 200, Nothing),
    route("POST", "/queues/{queue}/jobs", "PUSH", 400, Add),
    route("POST", "/queues/{queue}/jobs/bulk", "PUSHB", 400, With::Body),
    route("GET", "/queues/{queue}/jobs/list", "GetJobs", 200, ListQuery),
    route("GET", "/queues/{queue}/counts", "GetJobCounts", 200, Nothing),
    route("GET", "/queues/{queue}/count", "Count", 200, Nothing),
    route("GET", "/queues/{queue}/priority-counts", "GetCountsPerPriority", 200, Nothing),
    route("GET", "/queues/{queue}/paused", "IsPaused", 200, Nothing),
    route("POST", "/queues/{queue}/pause", "Pause", 200, Nothing),
    route("POST", "/queues/{queue}/resume", "Resume", 200, Nothing),
    route("POST", "/queues/{queue}/drain", "Drain", 200, Nothing),
    route("POST", "/queues/{queue}/obliterate", "Obliterate", 200, Nothing),
    route("POST", "/queues/{queue}/clean", "Clean", 200, Clean),
    route("POST", "/queues/{queue}/promote-jobs", "PromoteJobs", 200, With::Body),
    route("POST", "/queues/{queue}/retry-completed", "RetryCompleted", 200, With::Body),
    route("POST", "/queues/{queue}/dlq/retry", "RetryDlq", 200, With::Body),
    route("POST", "/queues/{queue}/dlq/purge", "PurgeDlq", 200, Nothing),
    route("PUT", "/queues/{queue}/rate-limit", "RateLimit", 200, With::Body),
    route("DELETE", "/queues/{queue}/rate-limit", "RateLimitClear", 200, Nothing),
    route("PUT", "/queues/{queue}/concurrency", "SetConcurrency", 200, Concurrency),
    route("DELETE", "/queues/{queue}/concurrency", "ClearConcurrency", 200, Nothing),
    route("GET", "/queues/{queue}/stall-config", "GetStallConfig", 200, Nothing),
    route("PUT", "/queues/{queue}/stall-config", "SetStallConfig", 200, Config),
    route("GET", "/queues/{queue}/dlq-config", "GetDlqConfig", 200, Nothing),
    route("PUT", "/queues/{queue}/dlq-config", "SetDlqConfig", 200, Config),
    route("GET", "/jobs/{id}", "GetJob", 404, Nothing),
    route("DELETE", "/jobs/{id}", "Cancel", 200, Nothing),
    route("GET", "/jobs/custom/{customId}", "GetJobByCustomId", 404, Nothing),
    route("GET", "/jobs/{id}/state", "GetState", 404, Nothing),
    route("GET", "/jobs/{id}/result", "GetResult", 404, Nothing),
    route("GET", "/jobs/{id}/progress", "GetProgress", 404, Nothing),
    route("GET", "/jobs/{id}/children", "GetChildrenValues", 404, Nothing),
    route("POST", "/jobs/{id}/ack", "ACK", 400, With::Body),
    route("POST", "/jobs/{id}/fail", "FAIL", 400, With::Body),
    route("POST", "/jobs/{id}/promote", "Promote", 400, Nothing),
    route("POST", "/jobs/{id}/discard", "Discard", 400, With::Body),
    route("PUT", "/jobs/{id}/data", "Update", 400, With::Body),
    route("PUT", "/jobs/{id}/priority", "ChangePriority", 400, With::Body),
    route("PUT", "/jobs/{id}/delay", "ChangeDelay", 400, With::Body),
    route("POST", "/jobs/{id}/progress", "Progress", 400, With::Body),
    route("POST", "/jobs/{id}/move-to-delayed", "MoveToDelayed", 400, With::Body),
    route("POST", "/jobs/{id}/move-to-wait", "MoveToWait", 400, With::Body),
    route("GET", "/jobs/{id}/logs", "GetLogs", 200, NumbersQuery),
    route("POST", "/jobs/{id}/logs", "AddLog", 400, With::Body),
    route("DELETE", "/jobs/{id}/logs", "ClearLogs", 200, With::Body),
    route("POST", "/jobs/{id}/heartbeat", "JobHeartbeat", 400, With::Body),
    route("POST", "/jobs/{id}/wait", "WaitJob", 200, With::Body),
    route("POST", "/jobs/{id}/extend-lock", "ExtendLock", 400, With::Body),
    route("POST", "/jobs/ack-batch", "ACKB", 400, With::Body),
    route("POST", "/jobs/heartbeat-batch", "JobHeartbeatB", 400, With::Body),
    route("POST", "/jobs/extend-locks", "ExtendLocks", 400, With::Body),
    route("GET", "/crons", "CronList", 200, Nothing),
    route("POST", "/crons", "Cron", 400, Schedule),
    route("GET", "/crons/{name}", "CronGet", 404, Nothing),
    route("DELETE", "/crons/{name}", "CronDelete", 404, Nothing),
    route("GET", "/webhooks", "ListWebhooks", 200, Nothing),
    route("POST", "/webhooks", "AddWebhook", 400, With::Body),
    route("DELETE", "/webhooks/{webhookId}", "RemoveWebhook", 404, Nothing),
    route("PUT", "/webhooks/{id}/enabled", "SetWebhookEnabled", 400, With::Body),
    route("GET", "/workers", "ListWorkers", 200, Nothing),
    route("POST", "/workers", "RegisterWorker", 400, With::Body),
    route("DELETE", "/workers/{workerId}", "UnregisterWorker", 404, Nothing),
    route("POST", "/workers/{id}/heartbeat", "Heartbeat", 200, With::Body),
];

/// The command that a request asks for. The path is set last, so that a body cannot name another job.
pub fn call(route: &Route, params: &[(&str, &str)], uri: &Uri, body: &Body) -> Call {
    let call = Call::new(route.cmd);
    let call = match route.with {
        Nothing => call,
        With::Body => call.take_all(body),
        Add => {
            let call = call.text("name", "default").take_all(body);
            if body.has("maxAttempts") { call } else { call.take_as(body, "attempts", "maxAttempts") }
        }
        Schedule => call.text("jobName", "default").take_all(body),
        Clean => {
            let call = call.take(body, &["state", "limit"]);
            call.json("grace", &json!(body.number("grace").unwrap_or(0.0)))
        }
        Concurrency => call.take(body, &["limit"]).take_as(body, "concurrency", "limit"),
        Config if body.has("config") => call.take(body, &["config"]),
        Config => call.nest(body, "config"),
        ListQuery => list_query(call, uri),
        NumbersQuery => numbers(call, uri, &["start", "end"]),
    };
    params.iter().fold(call, |call, (name, value)| call.text(name, value))
}

/// `state`, `status` or `states`, each as often as one likes, with commas too.
fn list_query(call: Call, uri: &Uri) -> Call {
    let states: Vec<Value> = query(uri)
        .filter(|(name, _)| matches!(name.as_str(), "state" | "status" | "states"))
        .flat_map(|(_, value)| value.split(',').map(|state| json!(state.trim())).collect::<Vec<_>>())
        .filter(|state| *state != "")
        .collect();
    let call = numbers(call, uri, &["limit", "offset"]);
    if states.is_empty() { call } else { call.json("state", &Value::Array(states)) }
}

/// What is no number is passed on as it is, so that the command says what is wrong with it.
fn numbers(call: Call, uri: &Uri, names: &[&str]) -> Call {
    query(uri).filter(|(name, _)| names.contains(&name.as_str())).fold(call, |call, (name, value)| {
        match value.parse::<i64>() {
            Ok(number) => call.json(&name, &json!(number)),
            Err(_) => call.text(&name, &value),
        }
    })
}

/// The query's pairs, decoded.
pub fn query(uri: &Uri) -> impl Iterator<Item = (String, String)> {
    let pairs = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    pairs.map(|(name, value)| (name.into_owned(), value.into_owned()))
}

/// A number of the query within bounds; what is none is its default.
pub fn number(uri: &Uri, name: &str, default: usize, bounds: std::ops::RangeInclusive<usize>) -> usize {
    let given = query(uri).find(|(given, _)| given == name).and_then(|(_, value)| value.parse().ok());
    given.unwrap_or(default).clamp(*bounds.start(), *bounds.end())
}
