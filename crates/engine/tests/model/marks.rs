//! Which places of the contract the sequences came by: a test that never gets somewhere proves nothing about it.

use std::cell::RefCell;
use std::collections::BTreeMap;

/// The strategies of dedup.md 3 and 10.
pub const STRATEGIES: [&str; 5] = ["default", "extend", "replace", "keep", "keep and replace"];
/// What stands behind a valid key.
pub const OWNERS: [&str; 10] =
    ["queued", "retrying", "blocked", "parked", "active", "completed", "failed", "gone", "tied", "id reused"];
/// Other places, by subject.
const PLACES: [(&str, &str); 74] = [
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
    ("schedule", "saved"),
    ("schedule", "saved again"),
    ("schedule", "changed"),
    ("schedule", "takes its job back"),
    ("schedule", "makes a job"),
    ("schedule", "meets an owner"),
    ("schedule", "is refused"),
    ("schedule", "goes"),
    ("schedule", "has no worker"),
    ("schedule", "leaves out what was missed"),
    ("schedule", "makes up for what was missed"),
    ("schedule", "drops a job whose delivery was lost"),
    ("group", "paused"),
    ("group", "held"),
    ("group", "its own concurrency"),
    ("group", "a worker's concurrency"),
    ("group", "its own rate"),
    ("group", "a worker's rate"),
    ("group", "takes its turn among others"),
    ("group", "full"),
    ("group", "full for a flow"),
    ("tree", "forward reference resolved by the parent's add"),
    ("tree", "forward reference resolved"),
    ("tree", "joined"),
    ("tree", "joined in a circle"),
    ("tree", "a completed child leaves when its parent is named"),
    ("tree", "a result for a parent that does not wait"),
    ("tree", "a result of a child that is gone"),
    ("tree", "detached"),
    ("tree", "a child that is gone is detached"),
    ("tree", "unprocessed children removed"),
    ("failed child", "keeps its parent waiting"),
    ("failed child", "fails its parent"),
    ("failed child", "lets its parent run at once"),
    ("failed child", "is ignored"),
    ("failed child", "is forgotten"),
    ("flow", "made"),
    ("flow", "refused"),
    ("parked", "waits for its children"),
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
