//! Who is waited for: one that is alone, and comes in time.

use super::*;
use crate::inbox::{Ask, Frame, Frames};
use std::sync::mpsc;

fn frames(conn: u64, commands: u64) -> Message {
    let frames = (0..commands).map(|request| Frame { request, cmd: None, ask: Ask::Ping }).collect();
    let (conn, read_at) = (ConnId(conn), Instant::now());
    Message::Frames(Frames { conn, frames, bytes: 0, read_at, last: false, permit: None })
}

/// Whether a message that is there already is looked for.
fn looks(pace: &mut Pace) -> bool {
    let (sender, inbox) = mpsc::channel();
    sender.send(Message::ClearLog).unwrap();
    pace.next(&inbox).is_some()
}

fn after(turns: impl IntoIterator<Item = Message>) -> Pace {
    let mut pace = Pace::default();
    turns.into_iter().for_each(|message| pace.note(&[message]));
    pace
}

#[test]
fn only_a_client_that_is_alone_is_waited_for() {
    let alone = || (0..=ALONE_AFTER).map(|_| frames(1, 1));
    assert!(looks(&mut after(alone())));
    assert!(!looks(&mut after(alone().skip(1))), "not yet");
    assert!(!looks(&mut after(alone().chain([frames(2, 1)]))), "somebody else asks, too");
    assert!(!looks(&mut after(alone().chain([frames(1, 2)]))), "it does not wait for its answers");
    assert!(!looks(&mut after((0..100).map(|turn| frames(turn % 4, 1)))), "four take turns");
    assert!(!looks(&mut Pace::default()));
}

#[test]
fn who_does_not_come_in_time_is_not_waited_for_again() {
    let mut pace = after((0..=ALONE_AFTER).map(|_| frames(1, 1)));
    pace.note(&[]);
    let (_sender, inbox) = mpsc::channel();
    assert!(pace.next(&inbox).is_none());
    assert!(!looks(&mut pace));
}
