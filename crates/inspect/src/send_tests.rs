//! Adds from the window: what they become, and what is refused in which words.

use super::*;

fn new() -> NewAdd {
    NewAdd { queue: "mail".to_owned(), ..NewAdd::default() }
}

#[test]
fn what_is_left_out_means_what_it_means_for_a_client() {
    let add = add(&new()).unwrap();
    assert_eq!((&*add.spec.name, add.spec.max_attempts, add.data), ("default", 3, None));
    assert_eq!((&add.spec.custom_id, &add.spec.dedup), (&None, &None));
}

#[test]
fn options_arrive() {
    let asked = NewAdd {
        data_text: "{\"n\": 9007199254740993}".to_owned(),
        job_id: Some("order-1".to_owned()),
        dedup_id: Some("k".to_owned()),
        ttl_ms: Some(60_000),
        extend: true,
        priority: Some(-5),
        delay_ms: Some(10),
        ..new()
    };
    let add = add(&asked).unwrap();
    let dedup = add.spec.dedup.as_deref().unwrap();
    assert_eq!((&*dedup.key, dedup.ttl, dedup.extend, dedup.replace), ("k", Some(Millis(60_000)), true, false));
    assert_eq!((add.spec.priority, add.spec.delay), (-5, Millis(10)));
    assert_eq!(crate::payload::line(&add.data.unwrap(), 100), "{\"n\": 9007199254740993}");
}

#[test]
fn refusals() {
    let table = [
        (NewAdd::default(), "Queue name is required"),
        (NewAdd { queue: "a b".to_owned(), ..new() }, "Queue name contains invalid characters"),
        (NewAdd { priority: Some(1_000_001), ..new() }, "priority must be at most 1000000"),
        (NewAdd { attempts: Some(0), ..new() }, "maxAttempts must be at least 1"),
        (NewAdd { extend: true, ..new() }, "Deduplication requires a key"),
        (
            NewAdd { data_text: "{".to_owned(), ..new() },
            "The data is not valid JSON: EOF while parsing an object at line 1 column 1",
        ),
    ];
    for (asked, text) in table {
        assert_eq!(add(&asked).unwrap_err(), text);
    }
}
