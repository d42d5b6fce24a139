//! The world: a core with its disk and outbox, the clients around it, the time, and everything that goes wrong.

mod answers;

use crate::client::{Client, subjects, take_all};
use crate::ledger::Ledger;
use crate::picture::Picture;
use crate::random::Random;
use crate::tally::Tally;
use crate::throttles::{self, Throttles};
use crate::ticks::Ticks;
use crate::traffic::Habits;
use crate::trees::{Trees, check_blocked};
use onceover_broker::clock::Jump;
use onceover_broker::core::Core;
use onceover_broker::inbox::{Ask, Message};
use onceover_broker::outbox::Outbox;
use onceover_engine::EngineConfig;
use onceover_engine::command::{Ack, Command};
use onceover_engine::limits::PART_JOBS_MAX;
use onceover_engine::names::ConnId;
use onceover_engine::time::{Millis, Timestamp};
use onceover_store::{CommitFailure, SimDisk, SimStore};
use std::sync::Arc;

/// How a process ends without being asked.
#[derive(Clone, Copy, Debug)]
enum Crash {
    /// Between two turns.
    Idle,
    /// In a turn, before its commit.
    BeforeCommit,
    /// In a turn, after its commit: nobody reads the answers.
    AfterCommit,
    /// The machine loses what was not synced.
    PowerCut,
}

/// One simulated world.
pub struct World {
    random: Random,
    habits: Habits,
    /// Weight of each kind of step, see [`World::step`].
    weights: [usize; 6],
    /// How many jobs a part of something long may concern, see [`Core::pace_long`].
    paces: [Option<usize>; 3],
    disk: SimDisk,
    core: Option<Core<SimStore>>,
    outbox: Outbox,
    now: Timestamp,
    clients: Vec<Client>,
    /// Clients that hung up in this turn.
    leaving: Vec<Client>,
    conns: u64,
    /// On its way to the core.
    inbox: Vec<Message>,
    /// A RetryCompleted is on its way or was in the last turn.
    may_return: bool,
    armed: Option<CommitFailure>,
    ledger: Ledger,
    trees: Trees,
    throttles: Throttles,
    /// Ids of webhooks that clients know of.
    webhooks: Vec<Arc<str>>,
    /// What is stored.
    stored: Picture,
    /// What a power cut leaves; none = a commit was synced and nobody knows what was in it.
    synced: Option<Picture>,
    /// Synced commits that were looked at.
    syncs: u64,
    ticks: Ticks,
    tally: Tally,
}

impl World {
    /// A new world; everything in it follows from the seed.
    #[must_use]
    pub fn new(seed: u64) -> World {
        let mut random = Random::new(seed);
        let habits = Habits::new(&mut random);
        let weights = [40, 30, 12, 3, random.pick(&[0, 1, 3]), random.pick(&[0, 1, 2])];
        let all_at_once = [Some(PART_JOBS_MAX); 3];
        let paces = random.pick(&[all_at_once, [Some(1), Some(3), Some(PART_JOBS_MAX)], [None, Some(1), Some(2)]]);
        let mut world = World {
            random,
            habits,
            weights,
            paces,
            disk: SimDisk::default(),
            core: None,
            outbox: Outbox::default(),
            now: Timestamp(1_700_000_000_000),
            clients: Vec::new(),
            leaving: Vec::new(),
            conns: 0,
            inbox: Vec::new(),
            may_return: false,
            armed: None,
            ledger: Ledger::default(),
            trees: Trees::default(),
            throttles: Throttles::default(),
            webhooks: Vec::new(),
            stored: Picture::default(),
            synced: Some(Picture::default()),
            syncs: 0,
            ticks: Ticks::default(),
            tally: Tally::default(),
        };
        world.start();
        world
    }

    /// The next thing that happens.
    pub fn step(&mut self) {
        match self.random.weighted(&self.weights) {
            0 => self.traffic(),
            1 => self.turn(),
            2 => self.time_passes(),
            3 => self.hang_up(),
            4 => self.commit_will_fail(),
            _ => {
                let how = [Crash::Idle, Crash::BeforeCommit, Crash::AfterCommit, Crash::PowerCut];
                let how = self.random.pick(&how);
                self.crash(how);
            }
        }
    }

    /// Ends the traffic, lets workers take everything, and looks whether anything is left that nobody can get.
    ///
    /// # Panics
    /// A job is left, or a request was never answered.
    #[must_use]
    pub fn wind_up(mut self) -> Tally {
        self.paces = [Some(PART_JOBS_MAX); 3];
        self.turn();
        while self.engine().has_long() || !self.inbox.is_empty() {
            self.turn();
        }
        self.now = self.now.plus(Millis(61_000));
        self.turn();
        for client in &self.clients {
            assert!(client.open.is_empty(), "never answered: {:?}", client.open);
        }
        // A resume that is lost with its commit would leave a queue paused.
        self.disk.fail_no_commit();
        self.armed = None;
        self.throttles.wind_up();
        self.send(0, Ticks::stop(self.engine()));
        self.send(0, throttles::let_go(self.engine()));
        self.turn();
        let queues = self.engine().queues();
        let resumes = queues.iter().map(|queue| Command::Resume { queue: queue.name.clone() }).collect();
        self.send(0, resumes);
        self.turn();
        // Every attempt of every job, with the longest backoff between them.
        for _ in 0..400 {
            self.now = self.now.plus(Millis(61_000));
            self.turn();
            let counts = self.engine().counts(None);
            if counts.waiting + counts.prioritized + counts.delayed + counts.active + counts.paused == 0 {
                break;
            }
            let pulls = queues.iter().map(|queue| Command::Pull(take_all(queue.name.clone()))).collect();
            self.send(0, pulls);
            self.turn();
            let held = std::mem::take(&mut self.clients[0].held);
            for held in held {
                self.send(0, vec![Command::Ack(Ack { id: held.id, token: held.token, result: None, remove: false })]);
            }
            self.turn();
        }
        let counts = self.engine().counts(None);
        let left = counts.waiting + counts.prioritized + counts.delayed + counts.active + counts.paused;
        assert_eq!(left, 0, "nobody can get these jobs: {counts:?}");
        check_blocked(self.engine());
        self.tally.trees = self.trees.made;
        self.tally.firings = self.ticks.fired;
        self.tally.throttled = self.throttles.checked;
        self.tally.deliveries = self.ledger.deliveries;
        self.tally.completions = self.ledger.completions;
        self.tally.repeats_checked = self.ledger.repeats_checked;
        self.tally
    }

    fn engine(&self) -> &onceover_engine::Engine {
        self.core.as_ref().expect("between two steps a core runs").engine()
    }

    /// Opens the disk and connects the clients.
    fn start(&mut self) {
        let store = self.disk.open().expect("the core before has let go of the disk");
        let seed = self.random.bits();
        let core = Core::open(store, EngineConfig::default(), seed, self.now).expect("what was stored can be read");
        self.note_stored(Some(Picture::of(core.engine())));
        self.core = Some(core);
        self.outbox = Outbox::default();
        (self.inbox, self.clients, self.armed) = (Vec::new(), Vec::new(), None);
        let clients = 1 + self.random.below(5);
        for _ in 0..clients {
            self.connect();
        }
        let save = self.ticks.save(self.core.as_ref().expect("it was just opened").engine());
        self.send(0, save.into_iter().collect());
        self.turn();
    }

    fn connect(&mut self) {
        self.conns += 1;
        let (client, message) = Client::connect(ConnId(self.conns));
        self.clients.push(client);
        self.inbox.push(message);
    }

    fn traffic(&mut self) {
        let at = self.random.below(self.clients.len());
        let commands = 1 + self.random.below(4);
        // A world that only grows would spend its time on comparing.
        let full = self.stored.jobs_len() > 80;
        let commands: Vec<Command> = (0..commands)
            .map(|_| self.habits.command(&mut self.random, &self.clients[at].held, &self.webhooks))
            .filter(|command| !full || !command.is_add())
            .collect();
        self.send(at, commands);
    }

    fn send(&mut self, at: usize, commands: Vec<Command>) {
        let client = &mut self.clients[at];
        for command in &commands {
            self.trees.asked(command);
            self.throttles.asked(command);
            self.ticks.asked(command);
            self.may_return |= matches!(command, Command::RetryCompleted { .. });
            for held in subjects(command, &client.held) {
                match command {
                    Command::JobHeartbeat(_) | Command::ExtendLock(_) => self.ledger.may_renew(held),
                    _ => self.ledger.may_end(held),
                }
            }
        }
        self.tally.commands += commands.len() as u64;
        self.inbox.push(client.send(commands));
    }

    fn time_passes(&mut self) {
        let steps = [1, 5, 50, 400, 2_000, 6_000, 31_000, 61_000];
        let jump = if self.random.chance(2) { 86_400_000 } else { self.random.pick(&steps) };
        self.now = self.now.plus(Millis(jump));
        // The machine slept: the clock went ahead, and nobody had the time.
        if self.random.chance(10) {
            let core = self.core.as_mut().expect("between two steps a core runs");
            core.clock_jumped(self.now, Jump::Ahead(Millis(jump)));
            self.ledger.skipped(Millis(jump));
        }
    }

    fn hang_up(&mut self) {
        let at = self.random.below(self.clients.len());
        let client = self.clients.remove(at);
        self.throttles.hung_up();
        self.ledger.disconnected(client.conn);
        self.inbox.push(Message::HungUp(client.conn));
        self.inbox.push(Message::Disconnected(client.conn));
        self.leaving.push(client);
        self.connect();
    }

    fn commit_will_fail(&mut self) {
        let torn = CommitFailure::Torn(self.random.below(6));
        let how = self.random.pick(&[CommitFailure::Refused, torn, CommitFailure::StoredAllTheSame]);
        self.disk.fail_next_commit(how);
        self.armed = Some(how);
    }

    /// One turn of the core, and its answers.
    fn turn(&mut self) {
        let undone = self.turn_unread();
        self.nobody_reads_for_those_who_left();
        self.read(undone);
        if undone {
            self.after_failed_commit();
        }
    }

    /// One turn of the core. True when its commit failed.
    fn turn_unread(&mut self) -> bool {
        let mut messages = std::mem::take(&mut self.inbox);
        let pace = self.random.pick(&self.paces);
        let core = self.core.as_mut().expect("between two steps a core runs");
        core.pace_long(pace);
        let end = core.turn(self.now, &mut messages, &mut self.outbox).expect("what was stored can be read back");
        self.tally.turns += 1;
        self.tally.left += u64::from(!messages.is_empty());
        if end.undone {
            self.note_stored(None);
        } else {
            self.ledger.time_is(self.now);
            self.engine().check(self.now);
            self.ticks.committed(self.core.as_ref().expect("a core has made this turn").engine(), self.now);
            self.trees.check(self.engine());
            self.throttles.committed(self.core.as_ref().expect("a core has made this turn").engine(), self.now);
            self.note_stored(Some(Picture::of(self.engine())));
        }
        messages.iter().for_each(|message| self.is_on_its_way(message));
        self.inbox = messages;
        end.undone
    }

    /// What the turn has left of a message will be applied by a later one.
    fn is_on_its_way(&mut self, message: &Message) {
        match message {
            Message::Frames(frames) => {
                for frame in &frames.frames {
                    let Ask::Engine(command) = &frame.ask else { continue };
                    self.throttles.asked(command);
                    self.ticks.asked(command);
                }
            }
            Message::Disconnected(_) => self.throttles.hung_up(),
            _ => {}
        }
    }

    /// What is in the file now, as far as anybody knows.
    fn note_stored(&mut self, stored: Option<Picture>) {
        let syncs = self.disk.commits().durable;
        if syncs > self.syncs {
            (self.syncs, self.synced) = (syncs, stored.clone());
        }
        if let Some(stored) = stored {
            self.stored = stored;
        }
    }

    fn after_failed_commit(&mut self) {
        self.tally.failed_commits += 1;
        self.throttles.restarted();
        let how = self.armed.take().expect("a commit fails only on purpose");
        self.ledger.restarted();
        let is_of =
            |message: &Message, conn| matches!(message, Message::Connected { client, .. } if client.conn == conn);
        for Client { conn, closed, .. } in &self.clients {
            let is_unknown = self.inbox.iter().any(|message| is_of(message, *conn));
            assert!(*closed || is_unknown, "a failed commit closes every connection");
        }
        self.inbox.clear();
        match how {
            CommitFailure::Refused | CommitFailure::Torn(_) => {
                self.stored.expect_restored(self.engine(), self.now, true)
            }
            // The file decides, and nobody was told: the next commit shows what it holds.
            CommitFailure::StoredAllTheSame => self.ledger.finished_may_return(),
        }
        self.forget_what_is_open();
        self.clients.clear();
        for _ in 0..3 {
            self.connect();
        }
        self.turn();
    }

    fn crash(&mut self, how: Crash) {
        match how {
            Crash::Idle | Crash::PowerCut => {}
            Crash::BeforeCommit => {
                self.disk.fail_next_commit(CommitFailure::Refused);
                self.armed = Some(CommitFailure::Refused);
                self.turn_unread();
            }
            Crash::AfterCommit => {
                self.disk.fail_no_commit();
                self.turn_unread();
            }
        }
        self.forget_what_is_open();
        self.core = None;
        self.ticks.crashed();
        self.throttles.restarted();
        self.disk.fail_no_commit();
        self.ledger.restarted();
        if matches!(how, Crash::PowerCut) {
            self.tally.power_cuts += 1;
            self.disk.cut_power();
            self.ledger.power_failed();
            self.trees.power_failed();
        } else {
            self.tally.crashes += 1;
        }
        let left = if matches!(how, Crash::PowerCut) { self.synced.clone() } else { Some(self.stored.clone()) };
        // A while passes; sometimes the clock was set back meanwhile.
        let away = if self.random.chance(10) { -3_600_000 } else { self.random.pick(&[5, 900, 40_000, 7_200_000]) };
        self.now = self.now.plus(Millis(away));
        let store = self.disk.open().expect("the core before has let go of the disk");
        let seed = self.random.bits();
        let probe = Core::open(store, EngineConfig::default(), seed, self.now).expect("what was stored can be read");
        if let Some(left) = left {
            left.expect_restored(probe.engine(), self.now, false);
        }
        // What a start changes is stored once it has opened; a second one changes nothing more.
        let once = Picture::of(probe.engine());
        self.note_stored(Some(once.clone()));
        drop(probe);
        self.start();
        once.expect_restored(self.engine(), self.now, false);
    }
}
