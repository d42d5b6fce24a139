//! An add of a sequence as text, and the words of a step's text.

use crate::commands::{ClaimOf, QUEUES, Token, Worked, queue_name};
use crate::tree_steps::{POLICIES, ParentOf, Policy};
use std::fmt;

/// The custom id of an add.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum IdOf {
    /// One of `IDS`.
    Custom(u8),
    /// The id text that the job of this label has, generated or not.
    Job(u32),
}

/// One add.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AddStep {
    pub label: u32,
    pub queue: u8,
    pub key: Option<u8>,
    pub ttl: Option<i64>,
    pub extend: bool,
    pub replace: bool,
    pub keep: bool,
    pub id: Option<IdOf>,
    pub delay: i64,
    pub priority: i32,
    pub attempts: u32,
    /// A retry waits 80 to 120 s instead of not at all.
    pub slow: bool,
    pub forget_done: bool,
    pub forget_failed: bool,
    pub after: Vec<u32>,
    pub job_ttl: Option<i64>,
    pub timeout: Option<i64>,
    /// How often it makes a successor that is due `REPEAT_EVERY` ms after its completion.
    pub repeat: Option<u64>,
    /// The group in its queue, and how many of it may be queued.
    pub group: Option<u8>,
    pub group_max: Option<u64>,
    /// Whose child it is.
    pub parent: Option<ParentOf>,
    /// Its children.
    pub children: Vec<u32>,
    /// What its failure means for its parent.
    pub policy: Policy,
}

impl fmt::Display for AddStep {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.label, queue_name(self.queue))?;
        match self.id {
            Some(IdOf::Custom(id)) => write!(out, " id=x{id}")?,
            Some(IdOf::Job(label)) => write!(out, " id={label}")?,
            None => {}
        }
        option(out, "key", self.key.map(|key| format!("k{key}")))?;
        option(out, "ttl", self.ttl)?;
        flags(out, &[("extend", self.extend), ("replace", self.replace), ("keep", self.keep)])?;
        option(out, "delay", Some(self.delay).filter(|delay| *delay != 0))?;
        option(out, "priority", Some(self.priority).filter(|priority| *priority != 0))?;
        option(out, "attempts", Some(self.attempts).filter(|attempts| *attempts != 3))?;
        flags(out, &[("slow", self.slow), ("rmc", self.forget_done), ("rmf", self.forget_failed)])?;
        self.after.iter().try_for_each(|label| write!(out, " after={label}"))?;
        option(out, "jobttl", self.job_ttl)?;
        option(out, "timeout", self.timeout)?;
        option(out, "repeat", self.repeat)?;
        option(out, "group", self.group)?;
        option(out, "room", self.group_max)?;
        self.parent.iter().try_for_each(|parent| write!(out, "{parent}"))?;
        self.children.iter().try_for_each(|label| write!(out, " child={label}"))?;
        let policy = POLICIES.iter().find(|(policy, _)| *policy == self.policy).expect("every policy has a text").1;
        option(out, "policy", Some(policy).filter(|_| self.policy != Policy::Keep))
    }
}

pub fn option<T: fmt::Display>(out: &mut fmt::Formatter<'_>, name: &str, value: Option<T>) -> fmt::Result {
    value.map_or(Ok(()), |value| write!(out, " {name}={value}"))
}

pub fn flags(out: &mut fmt::Formatter<'_>, flags: &[(&str, bool)]) -> fmt::Result {
    flags.iter().filter(|(_, set)| *set).try_for_each(|(name, _)| write!(out, " {name}"))
}

/// The words of one step's text; panics name the text, it is a test's own.
pub struct Words<'a> {
    text: &'a str,
    pub words: Vec<&'a str>,
}

impl<'a> Words<'a> {
    pub fn new(text: &'a str) -> Words<'a> {
        Words { text, words: text.split_whitespace().collect() }
    }

    pub fn value<T: std::str::FromStr>(&self, value: &str) -> T {
        value.parse().unwrap_or_else(|_| panic!("not a value in this step: {value} in {}", self.text))
    }

    pub fn number<T: std::str::FromStr>(&self, at: usize) -> T {
        self.value(self.words[at])
    }

    pub fn queue(&self, at: usize) -> u8 {
        let at = QUEUES.iter().position(|name| *name == self.words[at]);
        at.unwrap_or_else(|| panic!("no such queue: {}", self.text)) as u8
    }

    pub fn all(&self, name: &str) -> impl Iterator<Item = &'a str> {
        self.words
            .iter()
            .filter_map(move |word| word.split_once('=').filter(|(known, _)| *known == name))
            .map(|(_, value)| value)
    }

    pub fn option<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.all(name).next().map(|value| self.value(value))
    }

    pub fn key(&self) -> Option<u8> {
        self.all("key").next().map(|value| self.value(value.trim_start_matches('k')))
    }

    pub fn flag(&self, name: &str) -> bool {
        self.words.contains(&name)
    }

    pub fn claim(&self) -> ClaimOf {
        let token = match self.all("token").next() {
            None => Token::Right,
            Some("none") => Token::None,
            Some(_) => Token::Old,
        };
        let job = match self.words[1].strip_prefix('t') {
            Some(back) => Worked::Taken(self.value(back)),
            None => Worked::Job(self.number(1)),
        };
        ClaimOf { job, token }
    }

    fn parent(&self) -> Option<ParentOf> {
        let joins = self.option("joins").map(ParentOf::Joins);
        let other = self.option("bare").map(ParentOf::Bare).or(self.option("elsewhere").map(ParentOf::Elsewhere));
        joins.or(other).or(self.flag("pending").then_some(ParentOf::Pending))
    }

    fn policy(&self) -> Policy {
        let policy = self.all("policy").next();
        let known = policy.map(|policy| POLICIES.iter().find(|(_, text)| *text == policy).expect("a policy").0);
        known.unwrap_or_default()
    }

    pub fn add(&self) -> AddStep {
        let id = self.all("id").next().map(|value| match value.strip_prefix('x') {
            Some(at) => IdOf::Custom(self.value(at)),
            None => IdOf::Job(self.value(value)),
        });
        AddStep {
            label: self.number(0),
            queue: self.queue(1),
            key: self.key(),
            ttl: self.option("ttl"),
            extend: self.flag("extend"),
            replace: self.flag("replace"),
            keep: self.flag("keep"),
            id,
            delay: self.option("delay").unwrap_or(0),
            priority: self.option("priority").unwrap_or(0),
            attempts: self.option("attempts").unwrap_or(3),
            slow: self.flag("slow"),
            forget_done: self.flag("rmc"),
            forget_failed: self.flag("rmf"),
            after: self.all("after").map(|label| self.value(label)).collect(),
            job_ttl: self.option("jobttl"),
            timeout: self.option("timeout"),
            repeat: self.option("repeat"),
            group: self.option("group"),
            group_max: self.option("room"),
            parent: self.parent(),
            children: self.all("child").map(|label| self.value(label)).collect(),
            policy: self.policy(),
        }
    }
}
