//! The results of `zc soak`: loads, the cost of a command, and the verification of the soakers.

use schemars::JsonSchema;
use serde::Serialize;

use super::per::Unit;
use zc_run::BurnShape;

/// The load of a window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Load {
    /// Length of the window.
    pub elapsed_ns: u64,
    /// Share of each CPU that its soaker did not get. It may be slightly below 0, because the idle
    /// rate scatters.
    pub cpus: Vec<f64>,
    /// Sum of the shares: number of CPUs in use.
    pub busy_cpus: f64,
    /// Number of CPUs in use by /proc/stat: columns user, system, irq and softirq.
    pub stat_cpus: f64,
    /// Number of CPUs that the hypervisor took, by /proc/stat.
    pub steal_cpus: f64,
}

/// CPU time that the soakers took from a busy process of another session.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TakenShare {
    /// Share of a CPU that the soakers got by their counters while a busy thread demanded all of
    /// it; mean over CPUs.
    pub soakers: f64,
    /// Share of its CPU that the busy thread did not get by its own clock, whatever took it.
    pub lost: f64,
    /// The same while the soakers slept.
    pub lost_unsoaked: f64,
    /// Whether the process was also in another cgroup.
    pub other_cgroup: bool,
}

/// A value and the half-width of its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PlusMinus {
    /// Estimate.
    pub value: f64,
    /// Half-width; `None` when it cannot be determined.
    pub half_width: Option<f64>,
}

/// The soaked CPU time compared with the command's own accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Against {
    /// The soakers lost more than the accounts contain.
    More,
    /// The soakers lost less than the accounts contain.
    Less,
    /// The difference is within the interval.
    Same,
    /// There is no interval.
    Unknown,
    /// Other tasks used too much of the machine.
    Withheld,
}

/// Variation that the interval of a command's cost covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IntervalOver {
    /// Executions: it holds the mean of many.
    Executions,
    /// The idle windows of the only execution: another one may cost something else.
    IdleWindows,
    /// There is none.
    Nothing,
}

/// Cost of an execution of a command: means over its executions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommandCost {
    /// Executions that count.
    pub executions: usize,
    /// Executions that ended otherwise than with exit code 0, and so do not count, if any did.
    pub failed: usize,
    /// Run time in seconds.
    pub elapsed_s: PlusMinus,
    /// Cost in CPU seconds; `None` where it is withheld.
    pub cpu_s: Option<PlusMinus>,
    /// Method by which the cost was determined.
    pub by: CostBy,
    /// CPU seconds that the soakers lost beside it by wall time, to whatever ran; `None` where that
    /// is withheld or a soaker made no progress.
    pub soaked_cpu_s: Option<PlusMinus>,
    /// Why the cost is withheld: a lower-case sentence.
    pub withheld: Option<String>,
    /// Variation that its interval covers.
    pub interval_over: IntervalOver,
    /// CPU seconds by getrusage of it and of its descendants that were waited for: user mode.
    pub user_cpu_s: f64,
    /// The same in kernel mode.
    pub system_cpu_s: f64,
    /// CPU seconds by /proc/stat, all CPUs, user + system + irq + softirq.
    pub stat_cpu_s: f64,
    /// `cpu_s` minus getrusage.
    pub beyond_getrusage_s: Option<PlusMinus>,
    /// Significance of that difference.
    pub against_getrusage: Against,
    /// Components of the cost, and the tasks beside it; `None` where that is withheld.
    pub accounts: Option<Accounts>,
    /// Cost of one request, byte or transaction of an execution; `None` where that is unknown,
    /// withheld, or not asked for.
    pub per: Option<PerCost>,
    /// Relative change of the idle rate from before to after; median over executions.
    pub idle_shift: Option<f64>,
    /// Load of each CPU as a share of its time.
    pub cpus: Vec<f64>,
}

/// Method by which a cost is determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CostBy {
    /// Clocks of its tasks, plus what interrupts took from the soakers by the soakers' clocks. It
    /// does not contain what other programs take.
    OwnClocks,
    /// Wall time that the soakers lost, to whatever ran.
    WallTime,
}

/// CPU time of everything but the soakers during an execution, in CPU seconds. All but the
/// command's are net of what they were in the idle windows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Accounts {
    /// The command and its descendants that were waited for, by getrusage.
    pub command_s: f64,
    /// Other processes by name, the largest first.
    pub processes: Vec<NamedTime>,
    /// Other processes that are not named.
    pub other_processes_s: f64,
    /// Threads of the kernel.
    pub kernel_threads_s: f64,
    /// Other processes and threads of the kernel together.
    pub others_s: f64,
    /// Whether these are in the cost: more than in the idle windows, and not by chance.
    pub others_are_in: bool,
    /// zc itself: it starts the command. Not in a cost by own clocks.
    pub zc_s: f64,
    /// Interrupts and softirqs beside the command: CPU time that the soakers were charged with and
    /// did not count in, and by own clocks as much of other programs' time.
    pub interrupts_s: f64,
    /// Whether those on other programs' time are missing: the soakers hardly ran.
    pub interrupts_unseen: bool,
    /// Threads of the kernel that run softirqs which were put off.
    pub ksoftirqd_s: f64,
    /// Taken by the hypervisor, by /proc/stat. Not in a cost by own clocks.
    pub stolen_s: f64,
    /// Remainder of the soaked figure; `None` where there is none.
    pub unattributed_s: Option<PlusMinus>,
    /// Whether 0 is within the interval of that.
    pub add_up: bool,
}

/// Cost of a request, a byte or a transaction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PerCost {
    /// Unit that is counted.
    pub unit: Unit,
    /// Program whose output contains the number.
    pub by: String,
    /// Mean number per execution.
    pub count: f64,
    /// Soaked CPU time of one in ns; its interval covers the same variation as that of the whole
    /// cost.
    pub cost_ns: PlusMinus,
}

/// CPU time of the processes of one name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NamedTime {
    /// Name of the process, of at most 15 bytes.
    pub name: String,
    /// CPU seconds.
    pub cpu_s: f64,
}

/// Verification of the soakers with known loads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verified {
    /// One row per load, smooth ones first.
    pub rows: Vec<VerifyRow>,
    /// Cost of a wake-up that the thread clock of the woken thread does not contain, because the
    /// kernel charges the timer interrupt and the switches to the interrupted task. From the load
    /// that only wakes up.
    pub wakeup_cost_ns: Option<PlusMinus>,
    /// Number of windows dropped because other tasks used more than 2 % of the CPUs in them or in
    /// the idle windows around them. CPU clocks alone decide that, not the soakers' counters.
    pub dropped: usize,
}

/// Known load compared with the soakers and /proc/stat, as shares of one CPU. Errors are
/// Hodges-Lehmann estimates over windows with Wilcoxon intervals.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifyRow {
    /// Shape of the load over time.
    pub shape: BurnShape,
    /// Requested load in per cent.
    pub percent: u32,
    /// Number of windows.
    pub visits: usize,
    /// Mean load by the burner's thread CPU clock.
    pub truth: f64,
    /// Mean load by the soaker of its CPU.
    pub soaked: f64,
    /// `soaked` minus `truth`, window by window.
    pub error: PlusMinus,
    /// Mean load by /proc/stat in the same windows. It is most accurate with soakers, because no
    /// CPU idles.
    pub stat: f64,
    /// `stat` minus `truth`, window by window.
    pub stat_error: PlusMinus,
    /// Mean load by /proc/stat in windows without soakers. It includes whatever else ran, which is
    /// unknown without soakers.
    pub stat_unsoaked: f64,
    /// `stat_unsoaked` minus the true load, window by window.
    pub stat_unsoaked_error: PlusMinus,
    /// Mean idle time that the load takes without soakers, as a share of a CPU: what it costs on a
    /// host that is idle otherwise. `None` where the machine has no idle clock.
    pub by_idle: Option<f64>,
    /// `by_idle` minus the true load, window by window.
    pub by_idle_error: Option<PlusMinus>,
    /// Wake-ups of the burner per second.
    pub wakeups_per_s: f64,
}
