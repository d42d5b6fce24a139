//! What an add will do, decided without changing anything (dedup.md 2, steps 1 to 4). The reply, the log, the sentence and the
//! window's dry run all come from the same `Plan`.

use crate::command::{Add, Payload, StateName};
use crate::custom_id::IdDecision;
use crate::dedup::{DecisionCode, DedupDecision, DedupPolicy, KeyEntry, KeySeen, OwnerSeen, OwnerStanding, decide};
use crate::effects::{AddRecord, Decision, Facts};
use crate::engine::Engine;
use crate::flow::Refusal;
use crate::job::{Job, JobState};
use crate::names::{EntryId, JobId, JobKey, Origin, QueueId};
use crate::rejection::Rejection;
use crate::time::{Millis, Timestamp};
use std::collections::BTreeSet;
/// What an add will do, decided but not done.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) action: Action,
    pub(crate) decision: Decision,
    pub(crate) key_before: Option<KeySeen>,
    /// The queue that is added to; none = it is not there yet.
    pub(crate) queue: Option<QueueId>,
}

/// The change that goes with a decision.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// Answer with the live job that has the id.
    ReturnJob(JobKey),
    /// Answer with the key's owner, which may be gone.
    ReturnOwner(EntryId),
    /// Restart the window, then answer with the owner.
    Extend { entry: EntryId, ttl: Millis, until: Timestamp },
    /// Restart the window, then refuse.
    RefuseButExtend { entry: EntryId, ttl: Millis, until: Timestamp },
    /// Refuse and change nothing.
    RefuseTied(EntryId),
    /// Keep the add with the active owner.
    Keep { owner: JobKey, entry: EntryId },
    /// A new job. First `replaced` is removed and `retired` forgotten.
    Create { replaced: Option<JobKey>, retired: Option<JobKey> },
}

impl Action {
    /// The key's entry, where the add leaves it with its owner.
    pub(crate) fn held(self) -> Option<EntryId> {
        match self {
            Action::ReturnOwner(entry) | Action::RefuseTied(entry) => Some(entry),
            Action::Extend { entry, .. } | Action::RefuseButExtend { entry, .. } | Action::Keep { entry, .. } => {
                Some(entry)
            }
            Action::ReturnJob(_) | Action::Create { .. } => None,
        }
    }
}

impl Engine {
    /// What of a payload tells whether a repeat carried other data.
    pub(crate) fn fingerprint(&self, data: Option<&Payload>) -> u64 {
        (self.config.fingerprint)(data.map_or(&[], |bytes| &**bytes))
    }

    /// What an add would be answered now, without doing it (gui.md 11). A refusal is a decision too.
    /// The record is the one that the add would leave, but for the job it makes and for what the key is afterwards.
    pub fn dry_run(&self, now: Timestamp, add: &Add) -> AddRecord {
        let plan = self.check_dependencies(add, None).and_then(|()| self.plan(now, add));
        let (decision, key_before) = match plan {
            Ok(plan) => (plan.decision, plan.key_before),
            Err(why) => (refused(&why), self.entry_of(add).map(KeySeen::from)),
        };
        let (add, at, origin) = (add.clone(), now, Origin::Internal);
        AddRecord { at, origin, add, bulk: None, replay_of: None, decision, key_before, key_after: None }
    }

    pub(crate) fn check_dependencies(&self, add: &Add, batch: Option<&BTreeSet<&JobId>>) -> Result<(), Rejection> {
        let Some(rare) = &add.spec.rare else { return Ok(()) };
        for id in &rare.depends_on {
            if add.custom_id.as_ref() == Some(id) {
                return Err(Rejection::DependsOnItself(id.clone()));
            }
            if !self.is_known_id(id) && !batch.is_some_and(|named| named.contains(id)) {
                return Err(Rejection::DependencyNotFound(id.clone()));
            }
        }
        Ok(self.check_parent(add)?)
    }

    /// Adds whose jobs would wait for one another in a circle, told at the first of them that depends on something. An id that
    /// a live job has makes no new one.
    pub(crate) fn circle_of(&self, adds: &[Add]) -> Option<(usize, Rejection)> {
        let edges = |add: &'_ Add| -> bool {
            let is_new = |id| !self.jobs.by_id(id).is_some_and(Job::is_live);
            add.custom_id.as_ref().is_some_and(is_new)
                && add.spec.rare.as_ref().is_some_and(|rare| !rare.depends_on.is_empty())
        };
        let first = adds.iter().position(edges)?;
        let jobs: Vec<(&JobId, &[JobId])> = adds
            .iter()
            .filter(|add| edges(add))
            .filter_map(|add| Some((add.custom_id.as_ref()?, &add.spec.rare.as_ref()?.depends_on[..])))
            .collect();
        self.would_wait_in_circle(&jobs).then(|| (first, Refusal::Cycle.into()))
    }

    /// Steps 2 to 4 of dedup.md 2. Changes nothing.
    pub(crate) fn plan(&self, now: Timestamp, add: &Add) -> Result<Plan, Rejection> {
        let plan = self.plan_by_id_and_key(now, add)?;
        let is_new = matches!(plan.action, Action::Create { .. });
        match is_new.then(|| self.circle_of(std::slice::from_ref(add))).flatten() {
            Some((_, why)) => Err(why),
            None => Ok(plan),
        }
    }

    fn plan_by_id_and_key(&self, now: Timestamp, add: &Add) -> Result<Plan, Rejection> {
        let queue = self.queues.find(&add.spec.queue).map(|queue| queue.id);
        let id = self.decide_id(add.custom_id.as_ref())?;
        if let IdDecision::Live(job) = id {
            return Ok(Plan { queue, ..self.plan_repeat_of_id(now, add, job) });
        }
        let retired = match id {
            IdDecision::Retire(job) => Some(job),
            IdDecision::Free | IdDecision::Live(_) => None,
        };
        let entry = queue.zip(add.dedup_key.as_ref()).and_then(|(queue, key)| self.valid_key(queue, key, now));
        let Some(entry) = entry else {
            self.check_group(add, None)?;
            let decision = self.plan_free_key(now, queue, add);
            let action = Action::Create { replaced: None, retired };
            return Ok(Plan { action, decision, key_before: None, queue });
        };
        let standing = match self.jobs.get(entry.owner) {
            Some(job) if job.state == JobState::Active => OwnerStanding::Active,
            Some(job) if job.is_live() => OwnerStanding::Pending,
            Some(_) | None => OwnerStanding::Ended,
        };
        let tied = Engine::is_tied_to(add, &entry.owner_id) || self.consumers.contains_key(&entry.owner_id);
        let verdict = decide(Some(standing), DedupPolicy::of(&add.spec.dedup), tied, now);
        let plan = self.plan_held_key(now, add, entry, verdict, retired);
        if let Action::Create { replaced, .. } = plan.action {
            self.check_group(add, replaced)?;
        }
        Ok(plan)
    }

    /// A full group refuses, unless the newcomer takes the place of one of its own (dedup.md 6).
    fn check_group(&self, add: &Add, replaced: Option<JobKey>) -> Result<(), Rejection> {
        let Some(group) = add.spec.rare.as_ref().and_then(|rare| rare.group.as_ref()) else { return Ok(()) };
        let Some((most, queue)) = group.max_size.zip(self.queues.find(&add.spec.queue)) else { return Ok(()) };
        let is_member = |job: &Job| job.state == JobState::Queued && job.group() == Some(&group.id);
        let leaves = replaced.is_some_and(|owner| is_member(self.known(owner)));
        match queue.group_size(&group.id) - u64::from(leaves) < most {
            true => Ok(()),
            false => Err(Rejection::GroupFull(group.id.clone(), most)),
        }
    }

    fn plan_repeat_of_id(&self, now: Timestamp, add: &Add, job: JobKey) -> Plan {
        let found = self.known(job);
        let home = &self.queues.get(found.queue).name;
        let elsewhere = (*home != add.spec.queue).then(|| home.clone());
        let code = if elsewhere.is_some() { DecisionCode::ExistingElsewhere } else { DecisionCode::ExistingJobId };
        let facts = Facts {
            data_differs: found.fingerprint != self.fingerprint(add.data.as_ref()),
            options_dropped: add.spec.asks_beyond(&found.spec),
            key_not_taken: add.dedup_key.is_some() && found.dedup_key.as_deref() != add.dedup_key.as_deref(),
            job_id_not_used: false,
        };
        let decision = Decision {
            job: Some(found.id.clone()),
            job_key: Some(job),
            owner: Some(self.seen(now, job, &found.id)),
            elsewhere,
            facts,
            ..blank(code)
        };
        Plan { action: Action::ReturnJob(job), decision, key_before: None, queue: None }
    }

    fn plan_free_key(&self, now: Timestamp, queue: Option<QueueId>, add: &Add) -> Decision {
        let freed = queue.zip(add.dedup_key.as_ref()).and_then(|(queue, key)| self.keys.freed(queue, key));
        let Some(freed) = freed else { return blank(DecisionCode::Created) };
        let twin = self.jobs.get(freed.owner).filter(|job| job.is_live());
        Decision {
            owner: twin.map(|job| self.seen(now, job.key, &job.id)),
            freed: Some(Box::new(freed.clone())),
            ..blank(if twin.is_some() { DecisionCode::CreatedTwin } else { DecisionCode::CreatedFreed })
        }
    }

    /// The table's verdict about a held key, as a change and as facts for the sentence.
    fn plan_held_key(
        &self,
        now: Timestamp,
        add: &Add,
        entry: &KeyEntry,
        verdict: DedupDecision,
        retired: Option<JobKey>,
    ) -> Plan {
        let held = entry.entry;
        let owner = self.seen(now, entry.owner, &entry.owner_id);
        let ttl = add.spec.dedup.ttl.unwrap_or_default();
        let create = |replaced| Action::Create { replaced, retired };
        let (action, code) = match verdict {
            DedupDecision::Admit | DedupDecision::SucceedEnded => (create(None), DecisionCode::Created),
            DedupDecision::ReturnOwner => (Action::ReturnOwner(held), self.returned_code(add, entry)),
            DedupDecision::ExtendOwner { until } => {
                (Action::Extend { entry: held, ttl, until }, DecisionCode::Extended)
            }
            DedupDecision::RefuseButExtend { until } => {
                (Action::RefuseButExtend { entry: held, ttl, until }, DecisionCode::RejectedExtend)
            }
            DedupDecision::ReplaceOwner => (create(Some(entry.owner)), DecisionCode::Replaced),
            DedupDecision::SucceedActive => (create(None), DecisionCode::Moved),
            DedupDecision::KeepForLater => {
                let holds = self.known(entry.owner).rare().is_some_and(|rare| rare.stored_next.is_some());
                let code = if holds { DecisionCode::NextUpdated } else { DecisionCode::NextHeld };
                (Action::Keep { owner: entry.owner, entry: held }, code)
            }
            DedupDecision::RefuseDependants => (Action::RefuseTied(held), DecisionCode::RejectedDependents),
        };
        let refusal = match action {
            Action::RefuseButExtend { .. } => Some(Rejection::DuplicateExtended.to_string()),
            Action::RefuseTied(_) => Some(Rejection::CannotReplace(entry.owner_id.clone()).to_string()),
            _ => None,
        };
        let returns = matches!(action, Action::ReturnOwner(_) | Action::Extend { .. });
        let returned = if returns { self.jobs.get(entry.owner) } else { None };
        // A hash is of the data: whoever has the same hash has the same data, however it was written.
        let other_data = |job: &Job| !entry.from_hash && job.fingerprint != self.fingerprint(add.data.as_ref());
        let facts = Facts {
            data_differs: returned.is_some_and(other_data),
            options_dropped: returned.is_some_and(|job| add.spec.asks_beyond(&job.spec)),
            key_not_taken: false,
            job_id_not_used: returns && add.custom_id.is_some(),
        };
        let job = (returns || matches!(action, Action::Keep { .. })).then(|| entry.owner_id.clone());
        let job_key = job.is_some().then_some(entry.owner);
        let decision = Decision { job, job_key, owner: Some(owner), refusal, facts, ..blank(code) };
        Plan { action, decision, key_before: Some(entry.into()), queue: Some(entry.queue) }
    }

    fn returned_code(&self, add: &Add, entry: &KeyEntry) -> DecisionCode {
        let asked_in_vain = add.spec.dedup.extend && !add.spec.dedup.replace;
        match asked_in_vain {
            true => DecisionCode::ExtendedNoTtl,
            false if entry.from_hash => DecisionCode::ExistingHash,
            false => DecisionCode::ExistingKey,
        }
    }

    pub(crate) fn entry_of(&self, add: &Add) -> Option<&KeyEntry> {
        let queue = self.queues.find(&add.spec.queue)?;
        self.keys.find(queue.id, add.dedup_key.as_ref()?)
    }

    pub(crate) fn seen(&self, now: Timestamp, key: JobKey, id: &JobId) -> OwnerSeen {
        let job = self.jobs.get(key);
        let state: Option<StateName> = job.map(|job| job.state_name(now));
        OwnerSeen { key, id: id.clone(), state, attempts: job.map_or(0, |job| job.attempts) }
    }
}

/// A decision without facts.
pub(crate) fn blank(code: DecisionCode) -> Decision {
    Decision {
        code,
        job: None,
        job_key: None,
        owner: None,
        elsewhere: None,
        freed: None,
        refusal: None,
        facts: Facts::default(),
    }
}

pub(crate) fn refused(why: &Rejection) -> Decision {
    let code = match why {
        Rejection::GroupFull(..) => DecisionCode::RejectedLimit,
        _ => DecisionCode::RejectedInvalid,
    };
    Decision { refusal: Some(why.to_string()), ..blank(code) }
}
