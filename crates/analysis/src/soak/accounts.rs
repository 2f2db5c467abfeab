//! What a command's soaked CPU time consists of: its own, that of other processes and of the kernel's
//! threads by their CPU clocks, and interrupts by the soakers' clocks.
//!
//! A soaker that is interrupted is charged with the interrupt and does not count meanwhile. So what its
//! CPU clock says beyond what it counted, at the pace of the idle windows, is interrupts and softirqs;
//! and what that clock lacks of the time that there was, other tasks had.

use super::execution::{Execution, mean};
use super::model::{Accounts, NamedTime, PlusMinus};
use super::others::Others;
use super::window::{busy_share, units};
use zc_run::CommandRun;

/// A process that took a smaller share of the soaked figure has no row of its own.
const SMALLEST_SHARE: f64 = 0.005;

/// Means over executions; the two slices are of the same ones.
pub(super) fn accounts(runs: &[&CommandRun], each: &[Execution], soaked: PlusMinus) -> Accounts {
    let mut others = Others::default();
    for run in runs {
        let idle_share = run.processes.window_ns as f64 / run.processes.idle_ns as f64;
        let idle_share = if idle_share.is_finite() { idle_share } else { 0.0 };
        for process in &run.processes.each {
            let net_ns = process.window_ns as f64 - idle_share * process.idle_ns as f64;
            others.add(process, net_ns / 1e9 / runs.len() as f64);
        }
    }
    let (largest, other_processes_s) = others.largest(SMALLEST_SHARE * soaked.value.abs());
    let named = |(name, cpu_s): (&str, f64)| NamedTime { name: name.to_owned(), cpu_s };
    let of = |figure: &dyn Fn(&CommandRun, &Execution) -> f64| {
        mean(&std::iter::zip(runs, each).map(|(run, it)| figure(run, it)).collect::<Vec<_>>())
    };
    let kernel_threads_s = others.kernel_threads;
    let command_s = of(&|_, it| it.getrusage_s);
    let zc_s = of(&|run, _| run.zc_ns as f64 / 1e9);
    let interrupts_s = of(&interrupts_s);
    let stolen_s = of(&|_, it| it.steal_s);
    let had_s = command_s + others.processes() + kernel_threads_s + zc_s + interrupts_s + stolen_s;
    let missing_s = soaked.value - had_s;
    Accounts {
        command_s,
        processes: largest.into_iter().map(named).collect(),
        other_processes_s,
        kernel_threads_s,
        zc_s,
        interrupts_s,
        stolen_s,
        missing_s,
        add_up: soaked.half_width.is_some_and(|half| missing_s.abs() <= half),
    }
}

/// CPU time that the soakers were charged with and did not count in.
fn interrupts_s(run: &CommandRun, it: &Execution) -> f64 {
    // Of the time of an idle window this share was charged to the soakers.
    let charged = 1.0 - busy_share(run.idle_before.iter().chain(&run.idle_after));
    let counted_ns: f64 = (0..it.rates.len())
        .filter_map(|cpu| Some(charged * units(&run.window, cpu)? / it.rates[cpu]))
        .sum();
    let (opened, closed) = (&run.window.opened, &run.window.closed);
    let charged_ns = closed.soaker_cpu_ns.saturating_sub(opened.soaker_cpu_ns) as f64;
    (charged_ns - counted_ns) / 1e9
}
