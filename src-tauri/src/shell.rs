//! What only a desktop program can do for its page: show itself in the right colour, close or stay, open a folder, start the
//! broker again, and tell its last log lines. One command, so that the page's permissions stay a short list.

use crate::desk::Desk;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tauri::webview::Color;
use tauri::{AppHandle, Manager, Runtime, State, WebviewWindow, Window, WindowEvent};

const DARK: Color = Color(0x0E, 0x12, 0x16, 0xFF);
const LIGHT: Color = Color(0xF5, 0xF7, 0xF9, 0xFF);
/// When a page that has not said its colour is shown all the same.
const SHOW_AFTER: Duration = Duration::from_secs(3);
/// The page listens for this when the window is asked to close.
const CLOSING: &str = "dispatchEvent(new Event('onceover-closing'))";

/// What the page may ask.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ShellRequest {
    /// The page has its colours, so that the window can be seen. Also after a change of theme.
    Painted {
        /// Whether they are the light ones.
        light: bool,
    },
    /// The page has taken over the question whether to close.
    Closing,
    /// The window goes: the program with it, or not.
    Leave {
        /// Whether the broker keeps running without a window.
        keep: bool,
    },
    /// Shows the folder that holds the data.
    OpenDataFolder,
    /// Starts a broker that ended, on the same data.
    Restart,
    /// The last log lines alone.
    Log,
}

/// What the program can do here, and its last log lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShellReply {
    /// Whether a window that is gone can be brought back, by starting the program again.
    pub can_keep: bool,
    /// Oldest first.
    pub log: Vec<String>,
}

/// The page's `Host.shell`.
#[tauri::command]
pub async fn shell<R: Runtime>(
    app: AppHandle<R>,
    window: WebviewWindow<R>,
    desk: State<'_, Desk>,
    request: ShellRequest,
) -> Result<ShellReply, String> {
    match request {
        ShellRequest::Painted { light } => paint(&window, light),
        ShellRequest::Closing => desk.page_decides(),
        ShellRequest::Leave { keep: true } => window.hide().map_err(|error| error.to_string())?,
        ShellRequest::Leave { keep: false } => app.exit(0),
        ShellRequest::OpenDataFolder => open_folder(&desk.data_folder())?,
        ShellRequest::Restart => desk.restart()?,
        ShellRequest::Log => {}
    }
    Ok(ShellReply { can_keep: can_come_back(), log: desk.log_lines() })
}

fn paint<R: Runtime>(window: &WebviewWindow<R>, light: bool) {
    let colour = if light { LIGHT } else { DARK };
    // A window without the right colour is still a window.
    let results = [window.set_background_color(Some(colour)), window.show()];
    for error in results.into_iter().filter_map(Result::err) {
        tracing::warn!("the window could not be shown as it should: {error}");
    }
}

/// Shows a window whose page does not come up, so that nobody waits for nothing.
pub fn show_late<R: Runtime>(window: WebviewWindow<R>) {
    std::thread::spawn(move || {
        std::thread::sleep(SHOW_AFTER);
        if !window.is_visible().unwrap_or(false)
            && let Err(error) = window.show()
        {
            tracing::warn!("the window could not be shown: {error}");
        }
    });
}

/// While the broker runs, closing is the page's question. A page that does not take it over does not get it twice.
pub fn on_window_event<R: Runtime>(window: &Window<R>, event: &WindowEvent) {
    let WindowEvent::CloseRequested { api, .. } = event else { return };
    let desk = window.state::<Desk>();
    if !desk.asks_before_closing() {
        return;
    }
    let Some(page) = window.app_handle().get_webview_window(window.label()) else { return };
    if page.eval(CLOSING).is_ok() {
        api.prevent_close();
    }
}

/// A second start shows the window again, if it finds the first: on Linux through the session bus.
fn can_come_back() -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    let of_runtime =
        || std::env::var_os("XDG_RUNTIME_DIR").is_some_and(|folder| Path::new(&folder).join("bus").exists());
    std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_some() || of_runtime()
}

/// With the system's own program for that. Its plugin would do the same through thirty more crates.
fn open_folder(folder: &Path) -> Result<(), String> {
    let program = if cfg!(windows) {
        "explorer"
    } else if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let failed = |error| format!("{} could not be shown: {program} does not start ({error}).", folder.display());
    let mut child = Command::new(program).arg(folder).spawn().map_err(failed)?;
    // Waited for elsewhere, so that it does not stay behind as a dead process.
    std::thread::spawn(move || child.wait());
    Ok(())
}
