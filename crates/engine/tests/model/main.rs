//! Random sequences of commands against the engine and a naive model of the contract (dedup.md).
//!
//! `ONCEOVER_MODEL_SEQUENCES` says how many, `ONCEOVER_MODEL_SEED` where they start; the seed is printed. A failing sequence
//! is made small and printed so that it can be pasted into `regressions.rs`. Wire forms, validation of fields, events and
//! payload hashes are not looked at here.

mod adding;
mod adds;
mod commands;
mod dead;
mod drive;
mod families;
mod generate;
mod group_steps;
mod groups;
mod lifecycle;
mod limits;
mod marks;
mod moves;
mod naive;
mod regressions;
mod rows;
mod schedule_steps;
mod schedules;
mod shrink;
mod translate;
mod tree_steps;
mod trees;

use commands::Step;
use generate::Random;
use std::panic::{AssertUnwindSafe, catch_unwind};

const SEQUENCES: u64 = 100_000;
const SEED: u64 = 20_260_801;

fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} must be a number: {text}")))
}

/// What is wrong with a sequence: the step and the difference. A panic of the engine is one too.
fn wrong(steps: &[Step]) -> Option<(usize, String)> {
    match catch_unwind(AssertUnwindSafe(|| drive::run(steps))) {
        Ok(result) => result.err(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Some((steps.len() - 1, format!("panic: {}", text.unwrap_or_default())))
        }
    }
}

/// Runs a sequence given as text, a step a line.
fn check(text: &str) {
    let steps: Vec<Step> = text.lines().filter(|line| !line.trim().is_empty()).map(commands::parse).collect();
    if let Some((at, why)) = wrong(&steps) {
        panic!("step {} ({}): {why}", at + 1, steps[at]);
    }
}

fn report(seed: u64, steps: Vec<Step>, at: usize) -> String {
    let steps = steps[..=at].to_vec();
    let small = shrink::shrink(steps, &mut |steps| wrong(steps).is_some());
    let why = wrong(&small).map_or_else(String::new, |(_, why)| why);
    let lines: Vec<String> = small.iter().map(|step| format!("        {step}")).collect();
    format!("seed {seed}: {why}\n    check(\n        \"\n{}\n        \",\n    );\n", lines.join("\n"))
}

#[test]
fn engine_and_contract_agree_on_random_sequences() {
    let seed = from_env("ONCEOVER_MODEL_SEED", SEED);
    let sequences = from_env("ONCEOVER_MODEL_SEQUENCES", SEQUENCES);
    println!("model: {sequences} sequences from seed {seed}");
    for seed in seed..seed + sequences {
        let steps = generate::sequence(&mut Random::new(seed));
        if let Some((at, _)) = wrong(&steps) {
            panic!("{}", report(seed, steps, at));
        }
    }
    let missed = marks::missed();
    assert!(sequences < SEQUENCES || missed.is_empty(), "hardly any sequence came by {missed:?}");
}

#[test]
fn a_printed_sequence_can_be_read_back() {
    for seed in 0..200 {
        for step in generate::sequence(&mut Random::new(seed)) {
            assert_eq!(commands::parse(&step.to_string()), step, "{step}");
        }
    }
}
