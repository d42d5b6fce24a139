//! Drives engine and model through the same steps and compares them after each.

use crate::commands::Step;
use crate::naive::{Answer, Decided, Id, Model, State};
use crate::rows::Rows;
use crate::schedule_steps::name_text;
use crate::translate::{KEY_TEXTS, QUEUE_TEXTS, code_of, same_decision};
use crate::trees::Parent;
use onceover_engine::command::{Command, StateName};
use onceover_engine::dedup::DedupWindow;
use onceover_engine::effects::{AddRecord, Effects, Output};
use onceover_engine::flow::PARENT_PENDING;
use onceover_engine::job::{Blob, Job};
use onceover_engine::names::{ConnId, JobId, JobKey, Origin};
use onceover_engine::reply::{JobCounts, Reply};
use onceover_engine::time::Timestamp;
use onceover_engine::{Engine, EngineConfig};
use std::collections::BTreeSet;

const START: i64 = 1_000_000;

/// The engine, the model, and what ties the names of the one to those of the other.
pub struct Stage {
    engine: Engine,
    pub model: Model,
    pub rows: Rows,
    now: i64,
    /// The engine's names of each generation.
    pub known: Vec<(JobId, JobKey)>,
    /// The token of each delivery; empty when it has none.
    pub tokens: Vec<String>,
    /// The numbers of the connections that are open; the first stands for none.
    pub conns: [u64; 3],
    starts: u64,
    config: EngineConfig,
}

/// Runs all steps; says at which one engine and model differ, and how.
pub fn run(steps: &[Step]) -> Result<(), (usize, String)> {
    let mut stage = Stage {
        engine: Engine::new(EngineConfig::default(), 7),
        model: Model { retain: 1_000, ..Model::default() },
        rows: Rows::default(),
        now: START,
        known: Vec::new(),
        tokens: Vec::new(),
        conns: [0, 1, 2],
        starts: 0,
        config: EngineConfig::default(),
    };
    steps.iter().enumerate().try_for_each(|(at, step)| stage.step(step).map_err(|why| (at, why)))
}

fn differ<T: std::fmt::Debug>(what: &str, engine: T, model: T) -> Result<(), String> {
    Err(format!("{what}: the engine says {engine:?}, the model {model:?}"))
}

impl Stage {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        match *step {
            Step::Settings { retain, until_done } => self.settings(retain, until_done),
            Step::Pass(time) => self.now += time,
            Step::Until { nth, offset } => {
                let moments = self.model.moments();
                let moment = moments.get(usize::from(nth)).or(moments.last());
                self.now = moment.map_or(self.now, |at| (at + offset).max(self.now));
            }
            _ => {}
        }
        // Whoever looks at a key before the sweeper has been by sees the same (dedup.md 13.10).
        self.model.now = self.now;
        self.compare_keys()?;
        let mut effects = Effects::default();
        self.model.decided.clear();
        self.begin(&mut effects)?;
        match step {
            Step::Commit => self.commit()?,
            Step::Disconnect(conn) => {
                let at = usize::from(*conn);
                self.engine.disconnect(Timestamp(self.now), ConnId(self.conns[at]), &mut effects);
                self.conns[at] += 2;
                self.model.disconnect(*conn);
                self.model.begin(self.now);
                self.bind(&effects.adds)?;
            }
            Step::Restart { down } => *self = self.restarted(*down)?,
            Step::Probe => drop(self.restarted(0)?.restarted(0)?),
            _ => {
                if let Some((conn, command, wanted)) = self.translate(step) {
                    self.handle(conn, command, wanted, &mut effects)?;
                }
            }
        }
        // A job can be past its time when it is put into the queue.
        self.model.begin(self.now);
        self.compare()
    }

    /// Everything that is due happens.
    fn begin(&mut self, effects: &mut Effects) -> Result<(), String> {
        if self.model.next_sweep.is_some_and(|at| at <= self.now) {
            let place = |name: &str| QUEUE_TEXTS.iter().position(|text| **text == *name);
            let mut queues = self.engine.queues();
            queues.sort_by_key(|queue| queue.id);
            self.model.sweep_order = queues.iter().filter_map(|queue| Some(place(&queue.name)? as u8)).collect();
        }
        self.engine.tick(Timestamp(self.now), effects);
        self.model.begin(self.now);
        self.bind(&effects.adds)
    }

    fn settings(&mut self, retain: Option<u32>, until_done: bool) {
        let most = retain.map_or(1_000, |most| most as usize);
        let dedup_window = if until_done { DedupWindow::UntilDone } else { DedupWindow::Ttl };
        self.config = EngineConfig { dedup_window, completed_max: most, failed_max: most, ..EngineConfig::default() };
        self.engine = Engine::new(self.config.clone(), 7);
        self.model = Model { retain: most, until_done, ..Model::default() };
    }

    fn commit(&mut self) -> Result<(), String> {
        self.rows.write(&self.engine)?;
        self.engine.committed();
        Ok(())
    }

    /// The same after a stop and a start, compared with the model after it.
    fn restarted(&mut self, down: i64) -> Result<Stage, String> {
        self.commit()?;
        let mut effects = Effects::default();
        let seed = self.starts + 100;
        let snapshot = self.rows.snapshot();
        let engine = Engine::restore(self.config.clone(), seed, snapshot, Timestamp(self.now + down), &mut effects);
        let mut next = Stage {
            engine: engine.map_err(|why| why.to_string())?,
            model: self.model.clone(),
            rows: self.rows.clone(),
            known: self.known.clone(),
            tokens: self.tokens.clone(),
            now: self.now + down,
            starts: seed,
            config: self.config.clone(),
            ..*self
        };
        next.model.decided.clear();
        next.model.restart(next.now);
        next.model.begin(next.now);
        next.bind(&effects.adds)?;
        // A window that ended meanwhile stays ended, also before anything else happens.
        next.compare_keys().map_err(|why| format!("after a start: {why}"))?;
        next.begin(&mut effects)?;
        next.compare().map_err(|why| format!("after a restart: {why}"))?;
        Ok(next)
    }

    fn handle(&mut self, conn: u64, command: Command, wanted: Answer, effects: &mut Effects) -> Result<(), String> {
        let now = Timestamp(self.now);
        let dry = match &command {
            Command::Push { add, .. } => Some(self.engine.dry_run(now, add)),
            _ => None,
        };
        let before = effects.adds.len();
        let origin = Origin::Client { conn: ConnId(conn), request: 1 };
        self.engine.handle(now, origin, command, effects);
        if let Some(dry) = dry {
            let real = effects.adds.get(before).ok_or("an add leaves a record")?;
            same_decision(&dry, real)?;
        }
        // What follows from the command belongs to the same step.
        self.model.begin(self.now);
        let bound = self.bind(&effects.adds);
        let reply = effects.outputs.iter().rev().find_map(|output| match output {
            Output::Reply { reply, .. } => Some(reply),
            Output::Event(_) => None,
        });
        self.same_answer(reply.ok_or("a command without an answer")?, &wanted)?;
        bound
    }

    fn same_answer(&mut self, reply: &Reply, wanted: &Answer) -> Result<(), String> {
        if let (Reply::Pulled { job: Some(job), .. }, Answer::Pulled(Some((wanted, locked)))) = (reply, wanted) {
            let known = self.known[*wanted].1;
            if job.record.job.key != known || job.token.is_some() != locked.is_some() {
                return differ("pull", (job.record.job.key, job.token.is_some()), (known, locked.is_some()));
            }
            self.tokens.push(job.token.clone().unwrap_or_default());
            return self.same_payload(&job.record.job, *wanted);
        }
        if let (Reply::Rejected(why), Answer::No(refusal)) = (reply, wanted) {
            let (why, refusal) = (why.to_string(), self.refusal_text(refusal));
            return if refusal.is_empty() || why == refusal { Ok(()) } else { differ("refusal", why, refusal) };
        }
        match self.answer_of(reply) {
            Some(answer) if answer == *wanted => Ok(()),
            Some(answer) => differ("answer", answer, wanted.clone()),
            None => Err(format!("answer: the engine says {reply:?}, the model {wanted:?}")),
        }
    }

    /// The job carries the payload and name of the add that made it.
    fn same_payload(&self, job: &Job, generation: usize) -> Result<(), String> {
        let label = self.model.jobs[generation].spec.step.label;
        let is_same = match &job.data {
            Blob::Here(data) => **data == label.to_le_bytes(),
            Blob::OnDisk => true,
            Blob::Absent => false,
        };
        if is_same && *job.spec.name == *label.to_string() {
            Ok(())
        } else {
            Err(format!("not the data of add {label}: {job:?}"))
        }
    }

    /// Compares the decisions so far, and learns the names of what they made.
    fn bind(&mut self, adds: &[AddRecord]) -> Result<(), String> {
        let decided = &self.model.decided;
        for (record, decided) in adds.iter().zip(decided) {
            if let Some(made) = decided.made.filter(|made| *made == self.known.len()) {
                let names = record.decision.job.clone().zip(record.decision.job_key);
                self.known.push(names.ok_or_else(|| format!("no job for generation {made}: {:?}", record.decision))?);
            }
        }
        let engine: Vec<Decided> =
            adds.iter().zip(decided).map(|(record, decided)| self.decided(record, decided)).collect();
        if adds.len() != decided.len() || engine != *decided {
            let adds: Vec<String> =
                adds.iter().map(|add| format!("{:?} {:?}", code_of(add.decision.code), add.decision.job)).collect();
            return Err(format!("decisions: the engine says {adds:?}, the model {decided:?}"));
        }
        Ok(())
    }

    fn decided(&self, record: &AddRecord, wanted: &Decided) -> Decided {
        let code = code_of(record.decision.code);
        let id = record.decision.job.as_ref().map(|id| self.id_of(id).unwrap_or(Id::Made(usize::MAX)));
        let made = wanted.made.filter(|made| record.decision.job_key == Some(self.known[*made].1));
        Decided { code, id, made }
    }

    /// Everything that can be seen, and the engine's own invariants.
    fn compare(&mut self) -> Result<(), String> {
        for (job, earliest, latest) in std::mem::take(&mut self.model.loose) {
            let Some(real) = self.engine.job_by_key(self.known[job].1) else { continue };
            if self.model.jobs[job].state == State::Queued && (earliest..=latest).contains(&real.run_at.0) {
                self.model.jobs[job].run_at = real.run_at.0;
            }
        }
        self.compare_keys()?;
        self.compare_jobs()?;
        self.compare_schedules()?;
        self.engine.check(Timestamp(self.now));
        Ok(())
    }

    fn compare_schedules(&self) -> Result<(), String> {
        let real = self.engine.schedules().map(|it| (it.rule.name.to_string(), it.next_run.0, it.executions));
        let mut wanted = self.model.schedules.clone();
        wanted.sort_by_key(|it| it.rule.name);
        let wanted = wanted.iter().map(|it| (name_text(it.rule.name).to_string(), it.next_run, it.executions));
        let (real, wanted): (Vec<_>, Vec<_>) = (real.collect(), wanted.collect());
        if real == wanted { Ok(()) } else { differ("schedules", real, wanted) }
    }

    fn compare_keys(&self) -> Result<(), String> {
        for (queue, name) in QUEUE_TEXTS.iter().enumerate() {
            for (key, text) in KEY_TEXTS.iter().enumerate() {
                let held = self.engine.key(name, text, Timestamp(self.now));
                let valid = self.model.valid(queue as u8, key as u8).map(|at| &self.model.entries[at]);
                let held = held.map(|entry| (entry.owner, &entry.owner_id, entry.expires_at().map(|at| at.0)));
                let valid = valid.map(|entry| {
                    let (id, generation) = &self.known[entry.owner];
                    (*generation, id, entry.expires_at)
                });
                if held != valid {
                    return differ(&format!("owner of {text:?} in {name}"), held, valid);
                }
            }
        }
        Ok(())
    }

    /// Whose child, whose parent, and what is waited for.
    fn same_links(&self, job: &crate::naive::Job, real: &Job) -> Result<(), String> {
        let name = |id: &Id| self.job_id(*id);
        let sorted = |ids: Vec<JobId>| ids.into_iter().collect::<BTreeSet<JobId>>();
        let parent = job.parent.map(|parent| match parent {
            Parent::Pending => JobId::parse(PARENT_PENDING),
            Parent::Of(id) => self.job_id(id),
        });
        let waits_for = self.engine.waits_for(real.key).into_iter().cloned().collect();
        let known = (
            real.parent_id().cloned(),
            real.children_ids().to_vec(),
            [sorted(real.depends_on().to_vec()), sorted(waits_for)],
        );
        let depends_on = [&job.depends_on, &job.unresolved].map(|ids| sorted(ids.iter().map(name).collect()));
        let wanted = (parent, job.children.iter().map(name).collect(), depends_on);
        if known == wanted { Ok(()) } else { differ(&format!("links of {}", real.id), known, wanted) }
    }

    fn compare_jobs(&self) -> Result<(), String> {
        let now = Timestamp(self.now);
        let mut counts = [JobCounts::default(); 3];
        let mut there = 0;
        for (job, (id, key)) in self.model.jobs.iter().zip(&self.known) {
            let shown = job.shown(self.now);
            let real = self.engine.job_by_key(*key);
            let state = real.map(|job| job.state_name(now));
            if state != shown {
                return differ(&format!("state of add {}'s job {id}", job.spec.step.label), state, shown);
            }
            let Some((real, state)) = real.zip(state) else { continue };
            there += 1;
            let queue = usize::from(job.spec.step.queue);
            count(&mut counts[queue], state, self.model.paused[queue]);
            if self.engine.job(id).map(|job| job.key) != Some(*key) {
                return Err(format!("{id} does not lead to its job"));
            }
            let is_queued = job.state == State::Queued;
            let known = (real.attempts, real.stall_count, real.priority, real.run_at.0 * i64::from(is_queued));
            let wanted = (job.attempts, job.stalls, job.priority, job.run_at * i64::from(is_queued));
            if known != wanted {
                return differ(&format!("attempts, stalls, priority, runAt of {id}"), known, wanted);
            }
            let failure = real.failure().map(|failure| (failure.next_retry_at, failure.expires_at));
            let dead = real.rare().and_then(|rare| rare.auto_retries).map_or(0, |retries| retries.count);
            let stamped =
                (job.state == State::Failed).then(|| (job.retry_at.map(Timestamp), job.gone_at.map(Timestamp)));
            if (dead, failure) != (job.retried, stamped) {
                return differ(&format!("retries by itself of {id}"), (dead, failure), (job.retried, stamped));
            }
            self.same_links(job, real)?;
            let stored = real.rare().is_some_and(|rare| rare.stored_next.is_some());
            if stored != job.stored_next.is_some() {
                return differ(&format!("what is stored with {id}"), stored, !stored);
            }
        }
        if self.engine.jobs_len() != there {
            return differ("number of jobs", self.engine.jobs_len(), there);
        }
        for (name, wanted) in QUEUE_TEXTS.iter().zip(counts) {
            let counts = self.engine.counts(Some(name));
            if counts != wanted {
                return differ(&format!("counts of {name}"), counts, wanted);
            }
        }
        Ok(())
    }
}

fn count(counts: &mut JobCounts, state: StateName, is_paused: bool) {
    let counter = match state {
        StateName::Waiting | StateName::Prioritized if is_paused => &mut counts.paused,
        StateName::Waiting => &mut counts.waiting,
        StateName::Prioritized => &mut counts.prioritized,
        StateName::Delayed => &mut counts.delayed,
        StateName::WaitingChildren => &mut counts.waiting_children,
        StateName::Active => &mut counts.active,
        StateName::Completed => &mut counts.completed,
        StateName::Failed => &mut counts.failed,
    };
    *counter += 1;
}
