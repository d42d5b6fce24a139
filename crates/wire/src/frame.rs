//! Frames: a big-endian `u32` payload length, then the payload.
//!
//! [`FrameDecoder`] is fed with what a socket delivers, in any chunking, and lends out complete payloads without
//! copying them. A length is judged before anything is allocated for it, and memory grows only with bytes that have
//! really arrived, never with a length that was merely announced. Complete frames in front of an oversized one are
//! still lent out first. It does not look into payloads and keeps no time: partial-frame timeouts belong to the
//! connection.

use bytes::{Buf, BytesMut};

/// Largest payload that is accepted, in bytes (64 MiB). One byte more is refused.
pub const FRAME_PAYLOAD_BYTES_MAX: u32 = 64 * 1024 * 1024;

/// Bytes of the length header in front of each payload.
pub const FRAME_HEADER_BYTES: usize = 4;

/// A buffer that has grown past this is given back once it is empty, so that one large frame does not cost a
/// connection its memory for good.
pub const IDLE_BUFFER_BYTES_MAX: usize = 64 * 1024;

/// What the decoder has to offer.
#[derive(Debug, PartialEq, Eq)]
pub enum NextFrame<'a> {
    /// One complete payload, possibly empty.
    Payload(&'a [u8]),
    /// The next header announces more than [`FRAME_PAYLOAD_BYTES_MAX`] bytes. The stream cannot be followed any
    /// further: answer with [`oversize_error`] and close. Repeated calls say the same again.
    Oversize {
        /// The announced length, in bytes.
        payload_bytes: u32,
    },
    /// More bytes are needed.
    Incomplete,
}

/// Cuts a byte stream into frames.
#[derive(Debug, Default)]
pub struct FrameDecoder {
    buffer: BytesMut,
    /// Bytes at the front that belong to the payload lent out last.
    lent_bytes: usize,
}

impl FrameDecoder {
    /// An empty decoder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The buffer to read a socket into. Only append to it.
    pub fn buffer(&mut self) -> &mut BytesMut {
        self.drop_lent();
        &mut self.buffer
    }

    /// Appends a chunk.
    pub fn feed(&mut self, chunk: &[u8]) {
        self.buffer().extend_from_slice(chunk);
    }

    /// Takes the next frame. The payload is lent until the decoder is used again.
    pub fn next_frame(&mut self) -> NextFrame<'_> {
        self.drop_lent();
        let Some((header, rest)) = self.buffer.split_first_chunk::<FRAME_HEADER_BYTES>() else {
            return NextFrame::Incomplete;
        };
        let payload_bytes = u32::from_be_bytes(*header);
        if payload_bytes > FRAME_PAYLOAD_BYTES_MAX {
            return NextFrame::Oversize { payload_bytes };
        }
        match rest.get(..payload_bytes as usize) {
            Some(payload) => {
                self.lent_bytes = FRAME_HEADER_BYTES + payload.len();
                NextFrame::Payload(payload)
            }
            None => NextFrame::Incomplete,
        }
    }

    /// Takes the next payload out when it is complete and longer than `bytes`. It owns its memory, so that it can be looked
    /// at elsewhere while the decoder goes on.
    pub fn take_longer_than(&mut self, bytes: usize) -> Option<BytesMut> {
        self.drop_lent();
        let payload_bytes = u32::from_be_bytes(*self.buffer.first_chunk::<FRAME_HEADER_BYTES>()?);
        let end = FRAME_HEADER_BYTES + payload_bytes as usize;
        if payload_bytes > FRAME_PAYLOAD_BYTES_MAX || payload_bytes as usize <= bytes || self.buffer.len() < end {
            return None;
        }
        // The rest is at most what one read brought. It moves, so that it does not keep the large buffer alive.
        let rest = BytesMut::from(&self.buffer[end..]);
        let mut frame = std::mem::replace(&mut self.buffer, rest);
        frame.truncate(end);
        frame.advance(FRAME_HEADER_BYTES);
        Some(frame)
    }

    /// The payload that was lent out last stays: the next call lends it again.
    pub fn keep(&mut self) {
        self.lent_bytes = 0;
    }

    /// Bytes that wait for the rest of their frame, header included.
    #[must_use]
    pub fn waiting_bytes(&self) -> usize {
        self.buffer.len() - self.lent_bytes
    }

    /// Whether bytes of an unfinished frame are waiting. An idle connection may stay open for ever, one in the middle
    /// of a frame may not.
    #[must_use]
    pub fn has_partial_frame(&self) -> bool {
        self.waiting_bytes() > 0
    }

    fn drop_lent(&mut self) {
        self.buffer.advance(std::mem::take(&mut self.lent_bytes));
        if self.buffer.is_empty() && self.buffer.capacity() > IDLE_BUFFER_BYTES_MAX {
            self.buffer = BytesMut::new();
        }
    }
}

/// The error text for an oversized frame, as bunqueue words it.
#[must_use]
pub fn oversize_error(payload_bytes: u32) -> String {
    format!("Frame too large: {payload_bytes} bytes exceeds maximum {FRAME_PAYLOAD_BYTES_MAX}")
}

/// Appends one frame to `out`; `write` appends its payload. Returns what `write` returned.
///
/// A payload of 4 GiB or more has no frame form: then everything this call appended is taken back and `None` is
/// returned, so that the caller can answer with an error instead.
pub fn write_frame<R>(out: &mut BytesMut, write: impl FnOnce(&mut BytesMut) -> R) -> Option<R> {
    let start = out.len();
    out.extend_from_slice(&[0; FRAME_HEADER_BYTES]);
    let written = write(out);
    let payload_start = start + FRAME_HEADER_BYTES;
    if let Ok(payload_bytes) = u32::try_from(out.len() - payload_start) {
        out[start..payload_start].copy_from_slice(&payload_bytes.to_be_bytes());
        Some(written)
    } else {
        out.truncate(start);
        None
    }
}
