//! A command that comes over HTTP: its fields are put into the frame that a client would send and decoded by the same
//! rules, so no rule about a command is written twice. The answer is the client's as JSON, without a request number.

use bytes::BytesMut;
use onceover_broker::{BrokerDown, BrokerHandle, monitor};
use onceover_engine::command::Command;
use onceover_wire::decode;
use onceover_wire::encode::{EncodeCtx, encode_error, encode_hello, encode_pong, encode_reply};
use onceover_wire::frame::FRAME_HEADER_BYTES;
use onceover_wire::json::{from_json, to_json, write_json};
use onceover_wire::msgpack::write::{self, MapWriter};
use onceover_wire::msgpack::{Map, Raw, Value};
use onceover_wire::request::Request;
use serde_json::Value as Json;

/// A body: a JSON object. The empty text is one without members.
#[derive(Clone, Debug, Default)]
pub struct Body(Vec<u8>);

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether it was carried out.
    pub ok: bool,
    /// All of it.
    pub json: String,
}

impl Body {
    /// # Errors
    /// The text is not a JSON object.
    pub fn parse(text: &[u8]) -> Result<Body, String> {
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(Body::default());
        }
        let value = from_json(text).map_err(|_| "Invalid JSON body".to_owned())?;
        match Raw::parse(&value).map(Raw::value) {
            Ok(Value::Map(_)) => Ok(Body(value.to_vec())),
            Ok(_) | Err(_) => Err("The body must be a JSON object".to_owned()),
        }
    }

    fn members(&self) -> Option<Map<'_>> {
        match Raw::parse(&self.0).ok()?.value() {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Whether there is such a member.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.members().is_some_and(|map| map.get(name).is_some())
    }

    /// A number, such as a time to wait.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        self.members()?.get(name)?.value().number()
    }
}

/// A command with its fields. Of fields that are set twice the last one counts.
#[derive(Clone, Debug)]
pub struct Call {
    fields: Vec<(String, Vec<u8>)>,
}

impl Call {
    /// The command of that name.
    #[must_use]
    pub fn new(cmd: &str) -> Call {
        Call { fields: Vec::new() }.text("cmd", cmd)
    }

    /// Sets a field.
    #[must_use]
    pub fn text(self, name: &str, value: &str) -> Call {
        self.with(name, |out| write::str(out, value))
    }

    /// Sets a field.
    #[must_use]
    pub fn json(self, name: &str, value: &Json) -> Call {
        self.with(name, |out| write_json(out, value))
    }

    /// Takes these members of a body, as they are.
    #[must_use]
    pub fn take(mut self, body: &Body, names: &[&str]) -> Call {
        for name in names {
            self = self.take_as(body, name, name);
        }
        self
    }

    /// Takes a member under another name.
    #[must_use]
    pub fn take_as(mut self, body: &Body, name: &str, field: &str) -> Call {
        if let Some(value) = body.members().and_then(|map| map.get(name)) {
            self.fields.push((field.to_owned(), value.bytes().to_vec()));
        }
        self
    }

    /// Takes all members but those that name the command and its request.
    #[must_use]
    pub fn take_all(mut self, body: &Body) -> Call {
        for (name, value) in body.members().into_iter().flat_map(Map::iter) {
            let name = String::from_utf8_lossy(&name);
            if !matches!(&*name, "cmd" | "reqId") {
                self.fields.push((name.into_owned(), value.bytes().to_vec()));
            }
        }
        self
    }

    /// Takes the whole body as one field.
    #[must_use]
    pub fn nest(mut self, body: &Body, field: &str) -> Call {
        if body.members().is_some() {
            self.fields.push((field.to_owned(), body.0.clone()));
        }
        self
    }

    fn with(mut self, name: &str, write: impl FnOnce(&mut BytesMut)) -> Call {
        let mut value = BytesMut::new();
        write(&mut value);
        self.fields.push((name.to_owned(), value.to_vec()));
        self
    }

    fn frame(&self) -> BytesMut {
        let mut out = BytesMut::new();
        let mut map = MapWriter::begin(&mut out);
        self.fields.iter().for_each(|(name, value)| map.raw(name, value));
        drop(map);
        out
    }

    /// The command to the engine that it is, or what a client would be told.
    ///
    /// # Errors
    /// A field is not right, or it is no command to the engine.
    pub fn command(&self) -> Result<Command, String> {
        match decode(&self.frame()).result {
            Ok(Request::Engine(command)) => Ok(command),
            Ok(_) => Err("This is no command to the engine".to_owned()),
            Err(error) => Err(error.text),
        }
    }

    /// Carries it out.
    ///
    /// # Errors
    /// The broker has ended, or the file cannot be written.
    pub async fn run(&self, broker: &BrokerHandle) -> Result<Answer, BrokerDown> {
        let mut out = BytesMut::new();
        match decode(&self.frame()).result {
            Ok(Request::Engine(command)) => {
                let reply = broker.act_for_client(command).await?;
                encode_reply(&mut out, None, &reply, EncodeCtx::default());
            }
            Ok(Request::Monitor(question)) => {
                let body = broker.view(move |core| monitor::answer(core, &question)).await?;
                return Ok(Answer::ok(body));
            }
            Ok(Request::Ping) => encode_pong(&mut out, None, broker.now()),
            Ok(Request::Hello) => encode_hello(&mut out, None),
            Ok(Request::Auth { .. } | Request::Subscribe { .. } | Request::Unsubscribe) => {
                encode_error(&mut out, None, "This command belongs to a connection");
            }
            Err(error) => encode_error(&mut out, None, &error.text),
        }
        let body = &out[FRAME_HEADER_BYTES..];
        let ok = match Raw::parse(body).map(Raw::value) {
            Ok(Value::Map(map)) => map.get("ok").is_some_and(|ok| ok.value() == Value::Bool(true)),
            Ok(_) | Err(_) => false,
        };
        Ok(Answer { ok, json: to_json(body) })
    }
}

impl Answer {
    /// These members, with `ok` in front unless they say so themselves.
    #[must_use]
    pub fn ok(body: Json) -> Answer {
        let mut members = serde_json::Map::new();
        members.insert("ok".to_owned(), Json::Bool(true));
        if let Json::Object(body) = body {
            members.extend(body);
        }
        Answer { ok: true, json: Json::Object(members).to_string() }
    }

    /// An error of this text.
    #[must_use]
    pub fn error(text: &str) -> Answer {
        Answer { ok: false, json: serde_json::json!({ "ok": false, "error": text }).to_string() }
    }

    /// The answer as a tree, to be put together anew.
    #[must_use]
    pub fn tree(&self) -> Json {
        serde_json::from_str(&self.json).unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "call_tests.rs"]
mod call_tests;
