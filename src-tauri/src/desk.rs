//! What the shell holds while it runs: the broker, who answers the window, and the window's stream of hints.

use onceover_broker::{Broker, BrokerConfig, BrokerHandle, StartError};
use onceover_inspect::{Closed, Inspector};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tauri::async_runtime::JoinHandle;

/// Managed by Tauri, shared by all commands.
pub struct Desk {
    inspector: Inspector,
    broker: Mutex<Option<Broker>>,
    handle: Option<BrokerHandle>,
    hints: Mutex<Option<JoinHandle<()>>>,
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
    pub fn open(config: BrokerConfig) -> Result<Desk, OpenError> {
        let addr = config.addr();
        let data_file = config.data.file().display().to_string();
        match Broker::open(config) {
            Ok(broker) => {
                if let Err(error) = broker.listen(addr) {
                    tracing::warn!("{error}");
                }
                let handle = broker.handle();
                Ok(Desk::new(Inspector::new(handle.clone()), Some(broker), Some(handle)))
            }
            Err(error @ StartError::DataInUse(_)) => Err(OpenError::InUse(error)),
            Err(
                error @ (StartError::Data(_)
                | StartError::Rows(_)
                | StartError::Listen(_)
                | StartError::Tls(_)
                | StartError::System(_)),
            ) => {
                tracing::error!("{error}");
                let closed = Closed { message: error.to_string(), addr, data_file, at: now_ms() };
                Ok(Desk::new(Inspector::closed(closed), None, None))
            }
        }
    }

    fn new(inspector: Inspector, broker: Option<Broker>, handle: Option<BrokerHandle>) -> Desk {
        Desk { inspector, broker: Mutex::new(broker), handle, hints: Mutex::new(None) }
    }

    /// Who answers.
    pub fn inspector(&self) -> &Inspector {
        &self.inspector
    }

    /// The broker; none when it could not be opened.
    pub fn broker(&self) -> Option<&BrokerHandle> {
        self.handle.as_ref()
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

/// Both locks guard a value that is only replaced as a whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
