//! What happens in the whole broker, for those who watch all of it: the event streams of the HTTP interface.
//!
//! Told after the commit. Payloads and results are left out, so what is held for a watcher that is slow is small, and it
//! is bounded: a watcher that falls behind misses some and is told how many. Nothing is made while nobody watches.

use crate::limits::NEWS_MAX;
use onceover_engine::event::{Event, EventKind};
use onceover_engine::notice::Notice;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
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
}

/// An event stream that somebody reads, for as long as it is held.
#[derive(Debug)]
pub struct Stream(Arc<AtomicUsize>);

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Default for News {
    fn default() -> News {
        News { told: broadcast::Sender::new(NEWS_MAX), streams: Arc::default() }
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
        opened.ok().map(|_| Stream(Arc::clone(&self.streams)))
    }

    /// Streams that are open.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.streams.load(Ordering::Relaxed)
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
