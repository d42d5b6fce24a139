//! Event streams (protocol-admin.md 13.4): what happens in the broker, for dashboards.
//!
//! One task reads the news while somebody listens, numbers them and keeps the last ones, so that a client that connects
//! again gets what it missed. Streams are bounded in number, and one that is not read ends: its client connects again.
//! Counts of a queue follow its events, and figures of the broker come every few seconds.

use crate::rest::{Rest, answer};
use axum::extract::{RawPathParams, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use onceover_broker::news::{Stream, Told};
use onceover_broker::told_json::{Item, item};
use onceover_broker::{BrokerHandle, monitor};
use onceover_inspect::call::Answer;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

/// Streams at the same time.
const STREAMS_MAX: usize = 1_000;
/// Events that are kept for clients that connect again.
const KEPT_MAX: usize = 1_000;
/// Events that a stream may be behind.
const BEHIND_MAX: usize = 2_000;
/// bunqueue's dashboard connects anew after 45 s without a byte.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(30);
/// After which clients connect again.
const RETRY_AFTER: Duration = Duration::from_secs(3);
/// After which the counts of a queue in which something happened are told; what happens meanwhile is in them.
const COUNTS_AFTER: Duration = Duration::from_millis(10);
/// After which a queue in which nothing happens is told of, once.
const IDLE_AFTER: Duration = Duration::from_secs(30);
/// Between two looks at who listens, and for idle queues.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const SNAPSHOT_EVERY: Duration = Duration::from_secs(5);
/// Snapshots between two reports of health, and of the storage.
const HEALTH_EVERY: u64 = 2;
const STORAGE_EVERY: u64 = 6;

/// One event of a stream.
#[derive(Debug)]
struct Frame {
    id: u64,
    name: &'static str,
    /// The queue of a job's event.
    queue: Option<Arc<str>>,
    data: String,
}

/// Those who listen, and what they are told.
pub struct Hub {
    broker: BrokerHandle,
    live: broadcast::Sender<Arc<Frame>>,
    state: Mutex<HubState>,
}

#[derive(Default)]
struct HubState {
    last_id: u64,
    kept: VecDeque<Arc<Frame>>,
    runs: bool,
}

impl Hub {
    /// For a broker, with nobody who listens.
    #[must_use]
    pub fn new(broker: BrokerHandle) -> Hub {
        Hub { broker, live: broadcast::Sender::new(BEHIND_MAX), state: Mutex::default() }
    }

    /// What happens from now on, and before it what happened after `last_id`.
    fn listen(self: &Arc<Hub>, last_id: Option<u64>) -> (VecDeque<Arc<Frame>>, broadcast::Receiver<Arc<Frame>>) {
        let mut state = self.state();
        let live = self.live.subscribe();
        if !std::mem::replace(&mut state.runs, true) {
            tokio::spawn(Arc::clone(self).run(self.broker.news().watch()));
        }
        let missed = state.kept.iter().filter(|frame| last_id.is_some_and(|last| frame.id > last));
        (missed.cloned().collect(), live)
    }

    /// Passes on what happens until nobody listens any more.
    async fn run(self: Arc<Hub>, mut news: broadcast::Receiver<Told>) {
        let every = |period| {
            let mut ticks = interval_at(Instant::now() + period, period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        };
        let (mut looks, mut snapshots) = (every(LOOK_EVERY), every(SNAPSHOT_EVERY));
        let (mut touched, mut counts_at, mut nth) = (BTreeSet::new(), Instant::now(), 0);
        // The last event of each queue, for as long as it is not told to be idle.
        let mut busy = BTreeMap::new();
        loop {
            tokio::select! {
                told = news.recv() => match told {
                    Ok(told) => {
                        let item = item(&told);
                        if let Some(queue) = &item.job_queue {
                            busy.insert(Arc::clone(queue), Instant::now());
                            if touched.is_empty() {
                                counts_at = Instant::now() + COUNTS_AFTER;
                            }
                            touched.insert(Arc::clone(queue));
                        }
                        self.tell(item);
                    }
                    Err(RecvError::Lagged(missed)) => tracing::warn!(missed, "event streams miss events"),
                    Err(RecvError::Closed) => return,
                },
                () = sleep_until(counts_at), if !touched.is_empty() => {
                    self.tell_counts(std::mem::take(&mut touched)).await;
                }
                _ = looks.tick() => {
                    if self.is_over() {
                        return;
                    }
                    self.tell_idle(&mut busy).await;
                }
                _ = snapshots.tick() => {
                    nth += 1;
                    self.tell_figures(nth).await;
                }
            }
        }
    }

    /// Whether nobody listens any more; the next one starts the task anew.
    fn is_over(&self) -> bool {
        let mut state = self.state();
        let over = self.live.receiver_count() == 0;
        state.runs = !over;
        over
    }

    fn tell(&self, item: Item) {
        let Item { name, job_queue: queue, members } = item;
        let mut state = self.state();
        state.last_id += 1;
        let frame = Arc::new(Frame { id: state.last_id, name, queue, data: members.to_string() });
        if frame.queue.is_some() {
            if state.kept.len() == KEPT_MAX {
                state.kept.pop_front();
            }
            state.kept.push_back(Arc::clone(&frame));
        }
        // Under the lock, so that nobody gets it twice or not at all. Whoever listened may have gone.
        let _ = self.live.send(frame);
    }

    fn tell_all(&self, name: &'static str, members: Value) {
        self.tell(Item { name, job_queue: None, members });
    }

    /// Tells of queues in which nothing has happened for long, unless they are gone.
    async fn tell_idle(&self, busy: &mut BTreeMap<Arc<str>, Instant>) {
        let idle: Vec<Arc<str>> =
            busy.extract_if(.., |_, last| last.elapsed() >= IDLE_AFTER).map(|(queue, _)| queue).collect();
        if idle.is_empty() {
            return;
        }
        let there = self
            .broker
            .view(move |core| idle.into_iter().filter(|queue| core.engine.lists_queue(queue)).collect::<Vec<_>>());
        // When the broker has ended there is nothing to tell.
        for queue in there.await.unwrap_or_default() {
            self.tell_all("queue:idle", json!({ "queue": &*queue, "idleSeconds": IDLE_AFTER.as_secs() }));
        }
    }

    async fn tell_counts(&self, touched: BTreeSet<Arc<str>>) {
        let counts = self.broker.view(move |core| {
            let of = |queue: Arc<str>| {
                let mut counts = monitor::queue_counts(&core.engine.counts(Some(&queue)));
                counts["queue"] = json!(&*queue);
                counts
            };
            touched.into_iter().map(of).collect::<Vec<_>>()
        });
        // When the broker has ended there is nothing to count.
        for counts in counts.await.unwrap_or_default() {
            self.tell_all("queue:counts", counts);
        }
    }

    async fn tell_figures(&self, nth: u64) {
        let looked = self.broker.view(|core| {
            let storage = json!({
                "collections": monitor::collections(core),
                "diskFull": core.trouble.is_some(),
            });
            (monitor::snapshot(core), monitor::health(core).1, storage)
        });
        let Ok((snapshot, health, storage)) = looked.await else { return };
        self.tell_all("stats:snapshot", snapshot);
        if nth.is_multiple_of(HEALTH_EVERY) {
            let members = ["ok", "uptime", "memory", "connections"];
            let health = members.map(|name| (name.to_owned(), health[name].clone()));
            self.tell_all("health:status", Value::Object(health.into_iter().collect()));
        }
        if nth.is_multiple_of(STORAGE_EVERY) {
            self.tell_all("storage:status", storage);
        }
    }

    fn state(&self) -> MutexGuard<'_, HubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One client's stream.
struct Listener {
    /// None = of all queues.
    queue: Option<String>,
    first: bool,
    missed: VecDeque<Arc<Frame>>,
    live: broadcast::Receiver<Arc<Frame>>,
    /// Counted for as long as it is there.
    stream: Stream,
}

impl Listener {
    /// The next event; none = the client is too slow, or the broker has ended.
    async fn next(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.first) {
            let hello = json!({ "connected": true, "clientId": self.stream.number().to_string() });
            return Some(Event::default().retry(RETRY_AFTER).data(hello.to_string()));
        }
        loop {
            let frame = match self.missed.pop_front() {
                Some(frame) => frame,
                None => self.live.recv().await.ok()?,
            };
            // Only events of jobs have a queue that can be another one.
            let is_other = matches!((&self.queue, &frame.queue), (Some(own), Some(its)) if **own != **its);
            if !is_other {
                return Some(Event::default().id(frame.id.to_string()).event(frame.name).data(&frame.data));
            }
        }
    }
}

/// Everything.
pub async fn all(State(rest): State<Arc<Rest>>, headers: HeaderMap) -> Response {
    open(&rest, None, &headers)
}

/// Jobs of one queue, and everything else.
pub async fn of_queue(State(rest): State<Arc<Rest>>, params: RawPathParams, headers: HeaderMap) -> Response {
    let queue = params.iter().find(|(name, _)| *name == "queue").map(|(_, queue)| queue.to_owned());
    open(&rest, queue, &headers)
}

fn open(rest: &Rest, queue: Option<String>, headers: &HeaderMap) -> Response {
    let Some(stream) = rest.broker.news().stream(STREAMS_MAX) else {
        return answer(StatusCode::SERVICE_UNAVAILABLE, &Answer::error("Too many event streams (max 1000)"));
    };
    let last_id = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    let (missed, live) = rest.hub.listen(last_id);
    let listener = Listener { queue, first: true, missed, live, stream };
    let events = stream::unfold(listener, |mut listener| async move {
        listener.next().await.map(|event| (Ok::<_, Infallible>(event), listener))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT_EVERY).text("heartbeat")).into_response()
}
