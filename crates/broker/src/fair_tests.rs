//! Who comes first, and what never changes its order.

use super::*;
use crate::inbox::Frames;
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
        waiting.take(Instant::now(), &mut arrived, &mut taken);
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
    let half = TURN_COMMANDS_MAX / 2;
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
        waiting.take(Instant::now(), &mut arrived, &mut turn);
        taken.extend(turn.iter().map(name));
    }
    assert_eq!(taken, ["1.0", "1.1", "stop"]);
}

#[test]
fn after_a_long_turn_those_who_ask_for_little_have_as_much_time() {
    let long = |number| frames(1, number, TURN_COMMANDS_MAX);
    let mut now = Instant::now();
    let mut waiting = Waiting::default();
    let turn = |waiting: &mut Waiting, at: Instant, messages: Vec<Message>| -> Vec<String> {
        let mut taken = Vec::new();
        waiting.take(at, &mut messages.into(), &mut taken);
        taken.iter().map(name).collect()
    };
    for with_others in [false, true] {
        let mut wanted = vec!["1.0"];
        let mut messages = vec![long(0), long(1)];
        if with_others {
            messages.push(frames(2, 0, 1));
            wanted.insert(0, "2.0");
        }
        assert_eq!(turn(&mut waiting, now, messages), wanted);
        now += 4 * LONG_TURN;
        waiting.took(now, 4 * LONG_TURN, false);
        let time = if with_others { 4 * LONG_TURN } else { Duration::ZERO };
        assert_eq!(waiting.next_in(now), Some(time));
        now += time / 2;
        assert_eq!(turn(&mut waiting, now, vec![frames(3, 0, 1)])[0], "3.0");
        waiting.took(now, Duration::ZERO, false);
        let left = if with_others { Some(time / 2) } else { None };
        assert_eq!(waiting.next_in(now), left);
        now += time / 2;
        let rest = turn(&mut waiting, now, Vec::new());
        assert_eq!(rest.is_empty(), !with_others, "with nobody else it was taken at once");
        assert_eq!(waiting.next_in(now), None);
        now += SPARSE_LATELY * 2;
    }
}

#[test]
fn a_short_turn_is_followed_by_the_next_one_at_once() {
    let now = Instant::now();
    let mut waiting = Waiting::default();
    let flood = (0..3).map(|number| frames(1, number, TURN_COMMANDS_MAX));
    waiting.take(now, &mut flood.chain([frames(2, 0, 1)]).collect(), &mut Vec::new());
    waiting.took(now + LONG_TURN / 2, LONG_TURN / 2, false);
    assert_eq!(waiting.next_in(now), Some(Duration::ZERO));
}

#[test]
fn few_commands_with_many_bytes_are_long() {
    let mut large = frames(1, 0, 1);
    let Message::Frames(frames_of_it) = &mut large else { unreachable!() };
    frames_of_it.bytes = SPARSE_BYTES_MAX + 1;
    let taken = turns(&mut Waiting::default(), vec![large, frames(2, 0, 1)]);
    assert_eq!(taken[0], ["2.0", "1.0"]);
}

#[test]
fn a_payload_of_megabytes_counts_as_long_however_quick_it_was() {
    let mut now = Instant::now();
    let mut waiting = Waiting::default();
    let huge = |number| {
        let mut message = frames(1, number, 1);
        let Message::Frames(frames) = &mut message else { unreachable!() };
        frames.bytes = TURN_BYTES_MAX + 1;
        message
    };
    waiting.take(now, &mut VecDeque::from([huge(0), huge(1), frames(2, 0, 1)]), &mut Vec::new());
    now += LONG_TURN / 2;
    waiting.took(now, LONG_TURN / 2, false);
    assert_eq!(waiting.next_in(now), Some(LONG_TURN / 2));
}

#[test]
fn a_part_of_something_long_is_followed_by_time_for_others() {
    let mut now = Instant::now();
    let mut waiting = Waiting::default();
    waiting.take(now, &mut VecDeque::from([frames(2, 0, 1)]), &mut Vec::new());
    now += LONG_TURN / 2;
    waiting.took(now, LONG_TURN / 2, true);
    assert_eq!((waiting.long_in(now), waiting.next_in(now)), (LONG_TURN / 2, None));
    waiting.took(now + LONG_TURN / 4, LONG_TURN / 4, false);
    assert_eq!(waiting.long_in(now + LONG_TURN / 2), Duration::ZERO);
}
