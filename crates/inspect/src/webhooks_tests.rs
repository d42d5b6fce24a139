//! Webhooks in the window: added by a client's rules, switched, removed.

use crate::testing::Bench;
use serde_json::{Value, json};

fn rows(bench: &Bench) -> Vec<Value> {
    bench.ask(json!({"type": "webhooks"}))["rows"].as_array().unwrap().clone()
}

fn add(bench: &Bench, url: &str, events: Value) -> Value {
    bench.ask(
        json!({"type": "addWebhook", "url": url, "events": events, "queue": "q", "secret": "hidden in plain sight"}),
    )
}

#[test]
fn one_is_added_disabled_enabled_and_removed() {
    let bench = Bench::new("webhooks");
    assert_eq!(add(&bench, "http://127.0.0.1:9/hook", json!(["job.failed"]))["ok"], true);
    let shown = rows(&bench);
    let [row] = &shown[..] else { panic!("{shown:?}") };
    assert_eq!(
        (&row["url"], &row["events"], &row["queue"]),
        (&json!("http://127.0.0.1:9/hook"), &json!(["job.failed"]), &json!("q"))
    );
    assert_eq!((&row["signed"], &row["enabled"], &row["lastError"]), (&json!(true), &json!(true), &json!(null)));
    assert!(!row.to_string().contains("hidden"), "{row}");
    let act = |act: &str| bench.ask(json!({"type": "actOnWebhook", "id": row["id"], "act": act}));
    assert_eq!(act("disable")["ok"], true);
    assert_eq!(rows(&bench)[0]["enabled"], false);
    assert_eq!(act("enable")["ok"], true);
    assert_eq!(act("remove")["ok"], true);
    assert_eq!(rows(&bench).len(), 0);
    assert_eq!(act("remove")["code"], "gone");
}

#[test]
fn bad_fields_are_answered_as_a_client_is() {
    let bench = Bench::new("webhooks-bad");
    let texts = [
        add(&bench, "", json!(["job.failed"])),
        add(&bench, "ftp://h/", json!(["job.failed"])),
        add(&bench, "http://h/", json!(["job.eaten"])),
    ];
    let texts = texts.map(|result| {
        assert_eq!(result["ok"], false);
        result["message"].as_str().unwrap().to_owned()
    });
    assert_eq!(texts[0], "Webhook URL is required");
    assert_eq!(texts[1], "Webhook URL must use http or https protocol");
    assert!(texts[2].starts_with("Invalid webhook event(s): job.eaten"), "{}", texts[2]);
    assert_eq!(rows(&bench).len(), 0);
}
