//! Settings of a broker, and the environment names they have.
//!
//! The names are bunqueue's, where the meaning is the same, so that scripts written for a bunqueue server start this
//! broker instead. Nothing here reads the environment itself: the host passes a lookup, which tests replace.

use crate::limits::{CONNECTIONS_MAX, PARTIAL_FRAME_TIMEOUT};
use crate::tls::{NamedFile, TlsFiles};
use crate::webhook::WebhookSettings;
pub use onceover_engine::dedup::DedupWindow;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Port for clients when nothing else is said.
pub const PORT_DEFAULT: u16 = 6789;

/// The time in which a rate is limited, when nothing else is said.
const RATE_WINDOW_DEFAULT: Duration = Duration::from_secs(60);

/// Name of the data file inside a data folder.
pub const DATA_FILE_NAME: &str = "onceover.db";

/// Settings of a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerConfig {
    /// Where clients connect; loopback unless asked for.
    pub host: IpAddr,
    /// Their port; 0 = any free one.
    pub port: u16,
    /// Where the jobs are kept.
    pub data: DataPlace,
    /// Clients must know one of these; none = everybody may connect.
    pub auth_tokens: Vec<String>,
    /// Clients must speak TLS; none = they speak plainly.
    pub tls: Option<TlsFiles>,
    /// Connections served at the same time; fewer when the system's limit of open files does not allow them.
    pub connections_max: usize,
    /// Bounds of each connection.
    pub connection: ConnSettings,
    /// Whether a deduplication window outlives its owner.
    pub dedup_window: DedupWindow,
    /// Completed jobs kept, of all queues together; the oldest go first.
    pub completed_max: usize,
    /// Dead letters kept per queue.
    pub failed_max: usize,
    /// How webhooks are called.
    pub webhooks: WebhookSettings,
}

/// Bounds of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnSettings {
    /// Silence in the middle of a frame after which it is closed; none = it may last for ever.
    pub partial_frame_timeout: Option<Duration>,
    /// How fast frames may come; none = as fast as they can be taken.
    pub rate_limit: Option<RateLimit>,
}

impl Default for ConnSettings {
    fn default() -> ConnSettings {
        ConnSettings { partial_frame_timeout: Some(PARTIAL_FRAME_TIMEOUT), rate_limit: None }
    }
}

/// How fast frames of one connection may come; one too many is answered with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// This many, at least 1,
    pub frames_max: u32,
    /// in any time of this length.
    pub window: Duration,
}

/// Where the jobs are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataPlace {
    /// `onceover.db` in this folder, which is made when it is not there.
    Folder(PathBuf),
    /// This very file.
    File(PathBuf),
    /// `onceover.db` in this folder, which goes away with the broker, or when it goes on with other data.
    Temporary(PathBuf),
}

impl DataPlace {
    /// A place for data that nobody keeps: a folder of its own among the system's temporary ones.
    #[must_use]
    pub fn temporary() -> DataPlace {
        // The name cannot be guessed, so nobody else can have made the folder.
        let random = RandomState::new().hash_one(std::process::id());
        DataPlace::Temporary(std::env::temp_dir().join(format!("onceover-{random:016x}")))
    }

    /// The broker has let go of it.
    pub(crate) fn let_go(&self) {
        let DataPlace::Temporary(folder) = self else { return };
        if let Err(error) = std::fs::remove_dir_all(folder)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "the temporary folder {} was not removed", folder.display());
        }
    }

    /// The data file.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        match self {
            DataPlace::Folder(folder) | DataPlace::Temporary(folder) => folder.join(DATA_FILE_NAME),
            DataPlace::File(file) => file.clone(),
        }
    }
}

impl BrokerConfig {
    /// The defaults, with the jobs kept at `data`.
    #[must_use]
    pub fn new(data: DataPlace) -> BrokerConfig {
        let engine = onceover_engine::EngineConfig::default();
        BrokerConfig {
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: PORT_DEFAULT,
            data,
            auth_tokens: Vec::new(),
            tls: None,
            connections_max: CONNECTIONS_MAX,
            connection: ConnSettings::default(),
            dedup_window: engine.dedup_window,
            completed_max: engine.completed_max,
            failed_max: engine.failed_max,
            webhooks: WebhookSettings::default(),
        }
    }

    /// The address for clients.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        SocketAddr::new(self.host, self.port)
    }
}

/// What the environment says; absent = nothing was said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `TCP_PORT`.
    pub tcp_port: Option<u16>,
    /// `HTTP_PORT`: the window's door.
    pub http_port: Option<u16>,
    /// `HOST`.
    pub host: Option<IpAddr>,
    /// `BUNQUEUE_DATA_PATH`, else `DATA_PATH`: the data file itself.
    pub data_file: Option<PathBuf>,
    /// `AUTH_TOKENS`, separated by commas.
    pub auth_tokens: Vec<String>,
    /// `MAX_CONNECTIONS`.
    pub connections_max: Option<usize>,
    /// `MAX_COMPLETED_JOBS`.
    pub completed_max: Option<usize>,
    /// `TCP_IDLE_TIMEOUT_MS`, `RATE_LIMIT_MAX_REQUESTS` and `RATE_LIMIT_WINDOW_MS`.
    pub connection: ConnSettings,
    /// `WEBHOOK_STRICT`, `WEBHOOK_MAX_RETRIES` and `WEBHOOK_RETRY_DELAY_MS`.
    pub webhooks: WebhookSettings,
    /// `TLS_CERT_FILE`.
    pub tls_cert: Option<NamedFile>,
    /// `TLS_KEY_FILE`.
    pub tls_key: Option<NamedFile>,
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Not a port.
    #[error("{name} must be a port number from 0 to 65535, not {value:?}.")]
    Port {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// Not an address.
    #[error("{name} must be an IP address or localhost, not {value:?}.")]
    Host {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// Not a number, or not one that makes sense.
    #[error("{name} must be a whole number from {min} to {max}, not {value:?}.")]
    Number {
        /// The setting.
        name: &'static str,
        /// The smallest that can be used.
        min: u32,
        /// The largest.
        max: u32,
        /// Its value.
        value: String,
    },
    /// Neither of the two.
    #[error("{name} must be true or false, not {value:?}.")]
    Flag {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// Neither of the two.
    #[error("{name} must be ttl or until-done, not {value:?}.")]
    DedupWindow {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// Encrypted connections were asked for; going on without them would be worse than not starting.
    #[error("{given} is set, but {missing} is not. TLS needs a certificate and its key, so set both or neither.")]
    HalfTls {
        /// The setting that is there.
        given: &'static str,
        /// The one that is not.
        missing: &'static str,
    },
}

impl Environment {
    /// Reads the names with `lookup`. Empty values count as not set.
    ///
    /// # Errors
    /// A value that cannot be used.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Environment, ConfigError> {
        let get = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let file = |setting| get(setting).map(|path| NamedFile { setting, path: PathBuf::from(path) });
        let port = |name| get(name).map(|value| parse_port(name, &value)).transpose();
        let tokens = get("AUTH_TOKENS").unwrap_or_default();
        Ok(Environment {
            tcp_port: port("TCP_PORT")?,
            http_port: port("HTTP_PORT")?,
            host: get("HOST").map(|value| parse_host("HOST", &value)).transpose()?,
            data_file: get("BUNQUEUE_DATA_PATH").or_else(|| get("DATA_PATH")).map(PathBuf::from),
            auth_tokens: tokens
                .split(',')
                .map(str::trim)
                .filter(|token| !token.is_empty())
                .map(str::to_owned)
                .collect(),
            connections_max: get("MAX_CONNECTIONS")
                .map(|value| parse_connections_max("MAX_CONNECTIONS", &value))
                .transpose()?,
            completed_max: get("MAX_COMPLETED_JOBS")
                .map(|value| parse_completed_max("MAX_COMPLETED_JOBS", &value))
                .transpose()?,
            connection: conn_settings(&get)?,
            webhooks: webhook_settings(&get)?,
            tls_cert: file("TLS_CERT_FILE"),
            tls_key: file("TLS_KEY_FILE"),
        })
    }
}

/// The names are bunqueue's, but that no rate is limited unless it is asked for.
fn conn_settings(get: &impl Fn(&str) -> Option<String>) -> Result<ConnSettings, ConfigError> {
    let number = |name, min| get(name).map(|value| parse_number(name, &value, (min, u32::MAX))).transpose();
    let millis = |number: u32| Duration::from_millis(number.into());
    let window = number("RATE_LIMIT_WINDOW_MS", 1)?.map_or(RATE_WINDOW_DEFAULT, millis);
    let rate_limit = number("RATE_LIMIT_MAX_REQUESTS", 0)?.filter(|frames_max| *frames_max > 0);
    Ok(ConnSettings {
        partial_frame_timeout: match number("TCP_IDLE_TIMEOUT_MS", 0)? {
            None => ConnSettings::default().partial_frame_timeout,
            Some(0) => None,
            Some(number) => Some(millis(number)),
        },
        rate_limit: rate_limit.map(|frames_max| RateLimit { frames_max, window }),
    })
}

/// The names are bunqueue's but for the first; its MAX_RETRIES counts the first try too.
fn webhook_settings(get: &impl Fn(&str) -> Option<String>) -> Result<WebhookSettings, ConfigError> {
    let number = |name, bounds| get(name).map(|value| parse_number(name, &value, bounds)).transpose();
    let default = WebhookSettings::default();
    let strict = get("WEBHOOK_STRICT").map(|value| parse_flag("WEBHOOK_STRICT", &value)).transpose()?;
    let delay = number("WEBHOOK_RETRY_DELAY_MS", (0, 3_600_000))?;
    Ok(WebhookSettings {
        strict: strict.unwrap_or(default.strict),
        tries: number("WEBHOOK_MAX_RETRIES", (1, 20))?.unwrap_or(default.tries),
        retry_delay: delay.map_or(default.retry_delay, |millis| Duration::from_millis(millis.into())),
    })
}

/// `true` or `false`.
///
/// # Errors
/// Anything else.
pub fn parse_flag(name: &'static str, value: &str) -> Result<bool, ConfigError> {
    value.parse().map_err(|_| ConfigError::Flag { name, value: value.to_owned() })
}

fn parse_number(name: &'static str, value: &str, (min, max): (u32, u32)) -> Result<u32, ConfigError> {
    let number = value.parse().ok().filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| ConfigError::Number { name, min, max, value: value.to_owned() })
}

/// How many connections may be served at the same time.
///
/// # Errors
/// Not a number from 1 to 1,000,000.
pub fn parse_connections_max(name: &'static str, value: &str) -> Result<usize, ConfigError> {
    Ok(parse_number(name, value, (1, 1_000_000))? as usize)
}

/// How many completed jobs are kept.
///
/// # Errors
/// Not a number from 0 to 100,000,000.
pub fn parse_completed_max(name: &'static str, value: &str) -> Result<usize, ConfigError> {
    Ok(parse_number(name, value, (0, 100_000_000))? as usize)
}

/// A port number, 0 = any free one.
///
/// # Errors
/// Not a number from 0 to 65535.
pub fn parse_port(name: &'static str, value: &str) -> Result<u16, ConfigError> {
    value.parse().map_err(|_| ConfigError::Port { name, value: value.to_owned() })
}

/// An IP address, or `localhost` for 127.0.0.1.
///
/// # Errors
/// Anything else: names are not looked up.
pub fn parse_host(name: &'static str, value: &str) -> Result<IpAddr, ConfigError> {
    if value == "localhost" {
        return Ok(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    value.parse().map_err(|_| ConfigError::Host { name, value: value.to_owned() })
}

/// `ttl` or `until-done`.
///
/// # Errors
/// Anything else.
pub fn parse_dedup_window(name: &'static str, value: &str) -> Result<DedupWindow, ConfigError> {
    match value {
        "ttl" => Ok(DedupWindow::Ttl),
        "until-done" => Ok(DedupWindow::UntilDone),
        _ => Err(ConfigError::DedupWindow { name, value: value.to_owned() }),
    }
}

/// Both files, or neither. A flag has won over its environment name before.
///
/// # Errors
/// One without the other.
pub fn tls_files(cert: Option<NamedFile>, key: Option<NamedFile>) -> Result<Option<TlsFiles>, ConfigError> {
    let half = |given: NamedFile, missing| Err(ConfigError::HalfTls { given: given.setting, missing });
    let of_flags = |file: &NamedFile| file.setting.starts_with("--");
    match (cert, key) {
        (None, None) => Ok(None),
        (Some(cert), Some(key)) => Ok(Some(TlsFiles { cert, key })),
        (Some(cert), None) => {
            let missing = if of_flags(&cert) { "--tls-key" } else { "TLS_KEY_FILE" };
            half(cert, missing)
        }
        (None, Some(key)) => {
            let missing = if of_flags(&key) { "--tls-cert" } else { "TLS_CERT_FILE" };
            half(key, missing)
        }
    }
}

/// The folder where programs of this system keep their data, with our name in it. None when the account has no home.
#[must_use]
pub fn default_data_folder(lookup: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let absolute = |name: &str| lookup(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        absolute("HOME").map(|home| home.join("Library/Application Support"))
    } else {
        absolute("XDG_DATA_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
    };
    folder.map(|folder| folder.join(Path::new("onceover")))
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod config_tests;
