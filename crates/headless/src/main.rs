//! `onceoverd`: the broker without a desktop window, for servers, containers and tests.
//!
//! Prints two lines when it is ready: where clients connect, and the link to the window in a browser. Everything else it
//! has to say goes to stderr. SIGINT and SIGTERM stop it in order.

mod args;
mod assets;
mod guard;
mod http;
mod page_token;
mod rest;
mod rest_events;
mod rest_routes;
mod rest_views;

use crate::args::{Action, HELP, Settings, Ui};
use crate::guard::Guard;
use crate::http::Door;
use crate::rest::{Cors, Rest};
use onceover_broker::{Broker, BrokerHandle, BrokerStatus, ListenError, StartError};
use onceover_inspect::{Inspector, Settings as WindowSettings};
use std::io::{self, IsTerminal, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

const FAILURE: u8 = 1;
const USAGE: u8 = 2;
const PORT_IN_USE: u8 = 3;
const DATA_IN_USE: u8 = 4;
const DATA_NOT_USABLE: u8 = 5;

fn main() -> ExitCode {
    match args::parse(std::env::args().skip(1), |name| std::env::var(name).ok()) {
        Ok(Action::Help) => say(HELP.trim_end()),
        Ok(Action::Version) => say(concat!("onceoverd ", env!("CARGO_PKG_VERSION"))),
        Ok(Action::Run(settings)) => {
            start_log();
            if let Err(failure) = run(*settings) {
                return fail(&failure.to_string(), failure.exit_code());
            }
        }
        Err(error) => return fail(&format!("{error} See --help."), USAGE),
    }
    ExitCode::SUCCESS
}

/// Why the program ends with an error.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Start(StartError),
    #[error("{0} Name it with --port.")]
    Port(ListenError),
    #[error("the data is in use: {0} Name one with --data.")]
    DataInUse(StartError),
    #[error(
        "the window's port {port} is in use by another program. Stop that program, or choose another port with --ui-port."
    )]
    UiPort { port: u16 },
    #[error("{message} {remedy}")]
    Broker { message: String, remedy: String },
    #[error("the operating system gives no random bytes: {0}")]
    Random(#[from] getrandom::Error),
    #[error("the operating system refuses: {0}")]
    System(#[from] io::Error),
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Failure {
        match error {
            StartError::Listen(error @ ListenError::InUse { .. }) => Failure::Port(error),
            StartError::DataInUse(_) => Failure::DataInUse(error),
            StartError::Listen(_)
            | StartError::Data(_)
            | StartError::Rows(_)
            | StartError::Tls(_)
            | StartError::System(_) => Failure::Start(error),
        }
    }
}

impl Failure {
    fn exit_code(&self) -> u8 {
        match self {
            Failure::Port(_) | Failure::UiPort { .. } => PORT_IN_USE,
            Failure::DataInUse(_) => DATA_IN_USE,
            Failure::Start(StartError::Data(_) | StartError::Rows(_)) => DATA_NOT_USABLE,
            Failure::Start(_) | Failure::Broker { .. } | Failure::Random(_) | Failure::System(_) => FAILURE,
        }
    }
}

/// The window's door and the signals run here; the broker brings its own threads.
fn run(settings: Settings) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(settings))
}

async fn serve(settings: Settings) -> Result<(), Failure> {
    // First of all, so that a signal that comes early is not missed.
    let stop = StopSignals::new()?;
    if !settings.broker.host.is_loopback() && settings.broker.auth_tokens.is_empty() {
        // Said before the data is touched; the broker itself would refuse as well.
        return Err(StartError::Listen(ListenError::NeedsToken { addr: settings.broker.addr() }).into());
    }
    // Before the broker: a port that is not to be had must not cost a start of the broker.
    let ui = bind_ui(settings.ui).await?;
    let broker = Broker::start(settings.broker)?;
    let handle = broker.handle();
    if let BrokerStatus::Listening { addr } = handle.status() {
        say(&format!("onceoverd listening on {addr}"));
    }
    if let Some(listener) = ui {
        open_ui(listener, handle.clone(), settings.read_only, settings.cors)?;
    }
    let ended = tokio::select! {
        () = stop.received() => Ok(()),
        failure = failed(handle) => Err(failure),
    };
    tracing::info!("stopping");
    broker.stop();
    ended
}

async fn bind_ui(ui: Ui) -> Result<Option<TcpListener>, Failure> {
    let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let (port, exactly) = match ui {
        Ui::Off => return Ok(None),
        Ui::Prefer(port) => (port, false),
        Ui::Exactly(port) => (port, true),
    };
    match TcpListener::bind(local(port)).await {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && exactly => Err(Failure::UiPort { port }),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            tracing::warn!("port {port} for the window is taken by another program; a free one is used");
            Ok(Some(TcpListener::bind(local(0)).await?))
        }
        Err(error) => Err(error.into()),
    }
}

fn open_ui(listener: TcpListener, broker: BrokerHandle, read_only: bool, cors: Cors) -> Result<(), Failure> {
    let addr = listener.local_addr()?;
    let guard = Arc::new(Guard::new(addr.port(), page_token::of(&broker.data_file())?)?);
    let link = format!("window at http://{addr}/#token={}", guard.token());
    let inspector = Inspector::new(broker.clone()).with_settings(WindowSettings::fixed(read_only));
    let rest = Arc::new(Rest::new(Arc::clone(&guard), broker.clone(), cors, read_only));
    let door = Door { guard, inspector, broker };
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, http::router(Arc::new(door), rest)).await {
            tracing::error!(%error, "the window's door has closed");
        }
    });
    say(&link);
    Ok(())
}

/// Waits until the broker has ended by a fault.
async fn failed(broker: BrokerHandle) -> Failure {
    let mut changes = broker.changes();
    loop {
        if let BrokerStatus::Failed { message, remedy } = broker.status() {
            return Failure::Broker { message, remedy };
        }
        if changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// The ways in which the system asks a program to end.
#[cfg(unix)]
struct StopSignals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    /// Only listened to so that it does not end the program: a write past the limit of file sizes then fails, and is
    /// answered as a full disk is.
    _file_too_large: tokio::signal::unix::Signal,
}

/// The same number on Linux and macOS; tokio has no name for it.
#[cfg(unix)]
const SIGXFSZ: i32 = 25;

#[cfg(unix)]
impl StopSignals {
    fn new() -> io::Result<StopSignals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(StopSignals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            _file_too_large: signal(SignalKind::from_raw(SIGXFSZ))?,
        })
    }

    async fn received(mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct StopSignals;

#[cfg(not(unix))]
impl StopSignals {
    fn new() -> io::Result<StopSignals> {
        Ok(StopSignals)
    }

    async fn received(self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

fn start_log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        .init();
}

/// To stdout; whoever reads it may have gone, which is no reason to end.
fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// To stderr, for the same reason without a panic.
fn fail(text: &str, code: u8) -> ExitCode {
    let _ = writeln!(io::stderr(), "onceoverd: {text}");
    ExitCode::from(code)
}
