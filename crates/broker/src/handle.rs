//! The way to ask a broker and to act on it, for the window and its doors. Cheap to clone, may outlive the broker.

use crate::clock::wall_now;
use crate::config::DataPlace;
use crate::core_view::CoreView;
use crate::error::{BrokerDown, ListenError};
use crate::inbox::{Inbox, Message};
use crate::news::News;
use crate::run::{self, RunFigures, RunMark, RunPlan, RunRefused};
use crate::server::Door;
use onceover_engine::EngineConfig;
use onceover_engine::command::Command;
use onceover_engine::reply::Reply;
use onceover_engine::time::Timestamp;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use tokio::runtime;
use tokio::sync::{oneshot, watch};

/// What a broker does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrokerStatus {
    /// Clients can connect.
    Listening {
        /// The address really bound.
        addr: SocketAddr,
    },
    /// It runs, but no client can connect.
    NotListening {
        /// The address that was wanted.
        wanted: SocketAddr,
        /// Why not; none when it was not tried yet.
        error: Option<ListenError>,
    },
    /// It ended by a fault.
    Failed {
        /// What happened.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// It was stopped.
    Stopped,
}

/// A broker, seen from its host.
#[derive(Clone)]
pub struct BrokerHandle(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) inbox: Inbox,
    pub(crate) door: Arc<Door>,
    pub(crate) runtime: runtime::Handle,
    pub(crate) engine: EngineConfig,
    changes: watch::Receiver<u64>,
    started_at: Timestamp,
    pub(crate) news: News,
    state: Mutex<State>,
    /// Held by whoever changes the data for other data.
    pub(crate) switching: tokio::sync::Mutex<()>,
}

pub(crate) struct State {
    pub(crate) open: Option<Open>,
    /// The last address that was tried, and what came of it.
    pub(crate) wanted: SocketAddr,
    pub(crate) error: Option<ListenError>,
    pub(crate) ended: Option<BrokerStatus>,
    pub(crate) data: Data,
}

/// The data in use.
#[derive(Clone)]
pub(crate) struct Data {
    /// As it was asked for.
    pub(crate) place: DataPlace,
    /// The file, for people.
    pub(crate) file: PathBuf,
}

/// An address that clients can connect to.
pub(crate) struct Open {
    pub(crate) addr: SocketAddr,
    /// Never sent on: whoever drops it closes the address.
    pub(crate) close: oneshot::Sender<()>,
    /// Ends when the address is free again.
    pub(crate) closed: mpsc::Receiver<()>,
}

impl BrokerHandle {
    pub(crate) fn new(shared: Shared) -> BrokerHandle {
        BrokerHandle(Arc::new(shared))
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0
    }

    /// What the broker does now.
    #[must_use]
    pub fn status(&self) -> BrokerStatus {
        let state = self.0.state();
        match (&state.ended, &state.open) {
            (Some(ended), _) => ended.clone(),
            (None, Some(open)) => BrokerStatus::Listening { addr: open.addr },
            (None, None) => BrokerStatus::NotListening { wanted: state.wanted, error: state.error.clone() },
        }
    }

    /// Asks something of the core, between two turns. `question` must be quick: everything waits for it.
    ///
    /// # Errors
    /// The broker has ended.
    pub async fn view<T: Send + 'static>(
        &self,
        question: impl FnOnce(&CoreView<'_>) -> T + Send + 'static,
    ) -> Result<T, BrokerDown> {
        let (answer, answered) = oneshot::channel();
        let view = move |core: &CoreView<'_>| {
            // A question only looks, so a fault in it leaves the core whole; it must not stop the broker.
            let result = catch_unwind(AssertUnwindSafe(|| question(core))).map_err(|_| BrokerDown::Failed {
                message: "The window's question made a fault in the broker; the log says where.".to_owned(),
                remedy: "The broker goes on.".to_owned(),
            });
            // Whoever asked may have gone.
            let _ = answer.send(result);
        };
        self.0.inbox.send(Message::View(Box::new(view))).map_err(|_| self.down())?;
        answered.await.unwrap_or_else(|_| Err(self.down()))
    }

    /// Does something, on the path that clients' commands take. The answer comes after the commit, payloads filled in.
    ///
    /// # Errors
    /// The broker has ended, or the file cannot be written: then it did not happen.
    pub async fn act(&self, command: Command) -> Result<Reply, BrokerDown> {
        self.begin(command).await
    }

    /// The same for many commands: each is on its way when this returns, so that those begun together share a commit.
    ///
    /// # Errors
    /// As [`BrokerHandle::act`].
    pub fn begin(&self, command: Command) -> impl Future<Output = Result<Reply, BrokerDown>> + Send + use<> {
        let (answer, answered) = oneshot::channel();
        self.sent(Message::Act { command: Box::new(command), answer }, answered)
    }

    /// As [`BrokerHandle::act`], for somebody who asked over HTTP.
    ///
    /// # Errors
    /// As [`BrokerHandle::act`].
    pub async fn act_for_client(&self, command: Command) -> Result<Reply, BrokerDown> {
        let (answer, answered) = oneshot::channel();
        self.sent(Message::Http { command: Box::new(command), answer }, answered).await
    }

    fn sent(
        &self,
        act: Message,
        answered: oneshot::Receiver<Result<Reply, BrokerDown>>,
    ) -> impl Future<Output = Result<Reply, BrokerDown>> + Send + use<> {
        let sent = self.0.inbox.send(act).map_err(|_| self.down());
        let broker = self.clone();
        async move {
            sent?;
            answered.await.unwrap_or_else(|_| Err(broker.down()))
        }
    }

    /// Sends an add many times, over connections of its own to the port that clients know.
    ///
    /// # Errors
    /// Another run still sends, or there is no port to connect to.
    pub fn start_run(&self, plan: RunPlan) -> Result<RunMark, RunRefused> {
        let BrokerStatus::Listening { addr } = self.status() else { return Err(RunRefused::NotListening) };
        let _inside = self.0.runtime.enter();
        run::start(&self.0.door, addr, plan)
    }

    /// The last run.
    #[must_use]
    pub fn run(&self) -> Option<RunFigures> {
        self.0.door.runs.figures()
    }

    /// Ends a run before its time. False when it has ended already.
    #[must_use]
    pub fn stop_run(&self, id: u64) -> bool {
        self.0.door.runs.stop(id)
    }

    /// Forgets the log of adds. Jobs and keys stay as they are.
    ///
    /// # Errors
    /// The broker has ended.
    pub fn clear_log(&self) -> Result<(), BrokerDown> {
        self.0.inbox.send(Message::ClearLog).map_err(|_| self.down())
    }

    /// The newest revision; changes ten times a second at most.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.clone()
    }

    /// What happens in the whole broker.
    #[must_use]
    pub fn news(&self) -> &News {
        &self.0.news
    }

    /// The file that the jobs are kept in.
    #[must_use]
    pub fn data_file(&self) -> PathBuf {
        self.0.state().data.file.clone()
    }

    /// When the broker was opened.
    #[must_use]
    pub fn started_at(&self) -> Timestamp {
        self.0.started_at
    }

    /// The wall's time, for a view that is made without the core.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        wall_now()
    }

    pub(crate) fn down(&self) -> BrokerDown {
        match self.status() {
            BrokerStatus::Failed { message, remedy } => BrokerDown::Failed { message, remedy },
            BrokerStatus::Stopped | BrokerStatus::Listening { .. } | BrokerStatus::NotListening { .. } => {
                BrokerDown::Stopped
            }
        }
    }
}

impl Shared {
    pub(crate) fn new(
        inbox: Inbox,
        door: Arc<Door>,
        runtime: runtime::Handle,
        changes: watch::Receiver<u64>,
        engine: EngineConfig,
        data: Data,
        wanted: SocketAddr,
    ) -> Shared {
        let state = Mutex::new(State { open: None, wanted, error: None, ended: None, data });
        let switching = tokio::sync::Mutex::new(());
        Shared {
            inbox,
            door,
            runtime,
            engine,
            changes,
            started_at: wall_now(),
            news: News::default(),
            state,
            switching,
        }
    }

    /// Nobody comes in any more.
    pub(crate) fn close_door(&self) {
        let open = self.state().open.take();
        open.map(Open::close);
    }

    /// The core has ended.
    pub(crate) fn end(&self, ended: BrokerStatus) {
        self.close_door();
        self.state().ended = Some(ended);
    }

    /// The state is only replaced as a whole, so a panic elsewhere cannot leave it half changed.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
