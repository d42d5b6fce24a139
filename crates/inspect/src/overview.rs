//! The broker as a whole: what it does, where, and the numbers beside the navigation. Answered without a running broker too,
//! because that is when the window has most to explain.

use crate::adds::client;
use crate::clients;
use crate::jobs::counts_of;
use crate::view::{BrokerState, DedupWindow, NavCounts, Notice, Overview};
use crate::words::duration;
use onceover_broker::activity::AddEntry;
use onceover_broker::clock::Jump;
use onceover_broker::notices::{self, Event};
use onceover_broker::{BrokerHandle, BrokerStatus, CoreView, ListenError};
use onceover_engine::dedup;
use onceover_engine::time::Millis;
use std::net::SocketAddr;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A host whose broker could not be opened: what the window shows instead.
#[derive(Clone, Debug)]
pub struct Closed {
    /// What happened: cause, consequence, next step.
    pub message: String,
    /// The address that clients would have found.
    pub addr: SocketAddr,
    /// The file that could not be used.
    pub data_file: String,
    /// When it was tried, in ms since 1970.
    pub at: i64,
}

/// What the core knows; runs on its thread. `attention` is the number of keys that deserve a look.
pub fn of_core(core: &CoreView<'_>, attention: u64) -> Overview {
    let newest = core.connections.newest().map(|client| client.label());
    let newest_add = || core.activity.iter().find(|entry| is_clients(entry)).map(|entry| client(&entry.source));
    let totals = core.engine.totals();
    Overview {
        revision: core.revision,
        now: core.now.0,
        data_bytes: core.store_bytes,
        storage_trouble: core.trouble.map(str::to_owned),
        counts: NavCounts {
            adds: core.activity.newest_seq(),
            keys: core.engine.keys_len() as u64,
            jobs: counts_of(core.engine.counts(None)),
            schedules: core.engine.schedules().count() as u64,
            queues: core.engine.queues().len() as u64,
            clients: clients::count(core),
            attention,
        },
        adds_per_s: core.adds_per_s(),
        connections: u32::try_from(core.connections.len()).unwrap_or(u32::MAX),
        workers: clients::workers(core),
        dedup_window: dedup_window(core.engine.config().dedup_window),
        ever_connected: core.connections.connected_ever() > 0 || core.engine.jobs_len() > 0 || totals.pushed > 0,
        last_client: newest.or_else(newest_add),
        first_add_seq: core.activity.oldest_seq(),
        notices: core.notices.iter().map(notice).collect(),
        ..blank()
    }
}

fn notice(notice: &notices::Notice) -> Notice {
    let text = match &notice.what {
        Event::File(text) => text.clone(),
        Event::WorksAgain { since, error } => {
            let lasted = duration(notice.at.since(*since));
            format!("The data file can be written again. For {lasted} it was refused: {error}")
        }
        Event::Clock(Jump::Ahead(by)) => format!(
            "The clock went ahead by {}, or the machine slept. Windows of keys and delays follow the clock; leases, timeouts \
             and waiting requests last as long as before.",
            jump_length(*by)
        ),
        Event::Clock(Jump::Back(by)) => format!(
            "The clock was set back by {}. The broker counts on from its own time until the clock has caught up or the broker \
             is restarted, so windows of keys and delays last as long as before.",
            jump_length(*by)
        ),
    };
    Notice { at: notice.at.0, text }
}

/// To the second: a jump is measured from one look at the clock to the next.
fn jump_length(by: Millis) -> String {
    duration(Millis(by.0.saturating_add(500) / 1_000 * 1_000))
}

fn is_clients(entry: &AddEntry) -> bool {
    matches!(entry.source, onceover_broker::activity::AddSource::Client(_))
}

/// The engine's setting in the words of the views.
pub fn dedup_window(window: dedup::DedupWindow) -> DedupWindow {
    match window {
        dedup::DedupWindow::Ttl => DedupWindow::Ttl,
        dedup::DedupWindow::UntilDone => DedupWindow::UntilDone,
    }
}

/// The same with what the broker's handle knows.
pub fn with_handle(overview: Overview, broker: &BrokerHandle) -> Overview {
    let (state, addr) = state(broker.status());
    let (host, port) = addr.map_or_else(Default::default, |addr| (addr.ip().to_string(), addr.port()));
    Overview {
        broker: state,
        host,
        port,
        data_file: Some(broker.data_file().display().to_string()),
        started_at: broker.started_at().0,
        ..overview
    }
}

fn state(status: BrokerStatus) -> (BrokerState, Option<SocketAddr>) {
    match status {
        BrokerStatus::Listening { addr } => (BrokerState::Listening, Some(addr)),
        BrokerStatus::NotListening { wanted, error: None } => (BrokerState::Starting, Some(wanted)),
        BrokerStatus::NotListening { wanted, error: Some(ListenError::InUse { addr, free }) } => {
            (BrokerState::PortTaken { port: addr.port(), suggestion: free }, Some(wanted))
        }
        BrokerStatus::NotListening { wanted, error: Some(error) } => {
            let remedy = "Everything else works; only clients cannot connect.".to_owned();
            (BrokerState::NotListening { message: error.to_string(), remedy }, Some(wanted))
        }
        BrokerStatus::Failed { message, remedy } => (BrokerState::Failed { message, remedy }, None),
        BrokerStatus::Stopped => (BrokerState::Stopped, None),
    }
}

/// Without a core: it ended.
pub fn of_ended(broker: &BrokerHandle) -> Overview {
    with_handle(Overview { revision: *broker.changes().borrow(), now: broker.now().0, ..blank() }, broker)
}

/// Without a broker: it could not be opened.
pub fn of_closed(closed: &Closed) -> Overview {
    let remedy = "Then start Onceover again.".to_owned();
    Overview {
        now: closed.at,
        broker: BrokerState::Failed { message: closed.message.clone(), remedy },
        host: closed.addr.ip().to_string(),
        port: closed.addr.port(),
        data_file: Some(closed.data_file.clone()),
        started_at: closed.at,
        ..blank()
    }
}

fn blank() -> Overview {
    Overview {
        revision: 0,
        now: 0,
        version: VERSION.to_owned(),
        broker: BrokerState::Stopped,
        host: String::new(),
        port: 0,
        data_file: None,
        data_bytes: 0,
        storage_trouble: None,
        started_at: 0,
        counts: NavCounts::default(),
        adds_per_s: 0.0,
        connections: 0,
        workers: 0,
        dedup_window: DedupWindow::Ttl,
        ever_connected: false,
        last_client: None,
        first_add_seq: None,
        read_only: false,
        notices: Vec::new(),
    }
}
