//! What a step of the engine brings about besides its own state: answers, events, and the log of adds.

use crate::command::Add;
use crate::dedup::{DecisionCode, FreedKey, KeySeen, OwnerSeen};
use crate::event::Event;
use crate::names::{JobId, JobKey, Origin};
use crate::notice::Notice;
use crate::reply::{Reply, Totals};
use crate::time::Timestamp;
use std::sync::Arc;

/// Something to send after the commit. Order matters: an event comes before the reply of the command that caused it.
#[derive(Clone, Debug)]
pub enum Output {
    /// To whoever asked.
    Reply {
        /// Who.
        to: Origin,
        /// What.
        reply: Reply,
    },
    /// To every subscriber of its queue.
    Event(Event),
}

/// Collected over a turn; released only after its commit.
#[derive(Debug, Default)]
pub struct Effects {
    /// In order.
    pub outputs: Vec<Output>,
    /// Every add that was decided, in order.
    pub adds: Vec<AddRecord>,
    /// Whether a command of the turn asked to survive power loss.
    pub durable: bool,
    /// What a dashboard is told besides events, in order.
    pub notices: Vec<Notice>,
    /// Queues that were obliterated: what is kept about them elsewhere goes, too.
    pub obliterated: Vec<Arc<str>>,
    /// Queues that are not listed any more because nothing is left in them, with what happened in them since they were.
    pub forgotten: Vec<(Arc<str>, Totals)>,
    /// Whether anybody reads the notices; none are made otherwise.
    pub watched: bool,
    /// Jobs that were changed by commands over many of them: whoever drives the engine ends its turn when they are many.
    pub handled: usize,
}

/// One decided add: all that the window's sentence is made of (gui.md 1.1).
#[derive(Clone, Debug)]
pub struct AddRecord {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub origin: Origin,
    /// What was asked.
    pub add: Add,
    /// Position and size of the batch it came in.
    pub bulk: Option<(u32, u32)>,
    /// The add it repeats, by the window's number.
    pub replay_of: Option<u64>,
    /// What was decided.
    pub decision: Decision,
    /// The key before.
    pub key_before: Option<KeySeen>,
    /// The key after.
    pub key_after: Option<KeySeen>,
}

/// A decision with the facts of the moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Which.
    pub code: DecisionCode,
    /// The job that stands for the add afterwards: new, returned or active; none when refused.
    pub job: Option<JobId>,
    /// Its generation.
    pub job_key: Option<JobKey>,
    /// The other job involved: the owner that was met, replaced, moved from; or the twin.
    pub owner: Option<OwnerSeen>,
    /// The queue the returned job lives in, when it is another one.
    pub elsewhere: Option<Arc<str>>,
    /// How the key had become free.
    pub freed: Option<Box<FreedKey>>,
    /// The exact text the client received when refused.
    pub refusal: Option<String>,
    /// What was dropped without an error.
    pub facts: Facts,
}

/// What was dropped without an error, and other remarks (gui.md 1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The payload was not the returned job's and is lost.
    pub data_differs: bool,
    /// Options of the add that its returned job does not have, so that they are lost.
    pub options_dropped: bool,
    /// A job-id hit never registers the add's key.
    pub key_not_taken: bool,
    /// A key hit leaves the add's job id unknown.
    pub job_id_not_used: bool,
}
