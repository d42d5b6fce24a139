//! Whether an open database still lies under its name.
//!
//! SQLite goes on writing into a file that was deleted, renamed or replaced, and all of it would be gone at the next start
//! without a word. So the name is compared with the open file, and the names of its two companions with what lay there.
//! On Windows an open database can be neither deleted nor renamed, so there is nothing to compare.

use crate::lock_file::beside;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often it is looked at. An add that was acknowledged in between is in the open file, which can still be copied.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How a file stands to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// All is as it was.
    InPlace,
    /// It lies there, but its log or the log's index was deleted.
    CompanionGone,
    /// It has no name any more, and nothing lies in its place.
    Deleted,
    /// It has no name any more, and another file lies in its place.
    Replaced,
    /// It lies elsewhere.
    Moved,
}

/// The names of an open database, and what lay there when it was opened.
#[derive(Debug)]
pub(crate) struct Place {
    /// Closed after the connection: to close it earlier would let go of SQLite's locks, which belong to the process.
    held: File,
    file: PathBuf,
    companions: Vec<(PathBuf, Identity)>,
    looked: Instant,
    last: Standing,
}

type Identity = (u64, u64);

impl Place {
    /// Takes note of a database that a connection has just read, so that its companions are there.
    pub(crate) fn note(file: &Path) -> io::Result<Place> {
        let held = File::open(file)?;
        let mut companions = Vec::new();
        for suffix in ["-wal", "-shm"] {
            let path = beside(file, suffix);
            if let Some(identity) = identity(&path)? {
                companions.push((path, identity));
            }
        }
        let (looked, last) = (Instant::now(), Standing::InPlace);
        Ok(Place { held, file: file.to_owned(), companions, looked, last })
    }

    /// The same as a moment ago, or a new look when that is long enough ago or was not good.
    pub(crate) fn look(&mut self) -> io::Result<Standing> {
        if self.last == Standing::InPlace && self.looked.elapsed() < LOOK_EVERY {
            return Ok(self.last);
        }
        self.look_now()
    }

    /// A new look.
    pub(crate) fn look_now(&mut self) -> io::Result<Standing> {
        self.last = self.standing()?;
        self.looked = Instant::now();
        Ok(self.last)
    }

    fn standing(&self) -> io::Result<Standing> {
        let Some((own, names)) = open_identity(&self.held)? else { return Ok(Standing::InPlace) };
        match identity(&self.file)? {
            Some(found) if found == own => {}
            Some(_) if names == 0 => return Ok(Standing::Replaced),
            None if names == 0 => return Ok(Standing::Deleted),
            Some(_) | None => return Ok(Standing::Moved),
        }
        for (path, noted) in &self.companions {
            match identity(path)? {
                Some(found) if found == *noted => {}
                Some(_) => return Ok(Standing::Replaced),
                None => return Ok(Standing::CompanionGone),
            }
        }
        Ok(Standing::InPlace)
    }
}

/// What lies at a path; none when nothing does.
#[cfg(unix)]
fn identity(path: &Path) -> io::Result<Option<Identity>> {
    use std::os::unix::fs::MetadataExt;
    match fs::metadata(path) {
        Ok(found) => Ok(Some((found.dev(), found.ino()))),
        // A folder on the way to it may have become a file.
        Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(cause) => Err(cause),
    }
}

#[cfg(not(unix))]
fn identity(path: &Path) -> io::Result<Option<Identity>> {
    fs::metadata(path).map(|_| None)
}

/// The open file, and how many names it has; none where that cannot be told.
#[cfg(unix)]
fn open_identity(file: &File) -> io::Result<Option<(Identity, u64)>> {
    use std::os::unix::fs::MetadataExt;
    let found = file.metadata()?;
    Ok(Some(((found.dev(), found.ino()), found.nlink())))
}

#[cfg(not(unix))]
fn open_identity(_: &File) -> io::Result<Option<(Identity, u64)>> {
    Ok(None)
}
