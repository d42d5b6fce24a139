//! Who comes first, and what never changes its order.

use super::*;
use crate::inbox::{Ask, Frame, Frames};
use std::time::Instant;

/// A message of `count` commands; `number` is told apart by its first request.
fn frames(conn: u64, number: u64, count: usize) -> Message {
    let frame = |at: usize| Frame { request: number * 10_000 + at as u64, cmd: None, ask: Ask::Ping };
    let frames = (0..count).map(frame).collect();
    Message::Frames(Frames { conn: ConnId(conn), frames, bytes: 1, read_at: Instant::now(), last: false, permit: None })
}

fn name(message: &Message) -> String {
    match message {
        Message::Frames(frames) => format!("{}.{}", frames.conn.0, frames.frames[0].request / 10_000),
        Message::HungUp(conn) => format!("{} hung up", conn.0),
        Message::Disconnected(conn) => format!("{} gone", conn.0),
        Message::ClearLog => "window".to_owned(),
        Message::Stop => "stop".to_owned(),
        _ => "other".to_owned(),
    }
}

/// What the turns take, one list each.
fn turns(waiting: &mut Waiting, messages: Vec<Message>) -> Vec<Vec<String>> {
    let mut arrived = VecDeque::from(messages);
    let mut turns = Vec::new();
    loop {
        let mut taken = Vec::new();
        waiting.take(Instant::now(), false, &mut arrived, &mut taken);
        if taken.is_empty() {
            return turns;
        }
        turns.push(taken.iter().map(name).collect());
    }
}

#[test]
fn what_fits_into_one_turn_is_taken_at_once() {
    let messages = vec![frames(1, 0, 2), frames(2, 0, 2), frames(1, 1, 2), Message::Disconnected(ConnId(1))];
    let mut waiting = Waiting::default();
    assert_eq!(turns(&mut waiting, messages), [["1.0", "2.0", "1.1", "1 gone"]]);
    assert!(waiting.is_empty());
}

#[test]
fn who_asks_for_little_goes_before_those_who_ask_for_much() {
    let half = SHORT_TURN_COMMANDS_MAX / 2;
    let flood = (0..3).flat_map(|number| [frames(1, number, half), frames(2, number, half)]);
    let messages = flood.chain([frames(3, 0, 1), Message::ClearLog]).collect();
    let taken = turns(&mut Waiting::default(), messages);
    assert_eq!(taken[0], ["3.0", "window", "1.0", "2.0"]);
    assert_eq!(taken[1..], [["1.1", "2.1"], ["1.2", "2.2"]]);
}

#[test]
fn many_short_messages_of_one_connection_are_no_way_around_the_others() {
    let flood = (0..2 * TURN_COMMANDS_MAX as u64).map(|number| frames(1, number, 1));
    let taken = turns(&mut Waiting::default(), flood.chain([frames(2, 0, 1), frames(2, 1, 1)]).collect());
    assert_eq!((taken[0][0].as_str(), taken[0][1].as_str()), ("1.0", "2.0"));
    assert!(taken[0].contains(&"2.1".to_owned()), "it takes turns with the flood");
    let of_one = taken.iter().flatten().filter(|name| name.starts_with("1."));
    let expected = (0..2 * TURN_COMMANDS_MAX).map(|number| format!("1.{number}"));
    assert!(of_one.cloned().eq(expected), "its own order changed");
}

#[test]
fn the_end_of_a_connection_comes_behind_what_it_asked() {
    let messages = vec![
        frames(1, 0, TURN_COMMANDS_MAX),
        frames(2, 0, 100),
        frames(2, 1, 1),
        Message::HungUp(ConnId(2)),
        Message::Disconnected(ConnId(2)),
    ];
    let taken = turns(&mut Waiting::default(), messages).concat();
    let own: Vec<_> = taken.iter().filter(|name| name.starts_with('2')).collect();
    assert_eq!(own, ["2.0", "2.1", "2 hung up", "2 gone"]);
}

#[test]
fn a_stop_comes_behind_everything_that_arrived_before_it_and_nothing_behind_it() {
    let messages = [frames(1, 0, TURN_COMMANDS_MAX), frames(1, 1, 100), Message::Stop, frames(2, 0, 1)];
    let mut waiting = Waiting::default();
    let mut arrived = VecDeque::from(messages);
    let mut taken = Vec::new();
    while !taken.contains(&"stop".to_owned()) {
        let mut turn = Vec::new();
        waiting.take(Instant::now(), false, &mut arrived, &mut turn);
        taken.extend(turn.iter().map(name));
    }
    assert_eq!(taken, ["1.0", "1.1", "stop"]);
}

/// What one turn that begins then takes.
fn turn(waiting: &mut Waiting, at: Instant, messages: Vec<Message>) -> Vec<String> {
    let mut taken = Vec::new();
    waiting.take(at, false, &mut messages.into(), &mut taken);
    taken.iter().map(name).collect()
}

#[test]
fn with_nobody_else_turns_are_full_and_follow_each_other_at_once() {
    let now = Instant::now();
    let mut waiting = Waiting::default();
    let mut arrived = VecDeque::from([frames(1, 0, 3 * TURN_COMMANDS_MAX)]);
    for _ in 0..3 {
        let mut taken = Vec::new();
        assert_eq!(waiting.take(now, false, &mut arrived, &mut taken), Some(PART_JOBS_MAX));
        assert_eq!(taken.iter().map(Size::of).map(|size| size.commands).sum::<usize>(), TURN_COMMANDS_MAX);
        waiting.took(now, Duration::from_secs(1), false);
        assert!(waiting.long_in(now).is_zero());
    }
    assert!(waiting.is_empty());
}

#[test]
fn while_somebody_asks_for_little_long_turns_are_short_and_followed_by_as_much_time() {
    let mut now = Instant::now();
    let mut waiting = Waiting::default();
    let mut taken = Vec::new();
    let mut arrived = VecDeque::from([frames(1, 0, TURN_COMMANDS_MAX), frames(2, 0, 1)]);
    assert_eq!(waiting.take(now, false, &mut arrived, &mut taken), Some(SHORT_PART_JOBS_MAX));
    let sizes: Vec<usize> = taken.iter().map(|message| Size::of(message).commands).collect();
    assert_eq!(sizes, [1, SHORT_TURN_COMMANDS_MAX]);
    let took = Duration::from_millis(2);
    now += took;
    waiting.took(now, took, false);
    assert_eq!(waiting.next_in(now), Some(took));
    assert_eq!(
        turn(&mut waiting, now + took / 2, vec![frames(3, 0, 1)]),
        ["3.0"],
        "others have their answers meanwhile"
    );
    waiting.took(now + took / 2, Duration::ZERO, false);
    assert_eq!(waiting.next_in(now + took / 2), Some(took / 2), "which does not prolong it");
    assert_eq!(turn(&mut waiting, now + took, Vec::new()), ["1.0"]);
}

#[test]
fn short_messages_of_those_who_ask_for_much_make_no_turn_short() {
    let now = Instant::now();
    let mut waiting = Waiting::default();
    turn(&mut waiting, now, vec![frames(1, 0, SPARSE_COMMANDS_MAX + 1)]);
    let (mut taken, mut arrived) = (Vec::new(), VecDeque::from([frames(1, 1, 1), frames(2, 0, TURN_COMMANDS_MAX)]));
    waiting.took(now, Duration::from_millis(1), false);
    assert_eq!(waiting.take(now, false, &mut arrived, &mut taken), Some(PART_JOBS_MAX));
    waiting.took(now, Duration::from_millis(1), false);
    assert!(waiting.long_in(now).is_zero(), "nor is time left for them");
    turn(&mut waiting, now, vec![Message::Disconnected(ConnId(1)), Message::Disconnected(ConnId(2))]);
    assert!(waiting.much_at.is_empty(), "who has gone is forgotten");
}

#[test]
fn whoever_came_during_a_long_turn_is_answered_before_the_next_one() {
    let now = Instant::now();
    let mut waiting = Waiting::default();
    turn(&mut waiting, now, vec![frames(1, 0, 2 * TURN_COMMANDS_MAX)]);
    waiting.took(now, Duration::ZERO, false);
    assert_eq!(turn(&mut waiting, now, vec![frames(2, 0, 1)]), ["2.0"]);
    waiting.took(now, Duration::ZERO, false);
    assert_eq!(turn(&mut waiting, now, vec![frames(2, 1, 1)]), ["2.1", "1.0"], "a flood of them does not keep it out");
}

#[test]
fn a_turn_that_is_shorter_than_a_pause_is_followed_by_none() {
    let now = Instant::now();
    let mut waiting = Waiting::default();
    turn(&mut waiting, now, vec![frames(1, 0, 2 * TURN_COMMANDS_MAX), frames(2, 0, 1)]);
    waiting.took(now, REST_AFTER - Duration::from_nanos(1), false);
    assert_eq!(waiting.next_in(now), Some(Duration::ZERO));
    turn(&mut waiting, now, Vec::new());
    waiting.took(now, REST_AFTER, false);
    assert_eq!(waiting.next_in(now), Some(REST_AFTER));
}

#[test]
fn once_nobody_asks_for_little_any_more_no_time_is_left_for_them() {
    let now = Instant::now();
    let mut waiting = Waiting::default();
    turn(&mut waiting, now, vec![frames(2, 0, 1)]);
    let later = now + ASKED_JUST_NOW * 2;
    turn(&mut waiting, later, vec![frames(1, 0, TURN_COMMANDS_MAX)]);
    waiting.took(later, Duration::from_millis(1), false);
    assert_eq!(waiting.next_in(later), Some(Duration::ZERO));
}

#[test]
fn a_part_of_something_long_is_followed_by_time_for_others_and_shares_its_turn() {
    let now = Instant::now();
    let mut waiting = Waiting::default();
    let took = Duration::from_millis(1);
    turn(&mut waiting, now, vec![frames(2, 0, 1)]);
    waiting.took(now, took, true);
    assert_eq!((waiting.long_in(now), waiting.next_in(now)), (took, None));
    let (mut taken, mut arrived) = (Vec::new(), VecDeque::from([frames(1, 0, TURN_COMMANDS_MAX)]));
    assert_eq!(waiting.take(now, true, &mut arrived, &mut taken), None, "not yet");
    assert_eq!(waiting.take(now + took, true, &mut arrived, &mut taken), Some(SHORT_PART_JOBS_MAX / 2));
    assert_eq!(Size::of(&taken[0]).commands, SHORT_TURN_COMMANDS_MAX / 2);
}

#[test]
fn what_a_turn_leaves_keeps_its_place() {
    let now = Instant::now();
    let mut waiting = Waiting::default();
    let mut arrived = VecDeque::from([frames(1, 0, 1), frames(1, 1, 1), frames(2, 0, 1), Message::ClearLog]);
    let mut taken = Vec::new();
    waiting.take(now, false, &mut arrived, &mut taken);
    waiting.put_back(&mut taken);
    assert!(taken.is_empty());
    let left = turns(&mut waiting, vec![frames(1, 2, 1), Message::Disconnected(ConnId(2)), Message::Stop]).concat();
    let of = |conn: char| left.iter().filter(|name| name.starts_with(conn)).map(String::as_str).collect::<Vec<_>>();
    assert_eq!((of('1'), of('2')), (vec!["1.0", "1.1", "1.2"], vec!["2.0", "2 gone"]));
    assert_eq!((left[0].as_str(), left[left.len() - 1].as_str()), ("window", "stop"));
}

#[test]
fn few_commands_with_many_bytes_are_long() {
    let mut large = frames(1, 0, 1);
    let Message::Frames(frames_of_it) = &mut large else { unreachable!() };
    frames_of_it.bytes = SPARSE_BYTES_MAX + 1;
    let taken = turns(&mut Waiting::default(), vec![large, frames(2, 0, 1)]);
    assert_eq!(taken[0], ["2.0", "1.0"]);
}
