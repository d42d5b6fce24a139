//! The filter language against one row of every kind of field.

use super::*;

const FIELDS: Fields<&str> = &[
    ("key", Kind::Text, "key"),
    ("id", Kind::Id, "id"),
    ("left", Kind::Duration, "left"),
    ("collapsed", Kind::Number, "collapsed"),
];

struct Sample;

impl Row<&str> for Sample {
    fn text(&self, field: &str, is: &mut dyn FnMut(&str) -> bool) -> bool {
        match field {
            "key" => is("User-42"),
            _ => is("0192f0c1-1111-7222-8333-4444b0a1b2c3"),
        }
    }

    fn number(&self, field: &str) -> Option<i64> {
        Some(if field == "left" { 9_500 } else { 120 })
    }

    fn has_word(&self, word: &Needle) -> bool {
        word.is_in(b"User-42 mail digest a:b two words")
    }
}

fn accepts(text: &str) -> bool {
    Filter::parse(text, FIELDS).unwrap().accepts(&Sample)
}

fn error(text: &str) -> String {
    let failure = Filter::parse(text, FIELDS).unwrap_err();
    assert_eq!(failure.code, FailureCode::BadFilter);
    failure.message
}

#[test]
fn what_passes_and_what_does_not() {
    let passes = [
        "",
        "  ",
        "user",
        "DIGEST mail",
        "-nothing",
        "key:user-42",
        "key:user-*",
        "key:*42",
        "key:*-4*",
        "key:a,user-42",
        "-key:a",
        "id:b0a1b2c3",
        "id:…a1b2c3",
        "id:0192*",
        "left:<10s",
        "left:>=9s",
        "left:>0.1m",
        "collapsed:>100",
        "collapsed:120",
        "collapsed:<=5,>100",
        "\"a:b\"",
        "\"two words\"",
        "key:\"user-42\"",
        "-\"x y\"",
        "key:user-42 left:<1m",
        "key:***",
        "-",
    ];
    for text in passes {
        assert!(accepts(text), "{text}");
    }
    let blocks = [
        "nothing",
        "user nothing",
        "-user",
        "key:user",
        "key:user-4",
        "key:*-5*",
        "-key:user-*",
        "id:ffffff",
        "left:<9s",
        "left:>9500ms",
        "collapsed:>120",
        "key:user-42 left:>1m",
    ];
    for text in blocks {
        assert!(!accepts(text), "{text}");
    }
}

#[test]
fn mistakes_are_named() {
    let table = [
        ("foo:1", "There is no field foo here, only key, id, left, collapsed. Quote a word that holds a colon."),
        ("key:", "key: a value is missing."),
        ("key:a,", "key: a value is missing."),
        ("\"open", "A quote is not closed."),
        ("left:<10", "left: \"10\" is not a duration. Example: left:<10s, with ms, s, m, h or d."),
        ("collapsed:>many", "collapsed: \"many\" is not a whole number. Example: collapsed:>100"),
        (
            "data.user.id:42",
            "data.user.id: rows cannot be found by a path in the data yet. Type the value as a plain word.",
        ),
    ];
    for (text, message) in table {
        assert_eq!(error(text), message);
    }
}

#[test]
fn a_colon_behind_something_that_is_no_name_is_plain_text() {
    assert!(!accepts("10:30"));
}

#[test]
fn many_stars_end_in_time() {
    let pattern = "*a".repeat(40);
    assert!(!glob(pattern.as_bytes(), "a".repeat(39).as_bytes()));
    assert!(glob(pattern.as_bytes(), "a".repeat(4_000).as_bytes()));
}
