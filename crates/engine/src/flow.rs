//! Trees of jobs: what can be asked of them, who belongs to whom, and what a child's failure means (protocol-admin.md 7).
//!
//! A parent waits for its children because it depends on them; the links say only who belongs to whom. Waiting is in
//! `flow_wait.rs`, the making of a whole tree in `flow_push.rs`, later changes in `flow_link.rs`, failures in
//! `flow_fail.rs`, and what a parent reads of its children in `flow_values.rs`.

use crate::effects::Effects;
use crate::engine::Engine;
use crate::job::{Blob, Job};
use crate::names::{JobId, JobKey, Origin};
use crate::new_job::Add;
use crate::rejection::Rejection;
use crate::reply::{JobRecord, Reply};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// What a client writes as parent when it will name the real one later: a forward reference, which UpdateParent or the
/// parent's `childrenIds` resolve.
pub const PARENT_PENDING: &str = "pending";

/// A job of a PUSHF.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// Its id, which the client made; its request has it as custom id only if the client wants to find it so.
    pub id: JobId,
    /// What is asked for. Without key and repetition.
    pub add: Add,
}

/// A command about trees.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// PUSHF: all of them or none.
    Push(Vec<Planned>),
    /// UpdateParent.
    UpdateParent {
        /// Who belongs
        child: JobId,
        /// to whom.
        parent: JobId,
    },
    /// GetChildrenValues of a parent.
    ChildrenValues(JobId),
    /// GetFailedChildrenValues of a parent: what the continue policy recorded.
    FailedChildren(JobId),
    /// GetIgnoredChildrenFailures of a parent: what the ignore policy recorded.
    IgnoredChildren(JobId),
    /// RemoveChildDependency of a child.
    RemoveChildDependency(JobId),
    /// RemoveUnprocessedChildren of a parent.
    RemoveUnprocessedChildren(JobId),
}

/// A child's result as its parent reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildValue {
    /// The child's queue.
    pub queue: Arc<str>,
    /// The child.
    pub id: JobId,
    /// Its generation, to find the result on disk.
    pub key: JobKey,
    /// The result.
    pub value: Blob,
}

/// A child's failure as its parent reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildFailure {
    /// The child's queue.
    pub queue: Arc<str>,
    /// The child.
    pub id: JobId,
    /// Its last error.
    pub error: String,
}

/// An answer about trees. The comment of each variant is its shape on the wire.
#[derive(Clone, Debug)]
pub enum Answer {
    /// PUSHF: `{ok, data: {jobs}}`, in the order asked.
    Pushed(Vec<JobRecord>),
    /// GetChildrenValues: `{ok, data: {values}}`
    Values(Vec<ChildValue>),
    /// GetFailedChildrenValues, GetIgnoredChildrenFailures: `{ok, values}`
    Failures(Vec<ChildFailure>),
    /// RemoveChildDependency: `{ok, removed}`
    Detached(bool),
}

/// A job's place among others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Links {
    /// Its parent, or the forward reference to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<JobId>,
    /// The parent's queue; none = its data does not name it, and clients do not look for it there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_queue: Option<Arc<str>>,
    /// Its children.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<JobId>,
    /// What it depends on, its children included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<JobId>,
}

/// What a child's final failure means for its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Nothing: the parent waits until the child is retried and completes.
    KeepWaiting,
    /// It fails too.
    Fail,
    /// It runs at once, whatever its other children do, and can read the failure.
    Continue,
    /// It waits for the others only, and can read the failure.
    Ignore,
    /// It waits for the others only.
    Forget,
}

/// Why something about a tree is refused. `Display` is the text that clients know (protocol-admin.md 7).
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// PUSHF with an id that is taken.
    Exists(JobId),
    /// PUSHF with an id twice.
    DuplicateId(JobId),
    /// A dependency is not in the flow.
    DependencyNotFound(JobId),
    /// A job depends on itself.
    DependsOnItself(JobId),
    /// A job names a dependency twice.
    DuplicateDependency(JobId),
    /// A job names a child twice.
    DuplicateChild(JobId),
    /// A parent does not depend on its child.
    ChildNotDependency(JobId),
    /// A child is not in the flow.
    ChildNotFound(JobId),
    /// A child names another parent or none.
    ChildDoesNotPointBack {
        /// The child.
        child: JobId,
        /// Who lists it.
        parent: JobId,
    },
    /// A parent is not in the flow.
    FlowParentNotFound(JobId),
    /// A parent does not list the child.
    ParentDoesNotOwn {
        /// Whom the child names.
        parent: JobId,
        /// The child.
        child: JobId,
    },
    /// Jobs wait for one another in a circle.
    Cycle,
    /// Joining a parent that is not there.
    ParentNotFound(JobId),
    /// Joining a parent that runs or has ended.
    NotLinkable(JobId),
    /// Joining a parent that has as many children as it may.
    TooManyChildren(JobId, usize),
    /// Joining a parent that lives in another queue than the data says.
    ParentElsewhere {
        /// The parent.
        parent: JobId,
        /// Where it lives.
        queue: Arc<str>,
        /// Where it was said to be.
        named: Arc<str>,
    },
    /// An add that names itself as parent.
    OwnParent,
    /// The same of UpdateParent.
    OwnFlowParent,
    /// UpdateParent of a child that is not there.
    UnknownChild(JobId),
    /// UpdateParent of a child that has another parent.
    HasParent {
        /// The child.
        child: JobId,
        /// Its parent.
        parent: JobId,
    },
    /// RemoveChildDependency of an unknown job.
    UnknownJob(JobId),
    /// RemoveChildDependency of a job without a parent.
    NoParent(JobId),
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Exists(id) => write!(out, "Flow job {id} already exists"),
            Refusal::DuplicateId(id) => write!(out, "duplicate flow job id: {id}"),
            Refusal::DependencyNotFound(id) => write!(out, "flow dependency not found: {id}"),
            Refusal::DependsOnItself(id) => write!(out, "flow job cannot depend on itself: {id}"),
            Refusal::DuplicateDependency(id) => write!(out, "duplicate dependency in flow job: {id}"),
            Refusal::DuplicateChild(id) => write!(out, "duplicate child in flow job: {id}"),
            Refusal::ChildNotDependency(id) => write!(out, "flow child is missing from dependencies: {id}"),
            Refusal::ChildNotFound(id) => write!(out, "flow child not found: {id}"),
            Refusal::ChildDoesNotPointBack { child, parent } => {
                write!(out, "flow child {child} does not point back to parent {parent}")
            }
            Refusal::FlowParentNotFound(id) => write!(out, "flow parent not found: {id}"),
            Refusal::ParentDoesNotOwn { parent, child } => {
                write!(out, "flow parent {parent} does not own child {child}")
            }
            Refusal::Cycle => out.write_str("flow contains a dependency cycle"),
            Refusal::ParentNotFound(id) => write!(out, "Parent job not found: {id}"),
            Refusal::NotLinkable(id) => write!(out, "Parent job {id} is not linkable"),
            Refusal::TooManyChildren(id, most) => {
                write!(out, "Parent job {id} has {most} children, the most it may have")
            }
            Refusal::ParentElsewhere { parent, queue, named } => {
                write!(out, "Parent job {parent} belongs to queue {queue}, not {named}")
            }
            Refusal::OwnParent => out.write_str("A job cannot be its own parent"),
            Refusal::OwnFlowParent => out.write_str("A flow job cannot be its own parent"),
            Refusal::UnknownChild(id) => write!(out, "Child job not found: {id}"),
            Refusal::HasParent { child, parent } => {
                write!(out, "Child job {child} already belongs to parent {parent}")
            }
            Refusal::UnknownJob(id) => write!(out, "Job not found: {id}"),
            Refusal::NoParent(id) => write!(out, "Job {id} has no parent"),
        }
    }
}

impl From<Refusal> for Rejection {
    fn from(refusal: Refusal) -> Rejection {
        Rejection::Flow(Box::new(refusal))
    }
}

impl Job {
    /// Its place among others as it was asked for; a later change has its own record (`RareState::links`).
    fn links_asked_for(&self) -> Links {
        let Some(rare) = self.spec.rare.as_deref() else { return Links::default() };
        Links {
            parent: rare.parent_id.clone(),
            parent_queue: rare.parent_queue.clone(),
            children: rare.children_ids.clone(),
            depends_on: rare.depends_on.clone(),
        }
    }

    /// Its links, if they are not those it was added with any more.
    pub fn changed_links(&self) -> Option<&Links> {
        self.rare()?.links.as_deref()
    }

    pub(crate) fn links_mut(&mut self) -> &mut Links {
        let asked_for = self.links_asked_for();
        self.rare_mut().links.get_or_insert_with(|| Box::new(asked_for))
    }

    /// Ids it depends on.
    pub fn depends_on(&self) -> &[JobId] {
        match self.changed_links() {
            Some(links) => &links.depends_on,
            None => self.spec.rare.as_ref().map_or(&[], |rare| &rare.depends_on),
        }
    }

    /// Its children.
    pub fn children_ids(&self) -> &[JobId] {
        match self.changed_links() {
            Some(links) => &links.children,
            None => self.spec.rare.as_ref().map_or(&[], |rare| &rare.children_ids),
        }
    }

    /// Its parent as clients see it: possibly a forward reference, or a job that is gone.
    pub fn parent_id(&self) -> Option<&JobId> {
        match self.changed_links() {
            Some(links) => links.parent.as_ref(),
            None => self.spec.rare.as_ref()?.parent_id.as_ref(),
        }
    }

    /// Whether its parent is still to be named.
    pub fn is_parent_pending(&self) -> bool {
        self.parent_id().is_some_and(is_pending)
    }

    /// What its failure means for its parent.
    pub fn policy(&self) -> Policy {
        match self.spec.rare.as_deref() {
            Some(rare) if rare.fail_parent_on_failure => Policy::Fail,
            Some(rare) if rare.continue_parent_on_failure => Policy::Continue,
            Some(rare) if rare.ignore_dependency_on_failure => Policy::Ignore,
            Some(rare) if rare.remove_dependency_on_failure => Policy::Forget,
            Some(_) | None => Policy::KeepWaiting,
        }
    }
}

/// Whether an id stands for a parent that is still to be named.
pub fn is_pending(id: &JobId) -> bool {
    matches!(id, JobId::Text(text) if &**text == PARENT_PENDING)
}

impl Engine {
    pub(crate) fn flow(
        &mut self,
        now: Timestamp,
        origin: Origin,
        request: Request,
        effects: &mut Effects,
    ) -> Result<Reply, Rejection> {
        Ok(match request {
            Request::Push(jobs) => Reply::Flow(Answer::Pushed(self.push_flow(now, origin, &jobs, effects)?)),
            Request::UpdateParent { child, parent } => {
                self.update_parent(now, &child, &parent)?;
                Reply::Ok
            }
            Request::ChildrenValues(id) => Reply::Flow(Answer::Values(self.children_values(&id))),
            Request::FailedChildren(id) => Reply::Flow(Answer::Failures(self.failed_children(&id))),
            Request::IgnoredChildren(id) => Reply::Flow(Answer::Failures(self.ignored_children(&id))),
            Request::RemoveChildDependency(id) => {
                Reply::Flow(Answer::Detached(self.remove_child_dependency(now, &id, effects)?))
            }
            Request::RemoveUnprocessedChildren(id) => {
                self.remove_unprocessed_children(now, &id, effects);
                Reply::Ok
            }
        })
    }
}
