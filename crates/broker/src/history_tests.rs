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

#[test]
fn minutes_hold_what_the_seconds_brought_and_what_the_running_one_has() {
    let name: Arc<str> = Arc::from("q");
    let totals = |completed, failed| Totals { completed, failed, ..Totals::default() };
    let mut history = History::default();
    let roll = |history: &mut History, second: i64, totals| {
        history.roll(Timestamp(second * 1_000 + 1), std::iter::once((&name, totals)));
    };
    roll(&mut history, 600, totals(0, 0));
    roll(&mut history, 601, totals(2, 1));
    roll(&mut history, 725, totals(5, 1));
    let now = Timestamp(725_500);
    let completed = history.minutes("q", false, totals(9, 1), now);
    // 600 s begin minute 10; the jump to 725 s belongs to the second that was running when it began.
    assert_eq!((completed.total, completed.data(), completed.last_at), (9, vec![4, 0, 5], Some(now)));
    let failed = history.minutes("q", true, totals(9, 1), now);
    assert_eq!((failed.total, failed.data(), failed.last_at), (1, vec![1], Some(Timestamp(600_000))));
    // A queue that is removed for want of jobs keeps its minutes, one that is obliterated does not.
    history.roll(Timestamp(726_001), std::iter::empty());
    assert_eq!(history.minutes("q", false, totals(1, 0), now).total, 6);
    let left = Effects { forgotten: vec![(Arc::clone(&name), totals(3, 0))], ..Effects::default() };
    history.leave(now, &left);
    assert_eq!(history.minutes("q", false, totals(0, 0), now).total, 8, "what came in its last second counts");
    history.leave(now, &Effects { obliterated: vec![Arc::clone(&name)], ..Effects::default() });
    assert_eq!(history.minutes("q", false, totals(1, 0), now).total, 1);
}
