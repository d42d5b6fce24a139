//! What happens in the whole broker, for those who watch all of it: the event streams of the HTTP interface.
//!
//! Told after the commit. Payloads and results are left out, so what is held for a watcher that is slow is small, and it
//! is bounded: a watcher that falls behind misses some and is told how many. Nothing is made while nobody watches.

use crate::clock::wall_now;
use crate::limits::NEWS_MAX;
use onceover_engine::event::{Event, EventKind};
use onceover_engine::notice::Notice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::sync::broadcast;

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Told {
    /// To a job or a queue, without its data.
    Event(Event),
    /// Something else.
    Notice(Notice),
}

/// The core's end. Cheap to clone.
#[derive(Clone, Debug)]
pub struct News {
    told: broadcast::Sender<Told>,
    streams: Arc<AtomicUsize>,
    streams_ever: Arc<AtomicU64>,
}

/// An event stream that somebody reads, for as long as it is held.
#[derive(Debug)]
pub struct Stream {
    number: u64,
    open: Arc<AtomicUsize>,
}

impl Stream {
    /// Its number, from 1, never used twice while the process runs.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Default for News {
    fn default() -> News {
        News { told: broadcast::Sender::new(NEWS_MAX), streams: Arc::default(), streams_ever: Arc::default() }
    }
}

impl News {
    /// From now on, everything.
    #[must_use]
    pub fn watch(&self) -> broadcast::Receiver<Told> {
        self.told.subscribe()
    }

    /// Whether anybody watches.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.told.receiver_count() > 0
    }

    /// One more stream, unless there are `most` already.
    #[must_use]
    pub fn stream(&self, most: usize) -> Option<Stream> {
        let more = |open| (open < most).then_some(open + 1);
        let opened = self.streams.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        opened.ok()?;
        let number = self.streams_ever.fetch_add(1, Ordering::Relaxed) + 1;
        Some(Stream { number, open: Arc::clone(&self.streams) })
    }

    /// Streams that are open.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.streams.load(Ordering::Relaxed)
    }

    /// Somebody came over HTTP with a wrong token or none; told at once, for nothing is stored of it.
    pub fn auth_failed_over_http(&self) {
        if self.is_watched() {
            let fields = vec![("transport", "http".into())];
            self.tell(Told::Notice(Notice { at: wall_now(), name: "auth:failed", fields }));
        }
    }

    pub(crate) fn tell(&self, told: Told) {
        // Whoever watched has gone meanwhile.
        let _ = self.told.send(told);
    }
}

/// The event as watchers see it.
pub(crate) fn without_data(event: &Event) -> Event {
    let kind = match &event.kind {
        EventKind::Completed { .. } => EventKind::Completed { result: None },
        EventKind::Failed { error, data: _, terminal } => {
            EventKind::Failed { error: error.clone(), data: None, terminal: *terminal }
        }
        other => other.clone(),
    };
    Event { queue: event.queue.clone(), job: event.job.clone(), at: event.at, kind }
}
