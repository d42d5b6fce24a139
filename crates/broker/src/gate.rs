//! What one connection may ask: turns a decoded frame into what the core has to do.
//!
//! Knows the connection's authentication and counts its frames. The texts of broken frames come before the question of
//! authentication, as in bunqueue. No I/O.

use crate::access::Access;
use crate::config::RateLimit;
use crate::conn_table::Client;
use crate::inbox::{Ask, Frame, Problem, Refusal};
use crate::limits::PROBLEM_FRAME_BYTES_MAX;
use crate::rate_window::RateWindow;
use onceover_wire::frame::oversize_error;
use onceover_wire::request::{DecodeError, DecodeErrorKind, Decoded, ReqId, Request};
use std::sync::Arc;
use std::time::Instant;

/// Label of a wrong token.
pub(crate) const REFUSED_AUTH: &str = "refused auth";
/// Label of a client that sends more than it may.
pub(crate) const TOO_FAST: &str = "rate limit";

/// The state of one connection's requests.
pub struct Gate {
    access: Arc<Access>,
    client: Arc<Client>,
    authenticated: bool,
    /// A client that goes on without authentication is reported once.
    reported: bool,
    requests: u64,
    rate: Option<RateWindow>,
}

/// A frame on its way to the core, and what its answer needs.
pub struct Admitted {
    /// For the core.
    pub frame: Frame,
    /// Goes back with the answer.
    pub req_id: Option<ReqId>,
    /// The frame shows a protocol-2 client.
    pub protocol2: bool,
}

impl Gate {
    /// The client comes in.
    #[must_use]
    pub fn new(access: Arc<Access>, client: Arc<Client>, rate: Option<RateLimit>) -> Gate {
        let rate = rate.map(RateWindow::new);
        Gate { authenticated: access.enter(&client), access, client, reported: false, requests: 0, rate }
    }

    /// Decides what becomes of a frame.
    pub fn admit(&mut self, decoded: Decoded, payload: &[u8]) -> Admitted {
        let is_auth = decoded.cmd.as_deref() == Some("Auth");
        let ask = match decoded.result {
            _ if self.rate.as_mut().is_some_and(|rate| !rate.allows(Instant::now())) => self.too_fast(payload),
            Err(error) if is_unreadable(&error) => refuse_undecoded(error, start_of(payload)),
            Ok(Request::Auth { token }) => self.authenticate(&token),
            _ if !self.authenticated && !is_auth => self.not_authenticated(payload),
            // The frame may hold a secret of the receiver's.
            Err(error) if decoded.cmd.as_deref() == Some("AddWebhook") => refuse_undecoded(error, Vec::new()),
            Err(error) => refuse_undecoded(error, start_of(payload)),
            Ok(Request::Hello) => Ask::Hello,
            Ok(Request::Ping) => Ask::Ping,
            Ok(Request::Subscribe { queue }) => Ask::Subscribe(queue),
            Ok(Request::Unsubscribe) => Ask::Unsubscribe,
            Ok(Request::Monitor(question)) => Ask::Monitor(Box::new(question)),
            Ok(Request::Engine(command)) => Ask::Engine(command),
        };
        let frame = Frame { request: self.next_request(), cmd: decoded.cmd, ask };
        Admitted { frame, req_id: decoded.req_id, protocol2: decoded.protocol2 }
    }

    /// The answer to a frame that is too large to be read; `start` is the header and what came behind it.
    pub fn oversize(&mut self, payload_bytes: u32, start: &[u8]) -> Frame {
        let text = oversize_error(payload_bytes);
        // Other protocols on our port look like a very large frame; the window says what they are.
        let (label, words) = match &payload_bytes.to_be_bytes() {
            [0x16, 0x03, ..] => {
                ("TLS", "The client speaks TLS, but this broker has no certificate. Name one, or switch TLS off there.")
            }
            b"GET " | b"POST" | b"HEAD" | b"PUT " | b"OPTI" => {
                ("HTTP", "The client speaks HTTP, but this is the port for SDKs. The window has a port of its own.")
            }
            _ => ("frame too large", text.as_str()),
        };
        let problem = Problem { label, text: words.to_owned(), bytes: start_of(start) };
        let ask = refuse(text, Some(problem));
        Frame { request: self.next_request(), cmd: None, ask }
    }

    fn authenticate(&mut self, token: &str) -> Ask {
        if self.access.authenticate(&self.client, token) {
            self.authenticated = true;
            return Ask::Confirm;
        }
        let text = "Auth came with a token that is not one of this broker's.".to_owned();
        // The frame holds a token, perhaps of another broker: it is not shown.
        refuse("Invalid token".to_owned(), Some(Problem { label: REFUSED_AUTH, text, bytes: Vec::new() }))
    }

    fn not_authenticated(&mut self, payload: &[u8]) -> Ask {
        let first = !std::mem::replace(&mut self.reported, true);
        let text = "A command came before Auth; this broker asks for a token.".to_owned();
        let problem = first.then(|| Problem { label: "not authenticated", text, bytes: start_of(payload) });
        refuse("Not authenticated".to_owned(), problem)
    }

    fn too_fast(&mut self, payload: &[u8]) -> Ask {
        let text = "Rate limit exceeded".to_owned();
        let first = self.rate.as_mut().is_some_and(RateWindow::is_first_refusal);
        let problem = first.then(|| Problem { label: TOO_FAST, text: text.clone(), bytes: start_of(payload) });
        refuse(text, problem)
    }

    fn next_request(&mut self) -> u64 {
        let request = self.requests;
        self.requests += 1;
        request
    }
}

fn is_unreadable(error: &DecodeError) -> bool {
    match error.kind {
        DecodeErrorKind::BadFrame | DecodeErrorKind::BadCommand => true,
        DecodeErrorKind::Unknown | DecodeErrorKind::Invalid => false,
    }
}

/// `bytes` are shown to people.
fn refuse_undecoded(error: DecodeError, bytes: Vec<u8>) -> Ask {
    let label = match error.kind {
        DecodeErrorKind::BadFrame => "bad frame",
        DecodeErrorKind::BadCommand => "no command",
        DecodeErrorKind::Unknown => "unknown command",
        DecodeErrorKind::Invalid => "bad field",
    };
    let problem = Problem { label, text: error.text.clone(), bytes };
    Ask::Refuse(Box::new(Refusal { text: error.text, add: error.add, problem: Some(problem) }))
}

fn refuse(text: String, problem: Option<Problem>) -> Ask {
    Ask::Refuse(Box::new(Refusal { text, add: None, problem }))
}

fn start_of(payload: &[u8]) -> Vec<u8> {
    payload[..payload.len().min(PROBLEM_FRAME_BYTES_MAX)].to_vec()
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod gate_tests;
