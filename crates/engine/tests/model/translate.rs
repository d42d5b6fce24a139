//! Between the two languages: a step as the engine's command and as the model's answer, replies and decisions as the model
//! says them.

use crate::adding::{AddStep, IdOf};
use crate::commands::{ClaimOf, IDS, KEYS, QUEUES, REPEAT_EVERY, Step, Token, Worked};
use crate::drive::Stage;
use crate::group_steps;
use crate::limits::RATE_DURATION;
use crate::naive::{Answer, Code, Id, Refusal, Spec, State};
use crate::schedule_steps;
use crate::tree_steps::{self, ParentOf};
use crate::trees::Parent;
use onceover_engine::command::*;
use onceover_engine::dedup::DecisionCode;
use onceover_engine::effects::AddRecord;
use onceover_engine::limit::{Rate, Request as Limit};
use onceover_engine::names::JobId;
use onceover_engine::reply::Reply;
use onceover_engine::schedule::Timing;
use onceover_engine::time::Millis;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

/// A token that was never given.
const NO_TOKEN: usize = usize::MAX;

/// `QUEUES`, shared.
pub static QUEUE_TEXTS: LazyLock<Vec<Arc<str>>> =
    LazyLock::new(|| QUEUES.iter().map(|name| Arc::from(*name)).collect());
/// `KEYS`, shared.
pub static KEY_TEXTS: LazyLock<Vec<Arc<str>>> = LazyLock::new(|| KEYS.iter().map(|key| Arc::from(*key)).collect());
static ID_TEXTS: LazyLock<Vec<JobId>> = LazyLock::new(|| IDS.iter().map(|id| JobId::parse(id)).collect());

/// A command of a connection, and the answer that the model gives.
pub type Asked = (u64, Command, Answer);

fn queue_text(queue: u8) -> Arc<str> {
    QUEUE_TEXTS[usize::from(queue)].clone()
}

/// The model's word for a decision; how a key had become free is no part of the contract.
pub fn code_of(code: DecisionCode) -> Code {
    match code {
        DecisionCode::Created | DecisionCode::CreatedFreed | DecisionCode::CreatedTwin => Code::New,
        DecisionCode::ExistingKey | DecisionCode::ExistingHash => Code::SameKey,
        DecisionCode::ExistingJobId => Code::SameJobId,
        DecisionCode::ExistingElsewhere => Code::Elsewhere,
        DecisionCode::Extended => Code::Extended,
        DecisionCode::ExtendedNoTtl => Code::NoTtl,
        DecisionCode::Replaced => Code::Replaced,
        DecisionCode::Moved => Code::Moved,
        DecisionCode::NextHeld => Code::Held,
        DecisionCode::NextUpdated => Code::Updated,
        DecisionCode::RejectedExtend => Code::RejectedExtend,
        DecisionCode::RejectedDependents => Code::RejectedDependents,
        DecisionCode::RejectedInvalid | DecisionCode::RejectedLimit | DecisionCode::RejectedStorage => Code::Invalid,
    }
}

/// A dry run says what the add then does; only a new job has no name yet.
pub fn same_decision(dry: &AddRecord, real: &AddRecord) -> Result<(), String> {
    if dry.key_before != real.key_before {
        return Err(format!("a dry run meets {:?}, the add {:?}", dry.key_before, real.key_before));
    }
    let (dry, real) = (&dry.decision, &real.decision);
    let is_new = matches!(code_of(real.code), Code::New | Code::Replaced | Code::Moved);
    let mut real = real.clone();
    if is_new {
        real.job = dry.job.clone();
        real.job_key = dry.job_key;
    }
    if *dry == real { Ok(()) } else { Err(format!("a dry run says {dry:?}, the add does {real:?}")) }
}

impl Stage {
    pub fn job_id(&self, id: Id) -> JobId {
        match id {
            Id::Custom(at) => ID_TEXTS[usize::from(at)].clone(),
            Id::Made(generation) => self.known[generation].0.clone(),
            Id::Planned(label) => JobId::parse(&format!("t{label}")),
        }
    }

    /// The model's id of an engine's id.
    pub fn id_of(&self, id: &JobId) -> Option<Id> {
        if let Some(at) = ID_TEXTS.iter().position(|text| text == id) {
            return Some(Id::Custom(at as u8));
        }
        let at = self.known.iter().position(|(known, _)| known == id)?;
        Some(self.model.jobs[at].id)
    }

    pub fn spec(&self, add: &AddStep) -> Rc<Spec> {
        let id = match add.id {
            Some(IdOf::Custom(at)) => Some(Id::Custom(at)),
            Some(IdOf::Job(label)) => self.model.by_label(label),
            None => None,
        };
        let resolved = |labels: &[u32]| {
            let mut ids: Vec<Id> = Vec::new();
            // Nothing is said of a job that depends on itself by way of a reused id.
            for known in labels.iter().filter_map(|label| self.model.by_label(*label)) {
                if Some(known) != id && !ids.contains(&known) {
                    ids.push(known);
                }
            }
            ids
        };
        let children = resolved(&add.children);
        let after = resolved(&[&add.children[..], &add.after].concat());
        let (parent, named_queue) = self.parent_of(add);
        Rc::new(Spec { step: add.clone(), id, after, parent, named_queue, children, made_by: None })
    }

    /// The parent that an add names, and the queue that its data names.
    fn parent_of(&self, add: &AddStep) -> (Option<Parent>, Option<u8>) {
        let of = |label: u32| {
            let id = self.model.by_label(label)?;
            Some((id, self.model.by_id(id).map_or(0, |at| self.model.jobs[at].spec.step.queue)))
        };
        match add.parent {
            None => (None, None),
            Some(ParentOf::Pending) => (Some(Parent::Pending), Some(add.queue)),
            Some(ParentOf::Bare(label)) => (of(label).map(|(id, _)| Parent::Of(id)), None),
            Some(ParentOf::Joins(label)) => of(label).map(|(id, home)| (Parent::Of(id), home)).unzip(),
            Some(ParentOf::Elsewhere(label)) => of(label).map(|(id, home)| (Parent::Of(id), (home + 1) % 3)).unzip(),
        }
    }

    pub fn add(&self, spec: &Spec) -> Add {
        let step = &spec.step;
        let dedup_key = step.key.map(|key| KEY_TEXTS[usize::from(key)].clone());
        let dedup = match dedup_key {
            Some(_) => DedupRequest {
                from_hash: false,
                ttl: step.ttl.map(Millis),
                extend: step.extend,
                replace: step.replace,
                keep_last: step.keep,
            },
            None => DedupRequest::default(),
        };
        let rare = {
            let mut options = RareOptions {
                depends_on: spec.after.iter().map(|id| self.job_id(*id)).collect(),
                ttl: step.job_ttl.map(Millis),
                timeout: step.timeout.map(Millis),
                schedule: spec.made_by.map(|(name, _)| schedule_steps::name_text(name)),
                drop_if_lost: spec.made_by.is_some_and(|(_, drops)| drops),
                group: group_steps::group_of(step.group, step.group_max),
                repeat: step
                    .repeat
                    .map(|limit| Repeat { limit: Some(limit), ..Repeat::new(Timing::Every(Millis(REPEAT_EVERY))) }),
                ..RareOptions::default()
            };
            tree_steps::options_of(self, spec, &mut options);
            (options != RareOptions::default()).then(|| Box::new(options))
        };
        let backoff = Backoff { delay: Millis(if step.slow { 100_000 } else { 0 }), fixed: true, as_object: false };
        let new = NewJob {
            queue: queue_text(step.queue),
            name: Arc::from(step.label.to_string()),
            dedup,
            priority: step.priority,
            delay: Millis(step.delay),
            max_attempts: step.attempts,
            backoff,
            lifo: false,
            remove_on_complete: step.forget_done,
            remove_on_fail: step.forget_failed,
            durable: false,
            rare,
        };
        let custom_id = spec.id.map(|id| self.job_id(id));
        Add { spec: Arc::new(new), custom_id, dedup_key, data: Some(Payload::from(step.label.to_le_bytes())) }
    }

    /// The claim's job and token, for both sides.
    fn claim(&self, claim: ClaimOf) -> Option<(Id, Option<usize>, Claim)> {
        let id = match claim.job {
            Worked::Job(label) => self.model.by_label(label)?,
            Worked::Taken(back) => self.model.taken(back)?,
        };
        let mut given = self.model.given.iter().rev().filter(|(of, _)| *of == id).map(|(_, number)| *number);
        let token = match claim.token {
            Token::Right => given.next(),
            Token::None => None,
            Token::Old => Some(given.nth(1).unwrap_or(NO_TOKEN)),
        };
        let text = token.map(|number| self.tokens.get(number).cloned().unwrap_or_else(|| "never given".to_owned()));
        Some((id, token, Claim { id: self.job_id(id), token: text }))
    }

    /// The command that a step means, and the model's answer to it. None when its job does not exist.
    pub fn translate(&mut self, step: &Step) -> Option<Asked> {
        let asked = match step {
            Step::Push(add) => {
                let spec = self.spec(add);
                let add = self.add(&spec);
                (1, Command::Push { add, replay_of: None }, self.model.push(&spec))
            }
            Step::Bulk(adds) => {
                let specs: Vec<Rc<Spec>> = adds.iter().map(|add| self.spec(add)).collect();
                let adds = specs.iter().map(|spec| self.add(spec)).collect();
                (1, Command::PushBulk { adds }, self.model.bulk(&specs))
            }
            Step::Pull { queue, conn, lock, detach, wants } => {
                let pull = Pull {
                    queue: queue_text(*queue),
                    count: 1,
                    bulk: false,
                    timeout: Millis(0),
                    owner: lock.map(|_| Arc::from("w")),
                    lock_ttl: Millis(lock.unwrap_or(30_000)),
                    detach: *detach,
                    group: group_steps::wants_of(*wants),
                };
                let conn_id = self.conns[usize::from(*conn)];
                (conn_id, Command::Pull(pull), self.model.pull(*queue, *conn, *lock, *detach, *wants))
            }
            Step::Ack { claim, remove } => {
                let (id, token, Claim { id: name, token: text }) = self.claim(*claim)?;
                let job = self.model.by_id(id).map(|at| self.model.jobs[at].spec.step.label);
                // Jobs whose label is a multiple of four complete without a result.
                let label = job.filter(|label| !label.is_multiple_of(4));
                let result = label.map(|label| Payload::from(label.to_le_bytes()));
                let ack = Ack { id: name, token: text, result, remove: *remove };
                (1, Command::Ack(ack), self.model.ack(id, token, *remove))
            }
            Step::Fail { claim, unrecoverable, remove } => {
                let (id, token, Claim { id: name, token: text }) = self.claim(*claim)?;
                let fail = Fail {
                    id: name,
                    token: text,
                    error: Some("boom".to_owned()),
                    unrecoverable: *unrecoverable,
                    stack: Vec::new(),
                    remove: *remove,
                };
                (1, Command::Fail(fail), self.model.fail(id, token, *unrecoverable, *remove))
            }
            Step::Tree(step) => return self.translate_tree(step),
            Step::Schedule(step) => self.translate_schedule(step),
            Step::Group(step) => self.translate_group(*step),
            _ => return self.translate_move(step),
        };
        Some(asked)
    }

    fn translate_move(&mut self, step: &Step) -> Option<Asked> {
        let (command, answer) = match step {
            Step::Heartbeat(claim) => {
                let (id, token, claim) = self.claim(*claim)?;
                (Command::JobHeartbeat(Renewal { claim, duration: None }), self.model.heartbeat(id, token))
            }
            Step::Discard(claim) => {
                let (id, token, claim) = self.claim(*claim)?;
                (Command::Discard { claim }, self.model.discard(id, token))
            }
            Step::Delay { claim, delay } => {
                let (id, token, claim) = self.claim(*claim)?;
                (Command::ChangeDelay { claim, delay: Millis(*delay) }, self.model.delay(id, token, *delay))
            }
            Step::ToDelayed { claim, delay } => {
                let (id, token, claim) = self.claim(*claim)?;
                (Command::MoveToDelayed { claim, delay: Millis(*delay) }, self.model.move_to_delayed(id, token, *delay))
            }
            Step::ToWait(claim) => {
                let (id, token, claim) = self.claim(*claim)?;
                (Command::MoveToWait { claim }, self.model.move_to_wait(id, token))
            }
            Step::ToChildren(claim) => {
                let (id, token, claim) = self.claim(*claim)?;
                (Command::MoveToWaitingChildren { claim }, self.model.move_to_waiting_children(id, token))
            }
            Step::Cancel(label) => {
                let id = self.model.by_label(*label)?;
                (Command::Cancel { id: self.job_id(id) }, self.model.cancel(id))
            }
            Step::Remove(label) => {
                let id = self.model.by_label(*label)?;
                (Command::RemoveJob { id: self.job_id(id) }, self.model.remove(id))
            }
            Step::Promote(label) => {
                let id = self.model.by_label(*label)?;
                (Command::Promote { id: self.job_id(id) }, self.model.promote(id))
            }
            Step::Priority { job, priority } => {
                let id = self.model.by_label(*job)?;
                let command =
                    Command::ChangePriority { id: self.job_id(id), priority: i64::from(*priority), lifo: None };
                (command, self.model.priority(id, *priority))
            }
            Step::RemoveJobKey(label) => {
                let id = self.model.by_label(*label)?;
                (Command::RemoveJobDeduplicationKey { id: self.job_id(id) }, self.model.remove_job_key(id))
            }
            _ => return self.translate_queue(step),
        };
        Some((1, command, answer))
    }

    fn translate_queue(&mut self, step: &Step) -> Option<Asked> {
        let key_text = |key: &u8| KEY_TEXTS[usize::from(*key)].clone();
        let count_of = |count: &Option<u32>| count.map(|count| count as usize);
        let (command, answer) = match step {
            Step::Drain(at) => (Command::Drain { queue: queue_text(*at) }, self.model.drain(*at)),
            Step::Clean { queue: at, state, limit } => {
                let (queue, state, limit) = (queue_text(*at), *state, *limit as usize);
                (Command::Clean { queue, grace: Millis(0), state, limit }, self.model.clean(*at, state, limit))
            }
            Step::Obliterate(at) => (Command::Obliterate { queue: queue_text(*at) }, self.model.obliterate(*at)),
            Step::RetryDlq { queue: at, job, count } => {
                let id = job.map(|label| self.model.by_label(label).ok_or(())).transpose().ok()?;
                let (queue, name, most) = (queue_text(*at), id.map(|id| self.job_id(id)), count_of(count));
                let command = Command::Dead(dead::Request::Retry { queue, id: name, count: most, filter: None });
                (command, self.model.retry_all(*at, State::Failed, id, *count))
            }
            Step::RetryCompleted { queue: at, job, count } => {
                let id = job.map(|label| self.model.by_label(label).ok_or(())).transpose().ok()?;
                let (queue, name, most) = (queue_text(*at), id.map(|id| self.job_id(id)), count_of(count));
                let command = Command::RetryCompleted { queue, id: name, count: most, until: None };
                (command, self.model.retry_all(*at, State::Completed, id, *count))
            }
            Step::PurgeDlq(at) => {
                (Command::Dead(dead::Request::Purge { queue: queue_text(*at) }), self.model.purge_dlq(*at))
            }
            Step::DlqConfig { queue: at, patch } => {
                let command = Command::Dead(dead::Request::Configure { queue: queue_text(*at), patch: *patch });
                (command, self.model.set_dlq(*at, *patch))
            }
            Step::RemoveDlq { queue: at, job } => {
                let id = self.model.by_label(*job)?;
                let request = dead::Request::Remove { queue: queue_text(*at), id: self.job_id(id) };
                (Command::Dead(request), self.model.remove_dlq(*at, id))
            }
            Step::RemoveKey { queue: at, key } => {
                let (queue, text) = (queue_text(*at), key_text(key));
                (Command::RemoveDeduplicationKey { queue, key: text }, self.model.remove_key(*at, *key))
            }
            Step::Owner { queue: at, key } => {
                let (queue, text) = (queue_text(*at), key_text(key));
                (Command::GetDeduplicationJobId { queue, key: text }, self.model.owner(*at, *key))
            }
            Step::Pause(at) => {
                self.model.paused[usize::from(*at)] = true;
                (Command::Pause { queue: queue_text(*at) }, Answer::Ok)
            }
            Step::Resume(at) => {
                self.model.paused[usize::from(*at)] = false;
                (Command::Resume { queue: queue_text(*at) }, Answer::Ok)
            }
            _ => return self.translate_limit(step),
        };
        Some((1, command, answer))
    }

    fn translate_limit(&mut self, step: &Step) -> Option<Asked> {
        let (command, answer) = match step {
            Step::Rate { queue: at, max, ttl } => {
                let queue = queue_text(*at);
                let request = match max {
                    None => Limit::ClearRate { queue },
                    Some(max) => {
                        let rate = Rate { max: u64::from(*max), duration: Millis(RATE_DURATION) };
                        Limit::SetRate { queue, rate, ttl: ttl.map(Millis) }
                    }
                };
                (Command::Limit(request), self.model.rate(*at, *max, *ttl))
            }
            Step::Most { queue: at, max } => {
                let queue = queue_text(*at);
                let request = match max {
                    None => Limit::ClearConcurrency { queue },
                    Some(max) => Limit::SetConcurrency { queue, limit: u64::from(*max) },
                };
                (Command::Limit(request), self.model.most(*at, *max))
            }
            _ => return None,
        };
        Some((1, command, answer))
    }

    /// A reply as the model would say it; none for shapes that no step asks for.
    pub fn answer_of(&self, reply: &Reply) -> Option<Answer> {
        let id_of = |id: &JobId| self.id_of(id);
        Some(match reply {
            Reply::Ok => Answer::Ok,
            Reply::Added(added) => Answer::Added {
                id: id_of(&added.id)?,
                duplicate: added.duplicate,
                replaced: match &added.replaced {
                    Some(id) => Some(id_of(id)?),
                    None => None,
                },
            },
            Reply::AddedBulk(added) => {
                Answer::AddedBulk(added.iter().map(|added| id_of(&added.id)).collect::<Option<_>>()?)
            }
            Reply::Pulled { job: None, .. } => Answer::Pulled(None),
            Reply::AlreadyFinalized => Answer::Finalized,
            Reply::DataOk => Answer::DataOk,
            Reply::Count(count) => Answer::Count(*count),
            Reply::KeysRemoved(count) => Answer::KeysRemoved(*count),
            Reply::Removed(removed) => Answer::Removed(*removed),
            Reply::KeyOwner(None) => Answer::Owner(None),
            Reply::KeyOwner(Some(id)) => Answer::Owner(Some(id_of(id)?)),
            Reply::Cleaned(ids) => Answer::Cleaned(ids.iter().map(id_of).collect::<Option<_>>()?),
            Reply::Moved => Answer::Moved,
            Reply::Schedule(onceover_engine::schedule::Answer::One(it)) => {
                Answer::Schedule(it.next_run.0, it.executions)
            }
            Reply::Group(answer) => Answer::Group(*answer),
            Reply::Flow(answer) => return self.tree_answer(answer),
            _ => return None,
        })
    }

    /// The refusal's text; empty when it may be any.
    pub fn refusal_text(&self, refusal: &Refusal) -> String {
        let name = |id: &Id| self.job_id(*id);
        match refusal {
            Refusal::Extend => "Duplicate unique_key (extended TTL)".to_owned(),
            Refusal::Replace(id) => {
                format!("Cannot replace deduplicated job {} because live jobs depend on it", name(id))
            }
            Refusal::Dependency(id) => format!("Dependency job not found: {}", name(id)),
            Refusal::InBatch(at, why) => format!("jobs[{at}]: {}", self.refusal_text(why)),
            Refusal::Consumers(id) => {
                format!("Custom ID {} still has unresolved dependency consumers", name(id))
            }
            Refusal::Circle => "flow contains a dependency cycle".to_owned(),
            Refusal::NotFound => "Job not found".to_owned(),
            Refusal::NotInProcessing(id) => format!("Job not found or not in processing state: {}", name(id)),
            Refusal::TokenRequired(id) => format!("Lock token required for job {}", name(id)),
            Refusal::TokenInvalid(id) => format!("Invalid or expired lock token for job {}", name(id)),
            Refusal::Heartbeat => "Job not found or not active (or invalid token)".to_owned(),
            Refusal::NotActiveBut(state) => format!("Job is not active (current state: {state})"),
            Refusal::NotActive => "Job is not active".to_owned(),
            Refusal::NotInQueue => "Job not found or not in queue".to_owned(),
            Refusal::CannotChangeDelay => "Job not found or cannot change delay".to_owned(),
            Refusal::CannotMoveToWait(state) => format!("Cannot move job from state '{state}' to waiting"),
            Refusal::NotInDlq => "Failed job not in DLQ".to_owned(),
            Refusal::NotDelayed => "Job not found or not delayed".to_owned(),
            Refusal::CannotCancel => "Job not found or cannot be cancelled".to_owned(),
            Refusal::NoSchedule => "Cron job not found".to_owned(),
            Refusal::Tree(refusal) => self.tree_refusal(refusal),
            Refusal::Some => String::new(),
        }
    }
}
