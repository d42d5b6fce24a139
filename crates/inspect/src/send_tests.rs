//! Adds from the window: what they become, and what is refused in which words.

use super::*;
use crate::payload::{line, parse};
use onceover_engine::command::Backoff;
use onceover_engine::time::Millis;

fn new() -> NewAdd {
    NewAdd { queue: "mail".to_owned(), ..NewAdd::default() }
}

#[test]
fn what_is_left_out_means_what_it_means_for_a_client() {
    let add = add(&new(), None).unwrap();
    assert_eq!((&*add.spec.name, add.spec.max_attempts, add.data), ("default", 3, None));
    assert_eq!((&add.custom_id, &add.dedup_key, &add.spec.rare), (&None, &None, &None));
}

#[test]
fn options_arrive() {
    let asked = NewAdd {
        job_id: Some("order-1".to_owned()),
        dedup_id: Some("k".to_owned()),
        ttl_ms: Some(60_000),
        extend: true,
        priority: Some(-5),
        delay_ms: Some(10),
        backoff: Some(BackoffAsked { kind: Some(BackoffKind::Fixed), delay_ms: 5 }),
        ..new()
    };
    let add = add(&asked, Some(&parse("{\"n\": 9007199254740993}", None).unwrap())).unwrap();
    let dedup = &add.spec.dedup;
    assert_eq!(add.dedup_key.as_deref(), Some("k"));
    assert_eq!((dedup.ttl, dedup.extend, dedup.replace), (Some(Millis(60_000)), true, false));
    assert_eq!((add.spec.priority, add.spec.delay), (-5, Millis(10)));
    assert_eq!(add.spec.backoff, Backoff { delay: Millis(5), fixed: true, as_object: true });
    assert_eq!(line(&add.data.unwrap(), 100), "{\"n\": 9007199254740993}");
}

#[test]
fn the_key_can_be_the_hash_of_the_data() {
    let asked = NewAdd { dedup_hash: true, ..new() };
    let hashed = |text: &str| add(&asked, Some(&parse(text, None).unwrap())).unwrap();
    let key = |text: &str| hashed(text).dedup_key;
    assert!(hashed("1").spec.dedup.from_hash);
    assert_eq!(key("{\"a\": 1, \"b\": 2}"), key("{\"b\": 2, \"a\": 1}"), "the order of members is no difference");
    assert_ne!(key("1"), key("2"));
}

#[test]
fn refusals() {
    let table = [
        (NewAdd::default(), "Queue name is required"),
        (NewAdd { queue: "a b".to_owned(), ..new() }, "Queue name contains invalid characters"),
        (NewAdd { priority: Some(1_000_001), ..new() }, "priority must be at most 1000000"),
        (NewAdd { attempts: Some(0), ..new() }, "maxAttempts must be at least 1"),
        (NewAdd { extend: true, ..new() }, "Deduplication requires either hash: true or a custom key"),
    ];
    for (asked, text) in table {
        assert_eq!(add(&asked, None).unwrap_err(), text);
    }
}
