//! `onceover-bench`: what brokers that speak the protocol do in a second, and how long they take.
//!
//! Counts only answers that are `ok`; any other ends the program with an error. See `--help`.

use anyhow::{Context, Result};
use onceover_bench::args::{Args, What};
use onceover_bench::{args, compare, growth, latency, scale};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(text) => {
            eprintln!("{text}");
            return ExitCode::from(2);
        }
    };
    match run(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("onceover-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all goals are met.
fn run(args: Args) -> Result<bool> {
    let (table, below) = match args.what {
        What::Help => {
            print!("{}", args::HELP);
            return Ok(true);
        }
        What::Compare => compare::compare(&args)?,
        What::Latency => (latency::latency(&args.brokers, args.rounds, args.time, args.page.as_deref())?, Vec::new()),
        What::Growth => growth::growth(&args.brokers[0].1, &[1_000, 100_000, args.jobs])?,
        What::Scale => (scale::scale(&args.brokers, args.jobs)?, Vec::new()),
    };
    let good = below.is_empty();
    let verdict = if good { String::new() } else { format!("\nBelow the goal: {}\n", below.join(", ")) };
    let text = table.markdown() + &verdict;
    print!("{text}");
    if let Some(file) = args.markdown {
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(good)
}
