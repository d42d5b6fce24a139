//! Trees of jobs (protocol-admin.md 7): made at once, leaf first or by joining; what children and their failures mean for
//! their parents; links that change.

use crate::bench::{Bench, merged, text};
use serde_json::{Value as Json, json};

/// A job of a flow, with the markers that clients put into its data.
pub fn node(id: &str, queue: &str, parent: Option<(&str, &str)>, children: &[&str], more: Json) -> Json {
    let mut data = json!({"v": id});
    let mut input = json!({"name": "n"});
    if let Some((parent, queue)) = parent {
        data = merged(data, json!({"__parentId": parent, "__parentQueue": queue}));
        input = merged(input, json!({"parentId": parent}));
    }
    if !children.is_empty() {
        data = merged(data, json!({"__childrenIds": children}));
        input = merged(input, json!({"dependsOn": children, "childrenIds": children}));
    }
    let more = match more.get("data") {
        Some(_) => more,
        None => merged(json!({"data": data}), more),
    };
    json!({"id": id, "queue": queue, "input": merged(input, more)})
}

pub fn push(jobs: &[Json]) -> Json {
    json!({"cmd": "PUSHF", "jobs": jobs})
}

/// Parent `p` in queue `q` of `a` in `q2` and `b` in `q`, the children with these further fields.
pub fn tree(of_a: Json, of_b: Json) -> Json {
    let parent = Some(("p", "q"));
    push(&[
        node("a", "q2", parent, &[], of_a),
        node("b", "q", parent, &[], of_b),
        node("p", "q", None, &["a", "b"], json!({"delay": 0})),
    ])
}

/// Takes a job and answers its id, empty when there is none.
pub fn take(bench: &mut Bench, queue: &str) -> String {
    text(&bench.ok(&json!({"cmd": "PULL", "queue": queue}))["job"]["id"])
}

pub fn complete(bench: &mut Bench, queue: &str, id: &str, more: Json) {
    assert_eq!(take(bench, queue), id);
    bench.ok(&merged(json!({"cmd": "ACK", "id": id, "result": {"of": id}}), more));
}

/// The last failure of a job.
pub fn fail(bench: &mut Bench, queue: &str, id: &str) {
    assert_eq!(take(bench, queue), id);
    bench.ok(&json!({"cmd": "FAIL", "id": id, "error": "no luck", "unrecoverable": true}));
}

pub fn values(bench: &mut Bench, id: &str) -> Json {
    bench.ok(&json!({"cmd": "GetChildrenValues", "id": id}))["data"]["values"].clone()
}

pub fn failures(bench: &mut Bench, cmd: &str, id: &str) -> Json {
    bench.ok(&json!({"cmd": cmd, "id": id}))["values"].clone()
}

#[test]
fn a_flow_is_made_at_once_and_runs_leaf_first() {
    let mut bench = Bench::new();
    let made = bench.ok(&tree(json!({}), json!({"customId": "b", "priority": 4})));
    let ids: Vec<String> = made["data"]["jobs"].as_array().unwrap().iter().map(|job| text(&job["id"])).collect();
    assert_eq!(ids, ["a", "b", "p"]);
    assert_eq!(made["data"]["jobs"][0]["customId"], json!(null));
    assert_eq!(made["data"]["jobs"][1]["customId"], json!("b"));
    assert_eq!(made["data"]["jobs"][2]["dependsOn"], json!(["a", "b"]));
    assert_eq!(made["data"]["jobs"][0]["parentId"], json!("p"));
    assert_eq!(bench.order(), "pushed pushed pushed reply");
    assert_eq!(bench.state("p"), "waiting-children");
    assert_eq!(values(&mut bench, "p"), json!({}));
    complete(&mut bench, "q2", "a", json!({}));
    assert_eq!(bench.state("p"), "waiting-children");
    complete(&mut bench, "q", "b", json!({}));
    assert_eq!(bench.state("p"), "waiting");
    assert_eq!(take(&mut bench, "q"), "p");
    let both = json!({"q2:a": {"of": "a"}, "q:b": {"of": "b"}});
    assert_eq!(values(&mut bench, "p"), both);
    bench.ok(&json!({"cmd": "ACK", "id": "p"}));
    assert_eq!(values(&mut bench, "p"), both, "what is kept can be read afterwards, too");
    assert_eq!(bench.ok(&push(&[]))["data"]["jobs"], json!([]));
}

#[test]
fn a_parent_that_is_delayed_or_prioritized_is_so_after_its_children() {
    for (more, state) in [(json!({"delay": 5_000}), "delayed"), (json!({"priority": 2}), "prioritized")] {
        let mut bench = Bench::new();
        bench.ok(&push(&[node("a", "q", Some(("p", "q")), &[], json!({})), node("p", "q", None, &["a"], more)]));
        complete(&mut bench, "q", "a", json!({}));
        assert_eq!(bench.state("p"), state);
    }
}

/// As the Python, Rust and PHP clients do it: the child first, its parent still to be named.
fn pending(bench: &mut Bench, id: &str, more: Json) {
    let data = json!({"v": id, "__parentId": "pending", "__parentQueue": "q"});
    bench.push(merged(json!({"jobId": id, "queue": "q2", "parentId": "pending", "data": data}), more));
}

fn parent_of(bench: &mut Bench, children: &[&str]) {
    let data = json!({"__childrenIds": children});
    bench.push(json!({"jobId": "p", "data": data, "childrenIds": children, "dependsOn": children}));
    for child in children {
        bench.ok(&json!({"cmd": "UpdateParent", "childId": child, "parentId": "p"}));
    }
}

#[test]
fn a_tree_can_be_made_leaf_first() {
    let mut bench = Bench::new();
    pending(&mut bench, "a", json!({}));
    pending(&mut bench, "b", json!({}));
    assert_eq!(bench.job("a")["parentId"], json!("pending"));
    parent_of(&mut bench, &["a", "b"]);
    for child in ["a", "b"] {
        let job = bench.job(child);
        assert_eq!(
            (&job["parentId"], &job["data"]),
            (&json!("p"), &json!({"v": child, "__parentId": "p", "__parentQueue": "q"}))
        );
    }
    complete(&mut bench, "q2", "a", json!({}));
    assert_eq!(take(&mut bench, "q"), "");
    complete(&mut bench, "q2", "b", json!({}));
    assert_eq!(take(&mut bench, "q"), "p");
    assert_eq!(values(&mut bench, "p"), json!({"q2:a": {"of": "a"}, "q2:b": {"of": "b"}}));
}

#[test]
fn a_child_may_end_before_its_parent_is_named() {
    for remove in [false, true] {
        let mut bench = Bench::new();
        pending(&mut bench, "a", json!({"removeOnComplete": remove}));
        complete(&mut bench, "q2", "a", json!({}));
        assert_eq!(bench.state("a"), "completed", "the parent must hear of it first");
        parent_of(&mut bench, &["a"]);
        assert_eq!(bench.state("a"), if remove { "unknown" } else { "completed" });
        assert_eq!(take(&mut bench, "q"), "p");
        assert_eq!(values(&mut bench, "p"), json!({"q2:a": {"of": "a"}}));
        bench.ok(&json!({"cmd": "ACK", "id": "p"}));
        assert_eq!(values(&mut bench, "p"), if remove { json!({}) } else { json!({"q2:a": {"of": "a"}}) });
    }
}

const POLICIES: [&str; 4] =
    ["failParentOnFailure", "continueParentOnFailure", "ignoreDependencyOnFailure", "removeDependencyOnFailure"];

#[test]
fn a_child_may_fail_before_its_parent_is_named() {
    for policy in POLICIES {
        for remove in [false, true] {
            let mut bench = Bench::new();
            pending(&mut bench, "a", json!({policy: true, "removeOnFail": remove}));
            fail(&mut bench, "q2", "a");
            assert_eq!(bench.state("a"), "failed");
            parent_of(&mut bench, &["a"]);
            assert_eq!(bench.state("a"), if remove { "unknown" } else { "failed" }, "{policy}");
            assert_eq!(bench.state("p"), if policy == POLICIES[0] { "failed" } else { "waiting" }, "{policy}");
        }
    }
}

#[test]
fn what_a_childs_failure_means_is_up_to_its_policy() {
    let error = json!({"q2:a": "no luck"});
    for (policy, after, failed, ignored) in [
        ("none", "waiting-children", json!({}), json!({})),
        ("failParentOnFailure", "failed", json!({}), json!({})),
        ("continueParentOnFailure", "waiting", error.clone(), json!({})),
        ("ignoreDependencyOnFailure", "waiting-children", json!({}), error),
        ("removeDependencyOnFailure", "waiting-children", json!({}), json!({})),
    ] {
        let mut bench = Bench::new();
        bench.ok(&tree(if policy == "none" { json!({}) } else { json!({policy: true}) }, json!({})));
        bench.events();
        fail(&mut bench, "q2", "a");
        assert_eq!(bench.state("p"), after, "{policy}");
        for restart in [false, true] {
            if restart {
                bench.restart(1_000);
                assert_eq!(bench.state("p"), after, "{policy} after a restart");
            }
            assert_eq!(failures(&mut bench, "GetFailedChildrenValues", "p"), failed, "{policy}");
            assert_eq!(failures(&mut bench, "GetIgnoredChildrenFailures", "p"), ignored, "{policy}");
        }
        if policy == "failParentOnFailure" {
            assert_eq!(bench.job("p")["failedReason"], json!("Child job a failed: no luck"));
            let dead = bench.ok(&json!({"cmd": "Dlq", "queue": "q"}))["entries"][0].clone();
            assert_eq!((&dead["reason"], &dead["job"]["id"]), (&json!("unknown"), &json!("p")));
            continue;
        }
        complete(&mut bench, "q", "b", json!({}));
        let freed = if policy == "none" { "waiting-children" } else { "waiting" };
        assert_eq!(bench.state("p"), freed, "{policy}");
        if policy == "none" {
            bench.ok(&json!({"cmd": "RetryDlq", "queue": "q2"}));
            complete(&mut bench, "q2", "a", json!({}));
            assert_eq!(bench.state("p"), "waiting", "a retried child counts");
        }
    }
}

#[test]
fn the_events_of_a_parent_whose_child_failed() {
    let of = |policy: &str| {
        let mut bench = Bench::new();
        let parent = Some(("p", "q"));
        bench
            .ok(&push(&[node("a", "q2", parent, &[], json!({policy: true})), node("p", "q", None, &["a"], json!({}))]));
        take(&mut bench, "q2");
        bench.events();
        bench.ok(&json!({"cmd": "FAIL", "id": "a", "error": "no luck", "unrecoverable": true}));
        let events = bench.events();
        (events[1].clone(), events.last().cloned())
    };
    let waiting = json!({"eventType": "waiting", "jobId": "p", "prev": "waiting-children"});
    for policy in &POLICIES[1..] {
        assert!([of(policy).0, of(policy).1.unwrap()].contains(&waiting), "{policy}");
    }
    let (failed, last) = of("failParentOnFailure");
    let failed = if failed == json!("reply") { last.unwrap() } else { failed };
    assert_eq!(failed["eventType"], "failed");
    assert_eq!((&failed["jobId"], &failed["error"]), (&json!("p"), &json!("Child job a failed: no luck")));
}

#[test]
fn a_failure_goes_up_a_tree_of_any_depth() {
    let mut bench = Bench::new();
    let depth = 3_000;
    let name = |at: usize| format!("n{at}");
    let jobs: Vec<Json> = (0..depth)
        .map(|at| {
            let (parent, child) = (name(at + 1), name(at.wrapping_sub(1)));
            let parent = (at + 1 < depth).then_some((&*parent, "q"));
            let children: &[&str] = if at == 0 { &[] } else { &[&child] };
            let more = if at + 1 < depth { json!({"failParentOnFailure": true}) } else { json!({}) };
            node(&name(at), "q", parent, children, more)
        })
        .collect();
    bench.fast(&push(&jobs));
    assert_eq!(take(&mut bench, "q"), "n0");
    bench.ok(&json!({"cmd": "FAIL", "id": "n0", "error": "e", "unrecoverable": true}));
    assert_eq!(bench.counts()["failed"], json!(depth));
}

#[test]
fn results_stay_for_the_parent_when_their_jobs_are_gone() {
    for how in ["option", "ack", "retention"] {
        let mut bench = Bench::with(onceover_engine::EngineConfig {
            completed_max: if how == "retention" { 1 } else { 100 },
            ..onceover_engine::EngineConfig::default()
        });
        bench.ok(&tree(json!({"removeOnComplete": how == "option"}), json!({})));
        complete(&mut bench, "q2", "a", json!({"removeOnComplete": how == "ack"}));
        complete(&mut bench, "q", "b", json!({}));
        assert_eq!(bench.state("a"), "unknown", "{how}");
        let both = json!({"q2:a": {"of": "a"}, "q:b": {"of": "b"}});
        assert_eq!(values(&mut bench, "p"), both, "{how}");
        assert_eq!(take(&mut bench, "q"), "p");
        assert_eq!(values(&mut bench, "p"), both, "{how}");
    }
}

#[test]
fn clean_spares_what_a_blocked_parent_needs() {
    let mut bench = Bench::new();
    bench.ok(&tree(json!({}), json!({})));
    complete(&mut bench, "q2", "a", json!({}));
    let clean = json!({"cmd": "Clean", "queue": "q2", "grace": 0, "state": "completed"});
    assert_eq!(bench.ok(&clean)["ids"], json!([]));
    complete(&mut bench, "q", "b", json!({}));
    assert_eq!(bench.ok(&clean)["ids"], json!(["a"]));
    assert_eq!(values(&mut bench, "p"), json!({"q2:a": {"of": "a"}, "q:b": {"of": "b"}}));
}

#[test]
fn a_restart_changes_nothing_in_a_tree() {
    let mut bench = Bench::new();
    bench.ok(&tree(json!({}), json!({})));
    complete(&mut bench, "q2", "a", json!({}));
    bench.restart(1_000);
    assert_eq!(bench.state("p"), "waiting-children");
    complete(&mut bench, "q", "b", json!({}));
    assert_eq!(take(&mut bench, "q"), "p");
    assert_eq!(bench.job("a")["parentId"], json!("p"));
}
