//! Payloads for people: MessagePack to text and back, and a search in it, none of which loses anything.
//!
//! The broker itself never looks into a payload. Here it is read with bounds on depth and output, because a client chose
//! its content; a payload that is cut or broken is shown as far as it goes, and the text says where it ends.

mod base64;
mod edit;
mod merge;
mod parse;
mod read;
mod search;
mod show;

pub use edit::edit;
pub use parse::parse;
pub use search::{Needle, contains};
pub use show::{line, text, utc};

#[cfg(test)]
#[path = "payload_tests.rs"]
mod payload_tests;
