//! Comparing secrets.

use super::*;

#[test]
fn only_the_very_same_text_is_the_same() {
    let cases = [
        ("abc", "abc", true),
        ("abc", "abd", false),
        ("abc", "ab", false),
        ("abc", "abc\0", false),
        ("abc", "", false),
        ("", "", true),
    ];
    for (secret, guess, expected) in cases {
        assert_eq!(same_secret(secret.as_bytes(), guess.as_bytes()), expected, "{secret:?} {guess:?}");
    }
}
