//! One job in full: its payload and result as text, its times, errors, timeline, logs, and what can be done with it now.

use crate::adds::{job_data, shown};
use crate::asked::options;
use crate::attention::{Looker, ended_at};
use crate::family::family;
use crate::job_can;
use crate::jobs::{error, row};
use crate::limits::{JOB_ADDS_MAX, LOG_SCAN_MAX};
use crate::record::record;
use crate::view::{JobDetail, JobError, LogLine, Text, TimeEntry, TimelineEntry};
use crate::words;
use onceover_broker::CoreView;
use onceover_broker::activity::AddEntry;
use onceover_engine::command::{Payload, StateName};
use onceover_engine::job::{Blob, Job};
use onceover_engine::names::JobId;

/// Runs on the core thread. None when there is no such job.
pub fn find(core: &CoreView<'_>, id: &str) -> Option<JobDetail> {
    let job = core.engine.job(&JobId::parse(id))?;
    let data = job_data(core, job.key);
    let result = result(core, job);
    Some(JobDetail {
        revision: core.revision,
        now: core.now.0,
        row: row(core, &Looker::new(core), job),
        priority: job.priority,
        options: options(&job.spec, job.dedup_key.as_deref()),
        times: times(core, job),
        family: family(core, job),
        generation: job.key.0,
        data_mark: data_mark(job),
        add_seq: made_by(core, job).map(|entry| entry.seq),
        progress: progress(job),
        raw: record(core, job, data.as_deref(), result.as_deref()),
        data: data.as_deref().map_or_else(nothing, |data| shown(data, data.len())),
        result: result.as_deref().map(|result| shown(result, result.len())),
        errors: errors(job),
        timeline: timeline(core, job),
        logs: job.rare().map_or_else(Vec::new, |rare| rare.logs.iter().map(log_line).collect()),
        can: job_can::all(core, job),
    })
}

fn nothing() -> Text {
    Text { text: String::new(), bytes: 0, complete: true }
}

fn result(core: &CoreView<'_>, job: &Job) -> Option<Payload> {
    match &job.result {
        Blob::Absent => None,
        Blob::Here(result) => Some(result.clone()),
        Blob::OnDisk => core.result(job.key).ok().flatten(),
    }
}

fn times(core: &CoreView<'_>, job: &Job) -> Vec<TimeEntry> {
    let delayed = job.state_name(core.now) == StateName::Delayed;
    let beats = job.delivery.is_some() && job.started_at != Some(job.last_heartbeat);
    let times = [
        ("created", Some(job.created_at)),
        ("runs", Some(job.run_at).filter(|_| delayed)),
        ("started", job.started_at),
        ("last sign of life", Some(job.last_heartbeat).filter(|_| beats)),
        ("ended", (!job.is_live()).then(|| ended_at(job))),
    ];
    let known = times.into_iter().filter_map(|(label, at)| Some((label, at?)));
    known.map(|(label, at)| TimeEntry { label: label.to_owned(), at: at.0 }).collect()
}

fn progress(job: &Job) -> Option<String> {
    let message = job.rare().and_then(|rare| rare.progress_message.as_deref());
    match message {
        Some(message) => Some(format!("{} %: {message}", job.progress)),
        None => (job.progress > 0.0).then(|| format!("{} %", job.progress)),
    }
}

/// Newest attempt first. A stack is kept of the last failure only.
fn errors(job: &Job) -> Vec<JobError> {
    let Some(rare) = job.rare() else { return Vec::new() };
    let stack = rare.stacktrace.join("\n");
    let attempts = rare.failed_attempts.iter().rev().enumerate().map(|(at, failed)| JobError {
        attempt: failed.attempt,
        at: Some(failed.failed_at.0),
        message: failed.error.clone().unwrap_or_else(|| failed.reason.as_str().to_owned()),
        stack: if at == 0 { stack.clone() } else { String::new() },
    });
    let mut errors: Vec<JobError> = attempts.collect();
    if errors.is_empty()
        && let Some(message) = error(job)
    {
        let at = job.failure().map(|failure| failure.entered_at.0);
        errors.push(JobError { attempt: job.attempts, at, message: message.to_owned(), stack });
    }
    errors
}

/// The steps of its life, and the adds that were decided with it, by time.
fn timeline(core: &CoreView<'_>, job: &Job) -> Vec<TimelineEntry> {
    let mut entries: Vec<TimelineEntry> = job
        .timeline()
        .into_iter()
        .map(|step| TimelineEntry {
            at: step.at.0,
            label: step.state.as_str().to_owned(),
            text: match (step.attempt, step.error) {
                (Some(attempt), Some(error)) => format!("Attempt {attempt}: {error}"),
                (Some(attempt), None) => format!("Attempt {attempt}."),
                (None, error) => error.unwrap_or_default(),
            },
            add_seq: None,
        })
        .collect();
    let of_job = core.activity.iter().take(LOG_SCAN_MAX).filter_map(|entry| {
        let record = entry.decided()?;
        let met = record.decision.owner.as_ref().is_some_and(|owner| owner.key == job.key);
        (record.decision.job_key == Some(job.key) || met).then_some((entry.seq, record))
    });
    entries.extend(of_job.take(JOB_ADDS_MAX).map(|(seq, record)| TimelineEntry {
        at: record.at.0,
        label: words::chip_word(words::chip(words::decision(record.decision.code))).to_owned(),
        text: crate::explain::sentence(record),
        add_seq: Some(seq),
    }));
    entries.sort_by_key(|entry| entry.at);
    entries
}

fn log_line(line: &onceover_engine::job::LogLine) -> LogLine {
    LogLine { at: Some(line.at.0), level: line.level.clone(), text: line.message.clone() }
}

/// Stands for the payload a job has now, for whoever edits it.
pub fn data_mark(job: &Job) -> String {
    format!("{:016x}", job.fingerprint)
}

/// The add that made a job, while the log has it.
pub fn made_by<'a>(core: &'a CoreView<'_>, job: &Job) -> Option<&'a AddEntry> {
    // Older than the job itself are only adds that it has nothing to do with.
    let young = |entry: &&AddEntry| entry.at() >= job.created_at;
    let mut young = core.activity.iter().take(LOG_SCAN_MAX).take_while(young);
    young.find(|entry| {
        let decided = entry.decided().map(|record| &record.decision);
        decided.is_some_and(|made| made.job_key == Some(job.key) && !words::is_collapsed(made.code))
    })
}
