//! Bytes to engine commands and back.
//!
//! The only crate that knows MessagePack and the frame format. It does no I/O, keeps no time and holds no state beyond
//! the unfinished frame of a [`frame::FrameDecoder`]: a connection feeds it bytes and writes what it returns.
//!
//! Payloads (job data, results) are never parsed on their way through; they are spans of bytes that are spliced back
//! into replies as they came. What arbitrary bytes can cause is bounded: no panic, nesting limited, memory in
//! proportion to the bytes that arrived.

pub mod canonical;
pub mod decode;
pub mod encode;
mod envelope;
mod fingerprint;
pub mod frame;
pub mod json;
mod json_size;
mod limits;
pub mod markers;
pub mod msgpack;
pub mod reach;
pub mod request;

pub use decode::decode;
pub use fingerprint::fingerprint;

#[cfg(test)]
mod canonical_tests;
#[cfg(test)]
mod decode_add_tests;
#[cfg(test)]
mod decode_monitor_tests;
#[cfg(test)]
mod decode_rest_tests;
#[cfg(test)]
mod decode_tests;
#[cfg(test)]
mod decode_webhook_tests;
#[cfg(test)]
mod decode_work_tests;
#[cfg(test)]
mod encode_job_tests;
#[cfg(test)]
mod encode_tests;
#[cfg(test)]
mod envelope_tests;
#[cfg(test)]
mod fingerprint_tests;
#[cfg(test)]
mod frame_tests;
#[cfg(test)]
mod json_size_tests;
#[cfg(test)]
mod json_tests;
#[cfg(test)]
mod msgpack_tests;
#[cfg(test)]
mod testing;
