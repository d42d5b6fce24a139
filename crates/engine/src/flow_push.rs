//! PUSHF: a whole tree in one step, all of its jobs or none (protocol-admin.md 7.2).

use crate::admit::Source;
use crate::command::Add;
use crate::dedup::DecisionCode;
use crate::effects::{AddRecord, Effects};
use crate::engine::Engine;
use crate::flow::{Planned, Refusal};
use crate::names::{JobId, Origin};
use crate::new_job::RareOptions;
use crate::notice::tell_of_waiting;
use crate::plan::blank;
use crate::rejection::Rejection;
use crate::reply::JobRecord;
use crate::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// The jobs of a flow, found by id.
struct Topology<'a> {
    jobs: &'a [Planned],
    at: BTreeMap<&'a JobId, usize>,
    /// Each job's children.
    children: Vec<BTreeSet<&'a JobId>>,
    no_options: RareOptions,
}

impl<'a> Topology<'a> {
    fn new(jobs: &'a [Planned]) -> Result<Topology<'a>, (usize, Refusal)> {
        let mut at = BTreeMap::default();
        for (place, Planned { id, .. }) in jobs.iter().enumerate() {
            if at.insert(id, place).is_some() {
                return Err((place, Refusal::DuplicateId(id.clone())));
            }
        }
        let of = |job: &'a Planned| job.add.spec.rare.as_deref().map_or(&[][..], |rare| &rare.children_ids);
        let children = jobs.iter().map(|job| of(job).iter().collect()).collect();
        Ok(Topology { jobs, at, children, no_options: RareOptions::default() })
    }

    fn options(&self, place: usize) -> &RareOptions {
        self.jobs[place].add.spec.rare.as_deref().unwrap_or(&self.no_options)
    }

    /// References, and edges that both ends agree on.
    fn check(&self, place: usize) -> Result<(), Refusal> {
        let id = &self.jobs[place].id;
        let options = self.options(place);
        let dependencies: BTreeSet<&JobId> = options.depends_on.iter().collect();
        if dependencies.len() < options.depends_on.len() {
            return Err(Refusal::DuplicateDependency(id.clone()));
        }
        if self.children[place].len() < options.children_ids.len() {
            return Err(Refusal::DuplicateChild(id.clone()));
        }
        for dependency in &options.depends_on {
            if !self.at.contains_key(dependency) {
                return Err(Refusal::DependencyNotFound(dependency.clone()));
            }
            if dependency == id {
                return Err(Refusal::DependsOnItself(id.clone()));
            }
        }
        for child in &options.children_ids {
            if !dependencies.contains(child) {
                return Err(Refusal::ChildNotDependency(child.clone()));
            }
            let Some(place) = self.at.get(child) else { return Err(Refusal::ChildNotFound(child.clone())) };
            if self.options(*place).parent_id.as_ref() != Some(id) {
                return Err(Refusal::ChildDoesNotPointBack { child: child.clone(), parent: id.clone() });
            }
        }
        let Some(parent) = &options.parent_id else { return Ok(()) };
        let Some(place) = self.at.get(parent) else { return Err(Refusal::FlowParentNotFound(parent.clone())) };
        match self.children[*place].contains(id) {
            true => Ok(()),
            false => Err(Refusal::ParentDoesNotOwn { parent: parent.clone(), child: id.clone() }),
        }
    }
}

impl Engine {
    /// Answers with the jobs as they were made, in order.
    pub(crate) fn push_flow(
        &mut self,
        now: Timestamp,
        origin: Origin,
        jobs: &[Planned],
        effects: &mut Effects,
    ) -> Result<Vec<JobRecord>, Rejection> {
        let of = u32::try_from(jobs.len()).unwrap_or(u32::MAX);
        let source = |at: usize| Source { origin, bulk: Some((at as u32 + 1, of)), replay_of: None };
        self.check_flow(jobs).map_err(|(at, why)| {
            self.log_refused(now, source(at), &jobs[at].add, &why, effects);
            why
        })?;
        let mut records = Vec::with_capacity(jobs.len());
        for (at, Planned { id, add }) in jobs.iter().enumerate() {
            effects.durable |= add.spec.durable;
            let mut decision = blank(DecisionCode::Created);
            let queue = self.queues.ensure(&add.spec.queue);
            let key = self.insert_job(now, queue, add, Some(id.clone()));
            self.announce(now, key, &mut decision, effects);
            let Source { origin, bulk, replay_of } = source(at);
            let (add, key_before, key_after) = (add.clone(), None, None);
            effects.adds.push(AddRecord { at: now, origin, add, bulk, replay_of, decision, key_before, key_after });
            let job = self.known(key);
            records.push(JobRecord { job: job.clone(), state: job.state_name(now) });
        }
        self.tell_of_flow(now, &records, effects);
        Ok(records)
    }

    fn tell_of_flow(&self, now: Timestamp, records: &[JobRecord], effects: &mut Effects) {
        if !effects.watched {
            return;
        }
        let queues: BTreeSet<&str> = records.iter().map(|record| &*record.job.spec.queue).collect();
        let (jobs, queues) = (records.len() as u64, queues.len() as u64);
        effects.tell(now, "flow:pushed", [("jobs", jobs.into()), ("queues", queues.into())]);
        records.iter().for_each(|record| tell_of_waiting(now, &record.job, effects));
    }

    /// What stands against the flow, and at which of its jobs. Changes nothing.
    fn check_flow(&self, jobs: &[Planned]) -> Result<(), (usize, Rejection)> {
        let refused = |(at, why): (usize, Refusal)| (at, Rejection::from(why));
        let topology = Topology::new(jobs).map_err(refused)?;
        for place in 0..jobs.len() {
            topology.check(place).map_err(|why| refused((place, why)))?;
        }
        for (place, Planned { id, .. }) in jobs.iter().enumerate() {
            // An id that somebody waits for is one that a job had.
            if self.is_known_id(id) || self.consumers.contains_key(id) {
                return Err(refused((place, Refusal::Exists(id.clone()))));
            }
        }
        let edges: Vec<(&JobId, &[JobId])> =
            (0..jobs.len()).map(|place| (&jobs[place].id, &topology.options(place).depends_on[..])).collect();
        // Nobody waits for one of them already, for its id would be taken.
        if self.would_wait_in_circle(&edges) {
            return Err(refused((0, Refusal::Cycle)));
        }
        self.check_flow_groups(jobs, &topology)
    }

    /// Every group takes the jobs that would be queued in it, one after the other.
    fn check_flow_groups(&self, jobs: &[Planned], topology: &Topology<'_>) -> Result<(), (usize, Rejection)> {
        let mut before: BTreeMap<(&str, &str), u64> = BTreeMap::default();
        for (place, Planned { add: Add { spec, .. }, .. }) in jobs.iter().enumerate() {
            let options = topology.options(place);
            let Some(group) = options.group.as_ref().filter(|_| options.depends_on.is_empty()) else { continue };
            let size = before
                .entry((&spec.queue, &group.id))
                .or_insert_with(|| self.queues.find(&spec.queue).map_or(0, |queue| queue.group_size(&group.id)));
            if let Some(most) = group.max_size.filter(|most| *size >= *most) {
                return Err((place, Rejection::GroupFull(group.id.clone(), most)));
            }
            *size += 1;
        }
        Ok(())
    }
}
