//! The door for clients: binds an address, accepts, and starts one task per connection.

use crate::access::Access;
use crate::config::ConnSettings;
use crate::conn_table::Client;
use crate::connection::{Session, Socket, last_words, serve};
use crate::error::ListenError;
use crate::inbox::{Inbox, Message, Problem};
use crate::limits::{ACCEPT_PAUSE, ACCEPTS_AT_ONCE_MAX, BACKLOG_MAX, TURNED_AWAY_MAX};
use crate::process::Wanted;
use crate::run::Runs;
use crate::tls::{NoTls, handshake};
use bytes::BytesMut;
use onceover_engine::names::ConnId;
use onceover_wire::encode::encode_error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio_rustls::TlsAcceptor;

/// Pause after a failed accept: the system is out of descriptors, and trying at once would only keep it busy.
const AFTER_FAILED_ACCEPT: Duration = Duration::from_millis(100);
/// Ports above the wanted one that are tried for a suggestion.
const PORTS_TRIED: u16 = 20;

/// What all connections share.
pub struct Door {
    /// The way to the core.
    pub inbox: Inbox,
    /// What all connections must keep to.
    pub rules: Rules,
    /// Where clients go whose program is wanted.
    pub wanted: UnboundedSender<Wanted>,
    /// Runs of the window, whose connections come in as any other's.
    pub runs: Runs,
    room: Arc<Semaphore>,
    /// For those that are told that there is no room.
    room_outside: Arc<Semaphore>,
    conns_ever: AtomicU64,
}

/// What all connections must keep to.
pub struct Rules {
    /// Who may ask.
    pub access: Arc<Access>,
    /// Clients must speak TLS; none = they speak plainly.
    pub tls: Option<TlsAcceptor>,
    /// How many are served at the same time.
    pub conns_max: usize,
    /// Bounds of each.
    pub connection: ConnSettings,
}

impl Door {
    /// A door without connections.
    #[must_use]
    pub fn new(inbox: Inbox, rules: Rules, wanted: UnboundedSender<Wanted>) -> Door {
        let room = Arc::new(Semaphore::new(rules.conns_max));
        let room_outside = Arc::new(Semaphore::new(TURNED_AWAY_MAX));
        Door { inbox, rules, wanted, runs: Runs::default(), room, room_outside, conns_ever: AtomicU64::new(0) }
    }

    /// Whether a connection is still there.
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.room.available_permits() < self.rules.conns_max
    }

    /// Which program is it?
    fn look_for(&self, client: &Arc<Client>, socket: &TcpStream) {
        if let Ok(local) = socket.local_addr() {
            // When nobody looks for programs any more, the broker is stopping.
            let _ = self.wanted.send(Wanted { client: Arc::clone(client), local });
        }
    }

    fn next_conn(&self) -> ConnId {
        ConnId(self.conns_ever.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// Takes an address. Must be called inside a tokio runtime.
///
/// # Errors
/// See [`ListenError`].
pub fn bind(addr: SocketAddr) -> Result<TcpListener, ListenError> {
    try_bind(addr).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => ListenError::InUse { addr, free: free_port_near(addr) },
        io::ErrorKind::PermissionDenied => ListenError::Denied { addr },
        _ => ListenError::System { addr, cause: error.to_string() },
    })
}

fn try_bind(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Elsewhere this option would let two programs share the port.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(BACKLOG_MAX)
}

/// A port of the same host that is free now, the next ones first.
fn free_port_near(addr: SocketAddr) -> Option<u16> {
    let next = (1..=PORTS_TRIED).filter_map(|step| addr.port().checked_add(step));
    let free = |port| Some(try_bind(SocketAddr::new(addr.ip(), port)).ok()?.local_addr().ok()?.port());
    next.chain([0]).find_map(free)
}

/// Accepts until `close` is dropped, then lets in those who have connected already: they would be reset otherwise.
///
/// Whoever connects all the time must not take the time of those who are connected: after some there is a pause, in which
/// the system holds the next ones for us.
pub async fn accept(listener: TcpListener, door: Arc<Door>, mut close: oneshot::Receiver<()>) {
    let mut without_pause = 0;
    loop {
        if without_pause == ACCEPTS_AT_ONCE_MAX {
            without_pause = 0;
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = &mut close => break,
        };
        match accepted {
            Ok((socket, peer)) => {
                without_pause += 1;
                admit(socket, peer, &door);
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(AFTER_FAILED_ACCEPT).await;
            }
        }
    }
    // Asked of the system itself: the runtime may not have heard of them yet. Any error means that nobody is left.
    let Ok(listener) = listener.into_std() else { return };
    while let Ok((socket, peer)) = listener.accept() {
        if let Ok(socket) = socket.set_nonblocking(true).and_then(|()| TcpStream::from_std(socket)) {
            admit(socket, peer, &door);
        }
    }
}

fn admit(socket: TcpStream, peer: SocketAddr, door: &Arc<Door>) {
    let client = Arc::new(Client::new(door.next_conn(), peer));
    if let Some(mark) = door.runs.mark_of(peer) {
        client.belongs_to(mark);
    }
    match Arc::clone(&door.room).try_acquire_owned() {
        Ok(place) => {
            door.look_for(&client, &socket);
            tokio::spawn(serve_in(socket, client, Arc::clone(door), place));
        }
        Err(_full) => match Arc::clone(&door.room_outside).try_acquire_owned() {
            Ok(place) => {
                door.look_for(&client, &socket);
                tokio::spawn(turn_away(socket, client, Arc::clone(door), place));
            }
            // Even the answer costs something, and enough of them have been told of.
            Err(_crowd) => drop(socket),
        },
    }
}

async fn serve_in(socket: TcpStream, client: Arc<Client>, door: Arc<Door>, place: OwnedSemaphorePermit) {
    let Rules { access, tls, connection, .. } = &door.rules;
    let (inbox, access) = (door.inbox.clone(), Arc::clone(access));
    let session = Session { client: Arc::clone(&client), inbox, access, settings: *connection };
    match tls {
        None => serve(socket, session).await,
        Some(tls) => match handshake(tls, socket).await {
            Ok(socket) => serve(socket, session).await,
            Err(refused) => no_tls(refused, Arc::clone(&client), &door.inbox).await,
        },
    }
    client.leaves();
    drop(place);
}

async fn no_tls(NoTls { problem, socket }: NoTls, client: Arc<Client>, inbox: &Inbox) {
    if let Some(problem) = problem {
        tracing::warn!(peer = %client.peer, "{}", problem.text);
        // When the core has ended there is no window to show it.
        let _ = inbox.send(Message::Problem(client, problem));
    }
    if let Some(mut socket) = socket {
        last_words(&mut socket).await;
    }
}

async fn turn_away(socket: TcpStream, client: Arc<Client>, door: Arc<Door>, place: OwnedSemaphorePermit) {
    let text = format!("Too many connections (max {})", door.rules.conns_max);
    tracing::warn!(peer = %client.peer, "turned away: {text}");
    let problem = Problem { label: "turned away", text: text.clone(), bytes: Vec::new() };
    // When the core has ended there is no window to show it.
    let _ = door.inbox.send(Message::Problem(Arc::clone(&client), problem));
    match &door.rules.tls {
        None => say_and_close(socket, &text).await,
        Some(tls) => {
            // The answer can only be read inside of TLS; whoever does not speak it has two reasons to go.
            if let Ok(socket) = handshake(tls, socket).await {
                say_and_close(socket, &text).await;
            }
        }
    }
    client.leaves();
    drop(place);
}

async fn say_and_close(mut socket: impl Socket, text: &str) {
    let mut frame = BytesMut::new();
    encode_error(&mut frame, None, text);
    if socket.write_all(&frame).await.is_ok() {
        last_words(&mut socket).await;
    }
}
