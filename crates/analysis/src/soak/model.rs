//! The results of `zc soak`: loads, the cost of a command, and the verification of the soakers.

use serde::Serialize;

use zc_run::BurnShape;

/// The load of a window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Load {
    /// Length of the window.
    pub elapsed_ns: u64,
    /// Share of each CPU that was not the soaker's. It may be a little below 0: the idle rate scatters.
    pub cpus: Vec<f64>,
    /// The shares added up: CPUs in use.
    pub busy_cpus: f64,
    /// What /proc/stat says to that: CPUs in use, by its columns user, system, irq and softirq.
    pub stat_cpus: f64,
    /// CPUs that the hypervisor took away, by /proc/stat.
    pub steal_cpus: f64,
}

/// What the soakers took from a busy process of another session.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TakenShare {
    /// Share of a CPU that the soakers got while a busy thread wanted all of it, by their counters; mean over CPUs.
    pub soakers: f64,
    /// Share of its CPU that the busy thread lost, by its own clock; to whomever.
    pub lost: f64,
    /// And what it lost while the soakers slept.
    pub lost_unsoaked: f64,
    /// Whether it was in another cgroup too.
    pub other_cgroup: bool,
}

/// A value and the half-width of its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PlusMinus {
    /// The value.
    pub value: f64,
    /// Half-width; null when it cannot be known.
    pub half_width: Option<f64>,
}

/// What the soaked figure says to the command's own accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Against {
    /// The machine worked more for it.
    More,
    /// It worked less than the accounts say.
    Less,
    /// The difference is within the interval.
    Same,
    /// There is no interval to judge it by.
    Unknown,
    /// Something else used the machine too much to judge it.
    Withheld,
}

/// What a command cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommandCost {
    /// How long it ran.
    pub elapsed_s: f64,
    /// CPU seconds that the machine spent on it, by the soakers.
    pub soaked_cpu_s: PlusMinus,
    /// CPU seconds by getrusage of it and of its descendants that were waited for.
    pub getrusage_cpu_s: f64,
    /// CPU seconds by /proc/stat, all CPUs, user + system + irq + softirq.
    pub stat_cpu_s: f64,
    /// soaked - getrusage.
    pub beyond_getrusage_s: f64,
    /// What to think of that difference.
    pub against_getrusage: Against,
    /// CPU seconds that the hypervisor took away meanwhile. They are in the soaked figure.
    pub steal_s: f64,
    /// Relative change of the idle rate from before to after.
    pub idle_shift: Option<f64>,
    /// How the load spread over the CPUs: share of each.
    pub cpus: Vec<f64>,
}

/// The soakers held against known loads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verified {
    /// A row for each load, smooth ones first.
    pub rows: Vec<VerifyRow>,
    /// What a wake-up costs beyond what the thread clock of the woken thread shows: the interrupt of its timer and the
    /// switches, which the kernel charges to whom they interrupt. From the load that only wakes up.
    pub wakeup_cost_ns: Option<PlusMinus>,
    /// Windows that do not count, because something else used more than 2 % of the CPUs in them or beside them. Found by
    /// CPU clocks alone, whatever the soakers counted.
    pub dropped: usize,
}

/// A known load, and what the soakers and /proc/stat made of it. All are shares of one CPU. Errors are Hodges-Lehmann
/// estimates over windows with Wilcoxon's interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifyRow {
    /// How the load was spread.
    pub shape: BurnShape,
    /// What was asked for, in percent.
    pub percent: u32,
    /// Windows.
    pub visits: usize,
    /// By the burner's thread CPU clock; mean.
    pub truth: f64,
    /// By its soaker; mean.
    pub soaked: f64,
    /// soaked - truth, window by window.
    pub error: PlusMinus,
    /// By /proc/stat in the same windows; mean. Beside soakers it is at its best: no CPU idles.
    pub stat: f64,
    /// /proc/stat - truth, window by window.
    pub stat_error: PlusMinus,
    /// By /proc/stat in windows without soakers; mean. Whatever else ran in them is in it: without soakers nobody knows.
    pub stat_unsoaked: f64,
    /// /proc/stat - truth in those, window by window.
    pub stat_unsoaked_error: PlusMinus,
    /// Wake-ups of the burner per second.
    pub wakeups_per_s: f64,
}
