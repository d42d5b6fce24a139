//! Which option a refusal speaks of, and which options have no effect.

use super::*;

#[test]
fn a_refusal_leads_to_its_option() {
    let table = [
        ("Queue name is required", Some("queue")),
        ("Job name must be a non-empty string of at most 256 characters", Some("name")),
        ("The data is not valid JSON: expected value at line 1 column 1", Some("data")),
        ("Deduplication requires either hash: true or a custom key", Some("dedup.key")),
        ("dedup.ttl must be at most 9007199254740991", Some("dedup.ttl")),
        ("maxAttempts must be at least 1", Some("maxAttempts")),
        ("backoff.delay must be at most 86400000", Some("backoff.delay")),
        ("repeat jobs cannot use JobOptions.jobId; use repeat.jobId instead", Some("repeat")),
        ("Cannot replace", None),
    ];
    for (refusal, field) in table {
        assert_eq!(field_of(refusal).as_deref(), field, "{refusal}");
    }
}

#[test]
fn what_has_no_effect_is_said() {
    let key = NewAdd { dedup_id: Some("k".to_owned()), ..NewAdd::default() };
    let table = [
        (key.clone(), vec![]),
        (NewAdd { extend: true, ..key.clone() }, vec!["`extend` has no effect without a `ttl`."]),
        (NewAdd { extend: true, replace: true, ttl_ms: Some(5), ..key.clone() }, vec!["`replace` wins over `extend`."]),
        (
            NewAdd { job_id: Some("x".to_owned()), ..key.clone() },
            vec!["Both are set: the job ID is looked up first and wins."],
        ),
        (NewAdd { ttl_ms: Some(0), ..key }, vec!["A `ttl` of 0 registers no key."]),
    ];
    for (add, said) in table {
        assert_eq!(notes(&add), said);
    }
}
