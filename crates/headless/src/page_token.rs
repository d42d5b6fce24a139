//! The token of the page, kept beside the data so that a bookmarked link still opens it after a restart.
//!
//! Whoever can read the file can read the data beside it as well, so it protects nothing less than before: it is readable
//! by this account only, and one that others could read is replaced. Removing it makes a new token at the next start.
//! The session that a page gets for it is not kept: browsers send cookies to every port of this machine.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes of randomness in a secret; twice as many characters.
const SECRET_BYTES: usize = 32;

/// The token that belongs to a data file. When it cannot be kept, this run has one of its own.
///
/// # Errors
/// The operating system gives no random bytes.
pub fn of(data_file: &Path) -> Result<String, getrandom::Error> {
    let path = beside(data_file);
    if let Some(token) = read(&path) {
        return Ok(token);
    }
    let token = secret()?;
    if let Err(error) = write(&path, &token) {
        tracing::warn!(%error, "the page's link will be another one after a restart: cannot write {}", path.display());
    }
    Ok(token)
}

/// Random bytes as text.
///
/// # Errors
/// The operating system gives none.
pub fn secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn beside(data_file: &Path) -> PathBuf {
    let mut name = data_file.as_os_str().to_owned();
    name.push(".page-token");
    PathBuf::from(name)
}

/// The token in the file, if it holds one that nobody else could have read.
fn read(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    if !is_private(&file) {
        tracing::warn!("{} could be read by others; the page gets a new link", path.display());
        return None;
    }
    let mut text = String::new();
    file.take(2 * SECRET_BYTES as u64 + 2).read_to_string(&mut text).ok()?;
    let token = text.trim_end();
    let is_ours = token.len() == 2 * SECRET_BYTES && token.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_ours.then(|| token.to_owned())
}

/// As a new file, so that nobody who has the one before open reads it.
fn write(path: &Path, token: &str) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    writeln!(options.open(path)?, "{token}")
}

#[cfg(unix)]
fn is_private(file: &File) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o077 == 0)
}

/// Elsewhere a file has the rights of its folder, as the data has.
#[cfg(not(unix))]
fn is_private(_file: &File) -> bool {
    true
}

#[cfg(test)]
#[path = "page_token_tests.rs"]
mod page_token_tests;
