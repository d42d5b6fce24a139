//! What is wrong in a PUSHF (protocol-admin.md 7.2): each mistake by its text, and nothing is made.

use crate::bench::{Bench, merged};
use crate::flows::{complete, fail, node, push, tree};
use serde_json::{Value as Json, json};

fn one(more: Json) -> Json {
    push(&[node("x", "q", None, &[], more)])
}

fn check(cases: impl IntoIterator<Item = (Json, String)>) {
    let mut bench = Bench::new();
    for (request, text) in cases {
        assert_eq!(bench.refusal(&request), text, "{request}");
    }
    assert_eq!(bench.ok(&json!({"cmd": "ListQueues"}))["queues"], json!([]), "nothing was made");
}

#[test]
fn a_job_of_a_flow_has_its_form() {
    let with_id = |id: Json| push(&[merged(node("x", "q", None, &[], json!({})), json!({"id": id}))]);
    let raw = |job: Json| push(&[job]);
    let long = "x".repeat(1_025);
    let s = str::to_owned;
    check([
        (json!({"cmd": "PUSHF"}), s("flow jobs must be an array")),
        (json!({"cmd": "PUSHF", "jobs": {}}), s("flow jobs must be an array")),
        (push(&[json!(5)]), s("flow jobs[0] must be an object")),
        (push(&vec![json!({}); 10_001]), s("flow exceeds the 10000 job limit")),
        (with_id(json!(5)), s("flow job id must be a string")),
        (with_id(json!(null)), s("flow job id must be a string")),
        (with_id(json!("")), s("flow job id is invalid or is not well-formed Unicode")),
        (with_id(json!(long)), s("flow job id is invalid or is not well-formed Unicode")),
        (with_id(json!("a:b")), s("flow job id cannot contain a colon")),
        (raw(json!({"id": "x", "queue": "a b", "input": {}})), s("invalid flow queue: a b")),
        (raw(json!({"id": "x", "queue": 5, "input": {}})), s("invalid flow queue: ")),
        (raw(json!({"id": "x", "queue": "q"})), s("flow job input is invalid: x")),
        (one(json!({"customId": "y"})), s("custom id does not match planned id: x")),
        (one(json!({"name": ""})), s("Job name must be a non-empty string of at most 256 characters")),
        (one(json!({"data": 5})), s("flow job data must be an object")),
        (one(json!({"data": null})), s("flow job data must be an object")),
        (one(json!({"backoff": {"type": "odd", "delay": 1}})), s("backoff.type must be 'fixed' or 'exponential'")),
        (one(json!({"tags": ["x".repeat(257)]})), s("tags must be an array of strings of at most 256 characters")),
        (one(json!({"repeat": {"every": 5}})), s("repeat is not supported inside an atomic flow")),
        (one(json!({"uniqueKey": "k"})), s("deduplication is not supported inside an atomic flow")),
        (one(json!({"dedup": {"ttl": 5}})), s("deduplication is not supported inside an atomic flow")),
        (one(json!({"debounceId": "k"})), s("debounce is not supported inside an atomic flow")),
        (one(json!({"debounceTtl": 5})), s("debounce is not supported inside an atomic flow")),
        (one(json!({"failParentOnFailure": true})), s("a flow failure policy requires a parent")),
        (one(json!({"groupId": 5})), s("groupId must be a string")),
        (one(json!({"dependsOn": [5]})), s("dependsOn must be an array of valid string job ids")),
        (one(json!({"childrenIds": "a"})), s("childrenIds must be an array of valid string job ids")),
        (one(json!({"parentId": 5})), s("flow parent id is invalid: x")),
    ]);
}

#[test]
fn the_options_of_a_job_of_a_flow_have_their_bounds() {
    let mut cases = Vec::new();
    for flag in ["lifo", "removeOnComplete", "removeOnFail", "durable", "failParentOnFailure"] {
        cases.push((one(json!({flag: 1})), format!("{flag} must be a boolean")));
    }
    for (field, name, range, past) in [
        ("priority", "priority", "-1000000 and 1000000", json!(1_000_001)),
        ("delay", "delay", "0 and 31536000000", json!(-1)),
        ("timeout", "timeout", "0 and 86400000", json!(86_400_001)),
        ("ttl", "ttl", "0 and 31536000000", json!(-1)),
        ("maxAttempts", "attempts", "1 and 1000", json!(0)),
        ("backoff", "backoff", "0 and 86400000", json!(-1)),
        ("stallTimeout", "stallTimeout", "0 and 86400000", json!(-1)),
        ("stackTraceLimit", "stackTraceLimit", "0 and 10000", json!(10_001)),
        ("keepLogs", "keepLogs", "0 and 1000000", json!(-1)),
        ("sizeLimit", "sizeLimit", "0 and 10485760", json!(10_485_761)),
        ("timestamp", "timestamp", "0 and 9007199254740991", json!(-1)),
        ("groupMaxSize", "group.maxSize", "1 and 9007199254740991", json!(0)),
    ] {
        cases.push((one(json!({field: past})), format!("{name} must be between {range}")));
        cases.push((one(json!({field: "5"})), format!("{name} must be a finite number")));
    }
    cases.push((one(json!({"maxAttempts": 1.5})), "attempts must be an integer".to_owned()));
    check(cases);
}

#[test]
fn the_links_of_a_flow_make_trees() {
    let parent = Some(("p", "q"));
    let two = |of_a: Json, of_p: Json| push(&[node("a", "q", parent, &[], of_a), node("p", "q", None, &["a"], of_p)]);
    let s = str::to_owned;
    check([
        (
            push(&[node("x", "q", None, &[], json!({})), node("x", "q", None, &[], json!({}))]),
            s("duplicate flow job id: x"),
        ),
        (one(json!({"dependsOn": ["y"]})), s("flow dependency not found: y")),
        (one(json!({"dependsOn": ["x"]})), s("flow job cannot depend on itself: x")),
        (one(json!({"dependsOn": ["y", "y"]})), s("duplicate dependency in flow job: x")),
        (
            two(json!({"failParentOnFailure": true, "ignoreDependencyOnFailure": true}), json!({})),
            s("flow failure policies are mutually exclusive"),
        ),
        (push(&[node("a", "q", parent, &[], json!({}))]), s("flow parent not found: p")),
        (
            two(json!({}), json!({"childrenIds": ["a", "a"], "data": {"__childrenIds": ["a", "a"]}})),
            s("duplicate child in flow job: p"),
        ),
        (two(json!({}), json!({"dependsOn": []})), s("flow child is missing from dependencies: a")),
        (two(json!({"parentId": null}), json!({})), s("flow child a does not point back to parent p")),
        (two(json!({}), json!({"childrenIds": []})), s("flow parent p does not own child a")),
        (
            two(json!({"data": {"__parentId": "p", "__parentQueue": "other"}}), json!({})),
            s("flow child a metadata does not match parent p"),
        ),
        (two(json!({"data": {}}), json!({})), s("flow child a metadata does not match parent p")),
        (
            two(json!({}), json!({"data": {"__childrenIds": ["b"]}})),
            s("flow parent p children does not match the canonical flow topology"),
        ),
        (two(json!({}), json!({"data": {}})), s("flow parent p children does not match the canonical flow topology")),
        (two(json!({"dependsOn": ["p"]}), json!({})), s("flow contains a dependency cycle")),
        (two(json!({}), json!({"customId": "a"})), s("custom id does not match planned id: p")),
    ]);
}

#[test]
fn a_taken_id_refuses_the_whole_flow() {
    for ending in ["waiting", "completed", "failed", "removed", "waited for"] {
        let mut bench = Bench::new();
        bench.push(json!({"jobId": "b", "maxAttempts": 1, "removeOnComplete": ending == "removed"}));
        match ending {
            "completed" | "removed" => complete(&mut bench, "q", "b", json!({})),
            "failed" => fail(&mut bench, "q", "b"),
            "waited for" => {
                bench.push(json!({"dependsOn": ["b"], "jobId": "waits"}));
                bench.ok(&json!({"cmd": "Cancel", "id": "b"}));
            }
            _ => {}
        }
        assert_eq!(bench.refusal(&tree(json!({}), json!({}))), "Flow job b already exists", "{ending}");
        assert_eq!((bench.state("a"), bench.state("p")), ("unknown".to_owned(), "unknown".to_owned()), "{ending}");
    }
}

#[test]
fn a_flow_that_fills_a_group_beyond_its_size_is_refused() {
    let member = |id: &str| node(id, "q", None, &[], json!({"groupId": "g", "groupMaxSize": 2}));
    let mut bench = Bench::new();
    bench.push(json!({"groupId": "g"}));
    let text = "Group g has reached its maximum size of 2";
    assert_eq!(bench.refusal(&push(&[member("x"), member("y")])), text);
    assert_eq!(bench.state("x"), "unknown");
    bench.ok(&push(&[member("x")]));
}
