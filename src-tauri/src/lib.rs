//! The desktop shell: it opens the broker, opens the window, carries requests between the two, and stops the broker at exit.
//!
//! No rule of the broker and no text about a decision stands here: the window asks `onceover_inspect`, through the two
//! commands of [`rpc`]. The window opens also when the broker cannot be opened or its port is taken, and says so.

mod args;
mod desk;
mod display;
mod kept;
mod log_tail;
mod rpc;
mod shell;

use crate::args::{Action, HELP, Start};
use crate::desk::{Desk, OpenError};
use crate::log_tail::LogTail;
use onceover_broker::BrokerConfig;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::ExitCode;
use tauri::webview::WebviewWindowBuilder;
use tauri::{AppHandle, Manager, RunEvent, Runtime, Url};
use tauri_plugin_window_state::StateFlags;
use tracing_subscriber::EnvFilter;

const FAILURE: u8 = 1;
const USAGE: u8 = 2;
const DATA_IN_USE: u8 = 4;

/// The main window's label, as in `tauri.conf.json` and in the capabilities.
const MAIN: &str = "main";

/// Runs the program until its window is closed.
pub fn run() -> ExitCode {
    match args::parse(std::env::args().skip(1), |name| std::env::var(name).ok()) {
        Ok(Action::Help) => print(HELP.trim_end()),
        Ok(Action::Version) => print(concat!("onceover ", env!("CARGO_PKG_VERSION"))),
        Ok(Action::Run(start)) => {
            display::prepare();
            open(*start, start_log())
        }
        Err(error) => fail(&format!("{error} See --help."), USAGE),
    }
}

fn open(start: Start, log: LogTail) -> ExitCode {
    let single = single_instance(&start.config);
    let place = tauri_plugin_window_state::Builder::default()
        .with_state_flags(StateFlags::SIZE | StateFlags::POSITION | StateFlags::MAXIMIZED)
        .build();
    let app = rpc::with_commands(tauri::Builder::default())
        // First of all: a second start must end before it touches the data.
        .plugin(single)
        .plugin(place)
        .on_window_event(shell::on_window_event)
        // Runs when the event loop does, that is after the data was opened below.
        .setup(|app| Ok(open_window(app.handle())?))
        .build(tauri::generate_context!());
    let app = match app {
        Ok(app) => app,
        Err(error) => return fail(&format!("cannot start the window: {error}. Is there a display?"), FAILURE),
    };
    // The data is opened here and not before: by now a second start has handed over to the first and ended.
    let desk = match Desk::open(start, log) {
        Ok(desk) => desk,
        Err(OpenError::InUse(error)) => {
            tracing::error!("{error}");
            return fail("Onceover is already running on this data folder", DATA_IN_USE);
        }
    };
    app.manage(desk);
    app.run(|app, event| {
        if let RunEvent::Exit = event {
            app.state::<Desk>().stop();
        }
    });
    ExitCode::SUCCESS
}

/// The window stands in `tauri.conf.json`, but is made only when there is something that can answer it.
fn open_window(app: &AppHandle) -> tauri::Result<()> {
    let config = app.config().app.windows.iter().find(|window| window.label == MAIN);
    let config = config.expect("tauri.conf.json describes the main window");
    let dev_url = app.config().build.dev_url.clone().filter(|_| tauri::is_dev());
    let window = WebviewWindowBuilder::from_config(app, config)?;
    // Not to be seen before the page has its colours: whichever the theme is, no other one flashes up first.
    let window = window.visible(false).on_navigation(move |url| is_ours(url, dev_url.as_ref())).build()?;
    shell::show_late(window);
    Ok(())
}

/// The page never leaves what is built in: links to other places do nothing.
fn is_ours(url: &Url, dev_url: Option<&Url>) -> bool {
    url.scheme() == "tauri"
        || url.host_str() == Some("tauri.localhost")
        || dev_url.is_some_and(|dev| dev.origin() == url.origin())
}

/// One window per data file: a second start shows the first window and ends. Where there is no session bus nobody can be
/// found, and the lock of the data file does it.
fn single_instance(config: &BrokerConfig) -> tauri::plugin::TauriPlugin<tauri::Wry> {
    let file = config.data.file();
    let mut hasher = DefaultHasher::new();
    std::path::absolute(&file).unwrap_or(file).hash(&mut hasher);
    tauri_plugin_single_instance::Builder::new()
        .dbus_id(format!("dev.onceover.desktop.d{:016x}", hasher.finish()))
        .callback(|app, _, _| show(app))
        .build()
}

fn show<R: Runtime>(app: &AppHandle<R>) {
    let Some(window) = app.get_webview_window(MAIN) else { return };
    // Whatever of it a desktop refuses, the rest still helps to find the window.
    let results = [window.unminimize(), window.show(), window.set_focus()];
    for error in results.into_iter().filter_map(Result::err) {
        tracing::warn!("the window could not be shown: {error}");
    }
}

fn start_log() -> LogTail {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let tail = LogTail::default();
    let writer = tail.clone();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(move || writer.writer()).with_ansi(false).init();
    // A fault's place and reason belong into the report that the window offers.
    std::panic::set_hook(Box::new(|fault| tracing::error!("{fault}")));
    tail
}

fn print(text: &str) -> ExitCode {
    println!("{text}");
    ExitCode::SUCCESS
}

fn fail(text: &str, code: u8) -> ExitCode {
    eprintln!("onceover: {text}");
    ExitCode::from(code)
}
