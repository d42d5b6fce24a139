//! Links of jobs that change (protocol-admin.md 7.1, 7.3): joining, detaching, removing, parking, retrying.

use crate::bench::{Bench, merged};
use crate::flows::{complete, fail, failures, take, tree, values};
use serde_json::{Value as Json, json};

/// An add that joins parent `p` in `queue`.
fn joining(id: &str, parent: &str, queue: &str) -> Json {
    json!({"cmd": "PUSH", "queue": "q2", "jobId": id, "parentId": parent,
        "data": {"__parentId": parent, "__parentQueue": queue}})
}

#[test]
fn a_child_joins_a_parent_that_waits() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "p", "data": {"v": 1}}));
    bench.ok(&joining("a", "p", "q"));
    assert_eq!(bench.state("p"), "waiting-children");
    bench.ok(&joining("b", "p", "q"));
    let parent = bench.job("p");
    assert_eq!(parent["childrenIds"], json!(["a", "b"]));
    assert_eq!(parent["dependsOn"], json!(["a", "b"]));
    assert_eq!(parent["data"], json!({"v": 1, "__childrenIds": ["a", "b"]}));
    bench.restart(1_000);
    complete(&mut bench, "q2", "a", json!({}));
    assert_eq!(bench.state("p"), "waiting-children");
    complete(&mut bench, "q2", "b", json!({}));
    assert_eq!(bench.state("p"), "waiting");
    assert_eq!(values(&mut bench, "p")["q2:b"], json!({"of": "b"}));
}

#[test]
fn whom_a_child_cannot_join() {
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "active"}));
    bench.pull(json!({}));
    bench.push(json!({"jobId": "p", "queue": "q"}));
    for (request, text) in [
        (joining("a", "none", "q"), "Parent job not found: none"),
        (joining("a", "active", "q"), "Parent job active is not linkable"),
        (joining("a", "p", "q3"), "Parent job p belongs to queue q, not q3"),
        (joining("a", "a", "q"), "A job cannot be its own parent"),
        (merged(joining("a", "p", "q"), json!({"dependsOn": ["p"]})), "flow contains a dependency cycle"),
    ] {
        assert_eq!(bench.refusal(&request), text);
        assert_eq!(bench.state("a"), "unknown");
    }
    let batch = json!({"cmd": "PUSHB", "queue": "q2", "jobs": [{"data": 1},
        {"parentId": "none", "data": {"__parentId": "none", "__parentQueue": "q"}}]});
    assert_eq!(bench.refusal(&batch), "jobs[1]: Parent job not found: none");
    assert_eq!(bench.ok(&json!({"cmd": "Count", "queue": "q2"}))["count"], json!(0));
    assert_eq!(bench.state("p"), "waiting", "nothing was linked");
    bench.push(json!({"parentId": "p", "jobId": "bare", "queue": "q2"}));
    assert_eq!((bench.state("p"), bench.job("bare")["parentId"].clone()), ("waiting".to_owned(), json!("p")));
}

#[test]
fn update_parent_links_or_says_why_not() {
    let update = |child: &str, parent: &str| json!({"cmd": "UpdateParent", "childId": child, "parentId": parent});
    let mut bench = Bench::new();
    for (id, queue) in [("a", "q2"), ("p", "q"), ("other", "q3")] {
        bench.push(json!({"jobId": id, "queue": queue}));
    }
    for (request, text) in [
        (update("a", "a"), "A flow job cannot be its own parent"),
        (update("none", "p"), "Child job not found: none"),
        (update("a", "none"), "Parent job not found: none"),
        (json!({"cmd": "UpdateParent", "parentId": "p"}), "childId is required"),
        (json!({"cmd": "UpdateParent", "childId": "a"}), "parentId is required"),
    ] {
        assert_eq!(bench.refusal(&request), text);
    }
    bench.ok(&update("a", "p"));
    bench.ok(&update("a", "p"));
    assert_eq!(bench.state("p"), "waiting-children");
    assert_eq!(bench.refusal(&update("a", "other")), "Child job a already belongs to parent p");
    assert_eq!(bench.refusal(&update("p", "a")), "flow contains a dependency cycle");
    assert_eq!(take(&mut bench, "q3"), "other");
    bench.push(json!({"jobId": "b", "queue": "q2"}));
    assert_eq!(bench.refusal(&update("b", "other")), "Parent job other is not linkable");
    complete(&mut bench, "q2", "a", json!({}));
    assert_eq!(bench.state("p"), "waiting");
    complete(&mut bench, "q2", "b", json!({}));
    bench.ok(&update("b", "p"));
    assert_eq!(bench.state("p"), "waiting", "a child that is done keeps nobody");
    assert_eq!(values(&mut bench, "p"), json!({"q2:a": {"of": "a"}, "q2:b": {"of": "b"}}));
}

#[test]
fn a_child_can_be_detached() {
    let remove = |id: &str| json!({"cmd": "RemoveChildDependency", "id": id});
    let mut bench = Bench::new();
    bench.ok(&tree(json!({}), json!({})));
    assert_eq!(bench.refusal(&remove("none")), "Job not found: none");
    assert_eq!(bench.refusal(&remove("p")), "Job p has no parent");
    assert_eq!(bench.ok(&remove("a"))["removed"], json!(true));
    let (child, parent) = (bench.job("a"), bench.job("p"));
    assert_eq!((&child["parentId"], &child["data"]), (&json!(null), &json!({"v": "a"})));
    assert_eq!((&parent["childrenIds"], &parent["data"]), (&json!(["b"]), &json!({"v": "p", "__childrenIds": ["b"]})));
    assert_eq!(bench.state("p"), "waiting-children");
    assert_eq!(bench.refusal(&remove("a")), "Job a has no parent");
    bench.events();
    assert_eq!(bench.ok(&remove("b"))["removed"], json!(true));
    assert_eq!(bench.events()[0], json!({"eventType": "waiting", "jobId": "p", "prev": "waiting-children"}));
    assert_eq!(bench.job("p")["data"], json!({"v": "p"}));
    assert_eq!(bench.state("p"), "waiting");
}

#[test]
fn a_child_that_its_parent_does_not_wait_for_is_not_detached() {
    let mut bench = Bench::new();
    bench.ok(&tree(json!({}), json!({})));
    complete(&mut bench, "q2", "a", json!({}));
    assert_eq!(bench.ok(&json!({"cmd": "RemoveChildDependency", "id": "a"}))["removed"], json!(false));
    assert_eq!(bench.job("a")["parentId"], json!("p"));
}

#[test]
fn a_child_that_is_gone_can_be_detached() {
    let mut bench = Bench::new();
    bench.ok(&tree(json!({}), json!({})));
    bench.ok(&json!({"cmd": "Cancel", "id": "a"}));
    complete(&mut bench, "q", "b", json!({}));
    assert_eq!(bench.state("p"), "waiting-children", "a cancelled child does not free its parent");
    assert_eq!(bench.ok(&json!({"cmd": "RemoveChildDependency", "id": "a"}))["removed"], json!(true));
    assert_eq!(bench.state("p"), "waiting");
}

#[test]
fn children_that_have_not_begun_can_be_removed() {
    let remove = json!({"cmd": "RemoveUnprocessedChildren", "id": "p"});
    let mut bench = Bench::new();
    bench.ok(&merged(remove.clone(), json!({"id": "none"})));
    bench.ok(&tree(json!({}), json!({})));
    assert_eq!(take(&mut bench, "q2"), "a");
    bench.events();
    bench.ok(&remove);
    assert_eq!(bench.events()[0], json!({"eventType": "removed", "jobId": "b", "prev": "waiting"}));
    assert_eq!((bench.state("a"), bench.state("b")), ("active".to_owned(), "unknown".to_owned()));
    assert_eq!(bench.state("p"), "waiting-children", "an active child is waited for");
    bench.ok(&json!({"cmd": "ACK", "id": "a"}));
    assert_eq!(bench.state("p"), "waiting");

    let mut bench = Bench::new();
    bench.ok(&tree(json!({}), json!({})));
    bench.ok(&json!({"cmd": "Cancel", "id": "a"}));
    bench.ok(&remove);
    assert_eq!((bench.state("p"), bench.job("p")["childrenIds"].clone()), ("waiting".to_owned(), json!([])));
}

#[test]
fn a_parked_job_wakes_up_with_its_children() {
    let park = json!({"cmd": "MoveToWaitingChildren", "id": "p"});
    let mut bench = Bench::new();
    bench.push(json!({"jobId": "p"}));
    assert_eq!(bench.refusal(&park), "Job is not active");
    take(&mut bench, "q");
    assert_eq!(bench.ok(&park)["data"], json!({"moved": true}));
    bench.ok(&joining("a", "p", "q"));
    complete(&mut bench, "q2", "a", json!({}));
    assert_eq!(bench.state("p"), "waiting");

    let mut bench = Bench::new();
    bench.ok(&tree(json!({"continueParentOnFailure": true}), json!({})));
    fail(&mut bench, "q2", "a");
    bench.ok(&json!({"cmd": "ChangePriority", "id": "p", "priority": 5}));
    assert_eq!(take(&mut bench, "q"), "p");
    bench.ok(&park);
    assert_eq!(bench.state("p"), "waiting-children");
    complete(&mut bench, "q", "b", json!({}));
    assert_eq!(bench.state("p"), "prioritized", "it waited for the child that had not ended");
    assert_eq!(failures(&mut bench, "GetFailedChildrenValues", "p"), json!({"q2:a": "no luck"}));
}

#[test]
fn jobs_do_not_wait_for_one_another_in_a_circle() {
    const CIRCLE: &str = "flow contains a dependency cycle";
    let mut bench = Bench::new();
    let batch = |jobs: Json| json!({"cmd": "PUSHB", "queue": "q", "jobs": jobs});
    let circle =
        batch(json!([{"customId": "x"}, {"customId": "a", "dependsOn": ["b"]}, {"customId": "b", "dependsOn": ["a"]}]));
    assert_eq!(bench.refusal(&circle), format!("jobs[1]: {CIRCLE}"));
    assert_eq!(bench.counts()["waiting"], json!(0));
    bench.push(json!({"jobId": "a"}));
    bench.push(json!({"jobId": "b", "dependsOn": ["a"]}));
    bench.push(json!({"jobId": "c", "dependsOn": ["b"]}));
    bench.ok(&json!({"cmd": "Cancel", "id": "a"}));
    let again = json!({"cmd": "PUSH", "queue": "q", "jobId": "a", "dependsOn": ["c"]});
    assert_eq!(bench.refusal(&again), CIRCLE);
    let through = batch(json!([{"customId": "a", "dependsOn": ["y"]}, {"customId": "y", "dependsOn": ["c"]}]));
    assert_eq!(bench.refusal(&through), format!("jobs[0]: {CIRCLE}"));
    bench.push(json!({"jobId": "a"}));
    for id in ["a", "b", "c"] {
        complete(&mut bench, "q", id, json!({}));
    }
}

#[test]
fn a_retried_parent_waits_for_children_that_may_still_complete() {
    let mut bench = Bench::new();
    bench.ok(&tree(json!({"failParentOnFailure": true}), json!({})));
    fail(&mut bench, "q2", "a");
    assert_eq!(bench.state("p"), "failed");
    bench.ok(&json!({"cmd": "RetryDlq", "queue": "q"}));
    assert_eq!(bench.state("p"), "waiting-children", "for b, not for a, which is dead");
    complete(&mut bench, "q", "b", json!({}));
    complete(&mut bench, "q", "p", json!({}));

    let mut bench = Bench::new();
    bench.ok(&tree(json!({"failParentOnFailure": true}), json!({"failParentOnFailure": true})));
    fail(&mut bench, "q2", "a");
    for queue in ["q2", "q"] {
        bench.ok(&json!({"cmd": "RetryDlq", "queue": queue}));
    }
    complete(&mut bench, "q", "b", json!({}));
    assert_eq!(bench.state("p"), "waiting-children");
    complete(&mut bench, "q2", "a", json!({}));
    assert_eq!(values(&mut bench, "p"), json!({"q2:a": {"of": "a"}, "q:b": {"of": "b"}}));
    assert_eq!(bench.state("p"), "waiting");
}

#[test]
fn a_child_that_expires_or_is_discarded_has_failed() {
    let mut bench = Bench::new();
    bench.ok(&tree(json!({"ignoreDependencyOnFailure": true, "ttl": 500}), json!({"ignoreDependencyOnFailure": true})));
    bench.at(501);
    assert_eq!(bench.state("a"), "unknown");
    let expired = json!({"q2:a": "Job expired before it was taken"});
    assert_eq!(failures(&mut bench, "GetIgnoredChildrenFailures", "p"), expired);
    bench.ok(&json!({"cmd": "Discard", "id": "b"}));
    assert_eq!(bench.state("p"), "waiting");
    assert_eq!(failures(&mut bench, "GetIgnoredChildrenFailures", "p")["q:b"], json!("unknown error"));
}

#[test]
fn changed_data_keeps_the_links() {
    let mut bench = Bench::new();
    bench.ok(&tree(json!({}), json!({})));
    for (id, links) in
        [("a", json!({"__parentId": "p", "__parentQueue": "q"})), ("p", json!({"__childrenIds": ["a", "b"]}))]
    {
        bench.ok(&json!({"cmd": "Update", "id": id, "data": {"new": 1, "__parentId": "mine"}}));
        let data = bench.job(id)["data"].clone();
        let own = if id == "a" { json!({"new": 1}) } else { json!({"new": 1, "__parentId": "mine"}) };
        assert_eq!(data, merged(own, links));
    }
    bench.ok(&json!({"cmd": "Update", "id": "a", "data": 5}));
    assert_eq!(bench.job("a")["data"], json!(5), "only a map can name links");
}

#[test]
fn an_active_parent_keeps_its_delivery_when_its_children_change() {
    let mut bench = Bench::new();
    bench.ok(&tree(json!({"continueParentOnFailure": true}), json!({"delay": 60_000})));
    fail(&mut bench, "q2", "a");
    assert_eq!(take(&mut bench, "q"), "p");
    bench.ok(&json!({"cmd": "RemoveUnprocessedChildren", "id": "p"}));
    assert_eq!((bench.state("b"), bench.state("p")), ("unknown".to_owned(), "active".to_owned()));
    assert_eq!(bench.job("p")["childrenIds"], json!(["a"]));
    bench.ok(&json!({"cmd": "ACK", "id": "p"}));
}

#[test]
fn a_child_that_completes_twice_is_read_once() {
    let mut bench = Bench::new();
    bench.ok(&tree(json!({"continueParentOnFailure": true}), json!({"priority": 9})));
    fail(&mut bench, "q2", "a");
    complete(&mut bench, "q", "b", json!({}));
    bench.ok(&json!({"cmd": "RetryCompleted", "queue": "q", "id": "b"}));
    assert_eq!(values(&mut bench, "p"), json!({}));
    complete(&mut bench, "q", "b", json!({"removeOnComplete": true}));
    assert_eq!(values(&mut bench, "p"), json!({"q:b": {"of": "b"}}));
    complete(&mut bench, "q", "p", json!({}));
    assert_eq!(values(&mut bench, "p"), json!({}));
}
