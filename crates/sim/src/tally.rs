//! What worlds have been through, in figures.

/// What a world has been through.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Turns of the core.
    pub turns: u64,
    /// Of them, those that left something for the next one.
    pub left: u64,
    /// Commands sent.
    pub commands: u64,
    /// Answers read.
    pub answers: u64,
    /// Processes killed, power cuts not counted.
    pub crashes: u64,
    /// Power cuts.
    pub power_cuts: u64,
    /// Commits that failed under a core that lived on.
    pub failed_commits: u64,
    /// Jobs handed out.
    pub deliveries: u64,
    /// Completions that counted.
    pub completions: u64,
    /// Repeats that were compared with an open window.
    pub repeats_checked: u64,
    /// Trees of jobs that were made and followed.
    pub trees: u64,
    /// Firings of schedules that were counted.
    pub firings: u64,
    /// Deliveries that were compared with limits of queues and groups.
    pub throttled: u64,
}

impl Tally {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Tally) -> Tally {
        Tally {
            turns: self.turns + other.turns,
            left: self.left + other.left,
            commands: self.commands + other.commands,
            answers: self.answers + other.answers,
            crashes: self.crashes + other.crashes,
            power_cuts: self.power_cuts + other.power_cuts,
            failed_commits: self.failed_commits + other.failed_commits,
            deliveries: self.deliveries + other.deliveries,
            completions: self.completions + other.completions,
            repeats_checked: self.repeats_checked + other.repeats_checked,
            trees: self.trees + other.trees,
            firings: self.firings + other.firings,
            throttled: self.throttled + other.throttled,
        }
    }
}
