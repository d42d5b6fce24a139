//! How many connections the system's limit of open files allows.

use crate::limits::FILES_RESERVED;

/// At most `wanted` connections. Raises the limit of this process as far as the system lets it; what is still missing is
/// told in the log.
#[must_use]
pub fn connections_max(wanted: usize) -> usize {
    let Some(files_max) = files_max(wanted + FILES_RESERVED) else { return wanted };
    let possible = files_max.saturating_sub(FILES_RESERVED).max(1);
    if possible < wanted {
        tracing::warn!(
            "only {possible} connections are possible, not {wanted}: the system allows {files_max} open files"
        );
    }
    wanted.min(possible)
}

/// Files that may be open at the same time; none = the system sets no limit.
#[cfg(unix)]
fn files_max(wanted: usize) -> Option<usize> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let current = usize::try_from(limit.current?).unwrap_or(usize::MAX);
    if current >= wanted {
        return Some(current);
    }
    let raised = limit.maximum.map_or(wanted as u64, |maximum| maximum.min(wanted as u64));
    match setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum: limit.maximum }) {
        Ok(()) => Some(usize::try_from(raised).unwrap_or(usize::MAX)),
        Err(_refused) => Some(current),
    }
}

/// Sockets are no files there.
#[cfg(not(unix))]
fn files_max(_wanted: usize) -> Option<usize> {
    None
}
