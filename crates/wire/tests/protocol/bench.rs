//! A broker without sockets, files or a clock: requests as JSON go through decoding, engine and encoding, time passes when a
//! test says so.

use bytes::BytesMut;
use onceover_engine::change::{Change, EndRow, GroupRow, JobRow, KeyRow, Snapshot};
use onceover_engine::effects::{Effects, Output};
use onceover_engine::names::{ConnId, Origin};
use onceover_engine::time::Timestamp;
use onceover_engine::{Engine, EngineConfig};
use onceover_wire::decode;
use onceover_wire::encode::{EncodeCtx, encode_error, encode_event, encode_reply};
use onceover_wire::frame::{FrameDecoder, NextFrame};
use onceover_wire::msgpack::{Raw, Value, write as pack_as};
use onceover_wire::request::Request;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// When every test begins, in milliseconds.
pub const START: i64 = 1_700_000_000_000;

/// One broker and what it said.
pub struct Bench {
    pub engine: Engine,
    now: i64,
    conn: u64,
    /// Answers to requests that were parked, with the connection and `reqId` of each.
    pub late: Vec<(u64, Json)>,
    /// Events since they were last looked at, in order; an answer stands among them as `"reply"`.
    events: Vec<Json>,
    config: EngineConfig,
    /// What the last start read.
    rows: Snapshot,
    /// Whether the engine's invariants are checked after every step.
    checked: bool,
}

impl Bench {
    pub fn new() -> Bench {
        Bench::with(EngineConfig::default())
    }

    pub fn with(config: EngineConfig) -> Bench {
        let engine = Engine::new(config.clone(), 7);
        let (late, events, rows) = (Vec::new(), Vec::new(), Snapshot::default());
        let mut bench = Bench { engine, now: START, conn: 1, late, events, config, rows, checked: true };
        bench.at(0);
        bench
    }

    /// From now on requests come over this connection.
    pub fn conn(&mut self, conn: u64) -> &mut Bench {
        self.conn = conn;
        self
    }

    /// Goes to a moment, in milliseconds after the start.
    pub fn at(&mut self, millis: i64) -> &mut Bench {
        self.now = START + millis;
        let mut effects = Effects::default();
        self.engine.tick(Timestamp(self.now), &mut effects);
        self.take(effects, None);
        self
    }

    /// Goes to a moment as the core does: not past anything that is due on the way.
    pub fn through(&mut self, millis: i64) -> &mut Bench {
        while let Some(next) = self.engine.next_deadline().filter(|next| next.0 <= START + millis) {
            self.at(next.0 - START);
        }
        self.at(millis)
    }

    /// Asks, and must be answered at once.
    pub fn ask(&mut self, request: &Json) -> Json {
        let payload = pack(request);
        self.ask_bytes(&payload).unwrap_or_else(|| panic!("{request} was parked"))
    }

    /// Asks; none = it is parked.
    pub fn ask_bytes(&mut self, payload: &[u8]) -> Option<Json> {
        let decoded = decode(payload);
        let req_id = decoded.req_id;
        match decoded.result {
            Ok(Request::Engine(command)) => {
                let mut effects = Effects::default();
                self.engine.tick(Timestamp(self.now), &mut effects);
                self.take(std::mem::take(&mut effects), None);
                let origin = Origin::Client { conn: ConnId(self.conn), request: 1 };
                self.engine.handle(Timestamp(self.now), origin, command, &mut effects);
                self.take(effects, Some(1))
            }
            Ok(other) => panic!("{other:?} is no request to the engine"),
            Err(error) => {
                let mut out = BytesMut::new();
                encode_error(&mut out, req_id.as_ref(), &error.to_string());
                Some(unframe(&out))
            }
        }
    }

    /// Parks a request under a number by which its answer is found in `late`.
    pub fn park(&mut self, conn: u64, request: &Json) -> &mut Bench {
        let was = std::mem::replace(&mut self.conn, conn);
        let answer = self.ask_bytes(&pack(request));
        assert_eq!(answer, None, "{request} was answered at once");
        self.conn = was;
        self
    }

    /// The text of a refusal.
    pub fn refusal(&mut self, request: &Json) -> String {
        let answer = self.ask(request);
        assert_eq!(answer["ok"], false, "{request} was accepted: {answer}");
        answer["error"].as_str().expect("a refusal has a text").to_owned()
    }

    /// Asks and must succeed.
    pub fn ok(&mut self, request: &Json) -> Json {
        let answer = self.ask(request);
        assert_eq!(answer["ok"], true, "{request}: {answer}");
        answer
    }

    /// Asks and must succeed; without a look at everything else, which takes long where there are many jobs.
    pub fn fast(&mut self, request: &Json) -> Json {
        self.checked = false;
        let answer = self.ok(request);
        self.checked = true;
        answer
    }

    /// Adds a job to queue `q` with these further fields and answers its id.
    pub fn push(&mut self, fields: Json) -> String {
        let answer = self.ok(&merged(json!({"cmd": "PUSH", "queue": "q"}), fields));
        text(&answer["id"])
    }

    /// Takes a job from queue `q` with these further fields: its id and token, both empty when there is none.
    pub fn pull(&mut self, fields: Json) -> (String, String) {
        let answer = self.ok(&merged(json!({"cmd": "PULL", "queue": "q"}), fields));
        (text(&answer["job"]["id"]), text(&answer["token"]))
    }

    /// Takes a job with a lock of `ttl` milliseconds.
    pub fn lock(&mut self, ttl: i64) -> (String, String) {
        self.pull(json!({"owner": "w", "lockTtl": ttl}))
    }

    pub fn job(&mut self, id: &str) -> Json {
        self.ok(&json!({"cmd": "GetJob", "id": id}))["job"].clone()
    }

    pub fn state(&mut self, id: &str) -> String {
        text(&self.ok(&json!({"cmd": "GetState", "id": id}))["state"])
    }

    pub fn counts(&mut self) -> Json {
        self.ok(&json!({"cmd": "GetJobCounts", "queue": "q"}))["counts"].clone()
    }

    /// The connection ends.
    pub fn drop_conn(&mut self, conn: u64) -> &mut Bench {
        let mut effects = Effects::default();
        self.engine.disconnect(Timestamp(self.now), ConnId(conn), &mut effects);
        self.take(effects, None);
        self
    }

    /// The broker stops without a word and starts again after `down` milliseconds.
    pub fn restart(&mut self, down: i64) -> &mut Bench {
        self.now += down;
        let mut effects = Effects::default();
        write(&mut self.rows, &self.engine);
        let rows = self.rows.clone();
        let engine = Engine::restore(self.config.clone(), 8, rows, Timestamp(self.now), &mut effects);
        self.engine = engine.expect("what an engine wrote can be read");
        self.take(effects, None);
        self.at(self.now - START)
    }

    /// Events since the last look, as sent, without `timestamp` and `queue`.
    pub fn events(&mut self) -> Vec<Json> {
        std::mem::take(&mut self.events).into_iter().filter(|event| event != "reply").collect()
    }

    /// Types of the events since the last look, and `reply` where the answer stood.
    pub fn order(&mut self) -> String {
        let word = |event: &Json| event["eventType"].as_str().or(event.as_str()).unwrap_or_default().to_owned();
        std::mem::take(&mut self.events).iter().map(word).collect::<Vec<_>>().join(" ")
    }

    fn take(&mut self, effects: Effects, asked: Option<u64>) -> Option<Json> {
        if self.checked {
            self.engine.check(Timestamp(self.now));
        }
        let mut answer = None;
        for output in effects.outputs {
            let mut out = BytesMut::new();
            match output {
                Output::Reply { to, reply } => {
                    encode_reply(&mut out, None, &reply, EncodeCtx::default());
                    let Origin::Client { conn, .. } = to else { panic!("an answer to a client") };
                    if asked.is_some() && answer.is_none() && conn == ConnId(self.conn) {
                        answer = Some(unframe(&out));
                        self.events.push(json!("reply"));
                    } else {
                        self.late.push((conn.0, unframe(&out)));
                    }
                }
                Output::Event(event) => {
                    encode_event(&mut out, &event);
                    let mut frame = unframe(&out);
                    assert_eq!(frame["type"], "event");
                    let body = frame["event"].as_object_mut().expect("an event has a body");
                    assert_eq!(body.remove("timestamp"), Some(json!(self.now as f64)));
                    assert!(body.remove("queue").is_some_and(|queue| queue.is_string()));
                    self.events.push(frame["event"].take());
                }
            }
        }
        answer
    }
}

/// Writes what an engine changed since it was made of `rows`.
fn write(rows: &mut Snapshot, engine: &Engine) {
    let none: Result<(), ()> = engine.for_each_change(&mut |change| {
        match change {
            Change::PutJob { job, queue, .. } => {
                rows.jobs.retain(|row| row.job.key != job.key);
                rows.jobs.push(JobRow { job: job.as_stored(), queue: Arc::from(queue) });
            }
            Change::DeleteJob { key, keep_result: _ } => rows.jobs.retain(|row| row.job.key != key),
            Change::PutKey { entry, queue, .. } => {
                rows.keys.retain(|row| row.entry.entry != entry.entry);
                rows.keys.push(KeyRow { entry: entry.clone(), queue: Arc::from(queue) });
            }
            Change::DropTakenKey(_) | Change::PutTaken { .. } | Change::DeleteTaken(_) => {}
            Change::DeleteKey(entry) => rows.keys.retain(|row| row.entry.entry != entry),
            Change::PutQueue { name, settings } => {
                rows.queues.retain(|(other, _)| **other != *name);
                rows.queues.push((Arc::from(name), settings.clone()));
            }
            Change::DeleteQueue(name) => rows.queues.retain(|(other, _)| **other != *name),
            Change::PutGroup { queue, group, settings } => {
                rows.groups.retain(|row| (&*row.queue, &*row.group) != (queue, group));
                rows.groups.push(GroupRow { queue: Arc::from(queue), group: Arc::from(group), settings });
            }
            Change::DeleteGroup { queue, group } => {
                rows.groups.retain(|row| (&*row.queue, &*row.group) != (queue, group));
            }
            Change::PutWebhook(webhook) => rows.webhooks.push(webhook.clone()),
            Change::DeleteWebhook(_) => {}
            Change::Reserve(number) => rows.reserved = number,
            Change::PutCompletedId { n, id } => rows.completed_ids.push((n, Arc::from(id))),
            Change::DeleteCompletedId(n) => rows.completed_ids.retain(|(other, _)| *other != n),
            Change::PutSchedule { schedule, .. } => {
                rows.schedules.retain(|row| row.id != schedule.id);
                rows.schedules.push(schedule.clone());
            }
            Change::DeleteSchedule(id) => rows.schedules.retain(|row| row.id != id),
            Change::PutEnd { job, dependency, end } => {
                let row = EndRow { job, dependency: Arc::from(dependency), end: end.clone() };
                rows.ends.retain(|other| other.end.number != row.end.number);
                rows.ends.push(row);
            }
            Change::DeleteEnd(number) => rows.ends.retain(|row| row.end.number != number),
            // Results are not kept here.
            Change::PutResult { .. } | Change::DeleteResult(_) => {}
        }
        Ok(())
    });
    none.expect("collecting cannot fail");
    rows.jobs.sort_by_key(|row| row.job.key);
}

/// A JSON text, empty for nil and for what is not there.
pub fn text(value: &Json) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// One object with the members of both.
pub fn merged(mut base: Json, more: Json) -> Json {
    let members = base.as_object_mut().expect("an object");
    members.extend(more.as_object().expect("an object").clone());
    base
}

/// A JSON value as MessagePack; `{"$undefined": true}` becomes extension type 0, `{"$nan": true}` the float of that name.
pub fn pack(json: &Json) -> Vec<u8> {
    let mut out = BytesMut::new();
    pack_into(&mut out, json);
    out.to_vec()
}

fn pack_into(out: &mut BytesMut, json: &Json) {
    match json {
        Json::Null => pack_as::nil(out),
        Json::Bool(value) => pack_as::bool(out, *value),
        Json::Number(number) => match number.as_i64() {
            Some(value) => pack_as::int(out, value),
            None => pack_as::float(out, number.as_f64().expect("a number")),
        },
        Json::String(text) => pack_as::str(out, text),
        Json::Array(items) => {
            pack_as::array(out, items.len());
            items.iter().for_each(|item| pack_into(out, item));
        }
        Json::Object(members) if members.contains_key("$nan") => pack_as::float(out, f64::NAN),
        Json::Object(members) if members.contains_key("$undefined") => out.extend_from_slice(&[0xd4, 0, 0]),
        Json::Object(members) => {
            pack_as::map(out, members.len());
            for (name, value) in members {
                pack_as::str(out, name);
                pack_into(out, value);
            }
        }
    }
}

/// The one frame in `bytes`, as JSON. Integers stay integers and floats floats.
fn unframe(bytes: &[u8]) -> Json {
    let mut decoder = FrameDecoder::new();
    decoder.feed(bytes);
    let NextFrame::Payload(payload) = decoder.next_frame() else { panic!("a whole frame") };
    unpack(Raw::parse(payload).expect("one value"))
}

fn unpack(raw: Raw<'_>) -> Json {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match raw.value() {
        Value::Absent => json!({"$undefined": true}),
        Value::Nil => Json::Null,
        Value::Bool(value) => Json::Bool(value),
        Value::Int(value) => json!(i64::try_from(value).expect("a small integer")),
        Value::Float(value) => json!(value),
        Value::Str(bytes) => Json::String(text(bytes)),
        Value::Bin(bytes) => Json::String(format!("bin:{}", text(bytes))),
        Value::Ext(kind, bytes) => Json::String(format!("ext{kind}:{}", text(bytes))),
        Value::Array(array) => array.iter().map(unpack).collect(),
        Value::Map(map) => Json::Object(map.iter().map(|(key, value)| (text(&key), unpack(value))).collect()),
    }
}
