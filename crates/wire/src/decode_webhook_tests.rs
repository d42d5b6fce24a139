//! Webhooks on the wire: each command, each bad field, and where each kind of URL leads.

use crate::decode::decode;
use crate::request::Request as Decoded;
use crate::testing::pack;
use onceover_engine::command::Command;
use onceover_engine::webhook::{NewWebhook, Reach, Request, Secret, WebhookEvent};
use serde_json::{Value as Json, json};

fn check(cases: Vec<(Json, Command)>) {
    for (request, wanted) in cases {
        assert_eq!(decode(&pack(&request)).result, Ok(Decoded::Engine(wanted)), "{request}");
    }
}

fn check_refused(cases: Vec<(Json, &str)>) {
    for (request, text) in cases {
        assert_eq!(decode(&pack(&request)).result.unwrap_err().text, text, "{request}");
    }
}

#[test]
fn each_command() {
    let new = NewWebhook {
        url: "http://example.com/hook?a=1".into(),
        reach: Reach::World,
        events: vec![WebhookEvent::Failed, WebhookEvent::Pushed],
        queue: Some("q".into()),
        secret: Some(Secret("s".into())),
    };
    let full = json!({"cmd": "AddWebhook", "url": "http://example.com/hook?a=1", "queue": "q", "secret": "s",
        "events": ["job.failed", "job.pushed", "job.failed"]});
    let bare = json!({"cmd": "AddWebhook", "url": "http://example.com/hook?a=1", "events": [], "queue": null});
    check(vec![
        (full, Command::Webhook(Request::Add(new.clone()))),
        (bare, Command::Webhook(Request::Add(NewWebhook { events: vec![], queue: None, secret: None, ..new }))),
        (json!({"cmd": "ListWebhooks"}), Command::Webhook(Request::List)),
        (json!({"cmd": "RemoveWebhook", "webhookId": "w"}), Command::Webhook(Request::Remove { id: "w".into() })),
        (
            json!({"cmd": "SetWebhookEnabled", "id": "w", "enabled": false}),
            Command::Webhook(Request::SetEnabled { id: "w".into(), enabled: false }),
        ),
    ]);
}

#[test]
fn each_bad_field() {
    let url = |url: &str| json!({"cmd": "AddWebhook", "url": url, "events": ["job.pushed"]});
    let with = |events| json!({"cmd": "AddWebhook", "url": "http://h/", "events": events});
    let long = format!("http://h/{}", "x".repeat(2_040));
    let secret = json!({"cmd": "AddWebhook", "url": "http://h/", "events": [], "secret": "x".repeat(1_025)});
    let valid = "Valid: job.pushed, job.started, job.completed, job.failed, job.progress";
    let invalid = format!("Invalid webhook event(s): a, b. {valid}");
    check_refused(vec![
        (json!({"cmd": "AddWebhook", "events": []}), "Webhook URL is required"),
        (json!({"cmd": "AddWebhook", "url": 5, "events": []}), "url must be a string"),
        (url(&long), "Webhook URL too long (max 2048 characters)"),
        (url("nowhere"), "Invalid URL format"),
        (url("ftp://example.com/"), "Webhook URL must use http or https protocol"),
        (url("http://me:secret@example.com/"), "Webhook URL must not hold a user name or password"),
        (json!({"cmd": "AddWebhook", "url": "http://h/"}), "events is required"),
        (with(json!("job.pushed")), "events must be an array"),
        (with(json!([1])), "events must be an array of strings"),
        (with(json!(["a", "job.pushed", "b"])), &invalid),
        (
            json!({"cmd": "AddWebhook", "url": "http://h/", "events": [], "queue": "b d"}),
            "Queue name contains invalid characters",
        ),
        (secret, "secret must be at most 1024 bytes"),
        (json!({"cmd": "RemoveWebhook"}), "webhookId is required"),
        (json!({"cmd": "SetWebhookEnabled", "enabled": true}), "id is required"),
        (json!({"cmd": "SetWebhookEnabled", "id": "w"}), "enabled is required"),
        (json!({"cmd": "SetWebhookEnabled", "id": "w", "enabled": "yes"}), "enabled must be a boolean"),
    ]);
}

#[test]
fn where_urls_lead() {
    let table = [
        ("http://example.com", Reach::World),
        ("https://8.8.8.8/", Reach::World),
        ("http://localhost:8080/", Reach::Localhost),
        ("http://LocalHost./", Reach::Localhost),
        ("http://a.localhost/", Reach::Localhost),
        ("http://127.0.0.1/", Reach::Localhost),
        ("http://2130706433/", Reach::Localhost),
        ("http://0x7f.1/", Reach::Localhost),
        ("http://[::1]/", Reach::Localhost),
        ("http://127.0.0.2/", Reach::Loopback),
        ("http://[::ffff:127.0.0.1]/", Reach::Loopback),
        ("http://10.1.2.3/", Reach::Private),
        ("http://172.31.0.1/", Reach::Private),
        ("http://172.32.0.1/", Reach::World),
        ("http://192.168.1.1/", Reach::Private),
        ("http://[::ffff:10.0.0.1]/", Reach::Private),
        ("http://100.64.0.1/", Reach::Private),
        ("http://224.0.0.1/", Reach::Private),
        ("http://169.254.169.254/", Reach::LinkLocal),
        ("http://[fe80::1]/", Reach::LinkLocal),
        ("http://0.0.0.0/", Reach::Unspecified),
        ("http://[::]/", Reach::Unspecified),
        ("http://[fd00::1]/", Reach::UniqueLocal),
        ("http://[64:ff9b::a00:1]/", Reach::Private),
        ("http://metadata.google.internal/", Reach::Metadata),
        ("http://[2606:4700::1111]/", Reach::World),
    ];
    for (url, wanted) in table {
        let frame = pack(&json!({"cmd": "AddWebhook", "url": url, "events": []}));
        match decode(&frame).result {
            Ok(Decoded::Engine(Command::Webhook(Request::Add(new)))) => assert_eq!(new.reach, wanted, "{url}"),
            other => panic!("{url}: {other:?}"),
        }
    }
}
