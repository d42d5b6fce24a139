//! The broker of a script: engine and store, clock and connections, with everything looked at after every step.

use crate::frames::decode;
use crate::values::Known;
use bytes::BytesMut;
use onceover_engine::calendar::Zone;
use onceover_engine::change::Change;
use onceover_engine::command::Command;
use onceover_engine::dedup::DedupWindow;
use onceover_engine::effects::{Effects, Output};
use onceover_engine::job::{Extra, Job};
use onceover_engine::names::{ConnId, JobId, JobKey, Origin};
use onceover_engine::reply::Reply;
use onceover_engine::time::{Millis, Timestamp};
use onceover_engine::webhook;
use onceover_engine::{Engine, EngineConfig};
use onceover_store::{SimDisk, SimStore, Storage};
use onceover_wire::encode::{EncodeCtx, encode_error, encode_event, encode_reply};
use onceover_wire::frame::{FrameDecoder, NextFrame};
use onceover_wire::msgpack::{Raw, Value};
use onceover_wire::request::{ReqId, Request};
use std::collections::BTreeSet;

/// Ids and tokens remembered for later requests.
const KNOWN_MAX: usize = 64;

pub struct World {
    engine: Engine,
    disk: SimDisk,
    store: SimStore,
    now: Timestamp,
    seed: u64,
    requests: u64,
    protocol2: bool,
    pub known: Known,
    /// Commands that were carried out and not refused.
    pub accepted: BTreeSet<&'static str>,
}

impl World {
    pub fn new(until_done: bool) -> World {
        // Small bounds, so that a short script meets them.
        let config = EngineConfig {
            dedup_window: if until_done { DedupWindow::UntilDone } else { DedupWindow::Ttl },
            completed_max: 4,
            failed_max: 3,
            strict_webhooks: until_done,
            fingerprint: onceover_wire::fingerprint,
            zone: Zone::utc(),
            ..EngineConfig::default()
        };
        let disk = SimDisk::default();
        let store = disk.open().expect("nobody else uses the disk");
        let engine = Engine::new(config, 1);
        let now = Timestamp(1_700_000_000_000);
        World {
            engine,
            disk,
            store,
            now,
            seed: 1,
            requests: 0,
            protocol2: false,
            known: Known::default(),
            accepted: BTreeSet::new(),
        }
    }

    pub fn pass(&mut self, time: Millis) {
        self.now = self.now.plus(time);
        let mut effects = Effects::default();
        self.engine.tick(self.now, &mut effects);
        self.settle(effects, None);
    }

    pub fn disconnect(&mut self, conn: u64) {
        let mut effects = Effects::default();
        self.engine.tick(self.now, &mut effects);
        self.engine.disconnect(self.now, ConnId(conn), &mut effects);
        self.settle(effects, None);
    }

    pub fn hang_up(&mut self, conn: u64) {
        let mut effects = Effects::default();
        self.engine.tick(self.now, &mut effects);
        self.engine.hang_up(self.now, ConnId(conn), &mut effects);
        self.settle(effects, None);
    }

    /// What was committed is read back; everything else is gone.
    pub fn restart(&mut self) {
        self.commit();
        let before = self.engine.jobs_len();
        let World { store, disk, .. } = self;
        drop(std::mem::replace(store, SimDisk::default().open().expect("a disk of its own")));
        *store = disk.open().expect("the store before is gone");
        let rows = store.load().expect("what was stored can be read");
        assert_eq!(rows.jobs.len(), before, "every job has a row");
        self.seed += 1;
        let mut effects = Effects::default();
        let restored = Engine::restore(self.engine.config().clone(), self.seed, rows, self.now, &mut effects);
        self.engine = restored.expect("what an engine wrote can be true");
        let mut later = Effects::default();
        self.engine.tick(self.now, &mut later);
        self.settle(effects, None);
        self.settle(later, None);
    }

    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The generation that has an id now and the fingerprint of its data, as the window would have seen them.
    pub fn generation_of(&self, id: &JobId) -> (JobKey, u64) {
        self.engine.job(id).map_or((JobKey(0), 0), |job| (job.key, job.fingerprint))
    }

    /// A command of the window.
    pub fn act(&mut self, command: Command) {
        let mut effects = Effects::default();
        self.engine.tick(self.now, &mut effects);
        self.engine.handle(self.now, Origin::Inspector { call: 1 }, command, &mut effects);
        self.settle(effects, None);
    }

    /// One frame's payload, from decoding to the frames of its answers.
    pub fn request(&mut self, conn: u64, name: Option<&'static str>, payload: &[u8]) {
        let decoded = decode(payload);
        self.protocol2 |= decoded.protocol2;
        let req_id = decoded.req_id;
        match decoded.result {
            Ok(Request::Engine(command)) => {
                self.requests += 1;
                let origin = Origin::Client { conn: ConnId(conn), request: self.requests };
                let mut effects = Effects::default();
                self.engine.tick(self.now, &mut effects);
                self.engine.handle(self.now, origin, command, &mut effects);
                let is_refused = |output: &Output| matches!(output, Output::Reply { reply: Reply::Rejected(_), .. });
                if !effects.outputs.iter().any(is_refused) {
                    self.accepted.extend(name);
                }
                self.settle(effects, req_id.as_ref());
            }
            Ok(
                Request::Hello
                | Request::Ping
                | Request::Auth { .. }
                | Request::Subscribe { .. }
                | Request::Unsubscribe
                | Request::Monitor(_),
            ) => self.accepted.extend(name),
            Err(error) => {
                let mut out = BytesMut::new();
                encode_error(&mut out, req_id.as_ref(), &error.to_string());
                assert_eq!(well_formed(&out), 1, "a refusal is one frame");
            }
        }
    }

    /// After every step: what must hold holds, what is to be sent has a form, what is to be stored can be read back.
    fn settle(&mut self, effects: Effects, req_id: Option<&ReqId>) {
        self.engine.check(self.now);
        let ctx = EncodeCtx { protocol2: self.protocol2 };
        let mut out = BytesMut::new();
        let sent = effects.outputs.len();
        for output in effects.outputs {
            match output {
                Output::Reply { reply, .. } => {
                    encode_reply(&mut out, req_id, &reply, ctx);
                    self.learn(reply);
                }
                Output::Event(event) => encode_event(&mut out, &event),
            }
        }
        assert_eq!(well_formed(&out), sent, "every answer and every event is one frame");
        self.commit();
        let next = self.engine.next_deadline();
        assert!(next.is_none_or(|at| at > self.now), "a deadline that is over was not acted upon: {next:?}");
    }

    fn learn(&mut self, reply: Reply) {
        let Known { ids, tokens, webhooks } = &mut self.known;
        match reply {
            Reply::Webhook(webhook::Answer::Added(webhook)) => webhooks.push(webhook.id.to_string()),
            Reply::Added(added) => ids.push(added.id.to_string()),
            Reply::AddedBulk(all) => ids.extend(all.iter().map(|added| added.id.to_string())),
            Reply::Pulled { job: Some(job), .. } => {
                ids.push(job.record.job.id.to_string());
                tokens.extend(job.token);
            }
            Reply::PulledBulk { jobs, .. } => {
                for job in jobs {
                    ids.push(job.record.job.id.to_string());
                    tokens.extend(job.token);
                }
            }
            _ => {}
        }
        for list in [ids, tokens, webhooks] {
            let over = list.len().saturating_sub(KNOWN_MAX);
            list.drain(..over);
        }
    }

    fn commit(&mut self) {
        let readable: Result<(), ()> = self.engine.for_each_change(&mut |change| {
            if let Change::PutJob { job, .. } = change {
                reads_back(job);
            }
            Ok(())
        });
        readable.expect("looking cannot fail");
        self.store.commit(&self.engine, false).expect("nothing lets a commit fail here");
        self.engine.committed();
    }
}

/// The stored texts of a job say what the job says.
fn reads_back(job: &Job) {
    let spec = serde_json::to_string(&job.spec).expect("a spec has a text");
    let read = serde_json::from_str(&spec).ok();
    assert_eq!(read.as_ref(), Some(&job.spec), "{spec}");
    let extra = job.as_stored().extra;
    let text = serde_json::to_string(&extra).expect("what grew with a job has a text");
    let read: Option<Extra> = serde_json::from_str(&text).ok();
    assert_eq!(read.as_ref(), Some(&extra), "{text}");
}

/// The number of frames, each of which holds one map with text keys, each of them once.
fn well_formed(bytes: &[u8]) -> usize {
    let mut decoder = FrameDecoder::new();
    decoder.feed(bytes);
    let mut count = 0;
    loop {
        match decoder.next_frame() {
            NextFrame::Payload(payload) => {
                count += 1;
                let raw = Raw::parse(payload).expect("what is sent is one value");
                let Value::Map(map) = raw.value() else { panic!("what is sent is a map") };
                let mut names: Vec<_> = map.iter().map(|(name, _)| name).collect();
                names.sort();
                let all = names.len();
                names.dedup();
                assert_eq!(names.len(), all, "a key is sent once");
                assert!(map.get("ok").is_some() || map.get("type").is_some(), "an answer or an event");
            }
            NextFrame::Oversize { payload_bytes } => panic!("a frame of {payload_bytes} bytes"),
            NextFrame::Incomplete => break,
        }
    }
    assert!(!decoder.has_partial_frame(), "bytes behind the last frame");
    count
}
