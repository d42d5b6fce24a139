//! Both commands through Tauri's own dispatch, without a display.

use super::*;
use crate::args::Start;
use crate::log_tail::LogTail;
use onceover_broker::{BrokerConfig, DataPlace};
use serde_json::json;
use std::path::PathBuf;
use tauri::ipc::{CallbackFn, InvokeBody};
use tauri::test::{INVOKE_KEY, MockRuntime, get_ipc_response, mock_builder, mock_context, noop_assets};
use tauri::webview::InvokeRequest;
use tauri::{App, Manager, WebviewWindow, WebviewWindowBuilder};

/// A folder that is removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("onceover-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn started(config: BrokerConfig) -> Start {
    Start { config, pinned: vec!["port", "dataFile"] }
}

fn app(place: DataPlace) -> (App<MockRuntime>, WebviewWindow<MockRuntime>) {
    let app = with_commands(mock_builder()).build(mock_context(noop_assets())).unwrap();
    let config = BrokerConfig { port: 0, ..BrokerConfig::new(place) };
    app.manage(Desk::open(started(config), LogTail::default()).unwrap());
    let window = WebviewWindowBuilder::new(&app, "main", Default::default()).build().unwrap();
    (app, window)
}

fn invoke(window: &WebviewWindow<MockRuntime>, command: &str, body: Value) -> Result<Value, Value> {
    let request = InvokeRequest {
        cmd: command.to_owned(),
        callback: CallbackFn(0),
        error: CallbackFn(1),
        url: "tauri://localhost".parse().unwrap(),
        body: InvokeBody::Json(body),
        headers: Default::default(),
        invoke_key: INVOKE_KEY.to_owned(),
    };
    get_ipc_response(window, request).map(|body| body.deserialize().unwrap())
}

#[test]
fn requests_are_answered_and_refused() {
    let folder = Folder::new("answered");
    let (app, window) = app(DataPlace::Folder(folder.0.clone()));
    let overview = invoke(&window, "rpc", json!({ "request": { "type": "overview" } })).unwrap();
    assert_eq!(overview["broker"]["state"], "listening");
    let sent = json!({ "type": "sendAdd", "queue": "q", "dataText": "{\"n\": 1}" });
    assert_eq!(invoke(&window, "rpc", json!({ "request": sent })).unwrap()["ok"], true);
    let refused = invoke(&window, "rpc", json!({ "request": { "type": "nonsense" } })).unwrap_err();
    assert_eq!(refused["code"], "badRequest");
    app.state::<Desk>().stop();
    let stopped = invoke(&window, "rpc", json!({ "request": { "type": "queues" } })).unwrap_err();
    assert_eq!(stopped["code"], "notRunning");
}

#[test]
fn data_that_cannot_be_used_is_told_by_the_window() {
    let folder = Folder::new("unusable");
    let file = folder.0.join("notes.txt");
    std::fs::write(&file, "these are notes, not a data file").unwrap();
    let (_app, window) = app(DataPlace::File(file));
    let overview = invoke(&window, "rpc", json!({ "request": { "type": "overview" } })).unwrap();
    assert_eq!(overview["broker"]["state"], "failed");
    assert!(overview["broker"]["message"].as_str().unwrap().contains("notes.txt"));
    let refused = invoke(&window, "rpc", json!({ "request": { "type": "queues" } })).unwrap_err();
    assert_eq!(refused["code"], "notRunning");
}

#[test]
fn data_of_a_running_broker_is_left_alone() {
    let folder = Folder::new("in-use");
    let config = BrokerConfig { port: 0, ..BrokerConfig::new(DataPlace::Folder(folder.0.clone())) };
    let first = Desk::open(started(config.clone()), LogTail::default()).unwrap();
    assert!(Desk::open(started(config.clone()), LogTail::default()).is_err());
    first.stop();
    Desk::open(started(config), LogTail::default()).unwrap().stop();
}

#[test]
fn a_broker_that_ended_is_started_again_on_the_same_data() {
    let folder = Folder::new("restart");
    let (app, window) = app(DataPlace::Folder(folder.0.clone()));
    let sent = json!({ "type": "sendAdd", "queue": "q", "jobId": "kept", "dataText": "1" });
    assert_eq!(invoke(&window, "rpc", json!({ "request": sent })).unwrap()["ok"], true);
    let restart = json!({ "request": { "type": "restart" } });
    let desk = app.state::<Desk>();
    let mut brokers = desk.brokers();
    brokers.mark_unchanged();
    let later = json!({ "type": "changeSetting", "change": { "setting": "dedupWindow", "window": "untilDone" } });
    assert_eq!(invoke(&window, "rpc", json!({ "request": later })).unwrap()["ok"], true);
    desk.stop();
    let reply = invoke(&window, "shell", restart).unwrap();
    assert!(reply["log"].is_array());
    assert!(brokers.has_changed().unwrap(), "the stream of hints learns of the new broker");
    let job = invoke(&window, "rpc", json!({ "request": { "type": "job", "id": "kept" } })).unwrap();
    assert_eq!(job["row"]["state"], "waiting");
    let settings = invoke(&window, "rpc", json!({ "request": { "type": "settings" } })).unwrap();
    assert_eq!((&settings["dedupWindow"], &settings["pinned"]), (&json!("untilDone"), &json!(["port", "dataFile"])));
    desk.stop();
}

#[test]
fn closing_is_asked_once_and_not_at_all_without_a_broker() {
    let folder = Folder::new("closing");
    let (app, window) = app(DataPlace::Folder(folder.0.clone()));
    let desk = app.state::<Desk>();
    assert!(desk.asks_before_closing());
    assert!(!desk.asks_before_closing(), "a page that does not answer does not keep its window open");
    invoke(&window, "shell", json!({ "request": { "type": "closing" } })).unwrap();
    assert!(desk.asks_before_closing());
    desk.stop();
    assert!(!desk.asks_before_closing());
}

#[test]
fn settings_that_cannot_be_used_are_named_by_the_window() {
    let folder = Folder::new("bad-settings");
    std::fs::write(folder.0.join("settings.json"), "{\"port\": \"many\"}").unwrap();
    let (app, window) = app(DataPlace::Folder(folder.0.clone()));
    let overview = invoke(&window, "rpc", json!({ "request": { "type": "overview" } })).unwrap();
    let message = overview["broker"]["message"].as_str().unwrap();
    assert!(message.contains("settings.json") && message.contains("many"), "{message}");
    std::fs::remove_file(folder.0.join("settings.json")).unwrap();
    invoke(&window, "shell", json!({ "request": { "type": "restart" } })).unwrap();
    let overview = invoke(&window, "rpc", json!({ "request": { "type": "overview" } })).unwrap();
    assert_eq!(overview["broker"]["state"], "listening");
    app.state::<Desk>().stop();
}
