//! Deduplication keys: the decision table of dedup.md 3, as one pure function over values.
//!
//! `decide` says what an add with a key means; it changes nothing. Carrying it out is `admit.rs`, the life of an entry
//! (dedup.md 4) is `keys.rs`.

use crate::command::{DedupRequest, StateName};
use crate::job::Job;
use crate::names::{EntryId, JobId, JobKey, KeyText, QueueId};
use crate::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};

/// Whether a window outlives its owner: the setting `dedupWindow` (dedup.md 12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DedupWindow {
    /// A key with a ttl keeps its window to the end, whatever becomes of its owner.
    #[default]
    Ttl,
    /// The key always ends with its owner, as in bunqueue 2.9.5.
    UntilDone,
}

/// A live key: who owns it, until when, and what happened to it. One per (queue, text).
#[derive(Clone, Debug, PartialEq)]
pub struct KeyEntry {
    /// The row id.
    pub entry: EntryId,
    /// Its scope.
    pub queue: QueueId,
    /// Its text, compared code point by code point.
    pub key: KeyText,
    /// Whether the text is a payload's hash.
    pub from_hash: bool,
    /// The generation that owns it. It may have ended while the window is open.
    pub owner: JobKey,
    /// The owner's public id; also names an owner that is gone.
    pub owner_id: JobId,
    /// How long it is held.
    pub window: Window,
    /// When this owner took it.
    pub registered_at: Timestamp,
    /// What happened to it since this owner took it.
    pub tally: Tally,
}

impl KeyEntry {
    /// The window's length as last set.
    #[must_use]
    pub fn ttl(&self) -> Option<Millis> {
        self.window.ttl()
    }

    /// The window's end; none = as long as the owner lives.
    #[must_use]
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.window.end()
    }

    /// What happened to it since this owner took it.
    #[must_use]
    pub fn tally(&self) -> KeyTally {
        match &self.tally.met {
            Some(tally) => **tally,
            None if self.tally.made_by == NOBODY => KeyTally::default(),
            None => KeyTally { last: Some(self.made(self.tally.made_by)), ..KeyTally::default() },
        }
    }

    /// The tally to be stored; none where it says nothing but which add made the key.
    #[must_use]
    pub fn tally_to_store(&self) -> Option<KeyTally> {
        let is_known = self.tally.met.is_none() && self.tally.made_by != NOBODY;
        (!is_known).then(|| self.tally())
    }

    /// The key as `job` has it when it takes it at `since` as its request asks: keepLastIfActive has no window (dedup.md 10). None
    /// when the job asks for no key.
    #[must_use]
    pub fn of(job: &Job, entry: EntryId, since: Timestamp) -> Option<KeyEntry> {
        Some(KeyEntry {
            entry,
            queue: job.queue,
            key: job.dedup_key.clone()?,
            from_hash: job.spec.dedup.from_hash,
            owner: job.key,
            owner_id: job.id.clone(),
            window: Window::asked(&job.spec.dedup, since),
            registered_at: since,
            tally: Tally::made_earlier(),
        })
    }

    /// Whether the owner's row tells all of it: it took the key as it was added, and nothing has happened to the key since.
    #[must_use]
    pub fn is_as_taken(&self, owner: &Job) -> bool {
        let KeyEntry { entry, queue, key, from_hash, owner: by, owner_id: _, window, registered_at, tally: _ } = self;
        let asked = &owner.spec.dedup;
        *by == owner.key
            && *entry == owner.key.first_entry()
            && *registered_at == owner.created_at
            && *window == Window::asked(asked, owner.created_at)
            && *from_hash == asked.from_hash
            && *queue == owner.queue
            && owner.dedup_key.as_ref() == Some(key)
            && self.tally_to_store().is_none()
    }

    pub(crate) fn set_tally(&mut self, tally: KeyTally) {
        if let Some(met) = &mut self.tally.met {
            **met = tally;
            return;
        }
        let made_by = tally.last.map(|last| last.conn);
        let only_made = made_by.map(|conn| KeyTally { last: Some(self.made(conn)), ..KeyTally::default() });
        self.tally = match made_by {
            Some(made_by) if only_made == Some(tally) => Tally { met: None, made_by },
            _ => Tally::new(tally),
        };
    }

    /// The add that made it, in the plainest case.
    fn made(&self, conn: u64) -> LastAdd {
        LastAdd { decision: DecisionCode::Created, at: self.registered_at, conn }
    }
}

/// No add has met the key.
const NOBODY: u64 = u64::MAX;

/// A key's counters. Most keys are met by no add but the one that makes them, and then no memory is taken for counters.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    met: Option<Box<KeyTally>>,
    /// Over which connection it was made, as in `LastAdd`, while `met` is none.
    made_by: u64,
}

impl Tally {
    /// As counted.
    #[must_use]
    pub fn new(tally: KeyTally) -> Tally {
        let met = (tally != KeyTally::default()).then(|| Box::new(tally));
        Tally { met, made_by: NOBODY }
    }

    /// Made by a plain add of an earlier process, and met by none since.
    #[must_use]
    pub fn made_earlier() -> Tally {
        Tally { met: None, made_by: NOBODY - 1 }
    }
}

/// How long a key is held: two optional times in 16 bytes, for there may be a million of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Negative = none.
    ttl: i64,
    /// The greatest number = none.
    end: i64,
}

impl Window {
    /// `ttl` is at least 0.
    #[must_use]
    pub fn new(ttl: Option<Millis>, end: Option<Timestamp>) -> Window {
        Window { ttl: ttl.map_or(-1, |ttl| ttl.0), end: end.map_or(i64::MAX, |end| end.0.min(i64::MAX - 1)) }
    }

    /// As a request asks when its job takes the key at `since`.
    fn asked(request: &DedupRequest, since: Timestamp) -> Window {
        let ttl = request.ttl.filter(|_| !request.keep_last);
        Window::new(ttl, ttl.map(|ttl| since.plus(ttl)))
    }

    /// Its length as last set.
    #[must_use]
    pub fn ttl(self) -> Option<Millis> {
        (self.ttl >= 0).then_some(Millis(self.ttl))
    }

    /// Its end; none = as long as the owner lives.
    #[must_use]
    pub fn end(self) -> Option<Timestamp> {
        (self.end < i64::MAX).then_some(Timestamp(self.end))
    }
}

/// Counters of a key since its owner took it; all are stored with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeyTally {
    /// Adds that made no job.
    pub collapsed: u64,
    /// Those of them whose payload was not the owner's: that data is lost.
    pub data_differs: u64,
    /// How often the window was restarted.
    pub extended: u64,
    /// How often the key changed its owner while it was held.
    pub replaced: u64,
    /// The last add that met this key.
    pub last: Option<LastAdd>,
}

/// The last add that met a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastAdd {
    /// What was decided.
    pub decision: DecisionCode,
    /// When.
    pub at: Timestamp,
    /// Over which connection; 0 for the window and the broker itself. Numbers of an earlier process mean nothing.
    #[serde(default)]
    pub conn: u64,
}

/// The decision codes of gui.md 1.1 that an add can end with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DecisionCode {
    /// A new job; nothing held its key.
    #[serde(rename = "created")]
    Created,
    /// A new job; its key became free a moment ago.
    #[serde(rename = "created.freed")]
    CreatedFreed,
    /// A new job, while another live job carries the same key text without holding it.
    #[serde(rename = "created.twin")]
    CreatedTwin,
    /// The key's owner was returned.
    #[serde(rename = "existing.key")]
    ExistingKey,
    /// The job with that id was returned.
    #[serde(rename = "existing.job_id")]
    ExistingJobId,
    /// The job with that id was returned, and it lives in another queue.
    #[serde(rename = "existing.elsewhere")]
    ExistingElsewhere,
    /// The owner of the payload's hash was returned.
    #[serde(rename = "existing.hash")]
    ExistingHash,
    /// The owner was kept and its window restarted.
    #[serde(rename = "extended")]
    Extended,
    /// The owner was returned; `extend` had no ttl to set.
    #[serde(rename = "extended.no_ttl")]
    ExtendedNoTtl,
    /// The pending owner was removed, a new job took the key.
    #[serde(rename = "replaced")]
    Replaced,
    /// The active owner runs on, a new job took the key.
    #[serde(rename = "moved")]
    Moved,
    /// keepLastIfActive: kept for later.
    #[serde(rename = "next.held")]
    NextHeld,
    /// keepLastIfActive: kept instead of what was kept before.
    #[serde(rename = "next.updated")]
    NextUpdated,
    /// `extend` met an owner it cannot keep.
    #[serde(rename = "rejected.extend")]
    RejectedExtend,
    /// `replace` met an owner that live jobs depend on.
    #[serde(rename = "rejected.dependents")]
    RejectedDependents,
    /// The request was not valid.
    #[serde(rename = "rejected.invalid")]
    RejectedInvalid,
    /// A limit was reached.
    #[serde(rename = "rejected.limit")]
    RejectedLimit,
    /// The file could not be written.
    #[serde(rename = "rejected.storage")]
    RejectedStorage,
}

/// What came of an add, in three words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A new job.
    Created,
    /// No new job: another one stands for it, or will.
    Collapsed,
    /// An error.
    Rejected,
}

impl DecisionCode {
    /// What came of it.
    pub fn outcome(self) -> Outcome {
        match self {
            DecisionCode::Created
            | DecisionCode::CreatedFreed
            | DecisionCode::CreatedTwin
            | DecisionCode::Replaced
            | DecisionCode::Moved => Outcome::Created,
            DecisionCode::ExistingKey
            | DecisionCode::ExistingJobId
            | DecisionCode::ExistingElsewhere
            | DecisionCode::ExistingHash
            | DecisionCode::Extended
            | DecisionCode::ExtendedNoTtl
            | DecisionCode::NextHeld
            | DecisionCode::NextUpdated => Outcome::Collapsed,
            DecisionCode::RejectedExtend
            | DecisionCode::RejectedDependents
            | DecisionCode::RejectedInvalid
            | DecisionCode::RejectedLimit
            | DecisionCode::RejectedStorage => Outcome::Rejected,
        }
    }
}

/// What an add asks of its key. `replace` wins over `extend`, `extend` needs a ttl greater than 0 (dedup.md 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DedupPolicy {
    /// Return the owner.
    Default,
    /// Return the owner and restart its window.
    Extend {
        /// The new window.
        ttl: Millis,
    },
    /// The newest add wins.
    Replace,
    /// While the owner is active the add is kept for later; `replace` acts on a pending owner.
    KeepLast {
        /// Whether `replace` was set too.
        replace: bool,
    },
}

impl DedupPolicy {
    /// The policy of a request.
    pub fn of(request: &DedupRequest) -> DedupPolicy {
        let positive = request.ttl.filter(|ttl| ttl.0 > 0);
        if request.keep_last {
            return DedupPolicy::KeepLast { replace: request.replace };
        }
        match positive {
            _ if request.replace => DedupPolicy::Replace,
            Some(ttl) if request.extend => DedupPolicy::Extend { ttl },
            _ => DedupPolicy::Default,
        }
    }
}

/// Where the owner of a valid key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerStanding {
    /// Waiting, prioritized, delayed (also for a retry), waiting-children.
    Pending,
    /// Delivered.
    Active,
    /// Completed, failed or gone, while the window is still open.
    Ended,
}

/// What an add with a key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DedupDecision {
    /// No valid entry: a new job registers the key.
    Admit,
    /// A duplicate: the owner's id goes back.
    ReturnOwner,
    /// A duplicate: the owner's id goes back and its window ends at `until`.
    ExtendOwner {
        /// The window's new end.
        until: Timestamp,
    },
    /// Refused, and the window ends at `until` all the same.
    RefuseButExtend {
        /// The window's new end.
        until: Timestamp,
    },
    /// The pending owner is removed, the new job takes the key.
    ReplaceOwner,
    /// The active owner runs on without the key, the new job takes it.
    SucceedActive,
    /// The owner has ended; the new job takes the key from it.
    SucceedEnded,
    /// The add is kept with the active owner and the window lifted.
    KeepForLater,
    /// Refused: live jobs depend on the owner, or the newcomer depends on it.
    RefuseDependants,
}

/// The table of dedup.md 3. `owner` is none when no valid entry exists; `tied` says that a live job depends on the owner
/// or that the newcomer does.
pub fn decide(owner: Option<OwnerStanding>, policy: DedupPolicy, tied: bool, now: Timestamp) -> DedupDecision {
    let Some(owner) = owner else { return DedupDecision::Admit };
    match (policy, owner) {
        (DedupPolicy::Default, _) => DedupDecision::ReturnOwner,
        (DedupPolicy::Extend { ttl }, OwnerStanding::Pending) => DedupDecision::ExtendOwner { until: now.plus(ttl) },
        (DedupPolicy::Extend { ttl }, OwnerStanding::Active | OwnerStanding::Ended) => {
            DedupDecision::RefuseButExtend { until: now.plus(ttl) }
        }
        (DedupPolicy::Replace, owner) => replace(owner, tied),
        (DedupPolicy::KeepLast { .. }, OwnerStanding::Active) => DedupDecision::KeepForLater,
        (DedupPolicy::KeepLast { replace: true }, owner) => replace(owner, tied),
        (DedupPolicy::KeepLast { replace: false }, OwnerStanding::Pending | OwnerStanding::Ended) => {
            DedupDecision::ReturnOwner
        }
    }
}

fn replace(owner: OwnerStanding, tied: bool) -> DedupDecision {
    match owner {
        OwnerStanding::Ended => DedupDecision::SucceedEnded,
        OwnerStanding::Pending | OwnerStanding::Active if tied => DedupDecision::RefuseDependants,
        OwnerStanding::Pending => DedupDecision::ReplaceOwner,
        OwnerStanding::Active => DedupDecision::SucceedActive,
    }
}

/// Why a key became free: the `{freed}` texts of gui.md 1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreedBy {
    /// Its owner completed.
    Completed,
    /// Its owner failed for good.
    FailedForGood,
    /// Its owner ran into its timeout for the last time.
    TimedOut,
    /// Its owner stalled out or lost its lease for the last time.
    Stalled,
    /// Its owner was cancelled or removed by hand.
    Cancelled,
    /// Its owner was discarded.
    Discarded,
    /// Its owner was drained.
    Drained,
    /// Its owner was cleaned.
    Cleaned,
    /// The queue was obliterated.
    Obliterated,
    /// The owner's own ttl ran out before it was taken.
    JobExpired,
    /// Its window ended.
    WindowEnded,
    /// A client command released it.
    ReleasedByClient,
    /// The window's button released it.
    ReleasedByHand,
}

/// A key that became free, remembered for the sentence of the next add.
#[derive(Clone, Debug, PartialEq)]
pub struct FreedKey {
    /// The last owner.
    pub owner: JobKey,
    /// Its id.
    pub owner_id: JobId,
    /// Why.
    pub by: FreedBy,
    /// When.
    pub at: Timestamp,
    /// When its window would have ended.
    pub would_end_at: Option<Timestamp>,
    /// The entry as it stood, for Undo.
    pub entry: KeyEntry,
}

/// An owner as it stood when a decision about it was made.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnerSeen {
    /// Its generation.
    pub key: JobKey,
    /// Its id.
    pub id: JobId,
    /// Its state; none = gone.
    pub state: Option<StateName>,
    /// Attempts it had made.
    pub attempts: u32,
}

/// A key as it stood when an add met it: what the log of adds keeps of its entry.
#[derive(Clone, Debug, PartialEq)]
pub struct KeySeen {
    /// The generation that owned it.
    pub owner: JobKey,
    /// The owner's public id.
    pub owner_id: JobId,
    /// How long it was held.
    pub window: Window,
}

impl From<&KeyEntry> for KeySeen {
    fn from(entry: &KeyEntry) -> KeySeen {
        KeySeen { owner: entry.owner, owner_id: entry.owner_id.clone(), window: entry.window }
    }
}

#[cfg(test)]
#[path = "dedup_tests.rs"]
mod dedup_tests;
