//! The contract once more, as plainly as it can be said: vectors, linear searches, and expiry judged when it is looked at.
//!
//! Adds, jobIds and keys stand here (dedup.md 2 to 5, 10), what else happens to jobs in `lifecycle.rs`. Written from the
//! contract, not from the engine: where the two differ, one of them is wrong.

use crate::commands::AddStep;
use onceover_engine::command::StateName;
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
    Added { id: Id, duplicate: Option<&'static str>, replaced: Option<Id> },
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
}

struct Admitted {
    id: Id,
    duplicate: Option<&'static str>,
    replaced: Option<Id>,
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

    /// PUSH.
    pub fn push(&mut self, spec: &Rc<Spec>) -> Answer {
        if let Some(why) = self.unknown_dependency(spec, &[]) {
            self.decide(Code::Invalid, None);
            return Answer::No(why);
        }
        match self.admit(spec) {
            Ok(Admitted { id, duplicate, replaced }) => Answer::Added { id, duplicate, replaced },
            Err(why) => Answer::No(why),
        }
    }

    /// PUSHB: all are checked before the first is taken, then the accepted prefix stays (dedup.md 6).
    pub fn bulk(&mut self, specs: &[Rc<Spec>]) -> Answer {
        let ids: Vec<Id> = specs.iter().filter_map(|spec| spec.id).collect();
        for (at, spec) in specs.iter().enumerate() {
            if let Some(why) = self.unknown_dependency(spec, &ids) {
                return Answer::No(Refusal::InBatch(at, Box::new(why)));
            }
        }
        let mut answers = Vec::new();
        for spec in specs {
            match self.admit(spec) {
                Ok(admitted) => answers.push(admitted.id),
                Err(why) => return Answer::No(why),
            }
        }
        Answer::AddedBulk(answers)
    }

    fn unknown_dependency(&self, spec: &Spec, batch: &[Id]) -> Option<Refusal> {
        let is_known = |id: Id| self.by_id(id).is_some() || self.done_and_gone.contains(&id) || batch.contains(&id);
        spec.after.iter().find(|id| !is_known(**id)).map(|id| Refusal::Dependency(*id))
    }

    fn decide(&mut self, code: Code, id: Option<Id>) {
        self.decided.push(Decided { code, id, made: None });
    }

    /// One add (dedup.md 2).
    fn admit(&mut self, spec: &Rc<Spec>) -> Result<Admitted, Refusal> {
        let queue = spec.step.queue;
        let mut retired = None;
        if let Some(id) = spec.id {
            if let Some(twin) = self.by_id(id) {
                if self.jobs[twin].is_live() {
                    let here = self.jobs[twin].spec.step.queue == queue;
                    self.decide(if here { Code::SameJobId } else { Code::Elsewhere }, Some(id));
                    self.answered.push((spec.step.label, id));
                    return Ok(Admitted { id, duplicate: Some("jobId"), replaced: None });
                }
                retired = Some(twin);
            } else if self.done_and_gone.contains(&id) && self.waits_for(id, true) {
                self.decide(Code::Invalid, None);
                return Err(Refusal::Consumers(id));
            }
        }
        let mut replaced = None;
        let mut code = Code::New;
        let entry = spec.step.key.and_then(|key| self.valid(queue, key));
        if let Some(entry) = entry {
            match self.meet(spec, entry) {
                Met::Answer(code, rule) => {
                    let id = self.entries[entry].owner_id;
                    self.decide(code, Some(id));
                    self.answered.push((spec.step.label, id));
                    return Ok(Admitted { id, duplicate: Some(rule), replaced: None });
                }
                Met::Refuse(code, why) => {
                    self.decide(code, None);
                    return Err(why);
                }
                Met::Replace => {
                    let Entry { owner, owner_id, .. } = self.entries[entry];
                    self.remove_job(owner);
                    replaced = Some(owner_id);
                    code = Code::Replaced;
                }
                Met::Supersede => code = Code::Moved,
                Met::Take => {}
            }
        }
        if let Some(retired) = retired {
            self.jobs[retired].state = State::Gone;
            self.jobs[retired].stored_next = None;
        }
        let made = self.insert(spec);
        self.take_key(made);
        let id = self.jobs[made].id;
        self.decided.push(Decided { code, id: Some(id), made: Some(made) });
        Ok(Admitted { id, duplicate: None, replaced })
    }

    /// Strategy against owner (dedup.md 3 and 10). Extending and storing happen here.
    fn meet(&mut self, spec: &Rc<Spec>, entry: usize) -> Met {
        let step = &spec.step;
        let Entry { owner, owner_id, .. } = self.entries[entry];
        let owner_state = self.jobs[owner].state;
        let is_active = owner_state == State::Active;
        let is_live = self.jobs[owner].is_live();
        if step.keep && is_active {
            let had = self.jobs[owner].stored_next.replace(spec.clone()).is_some();
            self.entries[entry].expires_at = None;
            return Met::Answer(if had { Code::Updated } else { Code::Held }, "keepLast");
        }
        if step.replace {
            let is_tied = self.waits_for(owner_id, false) || spec.after.contains(&owner_id);
            return match (is_live, is_tied) {
                (false, _) => Met::Take,
                (true, true) => Met::Refuse(Code::RejectedDependents, Refusal::Replace(owner_id)),
                (true, false) if is_active => Met::Supersede,
                (true, false) => Met::Replace,
            };
        }
        match step.ttl {
            Some(ttl) if step.extend && ttl > 0 && !step.keep => {
                self.entries[entry].expires_at = Some(self.now + ttl);
                if is_live && !is_active {
                    Met::Answer(Code::Extended, "extend")
                } else {
                    Met::Refuse(Code::RejectedExtend, Refusal::Extend)
                }
            }
            _ if step.extend && !step.keep => Met::Answer(Code::NoTtl, "default"),
            _ => Met::Answer(Code::SameKey, "default"),
        }
    }

    /// Whether a job in waiting-children names this id as a dependency.
    fn waits_for(&self, id: Id, unresolved_only: bool) -> bool {
        self.jobs.iter().any(|job| {
            let is_waiting = job.state == State::Blocked && !job.unresolved.is_empty();
            job.spec.after.contains(&id) && is_waiting && (!unresolved_only || !job.unresolved.contains(&id))
        })
    }

    fn insert(&mut self, spec: &Rc<Spec>) -> Generation {
        let generation = self.jobs.len();
        let id = spec.id.unwrap_or(Id::Made(generation));
        let is_done = |id: &Id| match self.by_id(*id) {
            Some(job) => self.jobs[job].state == State::Completed,
            None => self.done_and_gone.contains(id),
        };
        let unresolved: Vec<Id> = spec.after.iter().copied().filter(|id| !is_done(id)).collect();
        self.done_and_gone.retain(|gone| *gone != id);
        self.jobs.push(Job {
            id,
            state: if unresolved.is_empty() { State::Queued } else { State::Blocked },
            priority: spec.step.priority,
            created_at: self.now,
            run_at: self.now + spec.step.delay,
            started_at: 0,
            heartbeat_at: self.now,
            ended_at: 0,
            attempts: 0,
            stalls: 0,
            unresolved,
            parked: false,
            stored_next: None,
            delivery: None,
            late: None,
            timed_out: Vec::new(),
            spec: spec.clone(),
        });
        generation
    }

    /// The generation becomes its key's owner, with a full window.
    pub fn take_key(&mut self, owner: Generation) {
        let spec = self.jobs[owner].spec.clone();
        let Some(key) = spec.step.key else { return };
        let queue = spec.step.queue;
        self.entries.retain(|entry| entry.queue != queue || entry.key != key);
        let expires_at = spec.step.ttl.filter(|_| !spec.step.keep).map(|ttl| self.now + ttl);
        self.entries.push(Entry { queue, key, owner, owner_id: self.jobs[owner].id, expires_at });
    }

    /// By hand, or replaced: the job and whatever key it still owns are gone, and what was stored with it.
    pub fn remove_job(&mut self, generation: Generation) {
        self.entries.retain(|entry| entry.owner != generation);
        let job = &mut self.jobs[generation];
        job.state = State::Gone;
        job.delivery = None;
        job.stored_next = None;
    }

    /// The end by itself: a key without window is released, a window stays (dedup.md 4). Then what was stored follows.
    pub fn ended(&mut self, generation: Generation, state: State, remove: bool) {
        self.entries.retain(|entry| entry.owner != generation || entry.expires_at.is_some());
        let now = self.now;
        let job = &mut self.jobs[generation];
        job.state = if remove { State::Gone } else { state };
        job.ended_at = now;
        job.delivery = None;
        job.late = None;
        let (id, next) = (job.id, job.stored_next.take());
        if state == State::Completed {
            if remove {
                self.done_and_gone.push(id);
            }
            self.release_dependents(id);
        }
        if let Some(next) = next {
            self.follow(&next);
        }
    }

    /// keepLastIfActive: an ordinary add at this moment.
    fn follow(&mut self, spec: &Rc<Spec>) {
        if self.unknown_dependency(spec, &[]).is_some() {
            self.decide(Code::Invalid, None);
            return;
        }
        // Nobody waits for the answer.
        let _ = self.admit(spec);
    }

    fn release_dependents(&mut self, id: Id) {
        for job in &mut self.jobs {
            let had = job.unresolved.len();
            job.unresolved.retain(|other| *other != id);
            let was_last = had > 0 && job.unresolved.is_empty();
            if was_last && job.state == State::Blocked && !job.parked {
                job.state = State::Queued;
            }
        }
    }
}

/// What an add does about a valid key.
enum Met {
    /// The owner's id, and by which rule.
    Answer(Code, &'static str),
    Refuse(Code, Refusal),
    /// The owner is removed, the new job takes the key.
    Replace,
    /// The active owner stays, the new job takes the key.
    Supersede,
    /// Nothing is left to remove, the new job takes the key.
    Take,
}
