//! The commands the page can call: a request with its answer, the stream of change hints, and those of the shell.

use crate::desk::{Desk, Seen};
use onceover_inspect::view::{Changed, Failure};
use serde_json::Value;
use tauri::ipc::Channel;
use tauri::{Builder, Runtime, State};

/// A program with these commands.
pub fn with_commands<R: Runtime>(builder: Builder<R>) -> Builder<R> {
    builder.invoke_handler(tauri::generate_handler![rpc, subscribe, crate::shell::shell])
}

/// One request; the front end's `Host.rpc`.
#[tauri::command]
async fn rpc(desk: State<'_, Desk>, request: Value) -> Result<Value, Failure> {
    desk.inspector().call(request).await
}

/// Sends a hint whenever something the window could show has changed, ten times a second at most.
#[tauri::command]
fn subscribe(desk: State<'_, Desk>, channel: Channel<Changed>) {
    let mut brokers = desk.brokers();
    desk.stream(tauri::async_runtime::spawn(async move {
        // One broker after the other: each ends its hints when it ends.
        loop {
            let Seen { inspector, changes } = brokers.borrow_and_update().clone();
            if let Some(mut changes) = changes {
                while changes.changed().await.is_ok() {
                    let revision = *changes.borrow_and_update();
                    if channel.send(inspector.changed(revision)).is_err() {
                        return;
                    }
                }
                // It ended: the page asks why.
                if channel.send(inspector.changed(u64::MAX)).is_err() {
                    return;
                }
            }
            if brokers.changed().await.is_err() {
                return;
            }
        }
    }));
}

#[cfg(test)]
#[path = "rpc_tests.rs"]
mod rpc_tests;
