//! Frames to requests: a table from command name to a function, one file per family.
//!
//! Everything about the form of a request is checked here, with the texts that bunqueue clients know; what depends on
//! the state of queues and jobs is left to the engine. Unknown fields are ignored, unknown commands are answered as
//! such, and no bytes can make decoding panic or take memory out of proportion.

mod add;
mod change;
mod dead;
mod fields;
mod flow;
mod group;
mod limit;
mod manage;
mod monitor;
mod names;
mod query;
mod repeat;
mod schedule;
mod webhook;
mod work;

use crate::msgpack::{Raw, Value};
use crate::request::{DecodeError, Decoded, ReqId, Request};
use fields::Fields;
use onceover_engine::command::{Command, NewJob};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

type Result<T> = std::result::Result<T, DecodeError>;

/// What decoding noticed besides the command.
struct Hints {
    /// The frame can only come from a protocol-2 client.
    protocol2: bool,
    /// A batch of more jobs is not decoded now.
    batch_max: usize,
    /// It had more.
    put_off: bool,
    /// What the last plain add asked for.
    spec: Option<Arc<NewJob>>,
}

type Decode = fn(&Fields<'_>, &mut Hints) -> Result<Request>;

/// Every command, in the order of their names.
const COMMANDS: &[(&str, Decode)] = &[
    ("ACK", work::ack),
    ("ACKB", work::ack_bulk),
    ("AddLog", change::add_log),
    ("AddWebhook", webhook::add),
    ("Auth", manage::auth),
    ("Cancel", change::cancel),
    ("ChangeDelay", change::change_delay),
    ("ChangePriority", change::change_priority),
    ("Clean", manage::clean),
    ("ClearConcurrency", limit::clear_concurrency),
    ("ClearLogs", change::clear_logs),
    ("CompactMemory", monitor::compact_memory),
    ("Count", query::count),
    ("Cron", schedule::save),
    ("CronDelete", schedule::delete),
    ("CronGet", schedule::get),
    ("CronList", schedule::list),
    ("DashboardOverview", monitor::overview),
    ("DashboardQueue", monitor::queue),
    ("DashboardQueues", monitor::queues),
    ("Discard", change::discard),
    ("Dlq", dead::list),
    ("Drain", manage::drain),
    ("ExtendLock", work::extend_lock),
    ("ExtendLocks", work::extend_locks),
    ("FAIL", work::fail),
    ("GetChildrenValues", flow::children_values),
    ("GetCountsPerPriority", query::counts_per_priority),
    ("GetDeduplicationJobId", query::deduplication_job_id),
    ("GetDlqConfig", dead::config),
    ("GetDlqStats", dead::stats),
    ("GetFailedChildrenValues", flow::failed_children_values),
    ("GetGroupActiveCount", group::active_count),
    ("GetGroupConcurrency", group::concurrency),
    ("GetGroupJobsCount", group::jobs_count),
    ("GetGroupRateLimit", group::rate_limit),
    ("GetGroupRateLimitTtl", group::rate_ttl),
    ("GetGroupsJobsCount", group::jobs_of_all),
    ("GetIgnoredChildrenFailures", flow::ignored_children_failures),
    ("GetJob", query::job),
    ("GetJobByCustomId", query::job_by_custom_id),
    ("GetJobCounts", query::job_counts),
    ("GetJobs", query::jobs),
    ("GetLogs", query::logs),
    ("GetProgress", query::progress),
    ("GetQueueLimits", limit::get),
    ("GetResult", query::result),
    ("GetStallConfig", manage::stall_config),
    ("GetState", query::state),
    ("Heartbeat", work::worker_heartbeat),
    ("Hello", manage::hello),
    ("IsGroupPaused", group::is_paused),
    ("IsPaused", manage::is_paused),
    ("JobHeartbeat", work::job_heartbeat),
    ("JobHeartbeatB", work::job_heartbeat_bulk),
    ("ListDeduplicationKeys", query::deduplication_keys),
    ("ListQueues", manage::list_queues),
    ("ListWebhooks", webhook::list),
    ("ListWorkers", work::list_workers),
    ("Metrics", query::metrics),
    ("MoveToDelayed", change::move_to_delayed),
    ("MoveToWait", change::move_to_wait),
    ("MoveToWaitingChildren", change::move_to_waiting_children),
    ("Obliterate", manage::obliterate),
    ("PULL", work::pull),
    ("PULLB", work::pull_bulk),
    ("PUSH", add::push),
    ("PUSHB", add::push_bulk),
    ("PUSHF", flow::push),
    ("Pause", manage::pause),
    ("PauseGroup", group::pause),
    ("Ping", manage::ping),
    ("Progress", change::progress),
    ("Prometheus", monitor::prometheus),
    ("Promote", change::promote),
    ("PromoteJobs", manage::promote_jobs),
    ("PurgeDlq", dead::purge),
    ("RateLimit", limit::set_rate),
    ("RateLimitClear", limit::clear_rate),
    ("RateLimitGroup", group::hold),
    ("RegisterWorker", work::register_worker),
    ("RemoveChildDependency", flow::remove_child_dependency),
    ("RemoveDeduplicationKey", change::remove_deduplication_key),
    ("RemoveDlqJob", dead::remove),
    ("RemoveGroupConcurrency", group::remove_concurrency),
    ("RemoveGroupRateLimit", group::remove_rate),
    ("RemoveJobDeduplicationKey", change::remove_job_deduplication_key),
    ("RemoveUnprocessedChildren", flow::remove_unprocessed_children),
    ("RemoveWebhook", webhook::remove),
    ("Resume", manage::resume),
    ("ResumeGroup", group::resume),
    ("RetryCompleted", manage::retry_completed),
    ("RetryDlq", dead::retry),
    ("SetConcurrency", limit::set_concurrency),
    ("SetDlqConfig", dead::set_config),
    ("SetGroupConcurrency", group::set_concurrency),
    ("SetGroupRateLimit", group::set_rate),
    ("SetStallConfig", manage::set_stall_config),
    ("SetWebhookEnabled", webhook::set_enabled),
    ("Stats", monitor::stats),
    ("StorageStatus", monitor::storage_status),
    ("SubscribeEvents", manage::subscribe),
    ("TrimEvents", monitor::trim_events),
    ("UnregisterWorker", work::unregister_worker),
    ("UnsubscribeEvents", manage::unsubscribe),
    ("Update", change::update),
    ("UpdateParent", flow::update_parent),
    ("WaitJob", query::wait),
];

/// The names of all commands, for tools that try each of them.
pub fn command_names() -> impl ExactSizeIterator<Item = &'static str> {
    COMMANDS.iter().map(|(name, _)| *name)
}

/// Decodes one payload of a request frame.
#[must_use]
pub fn decode(frame: &[u8]) -> Decoded {
    Decoder::default().decode(frame, usize::MAX).expect("no batch has more jobs than there are numbers")
}

/// Decodes the frames of one connection. What it remembers decides nothing: an add that asks for the same as the one before
/// shares that request, for a client's jobs are mostly of one kind.
#[derive(Debug, Default)]
pub struct Decoder {
    spec: Option<Arc<NewJob>>,
}

impl Decoder {
    /// Decodes one payload, unless it is a batch of more than `batch_max` jobs: a job takes a client one byte and decoding some
    /// hundred nanoseconds and bytes, so whoever has no time for that decodes such a frame elsewhere.
    #[must_use]
    pub fn decode(&mut self, frame: &[u8], batch_max: usize) -> Option<Decoded> {
        match Fields::of_frame(frame) {
            Ok(Some(fields)) => self.fields(&fields, batch_max),
            Ok(None) => Some(refused(no_map(frame))),
            Err(error) => Some(refused(error)),
        }
    }

    fn fields(&mut self, fields: &Fields<'_>, batch_max: usize) -> Option<Decoded> {
        let req_id = fields.raw("reqId");
        let as_sent = req_id.map(|raw| ReqId::new(raw.bytes()));
        let Some((name, decode)) = command(fields) else {
            let Some(cmd) = command_name(fields) else {
                let is_text = matches!(req_id.map(Raw::value), Some(Value::Str(_)));
                return Some(Decoded { req_id: as_sent.filter(|_| is_text), ..refused(DecodeError::bad_command()) });
            };
            let error = DecodeError::unknown(&cmd);
            let cmd = Some(Cow::Owned(cmd.into_owned()));
            return Some(Decoded { req_id: as_sent, cmd, result: Err(error), protocol2: comes_from_protocol2(fields) });
        };
        let spec = self.spec.take();
        let mut hints = Hints { protocol2: comes_from_protocol2(fields), batch_max, put_off: false, spec };
        let result = decode(fields, &mut hints);
        self.spec = hints.spec;
        let protocol2 = hints.protocol2;
        (!hints.put_off).then_some(Decoded { req_id: as_sent, cmd: Some(Cow::Borrowed(name)), result, protocol2 })
    }
}

/// What JavaScript takes for false is told to be a wrong format, every other value a wrong command.
fn no_map(frame: &[u8]) -> DecodeError {
    match Raw::parse(frame).map(Raw::value) {
        Err(_) | Ok(Value::Absent | Value::Nil | Value::Bool(false) | Value::Int(0) | Value::Str([])) => {
            DecodeError::bad_frame()
        }
        Ok(Value::Float(number)) if number == 0.0 || number.is_nan() => DecodeError::bad_frame(),
        Ok(Value::Bool(true) | Value::Int(_) | Value::Float(_) | Value::Str(_)) => DecodeError::bad_command(),
        Ok(Value::Bin(_) | Value::Ext(..) | Value::Array(_) | Value::Map(_)) => DecodeError::bad_command(),
    }
}

fn refused(error: DecodeError) -> Decoded {
    Decoded { req_id: None, cmd: None, result: Err(error), protocol2: false }
}

/// The command, if it is one of ours.
fn command(fields: &Fields<'_>) -> Option<(&'static str, Decode)> {
    static PLACES: LazyLock<FxHashMap<&[u8], usize>> =
        LazyLock::new(|| COMMANDS.iter().enumerate().map(|(at, (name, _))| (name.as_bytes(), at)).collect());
    let Value::Str(name) = fields.raw("cmd")?.value() else { return None };
    PLACES.get(name).map(|at| COMMANDS[*at])
}

/// The command as text, none when it is missing or what JavaScript takes for false.
fn command_name<'a>(fields: &Fields<'a>) -> Option<Cow<'a, str>> {
    match fields.given("cmd")? {
        Value::Str([]) => None,
        Value::Str(text) => Some(String::from_utf8_lossy(text)),
        value if fields.truthy("cmd") => fields::ident(value).ok().flatten(),
        _ => None,
    }
}

/// Whether an id says that a Python, Rust or PHP client made it; these speak protocol 2.
fn comes_from_protocol2(fields: &Fields<'_>) -> bool {
    ["reqId", "owner", "workerId"].iter().any(|field| match fields.given(field) {
        Some(Value::Str(id)) => id.starts_with(b"py-") || id.starts_with(b"rust-") || id.starts_with(b"php-"),
        _ => false,
    })
}

/// Shorthand for the functions of the families.
fn engine(command: Command) -> Result<Request> {
    Ok(Request::Engine(command))
}

#[cfg(test)]
mod table_tests {
    use super::COMMANDS;

    #[test]
    fn the_table_is_in_order() {
        assert!(COMMANDS.is_sorted_by(|(a, _), (b, _)| a < b), "each name stands there once");
    }
}
