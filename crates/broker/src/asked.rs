//! What a connection has asked and not been answered yet: finds the request's own id for an answer, and bounds how much
//! may be in progress.
//!
//! Both directions of a connection share it. They run in one task, so between a look and a wait nothing happens.

use crate::limits::{IN_PROGRESS_ID_BYTES_MAX, IN_PROGRESS_MAX};
use onceover_wire::request::ReqId;
use rustc_hash::FxHashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Requests in progress.
#[derive(Default)]
pub struct Asked {
    pending: Mutex<Pending>,
    answered: Notify,
}

/// The same, looked at.
#[derive(Default)]
pub struct Pending {
    /// By numbers that we give out, so no client can choose them to collide.
    ids: FxHashMap<u64, ReqId>,
    id_bytes: usize,
    /// Those without an id too.
    in_progress: usize,
    /// A command that is done in parts: what the client sent behind it must not be done in between.
    awaited: Option<u64>,
    /// A frame has shown a protocol-2 client.
    pub protocol2: bool,
}

impl Asked {
    /// A request goes to the core.
    pub fn ask(&self, request: u64, id: Option<ReqId>, protocol2: bool) {
        let mut pending = self.lock();
        pending.protocol2 |= protocol2;
        pending.in_progress += 1;
        if let Some(id) = id {
            pending.id_bytes += id.bytes().len();
            pending.ids.insert(request, id);
        }
    }

    /// Nothing more may be asked until this request is answered.
    pub fn wait_for(&self, request: u64) {
        self.lock().awaited = Some(request);
    }

    /// Whether no more may be asked until something is answered.
    pub fn is_full(&self) -> bool {
        let pending = self.lock();
        pending.awaited.is_some()
            || pending.in_progress >= IN_PROGRESS_MAX
            || pending.id_bytes >= IN_PROGRESS_ID_BYTES_MAX
    }

    /// Waits until more may be asked.
    pub async fn room(&self) {
        while self.is_full() {
            self.answered.notified().await;
        }
    }

    /// To encode some answers.
    pub fn lock(&self) -> MutexGuard<'_, Pending> {
        // A poisoned lock means that encoding panicked; the connection ends with its task then, so its state does not matter.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Some answers were encoded.
    pub fn answered(&self) {
        self.answered.notify_one();
    }
}

impl Pending {
    /// A request is answered; its id, if it had one.
    pub fn take(&mut self, request: u64) -> Option<ReqId> {
        // An answer too many is a fault of the core's, and no reason to end the connection.
        self.in_progress = self.in_progress.saturating_sub(1);
        self.awaited = self.awaited.filter(|awaited| *awaited != request);
        let id = self.ids.remove(&request)?;
        self.id_bytes -= id.bytes().len();
        Some(id)
    }
}

#[cfg(test)]
#[path = "asked_tests.rs"]
mod asked_tests;
