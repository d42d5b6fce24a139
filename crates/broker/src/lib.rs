//! A running broker in a process: sockets in front, the engine and its file behind, one thread that owns both.
//!
//! Guarantees: no reply leaves before its effect is committed; commands of one connection take effect in the order in
//! which they arrived; everything that a client can fill is bounded (see [`limits`]). The core ([`core::Core`]) has no
//! thread, no socket and no clock, so a simulation can drive it. Decisions are the engine's, bytes are the wire's, SQL is
//! the store's; what the window shows is made elsewhere from [`core_view::CoreView`].

pub mod access;
pub mod activity;
mod asked;
mod batches;
mod blobs;
mod broker;
pub mod bulk;
pub mod clock;
pub mod config;
pub mod conn_table;
mod connection;
pub mod core;
mod core_thread;
pub mod core_view;
mod driver;
pub mod error;
mod fair;
pub mod figures;
mod gate;
mod handle;
pub mod history;
pub mod inbox;
pub mod limits;
mod mail;
pub mod minutes;
pub mod monitor;
mod new_entry;
pub mod news;
pub mod notices;
mod open_files;
pub mod outbox;
mod outward;
mod portion;
mod process;
mod process_figures;
pub mod prometheus;
mod rate;
mod rate_window;
mod reading;
mod repeats;
mod restored;
pub mod run;
mod run_client;
pub mod secret;
mod server;
mod settings;
mod staging;
mod subscribers;
pub mod tls;
pub mod told_json;
mod turn;
pub mod unfinished;
mod watch;
pub mod webhook;
mod webhook_body;
mod webhook_call;
mod weight;
mod zone;

pub use broker::Broker;
pub use config::{BrokerConfig, DataPlace};
pub use core_view::CoreView;
pub use error::{BrokerDown, DataError, ListenError, StartError, TokensError};
pub use handle::{BrokerHandle, BrokerStatus};
pub use onceover_store::StoreError;
pub use onceover_wire::canonical::{canonical_hash, canonical_json};
pub use onceover_wire::request::RefusedAdd;
pub use rate::Rate;
