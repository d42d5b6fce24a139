//! Later changes of who belongs to whom: joining a parent, forward references, detaching (protocol-admin.md 7.1, 7.3).
//!
//! Payloads are not looked at: what clients read of the links in a job's data is written when it is sent
//! (`RareState::links`).

use crate::command::{Add, StateName};
use crate::dedup::FreedBy;
use crate::effects::Effects;
use crate::engine::Engine;
use crate::event::EventKind;
use crate::flow::{Refusal, is_pending};
use crate::flow_wait::Ending;
use crate::job::{Blob, Job, JobState};
use crate::limits::CHILDREN_MAX;
use crate::names::{JobId, JobKey};
use crate::new_job::RareOptions;
use crate::time::Timestamp;
use std::sync::Arc;

/// The parent that an add joins at once, and the queue it names. A bare `parentId` links nothing, a forward reference is
/// resolved later.
fn joins(rare: &RareOptions) -> Option<(&JobId, &Arc<str>)> {
    rare.parent_id.as_ref().zip(rare.parent_queue.as_ref()).filter(|(parent, _)| !is_pending(parent))
}

impl Engine {
    /// Whether the add may join the parent that it names.
    pub(crate) fn check_parent(&self, add: &Add) -> Result<(), Refusal> {
        let Some(rare) = add.spec.rare.as_deref() else { return Ok(()) };
        let Some((parent, named)) = joins(rare) else { return Ok(()) };
        if add.custom_id.as_ref() == Some(parent) {
            return Err(Refusal::OwnParent);
        }
        let job = self.linkable(parent)?;
        let queue = &self.queues.get(job.queue).name;
        if queue != named {
            let (parent, queue, named) = (parent.clone(), queue.clone(), named.clone());
            return Err(Refusal::ParentElsewhere { parent, queue, named });
        }
        if !rare.depends_on.is_empty() {
            let mut waiting = self.waiting_on(parent);
            waiting.insert(parent.clone());
            if rare.depends_on.iter().any(|id| waiting.contains(id)) {
                return Err(Refusal::Cycle);
            }
        }
        Ok(())
    }

    /// Whether the add is tied to this job: it depends on it or joins it.
    pub(crate) fn is_tied_to(add: &Add, id: &JobId) -> bool {
        let Some(rare) = add.spec.rare.as_deref() else { return false };
        rare.depends_on.contains(id) || joins(rare).is_some_and(|(parent, _)| parent == id)
    }

    fn linkable(&self, parent: &JobId) -> Result<&Job, Refusal> {
        let job = self.jobs.by_id(parent).ok_or_else(|| Refusal::ParentNotFound(parent.clone()))?;
        match job.state {
            JobState::Queued | JobState::Blocked if job.children_ids().len() < CHILDREN_MAX => Ok(job),
            JobState::Queued | JobState::Blocked => Err(Refusal::TooManyChildren(parent.clone(), CHILDREN_MAX)),
            JobState::Active | JobState::Completed | JobState::Failed => Err(Refusal::NotLinkable(parent.clone())),
        }
    }

    /// A new job takes its place: it joins the parent it names, and children that waited for it to be named are its own.
    pub(crate) fn take_place(&mut self, key: JobKey, now: Timestamp) {
        let Some(rare) = self.known(key).spec.rare.clone() else { return };
        for child in &rare.children_ids {
            let waits = |job: &&Job| job.is_parent_pending();
            if let Some(child) = self.jobs.by_id(child).filter(waits).map(|job| job.key) {
                self.name_parent(child, key, now);
            }
        }
        // It could join when that was checked; an add that was kept for later may come too late, or wait for it by now.
        let parent = joins(&rare).and_then(|(parent, _)| self.linkable(parent).ok());
        let waits_for = |parent: &&Job| {
            let job = self.known(key);
            job.state == JobState::Blocked && self.waiting_on(&parent.id).contains(&job.id)
        };
        let parent = parent.filter(|parent| parent.key != key && !waits_for(parent)).map(|job| job.key);
        if let Some(parent) = parent {
            self.link(key, parent, now);
        }
    }

    /// The child's forward reference becomes a name. If it has ended already, the parent hears of it.
    fn name_parent(&mut self, child: JobKey, parent: JobKey, now: Timestamp) {
        let job = self.known(parent);
        let (id, queue) = (job.id.clone(), self.queues.get(job.queue).name.clone());
        let links = self.known_mut(child).links_mut();
        (links.parent, links.parent_queue) = (Some(id), Some(queue));
        self.dirty.job(child);
        self.tell_of_past(child, parent, now);
    }

    /// What the child did before it had this parent counts as if it had had it.
    fn tell_of_past(&mut self, child: JobKey, parent: JobKey, now: Timestamp) {
        let job = self.known(child);
        let (id, queue) = (job.id.clone(), self.queues.get(job.queue).name.clone());
        let leaves = job.rare().is_some_and(|rare| rare.remove_when_linked);
        match job.state {
            JobState::Completed => {
                let is_told = self.families.get(&parent).is_some_and(|family| family.ends.contains_key(&id));
                let needs = self.known(parent).state != JobState::Completed && !is_told;
                if needs && job.result != Blob::Absent {
                    self.record_end(parent, id.clone(), queue, Ending::Value(child));
                }
                if leaves {
                    self.remove_job(child, None, now);
                    self.remember_completed(child, id);
                }
            }
            JobState::Failed => {
                let error = job.failure().and_then(|failure| failure.error.clone());
                self.tell_parent(child, error);
                if leaves {
                    self.remove_job(child, None, now);
                }
            }
            JobState::Queued | JobState::Blocked | JobState::Active => {}
        }
    }

    /// The parent, which waits in its queue or for others already, waits for the child too.
    fn link(&mut self, child: JobKey, parent: JobKey, now: Timestamp) {
        let (id, ended) = (self.known(child).id.clone(), self.known(child).state == JobState::Completed);
        let was_queued = self.known(parent).state == JobState::Queued;
        self.leave(parent);
        let job = self.known_mut(parent);
        let links = job.links_mut();
        for list in [&mut links.children, &mut links.depends_on] {
            if !list.contains(&id) {
                list.push(id.clone());
            }
        }
        let rare = job.rare_mut();
        match rare.unresolved.binary_search(&id) {
            Err(place) if !ended => rare.unresolved.insert(place, id.clone()),
            // It depended on this one already, whose end is not written down any more.
            Ok(place) if ended => drop(rare.unresolved.remove(place)),
            Ok(_) | Err(_) => {}
        }
        let waits = !rare.unresolved.is_empty();
        // Whoever was parked by its worker wakes up with the children that are linked now.
        rare.parked_by_worker = false;
        job.state = if waits { JobState::Blocked } else { JobState::Queued };
        if waits && was_queued {
            self.note(parent, StateName::WaitingChildren, now, None, None);
        }
        self.forget_dependency(parent, &id);
        self.enter(parent, now);
        if self.known(child).parent_id() == Some(&self.known(parent).id) {
            self.tell_of_past(child, parent, now);
        } else {
            self.name_parent(child, parent, now);
        }
    }

    /// UpdateParent.
    pub(crate) fn update_parent(&mut self, now: Timestamp, child: &JobId, parent: &JobId) -> Result<(), Refusal> {
        if child == parent {
            return Err(Refusal::OwnFlowParent);
        }
        let of = self.jobs.by_id(parent);
        let is_declared = of.is_some_and(|job| job.children_ids().contains(child));
        let Some(job) = self.jobs.by_id(child) else {
            // It ended and left before it could be told its parent's name, and the parent has heard of it.
            let is_known = of.is_some_and(|parent| is_declared && !self.is_open(parent.key, child));
            return if is_known { Ok(()) } else { Err(Refusal::UnknownChild(child.clone())) };
        };
        let Some(of) = of else { return Err(Refusal::ParentNotFound(parent.clone())) };
        let (child_key, parent_key) = (job.key, of.key);
        match job.parent_id() {
            Some(other) if other != parent && !is_pending(other) => {
                return Err(Refusal::HasParent { child: child.clone(), parent: other.clone() });
            }
            Some(other) if other == parent && is_declared => return Ok(()),
            Some(_) | None => {}
        }
        if is_declared {
            self.name_parent(child_key, parent_key, now);
            return Ok(());
        }
        self.linkable(parent)?;
        if self.waiting_on(parent).contains(child) {
            return Err(Refusal::Cycle);
        }
        self.link(child_key, parent_key, now);
        Ok(())
    }

    /// RemoveChildDependency: child and parent know nothing of one another any more. Answers false when the parent does not
    /// wait for the child. A child that is gone can be detached too, for nobody else could free its parent.
    pub(crate) fn remove_child_dependency(
        &mut self,
        now: Timestamp,
        id: &JobId,
        effects: &mut Effects,
    ) -> Result<bool, Refusal> {
        let Some(child) = self.jobs.by_id(id) else {
            let waiting = self.consumers.get(id).into_iter().flatten().copied();
            let parents: Vec<JobKey> = waiting.filter(|key| self.is_open(*key, id)).collect();
            if parents.is_empty() {
                return Err(Refusal::UnknownJob(id.clone()));
            }
            parents.iter().for_each(|parent| self.detach(*parent, std::slice::from_ref(id), now, effects));
            return Ok(true);
        };
        let Some(parent) = child.parent_id().filter(|parent| !is_pending(parent)) else {
            return Err(Refusal::NoParent(id.clone()));
        };
        let child = child.key;
        let waits = |parent: &&Job| self.is_open(parent.key, id);
        let Some(parent) = self.jobs.by_id(parent).filter(waits).map(|parent| parent.key) else { return Ok(false) };
        let links = self.known_mut(child).links_mut();
        (links.parent, links.parent_queue) = (None, None);
        self.dirty.job(child);
        self.detach(parent, std::slice::from_ref(id), now, effects);
        Ok(true)
    }

    /// RemoveUnprocessedChildren: what has not begun is cancelled, and the parent waits for the others only (2.9.5 leaves it
    /// blocked for ever).
    pub(crate) fn remove_unprocessed_children(&mut self, now: Timestamp, id: &JobId, effects: &mut Effects) {
        let Some(parent) = self.jobs.by_id(id) else { return };
        let (key, children) = (parent.key, parent.children_ids().to_vec());
        let mut gone = Vec::new();
        for child in children {
            match self.jobs.by_id(&child).map(|job| (job.key, job.queue, job.state)) {
                Some((child_key, queue, JobState::Queued | JobState::Blocked)) => {
                    self.remove_job(child_key, Some(FreedBy::Cancelled), now);
                    let kind = EventKind::Removed { prev: StateName::Waiting };
                    self.emit(effects, queue, Some(&child), now, kind);
                    gone.push(child);
                }
                None if self.is_open(key, &child) => gone.push(child),
                Some((_, _, JobState::Active | JobState::Completed | JobState::Failed)) | None => {}
            }
        }
        // A child may have been its own parent's ancestor by a link without a dependency.
        if self.jobs.get(key).is_some() && !gone.is_empty() {
            self.detach(key, &gone, now, effects);
        }
    }

    /// The parent neither has these children nor waits for them any more; it runs when nothing else blocks it.
    fn detach(&mut self, parent: JobKey, ids: &[JobId], now: Timestamp, effects: &mut Effects) {
        let waited = self.known(parent).rare().is_some_and(|rare| !rare.unresolved.is_empty());
        self.stop_to_wait(parent);
        let gone: std::collections::BTreeSet<&JobId> = ids.iter().collect();
        let job = self.known_mut(parent);
        let links = job.links_mut();
        links.children.retain(|id| !gone.contains(id));
        links.depends_on.retain(|id| !gone.contains(id));
        job.rare_mut().unresolved.retain(|id| !gone.contains(id));
        ids.iter().for_each(|id| self.forget_dependency(parent, id));
        self.begin_to_wait(parent);
        self.dirty.job(parent);
        let is_open = self.families.get(&parent).is_some_and(|family| family.open > 0);
        if waited && !is_open && self.known(parent).state == JobState::Blocked {
            self.unblock(parent, now);
            self.tell_freed(parent, now, effects);
        }
    }
}
