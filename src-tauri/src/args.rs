//! The command line and the environment: where the window's broker keeps its jobs and serves its clients. The names and
//! defaults are those of `onceoverd`, so that both open the same data.

use onceover_broker::config::{
    BrokerConfig, ConfigError, DataPlace, Environment, default_data_folder, parse_completed_max, parse_connections_max,
    parse_dedup_window, parse_host, parse_port, tls_files,
};
use onceover_broker::tls::NamedFile;
use std::path::PathBuf;

/// Shown by `--help`.
pub const HELP: &str = "\
onceover - a job-queue broker in a window that shows what became of every add

Usage: onceover [FLAGS]

  --host ADDR          Address for clients [127.0.0.1]. Any other than loopback needs AUTH_TOKENS.
  --port PORT          Port for clients [6789]; 0 = any free one.
  --data FOLDER        Folder that holds the jobs, in the file onceover.db [the account's data folder].
  --tls-cert FILE      Clients must speak TLS: the certificate, and those that vouch for it, in PEM form.
  --tls-key FILE       Its private key in PEM form.
  --max-connections N  Clients served at the same time [10000]; fewer when the limit of open files is lower.
  --max-completed-jobs N
                       Completed jobs kept, of all queues together [100000]; the oldest go first.
  --dedup-window WHEN  ttl: a deduplication window lasts until its end. until-done: it ends with its job. [ttl]
  --help, --version

What was changed in the window's settings is kept in settings.json beside the data; flags and the environment win over it.

Environment (flags win): TCP_PORT, HOST, BUNQUEUE_DATA_PATH or DATA_PATH (the data file itself), AUTH_TOKENS,
TLS_CERT_FILE and TLS_KEY_FILE (as --tls-cert and --tls-key), MAX_CONNECTIONS, MAX_COMPLETED_JOBS,
TCP_IDLE_TIMEOUT_MS, RATE_LIMIT_MAX_REQUESTS, RATE_LIMIT_WINDOW_MS (as for onceoverd), RUST_LOG.

The exit code is 0 after the window was closed, 1 after a failure, 2 for wrong usage, 4 when the data folder is in use.
";

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Print the help.
    Help,
    /// Print the version.
    Version,
    /// Open the window on this broker.
    Run(Box<Start>),
}

/// What a start was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The broker's settings.
    pub config: BrokerConfig,
    /// Those of them that a flag or the environment gave, by the names that the window's settings have.
    pub pinned: Vec<&'static str>,
}

/// The command line or the environment cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsageError {
    /// Not a flag of ours.
    Unknown(String),
    /// A flag without its value.
    NoValue(String),
    /// A value of no use.
    Value(ConfigError),
    /// No place for the jobs.
    NoDataFolder,
}

impl std::fmt::Display for UsageError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            UsageError::Unknown(arg) => write!(out, "unknown argument {arg:?}."),
            UsageError::NoValue(flag) => write!(out, "{flag} needs a value."),
            UsageError::Value(error) => error.fmt(out),
            UsageError::NoDataFolder => out.write_str(
                "this account has no home folder, so there is no place for the jobs. Name one with --data FOLDER.",
            ),
        }
    }
}

impl From<ConfigError> for UsageError {
    fn from(error: ConfigError) -> UsageError {
        UsageError::Value(error)
    }
}

/// Reads the arguments behind the program's name, and the environment through `lookup`.
///
/// # Errors
/// See [`UsageError`].
pub fn parse(
    args: impl IntoIterator<Item = String>,
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<Action, UsageError> {
    let environment = Environment::read(&lookup)?;
    let (mut host, mut port, mut folder, mut window) = (environment.host, environment.tcp_port, None, None);
    let (mut tls_cert, mut tls_key) = (environment.tls_cert, environment.tls_key);
    let (mut connections_max, mut completed_max) = (environment.connections_max, environment.completed_max);
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let (name, inline) = match arg.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (arg.as_str(), None),
        };
        let mut value = || inline.clone().or_else(|| args.next()).ok_or_else(|| UsageError::NoValue(name.to_owned()));
        match name {
            "--help" | "-h" => return Ok(Action::Help),
            "--version" | "-V" => return Ok(Action::Version),
            "--host" => host = Some(parse_host("--host", &value()?)?),
            "--port" => port = Some(parse_port("--port", &value()?)?),
            "--data" => folder = Some(PathBuf::from(value()?)),
            "--tls-cert" => tls_cert = Some(NamedFile { setting: "--tls-cert", path: PathBuf::from(value()?) }),
            "--tls-key" => tls_key = Some(NamedFile { setting: "--tls-key", path: PathBuf::from(value()?) }),
            "--max-connections" => connections_max = Some(parse_connections_max("--max-connections", &value()?)?),
            "--max-completed-jobs" => completed_max = Some(parse_completed_max("--max-completed-jobs", &value()?)?),
            "--dedup-window" => window = Some(parse_dedup_window("--dedup-window", &value()?)?),
            _ => return Err(UsageError::Unknown(arg)),
        }
    }
    let given = [
        ("host", host.is_some()),
        ("port", port.is_some()),
        ("authTokens", !environment.auth_tokens.is_empty()),
        ("dataFile", folder.is_some() || environment.data_file.is_some()),
        ("dedupWindow", window.is_some()),
    ];
    let pinned = given.into_iter().filter_map(|(name, given)| given.then_some(name)).collect();
    let data = match (folder, environment.data_file) {
        (Some(folder), _) => DataPlace::Folder(folder),
        (None, Some(file)) => DataPlace::File(file),
        (None, None) => DataPlace::Folder(default_data_folder(&lookup).ok_or(UsageError::NoDataFolder)?),
    };
    let defaults = BrokerConfig::new(data);
    let config = BrokerConfig {
        host: host.unwrap_or(defaults.host),
        port: port.unwrap_or(defaults.port),
        auth_tokens: environment.auth_tokens,
        connections_max: connections_max.unwrap_or(defaults.connections_max),
        completed_max: completed_max.unwrap_or(defaults.completed_max),
        connection: environment.connection,
        tls: tls_files(tls_cert, tls_key)?,
        dedup_window: window.unwrap_or(defaults.dedup_window),
        ..defaults
    };
    Ok(Action::Run(Box::new(Start { config, pinned })))
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod args_tests;
