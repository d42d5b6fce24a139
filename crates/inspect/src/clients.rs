//! Who is connected, grouped by program, and what clients sent that could not be taken.
//!
//! The wire carries no name of a program, so nothing is guessed from commands but what a program does with them.

use crate::limits::{LEASES_SHOWN_MAX, PROBLEMS_MAX};
use crate::view::{ClientProcess, ClientRole, ClientsView, Lease, ProtocolProblem, WorkerRow};
use onceover_broker::CoreView;
use onceover_broker::conn_table::{ConnInfo, ProblemEntry};
use onceover_engine::command::StateName;
use onceover_engine::names::ConnId;
use onceover_engine::reply::WorkerRecord;
use onceover_engine::view::{JobsQuery, Look};
use std::collections::{BTreeMap, HashMap};

/// What connections are grouped by: the program, else the connection itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Process(u32),
    Connection(u64),
}

/// Runs on the core thread.
pub fn view(core: &CoreView<'_>) -> ClientsView {
    let mut groups: BTreeMap<Group, Vec<&ConnInfo>> = BTreeMap::new();
    for conn in core.connections.iter() {
        groups.entry(group(conn)).or_default().push(conn);
    }
    let leases = leases(core);
    let mut processes: Vec<ClientProcess> = groups.values().map(|conns| process(core, conns, &leases)).collect();
    processes.sort_by_key(|process| std::cmp::Reverse(process.since));
    ClientsView {
        revision: core.revision,
        now: core.now.0,
        processes,
        problems: core.connections.problems().take(PROBLEMS_MAX).map(problem).collect(),
    }
}

/// How many programs are connected.
pub fn count(core: &CoreView<'_>) -> u64 {
    let mut groups: Vec<Group> = core.connections.iter().map(group).collect();
    groups.sort_unstable();
    groups.dedup();
    groups.len() as u64
}

/// Registered workers, and connections that take jobs without registering.
pub fn workers(core: &CoreView<'_>) -> u32 {
    let registered = core.engine.workers().count();
    let is_registered = |conn: &ConnInfo| core.engine.workers().any(|worker| worker.conn == conn.client.conn.0);
    let silent = core.connections.iter().filter(|conn| conn.pulls > 0 && !is_registered(conn)).count();
    u32::try_from(registered + silent).unwrap_or(u32::MAX)
}

fn group(conn: &ConnInfo) -> Group {
    conn.client.process().map_or(Group::Connection(conn.client.conn.0), |process| Group::Process(process.pid))
}

/// Jobs that each connection has. Active jobs are few: as many as workers run at once.
fn leases(core: &CoreView<'_>) -> HashMap<ConnId, Vec<Lease>> {
    let query = JobsQuery { state: Some(StateName::Active), limit: usize::MAX, ..JobsQuery::default() };
    let mut leases: HashMap<ConnId, Vec<Lease>> = HashMap::new();
    core.engine.jobs_page(&query, core.now, &mut |job| {
        if let Some((delivery, conn)) = job.delivery.as_deref().and_then(|held| Some((held, held.conn?))) {
            leases.entry(conn).or_default().push(Lease {
                id: job.id.to_string(),
                queue: job.spec.queue.to_string(),
                connection: conn.0,
                started_at: job.started_at.map(|at| at.0),
                ends_at: delivery.lock.as_ref().map(|lock| lock.expires_at.0),
            });
        }
        Look::Pass
    });
    leases
}

fn process(core: &CoreView<'_>, conns: &[&ConnInfo], leases: &HashMap<ConnId, Vec<Lease>>) -> ClientProcess {
    let first = conns.first().expect("a group has a connection");
    let newest = conns.iter().filter(|conn| conn.last_cmd.is_some()).max_by_key(|conn| conn.last_at);
    let owns = |worker: &&WorkerRecord| conns.iter().any(|conn| conn.client.conn.0 == worker.conn);
    let workers: Vec<WorkerRow> = core.engine.workers().filter(owns).map(worker).collect();
    let has = |does: fn(&ConnInfo) -> bool| conns.iter().any(|conn| does(conn));
    let roles = [
        (ClientRole::Producer, has(|conn| conn.adds > 0)),
        (ClientRole::Worker, has(|conn| conn.pulls > 0) || !workers.is_empty()),
        (ClientRole::Observer, has(|conn| conn.subscribed.is_some() || conn.commands > conn.adds + conn.pulls)),
    ];
    let mut roles: Vec<ClientRole> = roles.into_iter().filter_map(|(role, plays)| plays.then_some(role)).collect();
    if roles.len() > 1 {
        // Everybody asks a question now and then; that alone makes nobody an observer.
        roles.retain(|role| *role != ClientRole::Observer);
    }
    let held = || conns.iter().filter_map(|conn| leases.get(&conn.client.conn)).flatten();
    ClientProcess {
        label: first.client.process().map_or_else(|| first.client.peer.to_string(), |process| process.name.clone()),
        pid: first.client.process().map(|process| process.pid),
        connections: conns.iter().map(|conn| conn.client.conn.0).collect(),
        roles,
        since: conns.iter().map(|conn| conn.client.connected_at.0).min().unwrap_or_default(),
        commands_per_s: conns.iter().map(|conn| conn.commands_rate.per_second(core.now)).sum(),
        commands: conns.iter().map(|conn| conn.commands).sum(),
        last_command: newest.and_then(|conn| conn.last_cmd.as_deref()).unwrap_or_default().to_owned(),
        last_command_at: newest.and_then(|conn| conn.last_at).map(|at| at.0),
        leases: u32::try_from(held().count()).unwrap_or(u32::MAX),
        leased: held().take(LEASES_SHOWN_MAX).cloned().collect(),
        errors: conns.iter().map(|conn| conn.errors).sum(),
        workers,
    }
}

fn worker(record: &WorkerRecord) -> WorkerRow {
    WorkerRow {
        name: record.name.clone(),
        host: record.hostname.clone(),
        queues: record.queues.iter().map(ToString::to_string).collect(),
        concurrency: record.concurrency,
        active: u32::try_from(record.active_jobs).unwrap_or(u32::MAX),
        processed: record.processed,
        failed: record.failed,
        last_seen_at: record.last_seen.0,
    }
}

fn problem(entry: &ProblemEntry) -> ProtocolProblem {
    let hex: Vec<String> = entry.problem.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    ProtocolProblem {
        at: entry.at.0,
        client: entry.client.label(),
        label: entry.problem.label.to_owned(),
        text: entry.problem.text.clone(),
        bytes_hex: hex.join(" "),
        bytes_text: entry.problem.bytes.iter().map(|byte| printable(*byte)).collect(),
    }
}

fn printable(byte: u8) -> char {
    if byte.is_ascii_graphic() || byte == b' ' { char::from(byte) } else { '.' }
}
