//! News as a dashboard reads them (protocol-admin.md 13.4 and 13.6): a name, and members without any data of jobs.

use crate::news::Told;
use onceover_engine::event::{Event, EventKind};
use onceover_engine::notice::{Field, Notice};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Such as `job:completed`.
    pub name: &'static str,
    /// The queue of a job's event; none for everything else.
    pub job_queue: Option<Arc<str>>,
    /// What is told.
    pub members: Value,
}

/// What is told of it.
#[must_use]
pub fn item(told: &Told) -> Item {
    match told {
        Told::Event(event) => {
            let members = event_members(event);
            Item { name: event_name(&event.kind), job_queue: Some(Arc::clone(&event.queue)), members }
        }
        Told::Notice(notice) => Item { name: notice.name, job_queue: None, members: notice_members(notice) },
    }
}

fn event_name(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::Pushed => "job:pushed",
        EventKind::Duplicated { .. } => "job:duplicated",
        EventKind::Pulled => "job:active",
        EventKind::Progress { .. } => "job:progress",
        EventKind::Completed { .. } => "job:completed",
        EventKind::Failed { .. } => "job:failed",
        EventKind::Retried => "job:retried",
        EventKind::Stalled { .. } => "job:stalled",
        EventKind::Delayed { .. } => "job:delayed",
        EventKind::Waiting { .. } => "job:waiting",
        EventKind::WaitingChildren => "job:waiting-children",
        EventKind::Removed { .. } => "job:removed",
        EventKind::Paused => "job:paused",
        EventKind::Resumed => "job:resumed",
    }
}

fn event_members(event: &Event) -> Value {
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
    put("queue", json!(&*event.queue));
    put("jobId", json!(event.job.as_ref().map(ToString::to_string).unwrap_or_default()));
    put("timestamp", json!(event.at.0));
    match &event.kind {
        EventKind::Progress { progress, .. } => put("progress", json!(progress)),
        EventKind::Failed { error: Some(error), .. } => put("error", json!(error)),
        EventKind::Stalled { detail: Some((stalls, is_dead)) } => {
            put("stallCount", json!(stalls));
            put("action", json!(if *is_dead { "move_to_dlq" } else { "retry" }));
        }
        EventKind::Retried => put("prev", json!("failed")),
        EventKind::Waiting { prev } | EventKind::Removed { prev } => put("prev", json!(prev.as_str())),
        EventKind::WaitingChildren => put("prev", json!("active")),
        EventKind::Delayed { delay } => put("delay", json!(delay.0)),
        EventKind::Duplicated { strategy, .. } => put("strategy", json!(strategy)),
        _ => {}
    }
    Value::Object(members)
}

fn notice_members(notice: &Notice) -> Value {
    Value::Object(notice.fields.iter().map(|(name, field)| ((*name).to_owned(), value(field))).collect())
}

fn value(field: &Field) -> Value {
    match field {
        Field::Text(text) => json!(&**text),
        Field::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => json!(*number as i64),
        Field::Number(number) => json!(number),
        Field::Flag(flag) => json!(flag),
        Field::Texts(texts) => texts.iter().map(|text| json!(&**text)).collect(),
        Field::Settings(settings) => {
            let member =
                |(name, given): &(&str, Option<Field>)| ((*name).to_owned(), given.as_ref().map_or(Value::Null, value));
            Value::Object(settings.iter().map(member).collect())
        }
    }
}

#[cfg(test)]
#[path = "told_json_tests.rs"]
mod told_json_tests;
