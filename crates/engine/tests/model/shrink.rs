//! Makes a failing sequence small: whole steps go first, then entries of batches, then options of adds.

use crate::commands::{AddStep, Step};

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
            let mut all: Vec<Step> = adds.iter().cloned().map(Step::Push).collect();
            for at in 0..adds.len() {
                if adds.len() > 1 {
                    all.push(Step::Bulk([&adds[..at], &adds[at + 1..]].concat()));
                }
                for simpler in simpler_adds(&adds[at]) {
                    let mut copy = adds.clone();
                    copy[at] = simpler;
                    all.push(Step::Bulk(copy));
                }
            }
            all
        }
        Step::Pull { queue, conn, lock: Some(_), detach } => {
            vec![Step::Pull { queue: *queue, conn: *conn, lock: None, detach: *detach }]
        }
        Step::Probe => vec![Step::Restart { down: 0 }],
        Step::Restart { down: 1.. } => vec![Step::Restart { down: 0 }],
        _ => Vec::new(),
    }
}

/// The add with one option less each.
fn simpler_adds(add: &AddStep) -> Vec<AddStep> {
    let changes: [fn(&mut AddStep); 17] = [
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
    ];
    let changed = changes.iter().map(|change| {
        let mut copy = add.clone();
        change(&mut copy);
        copy
    });
    changed.filter(|copy| copy != add).collect()
}
