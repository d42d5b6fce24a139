//! `onceover-bench`: what brokers that speak the protocol do in a second, and how long they take.
//!
//! Counts only answers that are `ok`; any other ends the program with an error. See `--help`.

mod args;
mod compare;
mod figures;
mod frame;
mod load;
mod measure;
mod scale;
mod server;
mod work;
mod workload;

use anyhow::{Context, Result};
use args::{Args, What};
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
    let (text, good) = match args.what {
        What::Help => (args::HELP.to_owned(), true),
        What::Scale(brokers, jobs) => (scale::scale(&brokers, jobs)?.markdown(), true),
        What::Compare(plan) => {
            let (table, missed) = compare::compare(&plan)?;
            let verdict = match missed.is_empty() {
                true => String::new(),
                false => format!("\nBelow the goal: {}\n", missed.join(", ")),
            };
            (table.markdown() + &verdict, missed.is_empty())
        }
    };
    print!("{text}");
    if let Some(file) = args.markdown {
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(good)
}
