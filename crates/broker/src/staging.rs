//! Long payloads are written in pieces, a piece a turn, before the engine sees the command that brings them: as part of one
//! commit a payload of 10 MiB would keep everybody waiting.

use crate::inbox::Ask;
use onceover_engine::command::{Add, Command};
use onceover_engine::flow;
use onceover_store::{Storage, StoreError};

/// Writes the next piece of what `ask` adds. Whether nothing of it is left to write.
///
/// # Errors
/// As a commit.
pub fn stage(storage: &mut impl Storage, ask: &Ask) -> Result<bool, StoreError> {
    match ask {
        Ask::Part(part) => stage_all(storage, part.adds.iter()),
        Ask::Engine(command) => stage_command(storage, command),
        _ => Ok(true),
    }
}

/// The same of a command.
///
/// # Errors
/// As a commit.
pub fn stage_command(storage: &mut impl Storage, command: &Command) -> Result<bool, StoreError> {
    match command {
        Command::Push { add, .. } => stage_all(storage, [add]),
        Command::PushBulk { adds } => stage_all(storage, adds),
        Command::Flow(flow::Request::Push(jobs)) => stage_all(storage, jobs.iter().map(|job| &job.add)),
        // What a worker returns and what data is changed to is written whole.
        _ => Ok(true),
    }
}

fn stage_all<'a>(storage: &mut impl Storage, adds: impl IntoIterator<Item = &'a Add>) -> Result<bool, StoreError> {
    for payload in adds.into_iter().filter_map(|add| add.data.as_ref()) {
        if !storage.stage(payload)? {
            return Ok(false);
        }
    }
    Ok(true)
}
