//! Two brokers side by side, round by round, or one alone.

use crate::args::Args;
use crate::figures::{Table, median, quantile_us, short, time};
use crate::measure::{Round, backlog, measure};
use crate::workload::Workload;
use anyhow::Result;

/// Runs it. Returns the table, and the names of workloads that miss their goal.
///
/// # Errors
/// A broker fails, or an answer is not what it should be.
pub fn compare(plan: &Args) -> Result<(Table, Vec<&'static str>)> {
    let mut table = Table::new(&heads(plan));
    let mut missed = Vec::new();
    for workload in &plan.workloads {
        let rounds = rounds(plan, workload)?;
        let (row, good) = row(workload, rounds);
        eprintln!("{}", row.join("  "));
        table.row(row);
        if !good {
            missed.push(workload.name);
        }
    }
    Ok((table, missed))
}

/// The rounds of each broker. The brokers take turns in who begins, so that what the machine does meanwhile meets both.
fn rounds(plan: &Args, workload: &Workload) -> Result<Vec<Vec<Round>>> {
    let enough = plan.brokers.iter().map(|(_, target)| backlog(target, workload, plan.time));
    let enough = enough.collect::<Result<Vec<u64>>>()?;
    let mut rounds: Vec<Vec<Round>> = plan.brokers.iter().map(|_| Vec::new()).collect();
    for round in 0..plan.rounds {
        for turn in 0..plan.brokers.len() {
            let which = (round + turn) % plan.brokers.len();
            rounds[which].push(measure(&plan.brokers[which].1, workload, enough[which], plan.time)?);
        }
    }
    Ok(rounds)
}

fn heads(plan: &Args) -> Vec<&str> {
    let mut heads = vec!["workload"];
    for (name, _) in &plan.brokers {
        heads.extend([name.as_str(), "min–max", "p50 / p99", "CPU"]);
    }
    if plan.brokers.len() > 1 {
        heads.extend(["ratio", "goal", ""]);
    }
    heads
}

fn row(workload: &Workload, rounds: Vec<Vec<Round>>) -> (Vec<String>, bool) {
    let mut cells = vec![workload.name.to_owned()];
    let mut medians = Vec::new();
    for rounds in rounds {
        let mut rates: Vec<f64> = rounds.iter().map(Round::rate).collect();
        rates.sort_by(f64::total_cmp);
        medians.push(median(&rates));
        let cpu: Option<Vec<f64>> = rounds.iter().map(Round::cpu_us).collect();
        let mut took: Vec<u32> = rounds.into_iter().flat_map(|round| round.outcome.took_ns).collect();
        let (p50, p99) = (quantile_us(&mut took, 0.5), quantile_us(&mut took, 0.99));
        cells.push(short(median(&rates)));
        cells.push(format!("{}–{}", short(rates[0]), short(rates[rates.len() - 1])));
        cells.push(format!("{} / {}", time(p50), time(p99)));
        cells.push(cpu.map_or("–".to_owned(), |cpu| time(median(&cpu))));
    }
    let [ours, theirs] = medians[..] else { return (cells, true) };
    let ratio = ours / theirs;
    let good = ratio >= workload.goal;
    cells.extend([format!("{ratio:.1}"), workload.goal.to_string(), if good { "ok" } else { "MISS" }.to_owned()]);
    (cells, good)
}
