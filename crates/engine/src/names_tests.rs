//! Which texts are numbers.

use super::JobId;

const UUID: &str = "01a22a99-ec97-773e-ad45-81e56b25646a";

fn is_number(text: &str) -> bool {
    let id = JobId::parse(text);
    assert_eq!(id.to_string(), text);
    matches!(id, JobId::Uuid(_))
}

#[test]
fn only_canonical_lower_case_uuids_are_numbers() {
    assert!(is_number(UUID));
    assert!(!is_number(&UUID.to_uppercase()));
    assert!(!is_number(&UUID.replace('-', "")));
    assert!(!is_number(&UUID[1..]));
    assert!(!is_number("00000000-0000-0000-ad45-81e56b25646a"));
}

#[test]
fn each_digit_counts() {
    for place in 0..UUID.len() {
        for letter in 0..=127 {
            let text = format!("{}{}{}", &UUID[..place], char::from(letter), &UUID[place + 1..]);
            let fits = match UUID.as_bytes()[place] {
                b'-' => letter == b'-',
                _ => matches!(letter, b'0'..=b'9' | b'a'..=b'f'),
            };
            assert_eq!(is_number(&text), fits, "{text}");
        }
    }
}
