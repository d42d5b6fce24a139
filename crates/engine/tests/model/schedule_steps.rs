//! Steps about schedules, as text and as the engine's commands.

use crate::adding::{AddStep, Words, flags, option};
use crate::commands::Step;
use crate::drive::Stage;
use crate::naive::Spec;
use crate::schedules::{PATTERNS, Rule, Timing};
use crate::translate::Asked;
use onceover_engine::calendar::Pattern;
use onceover_engine::command::Command;
use onceover_engine::schedule::{self, Request, Save};
use onceover_engine::time::Millis;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// The first of `KEYS` that schedules' jobs have when nothing else is said.
const OVERLAP_KEY: u8 = 4;

/// A step about schedules; they are called by number.
#[derive(Clone, Debug, PartialEq)]
pub enum ScheduleStep {
    /// Cron.
    Save(Box<SaveStep>),
    /// CronDelete.
    Delete(u8),
    /// The window's Run now.
    RunNow(u8),
}

/// Cron.
#[derive(Clone, Debug, PartialEq)]
pub struct SaveStep {
    pub name: u8,
    pub timing: Timing,
    pub limit: Option<u64>,
    pub immediately: bool,
    /// Missed runs are made up for.
    pub makes_up: bool,
    pub needs_worker: bool,
    /// Its jobs have a key of its own, unless they have another.
    pub prevents_overlap: bool,
    /// The same, said in words: a job of the rule before is taken back.
    pub takes_back: bool,
    pub add: AddStep,
}

impl fmt::Display for ScheduleStep {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let save = match self {
            ScheduleStep::Save(save) => save,
            ScheduleStep::Delete(name) => return write!(out, "cron-delete {name}"),
            ScheduleStep::RunNow(name) => return write!(out, "cron-run {name}"),
        };
        write!(out, "cron {}", save.name)?;
        match save.timing {
            Timing::Every(every) => write!(out, " every={every}"),
            Timing::Pattern(at) => write!(out, " pattern={at}"),
        }?;
        option(out, "limit", save.limit)?;
        let names = ["now", "makes-up", "needs-worker", "no-overlap", "back"];
        let set = [save.immediately, save.makes_up, save.needs_worker, save.prevents_overlap, save.takes_back];
        let all: Vec<(&str, bool)> = names.into_iter().zip(set).collect();
        flags(out, &all)?;
        write!(out, " | {}", save.add)
    }
}

/// The step about schedules that these words mean.
pub fn parse(kind: &str, rest: &str, words: &Words<'_>) -> Option<Step> {
    Some(Step::Schedule(match kind {
        "cron-delete" => ScheduleStep::Delete(words.number(1)),
        "cron-run" => ScheduleStep::RunNow(words.number(1)),
        "cron" => {
            let (rule, add) = rest.split_once('|').expect("a rule and an add");
            let (rule, add) = (Words::new(rule), Words::new(add).add());
            let every = rule.option("every").map(Timing::Every);
            ScheduleStep::Save(Box::new(SaveStep {
                name: rule.number(0),
                timing: every.unwrap_or_else(|| Timing::Pattern(rule.option("pattern").expect("a timing"))),
                limit: rule.option("limit"),
                immediately: rule.flag("now"),
                makes_up: rule.flag("makes-up"),
                needs_worker: rule.flag("needs-worker"),
                prevents_overlap: rule.flag("no-overlap"),
                takes_back: rule.flag("back"),
                add,
            }))
        }
        _ => return None,
    }))
}

/// The schedule's name.
pub fn name_text(name: u8) -> Arc<str> {
    Arc::from(format!("s{name}"))
}

impl Stage {
    /// The command that a step about schedules means, and the model's answer to it.
    pub fn translate_schedule(&mut self, step: &ScheduleStep) -> Asked {
        let (request, answer) = match step {
            ScheduleStep::Delete(name) => {
                (Request::Delete { name: name_text(*name) }, self.model.delete_schedule(*name))
            }
            ScheduleStep::RunNow(name) => (Request::RunNow { name: name_text(*name) }, self.model.run_now(*name)),
            ScheduleStep::Save(save) => {
                let (request, rule) = self.save(save);
                (request, self.model.save(rule, save.immediately, save.takes_back))
            }
        };
        (1, Command::Schedule(request), answer)
    }

    fn save(&self, save: &SaveStep) -> (Request, Rule) {
        let has_own_key = save.prevents_overlap && save.add.key.is_none();
        let own_key = OVERLAP_KEY + save.name;
        let step = AddStep { key: if has_own_key { Some(own_key) } else { save.add.key }, ..save.add.clone() };
        let spec = Rc::new(Spec { made_by: Some((save.name, has_own_key)), ..Spec::plain(step) });
        let SaveStep { timing, limit, needs_worker, immediately, takes_back, .. } = *save;
        let (name, skips_missed) = (save.name, !save.makes_up);
        let add = self.add(&spec);
        let rule = schedule::Rule {
            name: name_text(name),
            timing: match timing {
                Timing::Every(every) => schedule::Timing::Every(Millis(every)),
                Timing::Pattern(at) => {
                    let text = PATTERNS[usize::from(at)].0;
                    schedule::Timing::Calendar(Pattern::parse(text, None).expect("a pattern"))
                }
            },
            also_every: None,
            timezone: None,
            limit,
            skip_missed_on_restart: skips_missed,
            skip_if_no_worker: needs_worker,
            spec: add.spec,
            dedup_key: add.dedup_key,
        };
        let asked = Save { rule: Arc::new(rule), data: add.data, immediately, takes_back };
        (Request::Save(Box::new(asked)), Rule { name, timing, limit, skips_missed, needs_worker, spec })
    }
}
