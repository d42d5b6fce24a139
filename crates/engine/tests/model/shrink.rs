//! Makes a failing sequence small: whole steps go first, then entries of batches, then options of adds.

use crate::adding::AddStep;
use crate::commands::Step;
use crate::schedule_steps::{SaveStep, ScheduleStep};
use crate::tree_steps::{Policy, TreeStep};

/// Sequences tried before the smallest one so far is taken.
const TRIES_MAX: usize = 20_000;

/// The smallest sequence found that still fails.
pub fn shrink(mut steps: Vec<Step>, fails: &mut dyn FnMut(&[Step]) -> bool) -> Vec<Step> {
    let mut tries = 0;
    loop {
        let smaller = candidates(&steps).into_iter().find(|candidate| {
            tries += 1;
            tries <= TRIES_MAX && fails(candidate)
        });
        match smaller {
            Some(smaller) => steps = smaller,
            None => return steps,
        }
    }
}

/// Simpler sequences, the boldest first.
fn candidates(steps: &[Step]) -> Vec<Vec<Step>> {
    let mut all = Vec::new();
    let mut length = steps.len() / 2;
    while length > 0 {
        for start in (0..steps.len()).step_by(length) {
            let end = (start + length).min(steps.len());
            all.push([&steps[..start], &steps[end..]].concat());
        }
        length /= 2;
    }
    for (at, step) in steps.iter().enumerate() {
        for simpler in simpler(step) {
            let mut copy = steps.to_vec();
            copy[at] = simpler;
            all.push(copy);
        }
    }
    all
}

fn simpler(step: &Step) -> Vec<Step> {
    match step {
        Step::Push(add) => simpler_adds(add).into_iter().map(Step::Push).collect(),
        Step::Bulk(adds) => {
            let single = adds.iter().cloned().map(Step::Push);
            single.chain(simpler_batches(adds).into_iter().map(Step::Bulk)).collect()
        }
        Step::Tree(TreeStep::Flow(adds)) => {
            simpler_batches(adds).into_iter().map(|adds| Step::Tree(TreeStep::Flow(adds))).collect()
        }
        Step::Pull { queue, conn, lock, detach, wants } if lock.is_some() || wants.is_some() => {
            let (queue, conn, detach) = (*queue, *conn, *detach);
            let unlocked = Step::Pull { queue, conn, lock: None, detach, wants: *wants };
            let plain = Step::Pull { queue, conn, lock: *lock, detach, wants: None };
            [unlocked, plain].into_iter().filter(|simpler| simpler != step).collect()
        }
        Step::Schedule(ScheduleStep::Save(save)) => {
            let with = |add| Step::Schedule(ScheduleStep::Save(Box::new(SaveStep { add, ..(**save).clone() })));
            simpler_adds(&save.add).into_iter().map(with).collect()
        }
        Step::Probe => vec![Step::Restart { down: 0 }],
        Step::Restart { down: 1.. } => vec![Step::Restart { down: 0 }],
        _ => Vec::new(),
    }
}

/// The batch with one add or one option less each.
fn simpler_batches(adds: &[AddStep]) -> Vec<Vec<AddStep>> {
    let mut all = Vec::new();
    for at in 0..adds.len() {
        if adds.len() > 1 {
            all.push([&adds[..at], &adds[at + 1..]].concat());
        }
        for simpler in simpler_adds(&adds[at]) {
            let mut copy = adds.to_vec();
            copy[at] = simpler;
            all.push(copy);
        }
    }
    all
}

/// The add with one option less each.
fn simpler_adds(add: &AddStep) -> Vec<AddStep> {
    let changes: [fn(&mut AddStep); 23] = [
        |add| add.id = None,
        |add| add.key = None,
        |add| add.ttl = None,
        |add| add.extend = false,
        |add| add.replace = false,
        |add| add.keep = false,
        |add| add.delay = 0,
        |add| add.priority = 0,
        |add| add.attempts = 3,
        |add| add.slow = false,
        |add| add.forget_done = false,
        |add| add.forget_failed = false,
        |add| add.after.truncate(1),
        |add| add.after.clear(),
        |add| add.job_ttl = None,
        |add| add.timeout = None,
        |add| add.repeat = None,
        |add| add.group = None,
        |add| add.group_max = None,
        |add| add.parent = None,
        |add| add.children.truncate(1),
        |add| add.children.clear(),
        |add| add.policy = Policy::Keep,
    ];
    let changed = changes.iter().map(|change| {
        let mut copy = add.clone();
        change(&mut copy);
        copy
    });
    changed.filter(|copy| copy != add).collect()
}
