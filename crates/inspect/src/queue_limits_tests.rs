//! The sentence after a change of limits.

use super::*;

#[test]
fn what_holds_from_now_on_is_told() {
    let rate = |max, duration_ms| Some(RateLimit { max, duration_ms });
    assert_eq!(told("q", None, None), format!("{} has no limits.", code("q")));
    assert_eq!(told("q", Some(1), None), format!("{} hands out at most 1 job at once.", code("q")));
    assert_eq!(
        told("q", Some(2), rate(5, 1_000)),
        format!("{} hands out at most 2 jobs at once and 5 jobs per {}.", code("q"), span(Millis(1_000)))
    );
}
