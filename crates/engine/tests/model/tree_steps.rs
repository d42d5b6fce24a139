//! Steps about trees of jobs: as text, as the engine's commands, and as the model's answers.

use crate::adding::{AddStep, Words};
use crate::commands::Step;
use crate::drive::Stage;
use crate::naive::{Answer, Id, Spec};
use crate::translate::{Asked, QUEUE_TEXTS};
use crate::trees::{End, Parent, TreeRefusal};
use onceover_engine::command::{Command, RareOptions};
use onceover_engine::flow::{ChildFailure, ChildValue, PARENT_PENDING, Planned, Request};
use onceover_engine::job::Blob;
use onceover_engine::names::JobId;
use std::fmt;
use std::rc::Rc;

/// What a child's failure means for its parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    #[default]
    Keep,
    Fail,
    Continue,
    Ignore,
    Forget,
}

/// Every policy and its text.
pub const POLICIES: [(Policy, &str); 5] = [
    (Policy::Keep, "keep"),
    (Policy::Fail, "fail"),
    (Policy::Continue, "continue"),
    (Policy::Ignore, "ignore"),
    (Policy::Forget, "forget"),
];

/// The parent that an add names, by label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParentOf {
    /// It will be named later.
    Pending,
    /// It joins this one; inside a flow, the one of this label there.
    Joins(u32),
    /// It names this one, but its data does not say so.
    Bare(u32),
    /// Its data names another queue than the parent's.
    Elsewhere(u32),
}

impl fmt::Display for ParentOf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParentOf::Pending => out.write_str(" pending"),
            ParentOf::Joins(label) => write!(out, " joins={label}"),
            ParentOf::Bare(label) => write!(out, " bare={label}"),
            ParentOf::Elsewhere(label) => write!(out, " elsewhere={label}"),
        }
    }
}

/// A step about trees.
#[derive(Clone, Debug, PartialEq)]
pub enum TreeStep {
    /// PUSHF: each add's parent is one of them.
    Flow(Vec<AddStep>),
    /// UpdateParent.
    Adopt { child: u32, parent: u32 },
    /// RemoveChildDependency.
    Detach(u32),
    /// RemoveUnprocessedChildren.
    DropUnprocessed(u32),
    /// GetChildrenValues.
    Values(u32),
    /// GetFailedChildrenValues.
    Failed(u32),
    /// GetIgnoredChildrenFailures.
    Ignored(u32),
}

impl fmt::Display for TreeStep {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TreeStep::Flow(adds) => {
                let adds: Vec<String> = adds.iter().map(AddStep::to_string).collect();
                write!(out, "flow {}", adds.join(" | "))
            }
            TreeStep::Adopt { child, parent } => write!(out, "adopt {child} by={parent}"),
            TreeStep::Detach(child) => write!(out, "detach {child}"),
            TreeStep::DropUnprocessed(parent) => write!(out, "drop-unprocessed {parent}"),
            TreeStep::Values(parent) => write!(out, "values {parent}"),
            TreeStep::Failed(parent) => write!(out, "failed-children {parent}"),
            TreeStep::Ignored(parent) => write!(out, "ignored-children {parent}"),
        }
    }
}

/// The step about trees that these words mean.
pub fn parse(kind: &str, rest: &str, words: &Words<'_>) -> Option<Step> {
    Some(Step::Tree(match kind {
        "flow" => TreeStep::Flow(rest.split('|').map(|add| Words::new(add).add()).collect()),
        "adopt" => TreeStep::Adopt { child: words.number(1), parent: words.option("by").expect("a parent") },
        "detach" => TreeStep::Detach(words.number(1)),
        "drop-unprocessed" => TreeStep::DropUnprocessed(words.number(1)),
        "values" => TreeStep::Values(words.number(1)),
        "failed-children" => TreeStep::Failed(words.number(1)),
        "ignored-children" => TreeStep::Ignored(words.number(1)),
        _ => return None,
    }))
}

/// What a spec says of an add's place in a tree, for the engine.
pub fn options_of(stage: &Stage, spec: &Spec, options: &mut RareOptions) {
    options.parent_id = spec.parent.map(|parent| match parent {
        Parent::Pending => JobId::parse(PARENT_PENDING),
        Parent::Of(id) => stage.job_id(id),
    });
    options.parent_queue = spec.named_queue.map(|queue| QUEUE_TEXTS[usize::from(queue)].clone());
    options.children_ids = spec.children.iter().map(|id| stage.job_id(*id)).collect();
    match spec.step.policy {
        Policy::Keep => {}
        Policy::Fail => options.fail_parent_on_failure = true,
        Policy::Continue => options.continue_parent_on_failure = true,
        Policy::Ignore => options.ignore_dependency_on_failure = true,
        Policy::Forget => options.remove_dependency_on_failure = true,
    }
}

/// The specs of a flow: links are by label inside it, so that most flows are whole.
fn flow_specs(stage: &Stage, adds: &[AddStep]) -> Vec<Rc<Spec>> {
    let id_of = |add: &AddStep| stage.spec(add).id.unwrap_or(Id::Planned(add.label));
    let by_label = |label: u32| adds.iter().find(|add| add.label == label).map(id_of);
    let parent_of = |add: &AddStep| match add.parent {
        Some(ParentOf::Joins(label)) if label != add.label => adds.iter().find(|other| other.label == label),
        Some(_) | None => None,
    };
    let spec = |add: &AddStep| {
        let is_child = |other: &&AddStep| parent_of(other).is_some_and(|parent| parent.label == add.label);
        let children: Vec<Id> = adds.iter().filter(is_child).map(id_of).collect();
        let mut after = children.clone();
        for id in add.after.iter().filter_map(|label| by_label(*label).or_else(|| stage.model.by_label(*label))) {
            if id != id_of(add) && !after.contains(&id) {
                after.push(id);
            }
        }
        let parent = parent_of(add);
        Rc::new(Spec {
            step: add.clone(),
            id: Some(id_of(add)),
            after,
            parent: parent.map(|parent| Parent::Of(id_of(parent))),
            named_queue: parent.map(|parent| parent.queue),
            children,
            made_by: None,
        })
    };
    adds.iter().map(spec).collect()
}

impl Stage {
    /// The command that a step about trees means, and the model's answer to it.
    pub fn translate_tree(&mut self, step: &TreeStep) -> Option<Asked> {
        let id = |stage: &Stage, label: u32| stage.model.by_label(label).map(|id| (id, stage.job_id(id)));
        let (request, answer) = match step {
            TreeStep::Flow(adds) => {
                let specs = flow_specs(self, adds);
                let mut ids: Vec<_> = specs.iter().filter_map(|spec| spec.id).collect();
                ids.sort_by_key(|id| self.job_id(*id));
                ids.dedup();
                // An id twice is refused before anything else is looked at; nothing is to be said about it here.
                if ids.len() < specs.len() {
                    return None;
                }
                let planned = |spec: &Rc<Spec>| {
                    let id = self.job_id(spec.id.expect("a job of a flow has an id"));
                    Planned { id, add: onceover_engine::command::Add { custom_id: None, ..self.add(spec) } }
                };
                (Request::Push(specs.iter().map(planned).collect()), self.model.flow(&specs))
            }
            TreeStep::Adopt { child, parent } => {
                let (of, name) = id(self, *child)?;
                let (by, parent) = id(self, *parent)?;
                (Request::UpdateParent { child: name, parent }, self.model.adopt(of, by))
            }
            TreeStep::Detach(child) => {
                let (of, name) = id(self, *child)?;
                (Request::RemoveChildDependency(name), self.model.detach_child(of))
            }
            TreeStep::DropUnprocessed(parent) => {
                let (of, name) = id(self, *parent)?;
                (Request::RemoveUnprocessedChildren(name), self.model.drop_unprocessed(of))
            }
            TreeStep::Values(parent) => {
                let (of, name) = id(self, *parent)?;
                (Request::ChildrenValues(name), self.model.values(of))
            }
            TreeStep::Failed(parent) => {
                let (of, name) = id(self, *parent)?;
                (Request::FailedChildren(name), self.model.failures(of, End::Continued))
            }
            TreeStep::Ignored(parent) => {
                let (of, name) = id(self, *parent)?;
                (Request::IgnoredChildren(name), self.model.failures(of, End::Ignored))
            }
        };
        Some((1, Command::Flow(request), answer))
    }

    /// An answer about trees as the model would say it.
    pub fn tree_answer(&self, answer: &onceover_engine::flow::Answer) -> Option<Answer> {
        use onceover_engine::flow::Answer as Told;
        let place = |queue: &str| QUEUE_TEXTS.iter().position(|text| **text == *queue).map(|at| at as u8);
        Some(match answer {
            Told::Pushed(records) => {
                Answer::Pushed(records.iter().map(|record| self.id_of(&record.job.id)).collect::<Option<_>>()?)
            }
            Told::Values(values) => {
                let value = |ChildValue { queue, id, key, value }: &ChildValue| {
                    let at = self.known.iter().position(|(_, known)| known == key)?;
                    let wanted = self.model.jobs[at].spec.step.label.to_le_bytes();
                    let is_same = match value {
                        Blob::Here(bytes) => **bytes == wanted,
                        Blob::OnDisk => self.rows.result(*key) == Some(&wanted[..]),
                        Blob::Absent => false,
                    };
                    is_same.then_some((place(queue)?, self.id_of(id)?, at))
                };
                Answer::Values(values.iter().map(value).collect::<Option<_>>()?)
            }
            Told::Failures(failures) => {
                let failure = |failed: &ChildFailure| Some((place(&failed.queue)?, self.id_of(&failed.id)?));
                Answer::Failures(failures.iter().map(failure).collect::<Option<_>>()?)
            }
            Told::Detached(detached) => Answer::Detached(*detached),
        })
    }

    /// A refusal about trees as clients read it (protocol-admin.md 7.1 to 7.3).
    pub fn tree_refusal(&self, refusal: &TreeRefusal) -> String {
        let name = |id: &Id| self.job_id(*id);
        let queue = |queue: &u8| QUEUE_TEXTS[usize::from(*queue)].clone();
        match refusal {
            TreeRefusal::Exists(id) => format!("Flow job {} already exists", name(id)),
            TreeRefusal::DependencyNotFound(id) => format!("flow dependency not found: {}", name(id)),
            TreeRefusal::OwnParent => "A job cannot be its own parent".to_owned(),
            TreeRefusal::ParentNotFound(id) => format!("Parent job not found: {}", name(id)),
            TreeRefusal::NotLinkable(id) => format!("Parent job {} is not linkable", name(id)),
            TreeRefusal::Elsewhere(id, home, named) => {
                format!("Parent job {} belongs to queue {}, not {}", name(id), queue(home), queue(named))
            }
            TreeRefusal::OwnFlowParent => "A flow job cannot be its own parent".to_owned(),
            TreeRefusal::UnknownChild(id) => format!("Child job not found: {}", name(id)),
            TreeRefusal::HasParent(id, parent) => {
                format!("Child job {} already belongs to parent {}", name(id), name(parent))
            }
            TreeRefusal::UnknownJob(id) => format!("Job not found: {}", name(id)),
            TreeRefusal::NoParent(id) => format!("Job {} has no parent", name(id)),
        }
    }
}
