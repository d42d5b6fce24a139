//! What the core hands to a connection to write, in order.
//!
//! A channel with one difference: while the connection itself is at work and will look before it waits, it is not woken. A
//! task that is woken while it runs is put behind all others, and another thread is woken to help.

use crate::outbox::Out;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// The core's end.
#[derive(Debug)]
pub struct BatchSender(Arc<Shared>);

/// The connection's end.
#[derive(Debug)]
pub struct BatchReceiver(Arc<Shared>);

/// Keeps a connection from being woken by what it brings about itself.
#[derive(Clone, Debug)]
pub struct Attention(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    batches: VecDeque<Vec<Out>>,
    /// Who waits for the next one.
    waker: Option<Waker>,
    /// The receiver looks before it waits.
    attended: bool,
    /// The core has let go of it.
    ended: bool,
}

/// Both ends.
pub fn batches() -> (BatchSender, BatchReceiver) {
    let shared = Arc::<Shared>::default();
    (BatchSender(Arc::clone(&shared)), BatchReceiver(shared))
}

impl BatchSender {
    /// Hands over a batch. It is dropped with the connection when that has gone.
    pub fn send(&self, batch: Vec<Out>) {
        self.0.tell(|queue| queue.batches.push_back(batch));
    }
}

impl Drop for BatchSender {
    fn drop(&mut self) {
        self.0.tell(|queue| queue.ended = true);
    }
}

impl BatchReceiver {
    /// The next batch, if it is there.
    pub fn try_recv(&mut self) -> Option<Vec<Out>> {
        self.0.lock().batches.pop_front()
    }

    /// Waits for the next batch. None when the core has let go of the connection.
    pub async fn recv(&mut self) -> Option<Vec<Out>> {
        poll_fn(|ctx| {
            let mut queue = self.0.lock();
            if let Some(batch) = queue.batches.pop_front() {
                return Poll::Ready(Some(batch));
            }
            if queue.ended {
                return Poll::Ready(None);
            }
            match &mut queue.waker {
                Some(waker) => waker.clone_from(ctx.waker()),
                none => *none = Some(ctx.waker().clone()),
            }
            Poll::Pending
        })
        .await
    }

    /// For the part of the connection that reads.
    #[must_use]
    pub fn attention(&self) -> Attention {
        Attention(Arc::clone(&self.0))
    }
}

impl Attention {
    /// Does `work`. What it brings about wakes nobody: the caller polls the receiver before it waits.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.lock().attended = true;
        let done = work();
        self.0.lock().attended = false;
        done
    }
}

impl Shared {
    fn tell(&self, what: impl FnOnce(&mut Queue)) {
        let mut queue = self.lock();
        what(&mut queue);
        let waker = if queue.attended { None } else { queue.waker.take() };
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Every change is a single step, so a panic elsewhere cannot leave it half done.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "batches_tests.rs"]
mod batches_tests;
