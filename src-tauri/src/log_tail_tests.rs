//! The tail keeps the newest lines and no long ones.

use super::*;

#[test]
fn the_newest_lines_are_kept_and_long_ones_cut() {
    let tail = LogTail::default();
    for at in 0..LINES_MAX + 5 {
        tail.push(&format!("line {at}\n"));
    }
    assert_eq!((tail.lines().len(), tail.lines()[0].as_str()), (LINES_MAX, "line 5"));
    tail.push(&format!("{}\nlast", "é".repeat(LINE_BYTES_MAX)));
    let lines = tail.lines();
    assert_eq!((lines[LINES_MAX - 2].len(), lines[LINES_MAX - 1].as_str()), (LINE_BYTES_MAX, "last"));
}
