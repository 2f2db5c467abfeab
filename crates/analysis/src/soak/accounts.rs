//! Components of a command's CPU time: its own, that of the other tasks by their CPU clocks, and
//! interrupts by the soakers' clocks; and the rest of the soakers' loss by wall time.

use zc_stats::mean_interval;

use super::execution::{Execution, Soaked, mean};
use super::model::{Accounts, NamedTime, PlusMinus};
use super::others::Others;
use super::own::Own;
use super::window::{busy_share, soakers_ns, units};
use zc_run::{CommandRun, ProcessKind, ProcessTime};

/// A process that took a smaller share of the cost has no row of its own.
const SMALLEST_SHARE: f64 = 0.005;

/// Confidence level at which other tasks are said to have worked for the command, over executions.
const SURE: f64 = 0.99;

/// The threads of the kernel that run softirqs which were put off; the soakers' readings have them.
const KSOFTIRQD: &str = "ksoftirqd/";

/// The accounts of executions, by execution.
pub(super) struct Each<'r> {
    pub(super) runs: &'r [&'r CommandRun],
    pub(super) executions: &'r [Execution],
    /// Costs by own clocks, where these tell it.
    pub(super) own: Option<&'r [Own]>,
}

impl Each<'_> {
    /// CPU seconds of other tasks beyond what they use in the idle windows, in each execution.
    pub(super) fn others_s(&self) -> Vec<f64> {
        let net_s = |run: &&CommandRun| self.others_of(run).map(|(_, net_s)| net_s).sum();
        self.runs.iter().map(net_s).collect()
    }

    fn others_of<'p>(&self, run: &'p CommandRun) -> impl Iterator<Item = (&'p ProcessTime, f64)> {
        let idle_share = run.processes.window_ns as f64 / run.processes.idle_ns as f64;
        let idle_share = if idle_share.is_finite() { idle_share } else { 0.0 };
        let apart = self.own.is_some() && !run.window.closed.soak.ksoftirqd_ns.is_empty();
        let is_other = move |it: &&ProcessTime| {
            !(apart && it.kind == ProcessKind::KernelThread && it.name.starts_with(KSOFTIRQD))
        };
        let net_s = move |it: &'p ProcessTime| {
            (it, (it.window_ns as f64 - idle_share * it.idle_ns as f64) / 1e9)
        };
        run.processes.each.iter().filter(is_other).map(net_s)
    }

    /// Whether other tasks worked more beside the command than in the idle windows, and not by
    /// chance. A single execution shows it where they worked more than twice as much.
    pub(super) fn others_worked(&self) -> bool {
        let net_s = self.others_s();
        if let ([run], [net_s]) = (self.runs, &*net_s) {
            let used_s: f64 = self.others_of(run).map(|(it, _)| it.window_ns as f64 / 1e9).sum();
            return *net_s > used_s / 2.0;
        }
        mean_interval(&net_s, SURE).is_some_and(|interval| interval.low > 0.0)
    }

    /// Interrupts beside the command and its tasks, in each execution.
    fn interrupts_s(&self) -> Vec<f64> {
        match self.own {
            Some(own) => own.iter().map(|it| it.interrupts_s).collect(),
            None => std::iter::zip(self.runs, self.executions)
                .map(|(run, it)| it.soaked.as_ref().map_or(0.0, |it| interrupts_s(run, it)))
                .collect(),
        }
    }

    /// Means over executions, with what each lost by wall time that is in no account.
    pub(super) fn accounts(
        &self,
        others_are_in: bool,
        cost: PlusMinus,
        of_values: impl Fn(&[f64]) -> Option<PlusMinus>,
    ) -> Accounts {
        let mut others = Others::default();
        for run in self.runs {
            for (process, net_s) in self.others_of(run) {
                others.add(process, net_s / self.runs.len() as f64);
            }
        }
        let (largest, other_processes_s) = others.largest(SMALLEST_SHARE * cost.value.abs());
        let named = |(name, cpu_s): (&str, f64)| NamedTime { name: name.to_owned(), cpu_s };
        let interrupts_s = self.interrupts_s();
        let ksoftirqd_s = |at: usize| self.own.map_or(0.0, |own| own[at].ksoftirqd_s);
        let others_s = self.others_s();
        let left: Option<Vec<f64>> = std::iter::zip(self.runs, self.executions)
            .enumerate()
            .map(|(at, (run, it))| {
                let had_s = it.getrusage_s + interrupts_s[at] + ksoftirqd_s(at) + others_s[at];
                Some(it.soaked.as_ref()?.cpu_s - had_s - run.zc_ns as f64 / 1e9 - it.steal_s)
            })
            .collect();
        let unattributed_s = left.and_then(|left| of_values(&left));
        let mean_over = |figure: &dyn Fn(&Execution) -> f64| {
            mean(&self.executions.iter().map(figure).collect::<Vec<_>>())
        };
        Accounts {
            command_s: mean_over(&|it| it.getrusage_s),
            processes: largest.into_iter().map(named).collect(),
            other_processes_s,
            kernel_threads_s: others.kernel_threads,
            others_s: mean(&others_s),
            others_are_in,
            zc_s: self.runs.iter().map(|run| run.zc_ns as f64).sum::<f64>()
                / 1e9
                / self.runs.len() as f64,
            interrupts_s: mean(&interrupts_s),
            interrupts_unseen: self.own.is_some_and(|own| own.iter().any(|it| it.unseen)),
            ksoftirqd_s: mean(&(0..self.runs.len()).map(ksoftirqd_s).collect::<Vec<_>>()),
            stolen_s: mean_over(&|it| it.steal_s),
            unattributed_s,
            add_up: unattributed_s
                .is_some_and(|it| it.half_width.is_some_and(|half| it.value.abs() <= half)),
        }
    }
}

/// CPU time that the soakers were charged with and did not count in, by the rates of idle windows.
fn interrupts_s(run: &CommandRun, it: &Soaked) -> f64 {
    // The share of an idle window's time that was charged to the soakers.
    let charged = 1.0 - busy_share(run.idle_before.iter().chain(&run.idle_after));
    let counted_ns: f64 = (0..it.rates.len())
        .filter_map(|cpu| Some(charged * units(&run.window, cpu)? / it.rates[cpu]))
        .sum();
    (soakers_ns(&run.window) - counted_ns) / 1e9
}
