//! Prints the moments of cron patterns, for comparison with other programs: each line of the input is a pattern, a time zone, a
//! beginning and an end in seconds, divided by tabs; each line of the output the moments after the beginning, up to the end.

use onceover_engine::calendar::{Pattern, Zone};
use onceover_engine::time::Timestamp;
use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufRead as _, Write as _};

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let fields: Vec<&str> = line.split('\t').collect();
        let [text, zone, from, to] = fields[..] else { return Err(format!("not four fields: {line}").into()) };
        let zone = Zone::parse(zone).map_err(|why| why.to_string())?;
        let pattern = Pattern::parse(text, Some(zone)).map_err(|why| format!("{text}: {why}"))?;
        let (from, to): (i64, i64) = (from.parse()?, to.parse()?);
        let mut found = String::new();
        let mut at = Timestamp(from * 1_000);
        while let Some(next) = pattern.next(at, &Zone::utc()).filter(|next| next.0 <= to * 1_000) {
            write!(found, "{} ", next.0 / 1_000)?;
            at = next;
        }
        writeln!(out, "{}", found.trim_end())?;
    }
    Ok(())
}
