//! What `zc soak` has seen: the machine at both edges of its windows, how its soakers rank, and what they took from a
//! stranger. Loads and CPU seconds are computed from these by `estimate`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SoakReading, SoakerKind, StatReading};

/// The meters of `zc soak` at one edge of a window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakEdge {
    /// The soakers: read last when a window opens and first when it closes.
    pub soak: SoakReading,
    /// CPU time that the soakers used so far, all together.
    pub soaker_cpu_ns: u64,
    /// /proc/stat. The soakers are at nice 19, so their ticks stand in the column `nice`.
    pub stat: StatReading,
}

/// Two edges.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakWindow {
    /// As it opened.
    pub opened: SoakEdge,
    /// As it closed.
    pub closed: SoakEdge,
}

/// What makes the soakers of `zc soak` rank behind the threads of other sessions and cgroups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum SoakerRank {
    /// A cgroup of their own with cpu.idle set: the group itself is SCHED_IDLE.
    Cgroup {
        /// Its folder.
        path: String,
    },
    /// An autogroup (a session) of their own at nice 19: the group has a weight of 15 beside 1024.
    Autogroup,
    /// SCHED_IDLE alone, which ranks last inside their own group.
    Class {
        /// Why there is no more: a lower-case sentence.
        reason: String,
    },
}

/// A thread that burned CPU for a while.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Burnt {
    /// How long it tried to, CLOCK_MONOTONIC.
    pub wall_ns: u64,
    /// How long it got to, by its thread CPU clock.
    pub cpu_ns: u64,
}

/// What the soakers took from busy threads of a process of another session, one on each CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Taken {
    /// Whether that process was in another cgroup too.
    pub other_cgroup: bool,
    /// The busy threads while the soakers were at work.
    pub soaked: Vec<Burnt>,
    /// The busy threads while the soakers slept: the unsoaked control.
    pub unsoaked: Vec<Burnt>,
    /// The soakers, within the time in which the threads were busy.
    pub opened: SoakReading,
    /// See `opened`.
    pub closed: SoakReading,
}

/// How far a soaker got with the CPU time that it had.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SoakerPace {
    /// Units of fixed work.
    pub units: u64,
    /// CPU time, by its thread CPU clock.
    pub cpu_ns: u64,
}

impl SoakerPace {
    /// What came on top of `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            units: self.units.saturating_sub(before.units),
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
        }
    }
}

/// What is known when the soakers are at work and before anything is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakStart {
    /// The CPUs that carry a soaker, in the order of all per-CPU vectors.
    pub cpus: Vec<usize>,
    /// What the soakers do.
    pub soaker: SoakerKind,
    /// How they rank.
    pub rank: SoakerRank,
    /// Windows in which nothing was measured: how fast the soakers count on this machine as it is.
    pub idle: Vec<SoakWindow>,
    /// What each soaker did from the first of these windows to the last, beside the CPU time that it had for that.
    pub pace: Vec<SoakerPace>,
    /// What they take from others; null when that could not be tried out.
    pub taken: Option<Taken>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "ended")]
pub enum CommandEnd {
    /// It exited.
    Exited {
        /// With this code.
        code: i32,
    },
    /// It was killed.
    Killed {
        /// By this signal.
        signal: i32,
    },
}

/// A command under soakers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakCommand {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The soakers, and the idle windows before the command.
    pub start: SoakStart,
    /// From before its process was made until it was waited for.
    pub window: SoakWindow,
    /// How it ended.
    pub end: CommandEnd,
    /// getrusage of the command and of those of its descendants that were waited for: user mode.
    pub user_ns: u64,
    /// And in the kernel.
    pub system_ns: u64,
    /// Idle windows after the command.
    pub idle_after: Vec<SoakWindow>,
}

/// How a burner spreads its load over time.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum BurnShape {
    /// Duty cycles of 1 ms.
    Smooth,
    /// Duty cycles of 100 ms.
    Bursty,
}

/// An unsoaked window of the same load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnsoakedControl {
    /// /proc/stat as it opened.
    pub opened: StatReading,
    /// And as it closed.
    pub closed: StatReading,
    /// CPU time of the burner between the two.
    pub truth_ns: u64,
}

/// One load, once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerifyVisit {
    /// How the load was spread.
    pub shape: BurnShape,
    /// Which share of a CPU was asked for, in percent.
    pub percent: u32,
    /// The idle window before.
    pub idle_before: SoakWindow,
    /// The window under load.
    pub window: SoakWindow,
    /// CPU time of the burner in that window, by its thread CPU clock.
    pub truth_ns: u64,
    /// CPU time of the soaker of the burner's CPU in that window, by its thread CPU clock.
    pub soaker_cpu_ns: u64,
    /// Times that the burner went to sleep in that window.
    pub switches: u64,
    /// The idle window after.
    pub idle_after: SoakWindow,
    /// The same load without soakers.
    pub unsoaked_control: UnsoakedControl,
}

/// The soakers held against known loads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakVerify {
    /// The CPUs that carry a soaker, in the order of all per-CPU vectors.
    pub cpus: Vec<usize>,
    /// The place in `cpus` of the CPU that the burner ran on.
    pub burner: usize,
    /// What the soakers do.
    pub soaker: SoakerKind,
    /// Every visit, in the order in which they were made.
    pub visits: Vec<VerifyVisit>,
}
