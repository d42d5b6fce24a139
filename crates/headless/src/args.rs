//! The command line, together with the environment: what `onceoverd` is to do.
//!
//! Flags win over the environment. Parsed by hand: a dozen flags do not pay for a library.

use crate::rest::Cors;
use onceover_broker::config::{
    BrokerConfig, ConfigError, DataPlace, Environment, default_data_folder, parse_completed_max, parse_connections_max,
    parse_dedup_window, parse_host, parse_port, tls_files,
};
use onceover_broker::tls::NamedFile;
use std::path::PathBuf;

/// Port of the window's door when nothing else is said.
pub const UI_PORT_DEFAULT: u16 = 6790;

/// Shown by `--help`.
pub const HELP: &str = "\
onceoverd - the Onceover broker without a desktop window

Usage: onceoverd [FLAGS]

  --host ADDR          Address for clients [127.0.0.1]. Any other than loopback needs AUTH_TOKENS.
  --port PORT          Port for clients [6789]; 0 = any free one.
  --ui-port PORT       Port of the window in a browser, on 127.0.0.1 only [6790, else any free one]; 0 = any free one.
  --no-ui              No window in a browser.
  --read-only          The window in a browser may look, but do nothing.
  --data FOLDER        Folder that holds the jobs, in the file onceover.db [the account's data folder].
  --tls-cert FILE      Clients must speak TLS: the certificate, and those that vouch for it, in PEM form.
  --tls-key FILE       Its private key in PEM form.
  --max-connections N  Clients served at the same time [10000]; fewer when the limit of open files is lower.
  --max-completed-jobs N
                       Completed jobs kept, of all queues together [100000]; the oldest go first.
  --dedup-window WHEN  ttl: a deduplication window lasts until its end. until-done: it ends with its job. [ttl]
  --help, --version

Environment (flags win):
  TCP_PORT, HOST       As --port and --host.
  HTTP_PORT            As --ui-port.
  BUNQUEUE_DATA_PATH   The data file itself; DATA_PATH is read when it is not set.
  AUTH_TOKENS          Clients must know one of these; separated by commas.
  TLS_CERT_FILE, TLS_KEY_FILE
                       As --tls-cert and --tls-key.
  MAX_CONNECTIONS      As --max-connections.
  MAX_COMPLETED_JOBS   As --max-completed-jobs.
  TCP_IDLE_TIMEOUT_MS  Silence in the middle of a frame that ends a connection [60000]; 0 = none does.
  RATE_LIMIT_MAX_REQUESTS, RATE_LIMIT_WINDOW_MS
                       Frames a connection may send in a time [not limited; 60000].
  WEBHOOK_MAX_RETRIES, WEBHOOK_RETRY_DELAY_MS
                       How often a webhook is called, and the pause before the second time [3; 1000].
  WEBHOOK_STRICT       true: webhooks may not lead to this machine or its network [false].
  CORS_ALLOW_ORIGIN    Other pages that may use the HTTP interface, separated by commas; * = all [none].
  RUST_LOG             What is logged to stderr, such as debug; info when not set.

The exit code is 0 after an orderly stop, 1 after a failure, 2 for wrong usage, 3 when a port is in use, 4 when the data
folder is in use by another broker, 5 when the data cannot be used.
";

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Print the help.
    Help,
    /// Print the version.
    Version,
    /// Run a broker.
    Run(Box<Settings>),
}

/// How to run it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The broker's.
    pub broker: BrokerConfig,
    /// The window's door.
    pub ui: Ui,
    /// Whether the window may only look.
    pub read_only: bool,
    /// Other pages that may use the HTTP interface.
    pub cors: Cors,
}

/// The window's door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ui {
    /// None.
    Off,
    /// This port if it is free, else any.
    Prefer(u16),
    /// This port and no other; 0 = any.
    Exactly(u16),
}

/// The command line or the environment cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    /// Not a flag of ours.
    #[error("unknown argument {0:?}.")]
    Unknown(String),
    /// A flag without its value.
    #[error("{0} needs a value.")]
    NoValue(&'static str),
    /// A value that a flag without one does not take.
    #[error("{0} takes no value.")]
    NeedlessValue(&'static str),
    /// Every page could use a broker that asks for no token.
    #[error("CORS_ALLOW_ORIGIN is *, so AUTH_TOKENS must be set; or name the origins.")]
    OpenToAll,
    /// A value of no use.
    #[error(transparent)]
    Value(#[from] ConfigError),
    /// No place for the jobs.
    #[error("this account has no home folder, so there is no place for the jobs. Name one with --data FOLDER.")]
    NoDataFolder,
}

#[derive(Default)]
struct Flags {
    host: Option<std::net::IpAddr>,
    port: Option<u16>,
    ui_port: Option<u16>,
    no_ui: bool,
    read_only: bool,
    data: Option<PathBuf>,
    connections_max: Option<usize>,
    completed_max: Option<usize>,
    tls_cert: Option<NamedFile>,
    tls_key: Option<NamedFile>,
    dedup_window: Option<onceover_broker::config::DedupWindow>,
}

const VALUED: [&str; 9] = [
    "--host",
    "--port",
    "--ui-port",
    "--data",
    "--tls-cert",
    "--tls-key",
    "--max-connections",
    "--max-completed-jobs",
    "--dedup-window",
];

/// Reads the arguments behind the program's name, and the environment through `lookup`.
///
/// # Errors
/// See [`UsageError`].
pub fn parse(
    args: impl IntoIterator<Item = String>,
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<Action, UsageError> {
    let mut flags = Flags::default();
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let (name, inline) = match arg.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (arg.as_str(), None),
        };
        if let Some(flag) = VALUED.into_iter().find(|flag| *flag == name) {
            let value = inline.or_else(|| args.next()).ok_or(UsageError::NoValue(flag))?;
            flags.set(flag, &value)?;
            continue;
        }
        let plain =
            ["--no-ui", "--read-only", "--help", "-h", "--version", "-V"].into_iter().find(|flag| *flag == name);
        match (plain, inline) {
            (Some(flag), Some(_)) => return Err(UsageError::NeedlessValue(flag)),
            (Some("--help" | "-h"), None) => return Ok(Action::Help),
            (Some("--version" | "-V"), None) => return Ok(Action::Version),
            (Some("--read-only"), None) => flags.read_only = true,
            (Some(_), None) => flags.no_ui = true,
            (None, _) => return Err(UsageError::Unknown(arg)),
        }
    }
    flags.settings(&lookup).map(|settings| Action::Run(Box::new(settings)))
}

impl Flags {
    fn set(&mut self, flag: &'static str, value: &str) -> Result<(), UsageError> {
        match flag {
            "--host" => self.host = Some(parse_host(flag, value)?),
            "--port" => self.port = Some(parse_port(flag, value)?),
            "--ui-port" => self.ui_port = Some(parse_port(flag, value)?),
            "--data" => self.data = Some(PathBuf::from(value)),
            "--tls-cert" => self.tls_cert = Some(NamedFile { setting: flag, path: PathBuf::from(value) }),
            "--tls-key" => self.tls_key = Some(NamedFile { setting: flag, path: PathBuf::from(value) }),
            "--max-connections" => self.connections_max = Some(parse_connections_max(flag, value)?),
            "--max-completed-jobs" => self.completed_max = Some(parse_completed_max(flag, value)?),
            _ => self.dedup_window = Some(parse_dedup_window(flag, value)?),
        }
        Ok(())
    }

    fn settings(self, lookup: &impl Fn(&str) -> Option<String>) -> Result<Settings, UsageError> {
        let environment = Environment::read(lookup)?;
        let data = match (self.data, environment.data_file) {
            (Some(folder), _) => DataPlace::Folder(folder),
            (None, Some(file)) => DataPlace::File(file),
            (None, None) => DataPlace::Folder(default_data_folder(lookup).ok_or(UsageError::NoDataFolder)?),
        };
        let mut broker = BrokerConfig::new(data);
        broker.host = self.host.or(environment.host).unwrap_or(broker.host);
        broker.port = self.port.or(environment.tcp_port).unwrap_or(broker.port);
        broker.auth_tokens = environment.auth_tokens;
        broker.tls = tls_files(self.tls_cert.or(environment.tls_cert), self.tls_key.or(environment.tls_key))?;
        let connections_max = self.connections_max.or(environment.connections_max);
        broker.connections_max = connections_max.unwrap_or(broker.connections_max);
        let completed_max = self.completed_max.or(environment.completed_max);
        broker.completed_max = completed_max.unwrap_or(broker.completed_max);
        broker.connection = environment.connection;
        broker.dedup_window = self.dedup_window.unwrap_or(broker.dedup_window);
        let ui = match self.ui_port.or(environment.http_port) {
            _ if self.no_ui => Ui::Off,
            Some(port) => Ui::Exactly(port),
            None => Ui::Prefer(UI_PORT_DEFAULT),
        };
        broker.webhooks = environment.webhooks;
        let cors = cors(lookup, broker.auth_tokens.is_empty())?;
        Ok(Settings { broker, ui, read_only: self.read_only, cors })
    }
}

/// `CORS_ALLOW_ORIGIN`: origins with commas between them, or `*`, which without tokens would open the broker to every page
/// that anybody opens on this machine.
fn cors(lookup: &impl Fn(&str) -> Option<String>, is_open: bool) -> Result<Cors, UsageError> {
    let given = lookup("CORS_ALLOW_ORIGIN").unwrap_or_default();
    match given.trim() {
        "*" if is_open => Err(UsageError::OpenToAll),
        "*" => Ok(Cors::Any),
        list => {
            let origins = list.split(',').map(|origin| origin.trim().trim_end_matches('/'));
            Ok(Cors::Origins(origins.filter(|origin| !origin.is_empty()).map(str::to_owned).collect()))
        }
    }
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod args_tests;
