//! The contract once more, as plainly as it can be said: vectors, linear searches, and expiry judged when it is looked at.
//!
//! What it remembers stands here; adds, jobIds and keys in `adds.rs`, workers and time in `lifecycle.rs`, the rest in `moves.rs`.
//! Written from the contract, not from the engine: where the two differ, one of them is wrong.

use crate::adding::AddStep;
use crate::groups::Group;
use crate::limits::Limits;
use crate::schedules::Schedule;
use crate::tree_steps::Policy;
use crate::trees::{End, Parent, TreeRefusal};
use onceover_engine::command::{DlqPatch, StateName};
use std::collections::VecDeque;
use std::rc::Rc;

/// A generation: the job's place in `Model::jobs`.
pub type Generation = usize;

/// A job's id: one of the custom ones, or the generated one of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id {
    Custom(u8),
    Made(Generation),
    /// Planned by a client for its flow, for the add of this label.
    Planned(u32),
}

/// An add with its references resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    pub step: AddStep,
    pub id: Option<Id>,
    /// What it depends on, its children included.
    pub after: Vec<Id>,
    pub parent: Option<Parent>,
    /// Where its data says its parent is: then it joins that parent.
    pub named_queue: Option<u8>,
    pub children: Vec<Id>,
    /// The schedule that makes it, and whether a job is dropped when its delivery is lost.
    pub made_by: Option<(u8, bool)>,
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
    /// Whose child it is, its children, and what it depends on: as asked for, and as changed since.
    pub parent: Option<Parent>,
    pub children: Vec<Id>,
    pub depends_on: Vec<Id>,
    /// Dependencies that it still waits for.
    pub unresolved: Vec<Id>,
    /// What it can read of its children, in order: id, queue, end.
    pub ends: Vec<(Id, u8, End)>,
    /// It completed with a result, of which nobody has taken it back.
    pub has_result: bool,
    /// It stands ready in its group's lane.
    pub lined: bool,
    /// It has ended and goes when its parent is named.
    pub leaves: bool,
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

/// A child that failed for good, of which its parent has not heard yet.
#[derive(Clone, Debug)]
pub struct Failed {
    pub child: Id,
    pub queue: u8,
    pub parent: Id,
    pub policy: Policy,
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
    NoSchedule,
    Tree(TreeRefusal),
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
    /// A schedule's next run and its executions.
    Schedule(i64, u64),
    Group(onceover_engine::group::Answer),
    Pushed(Vec<Id>),
    /// Queue, id and generation of each child with a result.
    Values(Vec<(u8, Id, Generation)>),
    Failures(Vec<(u8, Id)>),
    Detached(bool),
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
    /// Failures of this step.
    pub failed: VecDeque<Failed>,
    pub paused: [bool; 3],
    pub limits: [Limits; 3],
    pub schedules: Vec<Schedule>,
    pub schedules_made: usize,
    pub groups: Vec<Group>,
    /// The groups with a ready job, in the line in which they are served.
    pub line: Vec<(u8, u8)>,
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

impl Spec {
    /// An add that refers to nothing.
    pub fn plain(step: AddStep) -> Spec {
        Spec { step, id: None, after: Vec::new(), parent: None, named_queue: None, children: Vec::new(), made_by: None }
    }
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
