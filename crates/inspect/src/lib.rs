//! What a window asks of a broker and is told, the same for the desktop window and for a browser.
//!
//! Guarantees: every text about a decision is made here, from what the engine recorded at the moment of deciding; payloads
//! are shown without loss; a question is bounded and short, because it runs on the core thread; an action takes the path
//! that clients' commands take and is refused when what was on the screen has changed.
//!
//! It keeps no state of the broker, knows no host and no socket, and decides nothing about jobs or keys.

mod actions;
mod add_search;
mod adds;
mod asked;
mod attention;
pub mod call;
mod clients;
mod compose;
mod dispatch;
mod draft;
mod dry_run;
mod explain;
mod export;
mod family;
mod filter;
mod health;
mod job_actions;
mod job_bulk;
mod job_can;
mod job_detail;
mod job_ids;
mod jobs;
mod key_actions;
mod key_bulk;
mod key_detail;
mod key_search;
mod keys;
mod limits;
mod new_add;
mod order;
mod overview;
mod payload;
mod playground;
mod queue_actions;
mod queue_limits;
mod queues;
mod record;
mod release;
pub mod request;
mod runs;
mod schedules;
mod send;
mod settings;
pub mod view;
mod webhooks;
mod words;

pub use dispatch::Inspector;
pub use overview::Closed;
pub use settings::{Keeper, Kept, Settings};

#[cfg(test)]
mod testing;
#[cfg(test)]
mod typescript_tests;
