//! The core commands as a client sees them, section by section of the protocol: the right answer, the events around it, and
//! what a bad field is answered with. Time is virtual, so moments are tested to the millisecond.
//!
//! Not looked at here: the form of an add (`decode_add_tests`), keys (the dedup vectors), sockets (`onceover-broker`).

mod bad_fields;
mod bench;
mod changes;
mod commands;
mod dead_letters;
mod delivery;
mod differences;
mod ending;
mod events;
mod flow_links;
mod flow_refusals;
mod flows;
mod groups;
mod leases;
mod limits;
mod php;
mod queries;
mod queues;
mod record;
mod retry;
mod schedules;
mod webhooks;
