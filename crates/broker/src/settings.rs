//! Settings that change while the broker runs: where clients connect, who may, and which data it works on.
//!
//! Each either happens as a whole or leaves everything as it was. Nothing here is remembered: whoever changes a setting
//! keeps it for the next start.

use crate::access::check_tokens;
use crate::broker::open_core;
use crate::config::DataPlace;
use crate::error::{DataError, ListenError, StartError, TokensError};
use crate::handle::{BrokerHandle, Data, Open, Shared, State};
use crate::inbox::{Message, Switch};
use crate::server::{accept, bind};
use onceover_store::SqliteStore;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::sync::oneshot;

/// How long an address that is let go of may take to be free; it takes microseconds.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

impl BrokerHandle {
    /// Lets clients connect at `addr` (port 0 = any free port) and returns the address really bound. May be called again
    /// for another address: clients that are connected stay, new ones find the new address only.
    ///
    /// # Errors
    /// The address cannot be had, or other machines could reach it and there is no token; an address that was open before
    /// stays open.
    pub fn listen(&self, addr: SocketAddr) -> Result<SocketAddr, ListenError> {
        let mut state = self.0.state();
        if state.ended.is_some() {
            return Err(ListenError::Ended { addr });
        }
        if let Some(open) = state.open.as_ref().filter(|open| open.addr == addr) {
            return Ok(open.addr);
        }
        let mut opened = self.0.open(addr);
        if matches!(opened, Err(ListenError::InUse { .. })) && state.has_port(addr.port()) {
            opened = self.0.open_instead(&mut state, addr);
        }
        state.wanted = addr;
        state.error = opened.as_ref().err().cloned();
        let open = opened?;
        let bound = open.addr;
        state.open = Some(open);
        Ok(bound)
    }

    /// The tokens of which clients must know one; none = everybody may connect. They are secrets: show them to nobody who
    /// could not change them.
    #[must_use]
    pub fn auth_tokens(&self) -> Vec<String> {
        self.0.door.rules.access.tokens()
    }

    /// Whether whoever shows this token may ask what clients may. Without tokens everybody may.
    #[must_use]
    pub fn lets_in(&self, token: Option<&str>) -> bool {
        self.0.door.rules.access.lets_in(token)
    }

    /// From now on these tokens and no others. Clients that came in by a token that is not among them are closed at once,
    /// and with the first token those that came in without one.
    ///
    /// # Errors
    /// A token that cannot be used, or the last one would go while other machines can connect.
    pub fn set_auth_tokens(&self, tokens: &[String]) -> Result<(), TokensError> {
        check_tokens(tokens)?;
        // Held until the end, so that no address is opened meanwhile.
        let state = self.0.state();
        match &state.open {
            Some(open) if tokens.is_empty() && !open.addr.ip().is_loopback() => {
                return Err(TokensError::StillOpen { addr: open.addr });
            }
            Some(_) | None => {}
        }
        self.0.door.rules.access.replace(tokens);
        // When the core has ended, no clients are left.
        let _ = self.0.inbox.send(Message::AccessChanged(Arc::clone(&self.0.door.rules.access)));
        Ok(())
    }

    /// Whether clients must speak TLS. That does not change while the broker runs.
    #[must_use]
    pub fn uses_tls(&self) -> bool {
        self.0.door.rules.tls.is_some()
    }

    /// Where the data is, as it was asked for.
    #[must_use]
    pub fn data_place(&self) -> DataPlace {
        self.0.state().data.place.clone()
    }

    /// Opens other data and goes on with it. The clients' connections are closed as by a restart, after what they had sent
    /// was answered from the data before; the log of adds begins anew, its numbers go on.
    ///
    /// # Errors
    /// The other data cannot be used: the broker goes on with what it has.
    pub async fn open_data(&self, place: DataPlace) -> Result<(), DataError> {
        let _alone = self.0.switching.lock().await;
        let before = self.0.state().data.clone();
        if is_same(&before.file, &place.file()) {
            self.0.state().data.place = place;
            return Ok(());
        }
        let (path, engine) = (place.file(), self.0.engine.clone());
        let open = move || {
            let store = SqliteStore::open(&path)?;
            let file = store.file().to_owned();
            Ok::<_, StartError>((open_core(Box::new(store), engine)?, file))
        };
        // The runtime ends only with the broker.
        let opened = self.0.runtime.spawn_blocking(open).await.map_err(|_| self.down())?;
        let (core, file) = opened.inspect_err(|_| place.let_go())?;
        let (answer, answered) = oneshot::channel();
        let switch = Message::Switch(Box::new(Switch { core, answer }));
        self.0.inbox.send(switch).map_err(|_| self.down())?;
        answered.await.map_err(|_| self.down())?;
        self.0.state().data = Data { place, file };
        before.place.let_go();
        Ok(())
    }
}

impl State {
    fn has_port(&self, port: u16) -> bool {
        self.open.as_ref().is_some_and(|open| open.addr.port() == port)
    }
}

impl Open {
    /// Lets go of the address, and returns it once it is free.
    pub(crate) fn close(self) -> SocketAddr {
        let Open { addr, close, closed } = self;
        drop(close);
        // Nothing is ever sent: its end is what is waited for.
        let _ = closed.recv_timeout(CLOSE_TIMEOUT);
        addr
    }
}

impl Shared {
    fn open(&self, addr: SocketAddr) -> Result<Open, ListenError> {
        if !addr.ip().is_loopback() && self.door.rules.access.is_open() {
            return Err(ListenError::NeedsToken { addr });
        }
        let _inside = self.runtime.enter();
        let listener = bind(addr)?;
        let bound = listener.local_addr().map_err(|error| ListenError::System { addr, cause: error.to_string() })?;
        let (open, closed) = mpsc::channel();
        let (close, closing) = oneshot::channel();
        let door = Arc::clone(&self.door);
        self.runtime.spawn(async move {
            accept(listener, door, closing).await;
            drop(open);
        });
        Ok(Open { addr: bound, close, closed })
    }

    /// Opens an address whose port is in the way because we have it ourselves, such as all addresses instead of loopback.
    fn open_instead(&self, state: &mut State, addr: SocketAddr) -> Result<Open, ListenError> {
        let before = state.open.take().map(Open::close);
        self.open(addr).inspect_err(|_| {
            // It was ours a moment ago; should another program have been quicker, the status tells.
            state.open = before.and_then(|before| self.open(before).ok());
        })
    }
}

/// Whether both names lead to one file that exists.
fn is_same(open: &Path, wanted: &Path) -> bool {
    match (open.canonicalize(), wanted.canonicalize()) {
        (Ok(open), Ok(wanted)) => open == wanted,
        (Ok(_) | Err(_), _) => false,
    }
}
