//! What this process takes of the machine, as far as the system tells.

/// Clock ticks per second in `/proc` on Linux, whatever the kernel's own.
pub(crate) const CPU_UNIT: f64 = 100.0;
/// Bytes of a page on Linux, but for some builds for ARM: there the memory reads too small.
const PAGE_BYTES: u64 = 4_096;

/// It.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessFigures {
    /// Memory that is really there.
    pub(crate) resident_bytes: Option<u64>,
    /// Processor time, in ticks.
    pub(crate) cpu_ticks: Option<u64>,
}

impl ProcessFigures {
    /// As they are now. Nothing where the system has no `/proc`.
    pub(crate) fn now() -> ProcessFigures {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/self/{name}")).unwrap_or_default();
        ProcessFigures { resident_bytes: resident(&read("statm")), cpu_ticks: ticks(&read("stat")) }
    }
}

/// The second number of `statm`.
fn resident(statm: &str) -> Option<u64> {
    Some(statm.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()? * PAGE_BYTES)
}

/// The 14th and 15th field of `stat`; the program's name before them may hold anything but ends with `)`.
fn ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
#[path = "process_figures_tests.rs"]
mod process_figures_tests;
