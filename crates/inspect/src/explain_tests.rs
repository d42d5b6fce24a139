//! Every sentence of gui.md 1.1, from a decision built by hand.

use super::*;
use crate::testing::*;
use crate::view::JobState;
use onceover_engine::effects::{Decision, Facts};
use onceover_engine::names::JobId;
use std::sync::Arc;

/// A decision about the key `k` while it is held by the old owner.
fn held(code: DecisionCode, state: Option<StateName>, left: Option<i64>) -> AddRecord {
    let record = record(Decision { owner: Some(owner(state)), ..decision(code) });
    AddRecord { key_before: Some(seen(left)), key_after: Some(seen(left)), ..record }
}

fn seen(left: Option<i64>) -> KeySeen {
    KeySeen::from(&entry(left))
}

fn with_spec(mut record: AddRecord, change: impl FnOnce(&mut NewJob)) -> AddRecord {
    change(Arc::make_mut(&mut record.add.spec));
    record
}

fn free(by: FreedBy, ago: i64, unused: Option<i64>) -> AddRecord {
    let freed = Some(Box::new(freed(by, ago, unused)));
    record(Decision { freed, ..decision(DecisionCode::CreatedFreed) })
}

fn named(mut record: AddRecord, id: &str) -> AddRecord {
    record.add.custom_id = Some(JobId::parse(id));
    record
}

#[test]
fn created() {
    let plain = record(decision(DecisionCode::Created));
    let mut keyless = plain.clone();
    keyless.add.dedup_key = None;
    let zero = with_spec(plain.clone(), |spec| spec.dedup.ttl = Some(Millis(0)));
    let taken_over = held(DecisionCode::Created, Some(StateName::Completed), Some(30_000));
    let mut next_run = taken_over.clone();
    next_run.decision.owner = None;
    let table = [
        (plain, "Created. No live job held `k` in `q`."),
        (named(keyless.clone(), "order-1"), "Created. No unfinished job had the ID `order-1`."),
        (keyless, "Created. The add carried neither key nor job ID."),
        (zero, "Created. No live job held `k` in `q`. A `ttl` of 0 registers no key: the next add makes a job too."),
        (taken_over, "Created. …a1b2c3 (completed) still held `k` with 30 s left; `replace` took the key over."),
        (next_run, "Created. It is the next run of …a1b2c3 and took `k` over from it."),
    ];
    for (record, text) in table {
        assert_eq!(sentence(&record), text);
    }
}

#[test]
fn created_with_a_key_that_became_free() {
    let table = [
        (FreedBy::Completed, 2_400, Some(48_000), "completed 2 s ago, 48 s before its TTL would have ended"),
        (FreedBy::FailedForGood, 0, None, "failed for good just now"),
        (FreedBy::TimedOut, 90_000, None, "timed out 1 m 30 s ago"),
        (FreedBy::Stalled, 1_000, None, "stalled 1 s ago"),
        (FreedBy::Cancelled, 1_000, None, "was cancelled 1 s ago"),
        (FreedBy::Discarded, 1_000, None, "was discarded 1 s ago"),
        (FreedBy::Drained, 1_000, None, "was drained 1 s ago"),
        (FreedBy::Cleaned, 1_000, None, "was cleaned 1 s ago"),
        (FreedBy::Obliterated, 1_000, None, "was obliterated with its queue 1 s ago"),
        (FreedBy::JobExpired, 1_000, None, "ran out of its own ttl before it was taken 1 s ago"),
        (FreedBy::WindowEnded, 1_000, Some(0), "reached its TTL 1 s ago"),
        (
            FreedBy::ReleasedByClient,
            1_000,
            Some(500),
            "was released by a client command 1 s ago, 1 s before its TTL would have ended",
        ),
        (FreedBy::ReleasedByHand, 1_000, None, "was released by hand 1 s ago"),
    ];
    for (by, ago, unused, text) in table {
        assert_eq!(sentence(&free(by, ago, unused)), format!("Created. `k` was free: its last owner …a1b2c3 {text}."));
    }
    let mut twin = free(FreedBy::ReleasedByHand, 1_000, None);
    twin.decision.code = DecisionCode::CreatedTwin;
    twin.decision.owner = Some(owner(Some(StateName::Waiting)));
    let text = "Created, but …a1b2c3 is still live and carries `k` too: it lost the key when it was released by hand. Both can run.";
    assert_eq!(sentence(&twin), text);
}

#[test]
fn returned() {
    use DecisionCode as Code;
    let waiting = Some(StateName::Waiting);
    let mut elsewhere = named(held(Code::ExistingElsewhere, waiting, None), "order-1");
    elsewhere.decision.owner.as_mut().unwrap().id = JobId::parse("order-1");
    elsewhere.decision.elsewhere = Some(Arc::from("notifications"));
    let mut by_id = elsewhere.clone();
    by_id.decision.code = Code::ExistingJobId;
    let mut hash = with_spec(held(Code::ExistingHash, waiting, None), |spec| spec.dedup.from_hash = true);
    hash.add.dedup_key = Some(Arc::from("9f2c"));
    let table = [
        (held(Code::ExistingKey, waiting, Some(40_100)), "Returned …a1b2c3 (waiting). It holds `k` for another 41 s."),
        (
            held(Code::ExistingKey, Some(StateName::Active), None),
            "Returned …a1b2c3 (active). It holds `k` until it ends.",
        ),
        (held(Code::ExistingKey, None, Some(600_000)), "Returned …a1b2c3 (gone). It holds `k` for another 10 m 00 s."),
        (by_id, "Returned `order-1` (waiting): the job ID is in use by an unfinished job."),
        (
            elsewhere,
            "Returned `order-1`, which lives in queue `notifications`. Job IDs are broker-wide; nothing was added to `q`.",
        ),
        (hash, "Returned …a1b2c3: the payload has the same hash `9f2c`."),
        (
            held(Code::ExtendedNoTtl, waiting, None),
            "Returned …a1b2c3. `extend` had no effect: the add carried no `ttl`.",
        ),
    ];
    for (record, text) in table {
        assert_eq!(sentence(&record), text);
    }
}

#[test]
fn extended_replaced_moved_and_held() {
    use DecisionCode as Code;
    let (waiting, active) = (Some(StateName::Waiting), Some(StateName::Active));
    let mut replaced = held(Code::Replaced, Some(StateName::Delayed), None);
    replaced.decision.owner.as_mut().unwrap().attempts = 1;
    let moved = with_spec(held(Code::Moved, active, None), |spec| spec.delay = Millis(5));
    let table = [
        (held(Code::Extended, waiting, Some(12_400)), "Kept …a1b2c3 (waiting). TTL set to 60 s again (had 13 s left)."),
        (held(Code::Extended, waiting, None), "Kept …a1b2c3 (waiting). TTL set to 60 s again (had no TTL)."),
        (replaced, "Removed …a1b2c3 (delayed, 1 attempt made) and created …d4e5f6 with the new data."),
        (moved, "…a1b2c3 is running and keeps running. `k` now belongs to …d4e5f6 (delayed)."),
        (held(Code::NextHeld, active, None), "…a1b2c3 is running. This data is kept and becomes a job when it ends."),
        (held(Code::NextUpdated, active, None), "…a1b2c3 is running. The kept data was overwritten."),
    ];
    for (record, text) in table {
        assert_eq!(sentence(&record), text);
    }
}

#[test]
fn rejected() {
    use DecisionCode as Code;
    let refused = |code| {
        let mut record = record(decision(code));
        record.decision.refusal = Some("exactly this".to_owned());
        record
    };
    let table = [
        (
            held(Code::RejectedExtend, Some(StateName::Active), Some(1_000)),
            "Owner …a1b2c3 is active, so it cannot be kept by `extend`. The TTL was set to 60 s again all the same.",
        ),
        (
            held(Code::RejectedDependents, Some(StateName::Waiting), None),
            "Live jobs depend on …a1b2c3, so it cannot be replaced. Nothing changed.",
        ),
        (refused(Code::RejectedInvalid), "exactly this"),
        (refused(Code::RejectedLimit), "exactly this"),
        (refused(Code::RejectedStorage), "exactly this"),
    ];
    for (record, text) in table {
        assert_eq!(sentence(&record), text);
        assert!(warns(&record));
    }
}

#[test]
fn steps_tell_how_it_was_decided() {
    let both = with_spec(held(DecisionCode::Moved, Some(StateName::Active), Some(41_000)), |spec| {
        (spec.dedup.extend, spec.dedup.replace) = (true, true);
    });
    assert_eq!(
        steps(&both),
        [
            "Key look-up: `k` is held by …a1b2c3 (active), with 41 s left.",
            "`replace` and `extend` are set: `replace` wins.",
            "The owner is active: the key moves, the owner runs on.",
            "…d4e5f6 was created.",
        ]
    );
    let by_id = named(held(DecisionCode::ExistingJobId, Some(StateName::Waiting), None), "order-1");
    assert_eq!(
        steps(&by_id),
        [
            "Job ID look-up: `order-1` is in use by a job that is waiting.",
            "The job ID is looked up first and wins; the key was not looked at.",
            "…d4e5f6 was returned, no job was made.",
        ]
    );
    assert_eq!(steps(&record(decision(DecisionCode::Created))), ["Key look-up: `k` is free.", "…d4e5f6 was created."]);
}

#[test]
fn facts_name_what_was_dropped() {
    let mut record = named(held(DecisionCode::ExistingKey, Some(StateName::Waiting), None), "order-1");
    record.decision.facts =
        Facts { data_differs: true, options_dropped: true, key_not_taken: true, job_id_not_used: true };
    record.bulk = Some((3, 50));
    record.replay_of = Some(812);
    let labels: Vec<(String, bool)> = facts(&record, 38_400).into_iter().map(|fact| (fact.label, fact.warn)).collect();
    let expected = [
        ("data differs", true),
        ("options dropped", true),
        ("key not taken", true),
        ("job id not used", true),
        ("bulk 3/50", false),
        ("replay of #812", false),
        ("slow 38 ms", false),
    ];
    assert_eq!(labels, expected.map(|(label, warn)| (label.to_owned(), warn)));
    assert!(warns(&record));
    record.decision.facts = Facts::default();
    assert!(!warns(&record));
    assert_eq!(facts(&self::record(decision(DecisionCode::Created)), 100), []);
}

#[test]
fn the_key_before_and_after() {
    let mut record = held(DecisionCode::Replaced, Some(StateName::Waiting), Some(5_000));
    record.key_after = Some(KeySeen { owner: record.decision.job_key.unwrap(), owner_id: new_id(), ..seen(None) });
    let (before, after) = faces(&record);
    let (before, after) = (before.unwrap(), after.unwrap());
    assert_eq!((before.generation, before.owner_state, before.ttl_ms), (1, JobState::Waiting, Some(60_000)));
    assert_eq!((after.generation, after.owner_state, after.ttl_ms), (2, JobState::Waiting, None));
    assert_eq!(after.owner_id, new_id().to_string());
}
