//! The command line. Parsed by hand: a few flags do not pay for a library.

use crate::compare::Plan;
use crate::server::Target;
use crate::workload::{WORKLOADS, Workload};
use std::path::PathBuf;
use std::time::Duration;

/// Shown by `--help`.
pub const HELP: &str = "\
onceover-bench - what brokers that speak the protocol do in a second, and how long they take

Usage: onceover-bench [FLAGS] [WORKLOAD...]
       onceover-bench scale [FLAGS]

Without names all workloads are run. Every round has a broker of its own with fresh data, started from a command line in
which {port}, {http} and {data} are filled in and which NAME=value words may begin.

  --server COMMAND     The broker that is measured; HOST:PORT for one that runs already (its queue is obliterated).
                       [onceoverd beside this program, without its page]
  --against COMMAND    Another one, or its HOST:PORT, measured in turns with the first.
  --names A,B          What the table calls them [onceover,other].
  --jobs N             scale: how many jobs, then how many with keys [1000000].
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
    /// Where the table goes besides the terminal.
    pub markdown: Option<PathBuf>,
}

/// What to do.
pub enum What {
    /// Print the help.
    Help,
    /// Run workloads.
    Compare(Plan),
    /// Memory, start and idling, with so many jobs.
    Scale(Vec<(String, Target)>, u64),
}

/// Reads the command line.
///
/// # Errors
/// What is wrong with it.
pub fn parse(given: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut given = given.peekable();
    let (mut server, mut against, mut markdown) = (ours(), None, None);
    let (mut names, mut rounds, mut seconds) = ("onceover,other".to_owned(), 3, 2.0);
    let (mut workloads, mut jobs) = (Vec::new(), 1e6);
    let scale = given.next_if(|word| word == "scale").is_some();
    while let Some(word) = given.next() {
        let mut value = || given.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--help" => return Ok(Args { what: What::Help, markdown: None }),
            "--server" => server = Target::parse(&value()?),
            "--against" => against = Some(Target::parse(&value()?)),
            "--names" => names = value()?,
            "--rounds" => rounds = number(&word, &value()?)? as usize,
            "--seconds" => seconds = number(&word, &value()?)?,
            "--jobs" => jobs = number(&word, &value()?)?,
            "--markdown" => markdown = Some(PathBuf::from(value()?)),
            name => workloads.push(named(name)?),
        }
    }
    if workloads.is_empty() {
        workloads = WORKLOADS.to_vec();
    }
    let brokers = names.split(',').map(str::to_owned).zip([server].into_iter().chain(against)).collect();
    if scale {
        return Ok(Args { what: What::Scale(brokers, jobs as u64), markdown });
    }
    let plan = Plan { brokers, workloads, rounds: rounds.max(1), time: Duration::from_secs_f64(seconds) };
    Ok(Args { what: What::Compare(plan), markdown })
}

fn number(name: &str, text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("{name}: {text} is no number"))?;
    Some(number).filter(|number| (0.01..=1e7).contains(number)).ok_or(format!("{name}: {text} is out of range"))
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
