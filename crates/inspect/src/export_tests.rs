//! Cells of a table.

use super::*;

#[test]
fn cells_cannot_break_out_of_their_table() {
    let table = [
        ("plain", "plain"),
        ("a,b", "\"a,b\""),
        ("say \"hi\"", "\"say \"\"hi\"\"\""),
        ("two\nlines", "\"two\nlines\""),
        ("=1+1", "'=1+1"),
        ("-2", "'-2"),
        ("", ""),
    ];
    for (text, written) in table {
        assert_eq!(cell(text), written);
    }
}
