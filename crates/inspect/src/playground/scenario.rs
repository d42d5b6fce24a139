//! A scenario: what the lanes do, how the worker works, and what is sent when. The same JSON is shipped, shared and loaded.
//!
//! A scenario from a file is checked in full before anything runs: every mistake names its field. It runs nothing itself.

use super::limits::{
    ADDS_MAX, KEY_CHARS_MAX, LANES_MAX, LEASE_MS, LENGTH_MS_MAX, TEXT_CHARS_MAX, TEXT_LINES_MAX, TITLE_CHARS_MAX,
    WORK_MS, ZERO_MS,
};
use crate::send::check_queue;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// A whole scenario. Its JSON is the file that Share writes and Open reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// Short name, unique among those that are shipped; `custom` for one's own.
    pub id: String,
    /// What it is called, 1 to 80 characters.
    pub title: String,
    /// What happens, what to watch, which option to take; at most 5 lines of 400 characters.
    #[serde(default)]
    pub text: Vec<String>,
    /// Queue of the adds that name none.
    pub queue: String,
    /// Key or job id of the adds that name none, 1 to 256 characters.
    pub key: String,
    /// 1 to 3 lanes.
    pub lanes: Vec<LaneSpec>,
    /// How jobs are worked on, in every lane.
    pub worker: WorkerSpec,
    /// What happens by itself, in order of time; empty for a scenario that is played by hand.
    #[serde(default)]
    pub script: Vec<ScriptStep>,
    /// When the run ends by itself, in ms, 0 to 600,000; 0 for one that is played by hand.
    #[serde(default)]
    pub length_ms: u32,
}

/// What a lane does with every add.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LaneSpec {
    /// The strategy.
    pub strategy: LaneStrategy,
    /// Window of the key, in ms, 0 to 3,600,000; absent = none. Only strategies with a key take one.
    #[serde(default)]
    pub ttl_ms: Option<u32>,
    /// Delay of each job, in ms, 0 to 3,600,000.
    #[serde(default)]
    pub delay_ms: u32,
}

/// What identifies an add and what it asks of a job that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum LaneStrategy {
    /// Nothing: every add is a job.
    None,
    /// A job id.
    JobId,
    /// A key that ends with its job.
    Plain,
    /// A key with a window.
    Ttl,
    /// A key whose window every add starts anew.
    Extend,
    /// A key that the newest add takes.
    Replace,
    /// `extend` and `replace` together, of which `replace` wins.
    ExtendReplace,
    /// The hash of the payload is the key.
    Hash,
    /// While the job runs, the newest add is kept for afterwards.
    KeepLast,
}

impl LaneStrategy {
    /// Whether it has a key, and so may have a window.
    #[must_use]
    pub fn has_key(self) -> bool {
        match self {
            LaneStrategy::None | LaneStrategy::JobId => false,
            LaneStrategy::Plain
            | LaneStrategy::Ttl
            | LaneStrategy::Extend
            | LaneStrategy::Replace
            | LaneStrategy::ExtendReplace
            | LaneStrategy::Hash
            | LaneStrategy::KeepLast => true,
        }
    }

    /// Whether it means nothing without a window.
    #[must_use]
    fn needs_ttl(self) -> bool {
        matches!(self, LaneStrategy::Ttl | LaneStrategy::Extend | LaneStrategy::ExtendReplace)
    }
}

/// How jobs are worked on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkerSpec {
    /// Takes a job as soon as one is there and none is in its hands. Otherwise jobs are taken by hand.
    pub auto: bool,
    /// Time it takes for a job, in ms, 10 to 600,000.
    pub duration_ms: u32,
    /// Every n-th attempt fails, 0 to 100; 0 = none.
    #[serde(default)]
    pub fail_every: u32,
    /// How long a worker that says nothing keeps its job, in ms, 1,000 to 600,000.
    pub lease_ms: u32,
}

/// One thing that happens by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScriptStep {
    /// When, in ms from the start.
    pub at_ms: u32,
    /// What.
    pub act: ScriptAct,
    /// Said beside it in the log.
    #[serde(default)]
    pub note: Option<String>,
}

/// What a step does, in every lane at the same instant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(tag = "do", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum ScriptAct {
    /// Adds a job with the data `{"v": n}`.
    Add {
        /// The version of the data, 1 and more.
        v: u32,
        /// Another key or job id than the scenario's.
        #[serde(default)]
        key: Option<String>,
        /// Another queue than the scenario's.
        #[serde(default)]
        queue: Option<String>,
    },
    /// The worker does something.
    Work {
        /// What it does.
        what: WorkerMove,
        /// In this lane only, from 0; absent for all.
        #[serde(default)]
        lane: Option<u8>,
    },
}

/// What a worker does by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export))]
#[serde(rename_all = "camelCase")]
pub enum WorkerMove {
    /// Takes the next job.
    PickUp,
    /// Completes the job it has had longest.
    Complete,
    /// Fails it.
    Fail,
    /// Is gone without a word: no answer, no heartbeat.
    Kill,
}

impl Scenario {
    /// Whether it plays by itself.
    #[must_use]
    pub fn is_scripted(&self) -> bool {
        !self.script.is_empty()
    }

    /// # Errors
    /// The first mistake, with the name of its field.
    pub fn check(&self) -> Result<(), String> {
        chars("title", &self.title, TITLE_CHARS_MAX)?;
        if self.text.len() > TEXT_LINES_MAX || self.text.iter().any(|line| line.chars().count() > TEXT_CHARS_MAX) {
            return Err(format!("text: at most {TEXT_LINES_MAX} lines of {TEXT_CHARS_MAX} characters"));
        }
        check_queue(&self.queue).map_err(|why| format!("queue: {why}"))?;
        chars("key", &self.key, KEY_CHARS_MAX)?;
        if !(1..=LANES_MAX).contains(&self.lanes.len()) {
            return Err(format!("lanes: must be 1 to {LANES_MAX}"));
        }
        for (at, lane) in self.lanes.iter().enumerate() {
            lane.check().map_err(|why| format!("lanes[{at}].{why}"))?;
        }
        self.worker.check().map_err(|why| format!("worker.{why}"))?;
        ranged("lengthMs", self.length_ms, 0..=LENGTH_MS_MAX)?;
        self.check_script()
    }

    fn check_script(&self) -> Result<(), String> {
        if self.script.len() > ADDS_MAX {
            return Err(format!("script: at most {ADDS_MAX} steps"));
        }
        let mut before = 0;
        for (at, step) in self.script.iter().enumerate() {
            if step.at_ms < before {
                return Err(format!("script[{at}].atMs: must not be before the step above it"));
            }
            if step.at_ms > self.length_ms {
                return Err(format!("script[{at}].atMs: must not be after lengthMs, {}", self.length_ms));
            }
            before = step.at_ms;
            step.check(self.lanes.len()).map_err(|why| format!("script[{at}].{why}"))?;
        }
        Ok(())
    }
}

impl LaneSpec {
    fn check(&self) -> Result<(), String> {
        ranged("delayMs", self.delay_ms, ZERO_MS)?;
        match self.ttl_ms {
            Some(_) if !self.strategy.has_key() => Err("ttlMs: a lane without a key has no window".to_owned()),
            None if self.strategy.needs_ttl() => Err("ttlMs: this strategy needs one".to_owned()),
            Some(ttl) => ranged("ttlMs", ttl, ZERO_MS),
            None => Ok(()),
        }
    }
}

impl WorkerSpec {
    /// # Errors
    /// The first mistake, with the name of its field.
    pub fn check(&self) -> Result<(), String> {
        ranged("durationMs", self.duration_ms, WORK_MS)?;
        ranged("failEvery", self.fail_every, 0..=100)?;
        ranged("leaseMs", self.lease_ms, LEASE_MS)
    }
}

impl ScriptStep {
    fn check(&self, lanes: usize) -> Result<(), String> {
        if self.note.as_ref().is_some_and(|note| note.chars().count() > TEXT_CHARS_MAX) {
            return Err(format!("note: at most {TEXT_CHARS_MAX} characters"));
        }
        match &self.act {
            ScriptAct::Add { v, key, queue } => {
                check_add(*v, key.as_deref(), queue.as_deref()).map_err(|why| format!("act.{why}"))
            }
            ScriptAct::Work { lane: Some(lane), .. } if usize::from(*lane) >= lanes => {
                Err(format!("act.lane: must be 0 to {}", lanes - 1))
            }
            ScriptAct::Work { .. } => Ok(()),
        }
    }
}

/// # Errors
/// The first mistake of an add, with the name of its field.
pub fn check_add(v: u32, key: Option<&str>, queue: Option<&str>) -> Result<(), String> {
    ranged("v", v, 1..=u32::MAX)?;
    if let Some(key) = key {
        chars("key", key, KEY_CHARS_MAX)?;
    }
    queue.map_or(Ok(()), check_queue).map_err(|why| format!("queue: {why}"))
}

fn chars(name: &str, text: &str, max: usize) -> Result<(), String> {
    match text.chars().count() {
        0 => Err(format!("{name}: must not be empty")),
        count if count > max => Err(format!("{name}: at most {max} characters")),
        _ => Ok(()),
    }
}

fn ranged(name: &str, value: u32, range: RangeInclusive<u32>) -> Result<(), String> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(format!("{name}: must be {} to {}", range.start(), range.end()))
}

/// The scenario in a file.
///
/// # Errors
/// It is not one; the text says where and why.
pub fn parse(text: &str) -> Result<Scenario, String> {
    let scenario: Scenario = serde_json::from_str(text).map_err(|error| format!("Not a scenario: {error}."))?;
    scenario.check().map_err(|why| format!("Not a scenario that can run: {why}."))?;
    Ok(scenario)
}

/// The scenarios that come with the program, the one to play by hand last.
#[must_use]
pub fn shipped() -> Vec<Scenario> {
    let files = [
        include_str!("scenarios/double-click.json"),
        include_str!("scenarios/webhook-storm.json"),
        include_str!("scenarios/search-as-you-type.json"),
        include_str!("scenarios/latest-settings-win.json"),
        include_str!("scenarios/worker-dies.json"),
        include_str!("scenarios/two-queues.json"),
        include_str!("scenarios/lost-reply.json"),
        include_str!("scenarios/custom.json"),
    ];
    files.into_iter().map(|text| parse(text).expect("a test runs every shipped scenario")).collect()
}
