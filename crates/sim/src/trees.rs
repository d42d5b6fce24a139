//! Trees of jobs: what clients ask for, and what must hold of those in the queue where nothing but work is done to them.
//!
//! A tree there is known whole or not at all, one that was answered stays, and a parent is delivered only when all of its
//! children have completed.

use crate::random::Random;
use onceover_engine::Engine;
use onceover_engine::command::{Add, Command, NewJob, RareOptions};
use onceover_engine::flow::{Planned, Request};
use onceover_engine::job::{Job, JobState};
use onceover_engine::names::JobId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The queue in which only trees, pulls and answers of workers happen.
pub const TREES: &str = "trees";

/// The trees that were asked for in the queue of that name.
#[derive(Debug, Default)]
pub struct Trees {
    /// By the id of the first job: all ids, and whether a client was told that they were made.
    asked: BTreeMap<JobId, (Vec<JobId>, bool)>,
    /// Trees that were found whole after an answer.
    pub made: u64,
}

impl Trees {
    /// A client asks for it.
    pub fn asked(&mut self, command: &Command) {
        if let Some(ids) = of(command) {
            self.asked.insert(ids[0].clone(), (ids, false));
        }
    }

    /// A client was told that it was made.
    pub fn answered(&mut self, command: &Command) {
        if let Some((_, made)) = of(command).and_then(|ids| self.asked.get_mut(&ids[0])) {
            *made = true;
            self.made += 1;
        }
    }

    /// What was answered need not have been synced.
    pub fn power_failed(&mut self) {
        self.asked.values_mut().for_each(|(_, made)| *made = false);
    }

    /// # Panics
    /// A tree is there in part, or one that was answered is not there.
    pub fn check(&self, engine: &Engine) {
        for (ids, made) in self.asked.values() {
            let known = ids.iter().filter(|id| engine.job(id).is_some()).count();
            assert!(
                known == ids.len() || (known == 0 && !made),
                "{known} of the {} jobs of {ids:?} are there",
                ids.len()
            );
        }
    }

    /// A job was delivered.
    ///
    /// # Panics
    /// One of its children has not completed.
    pub fn delivered(&self, job: &Job, engine: &Engine) {
        if *job.spec.queue != *TREES {
            return;
        }
        for id in job.children_ids() {
            let state = engine.job(id).map(|child| child.state);
            assert_eq!(state, Some(JobState::Completed), "{} runs before its child {id}", job.id);
        }
    }
}

/// The ids of a tree in the queue of trees.
fn of(command: &Command) -> Option<Vec<JobId>> {
    let Command::Flow(Request::Push(jobs)) = command else { return None };
    let first = jobs.first().filter(|job| *job.add.spec.queue == *TREES);
    first.map(|_| jobs.iter().map(|job| job.id.clone()).collect())
}

/// # Panics
/// A job waits although everything it waits for has completed, or for one that waits for it.
pub fn check_blocked(engine: &Engine) {
    for job in engine.jobs().filter(|job| job.state == JobState::Blocked) {
        for id in engine.waits_for(job.key) {
            let state = engine.job(id).map(|other| other.state);
            let can_be = matches!(state, None | Some(JobState::Failed | JobState::Blocked));
            assert!(can_be, "{} still waits for {id}, which is {state:?} when all work is done", job.id);
        }
    }
}

/// A PUSHF of two to six jobs, each the child of a later one, with or without policies. `queue` says where.
pub fn flow(random: &mut Random, queue: impl Fn(&mut Random) -> Arc<str>, with_policies: bool) -> Command {
    let name = random.bits();
    let count = 2 + random.below(5);
    let id = |at: usize| JobId::parse(&format!("tree{name:x}-{at}"));
    let parents: Vec<usize> = (0..count - 1).map(|at| at + 1 + random.below(count - 1 - at)).collect();
    let mut jobs = Vec::new();
    for at in 0..count {
        let children: Vec<JobId> = (0..at).filter(|child| parents[*child] == at).map(id).collect();
        let mut rare = RareOptions { depends_on: children.clone(), children_ids: children, ..RareOptions::default() };
        rare.parent_id = parents.get(at).map(|parent| id(*parent));
        if with_policies && rare.parent_id.is_some() {
            match random.below(5) {
                0 => rare.fail_parent_on_failure = true,
                1 => rare.continue_parent_on_failure = true,
                2 => rare.ignore_dependency_on_failure = true,
                3 => rare.remove_dependency_on_failure = true,
                _ => {}
            }
        }
        let mut spec = NewJob::new(queue(random), "n");
        spec.max_attempts = random.pick(&[1, 2]);
        spec.remove_on_complete = with_policies && random.chance(30);
        spec.remove_on_fail = with_policies && random.chance(20);
        spec.rare = Some(Box::new(rare));
        jobs.push(Planned { id: id(at), add: Add::new(spec) });
    }
    Command::Flow(Request::Push(jobs))
}

/// A change of links: most of these name jobs that are there.
pub fn change(random: &mut Random, id: JobId, other: JobId) -> Command {
    Command::Flow(match random.below(6) {
        0 | 1 => Request::UpdateParent { child: id, parent: other },
        2 => Request::RemoveChildDependency(id),
        3 => Request::RemoveUnprocessedChildren(id),
        4 => Request::ChildrenValues(id),
        _ => Request::FailedChildren(id),
    })
}
