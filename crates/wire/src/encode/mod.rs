//! Answers and events to frames. Each function appends one whole frame, length included.
//!
//! Keys without a value are left out; nil stands only where clients need it (a job's nullable fields, an empty PULL, a
//! free key). Timestamps are float64, counts are integers: see `msgpack::write`. Nothing is checked here: what the
//! engine says is written down.

mod event;
mod figures;
mod flow;
mod group;
mod job;
mod limit;
mod reply;
mod schedule;
mod webhook;

use crate::frame::write_frame;
use crate::json::write_json;
use crate::msgpack::write::{self, MapWriter};
use crate::request::ReqId;
use bytes::BytesMut;
use onceover_engine::names::JobId;
use onceover_engine::reply::Reply;
use onceover_engine::time::Timestamp;

pub use event::{encode_event, encode_unsubscribed};

/// What an answer depends on besides its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodeCtx {
    /// The connection has shown that it speaks protocol 2: job names are put back into job data (see `envelope`).
    pub protocol2: bool,
}

/// Appends the answer to an engine command.
pub fn encode_reply(out: &mut BytesMut, req_id: Option<&ReqId>, reply: &Reply, ctx: EncodeCtx) {
    answer(out, req_id, |map| reply::reply(map, reply, ctx));
}

/// Appends `{ok: false, error}`.
pub fn encode_error(out: &mut BytesMut, req_id: Option<&ReqId>, text: &str) {
    answer(out, req_id, |map| reply::refusal(map, text));
}

/// Appends the answer to Hello. Clients look for bunqueue and the version whose protocol this is.
pub fn encode_hello(out: &mut BytesMut, req_id: Option<&ReqId>) {
    answer(out, req_id, |map| {
        map.bool("ok", true);
        map.int("protocolVersion", 3);
        map.strs("capabilities", &["pipelining", "separate-job-name"]);
        map.str("server", "bunqueue");
        map.str("version", "2.9.5");
        map.str("implementation", "onceover");
    });
}

/// Appends an answer made of the members of a tree, which must be an object. `ok` is put in front.
pub fn encode_figures(out: &mut BytesMut, req_id: Option<&ReqId>, body: &serde_json::Value) {
    answer(out, req_id, |map| {
        map.bool("ok", true);
        for (name, value) in body.as_object().into_iter().flatten() {
            write_json(map.key(name), value);
        }
    });
}

/// Appends the answer to Ping.
pub fn encode_pong(out: &mut BytesMut, req_id: Option<&ReqId>, now: Timestamp) {
    answer(out, req_id, |map| {
        map.bool("ok", true);
        let mut data = map.map("data");
        data.bool("pong", true);
        data.time("time", now.0);
    });
}

/// One frame with one map, the request's number last. An answer that has no frame form becomes an error.
fn answer(out: &mut BytesMut, req_id: Option<&ReqId>, write: impl FnOnce(&mut MapWriter<'_>)) {
    let written = write_frame(out, |out| {
        let mut map = MapWriter::begin(out);
        write(&mut map);
        if let Some(req_id) = req_id {
            map.raw("reqId", req_id.bytes());
        }
    });
    if written.is_none() {
        encode_error(out, req_id, "Reply too large");
    }
}

/// Appends an id as text, without an allocation.
pub(crate) fn write_id(out: &mut BytesMut, id: &JobId) {
    match id {
        JobId::Text(text) => write::str(out, text),
        JobId::Uuid(uuid) => write::str_array(out, &uuid.text()),
    }
}

/// Appends an array of ids.
pub(crate) fn write_ids<'a>(out: &mut BytesMut, ids: impl ExactSizeIterator<Item = &'a JobId>) {
    write::array(out, ids.len());
    ids.for_each(|id| write_id(out, id));
}
