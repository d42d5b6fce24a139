//! Which commands there are: the 107 of bunqueue 2.9.5 and ours, which of them are answered, and `docs/commands.md`, which is
//! written from the decoder's table and from what `bad_fields` has tried on each field.
//!
//! `cargo test -p onceover-wire --test protocol commands` renews the file when it is out of date, and fails once.

use crate::bad_fields::{Must, table};
use crate::bench::pack;
use onceover_wire::decode;
use onceover_wire::decode::command_names;
use onceover_wire::request::{DecodeErrorKind, Request};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

/// Every command of bunqueue 2.9.5 (protocol-admin.md 1).
const BUNQUEUE: &str = "
    PUSH PUSHB PULL PULLB ACK ACKB FAIL GetJob GetState GetResult GetJobs GetJobCounts GetCountsPerPriority GetJobByCustomId
    Count GetProgress Cancel Progress Update ChangePriority Promote MoveToDelayed Discard WaitJob ChangeDelay MoveToWait
    ExtendLock ExtendLocks JobHeartbeat JobHeartbeatB AddLog GetLogs ClearLogs GetDeduplicationJobId RemoveDeduplicationKey
    RemoveJobDeduplicationKey Auth Hello Ping SubscribeEvents UnsubscribeEvents

    Pause Resume IsPaused Drain Obliterate Clean ListQueues PromoteJobs RetryCompleted RateLimit RateLimitClear
    SetConcurrency ClearConcurrency GetQueueLimits SetStallConfig GetStallConfig SetDlqConfig GetDlqConfig Dlq RetryDlq
    PurgeDlq GetDlqStats RemoveDlqJob Cron CronDelete CronList CronGet PUSHF UpdateParent GetChildrenValues
    GetFailedChildrenValues GetIgnoredChildrenFailures RemoveChildDependency RemoveUnprocessedChildren MoveToWaitingChildren
    GetGroupJobsCount GetGroupsJobsCount GetGroupActiveCount SetGroupRateLimit GetGroupRateLimit RemoveGroupRateLimit
    GetGroupRateLimitTtl SetGroupConcurrency GetGroupConcurrency RemoveGroupConcurrency PauseGroup ResumeGroup IsGroupPaused
    RateLimitGroup RegisterWorker UnregisterWorker Heartbeat ListWorkers AddWebhook RemoveWebhook ListWebhooks
    SetWebhookEnabled Stats Metrics TrimEvents Prometheus StorageStatus CompactMemory DashboardOverview DashboardQueue
    DashboardQueues
";

/// Those that are answered with `Unknown command`: a line goes when its commands come.
const MISSING: &[&str] = &[];

/// Fields that take any value and stand in no row of `bad_fields`, by command.
const FREE: &[(&str, &str)] = &[
    ("PUSH", "data name lifo removeOnComplete removeOnFail durable failParentOnFailure removeDependencyOnFailure"),
    ("PUSH", "continueParentOnFailure ignoreDependencyOnFailure groupMaxSize"),
    ("PULL", "detach"),
    ("PULLB", "detach"),
    ("ACK", "result removeOnComplete"),
    ("FAIL", "error unrecoverable stack removeOnFail"),
    ("Auth", "token"),
    ("ChangePriority", "lifo"),
    ("GetJobs", "state asc"),
    ("Update", "data"),
    ("RegisterWorker", "startedAt"),
    ("Metrics", "queue type start end"),
];

fn bunqueue() -> BTreeSet<&'static str> {
    BUNQUEUE.split_whitespace().collect()
}

pub fn missing() -> BTreeSet<&'static str> {
    MISSING.iter().flat_map(|names| names.split_whitespace()).collect()
}

#[test]
fn commands_of_bunqueue_are_answered_but_for_those_that_are_listed_as_missing() {
    let all = bunqueue();
    assert_eq!(all.len(), 107);
    let known: BTreeSet<&str> = command_names().collect();
    let unanswered: BTreeSet<&str> = all.difference(&known).copied().collect();
    assert_eq!(unanswered, missing(), "take what is answered now out of MISSING");
    for name in &all {
        let is_unknown = match decode(&pack(&json!({"cmd": name}))).result {
            Err(error) => error.kind == DecodeErrorKind::Unknown,
            Ok(_) => false,
        };
        assert_eq!(is_unknown, unanswered.contains(name), "{name}");
    }
}

#[test]
fn commands_are_documented_as_they_are_decoded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    let text = document();
    if std::fs::read_to_string(&path).ok().as_deref() != Some(&text) {
        std::fs::write(&path, text).expect("the documents can be written");
        panic!("docs/commands.md was out of date; it has been renewed, commit that");
    }
}

fn document() -> String {
    let table = table();
    let known: BTreeSet<&str> = command_names().collect();
    let ours: Vec<&str> = known.difference(&bunqueue()).copied().collect();
    let mut text = String::from(
        "# Commands\n\nEvery command that Onceover answers, with its fields. Clients send them as MessagePack maps beside `cmd` and \
         `reqId`.\nA field that is absent or null has its default; fields that are not named here are ignored. Durations and \
         moments are\nmilliseconds. A wrong value is answered with an error that names the field.\n\n\
         This file is written by `cargo test -p onceover-wire --test protocol commands` from the decoder's own table.\n\n\
         | command | fields | answered by |\n|---|---|---|\n",
    );
    for name in &known {
        let (request, fields) =
            table.iter().find(|(request, _)| request["cmd"] == *name).expect("every command is tried");
        let line = writeln!(text, "| `{name}` | {} | {} |", fields_of(name, fields), answered_by(request));
        line.expect("text grows");
    }
    let list = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    write!(text, "\nNot in bunqueue 2.9.5: {}.\n", list(&ours)).expect("text grows");
    text
}

/// Who answers a request that is right.
fn answered_by(request: &Json) -> &'static str {
    match decode(&pack(request)).result.expect("the table's requests are right") {
        Request::Engine(_) => "queues",
        Request::Monitor(_) => "broker",
        _ => "connection",
    }
}

/// A field: its name, what it takes, and whether it must be there. What is known of one name is put together.
fn fields_of(cmd: &str, fields: &[Must]) -> String {
    let mut rows: Vec<(String, String, bool)> = Vec::new();
    for must in fields {
        add(&mut rows, "", *must);
    }
    let free = FREE.iter().filter(|(of, _)| *of == cmd).flat_map(|(_, names)| names.split_whitespace());
    for name in free {
        if !rows.iter().any(|(known, ..)| known == name) {
            rows.push((name.to_owned(), "any value".to_owned(), false));
        }
    }
    rows.sort_by_key(|(.., required)| !required);
    let shown = rows.iter().map(|(name, what, required)| {
        let what = if what.is_empty() { "value" } else { what };
        let required = if *required { ", required" } else { "" };
        format!("`{name}` {what}{required}")
    });
    shown.collect::<Vec<_>>().join(" · ")
}

fn add(rows: &mut Vec<(String, String, bool)>, path: &str, must: Must) {
    let range = |kind: &str, min: i64, max: i64| match (min, max) {
        (i64::MIN, _) => kind.to_owned(),
        (min, 9_007_199_254_740_991) => format!("{kind} from {}", grouped(min)),
        (min, max) => format!("{kind} {} to {}", grouped(min), grouped(max)),
    };
    let (name, what, required) = match must {
        Must::Queue => ("queue", "name of a queue".to_owned(), true),
        Must::Id(name) => (name, "id".to_owned(), true),
        Must::MaybeId(name) => (name, "id".to_owned(), false),
        Must::Number(name, min, max) => (name, range("number", min, max), false),
        Must::Integer(name, min, max) => (name, range("integer", min, max), false),
        Must::Positive(name) => (name, "integer from 1".to_owned(), true),
        Must::Time(name) => (name, "number above 0".to_owned(), false),
        Must::Limit => ("limit", "number, also as text".to_owned(), true),
        Must::GroupId => ("groupId", "id of a group".to_owned(), true),
        Must::AnyNumber(name) => (name, "number".to_owned(), false),
        Must::There(name) => (name, String::new(), true),
        Must::Text(name) => (name, "text".to_owned(), false),
        Must::Texts(name) => (name, "list of texts".to_owned(), false),
        Must::List(name) => (name, "list".to_owned(), false),
        Must::Object(name) => (name, "object".to_owned(), false),
        Must::Flag(name) => (name, "true or false".to_owned(), false),
        Must::Any(name) => (name, "any value".to_owned(), false),
        Must::Members(name, members) => {
            return members.iter().for_each(|member| add(rows, &format!("{path}{name}."), *member));
        }
    };
    let name = format!("{path}{name}");
    match rows.iter_mut().find(|(known, ..)| *known == name) {
        None => rows.push((name, what, required)),
        Some((_, known, must_be_there)) => {
            *must_be_there |= required;
            if known.is_empty() {
                *known = what;
            }
        }
    }
}

/// With commas between thousands.
fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0 { format!("-{text}") } else { text }
}
