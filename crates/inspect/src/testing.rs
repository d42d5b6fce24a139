//! What tests of this crate share: adds and decisions built by hand, and a broker in memory.

use onceover_engine::command::{Backoff, DedupRequest, NewJob, StateName};
use onceover_engine::dedup::{DecisionCode, FreedBy, FreedKey, KeyEntry, KeyTally, OwnerSeen};
use onceover_engine::effects::{AddRecord, Decision, Facts};
use onceover_engine::names::{ConnId, EntryId, JobId, JobKey, Origin, QueueId};
use onceover_engine::time::{Millis, Timestamp};
use std::sync::Arc;

/// The moment of every decision that is built by hand.
pub const NOW: Timestamp = Timestamp(1_700_000_000_000);

/// The id of the owner that is met: it ends in a1b2c3.
pub fn old_id() -> JobId {
    JobId::parse("0192f0c1-1111-7222-8333-444400a1b2c3")
}

/// The id of the job that is made: it ends in d4e5f6.
pub fn new_id() -> JobId {
    JobId::parse("0192f0c1-1111-7222-8333-444400d4e5f6")
}

/// A job of queue `q` with the key `k`.
pub fn spec(ttl: Option<i64>) -> NewJob {
    NewJob {
        queue: Arc::from("q"),
        name: Arc::from("job"),
        custom_id: None,
        dedup: Some(Box::new(DedupRequest {
            key: Arc::from("k"),
            from_hash: false,
            ttl: ttl.map(Millis),
            extend: false,
            replace: false,
            keep_last: false,
        })),
        priority: 0,
        delay: Millis(0),
        max_attempts: 3,
        backoff: Backoff::default(),
        lifo: false,
        remove_on_complete: false,
        remove_on_fail: false,
        durable: false,
        rare: None,
    }
}

/// The key `k`, held by the old owner with so much left.
pub fn entry(left: Option<i64>) -> KeyEntry {
    KeyEntry {
        entry: EntryId(1),
        queue: QueueId(0),
        key: Arc::from("k"),
        from_hash: false,
        owner: JobKey(1),
        owner_id: old_id(),
        ttl: left.map(|_| Millis(60_000)),
        expires_at: left.map(|left| NOW.plus(Millis(left))),
        registered_at: Timestamp(NOW.0 - 10_000),
        tally: KeyTally::default(),
    }
}

/// The old owner in a state.
pub fn owner(state: Option<StateName>) -> OwnerSeen {
    OwnerSeen { key: JobKey(1), id: old_id(), state, attempts: 0 }
}

/// The key as it became free, so long ago, with so much of its window unused.
pub fn freed(by: FreedBy, ago: i64, unused: Option<i64>) -> FreedKey {
    let at = Timestamp(NOW.0 - ago);
    let would_end_at = unused.map(|unused| at.plus(Millis(unused)));
    FreedKey { owner: JobKey(1), owner_id: old_id(), by, at, would_end_at, entry: entry(Some(60_000)) }
}

/// A decision without an owner, and the new job.
pub fn decision(code: DecisionCode) -> Decision {
    Decision {
        code,
        job: Some(new_id()),
        job_key: Some(JobKey(2)),
        owner: None,
        elsewhere: None,
        freed: None,
        refusal: None,
        facts: Facts::default(),
    }
}

/// An add with that decision, a TTL of 60 s and a free key.
pub fn record(decision: Decision) -> AddRecord {
    AddRecord {
        at: NOW,
        origin: Origin::Client { conn: ConnId(1), request: 1 },
        spec: Arc::new(spec(Some(60_000))),
        data: None,
        bulk: None,
        replay_of: None,
        decision,
        key_before: None,
        key_after: None,
    }
}
