//! The states of a job as clients see them, and what commands say with them (protocol-core.md 4.2).

use serde::{Deserialize, Serialize};

/// Which jobs Clean removes (protocol-admin.md 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CleanState {
    /// Waiting, prioritized and delayed: no state was named.
    AnyPending,
    /// Waiting only.
    Waiting,
    /// Prioritized only.
    Prioritized,
    /// Delayed only.
    Delayed,
    /// Completed jobs.
    Completed,
    /// Dead letters.
    Failed,
    /// A state that Clean never removes, or no state at all: nothing happens.
    Nothing,
}

/// A list filter of GetJobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListState {
    /// One state.
    State(StateName),
    /// What is ready while the queue is paused.
    Paused,
}

/// The states as clients see them (protocol-core.md 4.2); the first five are live (dedup.md 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StateName {
    /// Ready, priority at most 0.
    Waiting,
    /// Ready, priority above 0.
    Prioritized,
    /// Not due yet.
    Delayed,
    /// Waits for dependencies, or was parked by its worker.
    WaitingChildren,
    /// Delivered.
    Active,
    /// Done.
    Completed,
    /// Failed for good: a dead letter.
    Failed,
}

impl StateName {
    /// The text on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            StateName::Waiting => "waiting",
            StateName::Prioritized => "prioritized",
            StateName::Delayed => "delayed",
            StateName::WaitingChildren => "waiting-children",
            StateName::Active => "active",
            StateName::Completed => "completed",
            StateName::Failed => "failed",
        }
    }

    /// The state that a text names.
    pub fn parse(text: &str) -> Option<StateName> {
        Some(match text {
            "waiting" => StateName::Waiting,
            "prioritized" => StateName::Prioritized,
            "delayed" => StateName::Delayed,
            "waiting-children" => StateName::WaitingChildren,
            "active" => StateName::Active,
            "completed" => StateName::Completed,
            "failed" => StateName::Failed,
            _ => return None,
        })
    }

    /// Not completed and not failed.
    pub fn is_live(self) -> bool {
        !matches!(self, StateName::Completed | StateName::Failed)
    }
}
