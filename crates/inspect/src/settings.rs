//! Settings that the window shows and changes: where clients connect, who may, which data is open, and whether the window may
//! only look. They change while the broker runs; what only a start can change says so.
//!
//! What is changed is handed to the host to be kept for the next start. A host that keeps nothing says so by giving no keeper.

use crate::actions::{Outcome, act, done, finished, look, refused};
use crate::view::{
    ActionResult, DataChoice, DataKind, DedupWindow, Failure, FailureCode, RefusalCode, SettingChange, SettingsView,
};
use crate::words::{code, plural};
use onceover_broker::{BrokerHandle, BrokerStatus, DataPlace};
use onceover_engine::command::Command;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What was changed in the window, for the next start. An absent member was never changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Kept {
    /// Address for clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<IpAddr>,
    /// Their port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Tokens of which they must know one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_tokens: Option<Vec<String>>,
    /// The data file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_file: Option<PathBuf>,
    /// When a key with TTL ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dedup_window: Option<DedupWindow>,
    /// Whether the window may only look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
}

/// Keeps settings for the next start, or says why that failed.
pub type Keeper = Arc<dyn Fn(&Kept) -> Result<(), String> + Send + Sync>;

/// The settings of a window's door.
#[derive(Clone, Default)]
pub struct Settings(Arc<Inner>);

#[derive(Default)]
struct Inner {
    read_only: AtomicBool,
    /// The host was started so: no window can switch it off.
    locked: bool,
    /// Settings that the start itself gave, by flag or environment: they win over what is kept.
    pinned: Vec<String>,
    kept: Mutex<Kept>,
    keeper: Option<Keeper>,
}

impl Settings {
    /// For a host that keeps nothing. `locked` is a window that may only look, whatever it asks.
    #[must_use]
    pub fn fixed(locked: bool) -> Settings {
        Settings(Arc::new(Inner { read_only: AtomicBool::new(locked), locked, ..Inner::default() }))
    }

    /// For a host that keeps changes. `pinned` names what this start was given by flag or environment.
    #[must_use]
    pub fn keeping(kept: Kept, pinned: Vec<String>, keeper: Keeper) -> Settings {
        let read_only = AtomicBool::new(kept.read_only.unwrap_or(false));
        let inner = Inner { read_only, locked: false, pinned, kept: Mutex::new(kept), keeper: Some(keeper) };
        Settings(Arc::new(inner))
    }

    /// Whether actions are refused.
    #[must_use]
    pub fn read_only(&self) -> bool {
        self.0.read_only.load(Ordering::Relaxed)
    }

    /// What would be kept now.
    #[must_use]
    pub fn kept(&self) -> Kept {
        self.locked().clone()
    }

    /// Keeps a change; the text says why it could not be.
    fn keep(&self, change: impl FnOnce(&mut Kept)) -> Option<String> {
        let keeper = self.0.keeper.as_ref()?;
        let mut kept = self.locked();
        change(&mut kept);
        keeper(&kept).err().map(|why| format!("It could not be kept for the next start: {why}"))
    }

    /// Only ever replaced member by member.
    fn locked(&self) -> MutexGuard<'_, Kept> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All settings as they are.
pub async fn view(broker: &BrokerHandle, settings: &Settings) -> Result<SettingsView, Failure> {
    let in_core = |core: &onceover_broker::CoreView<'_>| {
        let window = crate::overview::dedup_window(core.engine.config().dedup_window);
        (core.revision, core.now.0, core.store_bytes, window)
    };
    let (revision, now, data_bytes, dedup_window) = look(broker, in_core).await?;
    let addr = address(broker);
    let kept = settings.kept();
    Ok(SettingsView {
        revision,
        now,
        host: addr.map(|addr| addr.ip().to_string()).unwrap_or_default(),
        port: addr.map_or(0, |addr| addr.port()),
        loopback: addr.is_none_or(|addr| addr.ip().is_loopback()),
        auth_tokens: broker.auth_tokens(),
        tls: broker.uses_tls(),
        data: match broker.data_place() {
            DataPlace::Folder(_) => DataKind::Folder,
            DataPlace::File(_) => DataKind::File,
            DataPlace::Temporary(_) => DataKind::Temporary,
        },
        data_file: broker.data_file().display().to_string(),
        data_bytes,
        dedup_window,
        dedup_window_next: kept.dedup_window.unwrap_or(dedup_window),
        read_only: settings.read_only(),
        read_only_locked: settings.0.locked,
        kept: settings.0.keeper.is_some(),
        pinned: settings.0.pinned.clone(),
    })
}

/// The address that is or should be open.
fn address(broker: &BrokerHandle) -> Option<SocketAddr> {
    match broker.status() {
        BrokerStatus::Listening { addr } | BrokerStatus::NotListening { wanted: addr, .. } => Some(addr),
        BrokerStatus::Failed { .. } | BrokerStatus::Stopped => None,
    }
}

/// Changes one.
///
/// # Errors
/// The value makes no sense; the text begins with its field.
pub async fn change(broker: &BrokerHandle, settings: &Settings, change: SettingChange) -> Outcome {
    let result = match change {
        SettingChange::Address { host, port } => set_address(broker, settings, &host, port)?,
        SettingChange::Tokens { tokens } => match broker.set_auth_tokens(&tokens) {
            Ok(()) => {
                let message = match tokens.len() as u64 {
                    0 => "Clients need no token now.".to_owned(),
                    1 => "Clients need the token now; those without were closed.".to_owned(),
                    number => {
                        format!("Clients need one of {} now; those without were closed.", plural(number, "token"))
                    }
                };
                ActionResult { detail: settings.keep(|kept| kept.auth_tokens = Some(tokens)), ..done(message) }
            }
            Err(error) => refused(RefusalCode::NotPossible, sentence(&error.to_string())),
        },
        SettingChange::Data { data } => open_data(broker, settings, data).await?,
        SettingChange::Empty => empty(broker).await?,
        SettingChange::ReadOnly { on } => set_read_only(settings, on),
        SettingChange::DedupWindow { window } => {
            if settings.0.keeper.is_none() {
                let text = "Only a start can change this, and this program keeps no settings: use --dedup-window.";
                refused(RefusalCode::NotPossible, text.to_owned())
            } else {
                let failed = settings.keep(|kept| kept.dedup_window = Some(window));
                ActionResult { detail: failed, ..done("It holds from the next start on.".to_owned()) }
            }
        }
    };
    finished(broker, result).await
}

fn bad(message: &str) -> Failure {
    Failure { code: FailureCode::BadRequest, message: message.to_owned() }
}

/// Errors of the broker are parts of sentences where its log shows them.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn set_address(broker: &BrokerHandle, settings: &Settings, host: &str, port: u16) -> Result<ActionResult, Failure> {
    let ip: IpAddr = match host.trim() {
        "localhost" => IpAddr::from([127, 0, 0, 1]),
        other => other.parse().map_err(|_| bad("host: must be an IP address or localhost"))?,
    };
    if port == 0 {
        return Err(bad("port: must be 1 to 65535"));
    }
    Ok(match broker.listen(SocketAddr::new(ip, port)) {
        Ok(bound) => {
            let failed = settings.keep(|kept| (kept.host, kept.port) = (Some(ip), Some(port)));
            let message = format!("Clients can connect at {bound}. Those that are connected stay.");
            ActionResult { detail: failed, ..done(message) }
        }
        Err(error) => refused(RefusalCode::NotPossible, sentence(&error.to_string())),
    })
}

async fn open_data(broker: &BrokerHandle, settings: &Settings, data: DataChoice) -> Result<ActionResult, Failure> {
    let place = match &data {
        DataChoice::File { path } if path.trim().is_empty() => return Err(bad("path: must name a file or a folder")),
        DataChoice::File { path } if !Path::new(path.trim()).is_absolute() => {
            return Err(bad("path: must be a whole path, from the root on"));
        }
        DataChoice::File { path } => {
            let path = PathBuf::from(path.trim());
            if path.is_dir() { DataPlace::Folder(path) } else { DataPlace::File(path) }
        }
        DataChoice::Temporary => DataPlace::temporary(),
    };
    Ok(match broker.open_data(place).await {
        Ok(()) => {
            let file = broker.data_file();
            let message = match &data {
                DataChoice::Temporary => "A temporary workspace is open: its jobs go away with it.".to_owned(),
                DataChoice::File { .. } => {
                    format!("{} is open. Clients connect anew.", code(&file.display().to_string()))
                }
            };
            let failed = match data {
                // The next start goes back to what was open before.
                DataChoice::Temporary => None,
                DataChoice::File { .. } => settings.keep(|kept| kept.data_file = Some(file)),
            };
            ActionResult { detail: failed, ..done(message) }
        }
        Err(error) => {
            refused(RefusalCode::NotPossible, format!("Nothing was changed. {}", sentence(&error.to_string())))
        }
    })
}

/// Removes every queue with everything in it.
async fn empty(broker: &BrokerHandle) -> Result<ActionResult, Failure> {
    let names = |core: &onceover_broker::CoreView<'_>| {
        core.engine.queues().into_iter().map(|queue| queue.name).collect::<Vec<_>>()
    };
    let queues = look(broker, names).await?;
    let number = queues.len() as u64;
    for queue in queues {
        act(broker, Command::Obliterate { queue }).await?;
    }
    Ok(done(format!("The workspace is empty: {} removed with all jobs and keys.", plural(number, "queue"))))
}

fn set_read_only(settings: &Settings, on: bool) -> ActionResult {
    if settings.0.locked {
        let text = "This window was started to look only; only another start changes that.";
        return refused(RefusalCode::NotPossible, text.to_owned());
    }
    settings.0.read_only.store(on, Ordering::Relaxed);
    let failed = settings.keep(|kept| kept.read_only = Some(on));
    let message = if on { "This window only looks now." } else { "This window can act again." };
    ActionResult { detail: failed, ..done(message.to_owned()) }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod settings_tests;
