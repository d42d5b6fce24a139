//! What tests of this crate share: adds and decisions built by hand, and a broker in memory.

use crate::Inspector;
use crate::view::Failure;
use onceover_broker::{Broker, BrokerConfig, DataPlace};
use onceover_engine::command::{Add, Command, DedupRequest, NewJob, Pull, StateName};
use onceover_engine::dedup::{DecisionCode, FreedBy, FreedKey, KeyEntry, KeyTally, OwnerSeen, Tally, Window};
use onceover_engine::effects::{AddRecord, Decision, Facts};
use onceover_engine::names::{ConnId, EntryId, JobId, JobKey, KeyText, Origin, QueueId};
use onceover_engine::time::{Millis, Timestamp};
use serde_json::{Value, json};
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

/// The moment of every decision that is built by hand.
pub const NOW: Timestamp = Timestamp(1_700_000_000_000);

/// The id of the owner that is met: it ends in a1b2c3.
pub fn old_id() -> JobId {
    JobId::parse("0192f0c1-1111-7222-8333-444400a1b2c3")
}

/// The id of the job that is made: it ends in d4e5f6.
pub fn new_id() -> JobId {
    JobId::parse("0192f0c1-1111-7222-8333-444400d4e5f6")
}

/// A job of queue `q`.
pub fn spec(ttl: Option<i64>) -> NewJob {
    let dedup = DedupRequest { ttl: ttl.map(Millis), ..DedupRequest::default() };
    NewJob { dedup, ..NewJob::new("q", "job") }
}

/// The add of a job of queue `q` with the key `k`.
pub fn keyed(ttl: Option<i64>) -> Add {
    Add { dedup_key: Some(Arc::from("k")), ..Add::new(spec(ttl)) }
}

/// The key `k`, held by the old owner with so much left.
pub fn entry(left: Option<i64>) -> KeyEntry {
    KeyEntry {
        entry: EntryId(1),
        queue: QueueId(0),
        key: KeyText::from("k"),
        from_hash: false,
        owner: JobKey(1),
        owner_id: old_id(),
        window: Window::new(left.map(|_| Millis(60_000)), left.map(|left| NOW.plus(Millis(left)))),
        registered_at: Timestamp(NOW.0 - 10_000),
        tally: Tally::new(KeyTally::default()),
    }
}

/// The old owner in a state.
pub fn owner(state: Option<StateName>) -> OwnerSeen {
    OwnerSeen { key: JobKey(1), id: old_id(), state, attempts: 0 }
}

/// The key as it became free, so long ago, with so much of its window unused.
pub fn freed(by: FreedBy, ago: i64, unused: Option<i64>) -> FreedKey {
    let at = Timestamp(NOW.0 - ago);
    let would_end_at = unused.map(|unused| at.plus(Millis(unused)));
    FreedKey { owner: JobKey(1), owner_id: old_id(), by, at, would_end_at, entry: entry(Some(60_000)) }
}

/// A decision without an owner, and the new job.
pub fn decision(code: DecisionCode) -> Decision {
    Decision {
        code,
        job: Some(new_id()),
        job_key: Some(JobKey(2)),
        owner: None,
        elsewhere: None,
        freed: None,
        refusal: None,
        facts: Facts::default(),
    }
}

/// An add with that decision, a TTL of 60 s and a free key.
pub fn record(decision: Decision) -> AddRecord {
    AddRecord {
        at: NOW,
        origin: Origin::Client { conn: ConnId(1), request: 1 },
        add: keyed(Some(60_000)),
        bulk: None,
        replay_of: None,
        decision,
        key_before: None,
        key_after: None,
    }
}

/// A broker that no client can reach, and its inspector.
pub struct Bench {
    pub broker: Option<Broker>,
    pub inspector: Inspector,
    pub folder: PathBuf,
    runtime: tokio::runtime::Runtime,
}

impl Bench {
    pub fn new(name: &str) -> Bench {
        let folder = std::env::temp_dir().join(format!("onceover-inspect-{}-{name}", std::process::id()));
        let broker =
            Broker::open(BrokerConfig { port: 0, ..BrokerConfig::new(DataPlace::Folder(folder.clone())) }).unwrap();
        let inspector = Inspector::new(broker.handle());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Bench { broker: Some(broker), inspector, folder, runtime }
    }

    pub fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    pub fn ask(&self, request: Value) -> Value {
        self.wait(self.inspector.call(request)).unwrap()
    }

    pub fn refused(&self, request: Value) -> Failure {
        self.wait(self.inspector.call(request)).unwrap_err()
    }

    pub fn add(&self, members: Value) -> Value {
        let mut request = json!({ "type": "sendAdd", "queue": "q", "dedupId": "k", "ttlMs": 60_000, "dataText": "1" });
        request.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        self.ask(request)
    }

    /// The worker `worker-1` takes a job of `q`.
    pub fn pull(&self) {
        let pull = Pull {
            queue: Arc::from("q"),
            count: 1,
            bulk: false,
            timeout: Millis(0),
            owner: Some(Arc::from("worker-1")),
            lock_ttl: Millis(30_000),
            detach: false,
            group: None,
        };
        self.wait(self.broker.as_ref().unwrap().handle().act(Command::Pull(pull))).unwrap();
    }

    /// The key `k` as actions name it.
    pub fn key(&self, action: &str) -> Value {
        let row = self.ask(json!({ "type": "key", "queue": "q", "key": "k" }))["row"].clone();
        json!({ "type": action, "queue": "q", "key": "k", "ownerId": row["ownerId"], "generation": row["generation"] })
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.broker.take();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
