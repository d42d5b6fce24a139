//! The queues, and nothing else: a pure state machine.
//!
//! It has no clock, no threads, no files, no sockets and no async. Time and commands go in; answers, events and changed rows
//! come out. The same inputs and seed give the same outputs, always.

mod admit;
mod bucket;
pub mod calendar;
pub mod change;
pub mod command;
mod completed_ids;
mod custom_id;
pub mod dead;
pub mod dedup;
mod deliver;
mod dirty;
mod dispatch;
mod edit;
pub mod effects;
pub mod engine;
pub mod event;
mod finish;
pub mod flow;
mod flow_fail;
mod flow_link;
mod flow_push;
mod flow_values;
pub mod flow_wait;
pub mod group;
mod groups;
mod hashing;
mod ids;
mod index;
mod invariants;
pub mod job;
mod jobs;
mod keys;
pub mod limit;
pub mod limits;
mod list;
mod lock;
mod long;
mod manage;
pub mod names;
mod new_job;
pub mod notice;
mod park;
mod plan;
mod query;
mod queue;
mod ranked;
mod ready;
pub mod rejection;
pub mod reply;
mod rows;
pub mod schedule;
mod schedule_fire;
mod skip;
mod slab;
mod state;
mod taken;
mod tallies;
pub mod time;
mod timers;
mod transit;
mod turns;
pub mod view;
pub mod webhook;
mod work;
mod worker;

pub use engine::{Engine, EngineConfig};
pub use rows::Restoring;

#[cfg(test)]
mod bounds_tests;
#[cfg(test)]
mod scenario_tests;
#[cfg(test)]
mod testing;
