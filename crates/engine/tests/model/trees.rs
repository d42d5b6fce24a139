//! The naive model's trees: who belongs to whom, and what a child's end means (protocol-admin.md 7).
//!
//! What a parent waits for stands in its `unresolved`; what became of a child that it need not wait for any more, in its `ends`.

use crate::marks::mark;
use crate::naive::{Answer, Decided, Generation, Id, Job, Model, Refusal, Spec, State};
use crate::naive::{Code, Failed};
use crate::tree_steps::Policy;
use std::rc::Rc;

/// Whose child a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parent {
    /// It will be named later.
    Pending,
    /// The job of this id, if there is one.
    Of(Id),
}

/// What a parent can read of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// This generation's result.
    Value(Generation),
    /// Its failure, because of which the parent ran at once.
    Continued,
    /// Its failure, which was ignored.
    Ignored,
}

/// Why something about a tree is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeRefusal {
    Exists(Id),
    DependencyNotFound(Id),
    OwnParent,
    ParentNotFound(Id),
    NotLinkable(Id),
    /// The parent, where it is, and where it was said to be.
    Elsewhere(Id, u8, u8),
    OwnFlowParent,
    UnknownChild(Id),
    HasParent(Id, Id),
    UnknownJob(Id),
    NoParent(Id),
}

impl Job {
    fn has_value(&self) -> bool {
        self.has_result && matches!(self.state, State::Completed | State::Gone)
    }

    fn note_end(&mut self, id: Id, queue: u8, end: End) {
        self.forget_end(id);
        self.ends.push((id, queue, end));
    }

    fn forget_end(&mut self, id: Id) {
        self.ends.retain(|(of, _, _)| *of != id);
    }
}

impl Model {
    fn queue_of(&self, at: Generation) -> u8 {
        self.jobs[at].spec.step.queue
    }

    /// Whether the job waits for this id.
    fn is_open(&self, at: Generation, id: Id) -> bool {
        self.jobs[at].state == State::Blocked && self.jobs[at].unresolved.contains(&id)
    }

    /// Nothing holds the job any more.
    fn let_go(&mut self, at: Generation) {
        let job = &mut self.jobs[at];
        job.state = State::Queued;
        job.unresolved.clear();
        job.parked = false;
        self.touch(at);
    }

    /// The job waits no more for this id, and runs if that was the last one.
    fn stop_waiting(&mut self, at: Generation, id: Id) {
        self.jobs[at].unresolved.retain(|other| *other != id);
        if self.jobs[at].unresolved.is_empty() {
            self.let_go(at);
        }
    }

    /// The parent that an add joins at once (way C).
    fn joined(spec: &Spec) -> Option<(Id, u8)> {
        match spec.parent {
            Some(Parent::Of(id)) => Some(id).zip(spec.named_queue),
            Some(Parent::Pending) | None => None,
        }
    }

    /// Whether an add is tied to this job.
    pub fn is_tied_to(spec: &Spec, id: Id) -> bool {
        spec.after.contains(&id) || Model::joined(spec).is_some_and(|(parent, _)| parent == id)
    }

    fn linkable(&self, id: Id) -> Result<Generation, TreeRefusal> {
        let at = self.by_id(id).ok_or(TreeRefusal::ParentNotFound(id))?;
        match self.jobs[at].state {
            State::Queued | State::Blocked => Ok(at),
            _ => Err(TreeRefusal::NotLinkable(id)),
        }
    }

    /// Whether an add may join the parent that it names.
    pub fn check_parent(&self, spec: &Spec) -> Result<(), Refusal> {
        let Some((parent, named)) = Model::joined(spec) else { return Ok(()) };
        if spec.id == Some(parent) {
            return Err(Refusal::Tree(TreeRefusal::OwnParent));
        }
        let at = self.linkable(parent).map_err(Refusal::Tree)?;
        if self.queue_of(at) != named {
            return Err(Refusal::Tree(TreeRefusal::Elsewhere(parent, self.queue_of(at), named)));
        }
        let waiting = self.waiting_on(parent);
        if spec.after.iter().any(|id| *id == parent || waiting.contains(id)) {
            mark("tree", "joined in a circle");
            return Err(Refusal::Circle);
        }
        Ok(())
    }

    /// A new job can read what its children completed with before.
    pub fn see_children(&mut self, made: Generation) {
        for child in self.jobs[made].children.clone() {
            let done = self.by_id(child).filter(|at| self.jobs[*at].state == State::Completed);
            if let Some(at) = done.filter(|at| self.jobs[*at].has_result) {
                let queue = self.queue_of(at);
                self.jobs[made].note_end(child, queue, End::Value(at));
            }
        }
    }

    /// A new job finds its children that waited to be told their parent's name, and joins its own parent.
    pub fn take_place(&mut self, made: Generation) {
        let spec = self.jobs[made].spec.clone();
        for child in &spec.children {
            let pending = self.by_id(*child).filter(|at| self.jobs[*at].parent == Some(Parent::Pending));
            if let Some(child) = pending {
                mark("tree", "forward reference resolved by the parent's add");
                self.name_parent(child, made);
            }
        }
        let parent = Model::joined(&spec).and_then(|(parent, _)| self.linkable(parent).ok());
        let waits_for = |parent: &Generation| self.waiting_on(self.jobs[*parent].id).contains(&self.jobs[made].id);
        if let Some(parent) = parent.filter(|parent| *parent != made && !waits_for(parent)) {
            self.link(made, parent);
        }
    }

    fn name_parent(&mut self, child: Generation, parent: Generation) {
        self.jobs[child].parent = Some(Parent::Of(self.jobs[parent].id));
        self.tell_of_past(child, parent);
    }

    /// A child that ended before it had this parent counts as if it had had it.
    fn tell_of_past(&mut self, child: Generation, parent: Generation) {
        let Job { id, state, leaves, .. } = self.jobs[child];
        match state {
            State::Completed => {
                let is_told = self.jobs[parent].ends.iter().any(|(of, _, _)| *of == id);
                if self.jobs[child].has_result && !is_told && self.jobs[parent].state != State::Completed {
                    let queue = self.queue_of(child);
                    self.jobs[parent].note_end(id, queue, End::Value(child));
                }
                if leaves {
                    mark("tree", "a completed child leaves when its parent is named");
                    self.jobs[child].state = State::Gone;
                    self.done_and_gone.push(id);
                }
            }
            State::Failed => {
                self.will_tell_parent(child);
                if leaves {
                    self.jobs[child].state = State::Gone;
                }
            }
            State::Queued | State::Blocked | State::Active | State::Gone => {}
        }
    }

    /// The parent, queued or waiting, waits for the child too.
    fn link(&mut self, child: Generation, parent: Generation) {
        mark("tree", "joined");
        let Job { id, state, .. } = self.jobs[child];
        let job = &mut self.jobs[parent];
        job.forget_end(id);
        if !job.children.contains(&id) {
            job.children.push(id);
        }
        if !job.depends_on.contains(&id) {
            job.depends_on.push(id);
        }
        job.unresolved.retain(|other| *other != id);
        if state != State::Completed {
            job.unresolved.push(id);
        }
        job.parked = false;
        job.state = if job.unresolved.is_empty() { State::Queued } else { State::Blocked };
        self.touch(parent);
        if self.jobs[child].parent == Some(Parent::Of(self.jobs[parent].id)) {
            self.tell_of_past(child, parent);
        } else {
            self.name_parent(child, parent);
        }
    }

    /// A job failed for good: its parent hears of it at the end of the step.
    pub fn will_tell_parent(&mut self, at: Generation) {
        let Job { id, parent, .. } = self.jobs[at];
        if let Some(Parent::Of(parent)) = parent {
            let policy = self.jobs[at].spec.step.policy;
            self.failed.push_back(Failed { child: id, queue: self.queue_of(at), parent, policy });
        }
    }

    /// Parents hear of their children's failures, one after the other.
    pub fn tell_parents(&mut self) {
        while let Some(Failed { child, queue, parent, policy }) = self.failed.pop_front() {
            let of = |at: &Generation| {
                let job = &self.jobs[*at];
                job.children.contains(&child) || job.depends_on.contains(&child)
            };
            let waits = |at: &Generation| matches!(self.jobs[*at].state, State::Queued | State::Blocked);
            let Some(at) = self.by_id(parent).filter(of).filter(waits) else { continue };
            let is_open = self.is_open(at, child);
            match policy {
                Policy::Keep => mark("failed child", "keeps its parent waiting"),
                Policy::Fail => {
                    mark("failed child", "fails its parent");
                    let remove = self.jobs[at].spec.step.forget_failed;
                    self.ended(at, State::Failed, remove);
                }
                Policy::Continue => {
                    mark("failed child", "lets its parent run at once");
                    self.jobs[at].note_end(child, queue, End::Continued);
                    if self.jobs[at].state == State::Blocked {
                        self.jobs[at].run_at = self.now;
                        self.let_go(at);
                    }
                }
                Policy::Ignore => {
                    mark("failed child", "is ignored");
                    self.jobs[at].note_end(child, queue, End::Ignored);
                    if is_open {
                        self.stop_waiting(at, child);
                    }
                }
                Policy::Forget => {
                    mark("failed child", "is forgotten");
                    if is_open {
                        self.stop_waiting(at, child);
                    }
                }
            }
        }
    }

    /// A job completed: whoever waits for it waits no more, and parents can read its result.
    pub fn release_dependents(&mut self, completed: Generation) {
        let Job { id, parent, has_result, .. } = self.jobs[completed];
        let queue = self.queue_of(completed);
        let own = match parent {
            Some(Parent::Of(parent)) => self.by_id(parent).filter(|at| self.jobs[*at].is_live()),
            Some(Parent::Pending) | None => None,
        };
        let own = own.filter(|at| self.jobs[*at].children.contains(&id) && !self.is_open(*at, id));
        if let Some(own) = own.filter(|_| has_result) {
            mark("tree", "a result for a parent that does not wait");
            self.jobs[own].note_end(id, queue, End::Value(completed));
        }
        for at in 0..self.jobs.len() {
            if !self.is_open(at, id) {
                continue;
            }
            let is_child = parent == Some(Parent::Of(self.jobs[at].id)) || self.jobs[at].children.contains(&id);
            if is_child && has_result {
                self.jobs[at].note_end(id, queue, End::Value(completed));
            }
            self.stop_waiting(at, id);
        }
        self.jobs[completed].ends.clear();
    }

    /// Whether a blocked job needs this one's result.
    pub fn is_needed(&self, at: Generation) -> bool {
        let blocked = self.jobs.iter().filter(|job| job.state == State::Blocked);
        blocked.flat_map(|job| &job.ends).any(|(_, _, end)| *end == End::Value(at))
    }

    /// Those of `ids` that are live and do not wait for the job itself; what was known of their ends is forgotten.
    pub fn live_ones(&mut self, at: Generation, ids: Vec<Id>) -> Vec<Id> {
        let waiting = self.waiting_on(self.jobs[at].id);
        let is_live = |id: &Id| self.by_id(*id).is_some_and(|at| self.jobs[at].is_live());
        let ids: Vec<Id> = ids.into_iter().filter(|id| is_live(id) && !waiting.contains(id)).collect();
        ids.iter().for_each(|id| self.jobs[at].forget_end(*id));
        ids
    }

    /// PUSHF: all or nothing.
    pub fn flow(&mut self, specs: &[Rc<Spec>]) -> Answer {
        let refused = |model: &mut Model, why| {
            mark("flow", "refused");
            model.decided.push(Decided { code: Code::Invalid, id: None, made: None });
            Answer::No(why)
        };
        let in_flow = |id: &Id| specs.iter().any(|spec| spec.id == Some(*id));
        if let Some(id) = specs.iter().flat_map(|spec| &spec.after).find(|id| !in_flow(id)) {
            return refused(self, Refusal::Tree(TreeRefusal::DependencyNotFound(*id)));
        }
        let ids: Vec<Id> = specs.iter().filter_map(|spec| spec.id).collect();
        let is_taken = |id: &&Id| self.by_id(**id).is_some() || self.done_and_gone.contains(id) || self.waits_for(**id);
        if let Some(id) = ids.iter().find(is_taken) {
            return refused(self, Refusal::Tree(TreeRefusal::Exists(*id)));
        }
        let mut left: Vec<&Rc<Spec>> = specs.iter().collect();
        while let Some(at) =
            left.iter().position(|one| !left.iter().any(|two| two.id.is_some_and(|id| one.after.contains(&id))))
        {
            left.remove(at);
        }
        if !left.is_empty() {
            return refused(self, Refusal::Circle);
        }
        if let Err(why) = self.have_room(specs) {
            return refused(self, why);
        }
        mark("flow", "made");
        for spec in specs {
            let made = self.insert(spec);
            self.decided.push(Decided { code: Code::New, id: spec.id, made: Some(made) });
        }
        Answer::Pushed(ids)
    }

    /// UpdateParent.
    pub fn adopt(&mut self, child: Id, parent: Id) -> Answer {
        match self.try_adopt(child, parent) {
            Ok(()) => Answer::Ok,
            Err(why) => Answer::No(why),
        }
    }

    fn try_adopt(&mut self, child: Id, parent: Id) -> Result<(), Refusal> {
        if child == parent {
            return Err(Refusal::Tree(TreeRefusal::OwnFlowParent));
        }
        let of = self.by_id(parent);
        let is_listed = of.is_some_and(|of| self.jobs[of].children.contains(&child));
        let Some(at) = self.by_id(child) else {
            let has_heard = of.is_some_and(|of| is_listed && !self.is_open(of, child));
            return if has_heard { Ok(()) } else { Err(Refusal::Tree(TreeRefusal::UnknownChild(child))) };
        };
        let of = of.ok_or(Refusal::Tree(TreeRefusal::ParentNotFound(parent)))?;
        match self.jobs[at].parent {
            Some(Parent::Of(other)) if other != parent => {
                return Err(Refusal::Tree(TreeRefusal::HasParent(child, other)));
            }
            Some(Parent::Of(_)) if is_listed => return Ok(()),
            Some(_) | None => {}
        }
        if is_listed {
            mark("tree", "forward reference resolved");
            self.name_parent(at, of);
            return Ok(());
        }
        self.linkable(parent).map_err(Refusal::Tree)?;
        if self.waiting_on(parent).contains(&child) {
            return Err(Refusal::Circle);
        }
        self.link(at, of);
        Ok(())
    }

    /// RemoveChildDependency.
    pub fn detach_child(&mut self, id: Id) -> Answer {
        let Some(at) = self.by_id(id) else {
            let waiting: Vec<Generation> = (0..self.jobs.len()).filter(|at| self.is_open(*at, id)).collect();
            if waiting.is_empty() {
                return Answer::No(Refusal::Tree(TreeRefusal::UnknownJob(id)));
            }
            mark("tree", "a child that is gone is detached");
            waiting.into_iter().for_each(|parent| self.detach(parent, &[id]));
            return Answer::Detached(true);
        };
        let Some(Parent::Of(parent)) = self.jobs[at].parent else {
            return Answer::No(Refusal::Tree(TreeRefusal::NoParent(id)));
        };
        let Some(parent) = self.by_id(parent).filter(|parent| self.is_open(*parent, id)) else {
            return Answer::Detached(false);
        };
        mark("tree", "detached");
        self.jobs[at].parent = None;
        self.detach(parent, &[id]);
        Answer::Detached(true)
    }

    fn detach(&mut self, parent: Generation, ids: &[Id]) {
        let job = &mut self.jobs[parent];
        let waited = !job.unresolved.is_empty();
        job.children.retain(|id| !ids.contains(id));
        job.depends_on.retain(|id| !ids.contains(id));
        job.unresolved.retain(|id| !ids.contains(id));
        ids.iter().for_each(|id| job.forget_end(*id));
        if waited && job.unresolved.is_empty() && job.state == State::Blocked {
            self.let_go(parent);
        }
    }

    /// RemoveUnprocessedChildren.
    pub fn drop_unprocessed(&mut self, id: Id) -> Answer {
        let Some(parent) = self.by_id(id) else { return Answer::Ok };
        let mut gone = Vec::new();
        for child in self.jobs[parent].children.clone() {
            match self.by_id(child) {
                Some(at) if matches!(self.jobs[at].state, State::Queued | State::Blocked) => {
                    self.remove_job(at);
                    gone.push(child);
                }
                None if self.is_open(parent, child) => gone.push(child),
                Some(_) | None => {}
            }
        }
        if self.jobs[parent].state != State::Gone && !gone.is_empty() {
            mark("tree", "unprocessed children removed");
            self.detach(parent, &gone);
        }
        Answer::Ok
    }

    /// GetChildrenValues: whose results, in the order of the children.
    pub fn values(&self, id: Id) -> Answer {
        let Some(parent) = self.by_id(id) else { return Answer::Values(Vec::new()) };
        let job = &self.jobs[parent];
        let value = |child: &Id| {
            let known = job.ends.iter().find_map(|(of, queue, end)| match end {
                End::Value(at) if of == child => Some((*queue, *at)),
                _ => None,
            });
            let (queue, at) = known.or_else(|| self.by_id(*child).map(|at| (self.queue_of(at), at)))?;
            self.jobs[at].has_value().then_some((queue, *child, at))
        };
        let values: Vec<_> = job.children.iter().filter_map(value).collect();
        if values.iter().any(|(_, _, at)| self.jobs[*at].state == State::Gone) {
            mark("tree", "a result of a child that is gone");
        }
        Answer::Values(values)
    }

    /// GetFailedChildrenValues and GetIgnoredChildrenFailures: which children, in the order of their failures.
    pub fn failures(&self, id: Id, wanted: End) -> Answer {
        let ends = self.by_id(id).map_or(&[][..], |at| &self.jobs[at].ends);
        Answer::Failures(ends.iter().filter(|(_, _, end)| *end == wanted).map(|(id, queue, _)| (*queue, *id)).collect())
    }
}
