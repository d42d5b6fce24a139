//! Texts of durations, ids and counts.

use super::*;

#[test]
fn durations_have_at_most_two_parts_and_always_a_unit() {
    let table = [
        (0, "0.0 s"),
        (2_449, "2.4 s"),
        (41_900, "41 s"),
        (188_000, "3 m 08 s"),
        (7_500_000, "2 h 05 m"),
        (446_400_000, "5 d 4 h"),
    ];
    for (ms, text) in table {
        assert_eq!(duration(Millis(ms)), text);
    }
    assert_eq!(duration(Millis(-5)), "0.0 s");
}

#[test]
fn time_left_is_rounded_up() {
    let table =
        [(0, "1 s"), (1, "1 s"), (1_000, "1 s"), (40_001, "41 s"), (59_999, "1 m 00 s"), (600_000, "10 m 00 s")];
    for (ms, text) in table {
        assert_eq!(left(Millis(ms)), text);
    }
}

#[test]
fn settings_read_as_people_write_them() {
    let table = [
        (500, "500 ms"),
        (1_500, "1,500 ms"),
        (60_000, "60 s"),
        (600_000, "10 min"),
        (3_600_000, "1 h"),
        (90_000, "1 m 30 s"),
    ];
    for (ms, text) in table {
        assert_eq!(span(Millis(ms)), text);
    }
}

#[test]
fn ages() {
    let table = [(-3, "just now"), (999, "just now"), (2_400, "2 s ago"), (61_000, "1 m 01 s ago")];
    for (ms, text) in table {
        assert_eq!(ago(Millis(ms)), text);
    }
}

#[test]
fn generated_ids_are_shortened_custom_ids_are_not() {
    assert_eq!(short_id(&JobId::parse("0192f0c1-1111-7222-8333-4444b0a1b2c3")), "…a1b2c3");
    assert_eq!(short_id(&JobId::parse("order-123")), "`order-123`");
}

#[test]
fn direction_and_control_characters_are_shown() {
    assert_eq!(code("a\n\u{202e}b"), "`a␊\u{fffd}b`");
}

#[test]
fn counts_are_grouped() {
    let table = [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
    for (number, text) in table {
        assert_eq!(count(number), text);
    }
    assert_eq!(plural(1, "add"), "1 add");
    assert_eq!(plural(2_000, "add"), "2,000 adds");
}
