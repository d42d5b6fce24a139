//! What becomes of each kind of frame, with and without tokens.

use super::*;
use onceover_engine::names::ConnId;
use onceover_wire::decode::decode;

/// A MessagePack map of short texts.
fn frame(fields: &[(&str, &str)]) -> Vec<u8> {
    let text = |text: &str| std::iter::once(0xa0 | text.len() as u8).chain(text.bytes()).collect::<Vec<_>>();
    let head = 0x80 | fields.len() as u8;
    std::iter::once(head).chain(fields.iter().flat_map(|(key, value)| [text(key), text(value)].concat())).collect()
}

fn gate(tokens: &[&str]) -> Gate {
    let tokens: Vec<String> = tokens.iter().map(|token| (*token).to_owned()).collect();
    let client = Client::new(ConnId(1), "127.0.0.1:5000".parse().unwrap());
    Gate::new(Arc::new(Access::new(&tokens)), Arc::new(client), None)
}

/// What becomes of a frame: its kind or its error text, and the label of the problem it makes.
fn outcome(gate: &mut Gate, payload: &[u8]) -> (String, Option<&'static str>) {
    match gate.admit(decode(payload), payload).frame.ask {
        Ask::Hello => ("hello".to_owned(), None),
        Ask::Ping => ("ping".to_owned(), None),
        Ask::Confirm => ("confirm".to_owned(), None),
        Ask::Subscribe(queue) => (format!("subscribe {queue}"), None),
        Ask::Unsubscribe => ("unsubscribe".to_owned(), None),
        Ask::Monitor(question) => (format!("{question:?}"), None),
        Ask::Engine(_) | Ask::Part(_) => ("engine".to_owned(), None),
        Ask::Refuse(refusal) => (refusal.text.clone(), refusal.problem.map(|problem| problem.label)),
    }
}

fn check(gate: &mut Gate, table: &[(&[u8], &str, Option<&'static str>)]) {
    for (payload, text, label) in table {
        assert_eq!(outcome(gate, payload), ((*text).to_owned(), *label), "{payload:02x?}");
    }
}

#[test]
fn without_tokens_everybody_may_ask() {
    check(
        &mut gate(&[]),
        &[
            (&frame(&[("cmd", "Ping")]), "ping", None),
            (&frame(&[("cmd", "Hello")]), "hello", None),
            (&frame(&[("cmd", "Auth"), ("token", "any")]), "confirm", None),
            (&frame(&[("cmd", "ListQueues")]), "engine", None),
            (&frame(&[("cmd", "SubscribeEvents"), ("queue", "q")]), "subscribe q", None),
            (&frame(&[("cmd", "UnsubscribeEvents")]), "unsubscribe", None),
            (&frame(&[("cmd", "Nonsense")]), "Unknown command: Nonsense", Some("unknown command")),
            (&frame(&[]), "Invalid command", Some("no command")),
            (b"\xc1", "Invalid command format", Some("bad frame")),
        ],
    );
}

#[test]
fn with_tokens_auth_comes_first() {
    let mut gate = gate(&["one", "two"]);
    check(
        &mut gate,
        &[
            (&frame(&[("cmd", "Ping")]), "Not authenticated", Some("not authenticated")),
            (&frame(&[("cmd", "Nonsense")]), "Not authenticated", None),
            (&frame(&[("cmd", "PUSH")]), "Not authenticated", None),
            (b"\xc1", "Invalid command format", Some("bad frame")),
            (&frame(&[]), "Invalid command", Some("no command")),
            (&frame(&[("cmd", "Auth"), ("token", "three")]), "Invalid token", Some("refused auth")),
            (&frame(&[("cmd", "Hello")]), "Not authenticated", None),
            (&frame(&[("cmd", "Auth"), ("token", "two")]), "confirm", None),
            (&frame(&[("cmd", "Ping")]), "ping", None),
            (&frame(&[("cmd", "Auth"), ("token", "three")]), "Invalid token", Some("refused auth")),
            (&frame(&[("cmd", "Ping")]), "ping", None),
        ],
    );
}

#[test]
fn a_refused_token_is_not_shown() {
    let auth = frame(&[("cmd", "Auth"), ("token", "secret")]);
    let refused = gate(&["one"]).admit(decode(&auth), &auth);
    let Ask::Refuse(refusal) = refused.frame.ask else { panic!("the token was accepted") };
    assert_eq!(refusal.problem.map(|problem| problem.bytes), Some(Vec::new()));
}

#[test]
fn frames_are_counted_from_zero_and_only_their_start_is_kept() {
    let mut gate = gate(&[]);
    let long = [b"\xc1".as_slice(), &[7; 1000]].concat();
    for expected in 0..3 {
        let frame = gate.admit(decode(&long), &long).frame;
        assert_eq!(frame.request, expected);
        let Ask::Refuse(refusal) = frame.ask else { panic!("a broken frame was accepted") };
        assert_eq!(refusal.problem.map(|problem| problem.bytes.len()), Some(PROBLEM_FRAME_BYTES_MAX));
    }
    assert_eq!(gate.oversize(u32::MAX, &[0xff; 4]).request, 3);
}

#[test]
fn other_protocols_are_recognised() {
    for (start, label) in [
        (&b"\x16\x03\x01\x02\x00\x01"[..], "TLS"),
        (b"GET / HTTP/1.1\r\n", "HTTP"),
        (b"POST /rpc HTTP/1.1\r\n", "HTTP"),
        (b"\xff\xff\xff\xff\x81", "frame too large"),
    ] {
        let header = *start.first_chunk().expect("a header");
        let Ask::Refuse(refusal) = gate(&[]).oversize(u32::from_be_bytes(header), start).ask else {
            panic!("it was accepted")
        };
        assert!(refusal.text.starts_with("Frame too large: "), "what is answered stays the same");
        let problem = refusal.problem.expect("a problem");
        assert_eq!((problem.label, &problem.bytes[..]), (label, start));
    }
}
