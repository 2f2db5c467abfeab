//! The observations of `zc soak`: the meters at both edges of its windows, the rank of its soakers,
//! and what they took from another process. `zc-analysis` computes loads and CPU seconds from
//! these.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::host::{INSTEAD_OF_EMULATED, INSTEAD_OF_THROTTLED, WHY_EMULATED, why_throttled};
use super::{SoakReading, SoakerKind, StatReading};

/// The meters of `zc soak` at one edge of a window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakEdge {
    /// The soakers: read last when a window opens and first when it closes.
    pub soak: SoakReading,
    /// CPU time of all soakers so far; only in files that lack it by CPU
    /// ([`SoakReading::cpu_ns`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soaker_cpu_ns: Option<u64>,
    /// Uninterrupted units of each soaker, and the CPU time that these took; empty where soakers do
    /// not report them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undisturbed: Vec<SoakerPace>,
    /// Units of each soaker in whose time the timer ticked and no other task ran, 8 for a tick, and
    /// the CPU time that these took; empty where soakers do not report them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ticked: Vec<SoakerPace>,
    /// /proc/stat. The soakers are at nice 19, so their ticks are in the column `nice`.
    pub stat: StatReading,
}

/// A window: two edges.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakWindow {
    /// Edge at which the window opened.
    pub opened: SoakEdge,
    /// Edge at which it closed.
    pub closed: SoakEdge,
}

/// The mechanism by which the soakers of `zc soak` yield to the threads of other sessions and
/// cgroups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum SoakerRank {
    /// Their own cgroup with cpu.idle set: the group itself is SCHED_IDLE.
    Cgroup {
        /// The cgroup's folder.
        path: String,
    },
    /// Their own autogroup (a session) at nice 19: the group has a weight of 15 against 1024.
    Autogroup,
    /// SCHED_IDLE alone, which is last only within their own group.
    Class {
        /// Why the others are not available: a lower-case sentence.
        reason: String,
    },
}

/// A thread that used a CPU for a while.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Burnt {
    /// Time in which it tried to run, by CLOCK_MONOTONIC.
    pub wall_ns: u64,
    /// Time for which it ran, by its thread CPU clock.
    pub cpu_ns: u64,
}

/// CPU time that the soakers took from the busy threads of a process in another session, one on
/// each CPU.
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

/// A soaker's count and the CPU time that it took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SoakerPace {
    /// Units of fixed work.
    pub units: u64,
    /// CPU time, by its thread CPU clock.
    pub cpu_ns: u64,
}

impl SoakerPace {
    /// The difference from `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            units: self.units.saturating_sub(before.units),
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
        }
    }
}

/// Facts known once the soakers run and before anything is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakStart {
    /// The CPUs that carry a soaker, in the order of all per-CPU vectors.
    pub cpus: Vec<usize>,
    /// Kind of the soakers.
    pub soaker: SoakerKind,
    /// Their rank.
    pub rank: SoakerRank,
    /// Windows in which nothing was measured: the soakers' rates on this machine as it is.
    pub idle: Vec<SoakWindow>,
    /// Count of each soaker from the first of these windows to the last, and its CPU time.
    pub pace: Vec<SoakerPace>,
    /// CPU time that they take from others; null if that could not be tested.
    pub taken: Option<Taken>,
    /// Whether the CPU is emulated, so that nothing has a cost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub emulated: bool,
    /// The CPUs that zc's cgroup may use, where these are fewer than carry a soaker: the kernel
    /// stops the soakers in turns, and nothing has a cost; null where they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<f64>,
    /// Whether the kernel leaves interrupts out of the clocks of tasks
    /// (CONFIG_IRQ_TIME_ACCOUNTING); null where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irq_time_accounting: Option<bool>,
    /// Steps by which thread clocks advance, in ns; null where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_clock_step_ns: Option<u64>,
}

impl SoakStart {
    /// Why no cost can be given here, and the remedy; `None` where costs exist.
    pub fn without_costs(&self) -> Option<(String, &'static str)> {
        match self.cpu_quota {
            _ if self.emulated => Some((WHY_EMULATED.to_owned(), INSTEAD_OF_EMULATED)),
            Some(quota) => Some((why_throttled(quota, self.cpus.len()), INSTEAD_OF_THROTTLED)),
            None => None,
        }
    }
}

/// End of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "ended")]
pub enum CommandEnd {
    /// It exited.
    Exited {
        /// The exit code.
        code: i32,
    },
    /// It was killed.
    Killed {
        /// The number of the signal.
        signal: i32,
    },
}

/// Kind of the processes of a [`ProcessTime`].
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessKind {
    /// A process that is neither zc's nor the command's.
    Other,
    /// A thread of the kernel.
    KernelThread,
}

/// CPU time of all processes of one name, by their CPU clocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessTime {
    /// Kind of the processes.
    pub kind: ProcessKind,
    /// The name of the process (`comm`), of at most 15 bytes.
    pub name: String,
    /// CPU time from before the command to after it.
    pub window_ns: u64,
    /// CPU time in the idle windows before and after it.
    pub idle_ns: u64,
}

/// The CPU clocks of the processes around one execution of a command. A process that ended
/// meanwhile is missing, and one that began is in it from its beginning. zc and its soakers are
/// left out, and the command's first process too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessTimes {
    /// Time between the readings before and after the command.
    pub window_ns: u64,
    /// Time between those before and after the idle windows.
    pub idle_ns: u64,
    /// One for each kind and name, without those that used nothing.
    pub each: Vec<ProcessTime>,
}

/// Number of requests, bytes or whatever else that an execution of a command counted itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Did {
    /// The number; above 0.
    pub count: f64,
    /// The program whose output has the number, or `--per-regex`.
    pub by: String,
}

/// One execution of a command under soakers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRun {
    /// Idle windows before it.
    pub idle_before: Vec<SoakWindow>,
    /// Window from before its process was created until it was waited for.
    pub window: SoakWindow,
    /// End of the command.
    pub end: CommandEnd,
    /// getrusage of the command and of those of its descendants that were waited for: user mode.
    pub user_ns: u64,
    /// The same in kernel mode.
    pub system_ns: u64,
    /// Idle windows after it; empty after an interrupt.
    pub idle_after: Vec<SoakWindow>,
    /// CPU time of zc itself, without its soakers: starting the command is in it.
    pub zc_ns: u64,
    /// All other processes.
    pub processes: ProcessTimes,
    /// Amount of work by what it printed; null where that was not asked for, or not found.
    pub did: Option<Did>,
}

/// A command under soakers, executed once or more often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakCommand {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The soakers, and the idle windows before the first execution.
    pub start: SoakStart,
    /// Its executions, without warm-up.
    pub runs: Vec<CommandRun>,
}

/// Distribution of a burner's load over time.
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnsoakedControl {
    /// /proc/stat as it opened.
    pub opened: StatReading,
    /// And as it closed.
    pub closed: StatReading,
    /// CPU time of the burner between the two.
    pub truth_ns: u64,
    /// The idle time in it; null where the machine has no idle clock.
    #[serde(default)]
    pub idle: Option<IdleSpan>,
    /// The idle time of a span in the same round in which the burner slept.
    #[serde(default)]
    pub idle_at_rest: Option<IdleSpan>,
}

/// Times between two steps of the idle clock (see `Reading::idle_ns`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleSpan {
    /// Its length.
    pub elapsed_ns: u64,
    /// Idle time of all CPUs of the machine together.
    pub idle_ns: u64,
    /// CPU time of the burner and of the thread that wakes it.
    pub truth_ns: u64,
}

/// One measurement under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerifyVisit {
    /// Distribution of the load over time.
    pub shape: BurnShape,
    /// The requested share of a CPU, in percent.
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

/// The soakers checked with known loads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakVerify {
    /// The CPUs that carry a soaker, in the order of all per-CPU vectors.
    pub cpus: Vec<usize>,
    /// The index in `cpus` of the burner's CPU.
    pub burner: usize,
    /// Kind of the soakers.
    pub soaker: SoakerKind,
    /// Every visit, in the order in which they were made.
    pub visits: Vec<VerifyVisit>,
}
