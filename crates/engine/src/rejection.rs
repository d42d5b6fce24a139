//! Every refusal a client must expect. `Display` is the exact text that clients test (protocol-core.md 3.4 and 5 to 9).

use crate::limits::{ANSWER_BYTES_MAX, ANSWER_RECORDS_MAX, GROUP_PRIORITY_MAX, PRIORITY_MAX};
use crate::names::JobId;
use crate::schedule;
use crate::webhook::Reach;
use std::fmt;

/// An expected refusal; never an error of ours.
#[derive(Clone, Debug, PartialEq)]
pub enum Rejection {
    /// `extend` met an owner that it cannot keep; the window was restarted all the same.
    DuplicateExtended,
    /// `replace` met an owner that live jobs depend on.
    CannotReplace(JobId),
    /// A dependency is not known.
    DependencyNotFound(JobId),
    /// A job of a batch depends on itself.
    DependsOnItself(JobId),
    /// Something about a tree of jobs.
    Flow(Box<crate::flow::Refusal>),
    /// A removed job with this id still has dependants that wait for more.
    UnresolvedConsumers(JobId),
    /// The group has as many queued jobs as the add allows.
    GroupFull(std::sync::Arc<str>, u64),
    /// A refusal inside a batch's check, with its position.
    InBatch(usize, Box<Rejection>),
    /// No such job.
    JobNotFound,
    /// Not active, finished, or not known.
    NotInProcessing(JobId),
    /// The job is locked and no token came.
    TokenRequired(JobId),
    /// The job is locked and another token came.
    TokenInvalid(JobId),
    /// JobHeartbeat found nothing to renew.
    HeartbeatRefused,
    /// ExtendLock found nothing to renew.
    LockNotFound,
    /// The job is not active but in the named state.
    NotActiveBut(&'static str),
    /// MoveToWaitingChildren of a job that is not active.
    NotActive,
    /// Update found nothing to change.
    CannotUpdate,
    /// ChangePriority found nothing to change.
    NotInQueue,
    /// ChangePriority to a priority that no add of such a job may have.
    PriorityOutOfBounds {
        /// What was asked for.
        priority: i64,
        /// Whether the job has a group.
        grouped: bool,
    },
    /// ChangeDelay found nothing to change.
    CannotChangeDelay,
    /// MoveToWait from a state that has no way there.
    CannotMoveToWait(&'static str),
    /// A failed job cannot come back: its key has another live owner, or its id another live job.
    NotInDlq,
    /// Promote of a job that is not delayed.
    NotDelayed,
    /// Cancel of a job that is active, finished or unknown.
    CannotCancel,
    /// No such worker.
    WorkerNotFound,
    /// RegisterWorker beyond the bound.
    TooManyWorkers(usize),
    /// A worker's names are longer than this together.
    WorkerTooLarge(usize),
    /// A list of jobs that is too long for one answer.
    AnswerTooLong,
    /// No such webhook.
    WebhookNotFound,
    /// The webhook would call where none may.
    WebhookReach(Reach),
    /// There are as many webhooks as there may be.
    TooManyWebhooks(usize),
    /// A connection parked more requests than it may.
    TooManyParked(usize),
    /// Workers of one queue ask for more kinds of limits per group than are kept apart.
    TooManyGroupLimits(usize),
    /// About a schedule.
    Schedule(schedule::Refused),
    /// The window acted on something that changed meanwhile; the text says what it is now.
    Changed(String),
    /// Something the broker does not do, with the field that asked for it.
    NotSupported(&'static str),
}

impl fmt::Display for Rejection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejection::DuplicateExtended => out.write_str("Duplicate unique_key (extended TTL)"),
            Rejection::CannotReplace(id) => {
                write!(out, "Cannot replace deduplicated job {id} because live jobs depend on it")
            }
            Rejection::DependencyNotFound(id) => write!(out, "Dependency job not found: {id}"),
            Rejection::DependsOnItself(id) => write!(out, "Job cannot depend on itself: {id}"),
            Rejection::Flow(why) => why.fmt(out),
            Rejection::UnresolvedConsumers(id) => {
                write!(out, "Custom ID {id} still has unresolved dependency consumers")
            }
            Rejection::GroupFull(group, most) => write!(out, "Group {group} has reached its maximum size of {most}"),
            Rejection::InBatch(at, why) => write!(out, "jobs[{at}]: {why}"),
            Rejection::JobNotFound => out.write_str("Job not found"),
            Rejection::NotInProcessing(id) => write!(out, "Job not found or not in processing state: {id}"),
            Rejection::TokenRequired(id) => write!(out, "Lock token required for job {id}"),
            Rejection::TokenInvalid(id) => write!(out, "Invalid or expired lock token for job {id}"),
            Rejection::HeartbeatRefused => out.write_str("Job not found or not active (or invalid token)"),
            Rejection::LockNotFound => out.write_str("Lock not found or invalid token"),
            Rejection::NotActiveBut(state) => write!(out, "Job is not active (current state: {state})"),
            Rejection::NotActive => out.write_str("Job is not active"),
            Rejection::CannotUpdate => out.write_str("Job not found or cannot be updated"),
            Rejection::NotInQueue => out.write_str("Job not found or not in queue"),
            Rejection::PriorityOutOfBounds { grouped: true, .. } => {
                write!(out, "group.priority must be an integer between 0 and {GROUP_PRIORITY_MAX}")
            }
            Rejection::PriorityOutOfBounds { priority, grouped: false } if *priority < 0 => {
                write!(out, "priority must be at least -{PRIORITY_MAX}")
            }
            Rejection::PriorityOutOfBounds { .. } => write!(out, "priority must be at most {PRIORITY_MAX}"),
            Rejection::CannotChangeDelay => out.write_str("Job not found or cannot change delay"),
            Rejection::CannotMoveToWait(state) => write!(out, "Cannot move job from state '{state}' to waiting"),
            Rejection::NotInDlq => out.write_str("Failed job not in DLQ"),
            Rejection::NotDelayed => out.write_str("Job not found or not delayed"),
            Rejection::CannotCancel => out.write_str("Job not found or cannot be cancelled"),
            Rejection::AnswerTooLong => write!(
                out,
                "The answer is too large: at most {ANSWER_RECORDS_MAX} jobs and {} MB; ask for fewer with limit and offset",
                ANSWER_BYTES_MAX >> 20
            ),
            Rejection::WebhookNotFound => out.write_str("Webhook not found"),
            Rejection::WebhookReach(reach) => write!(out, "Webhook URL cannot point to {reach}"),
            Rejection::TooManyWebhooks(most) => write!(out, "Too many webhooks (max {most})"),
            Rejection::WorkerNotFound => out.write_str("Worker not found"),
            Rejection::TooManyWorkers(most) => write!(out, "Too many workers (max {most})"),
            Rejection::WorkerTooLarge(most) => {
                write!(out, "workerId, name, hostname and queues are too long together (max {most} bytes)")
            }
            Rejection::TooManyParked(most) => write!(out, "Too many parked requests (max {most} per connection)"),
            Rejection::TooManyGroupLimits(most) => {
                write!(out, "Too many different group options in use on this queue (max {most})")
            }
            Rejection::Schedule(why) => why.fmt(out),
            Rejection::Changed(text) => out.write_str(text),
            Rejection::NotSupported(field) => write!(out, "{field} is not supported by this version"),
        }
    }
}

impl std::error::Error for Rejection {}
