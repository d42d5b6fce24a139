//! The command line. Parsed by hand: a few flags do not pay for a library.

use crate::server::Target;
use crate::workload::{WORKLOADS, Workload};
use std::path::PathBuf;
use std::time::Duration;

/// Shown by `--help`.
pub const HELP: &str = "\
onceover-bench - what brokers that speak the protocol do in a second, and how long they take

Usage: onceover-bench [FLAGS] [WORKLOAD...]
       onceover-bench latency|growth|scale [FLAGS]

Without names all workloads are run. latency: how long answers take at 500 adds a second. growth: what an operation costs
as the broker fills. scale: memory, disk and start with many jobs, and what an idle broker costs.
Every round has a broker of its own with fresh data, started from a command line in which {port}, {http} and {data} are
filled in and which NAME=value words may begin.

  --server COMMAND     The broker that is measured; HOST:PORT for one that runs already (its queue is obliterated).
                       [onceoverd beside this program, without its page]
  --against COMMAND    Another one, or its HOST:PORT, measured in turns with the first.
  --names A,B          What the table calls them [onceover,other].
  --jobs N             growth, scale: how many [1000000].
  --page PROGRAM       latency: this Chromium shows the page meanwhile.
  --rounds N           Rounds of each [3].
  --seconds N          Seconds of each round [2].
  --markdown FILE      The table goes here too.
  --help

The exit code is 0 when everything was measured and every goal against the other broker was met, 1 otherwise, 2 for wrong usage.
";

/// What was asked for.
pub struct Args {
    /// What to do.
    pub what: What,
    /// The brokers; the first is ours.
    pub brokers: Vec<(String, Target)>,
    /// Workloads to compare.
    pub workloads: Vec<Workload>,
    /// Rounds of each.
    pub rounds: usize,
    /// Time of each round.
    pub time: Duration,
    /// So many jobs for growth and scale.
    pub jobs: u64,
    /// A browser's program.
    pub page: Option<String>,
    /// Where the table goes besides the terminal.
    pub markdown: Option<PathBuf>,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Print the help.
    Help,
    /// Run workloads.
    Compare,
    /// How long answers take at a moderate rate.
    Latency,
    /// Costs as the broker fills.
    Growth,
    /// Memory, start and idling.
    Scale,
}

impl What {
    fn named(word: &str) -> Option<What> {
        match word {
            "--help" => Some(What::Help),
            "latency" => Some(What::Latency),
            "growth" => Some(What::Growth),
            "scale" => Some(What::Scale),
            _ => None,
        }
    }
}

/// Reads the command line.
///
/// # Errors
/// What is wrong with it.
pub fn parse(mut given: impl Iterator<Item = String>) -> Result<Args, String> {
    let (mut server, mut against, mut names) = (ours(), None, "onceover,other".to_owned());
    let (workloads, time) = (Vec::new(), Duration::from_secs(2));
    let mut args = Args {
        what: What::Compare,
        brokers: Vec::new(),
        workloads,
        rounds: 3,
        time,
        jobs: 1_000_000,
        page: None,
        markdown: None,
    };
    while let Some(word) = given.next() {
        let mut value = || given.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--server" => server = Target::parse(&value()?),
            "--against" => against = Some(Target::parse(&value()?)),
            "--names" => names = value()?,
            "--rounds" => args.rounds = number(&word, &value()?)? as usize,
            "--seconds" => args.time = Duration::from_secs_f64(number(&word, &value()?)?),
            "--jobs" => args.jobs = number(&word, &value()?)? as u64,
            "--page" => args.page = Some(value()?),
            "--markdown" => args.markdown = Some(PathBuf::from(value()?)),
            name => match What::named(name) {
                Some(what) => args.what = what,
                None => args.workloads.push(named(name)?),
            },
        }
    }
    if args.workloads.is_empty() {
        args.workloads = WORKLOADS.to_vec();
    }
    args.brokers = names.split(',').map(str::to_owned).zip([server].into_iter().chain(against)).collect();
    Ok(args)
}

fn number(name: &str, text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("{name}: {text} is no number"))?;
    Some(number).filter(|number| (0.1..=1e7).contains(number)).ok_or(format!("{name}: {text} is out of range"))
}

fn named(name: &str) -> Result<Workload, String> {
    let known = WORKLOADS.iter().find(|workload| workload.name == name).copied();
    known.ok_or_else(|| {
        let names: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
        format!("there is no {name}; workloads are {}", names.join(", "))
    })
}

/// `onceoverd` as it is built beside this program.
fn ours() -> Target {
    let beside = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join("onceoverd")));
    let program = beside.map_or("onceoverd".to_owned(), |path| path.display().to_string());
    Target::Command([&program, "--no-ui", "--port", "{port}", "--data", "{data}"].map(str::to_owned).to_vec())
}
