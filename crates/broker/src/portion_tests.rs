//! What is cut, and what stays together.

use super::*;
use crate::bulk::Part;
use onceover_engine::command::{Add, NewJob};
use onceover_engine::names::ConnId;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Semaphore;

const MOST: Size = Size { commands: 10, bytes: 1_000 };

fn batch(count: usize) -> Ask {
    let adds = vec![Add::new(NewJob::new("q", "n")); count];
    Ask::Part(Box::new(Part::all(adds).unwrap_or_else(|_| panic!("it has no dependencies"))))
}

fn frames(asks: Vec<Ask>, bytes: usize) -> Frames {
    let room = Arc::new(Semaphore::new(bytes));
    let permit = room.try_acquire_many_owned(bytes as u32).ok();
    let frame = |(at, ask)| Frame { request: at as u64, cmd: None, ask };
    let frames = asks.into_iter().enumerate().map(frame).collect();
    Frames { conn: ConnId(1), frames, bytes, read_at: Instant::now(), last: true, permit }
}

/// Requests, commands, bytes that it holds in the inbox, and whether it is the last, of each portion.
fn portions(mut rest: Frames) -> Vec<(Vec<u64>, usize, usize, bool)> {
    let mut portions = Vec::new();
    let told = |frames: &Frames| {
        let requests = frames.frames.iter().map(|frame| frame.request).collect();
        let held = frames.permit.as_ref().map_or(0, |permit| permit.num_permits());
        (requests, Size::of_frames(frames).commands, held, frames.last)
    };
    while let Some(portion) = cut(&mut rest, MOST) {
        portions.push(told(&portion));
    }
    portions.push(told(&rest));
    portions
}

#[test]
fn frames_are_cut_between_two_of_them() {
    let pings = |count| (0..count).map(|_| Ask::Ping).collect::<Vec<_>>();
    assert_eq!(portions(frames(pings(10), 1_000)), [((0..10).collect(), 10, 1_000, true)]);
    let expected = [((0..10).collect(), 10, 200, false), ((10..20).collect(), 10, 200, false), (vec![20], 1, 20, true)];
    assert_eq!(portions(frames(pings(21), 420)), expected);
    let by_bytes = [(vec![0, 1], 2, 1_000, false), (vec![2, 3], 2, 1_000, false), (vec![4], 1, 500, true)];
    assert_eq!(portions(frames(pings(5), 2_500)), by_bytes);
}

#[test]
fn a_batch_is_cut_between_its_jobs_and_counts_them() {
    let portions = portions(frames(vec![Ask::Ping, batch(25), Ask::Ping], 300));
    let told: Vec<_> = portions.iter().map(|(requests, commands, _, last)| (&requests[..], *commands, *last)).collect();
    let expected: [(&[u64], usize, bool); 4] =
        [(&[0], 1, false), (&[1], 10, false), (&[1], 10, false), (&[1, 2], 6, true)];
    assert_eq!(told, expected);
    assert_eq!(portions.iter().map(|(_, _, held, _)| held).sum::<usize>(), 300, "nothing of the room is lost");
}

#[test]
fn a_single_command_is_never_cut() {
    assert_eq!(portions(frames(vec![Ask::Ping], 100_000)), [(vec![0], 1, 100_000, true)]);
    let acks = Command::AckBulk { acks: Vec::new() };
    let expected = [(vec![0], 1, 50_000, false), (vec![1], 1, 50_000, true)];
    assert_eq!(portions(frames(vec![Ask::Engine(acks), Ask::Ping], 100_000)), expected);
}
