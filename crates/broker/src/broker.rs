//! A running broker: started, asked to listen, stopped.
//!
//! It brings its own tokio runtime for sockets (two workers) and one thread for the core, so any host can own it, with or
//! without a runtime of its own. Opening and listening are apart: the window must be able to show that a port is taken.

use crate::access::Access;
use crate::clock::wall_now;
use crate::config::BrokerConfig;
use crate::core::Core;
use crate::core_thread;
use crate::driver::{AnyCore, Driver, ThreadEnd};
use crate::error::StartError;
use crate::handle::{BrokerHandle, BrokerStatus, Data, Shared};
use crate::inbox::{Inbox, Message};
use crate::limits::STOP_TIMEOUT;
use crate::mail::Mail;
use crate::open_files;
use crate::process;
use crate::server::{Door, Rules};
use crate::tls;
use crate::watch::{Hints, pass_on};
use crate::webhook::Courier;
use crate::zone::host_zone;
use onceover_engine::EngineConfig;
use onceover_store::{SqliteStore, Storage};
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// Tokio workers: they only move and decode bytes.
const NET_THREADS: usize = 2;
/// How often a stop looks whether the last connection has ended.
const STOP_LOOK_EVERY: Duration = Duration::from_millis(2);

/// A broker in this process. Dropping it stops it.
pub struct Broker {
    handle: BrokerHandle,
    core: Option<JoinHandle<()>>,
    runtime: Option<Runtime>,
}

impl Broker {
    /// Opens the file and starts the core. No client can connect until [`BrokerHandle::listen`] was called.
    ///
    /// Blocks while the file is read.
    ///
    /// # Errors
    /// The file is in use, cannot be used, or the system gives no threads.
    pub fn open(config: BrokerConfig) -> Result<Broker, StartError> {
        // Before the data is touched.
        config.tls.as_ref().map(tls::acceptor).transpose()?;
        let store = SqliteStore::open(&config.data.file())?;
        let file = store.file().to_owned();
        Broker::with_storage(config, store, file)
    }

    /// As [`Broker::open`], with another storage; `file` is only shown.
    ///
    /// # Errors
    /// As [`Broker::open`].
    pub fn with_storage<S: Storage + 'static>(
        config: BrokerConfig,
        storage: S,
        file: PathBuf,
    ) -> Result<Broker, StartError> {
        let tls = config.tls.as_ref().map(tls::acceptor).transpose()?;
        let engine = engine_config(&config);
        let mut core = open_core(Box::new(storage), engine.clone())?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(NET_THREADS)
            .thread_name("onceover-net")
            .enable_all()
            .build()
            .map_err(StartError::System)?;
        let (inbox, mail) = Inbox::new();
        let (wanted, found) = process::channel();
        let rules = Rules {
            access: Arc::new(Access::new(&config.auth_tokens)),
            tls,
            conns_max: open_files::connections_max(config.connections_max),
            connection: config.connection,
        };
        let door = Arc::new(Door::new(inbox.clone(), rules, wanted));
        let hints = Arc::new(Hints::default());
        let (sender, receiver) = watch::channel(0);
        runtime.spawn(pass_on(Arc::clone(&hints), sender));
        let to_core = inbox.clone();
        // When the core has ended there is nothing to refresh.
        runtime.spawn(process::find_all(found, move || to_core.send(Message::ProgramsFound).unwrap_or(())));
        let (wanted, data) = (config.addr(), Data { place: config.data, file });
        let shared = Shared::new(inbox, door, runtime.handle().clone(), receiver, engine, data, wanted);
        core.outward.news = shared.news.clone();
        let courier = Courier::new(runtime.handle().clone(), shared.inbox.clone(), config.webhooks);
        core.outward.courier = Some(courier);
        let handle = BrokerHandle::new(shared);
        let thread = CoreThread { mail, hints, handle: handle.clone() };
        let core = thread::Builder::new()
            .name("onceover-core".to_owned())
            .spawn(move || thread.run(core))
            .map_err(StartError::System)?;
        Ok(Broker { handle, core: Some(core), runtime: Some(runtime) })
    }

    /// Opens the file, starts the core and listens for clients.
    ///
    /// # Errors
    /// As [`Broker::open`], or the address cannot be had.
    pub fn start(config: BrokerConfig) -> Result<Broker, StartError> {
        let addr = config.addr();
        let broker = Broker::open(config)?;
        broker.handle.listen(addr)?;
        Ok(broker)
    }

    /// Listens for clients; see [`BrokerHandle::listen`].
    ///
    /// # Errors
    /// The address cannot be had.
    pub fn listen(&self, addr: SocketAddr) -> Result<SocketAddr, crate::error::ListenError> {
        self.handle.listen(addr)
    }

    /// The way to ask and to act; it may outlive the broker.
    #[must_use]
    pub fn handle(&self) -> BrokerHandle {
        self.handle.clone()
    }

    /// Lets no client in any more, finishes what has arrived, lets the connections write their replies, merges the file.
    /// Blocks until then, a few seconds at most once the core has ended.
    pub fn stop(mut self) {
        self.shut_down();
    }

    fn shut_down(&mut self) {
        let Some(core) = self.core.take() else { return };
        self.handle.shared().close_door();
        // When the core has ended by itself there is nothing to stop.
        let _ = self.handle.shared().inbox.send(Message::Stop);
        // The thread catches its own panics, so it always ends in order.
        let _ = core.join();
        self.handle.shared().state().data.place.let_go();
        let deadline = Instant::now() + STOP_TIMEOUT;
        while self.handle.shared().door.is_used() && Instant::now() < deadline {
            thread::sleep(STOP_LOOK_EVERY);
        }
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.shut_down();
    }
}

struct CoreThread {
    mail: Arc<Mail>,
    hints: Arc<Hints>,
    handle: BrokerHandle,
}

impl CoreThread {
    fn run(self, core: AnyCore) {
        let ended = match core_thread::run(Driver::new(core, Arc::clone(&self.hints)), &self.mail) {
            ThreadEnd::Stopped => BrokerStatus::Stopped,
            ThreadEnd::Failed(failure) => BrokerStatus::Failed {
                message: format!("The broker stopped: {failure}"),
                remedy: "Then start it again; every add that was acknowledged is in the file.".to_owned(),
            },
            ThreadEnd::Panicked => BrokerStatus::Failed {
                message: "The broker stopped because of a fault in it; the log says where.".to_owned(),
                remedy: "Start it again; every add that was acknowledged is in the file.".to_owned(),
            },
        };
        if let BrokerStatus::Failed { message, .. } = &ended {
            tracing::error!("{message}");
        }
        // The status stands before the messages are dropped, so whoever waits for an answer learns the reason.
        self.handle.shared().end(ended);
        self.mail.close();
        self.hints.ended();
    }
}

/// A core on an open storage. Blocks while the rows are read.
///
/// # Errors
/// The rows cannot be read, or contradict each other.
pub(crate) fn open_core(storage: Box<dyn Storage>, engine: EngineConfig) -> Result<AnyCore, StartError> {
    Ok(Core::open(storage, engine, random_seed(), wall_now())?)
}

fn engine_config(config: &BrokerConfig) -> EngineConfig {
    EngineConfig {
        dedup_window: config.dedup_window,
        completed_max: config.completed_max,
        failed_max: config.failed_max,
        strict_webhooks: config.webhooks.strict,
        fingerprint: onceover_wire::fingerprint,
        zone: host_zone(),
        hash_seed: u128::from(random_seed()) << 64 | u128::from(random_seed()),
    }
}

/// From the operating system: the standard library seeds its hash maps with it.
fn random_seed() -> u64 {
    RandomState::new().hash_one(0x6f6e_6365_6f76_6572_u64)
}
