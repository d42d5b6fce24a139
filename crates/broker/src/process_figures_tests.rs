//! What `/proc` says.

use super::*;

#[test]
fn the_names_of_programs_may_hold_anything() {
    let stat = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 30 12 0 0 20 0";
    assert_eq!(ticks(stat), Some(42));
    assert_eq!(resident("100 25 3 4"), Some(25 * 4_096));
    assert_eq!((ticks(""), resident("")), (None, None));
}

#[cfg(target_os = "linux")]
#[test]
fn this_process_takes_some() {
    let figures = ProcessFigures::now();
    assert!(figures.resident_bytes.is_some_and(|bytes| bytes > 1_000_000));
    assert!(figures.cpu_ticks.is_some());
}
