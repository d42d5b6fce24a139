//! The naive model's groups (protocol-admin.md 8): turns, what holds a group back, sizes.
//!
//! A group stands in line while it has a ready job. Whenever one of its ready jobs leaves its place, for whatever reason, the
//! group goes to the end. Which order a start gives the line is left to the engine's own order of loading.

use crate::marks::mark;
use crate::naive::{Answer, Generation, Job, Model, Refusal, Spec, State};
use onceover_engine::group::{About, Answer as GroupAnswer};
use onceover_engine::time::Millis;

/// So many starts in so many milliseconds.
pub type Rate = (u64, i64);

/// Which jobs a worker wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Affinity {
    #[default]
    Any,
    Ungrouped,
    Group(u8),
}

/// What a worker says about groups with its pull.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    pub affinity: Affinity,
    pub most: Option<u64>,
    pub rate: Option<Rate>,
}

/// What holds a group back.
#[derive(Clone, Debug)]
pub struct Group {
    queue: u8,
    name: u8,
    paused: bool,
    held_until: Option<i64>,
    rate: Option<Rate>,
    most: Option<u64>,
    /// Starts in a window of each rate: the rate, the window's end, how many.
    windows: Vec<(Rate, i64, u64)>,
}

impl Job {
    pub fn group(&self) -> Option<(u8, u8)> {
        self.spec.step.group.map(|group| (self.spec.step.queue, group))
    }
}

impl Model {
    fn group(&self, of: (u8, u8)) -> Option<&Group> {
        self.groups.iter().find(|group| (group.queue, group.name) == of)
    }

    fn group_mut(&mut self, (queue, name): (u8, u8)) -> &mut Group {
        let at = self.groups.iter().position(|group| (group.queue, group.name) == (queue, name));
        let at = at.unwrap_or_else(|| {
            let (rate, most, windows) = (None, None, Vec::new());
            self.groups.push(Group { queue, name, paused: false, held_until: None, rate, most, windows });
            self.groups.len() - 1
        });
        &mut self.groups[at]
    }

    fn count_in(&self, of: (u8, u8), state: State) -> u64 {
        self.jobs.iter().filter(|job| job.group() == Some(of) && job.state == state).count() as u64
    }

    /// The job left its place or came to one.
    pub fn touch(&mut self, at: Generation) {
        let Some(group) = self.jobs[at].group() else { return };
        let was_lined = std::mem::replace(&mut self.jobs[at].lined, false);
        let has_others = self.jobs.iter().any(|job| job.lined && job.group() == Some(group));
        if was_lined {
            self.line.retain(|other| *other != group);
            if has_others {
                self.line.push(group);
            }
        }
        let job = &mut self.jobs[at];
        if job.state == State::Queued && job.run_at <= self.now {
            job.lined = true;
            if !self.line.contains(&group) {
                self.line.push(group);
            }
        }
    }

    /// After a start, before what was active is put back, all stand in line by age.
    pub fn line_up_anew(&mut self) {
        self.line.clear();
        for at in 0..self.jobs.len() {
            self.jobs[at].lined = false;
            self.touch(at);
        }
        self.groups.iter_mut().for_each(|group| group.windows.clear());
    }

    fn is_free(&self, of: (u8, u8), wants: Wants) -> bool {
        let Some(group) = self.group(of) else {
            return wants.most.is_none_or(|most| self.count_in(of, State::Active) < most);
        };
        if group.paused || group.held_until.is_some_and(|end| self.now < end) {
            mark("group", if group.paused { "paused" } else { "held" });
            return false;
        }
        let most = wants.most.map(|own| group.most.unwrap_or(own));
        if most.is_some_and(|most| self.count_in(of, State::Active) >= most) {
            mark("group", if group.most.is_some() { "its own concurrency" } else { "a worker's concurrency" });
            return false;
        }
        let rate = wants.rate.map(|own| group.rate.unwrap_or(own));
        let windows = group.windows.iter().filter(|(of, end, _)| Some(*of) == rate && self.now < *end);
        let is_full = windows.into_iter().any(|((max, _), _, taken)| taken >= max);
        if is_full {
            mark("group", if group.rate.is_some() { "its own rate" } else { "a worker's rate" });
        }
        !is_full
    }

    /// The job that such a pull takes.
    pub fn first_for(&self, queue: u8, wants: Wants) -> Option<Generation> {
        let is_ready = |at: &Generation| {
            let job = &self.jobs[*at];
            job.spec.step.queue == queue && job.state == State::Queued && job.run_at <= self.now
        };
        let ready = || (0..self.jobs.len()).filter(is_ready);
        let order = |at: &Generation| (-self.jobs[*at].priority, self.jobs[*at].run_at, *at);
        let ungrouped = || ready().filter(|at| self.jobs[*at].group().is_none()).min_by_key(order);
        // In a group the lower number goes first.
        let lane_order = |at: &Generation| (self.jobs[*at].priority, self.jobs[*at].run_at, *at);
        let of_group = |of| ready().filter(|at| self.jobs[*at].group() == Some(of)).min_by_key(lane_order);
        match wants.affinity {
            Affinity::Ungrouped => ungrouped(),
            Affinity::Group(name) => of_group((queue, name)).filter(|_| self.is_free((queue, name), wants)),
            Affinity::Any => ungrouped().or_else(|| {
                let mut line = self.line.iter().filter(|group| group.0 == queue);
                let free = line.find(|group| self.is_free(**group, wants))?;
                if self.line.iter().filter(|group| group.0 == queue).count() > 1 {
                    mark("group", "takes its turn among others");
                }
                of_group(*free)
            }),
        }
    }

    /// A pull that said this has taken a job.
    pub fn count_start(&mut self, at: Generation, wants: Option<Wants>) {
        let now = self.now;
        let Some((of, own)) = self.jobs[at].group().zip(wants.and_then(|wants| wants.rate)) else { return };
        let group = self.group_mut(of);
        group.windows.retain(|(_, end, _)| now < *end);
        let rate = group.rate.unwrap_or(own);
        if !group.windows.iter().any(|(of, _, _)| *of == rate) {
            group.windows.push((rate, now + rate.1, 0));
        }
        group.windows.iter_mut().for_each(|(_, _, taken)| *taken += 1);
    }

    /// Whether an add's group takes one more; `replaced` would leave first.
    pub fn has_room(&self, spec: &Spec, replaced: Option<Generation>) -> Result<(), Refusal> {
        let of = spec.step.group.map(|group| (spec.step.queue, group));
        let Some((of, most)) = of.zip(spec.step.group_max) else { return Ok(()) };
        let leaves = replaced.map(|at| &self.jobs[at]);
        let leaves = leaves.is_some_and(|job| job.state == State::Queued && job.group() == Some(of));
        if self.count_in(of, State::Queued) - u64::from(leaves) < most {
            return Ok(());
        }
        mark("group", "full");
        Err(Refusal::Some)
    }

    /// Whether every group of a flow takes those of its jobs that would be queued.
    pub fn have_room(&self, specs: &[std::rc::Rc<Spec>]) -> Result<(), Refusal> {
        for (at, spec) in specs.iter().enumerate().filter(|(_, spec)| spec.after.is_empty()) {
            let place = |spec: &Spec| spec.step.group.map(|group| (spec.step.queue, group));
            let Some((of, most)) = place(spec).zip(spec.step.group_max) else { continue };
            let before = specs[..at].iter().filter(|other| other.after.is_empty() && place(other) == Some(of)).count();
            if self.count_in(of, State::Queued) + before as u64 >= most {
                mark("group", "full for a flow");
                return Err(Refusal::Some);
            }
        }
        Ok(())
    }

    /// A group command.
    pub fn about_group(&mut self, of: (u8, u8), about: About) -> Answer {
        let (queued, active) = (self.count_in(of, State::Queued), self.count_in(of, State::Active));
        let now = self.now;
        let group = self.group_mut(of);
        let held = group.held_until.filter(|end| now < *end);
        Answer::Group(match about {
            About::JobsCount => GroupAnswer::Count(queued),
            About::ActiveCount => GroupAnswer::Count(active),
            About::Rate => GroupAnswer::Rate(group.rate.map(rate_of)),
            About::SetRate(rate) => {
                group.rate = Some((rate.max, rate.duration.0));
                GroupAnswer::Done
            }
            About::RemoveRate => GroupAnswer::Removed(group.rate.take().is_some()),
            About::SetConcurrency(most) => {
                group.most = Some(most);
                GroupAnswer::Done
            }
            About::Concurrency => GroupAnswer::Concurrency(group.most),
            About::RemoveConcurrency => GroupAnswer::Removed(group.most.take().is_some()),
            About::Pause => GroupAnswer::Changed(!std::mem::replace(&mut group.paused, true)),
            About::Resume => GroupAnswer::Changed(std::mem::replace(&mut group.paused, false)),
            About::IsPaused => GroupAnswer::Paused(group.paused),
            About::Hold(time) => {
                group.held_until = Some(now + time.0);
                GroupAnswer::Done
            }
            About::RateTtl(most) => {
                let open = group.windows.iter().filter(|(_, end, _)| now < *end);
                let wait = |(_, end, taken): &(Rate, i64, u64)| {
                    if most.is_none_or(|most| *taken >= most) { end - now } else { 0 }
                };
                GroupAnswer::Ttl(held.map(|end| end - now).or_else(|| open.map(wait).max()).map(Millis))
            }
        })
    }

    /// GetGroupsJobsCount.
    pub fn in_groups(&self, queue: u8) -> Answer {
        let is_in = |job: &&Job| job.state == State::Queued && job.group().is_some_and(|group| group.0 == queue);
        Answer::Group(GroupAnswer::Count(self.jobs.iter().filter(is_in).count() as u64))
    }

    /// Obliterate takes what is set for the groups, too.
    pub fn forget_groups(&mut self, queue: u8) {
        self.groups.retain(|group| group.queue != queue);
    }

    /// Moments at which something of a group changes.
    pub fn group_moments(&self) -> impl Iterator<Item = i64> {
        self.groups.iter().flat_map(|group| group.windows.iter().map(|(_, end, _)| *end).chain(group.held_until))
    }
}

/// The engine's word for a rate.
pub fn rate_of((max, duration): Rate) -> onceover_engine::limit::Rate {
    onceover_engine::limit::Rate { max, duration: Millis(duration) }
}
