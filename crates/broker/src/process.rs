//! Which program is at the other end of a local connection. For the window only.
//!
//! Linux tells in `/proc`: the socket's inode by its two addresses, then the process that has it open. Elsewhere, for
//! other machines and for other accounts' processes the answer is simply not known.

use crate::conn_table::{Client, Process};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep};

/// Who comes after nobody has come for so long is looked for at once: a script may be gone a moment later.
const QUIET: Duration = Duration::from_millis(100);
/// Others are looked for if they are still there after so long.
const STAY: Duration = Duration::from_millis(50);

/// A client whose program is wanted.
#[derive(Debug)]
pub struct Wanted {
    /// Who.
    pub client: Arc<Client>,
    /// Our end of its connection.
    pub local: SocketAddr,
}

/// Where to send clients whose program is wanted; see [`find_all`].
#[must_use]
pub fn channel() -> (UnboundedSender<Wanted>, UnboundedReceiver<Wanted>) {
    unbounded_channel()
}

/// Looks for the programs of all clients that come, off the hot path and never twice at the same time. `found` is called
/// after each look.
///
/// A look reads much of `/proc`, the more the more connections have come and gone: so at most a tenth of the time is spent
/// on it, and when one client comes after the other only those are looked for that stay.
pub async fn find_all(mut wanted: UnboundedReceiver<Wanted>, found: impl Fn()) {
    let mut finder = Finder::default();
    loop {
        let idle_since = Instant::now();
        let Some(first) = wanted.recv().await else { return };
        let mut batch = vec![first];
        while let Ok(next) = wanted.try_recv() {
            batch.push(next);
        }
        if idle_since.elapsed() < QUIET {
            sleep(STAY).await;
            batch.retain(|wanted| wanted.client.is_there());
            if batch.is_empty() {
                continue;
            }
        }
        let began = Instant::now();
        let look = tokio::task::spawn_blocking(move || {
            finder.find(&batch);
            finder
        });
        let Ok(back) = look.await else { return };
        finder = back;
        found();
        sleep(began.elapsed() * 9).await;
    }
}

/// Remembers who was found lately: one program opens several connections.
#[derive(Debug, Default)]
struct Finder {
    recent: Vec<u32>,
}

/// Processes that are looked at first.
const RECENT_MAX: usize = 32;

#[cfg(not(target_os = "linux"))]
impl Finder {
    fn find(&mut self, _batch: &[Wanted]) {}
}

#[cfg(target_os = "linux")]
impl Finder {
    fn find(&mut self, batch: &[Wanted]) {
        let mut open: Vec<(u64, &Wanted)> = linux::inodes(batch);
        let recent = std::mem::take(&mut self.recent);
        let others = linux::processes().into_iter().filter(|pid| !recent.contains(pid));
        // The newest first: a client that just connected has often just started.
        let all: Vec<u32> = recent.iter().copied().chain(others.rev()).collect();
        self.recent = recent;
        for pid in all {
            if open.is_empty() {
                break;
            }
            let sockets = linux::sockets(pid);
            let mut name = None;
            open.retain(|(inode, wanted)| {
                if !sockets.contains(inode) {
                    return true;
                }
                let name = name.get_or_insert_with(|| linux::name(pid));
                wanted.client.found(Process { pid, name: name.clone() });
                false
            });
            if name.is_some() {
                self.recent.retain(|other| *other != pid);
                self.recent.insert(0, pid);
                self.recent.truncate(RECENT_MAX);
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::Wanted;
    use std::collections::HashMap;
    use std::fs;
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

    /// Inodes of the clients' ends, as far as they are sockets of this machine.
    pub fn inodes(batch: &[Wanted]) -> Vec<(u64, &Wanted)> {
        let mut by_ends: HashMap<(SocketAddr, SocketAddr), u64> = HashMap::new();
        for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
            // A table that cannot be read leaves its clients unnamed.
            let text = fs::read_to_string(table).unwrap_or_default();
            by_ends.extend(text.lines().skip(1).filter_map(row));
        }
        let ends = |wanted: &Wanted| (canonical(wanted.client.peer), canonical(wanted.local));
        batch.iter().filter_map(|wanted| Some((*by_ends.get(&ends(wanted))?, wanted))).collect()
    }

    /// `sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode …`
    pub fn row(line: &str) -> Option<((SocketAddr, SocketAddr), u64)> {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let local = address(fields.next()?)?;
        let remote = address(fields.next()?)?;
        let inode = fields.nth(6)?.parse().ok()?;
        Some(((local, remote), inode))
    }

    /// `0100007F:1A85`: the address as the machine's own 32-bit words, the port big-endian.
    fn address(text: &str) -> Option<SocketAddr> {
        let (ip, port) = text.split_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        let word = |at: usize| Some(u32::from_str_radix(ip.get(at * 8..at * 8 + 8)?, 16).ok()?.to_ne_bytes());
        let ip: IpAddr = match ip.len() {
            8 => Ipv4Addr::from(word(0)?).into(),
            32 => {
                let mut bytes = [0; 16];
                for at in 0..4 {
                    bytes[at * 4..at * 4 + 4].copy_from_slice(&word(at)?);
                }
                Ipv6Addr::from(bytes).into()
            }
            _ => return None,
        };
        Some(canonical(SocketAddr::new(ip, port)))
    }

    fn canonical(addr: SocketAddr) -> SocketAddr {
        SocketAddr::new(addr.ip().to_canonical(), addr.port())
    }

    pub fn processes() -> Vec<u32> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let mut pids: Vec<u32> = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
        pids.sort_unstable();
        pids
    }

    /// Inodes of the sockets that a process has open; none when it is not ours to look at.
    pub fn sockets(pid: u32) -> Vec<u64> {
        let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
        let inode = |target: &str| target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok();
        entries.filter_map(|entry| inode(fs::read_link(entry.ok()?.path()).ok()?.to_str()?)).collect()
    }

    pub fn name(pid: u32) -> String {
        match fs::read_to_string(format!("/proc/{pid}/comm")) {
            Ok(name) => name.trim_end().to_owned(),
            Err(_) => format!("process {pid}"),
        }
    }
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod process_tests;
