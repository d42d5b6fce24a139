//! What one request frame turned out to be: [`Decoded`].
//!
//! The types that pass between this crate and a connection. No logic beyond the texts of errors.

use onceover_engine::command::Command;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The request's own number, kept as the MessagePack bytes of its value: it goes back with the type it came with.
#[derive(Clone, PartialEq, Eq)]
pub struct ReqId(Bytes);

/// Short ids, which is all the clients make, stay inline.
#[derive(Clone, PartialEq, Eq)]
enum Bytes {
    Inline { length: u8, bytes: [u8; INLINE_BYTES] },
    Heap(Box<[u8]>),
}

const INLINE_BYTES: usize = 22;

impl ReqId {
    pub(crate) fn new(value: &[u8]) -> ReqId {
        let mut bytes = [0; INLINE_BYTES];
        match bytes.get_mut(..value.len()) {
            Some(inline) => {
                inline.copy_from_slice(value);
                ReqId(Bytes::Inline { length: value.len() as u8, bytes })
            }
            None => ReqId(Bytes::Heap(value.into())),
        }
    }

    /// The MessagePack value.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Inline { length, bytes } => &bytes[..usize::from(*length)],
            Bytes::Heap(bytes) => bytes,
        }
    }
}

impl fmt::Debug for ReqId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ReqId({:02x?})", self.bytes())
    }
}

/// A request that can be carried out.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Hello: who is there.
    Hello,
    /// Ping.
    Ping,
    /// Auth.
    Auth {
        /// The secret, empty when none came.
        token: String,
    },
    /// SubscribeEvents: from now on this queue's events, instead of another queue's.
    Subscribe {
        /// The queue.
        queue: Arc<str>,
    },
    /// UnsubscribeEvents.
    Unsubscribe,
    /// A question about the broker as a whole, which the engine alone cannot answer.
    Monitor(Monitor),
    /// Everything that the engine answers.
    Engine(Command),
}

/// What can be asked about the broker as a whole (protocol-admin.md 11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Monitor {
    /// Stats.
    Stats,
    /// Metrics without a queue.
    Metrics,
    /// Metrics of one queue.
    QueueMetrics {
        /// Which.
        queue: Arc<str>,
        /// Final failures instead of completions.
        failed: bool,
        /// The first minute, 0 = the newest.
        start: usize,
        /// The last one; none = the oldest.
        end: Option<usize>,
    },
    /// Prometheus.
    Prometheus,
    /// StorageStatus.
    StorageStatus,
    /// CompactMemory.
    CompactMemory,
    /// DashboardOverview.
    Overview,
    /// DashboardQueues.
    Queues,
    /// DashboardQueue.
    Queue {
        /// Which.
        queue: Arc<str>,
        /// Jobs to show of each state; none = no jobs.
        jobs: Option<usize>,
    },
    /// TrimEvents. No journal of events is kept, so there is nothing to remove.
    TrimEvents,
}

/// One request frame, decoded as far as it goes.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// To be echoed in the reply; none when there was none, or when the frame was too broken to say.
    pub req_id: Option<ReqId>,
    /// The command's name, for logs; known commands are borrowed.
    pub cmd: Option<Cow<'static, str>>,
    /// What is asked, or what to answer instead.
    pub result: Result<Request, DecodeError>,
    /// This frame shows that its connection speaks protocol 2: a name inside the data, or an id that only those clients
    /// make. The connection remembers it, see [`crate::encode::EncodeCtx`].
    pub protocol2: bool,
}

/// A request that cannot be carried out. `Display` is the answer's text.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{text}")]
pub struct DecodeError {
    /// The answer's text.
    pub text: String,
    /// What kind of mistake it was.
    pub kind: DecodeErrorKind,
    /// What could be read of an add that is refused, so that it can be shown.
    pub add: Option<Box<RefusedAdd>>,
}

/// How far the request was understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeErrorKind {
    /// Not one MessagePack value, nesting too deep, or an identifier that is not UTF-8.
    BadFrame,
    /// No map, or a map without a command.
    BadCommand,
    /// A command that this broker does not have.
    Unknown,
    /// A field is missing or not as it must be.
    Invalid,
}

/// The add inside a refused PUSH or PUSHB, as far as it could be read. Texts are shown, not used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusedAdd {
    /// The queue.
    pub queue: Option<String>,
    /// The job's name.
    pub name: Option<String>,
    /// The deduplication key.
    pub key: Option<String>,
    /// The custom id.
    pub custom_id: Option<String>,
}

impl DecodeError {
    pub(crate) fn bad_frame() -> DecodeError {
        DecodeError::new(DecodeErrorKind::BadFrame, "Invalid command format".to_owned())
    }

    pub(crate) fn bad_command() -> DecodeError {
        DecodeError::new(DecodeErrorKind::BadCommand, "Invalid command".to_owned())
    }

    pub(crate) fn unknown(cmd: &str) -> DecodeError {
        DecodeError::new(DecodeErrorKind::Unknown, format!("Unknown command: {cmd}"))
    }

    pub(crate) fn invalid(text: impl Into<String>) -> DecodeError {
        DecodeError::new(DecodeErrorKind::Invalid, text.into())
    }

    fn new(kind: DecodeErrorKind, text: String) -> DecodeError {
        DecodeError { text, kind, add: None }
    }
}
