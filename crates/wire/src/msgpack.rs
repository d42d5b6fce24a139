//! MessagePack in place: values are looked at where they lie in the frame, nothing is built.
//!
//! [`Reader`] steps through bytes of any origin: it never panics, never allocates and never nests deeper than
//! [`DEPTH_MAX`]. [`Raw`] is the span of exactly one value that a reader has already walked through; everything that
//! is asked of it afterwards cannot fail for reasons of form.
//!
//! Texts are handed out as bytes. Whether they are UTF-8 is asked only where a request field is read, because payloads
//! travel through the broker as they came. The writer is in [`write`], maps of request fields in `decode::fields`.

pub mod read;
pub mod write;

pub use read::{Array, Map, Raw, Reader, Value};

/// Deepest nesting of arrays and maps, the outermost counted as 1. A request that nests deeper is malformed.
pub const DEPTH_MAX: usize = 128;

/// Extension type that JavaScript clients use for `undefined`. It means "absent" wherever it occurs.
pub const EXT_UNDEFINED: i8 = 0;

/// The bytes are not one MessagePack value: cut short, an unassigned type byte, a map key that is neither text nor
/// number, or nested too deep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed MessagePack")]
pub struct Malformed;
