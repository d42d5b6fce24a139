//! The steps of a sequence, as values and as text: what is printed for a failing sequence can be read back.
//!
//! Jobs are named by the label of the add that made them (or was answered with them), so that a step keeps its meaning
//! while others are taken out of the sequence. A step whose job does not exist does nothing.

use crate::adding::{AddStep, Words, flags, option};
use crate::group_steps::{self, GroupStep};
use crate::groups::Wants;
use crate::schedule_steps::{self, ScheduleStep};
use crate::tree_steps::{self, TreeStep};
use onceover_engine::command::{CleanState, DlqPatch};
use onceover_engine::time::Millis;
use std::fmt;

/// A repeating job's pause, ms.
pub const REPEAT_EVERY: i64 = 10;
/// Names of the queues.
pub const QUEUES: [&str; 3] = ["a", "b", "c"];
/// Key texts that differ in little, for they are compared exactly, and those of schedules. Written `k0` to `k5`.
pub const KEYS: [&str; 6] = ["k", "K", "k ", "é", "cron:s0", "cron:s1"];
/// Custom ids, numeric looking ones among them. Written `x0` to `x3`.
pub const IDS: [&str; 4] = ["5", "05", "x:1 /", "X"];

/// Which token goes along with a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Token {
    /// The last one that was given for the job, if any.
    #[default]
    Right,
    /// None.
    None,
    /// The one before the last, if there is one.
    Old,
}

/// The job that a worker's step is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Worked {
    /// By label.
    Job(u32),
    /// Counted back from the one that was taken last, active ones only. Written `t0`, `t1`.
    Taken(u8),
}

/// A job and the token that goes along.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClaimOf {
    pub job: Worked,
    pub token: Token,
}

/// One step of a sequence.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The broker's settings; only as the first step.
    Settings {
        retain: Option<u32>,
        until_done: bool,
    },
    Push(AddStep),
    Bulk(Vec<AddStep>),
    Tree(TreeStep),
    Group(GroupStep),
    Schedule(ScheduleStep),
    Pull {
        queue: u8,
        conn: u8,
        lock: Option<i64>,
        detach: bool,
        wants: Option<Wants>,
    },
    Ack {
        claim: ClaimOf,
        remove: bool,
    },
    Fail {
        claim: ClaimOf,
        unrecoverable: bool,
        remove: bool,
    },
    Heartbeat(ClaimOf),
    Cancel(u32),
    Remove(u32),
    Discard(ClaimOf),
    Drain(u8),
    Clean {
        queue: u8,
        state: CleanState,
        limit: u32,
    },
    Obliterate(u8),
    Promote(u32),
    Priority {
        job: u32,
        priority: i32,
    },
    Delay {
        claim: ClaimOf,
        delay: i64,
    },
    ToDelayed {
        claim: ClaimOf,
        delay: i64,
    },
    ToWait(ClaimOf),
    ToChildren(ClaimOf),
    RetryDlq {
        queue: u8,
        job: Option<u32>,
        count: Option<u32>,
    },
    RetryCompleted {
        queue: u8,
        job: Option<u32>,
        count: Option<u32>,
    },
    PurgeDlq(u8),
    DlqConfig {
        queue: u8,
        patch: DlqPatch,
    },
    RemoveDlq {
        queue: u8,
        job: u32,
    },
    RemoveKey {
        queue: u8,
        key: u8,
    },
    RemoveJobKey(u32),
    Owner {
        queue: u8,
        key: u8,
    },
    /// A rate for good or for a time; none clears it.
    Rate {
        queue: u8,
        max: Option<u32>,
        ttl: Option<i64>,
    },
    /// Jobs at once; none clears it.
    Most {
        queue: u8,
        max: Option<u32>,
    },
    Pause(u8),
    Resume(u8),
    Disconnect(u8),
    /// Time passes.
    Pass(i64),
    /// To the n-th deadline that lies ahead, or one millisecond before or after it.
    Until {
        nth: u8,
        offset: i64,
    },
    /// What changed is written.
    Commit,
    /// A stop and a start, and the time between.
    Restart {
        down: i64,
    },
    /// A second engine is started from the rows and looked at, the first one runs on.
    Probe,
}

const STATES: [(CleanState, &str); 7] = [
    (CleanState::AnyPending, "pending"),
    (CleanState::Waiting, "waiting"),
    (CleanState::Prioritized, "prioritized"),
    (CleanState::Delayed, "delayed"),
    (CleanState::Completed, "completed"),
    (CleanState::Failed, "failed"),
    (CleanState::Nothing, "nothing"),
];

/// The queue's name.
pub fn queue_name(queue: u8) -> &'static str {
    QUEUES[usize::from(queue)]
}

fn dlq_config(out: &mut fmt::Formatter<'_>, queue: u8, patch: &DlqPatch) -> fmt::Result {
    write!(out, "dlq {}", queue_name(queue))?;
    option(out, "auto", patch.auto_retry)?;
    option(out, "interval", patch.auto_retry_interval.map(|interval| interval.0))?;
    option(out, "retries", patch.max_auto_retries)?;
    option(out, "age", patch.max_age.map(|age| age.map_or("never".to_owned(), |age| age.0.to_string())))?;
    option(out, "kept", patch.max_entries)
}

impl fmt::Display for ClaimOf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.job {
            Worked::Job(label) => write!(out, "{label}")?,
            Worked::Taken(back) => write!(out, "t{back}")?,
        }
        match self.token {
            Token::Right => Ok(()),
            Token::None => out.write_str(" token=none"),
            Token::Old => out.write_str(" token=old"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Settings { retain, until_done } => {
                out.write_str("settings")?;
                option(out, "retain", *retain)?;
                flags(out, &[("until-done", *until_done)])
            }
            Step::Push(add) => write!(out, "push {add}"),
            Step::Tree(step) => write!(out, "{step}"),
            Step::Group(step) => write!(out, "{step}"),
            Step::Schedule(step) => write!(out, "{step}"),
            Step::Bulk(adds) => {
                let adds: Vec<String> = adds.iter().map(AddStep::to_string).collect();
                write!(out, "bulk {}", adds.join(" | "))
            }
            Step::Pull { .. } => self.fmt_pull(out),
            Step::Ack { claim, remove } => {
                write!(out, "ack {claim}")?;
                flags(out, &[("remove", *remove)])
            }
            Step::Fail { claim, unrecoverable, remove } => {
                write!(out, "fail {claim}")?;
                flags(out, &[("unrecoverable", *unrecoverable), ("remove", *remove)])
            }
            Step::Heartbeat(claim) => write!(out, "heartbeat {claim}"),
            Step::Cancel(job) => write!(out, "cancel {job}"),
            Step::Remove(job) => write!(out, "remove {job}"),
            Step::Discard(claim) => write!(out, "discard {claim}"),
            Step::Drain(queue) => write!(out, "drain {}", queue_name(*queue)),
            Step::Clean { queue, state, limit } => {
                let text = STATES.iter().find(|(known, _)| known == state).expect("every state has a text").1;
                write!(out, "clean {} {text} limit={limit}", queue_name(*queue))
            }
            Step::Obliterate(queue) => write!(out, "obliterate {}", queue_name(*queue)),
            Step::Promote(job) => write!(out, "promote {job}"),
            Step::Priority { job, priority } => write!(out, "priority {job} priority={priority}"),
            Step::Delay { claim, delay } => write!(out, "delay {claim} delay={delay}"),
            Step::ToDelayed { claim, delay } => write!(out, "to-delayed {claim} delay={delay}"),
            Step::ToWait(claim) => write!(out, "to-wait {claim}"),
            Step::ToChildren(claim) => write!(out, "to-children {claim}"),
            Step::RetryDlq { queue, job, count } => {
                write!(out, "retry-dlq {}", queue_name(*queue))?;
                option(out, "job", *job)?;
                option(out, "count", *count)
            }
            Step::RetryCompleted { queue, job, count } => {
                write!(out, "retry-completed {}", queue_name(*queue))?;
                option(out, "job", *job)?;
                option(out, "count", *count)
            }
            Step::DlqConfig { queue, patch } => dlq_config(out, *queue, patch),
            Step::PurgeDlq(queue) => write!(out, "purge-dlq {}", queue_name(*queue)),
            Step::RemoveDlq { queue, job } => write!(out, "remove-dlq {} job={job}", queue_name(*queue)),
            Step::RemoveKey { queue, key } => write!(out, "remove-key {} key=k{key}", queue_name(*queue)),
            Step::RemoveJobKey(job) => write!(out, "remove-job-key {job}"),
            Step::Owner { queue, key } => write!(out, "owner {} key=k{key}", queue_name(*queue)),
            Step::Rate { .. } | Step::Most { .. } | Step::Pause(_) | Step::Resume(_) => self.fmt_held(out),
            Step::Disconnect(conn) => write!(out, "disconnect conn={conn}"),
            Step::Pass(time) => write!(out, "pass {time}"),
            Step::Until { nth, offset } => write!(out, "until {nth} offset={offset}"),
            Step::Commit => out.write_str("commit"),
            Step::Restart { down } => {
                out.write_str("restart")?;
                option(out, "down", Some(*down).filter(|down| *down != 0))
            }
            Step::Probe => out.write_str("probe"),
        }
    }
}

impl Step {
    fn fmt_pull(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Step::Pull { queue, conn, lock, detach, wants } = self else { return Ok(()) };
        write!(out, "pull {} conn={conn}", queue_name(*queue))?;
        option(out, "lock", *lock)?;
        flags(out, &[("detach", *detach)])?;
        wants.iter().try_for_each(|wants| write!(out, "{wants}"))
    }
}

/// The step that a line of text means.
pub fn parse(line: &str) -> Step {
    let (kind, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    let words = Words::new(line);
    let queue = || words.queue(1);
    let delay = || words.option("delay").expect("a delay");
    match kind {
        "settings" => Step::Settings { retain: words.option("retain"), until_done: words.flag("until-done") },
        "push" => Step::Push(Words::new(rest).add()),
        "bulk" => Step::Bulk(rest.split('|').map(|add| Words::new(add).add()).collect()),
        "pull" => parse_pull(&words),
        "ack" => Step::Ack { claim: words.claim(), remove: words.flag("remove") },
        "fail" => Step::Fail {
            claim: words.claim(),
            unrecoverable: words.flag("unrecoverable"),
            remove: words.flag("remove"),
        },
        "heartbeat" => Step::Heartbeat(words.claim()),
        "cancel" => Step::Cancel(words.number(1)),
        "remove" => Step::Remove(words.number(1)),
        "discard" => Step::Discard(words.claim()),
        "drain" => Step::Drain(queue()),
        "clean" => {
            let state = STATES.iter().find(|(_, text)| *text == words.words[2]).expect("a state that Clean knows").0;
            Step::Clean { queue: queue(), state, limit: words.option("limit").unwrap_or(1000) }
        }
        "obliterate" => Step::Obliterate(queue()),
        "promote" => Step::Promote(words.number(1)),
        "priority" => Step::Priority { job: words.number(1), priority: words.option("priority").expect("a priority") },
        "delay" => Step::Delay { claim: words.claim(), delay: delay() },
        "to-delayed" => Step::ToDelayed { claim: words.claim(), delay: delay() },
        "to-wait" => Step::ToWait(words.claim()),
        "to-children" => Step::ToChildren(words.claim()),
        "retry-dlq" => Step::RetryDlq { queue: queue(), job: words.option("job"), count: words.option("count") },
        "retry-completed" => {
            Step::RetryCompleted { queue: queue(), job: words.option("job"), count: words.option("count") }
        }
        "purge-dlq" => Step::PurgeDlq(queue()),
        "dlq" => Step::DlqConfig {
            queue: queue(),
            patch: DlqPatch {
                auto_retry: words.option("auto"),
                auto_retry_interval: words.option("interval").map(Millis),
                max_auto_retries: words.option("retries"),
                max_age: words.all("age").next().map(|age| (age != "never").then(|| Millis(words.value(age)))),
                max_entries: words.option("kept"),
            },
        },
        "remove-dlq" => Step::RemoveDlq { queue: queue(), job: words.option("job").expect("a job") },
        "remove-key" => Step::RemoveKey { queue: queue(), key: words.key().expect("a key") },
        "remove-job-key" => Step::RemoveJobKey(words.number(1)),
        "owner" => Step::Owner { queue: queue(), key: words.key().expect("a key") },
        "rate" => Step::Rate { queue: queue(), max: words.option("max"), ttl: words.option("ttl") },
        "most" => Step::Most { queue: queue(), max: words.option("max") },
        "pause" => Step::Pause(queue()),
        "resume" => Step::Resume(queue()),
        "disconnect" => Step::Disconnect(words.option("conn").expect("a connection")),
        "pass" => Step::Pass(words.number(1)),
        "until" => Step::Until { nth: words.number(1), offset: words.option("offset").unwrap_or(0) },
        "commit" => Step::Commit,
        "restart" => Step::Restart { down: words.option("down").unwrap_or(0) },
        "probe" => Step::Probe,
        _ => parse_family(kind, rest, &words).unwrap_or_else(|| panic!("unknown step: {line}")),
    }
}

fn parse_pull(words: &Words<'_>) -> Step {
    Step::Pull {
        queue: words.queue(1),
        conn: words.option("conn").unwrap_or(1),
        lock: words.option("lock"),
        detach: words.flag("detach"),
        wants: words.wants(),
    }
}

/// A step of a family that has a file of its own.
fn parse_family(kind: &str, rest: &str, words: &Words<'_>) -> Option<Step> {
    let tree = tree_steps::parse(kind, rest, words);
    tree.or_else(|| group_steps::parse(kind, words)).or_else(|| schedule_steps::parse(kind, rest, words))
}
