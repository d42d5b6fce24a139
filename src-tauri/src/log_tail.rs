//! The last lines of the log, for the page that explains why the broker stopped. They go to stderr as well.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Lines kept.
const LINES_MAX: usize = 200;
/// Bytes kept of one line.
const LINE_BYTES_MAX: usize = 2_000;

/// Shared by whoever logs and whoever shows.
#[derive(Clone, Debug, Default)]
pub struct LogTail(Arc<Mutex<VecDeque<String>>>);

impl LogTail {
    /// The lines, oldest first.
    pub fn lines(&self) -> Vec<String> {
        self.locked().iter().cloned().collect()
    }

    /// A writer for one event of the log.
    pub fn writer(&self) -> Tee {
        Tee(self.clone())
    }

    fn push(&self, text: &str) {
        let mut lines = self.locked();
        for line in text.lines() {
            if lines.len() == LINES_MAX {
                lines.pop_front();
            }
            lines.push_back(line[..line.floor_char_boundary(LINE_BYTES_MAX)].to_owned());
        }
    }

    /// Lines are only ever added whole.
    fn locked(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes to stderr and keeps a copy.
pub struct Tee(LogTail);

impl Write for Tee {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.push(&String::from_utf8_lossy(bytes));
        // A closed stderr must not end the program.
        let _ = io::stderr().write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "log_tail_tests.rs"]
mod log_tail_tests;
