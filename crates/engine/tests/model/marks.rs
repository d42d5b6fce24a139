//! Which places of the contract the sequences came by: a test that never gets somewhere proves nothing about it.

use std::cell::RefCell;
use std::collections::BTreeMap;

/// The strategies of dedup.md 3 and 10.
pub const STRATEGIES: [&str; 5] = ["default", "extend", "replace", "keep", "keep and replace"];
/// What stands behind a valid key.
pub const OWNERS: [&str; 10] =
    ["queued", "retrying", "blocked", "parked", "active", "completed", "failed", "gone", "tied", "id reused"];
/// Other places, by subject.
const PLACES: [(&str, &str); 35] = [
    ("bulk", "accepted prefix"),
    ("bulk", "refused as a whole"),
    ("dependencies", "in a circle"),
    ("retry", "waits again"),
    ("jobId", "live"),
    ("jobId", "live in another queue"),
    ("jobId", "retired"),
    ("jobId", "not retired, its key is held"),
    ("jobId", "has consumers"),
    ("stored add", "follows"),
    ("stored add", "follows without its jobId"),
    ("stored add", "meets another owner"),
    ("next occurrence", "takes the key"),
    ("next occurrence", "leaves the key"),
    ("retry", "refused"),
    ("retry", "moves a window without a live owner"),
    ("retry", "own window"),
    ("end", "window stays"),
    ("end", "key released"),
    ("evicted", "window stays"),
    ("time", "job ttl"),
    ("time", "timeout"),
    ("time", "lease lost"),
    ("time", "stalled"),
    ("restart", "put back"),
    ("restart", "failed for good"),
    ("disconnect", "released"),
    ("disconnect", "stays"),
    ("late", "completed"),
    ("dead letter", "retried by itself"),
    ("dead letter", "cannot come back"),
    ("dead letter", "forgotten"),
    ("dead letter", "evicted"),
    ("limit", "no slot"),
    ("limit", "no token"),
];
/// A place that was met less often in a full run is one that the generator hardly reaches.
const TIMES_MIN: u64 = 3;

thread_local! {
    static MARKS: RefCell<BTreeMap<(&'static str, &'static str), u64>> = const { RefCell::new(BTreeMap::new()) };
}

/// Counts a place.
pub fn mark(subject: &'static str, place: &'static str) {
    MARKS.with_borrow_mut(|marks| *marks.entry((subject, place)).or_default() += 1);
}

/// The places that this thread hardly came by.
pub fn missed() -> Vec<(&'static str, &'static str)> {
    let marks = MARKS.take();
    let met = STRATEGIES.iter().flat_map(|strategy| OWNERS.iter().map(|owner| (*strategy, *owner)));
    let all = met.chain(PLACES);
    all.filter(|place| marks.get(place).is_none_or(|times| *times < TIMES_MIN)).collect()
}
