//! A simulated world around the broker's core: many clients, a virtual clock, a disk whose commits fail, crashes.
//!
//! Guarantees: a seed replays exactly; nothing here reads a clock, opens a socket or a file. The core, the engine in it and
//! the outbox are the real ones; turns leave messages for the next one while a long payload is written in pieces, and
//! commands over a whole queue go in parts of any size. A world panics with the first thing that must not be:
//! - an acknowledged effect that a restart does not bring back, or a job or key that changed by it ([`picture`]),
//! - a reply or an event that left although its turn was not committed,
//! - a job that runs under two valid leases, a completion that counts twice, a dedup window that moved, a request that is
//!   never answered ([`ledger`]),
//! - a limit, a group or a webhook that a restart does not bring back, a firing of a schedule that is lost or made twice
//!   ([`settings`], [`ticks`]),
//! - more jobs at once or in a time than a limit allows, a group that is passed over ([`throttles`]),
//! - an invariant of the engine,
//! - a job that nobody can get any more, once the traffic has ended ([`world`]).
//!
//! It does not check the rules of deduplication one by one; the model beside the engine does.

pub mod client;
pub mod ledger;
pub mod picture;
pub mod random;
pub mod settings;
pub mod tally;
pub mod throttles;
pub mod ticks;
pub mod traffic;
mod trees;
pub mod world;

pub use tally::Tally;
pub use world::World;

/// Runs one world of about `steps` steps to its end.
///
/// # Panics
/// Something happened that must not; the text says what.
#[must_use]
pub fn run(seed: u64, steps: u32) -> Tally {
    let mut world = World::new(seed);
    for _ in 0..steps {
        world.step();
    }
    world.wind_up()
}
