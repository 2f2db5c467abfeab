//! Accounts that the costs of a run come from.

use schemars::JsonSchema;
use serde::Serialize;

/// The account that the costs of a trial come from, the best first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum AccountKind {
    /// The clocks of the soakers, of the traffic's threads and of ksoftirqd. None of them contains
    /// what other programs and the hypervisor take.
    #[default]
    OwnClocks,
    /// The wall time that the soakers lost, less what other programs used, by the clocks of the
    /// top-level cgroups, beyond what they used in idle windows. It contains what the hypervisor
    /// takes.
    WallLessOthers,
    /// The wall time that the soakers lost. It contains what other programs and the hypervisor
    /// take.
    WallTime {
        /// Why no better account is available.
        because: WhyWallTime,
    },
}

/// Why costs come from wall time alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhyWallTime {
    /// The run has no clocks of soakers: it is from before format 3.7, or has no window of them.
    NoClocks,
    /// Not all threads that work for the traffic are known.
    UnknownTasks,
    /// A kernel keeps interrupts out of task clocks (CONFIG_IRQ_TIME_ACCOUNTING), and what other
    /// programs used is not known.
    InterruptsApart,
    /// Thread clocks advance by ticks.
    ClocksTick,
    /// It is compared with a run whose costs are by wall time.
    ComparedRun,
}
