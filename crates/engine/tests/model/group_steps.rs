//! Steps about groups, and what a pull says about them, as text and as the engine's commands.

use crate::adding::{Words, option};
use crate::commands::{Step, queue_name};
use crate::drive::Stage;
use crate::groups::{Affinity, Rate, Wants, rate_of};
use crate::translate::{Asked, QUEUE_TEXTS};
use onceover_engine::command::{Command, Group};
use onceover_engine::group::{About, Affinity as Meant, GroupLimits, GroupWants, Request};
use onceover_engine::time::Millis;
use std::fmt;
use std::sync::Arc;

/// A step about groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GroupStep {
    /// GetGroupsJobsCount.
    All(u8),
    /// Any other command.
    Of { queue: u8, group: u8, about: About },
}

fn group_text(group: u8) -> Arc<str> {
    Arc::from(format!("g{group}"))
}

/// The group of an add, for the engine.
pub fn group_of(group: Option<u8>, max_size: Option<u64>) -> Option<Group> {
    group.map(|group| Group { id: group_text(group), max_size })
}

fn pair(rate: Rate) -> String {
    format!("{}/{}", rate.0, rate.1)
}

impl fmt::Display for Wants {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.affinity {
            Affinity::Any => out.write_str(" groups"),
            Affinity::Ungrouped => out.write_str(" ungrouped"),
            Affinity::Group(group) => write!(out, " group={group}"),
        }?;
        option(out, "most", self.most)?;
        option(out, "rate", self.rate.map(pair))
    }
}

impl Words<'_> {
    fn rate(&self) -> Option<Rate> {
        let text = self.all("rate").next()?;
        let (max, duration) = text.split_once('/').expect("a rate");
        Some((self.value(max), self.value(duration)))
    }

    /// What a pull says about groups.
    pub fn wants(&self) -> Option<Wants> {
        let affinity = match self.option("group") {
            Some(group) => Affinity::Group(group),
            None if self.flag("ungrouped") => Affinity::Ungrouped,
            None if self.flag("groups") => Affinity::Any,
            None => return None,
        };
        Some(Wants { affinity, most: self.option("most"), rate: self.rate() })
    }
}

/// What a pull says about groups, for the engine.
pub fn wants_of(wants: Option<Wants>) -> Option<Arc<GroupWants>> {
    let Wants { affinity, most, rate } = wants?;
    let affinity = match affinity {
        Affinity::Any => Meant::Any,
        Affinity::Ungrouped => Meant::Ungrouped,
        Affinity::Group(group) => Meant::Group(group_text(group)),
    };
    Some(Arc::new(GroupWants { affinity, limits: GroupLimits { concurrency: most, rate: rate.map(rate_of) } }))
}

impl fmt::Display for GroupStep {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (queue, group, about) = match *self {
            GroupStep::All(queue) => return write!(out, "group-jobs {}", queue_name(queue)),
            GroupStep::Of { queue, group, about } => (queue, group, about),
        };
        write!(out, "group {} {group}", queue_name(queue))?;
        match about {
            About::JobsCount => out.write_str(" count"),
            About::ActiveCount => out.write_str(" active"),
            About::SetRate(rate) => write!(out, " rate={}", pair((rate.max, rate.duration.0))),
            About::Rate => out.write_str(" get-rate"),
            About::RemoveRate => out.write_str(" no-rate"),
            About::RateTtl(most) => {
                out.write_str(" ttl")?;
                option(out, "jobs", most)
            }
            About::SetConcurrency(most) => write!(out, " most={most}"),
            About::Concurrency => out.write_str(" get-most"),
            About::RemoveConcurrency => out.write_str(" no-most"),
            About::Pause => out.write_str(" pause"),
            About::Resume => out.write_str(" resume"),
            About::IsPaused => out.write_str(" is-paused"),
            About::Hold(time) => write!(out, " hold={}", time.0),
        }
    }
}

/// The step about groups that these words mean.
pub fn parse(kind: &str, words: &Words<'_>) -> Option<Step> {
    if kind == "group-jobs" {
        return Some(Step::Group(GroupStep::All(words.queue(1))));
    }
    if kind != "group" {
        return None;
    }
    let about = match words.words[3] {
        "count" => About::JobsCount,
        "active" => About::ActiveCount,
        "get-rate" => About::Rate,
        "no-rate" => About::RemoveRate,
        "ttl" => About::RateTtl(words.option("jobs")),
        "get-most" => About::Concurrency,
        "no-most" => About::RemoveConcurrency,
        "pause" => About::Pause,
        "resume" => About::Resume,
        "is-paused" => About::IsPaused,
        _ => match (words.rate(), words.option("most"), words.option("hold")) {
            (Some(rate), _, _) => About::SetRate(rate_of(rate)),
            (None, Some(most), _) => About::SetConcurrency(most),
            (None, None, hold) => About::Hold(Millis(hold.expect("what about the group"))),
        },
    };
    Some(Step::Group(GroupStep::Of { queue: words.queue(1), group: words.number(2), about }))
}

impl Stage {
    /// The command that a step about groups means, and the model's answer to it.
    pub fn translate_group(&mut self, step: GroupStep) -> Asked {
        let text = |queue: u8| QUEUE_TEXTS[usize::from(queue)].clone();
        let (request, answer) = match step {
            GroupStep::All(queue) => (Request::JobsOfAll { queue: text(queue) }, self.model.in_groups(queue)),
            GroupStep::Of { queue, group, about } => {
                let request = Request::Of { queue: text(queue), group: group_text(group), about };
                (request, self.model.about_group((queue, group), about))
            }
        };
        (1, Command::Group(request), answer)
    }
}
