//! What clients were told, and what must therefore never happen.
//!
//! It knows nothing of the engine: leases, completions and windows are followed as a client could follow them. Whatever a
//! client cannot know (an answer that was lost on the way) makes the ledger forget, never guess.

use crate::client::Held;
use onceover_engine::command::{Add, Pull};
use onceover_engine::names::{ConnId, JobId, JobKey};
use onceover_engine::reply::{Added, Delivered};
use onceover_engine::time::{Millis, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The queue in which only plain adds with a window, pulls and answers of workers happen, so that its windows are known.
pub const QUIET: &str = "quiet";
/// The keys there; adds with the last two are always durable, with the first two never.
pub const QUIET_KEYS: [&str; 4] = ["plain-0", "plain-1", "durable-0", "durable-1"];
/// Silence after which the broker takes a job for stalled.
const STALL: Millis = Millis(30_000);

/// A right to run a job, proved by a token.
#[derive(Debug)]
struct Lease {
    token: String,
    conn: ConnId,
    until: Timestamp,
    /// A renewed lease outlives its connection.
    renewed: bool,
    timeout: Option<Timestamp>,
}

/// A window as an answer opened it.
#[derive(Clone, Debug)]
struct Window {
    owner: JobId,
    until: Timestamp,
    durable: bool,
}

/// What all clients together know.
#[derive(Debug, Default)]
pub struct Ledger {
    leases: BTreeMap<JobKey, Lease>,
    completed: BTreeSet<JobKey>,
    /// None = an answer about this key was lost.
    windows: BTreeMap<Arc<str>, Option<Window>>,
    /// Repeats that were checked against a window.
    pub repeats_checked: u64,
    /// Deliveries that were checked against a lease.
    pub deliveries: u64,
    /// Completions.
    pub completions: u64,
}

impl Ledger {
    /// A job was given to a client at `now`.
    ///
    /// # Panics
    /// It runs under another valid lease.
    pub fn delivered(&mut self, conn: ConnId, pull: &Pull, job: &Delivered, now: Timestamp) -> Held {
        let Delivered { record, token } = job;
        let key = record.job.key;
        self.deliveries += 1;
        if let Some(other) = self.leases.remove(&key) {
            let ended = other.until.min(other.timeout.unwrap_or(other.until)).is_due(now);
            assert!(ended, "{} was given away at {now:?} while {other:?} is valid", record.job.id);
        }
        if let Some(token) = token {
            let rare = record.job.spec.rare.as_deref();
            let timeout = rare.and_then(|rare| rare.timeout).filter(|timeout| timeout.0 > 0);
            let lease = Lease {
                token: token.clone(),
                conn,
                until: now.plus(pull.lock_ttl.min(STALL)),
                renewed: false,
                timeout: timeout.map(|timeout| now.plus(timeout)),
            };
            self.leases.insert(key, lease);
        }
        Held { key, id: record.job.id.clone(), queue: pull.queue.clone(), token: token.clone() }
    }

    /// Somebody has the job, but nobody can say who.
    pub fn lease_is_unknown(&mut self, key: JobKey) {
        self.leases.remove(&key);
    }

    /// The holder asked for something that may end its lease.
    pub fn may_end(&mut self, held: &Held) {
        if self.lease_of(held).is_some() {
            self.leases.remove(&held.key);
        }
    }

    /// The holder asked for a renewal, which may also make its lease shorter: nothing is certain until the answer.
    pub fn may_renew(&mut self, held: &Held) {
        if let Some(lease) = self.lease_of(held) {
            lease.until = Timestamp(i64::MIN);
        }
    }

    /// The lease was renewed at `now`, as its holder was told.
    pub fn renewed(&mut self, held: &Held, by: Millis, now: Timestamp) {
        if let Some(lease) = self.lease_of(held) {
            lease.until = now.plus(by.min(STALL));
            lease.renewed = true;
        }
    }

    fn lease_of(&mut self, held: &Held) -> Option<&mut Lease> {
        self.leases.get_mut(&held.key).filter(|lease| Some(&lease.token) == held.token.as_ref())
    }

    /// A connection ended. What it held and never renewed is free for others.
    pub fn disconnected(&mut self, conn: ConnId) {
        self.leases.retain(|_, lease| lease.conn != conn || lease.renewed);
    }

    /// The broker was started anew: every lease ended with the old one.
    pub fn restarted(&mut self) {
        self.leases.clear();
    }

    /// The clock went ahead without the time having passed: leases last as long as before.
    pub fn skipped(&mut self, by: Millis) {
        for lease in self.leases.values_mut() {
            lease.until = lease.until.plus(by);
            lease.timeout = lease.timeout.map(|timeout| timeout.plus(by));
        }
    }

    /// It is `now`: what has ended stays ended, even when the clock is set back later.
    pub fn time_is(&mut self, now: Timestamp) {
        self.windows.retain(|_, window| window.as_ref().is_none_or(|window| !window.until.is_due(now)));
    }

    /// The power failed: only what was durable is certain.
    pub fn power_failed(&mut self) {
        self.restarted();
        self.finished_may_return();
        for key in QUIET_KEYS {
            let window = self.windows.entry(key.into()).or_insert(None);
            // That a window ended need not have been synced either, and the clock may be set back.
            if window.as_ref().is_some_and(|window| !window.durable) {
                *window = None;
            }
        }
    }

    /// Finished jobs may have been brought back.
    pub fn finished_may_return(&mut self) {
        self.completed.clear();
    }

    /// A worker was told that its completion counts.
    ///
    /// # Panics
    /// One counted already.
    pub fn completed(&mut self, held: &Held) {
        self.completions += 1;
        // A custom id may be another job's by now, and one taken without a lock accepts any token.
        let first = matches!(held.id, JobId::Text(_)) || self.completed.insert(held.key);
        assert!(first, "{} completed twice under one generation", held.id);
    }

    /// A plain add to the quiet queue was answered at `now`.
    ///
    /// # Panics
    /// The window says otherwise.
    pub fn quiet_add(&mut self, add: &Add, added: &Added, now: Timestamp) {
        let key = add.dedup_key.as_ref().expect("quiet adds have a key");
        let ttl = add.spec.dedup.ttl.expect("quiet keys have a window");
        let known = self.windows.get(key).cloned();
        let opened = Window { owner: added.id.clone(), until: now.plus(ttl), durable: add.spec.durable };
        match (known, added.duplicate.is_some()) {
            (Some(Some(window)), repeat) => {
                self.repeats_checked += 1;
                assert!(repeat, "{} is a new job at {now:?} in {window:?} of {}", added.id, key);
                assert_eq!(added.id, window.owner, "the window of {} has one owner", key);
            }
            (None, repeat) => {
                assert!(!repeat, "{} at {now:?} was returned for {}, whose window has ended", added.id, key);
                self.windows.insert(key.clone(), Some(opened));
            }
            (Some(None), true) => {}
            (Some(None), false) => drop(self.windows.insert(key.clone(), Some(opened))),
        }
    }

    /// The answer to a plain add to the quiet queue was lost.
    pub fn quiet_doubt(&mut self, add: &Add, now: Timestamp) {
        let key = add.dedup_key.as_ref().expect("quiet adds have a key");
        let window = self.windows.entry(key.clone()).or_insert(None);
        // In an open window the lost answer can only have been a repeat.
        if window.as_ref().is_some_and(|window| window.until.is_due(now)) {
            *window = None;
        }
    }
}
