//! The commands of webhooks: their answers, and that a secret is in none of them.

use crate::bench::{Bench, START, merged};
use serde_json::{Value as Json, json};

fn add(bench: &mut Bench, more: Json) -> Json {
    let request = json!({"cmd": "AddWebhook", "url": "http://127.0.0.1:1/", "events": ["job.completed"]});
    bench.ask(&merged(request, more))
}

#[test]
fn a_webhook_is_added_listed_switched_and_removed() {
    let mut bench = Bench::new();
    let added = add(&mut bench, json!({"queue": "q", "secret": "hidden"}));
    let id = added["data"]["webhookId"].clone();
    let wanted = json!({"webhookId": id, "url": "http://127.0.0.1:1/", "events": ["job.completed"], "queue": "q",
        "createdAt": START as f64});
    assert_eq!((&added["ok"], &added["data"]), (&json!(true), &wanted));
    let listed = bench.ask(&json!({"cmd": "ListWebhooks"}));
    let wanted = json!({"id": id, "url": "http://127.0.0.1:1/", "events": ["job.completed"], "queue": "q",
        "createdAt": START as f64, "lastTriggered": null, "successCount": 0, "failureCount": 0, "enabled": true});
    assert_eq!(listed["data"], json!({"webhooks": [wanted], "stats": {"total": 1, "enabled": 1}}));
    assert!(!listed.to_string().contains("hidden"));
    assert_eq!(bench.ask(&json!({"cmd": "SetWebhookEnabled", "id": id, "enabled": false}))["ok"], true);
    assert_eq!(bench.ask(&json!({"cmd": "ListWebhooks"}))["data"]["stats"], json!({"total": 1, "enabled": 0}));
    assert_eq!(bench.ask(&json!({"cmd": "RemoveWebhook", "webhookId": id}))["data"], json!({"removed": true}));
    assert_eq!(bench.ask(&json!({"cmd": "ListWebhooks"}))["data"]["webhooks"], json!([]));
}

#[test]
fn one_that_nobody_knows_is_not_found() {
    let mut bench = Bench::new();
    for request in [
        json!({"cmd": "RemoveWebhook", "webhookId": "w"}),
        json!({"cmd": "SetWebhookEnabled", "id": "w", "enabled": true}),
    ] {
        assert_eq!(bench.ask(&request)["error"], "Webhook not found");
    }
}
