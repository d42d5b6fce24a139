//! A script of whole requests and of what happens around them, run from decoding to encoding.

use crate::source::Source;
use crate::values::{field, fields_of, wire_name};
use crate::world::World;
use bytes::BytesMut;
use onceover_engine::command::{Command, WindowChange};
use onceover_engine::names::JobId;
use onceover_engine::time::Millis;
use onceover_wire::decode::command_names;
use onceover_wire::msgpack::write;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Steps of one script; what is beyond is not looked at.
const STEPS_MAX: usize = 96;
/// Commands that lead on to something, so that they come often.
const OFTEN: [&str; 10] = ["PUSH", "PUSH", "PUSHB", "PULL", "PULLB", "ACK", "FAIL", "ACKB", "MoveToWait", "WaitJob"];
/// Milliseconds that may pass between two steps.
const TIMES: [i64; 12] = [0, 1, 5, 50, 99, 500, 1_000, 5_001, 30_001, 61_000, 3_600_001, 31_536_000_001];

/// One input: a byte of settings, then steps.
///
/// # Panics
/// At the first thing that must not be.
pub fn run(bytes: &[u8]) {
    accepted(bytes);
}

/// The same, and the commands that were carried out and not refused.
///
/// # Panics
/// At the first thing that must not be.
pub fn accepted(bytes: &[u8]) -> BTreeSet<&'static str> {
    let mut source = Source::new(bytes);
    let mut world = World::new(source.one_in(4));
    world.pass(Millis(0));
    for _ in 0..STEPS_MAX {
        if source.is_empty() {
            break;
        }
        step(&mut world, &mut source);
    }
    world.accepted
}

fn step(world: &mut World, source: &mut Source<'_>) {
    match source.below(16) {
        0 | 1 => world.pass(Millis(source.pick(&TIMES))),
        2 => match source.below(4) {
            0 => world.disconnect(1 + source.below(3) as u64),
            1 => world.hang_up(1 + source.below(3) as u64),
            2 => world.restart(),
            _ => by_hand(world, source),
        },
        3 => {
            let length = source.below(64);
            let payload = source.take(length).to_vec();
            world.request(1, None, &payload);
        }
        at => {
            let conn = 1 + source.below(3) as u64;
            let command = match at > 8 {
                true => source.pick(&OFTEN),
                false => command_names().nth(source.below(command_names().len())).expect("a number below the count"),
            };
            let payload = request(world, source, command);
            world.request(conn, Some(command), &payload);
        }
    }
}

/// What the window does with one of the jobs it has seen, or with the key `k`.
fn by_hand(world: &mut World, source: &mut Source<'_>) {
    let id = world.known.ids.iter().rev().nth(source.below(4)).map_or(JobId::parse("a"), |id| JobId::parse(id));
    let (generation, seen) = world.generation_of(&id);
    let (queue, key) = (Arc::from("q"), Arc::from("k"));
    let command = match source.below(6) {
        0 => Command::RemoveJob { id },
        1 => Command::RetryJob { id },
        2 => Command::EditData { id, generation, seen, data: Some(vec![0xc0].into()) },
        3 => Command::ReleaseKey { queue, key, owner: id, generation },
        4 => Command::RestoreKey { queue, key, generation },
        _ => {
            let ttl = Some(Millis(source.pick(&TIMES))).filter(|ttl| ttl.0 > 0);
            let until = ttl.map(|ttl| world.now().plus(ttl));
            Command::SetKeyWindow(WindowChange { queue, key, owner: id, generation, ttl, until })
        }
    };
    world.act(command);
}

/// The payload of one request; now and then a byte of it is another one.
fn request(world: &World, source: &mut Source<'_>, command: &'static str) -> Vec<u8> {
    let names = fields_of(command);
    // The first field is what the command is about; schedules and workers need more. Of an add's many fields only some.
    let required = if matches!(command, "Cron" | "RegisterWorker") { 3 } else { 1 };
    let (chosen, rest): (Vec<&'static str>, u8) = match names.len() {
        0..=8 => {
            let mask = source.byte();
            let is_in = |at: usize| at < required || mask >> (at % 8) & 1 == 0;
            (names.iter().enumerate().filter(|(at, _)| is_in(*at)).map(|(_, name)| *name).collect(), 0)
        }
        _ => (names[..required].to_vec(), source.byte() % 6),
    };
    let mut out = BytesMut::new();
    write::map(&mut out, 2 + chosen.len() + usize::from(rest));
    write::str(&mut out, "cmd");
    write::str(&mut out, command);
    write::str(&mut out, "reqId");
    write::str(&mut out, source.pick(&["1", "py-1", "", "a request with a long number of its own"]));
    for at in 0..chosen.len() + usize::from(rest) {
        let name = chosen.get(at).copied().unwrap_or_else(|| source.pick(names));
        // What is called otherwise here has the values of its name here.
        let on_wire = wire_name(name, source);
        write::str(&mut out, on_wire);
        field(&mut out, if name == "timing" { on_wire } else { name }, &world.known, source);
    }
    let mut payload = out.to_vec();
    if source.one_in(16) {
        let at = source.below(256) % payload.len();
        payload[at] = source.byte();
    }
    payload
}
