//! A client of raw frames for tests, and brokers to connect it to. Messages are written and read as JSON values.

#![allow(clippy::unwrap_used, dead_code)] // A failed step is a failed test; no test uses all of it.

use bytes::BytesMut;
use onceover_broker::conn_table::ProblemEntry;
use onceover_broker::{Broker, BrokerConfig, BrokerStatus, DataPlace};
use onceover_store::SimDisk;
use onceover_wire::msgpack::{Raw, Value, write};
use serde_json::{Map, Number, json};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Longer than anything here takes; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(20);

/// A broker on a free port of loopback, its rows on `disk`.
pub fn start(disk: &SimDisk, tokens: &[&str]) -> Broker {
    start_with(disk, |config| config.auth_tokens = tokens.iter().map(|token| (*token).to_owned()).collect())
}

/// The same with other settings.
pub fn start_with(disk: &SimDisk, change: impl FnOnce(&mut BrokerConfig)) -> Broker {
    let mut config = BrokerConfig::new(DataPlace::Folder("simulated".into()));
    config.port = 0;
    change(&mut config);
    let addr = config.addr();
    let broker = Broker::with_storage(config, disk.open().unwrap(), "simulated".into()).unwrap();
    broker.listen(addr).unwrap();
    broker
}

/// A client of `broker`.
pub fn connect(broker: &Broker) -> Client {
    let BrokerStatus::Listening { addr } = broker.handle().status() else { panic!("it does not listen") };
    Client::new(addr)
}

/// A socket to `addr`, with patience.
pub fn socket(addr: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(addr).unwrap();
    socket.set_nodelay(true).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.set_write_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// The problems that were told, newest first.
pub fn problems(broker: &Broker) -> Vec<ProblemEntry> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let handle = broker.handle();
    runtime.block_on(handle.view(|core| core.connections.problems().cloned().collect())).unwrap()
}

/// The newest problem with this label, once there is one.
pub fn problem(broker: &Broker, label: &str) -> ProblemEntry {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let told = problems(broker);
        if let Some(entry) = told.iter().find(|entry| entry.problem.label == label) {
            return entry.clone();
        }
        assert!(Instant::now() < deadline, "no {label} among {told:?}");
        std::thread::yield_now();
    }
}

/// One connection.
pub struct Client<S = TcpStream> {
    socket: S,
    sent: u64,
}

impl Client {
    pub fn new(addr: SocketAddr) -> Client {
        Client::over(socket(addr))
    }

    /// Whether nothing comes for this long.
    pub fn is_silent(&self, time: Duration) -> bool {
        self.socket.set_read_timeout(Some(time)).unwrap();
        let silent = self.socket.peek(&mut [0]).is_err();
        self.socket.set_read_timeout(Some(PATIENCE)).unwrap();
        silent
    }

    /// We send nothing any more.
    pub fn half_close(&mut self) {
        self.socket.shutdown(Shutdown::Write).unwrap();
    }
}

impl<S: Read + Write> Client<S> {
    pub fn over(socket: S) -> Client<S> {
        Client { socket, sent: 0 }
    }

    pub fn stream(&self) -> &S {
        &self.socket
    }

    /// Sends a command; its number is the answer's `reqId`.
    pub fn send(&mut self, cmd: &str, fields: serde_json::Value) -> u64 {
        let bytes = self.frame(cmd, fields);
        self.raw(&bytes);
        self.sent
    }

    /// Sends several commands in one write.
    pub fn send_together(&mut self, commands: &[(&str, serde_json::Value)]) {
        let frames: Vec<Vec<u8>> = commands.iter().map(|(cmd, fields)| self.frame(cmd, fields.clone())).collect();
        self.raw(&frames.concat());
    }

    /// Sends a command and returns the next message.
    pub fn call(&mut self, cmd: &str, fields: serde_json::Value) -> serde_json::Value {
        self.send(cmd, fields);
        self.read().expect("an answer")
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    /// As `raw`, but the broker may have closed the connection.
    pub fn try_raw(&mut self, bytes: &[u8]) -> bool {
        self.socket.write_all(bytes).is_ok()
    }

    /// The next message; none when the broker closed the connection.
    pub fn read(&mut self) -> Option<serde_json::Value> {
        let mut header = [0; 4];
        self.exactly(&mut header)?;
        let mut payload = vec![0; u32::from_be_bytes(header) as usize];
        self.exactly(&mut payload)?;
        Some(to_json(Raw::parse(&payload).expect("the broker writes MessagePack")))
    }

    /// Sends a command with a request id of its own.
    pub fn send_as(&mut self, req_id: &str, cmd: &str, fields: serde_json::Value) {
        let bytes = framed(req_id, cmd, fields);
        self.raw(&bytes);
    }

    pub fn frame(&mut self, cmd: &str, fields: serde_json::Value) -> Vec<u8> {
        self.sent += 1;
        framed(&self.sent.to_string(), cmd, fields)
    }

    fn exactly(&mut self, buffer: &mut [u8]) -> Option<()> {
        match self.socket.read_exact(buffer) {
            Ok(()) => Some(()),
            Err(error) => {
                let timed_out = matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut);
                assert!(!timed_out, "no answer in time");
                None
            }
        }
    }
}

fn framed(req_id: &str, cmd: &str, mut fields: serde_json::Value) -> Vec<u8> {
    fields["cmd"] = json!(cmd);
    fields["reqId"] = json!(req_id);
    let mut payload = BytesMut::new();
    pack(&mut payload, &fields);
    let header = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&header, &payload[..]].concat()
}

fn pack(out: &mut BytesMut, value: &serde_json::Value) {
    match value {
        serde_json::Value::Null => write::nil(out),
        serde_json::Value::Bool(value) => write::bool(out, *value),
        serde_json::Value::Number(value) if value.is_f64() => write::float(out, value.as_f64().unwrap()),
        serde_json::Value::Number(value) => write::number(out, value.as_f64().unwrap()),
        serde_json::Value::String(text) => write::str(out, text),
        serde_json::Value::Array(items) => {
            write::array(out, items.len());
            items.iter().for_each(|item| pack(out, item));
        }
        serde_json::Value::Object(fields) => {
            write::map(out, fields.len());
            for (key, value) in fields {
                write::str(out, key);
                pack(out, value);
            }
        }
    }
}

fn to_json(raw: Raw<'_>) -> serde_json::Value {
    let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    match raw.value() {
        Value::Absent | Value::Nil => serde_json::Value::Null,
        Value::Bool(value) => value.into(),
        Value::Int(value) => i64::try_from(value).unwrap().into(),
        Value::Float(value) => Number::from_f64(value).map_or(serde_json::Value::Null, Into::into),
        Value::Str(bytes) | Value::Bin(bytes) => text(bytes).into(),
        Value::Ext(kind, _) => format!("ext {kind}").into(),
        Value::Array(items) => items.iter().map(to_json).collect(),
        Value::Map(fields) => {
            let fields = fields.iter().map(|(key, value)| (text(&key), to_json(value)));
            serde_json::Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}
