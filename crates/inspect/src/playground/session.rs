//! One window's run: lanes side by side under one clock, and the script that plays in them.
//!
//! Guarantees: every act reaches all lanes at the same instant; what is due happens at its own moment, whenever and how
//! often the window looks, so a run is the same every time. The clock goes on only while somebody looks, and stands still
//! when nothing is left that could happen. The wall's clock is passed in.

use super::lane::Lane;
use super::limits::{ADDS_MAX, LENGTH_MS_MAX, LINES_MAX, LOOK_GAP_MAX, QUIET_MS, SPEEDS, STEP_MS_MAX};
use super::scenario::{Scenario, ScriptAct, ScriptStep, WorkerMove, WorkerSpec, check_add};
use crate::view::{PlayClock, PlayLine, PlayRun, PlaygroundView};
use onceover_engine::time::Timestamp;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A run.
pub struct Session {
    scenario: Scenario,
    lanes: Vec<Lane>,
    now: i64,
    clock: PlayClock,
    speed: u32,
    note: Option<String>,
    /// Steps of the script that have been done.
    done: usize,
    /// Everything that was done, the script's steps included; what a window shares.
    played: Vec<ScriptStep>,
    by_hand: bool,
    adds: usize,
    newest_v: u32,
    lines: VecDeque<PlayLine>,
    lines_ever: u64,
    /// When something last happened.
    stirred_at: i64,
    /// Revisions of the runs before this one, so that the number never goes back.
    base: u64,
    looked_at: Instant,
}

impl Session {
    /// A run that has not started. The scenario has been checked.
    pub fn new(scenario: Scenario, base: u64, at: Instant) -> Session {
        let lane = |(at, spec): (usize, &_)| {
            Lane::new(u8::try_from(at).unwrap_or(u8::MAX), Clone::clone(spec), scenario.worker.clone())
        };
        let lanes = scenario.lanes.iter().enumerate().map(lane).collect();
        Session {
            scenario,
            lanes,
            now: 0,
            clock: PlayClock::Ready,
            speed: 1,
            note: None,
            done: 0,
            played: Vec::new(),
            by_hand: false,
            adds: 0,
            newest_v: 0,
            lines: VecDeque::new(),
            lines_ever: 0,
            stirred_at: 0,
            base,
            looked_at: at,
        }
    }

    /// Lets the time pass that has passed on the wall.
    pub fn catch_up(&mut self, at: Instant) {
        let gone = at.saturating_duration_since(self.looked_at);
        if self.clock != PlayClock::Running || gone > LOOK_GAP_MAX {
            self.looked_at = at;
        }
        if self.clock != PlayClock::Running {
            return;
        }
        let gone = gone.min(LOOK_GAP_MAX);
        let ms = i64::try_from(gone.as_millis()).unwrap_or(0);
        // Only whole milliseconds are taken, the rest is for the next look.
        self.looked_at = (self.looked_at + Duration::from_millis(gone.as_millis() as u64)).min(at);
        self.advance(self.now + ms * i64::from(self.speed));
    }

    /// When a window last asked.
    pub fn looked_at(&self) -> Instant {
        self.looked_at
    }

    /// Starts, goes on, or starts anew after the end.
    pub fn run(&mut self, at: Instant) {
        match self.clock {
            PlayClock::Done => self.reset(at),
            PlayClock::Ready | PlayClock::Paused | PlayClock::Running => {}
        }
        self.set_clock(PlayClock::Running, None);
        self.looked_at = at;
    }

    /// Stops the clock.
    pub fn pause(&mut self) {
        if self.clock == PlayClock::Running {
            self.set_clock(PlayClock::Paused, None);
        }
    }

    /// Goes to the next thing that happens, and stops there.
    pub fn step(&mut self) {
        if self.clock == PlayClock::Done {
            return;
        }
        self.set_clock(PlayClock::Paused, None);
        let (before, limit) = (self.revision(), self.now + STEP_MS_MAX);
        if self.next_script().is_none() && !self.lanes.iter().any(Lane::stirs) && self.end().is_none() {
            self.note = Some("Nothing happens by itself now. Press Space to add.".to_owned());
            return;
        }
        while self.revision() == before {
            match self.next_at() {
                Some(next) if next <= self.end().unwrap_or(limit) => self.at(next),
                _ => break,
            }
        }
        if self.revision() != before {
            return;
        }
        match self.end() {
            Some(end) => self.finish(end),
            None => self.note = Some(format!("Nothing happened within {} s.", STEP_MS_MAX / 1_000)),
        }
    }

    /// Back to the start, with the same scenario.
    pub fn reset(&mut self, at: Instant) {
        let speed = self.speed;
        *self = Session::new(self.scenario.clone(), self.revision() + 1, at);
        self.speed = speed;
    }

    /// # Errors
    /// There is no such speed.
    pub fn set_speed(&mut self, speed: u32) -> Result<(), String> {
        if !SPEEDS.contains(&speed) {
            return Err("speed: must be 1, 2 or 5".to_owned());
        }
        self.speed = speed;
        Ok(())
    }

    /// The same add for every lane. Starts the clock, unless it was stopped by hand.
    ///
    /// # Errors
    /// It is not valid, or the run is full.
    pub fn add(
        &mut self,
        v: Option<u32>,
        key: Option<String>,
        queue: Option<String>,
        at: Instant,
    ) -> Result<(), String> {
        let v = v.unwrap_or(self.newest_v.saturating_add(1));
        check_add(v, key.as_deref(), queue.as_deref())?;
        if self.adds >= ADDS_MAX {
            return Err(format!("This run has {ADDS_MAX} adds, the most that are kept. Reset to go on."));
        }
        self.act_by_hand(ScriptAct::Add { v, key, queue }, at);
        Ok(())
    }

    /// What a worker does by hand, in one lane or in all.
    ///
    /// # Errors
    /// There is no such lane.
    pub fn work(&mut self, lane: Option<u8>, what: WorkerMove, at: Instant) -> Result<(), String> {
        if lane.is_some_and(|lane| usize::from(lane) >= self.lanes.len()) {
            return Err(format!("lane: must be 0 to {}", self.lanes.len() - 1));
        }
        self.act_by_hand(ScriptAct::Work { what, lane }, at);
        Ok(())
    }

    /// How jobs are worked on from now on.
    ///
    /// # Errors
    /// It is not valid.
    pub fn set_worker(&mut self, worker: WorkerSpec) -> Result<(), String> {
        worker.check().map_err(|why| format!("worker.{why}"))?;
        let now = Timestamp(self.now);
        self.scenario.worker = worker.clone();
        self.lanes.iter_mut().for_each(|lane| lane.set_worker(now, worker.clone()));
        self.base += 1;
        self.collect();
        Ok(())
    }

    /// The run as it stands; without its content when the window has it already.
    pub fn view(&self, since: Option<u64>) -> PlaygroundView {
        let revision = self.revision();
        let run = (since != Some(revision)).then(|| {
            Box::new(PlayRun {
                scenario: self.scenario.clone(),
                played: if self.by_hand { self.played.clone() } else { Vec::new() },
                newest_v: self.newest_v,
                lanes: self.lanes.iter().map(Lane::view).collect(),
                lines: self.lines.iter().cloned().collect(),
                lines_dropped: self.lines_ever - self.lines.len() as u64,
            })
        });
        PlaygroundView { revision, clock: self.clock, t_ms: self.now, speed: self.speed, note: self.note.clone(), run }
    }

    /// Grows with everything that happened.
    pub fn revision(&self) -> u64 {
        self.base + self.lanes.iter().map(Lane::revision).sum::<u64>()
    }

    fn act_by_hand(&mut self, act: ScriptAct, at: Instant) {
        if self.clock != PlayClock::Paused || self.note.is_some() {
            self.set_clock(PlayClock::Running, None);
            self.looked_at = at;
        }
        self.by_hand = true;
        self.act(act, None);
        self.collect();
    }

    fn act(&mut self, act: ScriptAct, note: Option<String>) {
        let now = Timestamp(self.now);
        if let Some(note) = &note {
            self.line(PlayLine { n: 0, t: self.now, lane: None, chip: None, text: note.clone() });
        }
        match &act {
            ScriptAct::Add { v, key, queue } => {
                let key = key.as_deref().unwrap_or(&self.scenario.key);
                let queue = queue.as_deref().unwrap_or(&self.scenario.queue);
                self.lanes.iter_mut().for_each(|lane| lane.add(now, *v, queue, key));
                self.adds += 1;
                self.newest_v = self.newest_v.max(*v);
            }
            ScriptAct::Work { what, lane } => {
                let wanted = |at: usize| lane.is_none_or(|lane| usize::from(lane) == at);
                let lanes = self.lanes.iter_mut().enumerate().filter(|(at, _)| wanted(*at));
                lanes.for_each(|(_, lane)| lane.work(now, *what));
            }
        }
        self.played.push(ScriptStep { at_ms: u32::try_from(self.now).unwrap_or(u32::MAX), act, note });
    }

    /// Does everything that is due until then.
    fn advance(&mut self, to: i64) {
        let to = self.end().map_or(to, |end| to.min(end)).min(i64::from(LENGTH_MS_MAX));
        while let Some(next) = self.next_at().filter(|next| *next <= to) {
            if self.stops_before(next) {
                return;
            }
            self.at(next);
        }
        if self.stops_before(to + 1) {
            return;
        }
        self.now = to;
        if self.end() == Some(to) {
            self.finish(to);
        } else if to == i64::from(LENGTH_MS_MAX) {
            let text = format!("A run ends after {} minutes. Reset to start anew.", LENGTH_MS_MAX / 60_000);
            self.set_clock(PlayClock::Done, Some(text));
        }
    }

    /// A run by hand in which nothing is left to happen stops its clock a moment later.
    fn stops_before(&mut self, next: i64) -> bool {
        let quiet_at = self.stirred_at + QUIET_MS;
        let goes_on = self.end().is_some() || self.lanes.iter().any(|lane| lane.stirs() || lane.is_live());
        if goes_on || next <= quiet_at {
            return false;
        }
        self.now = self.now.max(quiet_at);
        self.set_clock(PlayClock::Paused, Some("Nothing is left that could happen. Press Space to add.".to_owned()));
        true
    }

    fn finish(&mut self, end: i64) {
        self.now = end;
        self.set_clock(PlayClock::Done, None);
    }

    fn set_clock(&mut self, clock: PlayClock, note: Option<String>) {
        (self.clock, self.note) = (clock, note);
    }

    /// When the run ends by itself: a script that nobody has played into beyond its end.
    fn end(&self) -> Option<i64> {
        let end = i64::from(self.scenario.length_ms);
        let beyond = self.by_hand && self.now >= end;
        (self.scenario.is_scripted() && !beyond).then_some(end)
    }

    fn next_script(&self) -> Option<i64> {
        self.scenario.script.get(self.done).map(|step| i64::from(step.at_ms))
    }

    fn next_at(&self) -> Option<i64> {
        let lanes = self.lanes.iter().filter_map(Lane::next_at).map(|at| at.0);
        lanes.chain(self.next_script()).min()
    }

    /// Everything that is due at one moment: first what follows from before, then the script.
    fn at(&mut self, next: i64) {
        self.now = self.now.max(next);
        let now = Timestamp(self.now);
        self.lanes.iter_mut().for_each(|lane| lane.due(now));
        while self.next_script().is_some_and(|at| at <= self.now) {
            let step = self.scenario.script[self.done].clone();
            self.done += 1;
            if self.adds < ADDS_MAX {
                self.act(step.act, step.note);
            }
        }
        self.collect();
    }

    /// Puts the lanes' new lines into the one log.
    fn collect(&mut self) {
        let fresh: Vec<PlayLine> = self.lanes.iter_mut().flat_map(Lane::take_lines).collect();
        if !fresh.is_empty() {
            self.stirred_at = self.now;
        }
        fresh.into_iter().for_each(|line| self.line(line));
    }

    fn line(&mut self, mut line: PlayLine) {
        self.lines_ever += 1;
        line.n = self.lines_ever;
        self.lines.push_back(line);
        if self.lines.len() > LINES_MAX {
            self.lines.pop_front();
        }
    }
}
