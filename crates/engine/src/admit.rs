//! The add path (dedup.md 2): a plan (`plan.rs`), then its carrying out, in one step that nothing interleaves with.

use crate::command::Add;
use crate::custom_id::IdDecision;
use crate::dedup::{DecisionCode, KeySeen, LastAdd, Outcome};
use crate::effects::{AddRecord, Decision, Effects, Output};
use crate::engine::Engine;
use crate::event::{Event, EventKind};
use crate::job::{Blob, Extra, Job, JobState};
use crate::names::{EntryId, JobId, JobKey, KeyText, Origin, QueueId};
use crate::notice::tell_of_waiting;
use crate::plan::{Action, Plan, blank, refused};
use crate::rejection::Rejection;
use crate::reply::{Added, Reply};
use crate::time::Timestamp;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Where an add comes from, for the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub(crate) origin: Origin,
    pub(crate) bulk: Option<(u32, u32)>,
    pub(crate) replay_of: Option<u64>,
}

/// What goes before a new job is made.
struct Before {
    replaced: Option<JobKey>,
    retired: Option<JobKey>,
}

impl Engine {
    /// PUSH.
    pub(crate) fn push(
        &mut self,
        now: Timestamp,
        origin: Origin,
        add: Add,
        replay_of: Option<u64>,
        effects: &mut Effects,
    ) -> Result<Reply, Rejection> {
        let source = Source { origin, bulk: None, replay_of };
        self.check_dependencies(&add, None)
            .inspect_err(|why| self.log_refused(now, source, &add, why, effects))
            .and_then(|()| self.admit(now, source, add, effects))
            .map(Reply::Added)
    }

    /// PUSHB: everything is checked before anything is stored; then one by one, and the first refusal ends the batch while
    /// what came before it stays (protocol-core.md 6.4).
    pub(crate) fn push_bulk(
        &mut self,
        now: Timestamp,
        origin: Origin,
        adds: Vec<Add>,
        effects: &mut Effects,
    ) -> Result<Reply, Rejection> {
        let of = u32::try_from(adds.len()).unwrap_or(u32::MAX);
        let source = |at: usize| Source { origin, bulk: Some((at as u32 + 1, of)), replay_of: None };
        let named: BTreeSet<&JobId> = adds.iter().filter_map(|add| add.custom_id.as_ref()).collect();
        for (at, add) in adds.iter().enumerate() {
            self.check_dependencies(add, Some(&named)).map_err(|why| {
                let why = Rejection::InBatch(at, Box::new(why));
                self.log_refused(now, source(at), add, &why, effects);
                why
            })?;
        }
        if let Some((at, why)) = self.circle_of(&adds) {
            let why = Rejection::InBatch(at, Box::new(why));
            self.log_refused(now, source(at), &adds[at], &why, effects);
            return Err(why);
        }
        effects.handled += adds.len();
        let mut added = Vec::with_capacity(adds.len());
        for (at, add) in adds.into_iter().enumerate() {
            // What came before it may have taken its parent away, or made that parent one that it would wait for.
            self.check_parent(&add)
                .map_err(Rejection::from)
                .inspect_err(|why| self.log_refused(now, source(at), &add, why, effects))?;
            added.push(self.admit(now, source(at), add, effects)?);
        }
        Ok(Reply::AddedBulk(added))
    }

    fn admit(&mut self, now: Timestamp, source: Source, add: Add, effects: &mut Effects) -> Result<Added, Rejection> {
        effects.durable |= add.spec.durable;
        let plan = self.plan(now, &add).inspect_err(|why| self.log_refused(now, source, &add, why, effects))?;
        let Plan { action, mut decision, key_before, queue } = plan;
        let queue = queue.unwrap_or_else(|| self.queues.ensure(&add.spec.queue));
        let outcome = self.carry_out(now, queue, &add, action, &mut decision, effects);
        if decision.code.outcome() == Outcome::Collapsed {
            self.register(queue);
            self.totals.collapsed += 1;
            self.queues.get_mut(queue).totals.collapsed += 1;
        }
        let taken = |job: JobKey| self.keys.get(job.first_entry()).filter(|entry| entry.owner == job);
        let known = match action {
            Action::Create { .. } => decision.job_key.and_then(taken),
            _ => action.held().and_then(|entry| self.keys.get(entry)),
        };
        let found = || self.keys.find(queue, add.dedup_key.as_ref()?);
        let entry = known.or_else(found).map(|entry| entry.entry);
        if let Some(entry) = entry {
            self.tally(now, source.origin, entry, &decision);
        }
        let key_after = entry.and_then(|entry| self.keys.get(entry)).map(KeySeen::from);
        let Source { origin, bulk, replay_of } = source;
        let add = self.as_kept(Some(queue), add);
        effects.adds.push(AddRecord { at: now, origin, add, bulk, replay_of, decision, key_before, key_after });
        outcome
    }

    fn carry_out(
        &mut self,
        now: Timestamp,
        queue: QueueId,
        add: &Add,
        action: Action,
        decision: &mut Decision,
        effects: &mut Effects,
    ) -> Result<Added, Rejection> {
        let owner = |engine: &Engine, entry| {
            let entry = engine.keys.get(entry).expect("a planned entry is held");
            (entry.owner, entry.owner_id.clone())
        };
        match action {
            Action::ReturnJob(job) => {
                let id = self.known(job).id.clone();
                Ok(self.collapse(now, add, (job, id), "jobId", effects))
            }
            Action::ReturnOwner(entry) => {
                let owner = owner(self, entry);
                Ok(self.collapse(now, add, owner, "default", effects))
            }
            Action::Extend { entry, ttl, until } => {
                self.set_key_window(entry, Some(ttl), Some(until));
                let owner = owner(self, entry);
                Ok(self.collapse(now, add, owner, "extend", effects))
            }
            Action::RefuseButExtend { entry, ttl, until } => {
                self.set_key_window(entry, Some(ttl), Some(until));
                Err(Rejection::DuplicateExtended)
            }
            Action::RefuseTied(entry) => Err(Rejection::CannotReplace(owner(self, entry).1)),
            Action::Keep { owner, entry } => {
                self.set_key_window(entry, None, None);
                self.known_mut(owner).rare_mut().stored_next = Some(Box::new(add.clone()));
                self.dirty.job(owner);
                let id = self.known(owner).id.clone();
                Ok(self.collapse(now, add, (owner, id), "keepLast", effects))
            }
            Action::Create { replaced, retired } => {
                let before = Before { replaced, retired };
                Ok(self.create(now, queue, add, before, decision, effects))
            }
        }
    }

    /// Step 5 of dedup.md 2: retire, insert, register or move the key.
    fn create(
        &mut self,
        now: Timestamp,
        queue: QueueId,
        add: &Add,
        Before { replaced, retired }: Before,
        decision: &mut Decision,
        effects: &mut Effects,
    ) -> Added {
        let replaced_id = replaced.map(|owner| self.remove_replaced(now, owner, effects));
        if let Some(before) = retired {
            self.remove_job(before, None, now);
        }
        if let Some(before) = add.custom_id.as_ref().and_then(|id| self.completed_ids.remove(id)) {
            self.dirty.completed_id_gone(before);
        }
        let key = self.insert_job(now, queue, add, None);
        self.register_key(key, now);
        let id = self.announce(now, key, decision, effects);
        tell_of_waiting(now, self.known(key), effects);
        self.take_place(key, now);
        Added { id, duplicate: None, replaced: replaced_id }
    }

    /// A new job is counted and told.
    pub(crate) fn announce(
        &mut self,
        now: Timestamp,
        key: JobKey,
        decision: &mut Decision,
        effects: &mut Effects,
    ) -> JobId {
        let job = self.known(key);
        let (id, queue) = (job.id.clone(), job.queue);
        decision.job = Some(id.clone());
        decision.job_key = Some(key);
        self.totals.pushed += 1;
        self.queues.get_mut(queue).totals.pushed += 1;
        self.emit(effects, queue, Some(&id), now, EventKind::Pushed);
        id
    }

    /// A pending owner goes, its custom id and its dependencies with it; the key stays for the successor (dedup.md 3).
    fn remove_replaced(&mut self, now: Timestamp, owner: JobKey, effects: &mut Effects) -> JobId {
        let job = self.known(owner);
        let (id, queue, prev) = (job.id.clone(), job.queue, job.state_name(now));
        self.remove_job(owner, None, now);
        self.emit(effects, queue, Some(&id), now, EventKind::Removed { prev });
        id
    }

    /// `planned` is the id of a job whose client made it but does not ask for it as custom id.
    pub(crate) fn insert_job(&mut self, now: Timestamp, queue: QueueId, add: &Add, planned: Option<JobId>) -> JobKey {
        self.register(queue);
        let spec = self.queues.get_mut(queue).shared(&add.spec);
        let key = JobKey(self.next_number());
        let id = planned.or_else(|| add.custom_id.clone()).unwrap_or_else(|| self.fresh_id(now));
        let rare = add.spec.rare.as_deref();
        let created_at = rare.and_then(|rare| rare.timestamp).unwrap_or(now);
        let depends_on = rare.map_or(&[][..], |rare| &rare.depends_on);
        let waits_for = self.to_wait_for(depends_on, |id| self.has_completed(id));
        let state = if waits_for.is_empty() { JobState::Queued } else { JobState::Blocked };
        let mut job = Job {
            key,
            id,
            queue,
            spec,
            dedup_key: add.dedup_key.as_deref().map(KeyText::from),
            has_custom_id: add.custom_id.is_some(),
            state,
            ready: false,
            data: Blob::from(add.data.clone()),
            fingerprint: self.fingerprint(add.data.as_ref()),
            priority: add.spec.priority,
            lifo: add.spec.lifo,
            created_at,
            run_at: created_at.plus(add.spec.delay),
            started_at: None,
            completed_at: None,
            last_heartbeat: created_at,
            attempts: 0,
            stall_count: 0,
            progress: 0.0,
            result: Blob::Absent,
            delivery: None,
            has_state_row: false,
            extra: Extra::default(),
        };
        if !waits_for.is_empty() {
            job.rare_mut().unresolved = waits_for;
        }
        let admitted = job.state_name(now);
        if admitted != job.state_asked_for() {
            job.rare_mut().admitted_as = Some(admitted);
        }
        self.dirty.job_fresh(key);
        self.jobs.insert(job);
        self.enter(key, now);
        self.note_past_of_children(key);
        key
    }

    /// A generated id that nobody has, not even as a custom id.
    fn fresh_id(&mut self, now: Timestamp) -> JobId {
        loop {
            let id = self.ids.job_id(now);
            if !self.is_known_id(&id) {
                return id;
            }
        }
    }

    /// The add that an ended owner had stored follows now, as an ordinary add; a job id that is taken is left out, for its
    /// data must not be lost (dedup.md 10).
    pub(crate) fn admit_stored(&mut self, now: Timestamp, mut add: Add, effects: &mut Effects) {
        let taken = !matches!(self.decide_id(add.custom_id.as_ref()), Ok(IdDecision::Free | IdDecision::Retire(_)));
        if taken {
            add.custom_id = None;
        }
        let source = Source { origin: Origin::Internal, bulk: None, replay_of: None };
        // A refusal stands in the log of adds; there is nobody to answer.
        let _ = self.admit(now, source, add, effects);
    }

    /// The add of a schedule's firing.
    pub(crate) fn admit_scheduled(
        &mut self,
        now: Timestamp,
        add: Add,
        effects: &mut Effects,
    ) -> Result<Added, Rejection> {
        self.admit(now, Source { origin: Origin::Internal, bulk: None, replay_of: None }, add, effects)
    }

    /// The next run of a repeating job: it takes the key over, past its predecessor's window (dedup.md 6), but not from
    /// another live job: its predecessor had lost the key to that one (dedup.md 13.7).
    pub(crate) fn admit_repeat(&mut self, now: Timestamp, add: &Add, effects: &mut Effects) -> JobKey {
        let mut decision = blank(DecisionCode::Created);
        let key_before = self.entry_of(add).map(KeySeen::from);
        let queue = self.queues.ensure(&add.spec.queue);
        let key = self.insert_job(now, queue, add, None);
        self.reclaim_key(key, now);
        self.announce(now, key, &mut decision, effects);
        let key_after = self.entry_of(add).map(KeySeen::from);
        let add = self.as_kept(Some(queue), add.clone());
        let (origin, bulk, replay_of) = (Origin::Internal, None, None);
        effects.adds.push(AddRecord { at: now, origin, add, bulk, replay_of, decision, key_before, key_after });
        key
    }

    /// The answer of an add that made no job, and the event about it, in the queue where the returned job lives. That job may
    /// be gone; then its id may be another one's.
    fn collapse(
        &self,
        now: Timestamp,
        add: &Add,
        (job, id): (JobKey, JobId),
        strategy: &'static str,
        effects: &mut Effects,
    ) -> Added {
        let found = self.jobs.get(job).or_else(|| self.jobs.by_id(&id));
        let home = found.map(|job| self.queues.get(job.queue).name.clone());
        let key = match strategy {
            "jobId" => None,
            _ => add.dedup_key.clone(),
        };
        let queue = home.unwrap_or_else(|| add.spec.queue.clone());
        if effects.watched && strategy != "jobId" {
            let fields = [("queue", (&queue).into()), ("jobId", (&id).into()), ("strategy", strategy.into())];
            effects.tell(now, "job:deduplicated", fields);
        }
        let kind = EventKind::Duplicated { key, strategy };
        effects.outputs.push(Output::Event(Event { queue, job: Some(id.clone()), at: now, kind }));
        Added { id, duplicate: Some(strategy), replaced: None }
    }

    /// Counts what an add did to its key, for the window.
    fn tally(&mut self, now: Timestamp, origin: Origin, entry: EntryId, decision: &Decision) {
        if matches!(decision.code, DecisionCode::ExistingJobId | DecisionCode::ExistingElsewhere) {
            return;
        }
        let conn = match origin {
            Origin::Client { conn, .. } => conn.0,
            Origin::Inspector { .. } | Origin::Internal => 0,
        };
        let Decision { code, facts, .. } = decision;
        let absorbed = code.outcome() == Outcome::Collapsed;
        let extended = matches!(code, DecisionCode::Extended | DecisionCode::RejectedExtend);
        self.tally_key(entry, now, |tally| {
            tally.collapsed += u64::from(absorbed);
            tally.data_differs += u64::from(facts.data_differs);
            tally.extended += u64::from(extended);
            tally.last = Some(LastAdd { decision: *code, at: now, conn });
        });
    }

    pub(crate) fn log_refused(
        &self,
        now: Timestamp,
        source: Source,
        add: &Add,
        why: &Rejection,
        effects: &mut Effects,
    ) {
        let Source { origin, bulk, replay_of } = source;
        let decision = refused(why);
        let key = self.entry_of(add).map(KeySeen::from);
        let (key_before, key_after) = (key.clone(), key);
        let add = self.as_kept(self.queues.find(&add.spec.queue).map(|queue| queue.id), add.clone());
        effects.adds.push(AddRecord { at: now, origin, add, bulk, replay_of, decision, key_before, key_after });
    }

    /// The add for the log, with the request that other jobs of its kind hold already.
    fn as_kept(&self, queue: Option<QueueId>, mut add: Add) -> Add {
        let known = queue.and_then(|queue| self.queues.get(queue).known_spec(&add.spec));
        if let Some(known) = known.filter(|known| !Arc::ptr_eq(known, &add.spec)) {
            add.spec = Arc::clone(known);
        }
        add
    }
}

#[cfg(test)]
#[path = "admit_tests.rs"]
mod admit_tests;
