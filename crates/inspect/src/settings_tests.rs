//! Settings through the door of the window, on a broker that runs.

use super::*;
use crate::testing::Bench;
use serde_json::{Value, json};

fn change(bench: &Bench, change: Value) -> Value {
    bench.ask(json!({ "type": "changeSetting", "change": change }))
}

/// A bench whose changes are kept in the returned place.
fn keeping(name: &str) -> (Bench, Arc<Mutex<Kept>>) {
    let mut bench = Bench::new(name);
    let place = Arc::new(Mutex::new(Kept::default()));
    let to = Arc::clone(&place);
    let keeper: Keeper = Arc::new(move |kept: &Kept| {
        *to.lock().unwrap() = kept.clone();
        Ok(())
    });
    bench.inspector =
        bench.inspector.clone().with_settings(Settings::keeping(Kept::default(), vec!["port".to_owned()], keeper));
    (bench, place)
}

#[test]
fn values_that_make_no_sense_are_named() {
    let bench = Bench::new("settings-bad");
    let table = [
        (json!({ "setting": "address", "host": "nowhere", "port": 1 }), "host: must be an IP address or localhost"),
        (json!({ "setting": "address", "host": "127.0.0.1", "port": 0 }), "port: must be 1 to 65535"),
        (json!({ "setting": "data", "data": { "kind": "file", "path": " " } }), "path: must name a file or a folder"),
        (
            json!({ "setting": "data", "data": { "kind": "file", "path": "a.db" } }),
            "path: must be a whole path, from the root on",
        ),
    ];
    for (wanted, message) in table {
        assert_eq!(bench.refused(json!({ "type": "changeSetting", "change": wanted })).message, message);
    }
    let open = change(&bench, json!({ "setting": "address", "host": "0.0.0.0", "port": 47_013 }));
    assert_eq!((&open["ok"], open["message"].as_str().unwrap().contains("token")), (&json!(false), true), "{open}");
    let token = change(&bench, json!({ "setting": "tokens", "tokens": ["a b"] }));
    assert_eq!(token["message"], "Token 1 holds a comma, a space or a control character, which no token may.");
}

#[test]
fn address_and_tokens_change_while_it_runs_and_are_kept() {
    let (bench, kept) = keeping("settings-kept");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let moved = change(&bench, json!({ "setting": "address", "host": "localhost", "port": port }));
    assert_eq!(moved["message"], format!("Clients can connect at 127.0.0.1:{port}. Those that are connected stay."));
    assert_eq!(change(&bench, json!({ "setting": "tokens", "tokens": ["one", "two"] }))["ok"], true);
    let seen = bench.ask(json!({ "type": "settings" }));
    assert_eq!((&seen["port"], &seen["authTokens"]), (&json!(port), &json!(["one", "two"])));
    assert_eq!((&seen["kept"], &seen["pinned"], &seen["loopback"]), (&json!(true), &json!(["port"]), &json!(true)));
    let kept = kept.lock().unwrap();
    assert_eq!(
        (kept.port, kept.auth_tokens.as_deref()),
        (Some(port), Some(["one".to_owned(), "two".to_owned()].as_slice()))
    );
    assert_eq!((kept.data_file.as_ref(), kept.read_only), (None, None));
}

#[test]
fn other_data_is_opened_and_what_cannot_be_leaves_everything() {
    let (bench, kept) = keeping("settings-data");
    bench.add(json!({}));
    let notes = bench.folder.join("notes.txt");
    std::fs::write(&notes, "these are notes, not a data file").unwrap();
    let refused = change(&bench, json!({ "setting": "data", "data": { "kind": "file", "path": notes } }));
    assert_eq!(refused["ok"], false);
    assert!(refused["message"].as_str().unwrap().starts_with("Nothing was changed. "), "{refused}");
    assert_eq!(bench.ask(json!({ "type": "overview" }))["counts"]["jobs"], 1);

    let other = bench.folder.join("other");
    assert_eq!(
        change(&bench, json!({ "setting": "data", "data": { "kind": "file", "path": other.join("x.db") } }))["ok"],
        true
    );
    assert_eq!(bench.ask(json!({ "type": "overview" }))["counts"]["jobs"], 0);
    assert_eq!(kept.lock().unwrap().data_file.as_deref().and_then(|file| file.file_name()).unwrap(), "x.db");
    assert_eq!(change(&bench, json!({ "setting": "data", "data": { "kind": "temporary" } }))["ok"], true);
    assert_eq!(bench.ask(json!({ "type": "settings" }))["data"], "temporary");
    assert_eq!(kept.lock().unwrap().data_file.as_deref().and_then(|file| file.file_name()).unwrap(), "x.db");
}

#[test]
fn an_emptied_workspace_has_no_queues() {
    let bench = Bench::new("settings-empty");
    bench.add(json!({}));
    bench.add(json!({ "queue": "r" }));
    let emptied = change(&bench, json!({ "setting": "empty" }));
    assert_eq!(emptied["message"], "The workspace is empty: 2 queues removed with all jobs and keys.");
    assert_eq!(bench.ask(json!({ "type": "queues" }))["rows"], json!([]));
}

#[test]
fn a_window_that_only_looks_refuses_every_action_but_the_way_back() {
    let bench = Bench::new("settings-look");
    assert_eq!(change(&bench, json!({ "setting": "readOnly", "on": true }))["ok"], true);
    assert_eq!(bench.ask(json!({ "type": "overview" }))["readOnly"], true);
    let refused = bench.refused(json!({ "type": "pauseQueue", "queue": "q" }));
    assert_eq!((refused.code, refused.message.as_str()), (FailureCode::ReadOnly, "This window may only look."));
    assert_eq!(
        bench.refused(json!({ "type": "changeSetting", "change": { "setting": "empty" } })).code,
        FailureCode::ReadOnly
    );
    assert_eq!(change(&bench, json!({ "setting": "readOnly", "on": false }))["ok"], true);
    bench.add(json!({}));

    let mut locked = Bench::new("settings-locked");
    locked.inspector = locked.inspector.clone().with_settings(Settings::fixed(true));
    let still = change(&locked, json!({ "setting": "readOnly", "on": false }));
    assert_eq!(
        (&still["ok"], locked.ask(json!({ "type": "settings" }))["readOnlyLocked"].clone()),
        (&json!(false), json!(true))
    );
    assert_eq!(locked.refused(json!({ "type": "pauseQueue", "queue": "q" })).code, FailureCode::ReadOnly);
}

#[test]
fn what_only_a_start_changes_is_kept_or_refused() {
    let (bench, kept) = keeping("settings-start");
    let later = change(&bench, json!({ "setting": "dedupWindow", "window": "untilDone" }));
    assert_eq!(later["message"], "It holds from the next start on.");
    assert_eq!(kept.lock().unwrap().dedup_window, Some(DedupWindow::UntilDone));
    let seen = bench.ask(json!({ "type": "settings" }));
    assert_eq!((&seen["dedupWindow"], &seen["dedupWindowNext"]), (&json!("ttl"), &json!("untilDone")));
    let forgetful = Bench::new("settings-forgetful");
    assert_eq!(change(&forgetful, json!({ "setting": "dedupWindow", "window": "untilDone" }))["ok"], false);
}
