//! The contract once more, as plainly as it can be said: vectors, linear searches, and expiry judged when it is looked at.
//!
//! What it remembers stands here; adds, jobIds and keys in `adds.rs`, workers and time in `lifecycle.rs`, the rest in `moves.rs`.
//! Written from the contract, not from the engine: where the two differ, one of them is wrong.

use crate::commands::AddStep;
use crate::limits::Limits;
use onceover_engine::command::{DlqPatch, StateName};
use std::rc::Rc;

/// A generation: the job's place in `Model::jobs`.
pub type Generation = usize;

/// A job's id: one of the custom ones, or the generated one of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id {
    Custom(u8),
    Made(Generation),
}

/// An add with its references resolved.
#[derive(Debug, PartialEq)]
pub struct Spec {
    pub step: AddStep,
    pub id: Option<Id>,
    pub after: Vec<Id>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Queued,
    Blocked,
    Active,
    Completed,
    Failed,
    Gone,
}

#[derive(Clone, Debug)]
pub struct Job {
    pub id: Id,
    pub spec: Rc<Spec>,
    /// Which occurrence of a repeating job it is.
    pub occurrence: u64,
    pub state: State,
    pub priority: i32,
    pub created_at: i64,
    pub run_at: i64,
    pub started_at: i64,
    pub heartbeat_at: i64,
    /// When it completed or failed for good.
    pub ended_at: i64,
    pub attempts: u32,
    pub stalls: u32,
    /// Dependencies that have not completed.
    pub unresolved: Vec<Id>,
    /// Parked by its worker.
    pub parked: bool,
    /// Retries by itself since the last one by hand.
    pub retried: u32,
    /// Of a dead letter: when it is retried by itself, and when it is forgotten.
    pub retry_at: Option<i64>,
    pub gone_at: Option<i64>,
    pub stored_next: Option<Rc<Spec>>,
    pub delivery: Option<Delivery>,
    /// The delivery whose lease was lost: its completion still counts.
    pub late: Option<usize>,
    /// Deliveries that ran into the job's timeout.
    pub timed_out: Vec<usize>,
}

/// One delivery; `number` stands for its token.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub number: usize,
    pub conn: Option<u8>,
    pub lock: Option<Lock>,
    pub detached: bool,
    pub silent_once: bool,
}

#[derive(Clone, Debug)]
pub struct Lock {
    pub expires_at: i64,
    pub ttl: i64,
    pub renewed: bool,
}

/// A key and its owner.
#[derive(Clone, Debug)]
pub struct Entry {
    pub queue: u8,
    pub key: u8,
    pub owner: Generation,
    pub owner_id: Id,
    pub expires_at: Option<i64>,
}

/// What an add came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    New,
    SameKey,
    SameJobId,
    Elsewhere,
    Extended,
    NoTtl,
    Replaced,
    Moved,
    Held,
    Updated,
    RejectedExtend,
    RejectedDependents,
    Invalid,
}

/// A decided add: what, and which job stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decided {
    pub code: Code,
    pub id: Option<Id>,
    /// The generation it made.
    pub made: Option<Generation>,
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    Extend,
    Replace(Id),
    Dependency(Id),
    InBatch(usize, Box<Refusal>),
    Consumers(Id),
    Circle,
    NotFound,
    NotInProcessing(Id),
    TokenRequired(Id),
    TokenInvalid(Id),
    Heartbeat,
    NotActiveBut(&'static str),
    NotActive,
    NotInQueue,
    CannotChangeDelay,
    CannotMoveToWait(&'static str),
    NotInDlq,
    NotDelayed,
    CannotCancel,
    /// One whose text is no contract.
    Some,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Ok,
    Added {
        id: Id,
        duplicate: Option<&'static str>,
        replaced: Option<Id>,
    },
    AddedBulk(Vec<Id>),
    /// The job and, when it is locked, its delivery.
    Pulled(Option<(Generation, Option<usize>)>),
    Finalized,
    DataOk,
    Count(u64),
    KeysRemoved(u64),
    Removed(bool),
    Owner(Option<Id>),
    Cleaned(Vec<Id>),
    Moved,
    No(Refusal),
}

/// The broker as the contract has it.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub now: i64,
    pub jobs: Vec<Job>,
    pub entries: Vec<Entry>,
    /// Jobs that completed and were removed at once: they still satisfy a dependency.
    pub done_and_gone: Vec<Id>,
    pub paused: [bool; 3],
    pub limits: [Limits; 3],
    /// Adds decided in this step.
    pub decided: Vec<Decided>,
    /// What each add's label was answered with.
    pub answered: Vec<(u32, Id)>,
    /// Locked deliveries in order: the job's id and the delivery's number.
    pub given: Vec<(Id, usize)>,
    pub deliveries: usize,
    /// Retries whose moment is only known within bounds.
    pub loose: Vec<(Generation, i64, i64)>,
    pub next_sweep: Option<i64>,
    /// The queues in the order in which a sweep comes by; the contract leaves it to the engine.
    pub sweep_order: Vec<u8>,
    /// Finished jobs kept: completed ones of all queues, failed ones of each.
    pub retain: usize,
    /// What is set about the dead letters of each queue.
    pub dlq: [DlqPatch; 3],
    /// The setting that ends a key with its owner, window or not.
    pub until_done: bool,
}

impl Job {
    pub fn is_live(&self) -> bool {
        match self.state {
            State::Queued | State::Blocked | State::Active => true,
            State::Completed | State::Failed | State::Gone => false,
        }
    }

    pub fn shown(&self, now: i64) -> Option<StateName> {
        Some(match self.state {
            State::Queued if self.run_at > now => StateName::Delayed,
            State::Queued if self.priority > 0 => StateName::Prioritized,
            State::Queued => StateName::Waiting,
            State::Blocked => StateName::WaitingChildren,
            State::Active => StateName::Active,
            State::Completed => StateName::Completed,
            State::Failed => StateName::Failed,
            State::Gone => return None,
        })
    }
}

impl Model {
    /// The job that has this id now.
    pub fn by_id(&self, id: Id) -> Option<Generation> {
        self.jobs.iter().rposition(|job| job.id == id && job.state != State::Gone)
    }

    /// The id that an add's label stands for.
    pub fn by_label(&self, label: u32) -> Option<Id> {
        let made = self.jobs.iter().rfind(|job| job.spec.step.label == label).map(|job| job.id);
        made.or_else(|| self.answered.iter().rfind(|(of, _)| *of == label).map(|(_, id)| *id))
    }

    /// The job that was taken last but `back` among the active ones.
    pub fn taken(&self, back: u8) -> Option<Id> {
        let mut active: Vec<&Job> = self.jobs.iter().filter(|job| job.delivery.is_some()).collect();
        active.sort_by_key(|job| job.delivery.as_ref().map(|delivery| std::cmp::Reverse(delivery.number)));
        active.get(usize::from(back)).map(|job| job.id)
    }

    /// The entry of a key, if it is valid now (dedup.md 4).
    pub fn valid(&self, queue: u8, key: u8) -> Option<usize> {
        let at = self.entries.iter().position(|entry| entry.queue == queue && entry.key == key)?;
        let entry = &self.entries[at];
        let is_valid = match entry.expires_at {
            Some(end) => self.now < end,
            None => self.jobs[entry.owner].is_live(),
        };
        is_valid.then_some(at)
    }
}
