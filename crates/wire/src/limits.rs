//! The bounds of decoding, beside the frame size in `frame` and the nesting depth in `msgpack`.

/// Elements of one array in a request: the jobs of a PUSHB, the ids of an ACKB, the dependencies of a job. An element
/// costs a client one byte and the broker some hundred, so the frame size alone would not bound the memory.
pub const LIST_ENTRIES_MAX: usize = 100_000;

/// Fields of one request or option map. Clients send at most 50; more is not a request.
pub const FIELDS_MAX: usize = 1_000;

/// Jobs of one PUSHF.
pub const FLOW_JOBS_MAX: usize = 10_000;

/// What the record of a job in the answer to PUSHF takes at most beyond what the request said of it.
pub const FLOW_RECORD_BYTES_MAX: usize = 1_536;

/// Characters (UTF-16 units, as clients count) of the id of a job in a flow.
pub const ID_CHARS_MAX: usize = 1_024;

/// Characters (UTF-16 units, as clients count) of a queue name or a job name.
pub const NAME_CHARS_MAX: usize = 256;

/// Characters of a schedule's name: a job's id may be as long (dedup.md 5).
pub const SCHEDULE_NAME_CHARS_MAX: usize = 1_024;

/// JSON text of one payload in UTF-16 units, 10 MiB, the limit that the clients know.
pub const PAYLOAD_JSON_UNITS_MAX: usize = 10 * 1024 * 1024;
