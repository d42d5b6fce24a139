//! What can keep a broker from starting, listening or going on. Texts are for people: cause, consequence, next step.

use crate::access::TokenError;
use crate::tls::TlsError;
use onceover_store::StoreError;
use std::net::SocketAddr;

/// The broker could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another broker runs with the same file.
    #[error("{0}")]
    DataInUse(StoreError),
    /// The file cannot be used.
    #[error("{0}")]
    Data(StoreError),
    /// The file's rows contradict each other.
    #[error("{0}")]
    Rows(CoreFailure),
    /// No address to serve clients on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// No TLS with the files that were named.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The system gives no threads.
    #[error("cannot start a thread: {0}. Close other programs, then start again.")]
    System(std::io::Error),
}

impl From<StoreError> for StartError {
    fn from(error: StoreError) -> StartError {
        match error {
            StoreError::InUse { .. } => StartError::DataInUse(error),
            StoreError::Full { .. }
            | StoreError::Busy { .. }
            | StoreError::Corrupt { .. }
            | StoreError::NewerSchema { .. }
            | StoreError::NotOurs { .. }
            | StoreError::ForeignBunqueue { .. }
            | StoreError::Displaced { .. }
            | StoreError::ReadOnly { .. }
            | StoreError::Io { .. } => StartError::Data(error),
        }
    }
}

impl From<CoreFailure> for StartError {
    fn from(failure: CoreFailure) -> StartError {
        match failure {
            CoreFailure::Store(error) => error.into(),
            CoreFailure::Rows { .. } => StartError::Rows(failure),
        }
    }
}

/// The core cannot go on with this file.
#[derive(Debug, thiserror::Error)]
pub enum CoreFailure {
    /// The file cannot be read or written.
    #[error("{0}")]
    Store(StoreError),
    /// Its rows contradict each other.
    #[error(
        "cannot use the data file: {message}. Put back a backup of the file, or move it away to start with empty queues."
    )]
    Rows {
        /// Which row, and what is wrong with it.
        message: String,
    },
}

/// No clients can be served on an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListenError {
    /// Another program has it.
    #[error(
        "port {port} of {ip} is in use by another program, so clients cannot reach this broker. Stop that program, or choose \
         another port{free}.", port = .addr.port(), ip = .addr.ip(),
        free = .free.map(|port| format!(" ({port} is free)")).unwrap_or_default()
    )]
    InUse {
        /// The address.
        addr: SocketAddr,
        /// A port of the same host that was free a moment ago.
        free: Option<u16>,
    },
    /// Other machines could connect, and anybody could do anything.
    #[error(
        "{addr} can be reached by other machines, but no token is set, so anybody could add and read jobs. Set AUTH_TOKENS, \
         or listen on 127.0.0.1."
    )]
    NeedsToken {
        /// The address.
        addr: SocketAddr,
    },
    /// Not allowed for this account.
    #[error("this account may not listen on {addr}. Choose a port above 1023.")]
    Denied {
        /// The address.
        addr: SocketAddr,
    },
    /// The broker has ended, so nobody would answer.
    #[error("{addr} cannot be served: the broker has ended. Start it again.")]
    Ended {
        /// The address.
        addr: SocketAddr,
    },
    /// Anything else.
    #[error("cannot listen on {addr}: {cause}. Choose another address.")]
    System {
        /// The address.
        addr: SocketAddr,
        /// What the system says.
        cause: String,
    },
}

/// The tokens stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokensError {
    /// One of them cannot be used.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// Other machines could connect, and anybody could do anything.
    #[error(
        "clients connect at {addr}, which other machines can reach, so the last token cannot be removed. Listen on 127.0.0.1 \
         first."
    )]
    StillOpen {
        /// The address.
        addr: SocketAddr,
    },
}

/// The broker goes on with the data it has.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The other data cannot be used.
    #[error(transparent)]
    Open(#[from] StartError),
    /// The broker has ended.
    #[error(transparent)]
    Down(#[from] BrokerDown),
}

/// An action or a question that got no answer from the core.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokerDown {
    /// It was stopped.
    #[error("the broker was stopped")]
    Stopped,
    /// It ended by a fault.
    #[error("{message} {remedy}")]
    Failed {
        /// What happened.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// The file could not be written, so the action did not happen, or read, so the answer is not known.
    #[error("Storage error: {message}")]
    Storage {
        /// What the store says.
        message: String,
    },
}
