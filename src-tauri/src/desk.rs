//! What the shell holds while it runs: the broker, who answers the window, and the window's stream of hints.

use crate::args::Start;
use crate::kept;
use crate::log_tail::LogTail;
use onceover_broker::{Broker, BrokerConfig, BrokerStatus, StartError};
use onceover_inspect::{Closed, Inspector, Settings};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tauri::async_runtime::JoinHandle;
use tokio::sync::watch;

/// Managed by Tauri, shared by all commands.
pub struct Desk {
    /// As the program was started.
    start: Start,
    broker: Mutex<Option<Broker>>,
    /// Who answers now, for the page and for its stream of hints.
    seen: watch::Sender<Seen>,
    hints: Mutex<Option<JoinHandle<()>>>,
    log: LogTail,
    /// Whether the page was told that the window is to close, and has not answered.
    closing: AtomicBool,
}

/// The broker as the page sees it; another one after a restart.
#[derive(Clone)]
pub struct Seen {
    /// Who answers.
    pub inspector: Inspector,
    /// Its hints; none when it could not be opened.
    pub changes: Option<watch::Receiver<u64>>,
}

/// Why no window is opened.
#[derive(Debug)]
pub enum OpenError {
    /// Another broker runs with the same data.
    InUse(StartError),
}

impl Desk {
    /// Opens the data and lets clients in. Data that cannot be used, or a taken port, is told by the window.
    ///
    /// # Errors
    /// The data belongs to a running broker.
    pub fn open(start: Start, log: LogTail) -> Result<Desk, OpenError> {
        let (broker, seen) = begin(&start)?;
        Ok(Desk {
            start,
            broker: Mutex::new(broker),
            seen: watch::Sender::new(seen),
            hints: Mutex::new(None),
            log,
            closing: AtomicBool::new(false),
        })
    }

    /// Who answers.
    pub fn inspector(&self) -> Inspector {
        self.seen.borrow().inspector.clone()
    }

    /// The present broker and those that follow it.
    pub fn brokers(&self) -> watch::Receiver<Seen> {
        self.seen.subscribe()
    }

    /// Starts a broker in the place of the present one, with the settings that are kept.
    ///
    /// # Errors
    /// The text says why there is none.
    pub fn restart(&self) -> Result<(), String> {
        let mut broker = locked(&self.broker);
        // The file must be free before it is opened again.
        if let Some(before) = broker.take() {
            before.stop();
        }
        let (started, seen) = begin(&self.start).map_err(|OpenError::InUse(error)| error.to_string())?;
        *broker = started;
        self.seen.send_replace(seen);
        Ok(())
    }

    /// Whether closing the window is worth a question. The second time in a row it is not: the page does not answer.
    pub fn asks_before_closing(&self) -> bool {
        let running = locked(&self.broker).as_ref().is_some_and(runs);
        running && !self.closing.swap(true, Ordering::Relaxed)
    }

    /// The page has the question on the screen.
    pub fn page_decides(&self) {
        self.closing.store(false, Ordering::Relaxed);
    }

    /// The folder of the data file.
    pub fn data_folder(&self) -> PathBuf {
        let open = locked(&self.broker).as_ref().map(|broker| broker.handle().data_file());
        let file = open.unwrap_or_else(|| self.start.config.data.file());
        file.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
    }

    /// The last lines of the log, oldest first.
    pub fn log_lines(&self) -> Vec<String> {
        self.log.lines()
    }

    /// The window's stream of hints from now on. The one before ends: the page was loaded again.
    pub fn stream(&self, hints: JoinHandle<()>) {
        if let Some(before) = locked(&self.hints).replace(hints) {
            before.abort();
        }
    }

    /// Stops the broker: what was acknowledged is in the file, replies on their way are sent.
    pub fn stop(&self) {
        if let Some(broker) = locked(&self.broker).take() {
            broker.stop();
        }
    }
}

fn runs(broker: &Broker) -> bool {
    match broker.handle().status() {
        BrokerStatus::Listening { .. } | BrokerStatus::NotListening { .. } => true,
        BrokerStatus::Failed { .. } | BrokerStatus::Stopped => false,
    }
}

fn begin(start: &Start) -> Result<(Option<Broker>, Seen), OpenError> {
    let place = kept::place(&start.config);
    let kept = match kept::load(&place) {
        Ok(kept) => kept,
        Err(message) => return Ok(closed(message, &start.config)),
    };
    let config = kept::merged(start, &kept);
    let addr = config.addr();
    match Broker::open(config.clone()) {
        Ok(broker) => {
            if let Err(error) = broker.listen(addr) {
                tracing::warn!("{error}");
            }
            let handle = broker.handle();
            let pinned = start.pinned.iter().map(|name| (*name).to_owned()).collect();
            let settings = Settings::keeping(kept, pinned, kept::keeper(place));
            let inspector = Inspector::new(handle.clone()).with_settings(settings);
            Ok((Some(broker), Seen { inspector, changes: Some(handle.changes()) }))
        }
        Err(error @ StartError::DataInUse(_)) => Err(OpenError::InUse(error)),
        Err(
            error @ (StartError::Data(_)
            | StartError::Rows(_)
            | StartError::Tls(_)
            | StartError::Listen(_)
            | StartError::System(_)),
        ) => Ok(closed(error.to_string(), &config)),
    }
}

/// No broker, and why.
fn closed(message: String, config: &BrokerConfig) -> (Option<Broker>, Seen) {
    tracing::error!("{message}");
    let data_file = config.data.file().display().to_string();
    let closed = Closed { message, addr: config.addr(), data_file, at: now_ms() };
    (None, Seen { inspector: Inspector::closed(closed), changes: None })
}

/// Both locks guard a value that is only replaced as a whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
