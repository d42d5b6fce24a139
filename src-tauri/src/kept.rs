//! Settings that were changed in the window, in the file `settings.json` beside the data the program was started with. What
//! the start itself was given, by flag or environment, wins over them.

use crate::args::Start;
use onceover_broker::config::DedupWindow;
use onceover_broker::{BrokerConfig, DataPlace};
use onceover_inspect::view::DedupWindow as KeptWindow;
use onceover_inspect::{Keeper, Kept};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FILE_NAME: &str = "settings.json";

/// Where the settings of a start are kept.
pub fn place(config: &BrokerConfig) -> PathBuf {
    let file = config.data.file();
    file.parent().unwrap_or_else(|| Path::new(".")).join(FILE_NAME)
}

/// What is kept; nothing when nothing ever was.
///
/// # Errors
/// For people: which file, what is wrong with it, and what to do.
pub fn load(place: &Path) -> Result<Kept, String> {
    let text = match std::fs::read_to_string(place) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kept::default()),
        Err(error) => return Err(format!("The settings in {} cannot be read: {error}.", place.display())),
    };
    serde_json::from_str(&text).map_err(|error| {
        format!("The settings in {} cannot be used: {error}. Correct that file, or remove it.", place.display())
    })
}

/// Writes them there.
pub fn keeper(place: PathBuf) -> Keeper {
    Arc::new(move |kept| save(&place, kept).map_err(|error| format!("{}: {error}.", place.display())))
}

/// As a whole or not at all, and for this account only: tokens are secrets.
fn save(place: &Path, kept: &Kept) -> io::Result<()> {
    let draft = place.with_extension("json.new");
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&draft)?;
    file.write_all(&serde_json::to_vec_pretty(kept)?)?;
    file.sync_all()?;
    std::fs::rename(&draft, place)
}

/// How the broker is to run: as started, with what was changed since.
pub fn merged(start: &Start, kept: &Kept) -> BrokerConfig {
    let free = |name: &str| !start.pinned.contains(&name);
    let mut config = start.config.clone();
    if let Some(host) = kept.host.filter(|_| free("host")) {
        config.host = host;
    }
    if let Some(port) = kept.port.filter(|_| free("port")) {
        config.port = port;
    }
    if let Some(tokens) = kept.auth_tokens.clone().filter(|_| free("authTokens")) {
        config.auth_tokens = tokens;
    }
    if let Some(file) = kept.data_file.clone().filter(|_| free("dataFile")) {
        config.data = DataPlace::File(file);
    }
    if let Some(window) = kept.dedup_window.filter(|_| free("dedupWindow")) {
        config.dedup_window = match window {
            KeptWindow::Ttl => DedupWindow::Ttl,
            KeptWindow::UntilDone => DedupWindow::UntilDone,
        };
    }
    config
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod kept_tests;
