//! A load generator for brokers that speak the protocol, and what is measured with it.
//!
//! It counts only answers that are `ok`; any other ends a measurement with an error. It knows no broker from inside, but
//! for [`turns`], which runs the core without sockets.

pub mod args;
pub mod compare;
pub mod figures;
pub mod frame;
pub mod growth;
pub mod latency;
pub mod load;
pub mod measure;
pub mod scale;
pub mod server;
pub mod turns;
pub mod work;
pub mod workload;
