//! One turn of the broker: what arrived is applied, committed once, and only then answered.
//!
//! Guarantees: no reply and no event leaves before the commit of what it tells about. When a commit fails, nothing of
//! its turn happened: all its commands are answered with the storage error, all connections are closed as after a
//! restart, and the engine is read back from the file. The core has no thread, no socket and no clock of its own, so a
//! simulation can drive it; whoever drives it passes the time.

use crate::activity::{Activity, AddSource, LoggedAdd, RefusedEntry};
use crate::blobs::{fill_or_refuse, fill_reply};
use crate::bulk::Bulks;
use crate::clock::Jump;
use crate::conn_table::{ConnTable, FrameTally};
use crate::core_view::CoreView;
use crate::error::{BrokerDown, CoreFailure};
use crate::history::History;
use crate::inbox::{Ask, Frame, Frames, Message, Refusal, View};
use crate::monitor;
use crate::new_entry::{NewEntry, mark_not_stored, mark_replay};
use crate::notices::Notices;
use crate::outbox::{Cut, Out, Outbox};
use crate::outward::Outward;
use crate::restored::restored;
use crate::staging::{stage, stage_command};
use crate::subscribers::Subscribers;
use crate::turn::Turn;
pub use crate::turn::TurnEnd;
use onceover_engine::effects::Output;
use onceover_engine::names::{ConnId, Origin};
use onceover_engine::reply::Reply;
use onceover_engine::time::Timestamp;
use onceover_engine::{Engine, EngineConfig};
use onceover_store::{Storage, StoreError};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// The engine with its storage and everything that belongs to the thread that owns them.
pub struct Core<S: Storage> {
    storage: S,
    engine: Engine,
    seed: u64,
    activity: Activity,
    history: History,
    notices: Notices,
    conns: ConnTable,
    subscribers: Subscribers,
    bulks: Bulks,
    pub(crate) outward: Outward,
    /// Actions of the window that wait for their answer.
    calls: HashMap<u64, oneshot::Sender<Result<Reply, BrokerDown>>>,
    calls_ever: u64,
    revision: u64,
}

impl<S: Storage> Core<S> {
    /// Reads the file and restores the engine from it. `seed` feeds ids, tokens and jitter.
    ///
    /// # Errors
    /// The file cannot be read or written, or holds what cannot be true.
    pub fn open(mut storage: S, config: EngineConfig, seed: u64, now: Timestamp) -> Result<Core<S>, CoreFailure> {
        let (engine, effects) = restored(&mut storage, config, seed, now, false)?;
        let mut core = Core {
            storage,
            engine,
            seed,
            activity: Activity::default(),
            history: History::default(),
            notices: Notices::default(),
            conns: ConnTable::default(),
            subscribers: Subscribers::default(),
            bulks: Bulks::default(),
            outward: Outward::default(),
            calls: HashMap::new(),
            calls_ever: 0,
            revision: 0,
        };
        core.commit(effects.durable).map_err(CoreFailure::Store)?;
        for record in effects.adds {
            core.activity.record(now, LoggedAdd::Decided(Box::new(record)), AddSource::Broker, 0);
        }
        Ok(core)
    }

    /// Applies `inbox` (what it leaves there is for the next turn), commits once, releases replies, answers the questions.
    ///
    /// `now` must not be before that of the last turn.
    ///
    /// # Errors
    /// The commit failed and the engine could not be read back from the file. The core must not be used any more.
    pub fn turn(
        &mut self,
        now: Timestamp,
        inbox: &mut Vec<Message>,
        outbox: &mut Outbox,
    ) -> Result<TurnEnd, CoreFailure> {
        let mut turn = Turn { effects: self.outward.effects(), ..Turn::default() };
        if self.history.is_due(now) {
            self.history.roll(now, self.engine.queue_totals());
        }
        turn.end.went_on = self.engine.tick(now, &mut turn.effects);
        self.take_effects(&mut turn, outbox, None);
        // Permits go back with the messages, so the inbox counts what is not applied yet.
        let mut messages = inbox.drain(..);
        let mut rest = None;
        while !turn.is_over(outbox)
            && let Some(message) = messages.next()
        {
            rest = self.apply(now, message, &mut turn, outbox);
        }
        let left: Vec<Message> = rest.into_iter().chain(messages).collect();
        inbox.extend(left.into_iter().filter(|_| !turn.end.stop));
        turn.end.changed |= self.engine.has_changes() || !turn.adds.is_empty();
        let has_changes = self.engine.has_changes();
        match turn.failed.take().map_or_else(|| self.commit(turn.effects.durable), Err) {
            Ok(()) => {
                turn.end.changed |= self.notices.look_after(now, &mut self.storage, has_changes);
                self.finish(now, &mut turn, outbox);
            }
            Err(error) => self.undo(now, &mut turn, outbox, &error)?,
        }
        if turn.end.changed || turn.end.counted {
            self.revision += 1;
        }
        self.conns.forget_gone();
        self.answer_views(now, std::mem::take(&mut turn.views));
        Ok(turn.end)
    }

    /// The wall's clock jumped, to `now`: leases last as long as before. Call it before the first turn with the new time.
    pub fn clock_jumped(&mut self, now: Timestamp, jump: Jump) {
        match jump {
            Jump::Ahead(by) => self.engine.skip(by),
            Jump::Back(_) => {}
        }
        self.notices.clock(now, jump);
        self.revision += 1;
    }

    /// The earliest moment at which a turn has something to do without a message.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.engine.next_deadline()
    }

    /// How many jobs a part of something long concerns at most, from now on; none: turns do no such part.
    pub fn pace_long(&mut self, most: Option<usize>) {
        self.engine.pace_long(most);
    }

    /// Grows with every turn that changed something.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Goes on in the place of `before`, all of whose connections have been closed.
    pub(crate) fn take_over(&mut self, before: Core<S>) -> Result<(), StoreError> {
        self.revision = before.revision + 1;
        self.activity.take_over(&before.activity);
        self.conns.take_over(before.conns);
        self.outward = before.outward;
        self.outward.discard();
        Box::new(before.storage).close()
    }

    /// The engine, to look at.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Who is connected.
    #[must_use]
    pub fn connections(&self) -> &ConnTable {
        &self.conns
    }

    /// The log of adds.
    #[must_use]
    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Merges the file and lets go of it.
    ///
    /// # Errors
    /// The file cannot be written; what was committed is safe all the same.
    pub fn close(self) -> Result<(), StoreError> {
        Box::new(self.storage).close()
    }

    /// What is left of the message when the turn ends in the middle of it.
    fn apply(&mut self, now: Timestamp, message: Message, turn: &mut Turn, outbox: &mut Outbox) -> Option<Message> {
        let is_http = matches!(message, Message::Http { .. });
        if let Message::Act { command, .. } | Message::Http { command, .. } = &message
            && turn.stages(stage_command(&mut self.storage, command))
        {
            return Some(message);
        }
        match message {
            Message::Connected { client, line } => {
                outbox.connect(client.conn, line);
                self.outward.client(now, client.conn, "client:connected", turn.effects.watched);
                self.conns.connect(client);
                turn.end.changed = true;
            }
            Message::Frames(frames) => return self.frames(now, frames, turn, outbox).map(Message::Frames),
            Message::HungUp(conn) => {
                self.engine.hang_up(now, conn, &mut turn.effects);
                self.take_effects(turn, outbox, None);
                turn.end.changed = true;
            }
            Message::Disconnected(conn) => {
                outbox.disconnect(conn);
                self.subscribers.unsubscribe(conn);
                if self.conns.disconnect(conn) {
                    self.bulks.forget(conn);
                    self.engine.disconnect(now, conn, &mut turn.effects);
                    self.take_effects(turn, outbox, None);
                    self.outward.client(now, conn, "client:disconnected", turn.effects.watched);
                    turn.end.changed = true;
                }
            }
            Message::Problem(client, problem) => {
                self.conns.problem(now, client, problem);
                turn.end.changed = true;
            }
            Message::ProgramsFound => turn.end.changed = true,
            Message::AccessChanged(access) => {
                let outsiders = self.conns.iter().filter(|info| !access.admits(&info.client));
                outsiders.for_each(|info| outbox.cut(info.client.conn, Cut::Outsider));
            }
            // The thread takes it out before: a core cannot replace itself.
            Message::Switch(_) => {}
            Message::ClearLog => {
                self.activity.clear();
                turn.end.changed = true;
            }
            Message::Act { command, answer } | Message::Http { command, answer } => {
                self.calls_ever += 1;
                let call = self.calls_ever;
                self.calls.insert(call, answer);
                turn.http.extend(is_http.then_some(call));
                self.engine.handle(now, Origin::Inspector { call }, *command, &mut turn.effects);
                self.take_effects(turn, outbox, Some(Instant::now()));
            }
            Message::View(view) => turn.views.push(view),
            Message::Stop => {
                // Jobs go back as they do when their connection ends, so that a clean stop costs them no attempt.
                let mut conns: Vec<ConnId> = outbox.conns().collect();
                conns.sort_unstable();
                for conn in conns {
                    self.engine.disconnect(now, conn, &mut turn.effects);
                }
                self.engine.finish_releases(now, &mut turn.effects);
                self.engine.write_all();
                turn.end.stop = true;
            }
        }
        None
    }

    /// Those that are left when the turn is over before them.
    fn frames(&mut self, now: Timestamp, frames: Frames, turn: &mut Turn, outbox: &mut Outbox) -> Option<Frames> {
        let Frames { conn, frames, bytes, read_at, last, permit } = frames;
        // Frames that were on their way when a failed commit closed their connection: nobody reads the answers.
        let client = Arc::clone(&self.conns.get(conn)?.client);
        let mut tally = FrameTally::default();
        let (mut frames, mut staging) = (frames.into_iter(), None);
        while !turn.is_over(outbox)
            && let Some(Frame { request, cmd, ask }) = frames.next()
        {
            if turn.stages(stage(&mut self.storage, &ask)) {
                staging = Some(Frame { request, cmd, ask });
                break;
            }
            turn.asked.push((conn, request));
            tally.frames += u64::from(!matches!(&ask, Ask::Part(part) if !part.last));
            tally.last_cmd = cmd;
            match ask {
                Ask::Hello => outbox.push(conn, Out::Hello { request }),
                Ask::Ping => outbox.push(conn, Out::Pong { request, now }),
                Ask::Confirm => outbox.push(conn, Out::Reply { request, reply: Reply::Ok }),
                Ask::Subscribe(queue) => {
                    outbox.push(conn, Out::Reply { request, reply: self.subscribe(conn, Some(queue)) });
                }
                Ask::Unsubscribe => outbox.push(conn, Out::Reply { request, reply: self.subscribe(conn, None) }),
                Ask::Part(part) => {
                    tally.adds += u64::from(part.last);
                    self.bulks.take(now, (conn, request), *part, &mut self.engine, &mut turn.effects);
                    self.take_effects(turn, outbox, Some(read_at));
                }
                Ask::Engine(mut command) => {
                    mark_replay(&mut command, &client);
                    tally.count(&command);
                    self.engine.handle(now, Origin::Client { conn, request }, command, &mut turn.effects);
                    self.take_effects(turn, outbox, Some(read_at));
                }
                Ask::Monitor(question) => {
                    let body = monitor::answer(&self.view(now), &question);
                    outbox.push(conn, Out::Figures { request, body: Arc::new(body) });
                    self.outward.monitored(now, &question, turn.effects.watched);
                }
                Ask::Refuse(refusal) => {
                    tally.errors += 1;
                    let Refusal { text, add, problem } = *refusal;
                    if let Some(problem) = problem {
                        self.outward.problem(now, conn, &problem, turn.effects.watched);
                        self.conns.problem(now, Arc::clone(&client), problem);
                        turn.end.changed = true;
                    }
                    if let Some(add) = add {
                        let origin = Origin::Client { conn, request };
                        let entry = RefusedEntry { at: now, origin, text: text.clone(), add: *add };
                        let add = LoggedAdd::Refused(Box::new(entry));
                        turn.adds.push(NewEntry { add, read_at: Some(read_at) });
                    }
                    outbox.push(conn, Out::Refused { request, text: text.into() });
                }
            }
        }
        let frames: Vec<Frame> = staging.into_iter().chain(frames).collect();
        if last && frames.is_empty() {
            outbox.push(conn, Out::Close);
        }
        turn.timed.push(tally.timed(read_at));
        self.conns.frames(conn, now, tally);
        turn.end.counted = true;
        (!frames.is_empty()).then_some(Frames { conn, frames, bytes, read_at, last, permit })
    }

    fn subscribe(&mut self, conn: ConnId, queue: Option<Arc<str>>) -> Reply {
        match &queue {
            Some(queue) => self.subscribers.subscribe(conn, Arc::clone(queue)),
            None => self.subscribers.unsubscribe(conn),
        }
        self.conns.subscribe(conn, queue);
        Reply::Ok
    }

    /// Sorts what a step of the engine brought about. Done after every step, so that a subscription covers exactly the
    /// events after it.
    fn take_effects(&mut self, turn: &mut Turn, outbox: &mut Outbox, read_at: Option<Instant>) {
        for output in turn.effects.outputs.drain(..) {
            match output {
                Output::Reply { to: Origin::Client { conn, request }, reply } => {
                    if matches!(reply, Reply::Rejected(_)) {
                        self.conns.error(conn);
                    }
                    outbox.push(conn, Out::Reply { request, reply });
                }
                Output::Reply { to: Origin::Inspector { call }, reply } => turn.answers.push((call, reply)),
                // The broker's own adds have nobody who waits for an answer.
                Output::Reply { to: Origin::Internal, .. } => {}
                Output::Event(event) => {
                    self.outward.event(&self.engine, &event, turn.effects.watched);
                    let subscribers = self.subscribers.of(&event.queue);
                    if subscribers.is_empty() {
                        continue;
                    }
                    let event = Arc::new(event);
                    let slow: Vec<ConnId> =
                        subscribers.iter().copied().filter(|conn| !outbox.push_event(*conn, &event)).collect();
                    for conn in slow {
                        self.subscribers.unsubscribe(conn);
                        self.conns.slow_subscriber(event.at, conn, &event.queue);
                        outbox.push(conn, Out::Unsubscribed { queue: Arc::clone(&event.queue), at: event.at });
                        // Its client connects again and subscribes anew, as SDKs do; one that stayed would wait for ever.
                        outbox.push(conn, Out::Close);
                    }
                }
            }
        }
        self.outward.notices(&mut turn.effects);
        turn.adds.extend(turn.effects.adds.drain(..).map(|record| NewEntry::decided(record, read_at)));
    }

    fn commit(&mut self, durable: bool) -> Result<(), StoreError> {
        if !self.engine.has_changes() {
            return Ok(());
        }
        self.storage.commit(&self.engine, durable)?;
        self.engine.committed();
        Ok(())
    }

    /// After the commit: everything leaves.
    fn finish(&mut self, now: Timestamp, turn: &mut Turn, outbox: &mut Outbox) {
        let Core { storage, engine, .. } = self;
        for conn in outbox.release_filled(|out| fill_or_refuse(out, storage, engine)) {
            tracing::warn!(conn = conn.0, "closed: the client does not read its replies");
        }
        self.outward.release(now, &self.engine, &self.storage, &turn.timed);
        self.history.leave(now, &turn.effects);
        for (call, mut reply) in turn.answers.drain(..) {
            let Some(answer) = self.calls.remove(&call) else { continue };
            let filled = fill_reply(&mut reply, &self.storage);
            let reply = filled.map(|()| reply).map_err(|error| BrokerDown::Storage { message: error.to_string() });
            // The window may have gone meanwhile; its action has happened all the same.
            let _ = answer.send(reply);
        }
        self.record_adds(now, turn);
    }

    /// The turn did not happen: everyone is told, and the engine is read back from the file.
    fn undo(
        &mut self,
        now: Timestamp,
        turn: &mut Turn,
        outbox: &mut Outbox,
        error: &StoreError,
    ) -> Result<(), CoreFailure> {
        self.notices.failed(now, error);
        tracing::error!(%error, commands = turn.asked.len(), "a commit failed; the queues are read back from the file");
        outbox.discard();
        self.bulks.clear();
        self.outward.discard();
        let text: Arc<str> = format!("Storage error: {error}").into();
        for (conn, request) in turn.asked.drain(..) {
            outbox.push(conn, Out::Refused { request, text: Arc::clone(&text) });
        }
        let conns: Vec<ConnId> = outbox.conns().collect();
        outbox.close_all();
        for conn in conns {
            self.subscribers.unsubscribe(conn);
            self.conns.disconnect(conn);
        }
        for (_, answer) in self.calls.drain() {
            // The window may have gone meanwhile.
            let _ = answer.send(Err(BrokerDown::Storage { message: error.to_string() }));
        }
        mark_not_stored(&mut turn.adds, &text);
        self.record_adds(now, turn);
        turn.end.undone = true;
        turn.end.changed = true;
        // A new seed: ids and tokens that went out before must not be made a second time.
        self.seed = self.seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let config = self.engine.config().clone();
        // What the restored engine changed is committed by the next turn, so a full disk does not end the broker here.
        let (engine, effects) = restored(&mut self.storage, config, self.seed, now, true)?;
        self.engine = engine;
        turn.adds.extend(effects.adds.into_iter().map(|record| NewEntry::decided(record, None)));
        self.record_adds(now, turn);
        Ok(())
    }

    fn record_adds(&mut self, now: Timestamp, turn: &mut Turn) {
        let (released, adds) = (Instant::now(), turn.adds.drain(..));
        for NewEntry { add, read_at } in adds {
            let origin = match &add {
                LoggedAdd::Decided(record) => record.origin,
                LoggedAdd::Refused(refused) => refused.origin,
            };
            let source = match origin {
                Origin::Client { conn, .. } => match self.conns.client(conn) {
                    Some(client) => AddSource::Client(client),
                    None => AddSource::Broker,
                },
                Origin::Inspector { call } if turn.http.contains(&call) => AddSource::Http,
                Origin::Inspector { .. } => AddSource::Window,
                Origin::Internal => AddSource::Broker,
            };
            let took = read_at.map_or(0, |read_at| released.saturating_duration_since(read_at).as_micros());
            self.activity.record(now, add, source, u64::try_from(took).unwrap_or(u64::MAX));
        }
    }

    fn answer_views(&self, now: Timestamp, views: Vec<View>) {
        if views.is_empty() {
            return;
        }
        let view = self.view(now);
        for answer in views {
            answer(&view);
        }
    }

    fn view(&self, now: Timestamp) -> CoreView<'_> {
        CoreView {
            now,
            revision: self.revision,
            engine: &self.engine,
            activity: &self.activity,
            history: &self.history,
            trouble: self.notices.trouble().map(|trouble| trouble.error.as_str()),
            notices: &self.notices,
            connections: &self.conns,
            figures: &self.outward.figures,
            streams: self.outward.news.streams(),
            store_bytes: self.storage.file_bytes(),
            storage: &self.storage,
        }
    }
}

#[cfg(test)]
#[path = "core_tests.rs"]
mod core_tests;
