//! A lane's strategy in words, and which data ran.

use super::scenario::{LaneSpec, LaneStrategy};
use crate::words::span;
use onceover_engine::time::Millis;
use std::collections::BTreeSet;

/// Such as `extend, TTL 3 s`.
pub fn of(lane: &LaneSpec) -> String {
    let mut title = match lane.strategy {
        LaneStrategy::None => "no id",
        LaneStrategy::JobId => "job ID",
        LaneStrategy::Plain => "plain key",
        LaneStrategy::Ttl => "key",
        LaneStrategy::Extend => "extend",
        LaneStrategy::Replace => "replace",
        LaneStrategy::ExtendReplace => "extend + replace",
        LaneStrategy::Hash => "hash of data",
        LaneStrategy::KeepLast => "keep last if active",
    }
    .to_owned();
    if let Some(ttl) = lane.ttl_ms {
        title.push_str(&format!(", TTL {}", span(Millis(i64::from(ttl)))));
    }
    if lane.delay_ms > 0 {
        title.push_str(&format!(", delay {}", span(Millis(i64::from(lane.delay_ms)))));
    }
    title
}

/// Which data ran, in one or two sentences. `added` and `runs` are versions, in the order in which they came.
pub fn ran(added: &[u32], runs: &[u32]) -> String {
    let (Some(first), Some(newest)) = (added.iter().min(), added.iter().max()) else {
        return "Nothing was added yet.".to_owned();
    };
    let Some(last) = runs.last() else { return "Nothing has run yet.".to_owned() };
    if first == newest {
        return match runs.len() {
            1 => format!("v{last} ran once."),
            2 => format!("v{last} ran twice."),
            times => format!("v{last} ran {times} times."),
        };
    }
    let place = match (last == newest, last == first) {
        (true, _) => "the newest data",
        (false, true) => "the oldest data",
        (false, false) => "neither the oldest nor the newest data",
    };
    let missed: BTreeSet<u32> = added.iter().filter(|v| !runs.contains(v)).copied().collect();
    let lost = if missed.is_empty() { String::new() } else { format!(" {} did not run.", list(&missed)) };
    format!("v{last} ran last: {place}.{lost}")
}

/// `v2`, `v2 and v3`, `v2 to v5`, `v2 and v4 to v6`.
fn list(versions: &BTreeSet<u32>) -> String {
    let mut groups: Vec<(u32, u32)> = Vec::new();
    for v in versions {
        match groups.last_mut() {
            Some((_, to)) if *to + 1 == *v => *to = *v,
            _ => groups.push((*v, *v)),
        }
    }
    let mut names: Vec<String> = Vec::new();
    for (from, to) in groups {
        match to - from {
            0 => names.push(format!("v{from}")),
            1 => names.extend([format!("v{from}"), format!("v{to}")]),
            _ => names.push(format!("v{from} to v{to}")),
        }
    }
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}
