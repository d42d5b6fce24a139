//! Random sequences from a seed. Each leaves whole kinds of steps out, so that rare ones meet often in some of them.

use crate::adding::{AddStep, IdOf};
use crate::commands::{ClaimOf, Step, Token, Worked, parse};
use onceover_engine::command::{CleanState, DlqPatch};
use onceover_engine::time::Millis;

/// Splitmix64: small, seedable, good enough for choices.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// 0 up to, not including, `end`.
    pub fn below(&mut self, end: u32) -> u32 {
        (((self.next() >> 32) * u64::from(end)) >> 32) as u32
    }

    /// True `percent` times in a hundred.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }
}

/// Weight of each kind of step, and whether every sequence has it.
const KINDS: [(Kind, u32, bool); 35] = [
    (Kind::Push, 26, true),
    (Kind::Bulk, 5, false),
    (Kind::Flow, 5, false),
    (Kind::Tree, 9, false),
    (Kind::Group, 9, false),
    (Kind::Schedule, 6, false),
    (Kind::Pull, 16, true),
    (Kind::Ack, 9, false),
    (Kind::Fail, 8, false),
    (Kind::Heartbeat, 1, false),
    (Kind::Cancel, 3, false),
    (Kind::Remove, 1, false),
    (Kind::Discard, 3, false),
    (Kind::Drain, 1, false),
    (Kind::Clean, 2, false),
    (Kind::Obliterate, 1, false),
    (Kind::Promote, 2, false),
    (Kind::Priority, 1, false),
    (Kind::Delay, 1, false),
    (Kind::ToDelayed, 2, false),
    (Kind::ToWait, 3, false),
    (Kind::ToChildren, 3, false),
    (Kind::RetryDlq, 3, false),
    (Kind::RetryCompleted, 3, false),
    (Kind::PurgeDlq, 1, false),
    (Kind::DlqConfig, 3, false),
    (Kind::RemoveDlq, 1, false),
    (Kind::RemoveKey, 2, false),
    (Kind::RemoveJobKey, 3, false),
    (Kind::Owner, 1, false),
    (Kind::PauseResume, 2, false),
    (Kind::Limit, 2, false),
    (Kind::Disconnect, 2, false),
    (Kind::Time, 10, true),
    (Kind::Stop, 5, false),
];

#[derive(Clone, Copy)]
enum Kind {
    Push,
    Bulk,
    Flow,
    Tree,
    Group,
    Schedule,
    Pull,
    Ack,
    Fail,
    Heartbeat,
    Cancel,
    Remove,
    Discard,
    Drain,
    Clean,
    Obliterate,
    Promote,
    Priority,
    Delay,
    ToDelayed,
    ToWait,
    ToChildren,
    RetryDlq,
    RetryCompleted,
    PurgeDlq,
    DlqConfig,
    RemoveDlq,
    RemoveKey,
    RemoveJobKey,
    Owner,
    PauseResume,
    Limit,
    Disconnect,
    Time,
    Stop,
}

/// What this sequence's adds may ask for, in percent; and how many names there are.
pub struct Habits {
    queues: u32,
    keys: u32,
    ids: u32,
    key: u32,
    id: u32,
    ttl: u32,
    extend: u32,
    replace: u32,
    keep: u32,
    after: u32,
    tree: u32,
    pub group: u32,
    forget: u32,
    delay: u32,
    rare: u32,
    lock: u32,
    repeat: u32,
}

/// Openings that lead to where chance seldom goes. Their labels are 1 to 3.
const OPENINGS: [&str; 4] = [
    // An open window whose owner is gone, while another job has the owner's id.
    "push 1 a id=x0 key=k0 ttl=6000\npull a\nack t0\npush 2 a id=x0",
    // The same with a dead letter.
    "push 1 a id=x0 key=k0 ttl=6000 attempts=1 rmf\npull a\nfail t0\npush 2 a id=x0",
    // A superseded job beside the key's owner, both active, and an add stored with the first.
    "push 1 a key=k0\npull a\npush 2 a key=k0 keep\npush 3 a key=k0 replace\npull a",
    // A job that waits for two, one of them finished and forgotten.
    "push 1 a id=x0 rmc\npush 2 a\npush 3 a after=1 after=2 key=k0\npull a\nack t0",
];

/// Makes one sequence.
pub struct Generator<'a> {
    pub random: &'a mut Random,
    pub habits: Habits,
    kinds: Vec<(Kind, u32)>,
    pub labels: u32,
}

/// About thirty steps.
pub fn sequence(random: &mut Random) -> Vec<Step> {
    let length = 20 + random.below(21);
    let retain = random.chance(20).then(|| random.pick(&[0, 1, 2]));
    let settings = Step::Settings { retain, until_done: random.chance(10) };
    let mut generator = Generator::new(random);
    let mut steps = vec![settings];
    if generator.random.chance(10) {
        steps.extend(generator.random.pick(&OPENINGS).lines().map(parse));
        generator.labels = 3;
    }
    steps.extend((0..length).map(|_| generator.step()));
    steps
}

impl<'a> Generator<'a> {
    fn new(random: &'a mut Random) -> Generator<'a> {
        let habits = Habits {
            queues: random.pick(&[1, 1, 2, 3]),
            keys: random.pick(&[1, 1, 2, 4]),
            ids: random.pick(&[1, 2, 4]),
            key: random.pick(&[50, 80, 100]),
            id: random.pick(&[0, 0, 20, 50, 80]),
            ttl: random.pick(&[0, 30, 60, 100]),
            extend: random.pick(&[0, 20, 50]),
            replace: random.pick(&[0, 20, 50]),
            keep: random.pick(&[0, 0, 20, 60]),
            after: random.pick(&[0, 0, 15, 40]),
            tree: random.pick(&[0, 0, 20, 50]),
            group: random.pick(&[0, 0, 50, 100]),
            forget: random.pick(&[0, 10, 40]),
            delay: random.pick(&[0, 10, 40]),
            rare: random.pick(&[0, 0, 10, 30]),
            lock: random.pick(&[0, 50, 90]),
            repeat: random.pick(&[0, 0, 0, 20]),
        };
        let mut kinds = Vec::with_capacity(KINDS.len());
        for (kind, weight, always) in KINDS {
            let share = if matches!(kind, Kind::Schedule) { 30 } else { 60 };
            if always || random.chance(share) {
                kinds.push((kind, weight));
            }
        }
        Generator { random, habits, kinds, labels: 0 }
    }

    fn step(&mut self) -> Step {
        let total: u32 = self.kinds.iter().map(|(_, weight)| weight).sum();
        let mut at = self.random.below(total);
        let chosen = self.kinds.iter().find(|(_, weight)| {
            let found = at < *weight;
            at = at.wrapping_sub(*weight);
            found
        });
        let kind = chosen.expect("the weights add up to the total").0;
        self.step_of(kind)
    }

    fn step_of(&mut self, kind: Kind) -> Step {
        match kind {
            Kind::Push => {
                let queue = self.queue();
                Step::Push(self.add(queue))
            }
            Kind::Bulk => {
                let queue = self.queue();
                let length = 1 + self.random.below(4);
                Step::Bulk((0..length).map(|_| self.add(queue)).collect())
            }
            Kind::Flow => self.flow(),
            Kind::Tree => self.tree(),
            Kind::Group => self.about_group(),
            Kind::Schedule => self.schedule(),
            Kind::Pull => Step::Pull {
                queue: self.queue(),
                conn: 1 + self.random.below(2) as u8,
                lock: self.percent(self.habits.lock).then(|| self.random.pick(&[500, 500, 4_000, 60_000])),
                detach: self.random.chance(10),
                wants: self.percent(self.habits.group).then(|| self.wants()),
            },
            Kind::Ack => Step::Ack { claim: self.claim(), remove: self.random.chance(10) },
            Kind::Fail => Step::Fail {
                claim: self.claim(),
                unrecoverable: self.random.chance(20),
                remove: self.random.chance(10),
            },
            Kind::Heartbeat => Step::Heartbeat(self.claim()),
            Kind::Cancel => Step::Cancel(self.job()),
            Kind::Remove => Step::Remove(self.job()),
            Kind::Discard => Step::Discard(self.claim()),
            Kind::Drain => Step::Drain(self.queue()),
            Kind::Clean => self.clean(),
            Kind::Obliterate => Step::Obliterate(self.queue()),
            Kind::Promote => Step::Promote(self.job()),
            Kind::Priority => Step::Priority { job: self.job(), priority: self.random.pick(&[-1, 0, 1, 2]) },
            Kind::Delay => Step::Delay { claim: self.claim(), delay: self.delay() },
            Kind::ToDelayed => Step::ToDelayed { claim: self.claim(), delay: self.delay() },
            Kind::ToWait => Step::ToWait(self.claim()),
            Kind::ToChildren => Step::ToChildren(self.claim()),
            Kind::RetryDlq => Step::RetryDlq { queue: self.queue(), job: self.maybe_job(), count: self.maybe_count() },
            Kind::RetryCompleted => {
                Step::RetryCompleted { queue: self.queue(), job: self.maybe_job(), count: self.maybe_count() }
            }
            Kind::PurgeDlq => Step::PurgeDlq(self.queue()),
            Kind::DlqConfig => self.dlq_config(),
            Kind::RemoveDlq => Step::RemoveDlq { queue: self.queue(), job: self.job() },
            Kind::RemoveKey => Step::RemoveKey { queue: self.queue(), key: self.key() },
            Kind::RemoveJobKey => Step::RemoveJobKey(self.job()),
            Kind::Owner => Step::Owner { queue: self.queue(), key: self.key() },
            Kind::PauseResume if self.random.chance(40) => Step::Pause(self.queue()),
            Kind::PauseResume => Step::Resume(self.queue()),
            Kind::Limit => self.limit(),
            Kind::Disconnect => Step::Disconnect(1 + self.random.below(2) as u8),
            Kind::Time => self.time(),
            Kind::Stop => match self.random.below(4) {
                0 => Step::Restart { down: self.random.pick(&[0, 0, 1, 10, 30, 50, 6_000]) },
                1 => Step::Probe,
                _ => Step::Commit,
            },
        }
    }

    fn limit(&mut self) -> Step {
        if self.random.chance(50) {
            let max = self.random.pick(&[None, None, Some(0), Some(1), Some(2), Some(2)]);
            return Step::Most { queue: self.queue(), max };
        }
        let max = self.random.pick(&[None, None, Some(0), Some(1), Some(2), Some(3)]);
        let ttl = self.random.pick(&[None, None, Some(30), Some(6_000)]).filter(|_| max.is_some());
        Step::Rate { queue: self.queue(), max, ttl }
    }

    fn clean(&mut self) -> Step {
        let state = self.random.pick(&[
            CleanState::AnyPending,
            CleanState::Waiting,
            CleanState::Prioritized,
            CleanState::Delayed,
            CleanState::Completed,
            CleanState::Completed,
            CleanState::Failed,
            CleanState::Failed,
            CleanState::Nothing,
        ]);
        Step::Clean { queue: self.queue(), state, limit: self.random.pick(&[1, 1000]) }
    }

    fn dlq_config(&mut self) -> Step {
        let patch = DlqPatch {
            auto_retry: self.random.chance(80).then(|| self.random.chance(80)),
            auto_retry_interval: self.random.chance(80).then(|| Millis(self.random.pick(&[0, 10, 10, 40]))),
            max_auto_retries: self.random.chance(30).then(|| self.random.pick(&[0, 1, 2])),
            max_age: self.random.chance(40).then(|| self.random.pick(&[None, Some(Millis(0)), Some(Millis(30))])),
            max_entries: self.random.chance(20).then(|| self.random.pick(&[1, 2])),
        };
        Step::DlqConfig { queue: self.queue(), patch }
    }

    fn time(&mut self) -> Step {
        match self.random.below(10) {
            0..=2 => Step::Pass(self.random.pick(&[1, 5, 20, 100])),
            3 => Step::Pass(self.random.pick(&[5_000, 5_000, 10_000, 31_000])),
            _ => {
                Step::Until { nth: self.random.pick(&[0, 0, 0, 1, 2]), offset: self.random.pick(&[-1, -1, 0, 0, 0, 1]) }
            }
        }
    }

    pub fn add(&mut self, queue: u8) -> AddStep {
        self.labels += 1;
        let mut add = AddStep { label: self.labels, queue, attempts: 1 + self.random.below(3), ..AddStep::default() };
        if self.percent(self.habits.key) {
            add.key = Some(self.key());
            add.ttl = self.percent(self.habits.ttl).then(|| self.random.pick(&[0, 10, 30, 50, 50, 6_000, 6_000]));
            add.extend = self.percent(self.habits.extend);
            add.replace = self.percent(self.habits.replace);
            add.keep = self.percent(self.habits.keep);
        }
        if self.percent(self.habits.id) {
            let custom = IdOf::Custom(self.random.below(self.habits.ids) as u8);
            add.id = Some(if self.random.chance(90) { custom } else { IdOf::Job(self.job()) });
        }
        if self.percent(self.habits.after) && self.labels > 1 {
            add.after.push(self.job());
            if self.random.chance(30) {
                add.after.push(self.job());
            }
        }
        if self.percent(self.habits.delay) {
            add.delay = self.delay();
        }
        add.forget_done = self.percent(self.habits.forget);
        add.forget_failed = self.percent(self.habits.forget);
        add.slow = self.random.chance(20);
        add.priority = if self.random.chance(20) { self.random.pick(&[-1, 1, 2]) } else { 0 };
        add.job_ttl = self.percent(self.habits.rare).then(|| self.random.pick(&[0, 10, 40]));
        if self.percent(self.habits.group) {
            add.group = Some(self.random.below(3) as u8);
            add.group_max = self.random.chance(15).then(|| u64::from(1 + self.random.below(3)));
            add.priority = add.priority.max(0);
        }
        if self.percent(self.habits.tree) && self.labels > 1 {
            self.relate(&mut add);
        }
        if add.id.is_none() && add.after.is_empty() && add.parent.is_none() && add.children.is_empty() {
            add.repeat = self.percent(self.habits.repeat).then(|| self.random.pick(&[1, 2]));
        }
        add.timeout = self.percent(self.habits.rare).then(|| self.random.pick(&[0, 10, 40]));
        add
    }

    pub fn percent(&mut self, percent: u32) -> bool {
        self.random.chance(percent)
    }

    pub fn queue(&mut self) -> u8 {
        self.random.below(self.habits.queues) as u8
    }

    fn key(&mut self) -> u8 {
        self.random.below(self.habits.keys) as u8
    }

    fn delay(&mut self) -> i64 {
        self.random.pick(&[0, 10, 20, 50])
    }

    /// Young jobs more often than old ones.
    pub fn job(&mut self) -> u32 {
        let most = self.labels.max(1);
        let back = self.random.below(most).min(self.random.below(most));
        most - back
    }

    fn maybe_job(&mut self) -> Option<u32> {
        self.random.chance(50).then(|| self.job())
    }

    fn maybe_count(&mut self) -> Option<u32> {
        self.random.chance(20).then_some(1)
    }

    fn claim(&mut self) -> ClaimOf {
        let token = match self.random.below(20) {
            0 => Token::None,
            1 => Token::Old,
            _ => Token::Right,
        };
        let back = self.random.pick(&[0, 0, 0, 1, 2]);
        let job = if self.random.chance(70) { Worked::Taken(back) } else { Worked::Job(self.job()) };
        ClaimOf { job, token }
    }
}
