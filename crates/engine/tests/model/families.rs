//! Random steps about trees, groups and schedules.

use crate::adding::AddStep;
use crate::commands::Step;
use crate::generate::Generator;
use crate::group_steps::GroupStep;
use crate::groups::{Affinity, Wants, rate_of};
use crate::schedule_steps::{SaveStep, ScheduleStep};
use crate::schedules::{PATTERNS, Timing};
use crate::tree_steps::{POLICIES, ParentOf, TreeStep};
use onceover_engine::group::About;
use onceover_engine::time::Millis;

impl Generator<'_> {
    /// A tree of a few jobs, the leaves first. Now and then one waits for another one beside its children.
    pub fn flow(&mut self) -> Step {
        let count = 2 + self.random.below(4);
        let first = self.labels + 1;
        let mut adds = Vec::new();
        for at in 0..count {
            let queue = self.queue();
            let plain = self.add(queue);
            let mut add = AddStep { label: first + at, queue, attempts: plain.attempts, ..AddStep::default() };
            (add.forget_done, add.forget_failed) = (plain.forget_done, plain.forget_failed);
            (add.group, add.group_max) = (plain.group, plain.group_max);
            add.id = plain.id.filter(|_| self.random.chance(20));
            if at + 1 < count && self.random.chance(90) {
                add.parent = Some(ParentOf::Joins(first + at + 1 + self.random.below(count - at - 1)));
                add.policy = self.random.pick(&POLICIES).0;
            }
            if self.random.chance(10) {
                add.after.push(first + self.random.below(count));
            }
            adds.push(add);
        }
        Step::Tree(TreeStep::Flow(adds))
    }

    pub fn tree(&mut self) -> Step {
        Step::Tree(match self.random.below(9) {
            0..=2 => TreeStep::Adopt { child: self.job(), parent: self.job() },
            3 | 4 => TreeStep::Detach(self.job()),
            5 => TreeStep::DropUnprocessed(self.job()),
            6 => TreeStep::Values(self.job()),
            7 => TreeStep::Failed(self.job()),
            _ => TreeStep::Ignored(self.job()),
        })
    }

    /// Joins a parent, or has children, or waits to be told its parent's name.
    pub fn relate(&mut self, add: &mut AddStep) {
        add.policy = self.random.pick(&POLICIES).0;
        match self.random.below(10) {
            0..=2 => add.parent = Some(ParentOf::Pending),
            3..=5 => add.parent = Some(ParentOf::Joins(self.job())),
            6 => add.parent = Some(ParentOf::Bare(self.job())),
            7 if self.random.chance(20) => add.parent = Some(ParentOf::Elsewhere(self.job())),
            _ => {
                add.children.push(self.job());
                add.children.push(self.job());
                add.children.dedup();
            }
        }
    }

    /// What a worker says about groups; few kinds of limits, for there may not be many.
    pub fn wants(&mut self) -> Wants {
        let affinity = match self.random.below(10) {
            0 => Affinity::Ungrouped,
            1 => Affinity::Group(self.random.below(3) as u8),
            _ => Affinity::Any,
        };
        let most = self.random.pick(&[None, Some(1), Some(2)]);
        Wants { affinity, most, rate: self.random.pick(&[None, None, Some((1, 50)), Some((2, 30))]) }
    }

    pub fn about_group(&mut self) -> Step {
        let queue = self.queue();
        let about = match self.random.below(16) {
            0 => return Step::Group(GroupStep::All(queue)),
            1 => About::JobsCount,
            2 => About::ActiveCount,
            3 | 4 => About::SetRate(rate_of(self.random.pick(&[(1, 50), (2, 20)]))),
            5 => About::Rate,
            6 => About::RemoveRate,
            7 => About::RateTtl(self.random.pick(&[None, Some(1), Some(2)])),
            8 | 9 => About::SetConcurrency(self.random.pick(&[1, 2])),
            10 => About::RemoveConcurrency,
            11 => About::Pause,
            12 | 13 => About::Resume,
            14 => self.random.pick(&[About::IsPaused, About::Concurrency]),
            _ => About::Hold(Millis(self.random.pick(&[10, 40, 6_000]))),
        };
        Step::Group(GroupStep::Of { queue, group: self.random.below(3) as u8, about })
    }

    pub fn schedule(&mut self) -> Step {
        let name = self.random.below(2) as u8;
        match self.random.below(10) {
            0 => return Step::Schedule(ScheduleStep::Delete(name)),
            1 => return Step::Schedule(ScheduleStep::RunNow(name)),
            _ => {}
        }
        let queue = self.queue();
        let mut add = self.add(queue);
        add.key = add.key.filter(|_| self.random.chance(30));
        // A schedule's jobs refer to nobody.
        (add.id, add.parent, add.repeat) = (None, None, None);
        add.after.clear();
        add.children.clear();
        let timing = match self.random.chance(60) {
            true => Timing::Every(self.random.pick(&[10, 30, 50, 4_000])),
            false => Timing::Pattern(self.random.below(PATTERNS.len() as u32) as u8),
        };
        Step::Schedule(ScheduleStep::Save(Box::new(SaveStep {
            name,
            timing,
            limit: self.random.pick(&[None, Some(1), Some(3)]),
            immediately: self.random.chance(30),
            makes_up: self.random.chance(40),
            needs_worker: self.random.chance(10),
            prevents_overlap: self.random.chance(70),
            takes_back: self.random.chance(30),
            add,
        })))
    }
}
