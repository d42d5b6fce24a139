//! `onceover-sim [--seed N] [--worlds N] [--steps N] [--minutes N]`: worlds from ascending seeds, until one of them breaks.
//!
//! Prints what they have been through. Exit code 1 and the seed when something must not be; the same seed replays it.

use onceover_sim::Tally;
use std::process::ExitCode;
use std::time::{Duration, Instant};

struct Args {
    seed: u64,
    worlds: u64,
    steps: u32,
    time: Duration,
}

fn parse() -> Result<Args, String> {
    let mut args = Args { seed: 1, worlds: 1_000, steps: 400, time: Duration::MAX };
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        let text = given.next().ok_or(format!("{name} needs a number"))?;
        let number: u64 = text.parse().map_err(|_| format!("{name}: {text} is no number"))?;
        match name.as_str() {
            "--seed" => args.seed = number,
            "--worlds" => args.worlds = number,
            "--steps" => args.steps = u32::try_from(number).map_err(|_| format!("{name}: {text} is too much"))?,
            "--minutes" => (args.time, args.worlds) = (Duration::from_secs(number * 60), u64::MAX),
            _ => return Err(format!("there is no {name}; --seed, --worlds, --steps and --minutes take a number")),
        }
    }
    Ok(args)
}

fn main() -> ExitCode {
    let args = match parse() {
        Ok(args) => args,
        Err(text) => {
            eprintln!("{text}");
            return ExitCode::from(2);
        }
    };
    let started = Instant::now();
    let mut tally = Tally::default();
    let mut worlds = 0;
    while worlds < args.worlds && started.elapsed() < args.time {
        let seed = args.seed + worlds;
        let Ok(more) = std::panic::catch_unwind(|| onceover_sim::run(seed, args.steps)) else {
            eprintln!("broken: onceover-sim --seed {seed} --worlds 1 --steps {}", args.steps);
            return ExitCode::FAILURE;
        };
        tally = tally.plus(more);
        worlds += 1;
    }
    println!("{worlds} worlds from seed {}, {} steps each, {} s", args.seed, args.steps, started.elapsed().as_secs());
    println!("{tally:#?}");
    ExitCode::SUCCESS
}
