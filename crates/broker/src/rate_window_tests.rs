//! Which frames are refused.

use super::*;
use std::time::Duration;

#[test]
fn the_window_slides_and_refused_frames_do_not_count() {
    let start = Instant::now();
    let mut rate = RateWindow::new(RateLimit { frames_max: 2, window: Duration::from_millis(100) });
    let mut at = |ms: u64| {
        let allowed = rate.allows(start + Duration::from_millis(ms));
        (allowed, rate.is_first_refusal())
    };
    let table = [
        (0, true, false),
        (60, true, false),
        (99, false, true),
        (99, false, false),
        (100, true, false),
        (159, false, true),
        (160, true, false),
        (199, false, true),
        (500, true, false),
    ];
    for (ms, allowed, told) in table {
        assert_eq!(at(ms), (allowed, told), "{ms} ms");
    }
}
