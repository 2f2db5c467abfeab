//! Cost of a command's executions by own clocks:
//!
//! ```text
//! clocks of its tasks + clock of ksoftirqd + what interrupts took from soakers and other programs
//! ```
//!
//! the last two less what they are in the idle windows before and after it. The time of other
//! programs is in no term, and neither is what the hypervisor takes. Time that interrupts took from
//! other programs is in their clocks alone: it is as much as the soakers lost in as much time
//! ([`crate::taken`]).

use super::execution::half_width;
use super::interrupts::{OfSoakers, all, beyond_idle};
use super::window::{elapsed_ns, ksoftirqd_ns, soaker_ns, stat_cpus};
use crate::taken::{For, Taken, TakenFrom, losses};
use zc_run::{CommandRun, SoakStart, SoakWindow, clock_ticks};

/// Cost of an execution beyond the clocks of its tasks, in CPU seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Own {
    /// Interrupts and softirqs on the time of soakers and of other programs.
    pub(super) interrupts_s: f64,
    /// Whether the soakers had so little of the time that the command left that those on other
    /// programs' time are not in it.
    pub(super) unseen: bool,
    /// Softirqs that were put off.
    pub(super) ksoftirqd_s: f64,
    /// The uncertainty of `interrupts_s` by the idle windows around the execution alone.
    pub(super) half_width_s: Option<f64>,
}

/// Whether own clocks tell the cost of a command on this kernel: the clocks of tasks contain
/// interrupts (`update_rq_clock_task` in kernel/sched/core.c) and do not advance by ticks.
pub fn own_clocks_tell(start: &SoakStart) -> bool {
    start.irq_time_accounting != Some(true) && !clock_ticks(start.thread_clock_step_ns)
}

/// Whether the soakers say when nothing interrupted them.
fn have_own_clocks(window: &SoakWindow) -> bool {
    let cpus = window.closed.soak.units.len();
    window.closed.soak.cpu_ns.len() == cpus && window.closed.undisturbed.len() == cpus
}

/// Cost of each execution. `None` where own clocks do not tell it.
pub(super) fn per_execution(start: &SoakStart, runs: &[&CommandRun]) -> Option<Vec<Own>> {
    if !own_clocks_tell(start) || !runs.iter().all(|run| have_own_clocks(&run.window)) {
        return None;
    }
    let each: Vec<OfSoakers> = runs.iter().map(|run| beyond_idle(&run.window, idle(run))).collect();
    let taken: Vec<Taken> = std::iter::zip(runs, &each).map(|(run, it)| taken(run, it)).collect();
    let settled = losses(&taken.iter().map(Some).collect::<Vec<_>>());
    let own =
        |((run, here), settled): ((&&CommandRun, &OfSoakers), Option<crate::costs::Losses>)| Own {
            interrupts_s: settled.map_or(here.interrupts_ns, |it| it.both_ns) / 1e9,
            unseen: settled.is_none(),
            ksoftirqd_s: beyond_idle_ksoftirqd_ns(run) / 1e9,
            half_width_s: interrupts_half_width(run)
                .map(|cpus| cpus * elapsed_ns(&run.window) / 1e9),
        };
    Some(std::iter::zip(std::iter::zip(runs, &each), settled).map(own).collect())
}

fn idle(run: &CommandRun) -> impl Iterator<Item = &SoakWindow> + Clone {
    run.idle_before.iter().chain(&run.idle_after)
}

/// CPU time taken by interrupts, and the users of the time that the command left.
fn taken(run: &CommandRun, soakers: &OfSoakers) -> Taken {
    let window_ns = elapsed_ns(&run.window);
    let own_ns = (run.user_ns + run.system_ns + run.zc_ns) as f64;
    let all_ns = window_ns * run.window.opened.soak.units.len() as f64;
    let steal = stat_cpus(&run.window.opened.stat, &run.window.closed.stat, |_| 0);
    let steal_ns = steal.map_or(0.0, |(_, stolen)| stolen * window_ns);
    let left_ns = all_ns - own_ns - ksoftirqd_ns(&run.window) - steal_ns;
    let part = TakenFrom {
        known_ns: soakers.interrupts_ns,
        interrupts_ns: soakers.interrupts_ns,
        soakers_ns: soakers.had_ns,
        // Steal comes in ticks.
        others_ns: (left_ns - soakers.had_ns).max(0.0),
        ..TakenFrom::default()
    };
    Taken { window_ns, parts: vec![(For::Both, part)] }
}

fn beyond_idle_ksoftirqd_ns(run: &CommandRun) -> f64 {
    let idle_ns: f64 = idle(run).map(elapsed_ns).sum();
    let level_ns = idle(run).map(ksoftirqd_ns).sum::<f64>() / idle_ns * elapsed_ns(&run.window);
    ksoftirqd_ns(&run.window) - if level_ns.is_finite() { level_ns } else { 0.0 }
}

/// Half-width of the interval of what interrupts took in one execution, in CPUs: how much of the
/// soakers' time they take in the idle windows, in as much of it as there was beside the command.
fn interrupts_half_width(run: &CommandRun) -> Option<f64> {
    let window_ns = elapsed_ns(&run.window);
    let cpus = run.window.opened.soak.units.len();
    let had: Vec<f64> = (0..cpus).map(|cpu| soaker_ns(&run.window, cpu)).collect::<Option<_>>()?;
    half_width(run, |window| {
        let shares =
            all(std::iter::once(window), cpus).into_iter().zip(&had).map(|(it, had_ns)| {
                if it.had_ns > 0.0 {
                    it.interrupts_ns / it.had_ns * had_ns / window_ns
                } else {
                    0.0
                }
            });
        Some(shares.sum())
    })
}
