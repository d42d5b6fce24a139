//! Adds of a turn on their way to the log of adds.

use crate::activity::LoggedAdd;
use crate::conn_table::Client;
use onceover_engine::command::Command;
use onceover_engine::dedup::DecisionCode;
use onceover_engine::effects::AddRecord;
use std::time::Instant;

/// One of them.
pub(crate) struct NewEntry {
    pub(crate) add: LoggedAdd,
    pub(crate) read_at: Option<Instant>,
}

impl NewEntry {
    /// What the engine decided.
    pub(crate) fn decided(record: AddRecord, read_at: Option<Instant>) -> NewEntry {
        NewEntry { add: LoggedAdd::Decided(Box::new(record)), read_at }
    }
}

/// The adds of a turn that did not happen were refused after all.
pub(crate) fn mark_not_stored(adds: &mut [NewEntry], text: &str) {
    for NewEntry { add, .. } in adds {
        let LoggedAdd::Decided(record) = add else { continue };
        record.decision.code = DecisionCode::RejectedStorage;
        record.decision.refusal = Some(text.to_owned());
        record.decision.job = None;
        record.decision.job_key = None;
        record.key_after.clone_from(&record.key_before);
    }
}

/// An add of a run is a replay, however plainly it came in.
pub(crate) fn mark_replay(command: &mut Command, client: &Client) {
    if let (Command::Push { replay_of, .. }, Some(mark)) = (command, client.run()) {
        *replay_of = mark.origin;
    }
}
