//! The naive model's adds and keys: dedup.md 2 to 6 and 10, rule by rule.

use crate::adding::AddStep;
use crate::commands::REPEAT_EVERY;
use crate::marks::mark;
use crate::naive::{Answer, Code, Decided, Entry, Generation, Id, Job, Model, Refusal, Spec, State};
use crate::trees::Parent;
use std::rc::Rc;

struct Admitted {
    id: Id,
    duplicate: Option<&'static str>,
    replaced: Option<Id>,
}

/// What an add does about its custom id.
enum IdMet {
    /// It may have the id; a finished job that has it goes.
    Free(Option<Generation>),
    Decided(Result<Admitted, Refusal>),
}

impl Model {
    /// PUSH.
    pub fn push(&mut self, spec: &Rc<Spec>) -> Answer {
        if let Some(why) = self.wrong_reference(spec, &[]) {
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
            if let Some(why) = self.wrong_reference(spec, &ids) {
                mark("bulk", "refused as a whole");
                self.decide(Code::Invalid, None);
                return Answer::No(Refusal::InBatch(at, Box::new(why)));
            }
        }
        if self.in_circle(specs) {
            let at = specs.iter().position(|spec| self.may_be_waited_for(spec)).expect("a circle has jobs");
            self.decide(Code::Invalid, None);
            return Answer::No(Refusal::InBatch(at, Box::new(Refusal::Circle)));
        }
        let mut answers = Vec::new();
        for spec in specs {
            // What came before may have changed what it joins.
            let joins = self.check_parent(spec);
            if joins.is_err() {
                self.decide(Code::Invalid, None);
            }
            match joins.and_then(|()| self.admit(spec)) {
                Ok(admitted) => answers.push(admitted.id),
                Err(why) => {
                    if !answers.is_empty() {
                        mark("bulk", "accepted prefix");
                    }
                    return Answer::No(why);
                }
            }
        }
        Answer::AddedBulk(answers)
    }

    /// A dependency that is not known, or a parent that cannot be joined.
    fn wrong_reference(&self, spec: &Spec, batch: &[Id]) -> Option<Refusal> {
        let is_known = |id: Id| self.by_id(id).is_some() || self.done_and_gone.contains(&id) || batch.contains(&id);
        let unknown = spec.after.iter().find(|id| !is_known(**id)).map(|id| Refusal::Dependency(*id));
        unknown.or_else(|| self.check_parent(spec).err())
    }

    fn decide(&mut self, code: Code, id: Option<Id>) {
        self.decided.push(Decided { code, id, made: None });
    }

    /// The custom id of an add against whoever has it.
    fn meet_id(&mut self, spec: &Spec) -> IdMet {
        let Some(id) = spec.id else { return IdMet::Free(None) };
        let twin = self.by_id(id);
        if let Some(twin) = twin.filter(|twin| self.jobs[*twin].is_live()) {
            mark("jobId", "live");
            let here = self.jobs[twin].spec.step.queue == spec.step.queue;
            if !here {
                mark("jobId", "live in another queue");
            }
            self.decide(if here { Code::SameJobId } else { Code::Elsewhere }, Some(id));
            self.answered.push((spec.step.label, id));
            return IdMet::Decided(Ok(Admitted { id, duplicate: Some("jobId"), replaced: None }));
        }
        if twin.is_none() && self.done_and_gone.contains(&id) && self.waits_for(id) {
            mark("jobId", "has consumers");
            self.decide(Code::Invalid, None);
            return IdMet::Decided(Err(Refusal::Consumers(id)));
        }
        IdMet::Free(twin)
    }

    /// The add of a schedule's firing, and what became of it if that is no job.
    pub fn admit_scheduled(&mut self, spec: &Rc<Spec>) -> &'static str {
        match self.admit(spec) {
            Ok(_) => "meets an owner",
            Err(_) => "is refused",
        }
    }

    /// One add (dedup.md 2).
    fn admit(&mut self, spec: &Rc<Spec>) -> Result<Admitted, Refusal> {
        let queue = spec.step.queue;
        let retired = match self.meet_id(spec) {
            IdMet::Free(retired) => retired,
            IdMet::Decided(outcome) => return outcome,
        };
        let mut replaced = None;
        let mut code = Code::New;
        let entry = spec.step.key.and_then(|key| self.valid(queue, key));
        if let Some(entry) = entry {
            let met = self.meet(spec, entry);
            let is_new = matches!(met, Met::Replace | Met::Supersede | Met::Take);
            let leaves = matches!(met, Met::Replace).then(|| self.entries[entry].owner);
            if is_new && let Err(why) = self.has_room(spec, leaves) {
                self.decide(Code::Invalid, None);
                return Err(why);
            }
            if is_new && self.in_circle(std::slice::from_ref(spec)) {
                return self.refuse_circle();
            }
            match met {
                Met::Answer(code, rule) => {
                    if retired.is_some() {
                        mark("jobId", "not retired, its key is held");
                    }
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
        if entry.is_none()
            && let Err(why) = self.has_room(spec, None)
        {
            self.decide(Code::Invalid, None);
            return Err(why);
        }
        if entry.is_none() && self.in_circle(std::slice::from_ref(spec)) {
            return self.refuse_circle();
        }
        if let Some(retired) = retired {
            mark("jobId", "retired");
            self.jobs[retired].state = State::Gone;
            self.jobs[retired].stored_next = None;
        }
        let made = self.insert(spec);
        self.take_key(made);
        self.take_place(made);
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
        let is_tied = self.waits_for(owner_id) || Model::is_tied_to(spec, owner_id);
        self.mark_met(step, owner, is_tied);
        if step.keep && is_active {
            let had = self.jobs[owner].stored_next.replace(spec.clone()).is_some();
            self.entries[entry].expires_at = None;
            return Met::Answer(if had { Code::Updated } else { Code::Held }, "keepLast");
        }
        if step.replace {
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
            _ if step.extend => Met::Answer(Code::NoTtl, "default"),
            _ => Met::Answer(Code::SameKey, "default"),
        }
    }

    fn mark_met(&self, step: &AddStep, owner: Generation, is_tied: bool) {
        let strategy = match step {
            AddStep { keep: true, replace, .. } => {
                if *replace {
                    "keep and replace"
                } else {
                    "keep"
                }
            }
            AddStep { replace: true, .. } => "replace",
            AddStep { extend: true, ttl: Some(1..), .. } => "extend",
            _ => "default",
        };
        let job = &self.jobs[owner];
        let standing = match job.state {
            State::Queued if job.attempts > 0 => "retrying",
            State::Queued => "queued",
            State::Blocked if job.parked => "parked",
            State::Blocked => "blocked",
            State::Active => "active",
            State::Completed => "completed",
            State::Failed => "failed",
            State::Gone => "gone",
        };
        mark(strategy, standing);
        if is_tied && job.is_live() {
            mark(strategy, "tied");
        }
        if self.by_id(job.id).is_some_and(|other| other != owner) {
            mark(strategy, "id reused");
        }
    }

    /// Whether a job that still waits for dependencies names this id among them.
    pub fn waits_for(&self, id: Id) -> bool {
        let is_waiting = |job: &Job| job.state == State::Blocked && !job.unresolved.is_empty();
        self.jobs.iter().any(|job| is_waiting(job) && job.depends_on.contains(&id))
    }

    fn refuse_circle(&mut self) -> Result<Admitted, Refusal> {
        mark("dependencies", "in a circle");
        self.decide(Code::Invalid, None);
        Err(Refusal::Circle)
    }

    fn may_be_waited_for(&self, spec: &Spec) -> bool {
        let is_live = |id| self.by_id(id).is_some_and(|at| self.jobs[at].is_live());
        spec.id.is_some_and(|id| !is_live(id)) && !spec.after.is_empty()
    }

    /// Everybody who waits for `id`, or for somebody who does.
    pub fn waiting_on(&self, id: Id) -> Vec<Id> {
        let mut found: Vec<Id> = Vec::new();
        let mut next = vec![id];
        while let Some(id) = next.pop() {
            for job in self.jobs.iter().filter(|job| job.state == State::Blocked && job.unresolved.contains(&id)) {
                if !found.contains(&job.id) {
                    found.push(job.id);
                    next.push(job.id);
                }
            }
        }
        found
    }

    /// Whether new jobs would wait in a circle, among themselves or through jobs that wait for one of them already.
    fn in_circle(&self, specs: &[Rc<Spec>]) -> bool {
        let mut left: Vec<&Rc<Spec>> = specs.iter().filter(|spec| self.may_be_waited_for(spec)).collect();
        let stands_for =
            |id: &Id, other: &Spec| other.id.is_some_and(|other| other == *id || self.waiting_on(other).contains(id));
        while let Some(at) =
            left.iter().position(|spec| !spec.after.iter().any(|id| left.iter().any(|other| stands_for(id, other))))
        {
            left.remove(at);
        }
        !left.is_empty()
    }

    pub fn insert(&mut self, spec: &Rc<Spec>) -> Generation {
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
            parent: spec.parent,
            children: spec.children.clone(),
            depends_on: spec.after.clone(),
            ends: Vec::new(),
            has_result: false,
            leaves: false,
            lined: false,
            parked: false,
            retried: 0,
            retry_at: None,
            gone_at: None,
            stored_next: None,
            delivery: None,
            late: None,
            timed_out: Vec::new(),
            occurrence: 0,
            spec: spec.clone(),
        });
        self.touch(generation);
        self.see_children(generation);
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
        self.touch(generation);
    }

    /// The end by itself: a key without window is released, a window stays (dedup.md 4). Then what was stored follows.
    pub fn ended(&mut self, generation: Generation, state: State, remove: bool) {
        let stays = !self.until_done;
        if let Some(entry) = self.entries.iter().find(|entry| entry.owner == generation) {
            let is_open = stays && entry.expires_at.is_some_and(|end| self.now < end);
            mark("end", if is_open { "window stays" } else { "key released" });
        }
        self.entries.retain(|entry| entry.owner != generation || stays && entry.expires_at.is_some());
        let now = self.now;
        let is_pending = self.jobs[generation].parent == Some(Parent::Pending);
        let (leaves, remove) = (remove && is_pending, remove && !is_pending);
        let job = &mut self.jobs[generation];
        job.leaves = leaves;
        job.unresolved.clear();
        job.parked = false;
        // Jobs whose label is a multiple of four complete without a result.
        job.has_result = state == State::Completed && !job.spec.step.label.is_multiple_of(4);
        job.state = state;
        job.ended_at = now;
        job.delivery = None;
        job.late = None;
        self.touch(generation);
        if state == State::Failed {
            self.stamp(generation);
        }
        let job = &mut self.jobs[generation];
        let (id, next) = (job.id, job.stored_next.take());
        if state == State::Completed {
            self.release_dependents(generation);
        } else {
            self.will_tell_parent(generation);
        }
        if let Some(next) = next {
            self.follow(&next);
        }
        if remove {
            self.jobs[generation].state = State::Gone;
            if state == State::Completed {
                self.done_and_gone.push(id);
            }
        }
        if state == State::Completed {
            self.repeat(generation);
        }
        self.evict(state, generation);
    }

    /// The oldest finished jobs go when there are too many; their windows stay.
    fn evict(&mut self, state: State, ended: Generation) {
        if state == State::Failed {
            return self.evict_dead(self.jobs[ended].spec.step.queue);
        }
        let completed = |at: &Generation| self.jobs[*at].state == State::Completed;
        let mut kept: Vec<Generation> = (0..self.jobs.len()).filter(completed).collect();
        kept.sort_by_key(|at| (self.jobs[*at].ended_at, *at));
        for at in kept.iter().take(kept.len().saturating_sub(self.retain)) {
            self.forget(*at);
        }
    }

    /// The next occurrence takes the key over with a full window, past its predecessor's (dedup.md 6); not from another live
    /// job, as any retry.
    fn repeat(&mut self, generation: Generation) {
        let Job { spec, occurrence, .. } = self.jobs[generation].clone();
        if spec.step.repeat.is_none_or(|limit| occurrence >= limit) {
            return;
        }
        let step = AddStep { delay: REPEAT_EVERY, ..spec.step.clone() };
        let made = self.insert(&Rc::new(Spec::plain(step)));
        self.jobs[made].occurrence = occurrence + 1;
        if self.is_taken(made) {
            mark("next occurrence", "leaves the key");
        } else {
            mark("next occurrence", "takes the key");
            self.take_key(made);
        }
        let id = Some(self.jobs[made].id);
        self.decided.push(Decided { code: Code::New, id, made: Some(made) });
    }

    /// Whether another live job owns the key that this one asked for.
    pub fn is_taken(&self, at: Generation) -> bool {
        let step = &self.jobs[at].spec.step;
        let entry = step.key.and_then(|key| self.valid(step.queue, key)).map(|entry| &self.entries[entry]);
        entry.is_some_and(|entry| entry.owner != at && self.jobs[entry.owner].is_live())
    }

    /// keepLastIfActive: an ordinary add at this moment. Its dependencies were there when it was taken; the contract does not
    /// say what becomes of it when one has vanished since, it waits for it like any job whose dependency is removed.
    pub fn follow(&mut self, spec: &Rc<Spec>) {
        let is_free = |id: Id| match self.by_id(id) {
            Some(twin) => !self.jobs[twin].is_live(),
            None => !(self.done_and_gone.contains(&id) && self.waits_for(id)),
        };
        let id = spec.id.filter(|id| is_free(*id));
        if id != spec.id {
            mark("stored add", "follows without its jobId");
        }
        let spec = Rc::new(Spec { id, ..(**spec).clone() });
        let before = self.jobs.len();
        // Nobody waits for the answer.
        let _ = self.admit(&spec);
        mark("stored add", if self.jobs.len() > before { "follows" } else { "meets another owner" });
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
