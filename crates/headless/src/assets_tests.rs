//! The embedded files.

use super::*;

#[test]
fn the_window_or_its_substitute_is_always_there() {
    let window = find("/").expect("there is a page");
    assert_eq!(Some(window), find("/index.html"));
    assert_eq!((window.media_type, window.immutable), ("text/html; charset=utf-8", false));
    assert!(!window.content.is_empty());
}

#[test]
fn nothing_else_is_made_up() {
    for path in ["", "/nothing", "/../Cargo.toml", "index.html", "//index.html"] {
        assert_eq!(find(path), None, "{path}");
    }
}

#[test]
fn media_types_follow_the_name() {
    let cases = [
        ("/assets/a.b.js", "text/javascript; charset=utf-8"),
        ("/x", "application/octet-stream"),
        ("/i.svg", "image/svg+xml"),
    ];
    for (path, expected) in cases {
        assert_eq!(media_type(path), expected);
    }
}
