//! The last minute of queues.

use super::*;

fn roll(history: &mut History, second: i64, pushed: u64, completed: u64) {
    let name: Arc<str> = Arc::from("q");
    let totals = Totals { pushed, completed, ..Totals::default() };
    history.roll(Timestamp(second * 1_000 + 1), std::iter::once((&name, totals)));
}

/// Seconds in which something happened, counted back from the last full one.
fn shown(history: &History, second: i64) -> Vec<(usize, u32, u32)> {
    let seconds = history.of("q", Timestamp(second * 1_000 + 500));
    let happened = seconds.iter().rev().enumerate().filter(|(_, second)| **second != Second::default());
    happened.map(|(back, second)| (back, second.added, second.ended)).collect()
}

#[test]
fn growth_belongs_to_the_second_before() {
    let mut history = History::default();
    roll(&mut history, 100, 0, 0);
    roll(&mut history, 101, 5, 1);
    roll(&mut history, 102, 5, 1);
    roll(&mut history, 103, 9, 1);
    assert_eq!(shown(&history, 103), [(0, 4, 0), (2, 5, 1)]);
    assert_eq!(history.of("q", Timestamp(103_000)).len(), HISTORY_SECONDS);
}

#[test]
fn a_pause_leaves_no_old_seconds_behind_and_a_minute_forgets() {
    let mut history = History::default();
    roll(&mut history, 100, 0, 0);
    roll(&mut history, 101, 7, 0);
    roll(&mut history, 140, 8, 0);
    roll(&mut history, 162, 9, 0);
    assert_eq!(shown(&history, 163), [(22, 1, 0)]);
    roll(&mut history, 300, 9, 0);
    assert!(history.of("q", Timestamp(300_000)).is_empty());
}

#[test]
fn a_queue_that_began_anew_counts_from_zero_and_only_so_many_have_a_curve() {
    let mut history = History::default();
    roll(&mut history, 100, 50, 0);
    roll(&mut history, 101, 0, 0);
    roll(&mut history, 102, 2, 0);
    assert_eq!(shown(&history, 102), [(0, 2, 0)]);
    let names: Vec<Arc<str>> = (0..HISTORY_QUEUES_MAX + 10).map(|at| Arc::from(format!("other-{at}"))).collect();
    let busy = Totals { pushed: 1, ..Totals::default() };
    history.roll(Timestamp(103_000), names.iter().map(|name| (name, busy)));
    assert_eq!(history.lines.len(), HISTORY_QUEUES_MAX);
}

#[test]
fn what_collapsed_is_counted_apart() {
    let mut history = History::default();
    let name: Arc<str> = Arc::from("q");
    for (second, collapsed) in [(100, 4), (101, 9)] {
        let totals = Totals { collapsed, ..Totals::default() };
        history.roll(Timestamp(second * 1_000), std::iter::once((&name, totals)));
    }
    let seconds = history.of("q", Timestamp(101_500));
    assert_eq!(seconds.last(), Some(&Second { added: 0, collapsed: 5, ended: 0 }));
}
