//! What happened in a lane: its jobs, adds and keys as a picture needs them, and the lines of its log.
//!
//! States and keys are read from the engine after every step, so the picture shows what the engine holds and not what a
//! rule says it should. Sentences of adds are those of the log of adds. Nothing here changes the engine.

use super::title;
use crate::explain;
use crate::view::{Chip, JobState, LaneAdd, LaneEnd, LaneEnding, LaneFigures, LaneJob, LaneKey, LaneSpan, PlayLine};
use crate::words;
use onceover_engine::Engine;
use onceover_engine::command::{Payload, StateName};
use onceover_engine::dedup::Outcome;
use onceover_engine::effects::AddRecord;
use onceover_engine::event::{Event, EventKind};
use onceover_engine::job::Job;
use onceover_engine::names::{JobId, JobKey, Origin};
use onceover_engine::time::Timestamp;
use std::collections::HashMap;
use std::sync::Arc;

/// The record of one lane.
pub struct Record {
    lane: u8,
    revision: u64,
    versions: HashMap<Payload, u32>,
    jobs: Vec<Tracked>,
    bands: Vec<Band>,
    /// Keys and ids that were asked for, once each.
    names: Vec<Name>,
    /// Every add.
    pub adds: Vec<LaneAdd>,
    absorbed: u32,
    rejected: u32,
    /// Versions in the order of their runs.
    runs: Vec<u32>,
    lines: Vec<PlayLine>,
}

/// What a step left behind.
pub struct Seen<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// The moment.
    pub now: Timestamp,
    /// Whether an active job's worker is gone.
    pub gone: &'a dyn Fn(&Job) -> bool,
}

struct Tracked {
    key: JobKey,
    /// The delivery of its last span, to tell two that touch apart.
    delivery: Option<u64>,
    view: LaneJob,
}

struct Band {
    name: usize,
    owner: JobKey,
    view: LaneKey,
}

/// Something that a job can hold.
#[derive(Clone, PartialEq)]
enum Name {
    Key { queue: Arc<str>, key: Arc<str> },
    Id(JobId),
}

/// Who holds a name, as the engine has it.
struct Holding {
    owner: JobKey,
    from: Timestamp,
    until: Option<i64>,
}

impl Record {
    pub fn new(lane: u8) -> Record {
        Record {
            lane,
            revision: 0,
            versions: HashMap::new(),
            jobs: Vec::new(),
            bands: Vec::new(),
            names: Vec::new(),
            adds: Vec::new(),
            absorbed: 0,
            rejected: 0,
            runs: Vec::new(),
            lines: Vec::new(),
        }
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Remembers which version a payload is.
    pub fn know_version(&mut self, data: &Payload, v: u32) {
        self.versions.insert(data.clone(), v);
    }

    pub fn jobs(&self) -> Vec<LaneJob> {
        self.jobs.iter().map(|job| job.view.clone()).collect()
    }

    pub fn keys(&self) -> Vec<LaneKey> {
        self.bands.iter().map(|band| band.view.clone()).collect()
    }

    pub fn take_lines(&mut self) -> Vec<PlayLine> {
        std::mem::take(&mut self.lines)
    }

    /// Whether a window will end or a delayed job mature by itself.
    pub fn stirs(&self) -> bool {
        let delayed = |job: &Tracked| job.view.spans.last().is_some_and(|span| span.state == JobState::Delayed);
        self.bands.iter().any(|band| band.view.to.is_none() && band.view.until.is_some())
            || self.jobs.iter().any(|job| job.view.end.is_none() && delayed(job))
    }

    pub fn has_live_job(&self) -> bool {
        self.jobs.iter().any(|job| job.view.end.is_none())
    }

    pub fn figures(&self) -> LaneFigures {
        let ended = |how| count(self.jobs.iter().filter(|job| job.view.end.as_ref().is_some_and(|end| end.how == how)));
        let added: Vec<u32> = self.adds.iter().map(|add| add.v).collect();
        LaneFigures {
            jobs: count(self.jobs.iter()),
            runs: count(self.runs.iter()),
            absorbed: self.absorbed,
            removed: ended(LaneEnding::Removed),
            rejected: self.rejected,
            failed: ended(LaneEnding::Failed),
            first_run: self.runs.first().copied(),
            last_run: self.runs.last().copied(),
            ran: title::ran(&added, &self.runs),
        }
    }

    /// A job by the version of its data and its short id.
    pub fn name_of(&self, id: &JobId) -> String {
        let text = id.to_string();
        let job = self.jobs.iter().rev().find(|job| job.view.id == text);
        job.map_or_else(|| words::short_id(id), |job| format!("v{} ({})", job.view.v, words::short_id(id)))
    }

    /// Writes a line.
    pub fn say(&mut self, now: Timestamp, text: String) {
        self.line(now, None, text);
    }

    /// An add that was decided.
    pub fn add(&mut self, record: &AddRecord) {
        let v = record.add.data.as_ref().and_then(|data| self.versions.get(data)).copied().unwrap_or(0);
        let decision = words::decision(record.decision.code);
        let follows = record.origin == Origin::Internal;
        let sentence = explain::sentence(record);
        let why = if follows { format!("The kept data becomes a job. {sentence}") } else { sentence };
        self.absorbed += u32::from(words::is_collapsed(record.decision.code));
        self.rejected += u32::from(record.decision.code.outcome() == Outcome::Rejected);
        self.note_name(record);
        if let (Some(key), Some(id)) = (record.decision.job_key, &record.decision.job)
            && !words::is_collapsed(record.decision.code)
        {
            let view = LaneJob {
                id: id.to_string(),
                v,
                queue: record.add.spec.queue.to_string(),
                spans: Vec::new(),
                end: None,
            };
            self.jobs.push(Tracked { key, delivery: None, view });
        }
        self.line(record.at, Some(words::chip(decision)), why.clone());
        self.adds.push(LaneAdd {
            t: record.at.0,
            v,
            decision,
            chip: words::chip(decision),
            warn: explain::warns(record),
            why,
            job: record.decision.job.as_ref().map(ToString::to_string),
            follows,
        });
    }

    fn note_name(&mut self, record: &AddRecord) {
        let name = match (&record.add.dedup_key, &record.add.custom_id) {
            (Some(key), _) => Name::Key { queue: record.add.spec.queue.clone(), key: key.clone() },
            (None, Some(id)) => Name::Id(id.clone()),
            (None, None) => return,
        };
        if !self.names.contains(&name) {
            self.names.push(name);
        }
    }

    /// A happening besides the adds. What the sentence of an add says already gets no line of its own.
    pub fn event(&mut self, now: Timestamp, event: &Event, engine: &Engine) {
        let Some(id) = &event.job else { return };
        let name = self.name_of(id);
        let text = match &event.kind {
            EventKind::Pulled => {
                let text = id.to_string();
                let run = self.jobs.iter().rev().find(|job| job.view.id == text).map(|job| job.view.v);
                self.runs.extend(run);
                format!("A worker picked up {name}.")
            }
            EventKind::Completed { .. } => format!("{name} completed."),
            EventKind::Failed { terminal: Some(false), .. } => retry_text(&name, engine.job(id), now),
            EventKind::Failed { .. } => format!("{name} failed for good."),
            EventKind::Stalled { detail: Some((_, true)) } => format!("The lease of {name} ran out once too often."),
            EventKind::Stalled { .. } => format!("The lease of {name} ran out: it waits again."),
            EventKind::Pushed
            | EventKind::Duplicated { .. }
            | EventKind::Progress { .. }
            | EventKind::Retried
            | EventKind::Delayed { .. }
            | EventKind::Waiting { .. }
            | EventKind::WaitingChildren
            | EventKind::Removed { .. }
            | EventKind::Paused
            | EventKind::Resumed => return,
        };
        self.line(now, None, text);
    }

    /// Compares what the engine holds with what is drawn already.
    pub fn look(&mut self, seen: &Seen<'_>) {
        for job in self.jobs.iter_mut().filter(|job| job.view.end.is_none()) {
            self.revision += u64::from(job.look(seen));
        }
        for at in 0..self.names.len() {
            self.look_at_name(at, seen);
        }
    }

    fn look_at_name(&mut self, at: usize, seen: &Seen<'_>) {
        let holding = holding(&self.names[at], seen);
        let open = self.bands.iter_mut().rev().find(|band| band.name == at && band.view.to.is_none());
        if let (Some(band), Some(holding)) = (&open, &holding)
            && band.owner == holding.owner
        {
            let ended = (!is_live(seen.engine, holding.owner)).then_some(seen.now.0);
            let view = (holding.until, band.view.owner_ended.or(ended));
            if view != (band.view.until, band.view.owner_ended) {
                let band = open.expect("it was found just now");
                (band.view.until, band.view.owner_ended) = view;
                self.revision += 1;
            }
            return;
        }
        let was_open = open.map(|band| band.view.to = Some(seen.now.0)).is_some();
        if was_open && holding.is_none() {
            self.say_freed(at, seen);
        }
        if let Some(holding) = &holding {
            let view = self.band_view(at, holding);
            self.bands.push(Band { name: at, owner: holding.owner, view });
        }
        self.revision += u64::from(was_open || holding.is_some());
    }

    fn band_view(&self, at: usize, holding: &Holding) -> LaneKey {
        let owner = self.jobs.iter().find(|job| job.key == holding.owner);
        let (key, queue) = match &self.names[at] {
            Name::Key { queue, key } => (key.to_string(), queue.to_string()),
            Name::Id(id) => (id.to_string(), owner.map_or_else(String::new, |job| job.view.queue.clone())),
        };
        LaneKey {
            key,
            queue,
            v: owner.map_or(0, |job| job.view.v),
            from: holding.from.0,
            to: None,
            until: holding.until,
            owner_ended: None,
        }
    }

    /// Keys say how they became free; a job id is free when its job has ended, which has a line already.
    fn say_freed(&mut self, at: usize, seen: &Seen<'_>) {
        let Name::Key { queue, key } = &self.names[at] else { return };
        let Some(freed) = seen.engine.freed(queue, key) else { return };
        let owner = self.name_of(&freed.owner_id);
        let text = format!("{} is free: its owner {owner} {}.", words::code(key), words::freed(freed.by));
        self.line(seen.now, None, text);
    }

    fn line(&mut self, now: Timestamp, chip: Option<Chip>, text: String) {
        self.revision += 1;
        self.lines.push(PlayLine { n: 0, t: now.0, lane: Some(self.lane), chip, text });
    }
}

impl Tracked {
    /// Whether something is new.
    fn look(&mut self, seen: &Seen<'_>) -> bool {
        let t = seen.now.0;
        let Some(job) = seen.engine.job_by_key(self.key) else { return self.end(t, LaneEnding::Removed) };
        let state = job.state_name(seen.now);
        match state {
            StateName::Completed => return self.end(t, LaneEnding::Completed),
            StateName::Failed => return self.end(t, LaneEnding::Failed),
            StateName::Waiting
            | StateName::Prioritized
            | StateName::Delayed
            | StateName::WaitingChildren
            | StateName::Active => {}
        }
        let delivery = job.delivery.as_ref().map(|delivery| delivery.number);
        let state = words::state_view(Some(state));
        let worker_gone = (seen.gone)(job).then_some(t);
        if let Some(span) = self.view.spans.last_mut() {
            if span.state == state && self.delivery == delivery {
                let news = span.worker_gone.is_none() && worker_gone.is_some();
                span.worker_gone = span.worker_gone.or(worker_gone);
                return news;
            }
            span.to = Some(t);
        }
        self.delivery = delivery;
        self.view.spans.push(LaneSpan { state, from: t, to: None, worker_gone });
        true
    }

    fn end(&mut self, t: i64, how: LaneEnding) -> bool {
        if let Some(span) = self.view.spans.last_mut() {
            span.to = Some(t);
        }
        self.view.end = Some(LaneEnd { t, how });
        true
    }
}

fn holding(name: &Name, seen: &Seen<'_>) -> Option<Holding> {
    match name {
        Name::Key { queue, key } => seen.engine.key(queue, key, seen.now).map(|entry| Holding {
            owner: entry.owner,
            from: entry.registered_at,
            until: entry.expires_at().map(|end| end.0),
        }),
        Name::Id(id) => seen.engine.job(id).filter(|job| job.is_live()).map(|job| Holding {
            owner: job.key,
            from: job.created_at,
            until: None,
        }),
    }
}

fn is_live(engine: &Engine, owner: JobKey) -> bool {
    engine.job_by_key(owner).is_some_and(Job::is_live)
}

fn retry_text(name: &str, job: Option<&Job>, now: Timestamp) -> String {
    let Some(job) = job else { return format!("{name} failed.") };
    format!(
        "{name} failed, attempt {} of {}. It is tried again in {}.",
        job.attempts,
        job.spec.max_attempts,
        words::duration(job.run_at.since(now))
    )
}

fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}
