//! What arbitrary bytes do to the broker: two programs for a fuzzer, and the replay of what it found.
//!
//! [`frames`] reads a byte stream, cut anywhere, as frames of requests. [`requests`] reads bytes as a script of whole
//! requests with hostile values, of passing time, lost connections and restarts, and runs it through decoding, engine and
//! encoding. Both panic at the first thing that must not be; neither knows what the right answer to a request is, that is
//! the business of the other tests.
//!
//! `cargo +nightly fuzz run requests --features libfuzzer` looks for new inputs; `cargo test -p onceover-fuzz` replays
//! those that are kept in `corpus/`.

pub mod frames;
pub mod memory;
pub mod requests;
mod source;
mod values;
mod world;
