//! One execution of a command, in CPU seconds.

use zc_stats::welch_interval;

use super::load::{idle_rates, load};
use super::model::Load;
use super::window::{busy_but_nice, elapsed_ns, stat_cpus, stat_elapsed_ns, units};
use zc_run::{CommandRun, SoakWindow};

/// Confidence level of every interval of a command's cost.
pub(super) const CONFIDENCE: f64 = 0.95;

/// One execution, in CPU seconds.
pub(super) struct Execution {
    pub(super) elapsed_s: f64,
    pub(super) getrusage_s: f64,
    pub(super) stat_s: f64,
    pub(super) steal_s: f64,
    /// `None` where a soaker made no progress in the idle windows.
    pub(super) soaked: Option<Soaked>,
}

/// CPU time that the soakers lost by wall time in an execution.
pub(super) struct Soaked {
    pub(super) cpu_s: f64,
    /// Its uncertainty by the idle windows around it alone.
    pub(super) half_width_s: Option<f64>,
    pub(super) idle_shift: Option<f64>,
    /// Idle rate of each soaker, in units per ns.
    pub(super) rates: Vec<f64>,
    pub(super) load: Load,
}

impl Execution {
    /// `None` when its readings are not of the same CPUs.
    pub(super) fn from_run(run: &CommandRun) -> Option<Self> {
        let elapsed_s = elapsed_ns(&run.window) / 1e9;
        let (opened, closed) = (&run.window.opened.stat, &run.window.closed.stat);
        let stat_elapsed_s = stat_elapsed_ns(opened, closed) / 1e9;
        let (stat_cpus, steal_cpus) = stat_cpus(opened, closed, busy_but_nice)?;
        Some(Self {
            elapsed_s,
            getrusage_s: (run.user_ns + run.system_ns) as f64 / 1e9,
            stat_s: stat_cpus * stat_elapsed_s,
            steal_s: steal_cpus * stat_elapsed_s,
            soaked: Soaked::from_run(run),
        })
    }
}

impl Soaked {
    fn from_run(run: &CommandRun) -> Option<Self> {
        let before = idle_rates(&run.idle_before)?;
        // After an interrupt there may be no idle windows. Then the rate before is used, and there
        // is no interval.
        let after = idle_rates(&run.idle_after);
        let rates: Vec<f64> = match &after {
            Some(after) if after.len() == before.len() => {
                before.iter().zip(after).map(|(a, b)| (a + b) / 2.0).collect()
            }
            _ => before.clone(),
        };
        let load = load(&run.window, &rates)?;
        let elapsed_s = elapsed_ns(&run.window) / 1e9;
        Some(Self {
            cpu_s: load.busy_cpus * elapsed_s,
            half_width_s: idle_half_width(run, &rates, &load).map(|cpus| cpus * elapsed_s),
            idle_shift: after
                .map(|after| after.iter().sum::<f64>() / before.iter().sum::<f64>() - 1.0)
                .filter(|shift| shift.is_finite()),
            rates,
            load,
        })
    }
}

/// Half-width of the interval of one execution's soaked load, in CPUs, from the uncertainty of the
/// idle rate.
///
/// Each idle window is treated as a load relative to the mean rates, with each CPU weighted by the
/// part that the command left idle: an idle rate that is 1 % off causes no error on a CPU without
/// idle time.
fn idle_half_width(run: &CommandRun, rates: &[f64], load: &Load) -> Option<f64> {
    half_width(run, |window| {
        let elapsed = elapsed_ns(window);
        let each = rates.iter().zip(&load.cpus).enumerate();
        each.map(|(cpu, (rate, busy))| {
            Some((1.0 - busy).clamp(0.0, 1.0) * (1.0 - units(window, cpu)? / (rate * elapsed)))
        })
        .sum()
    })
}

/// Half-width of the interval of a load in one execution, in CPUs, that is measured beyond its
/// `apparent` level in the idle windows. There are three components: the interval of the mean of
/// the windows before and after; half of the shift between them, because the moment of the shift is
/// unknown; and the scatter of a window as long as the command's.
pub(super) fn half_width(
    run: &CommandRun,
    apparent: impl Fn(&SoakWindow) -> Option<f64>,
) -> Option<f64> {
    let before: Vec<f64> = run.idle_before.iter().map(&apparent).collect::<Option<_>>()?;
    let after: Vec<f64> = run.idle_after.iter().map(&apparent).collect::<Option<_>>()?;
    let welch = welch_interval(&before, &after, CONFIDENCE)?;
    // The mean of two means has half of the standard error of their difference, and the same
    // degrees of freedom.
    let half_of_difference = (welch.interval.high - welch.interval.low) / 2.0;
    let mean = half_of_difference / 2.0;
    let t = half_of_difference / welch.standard_error;
    let windows = (before.len() * after.len()) as f64 / (before.len() + after.len()) as f64;
    // Variance of one idle window, if those before and after have equal variance.
    let variance = welch.standard_error.powi(2) * windows;
    let idle_ns = elapsed_ns(run.idle_before.first()?);
    let own = t * (variance * idle_ns / elapsed_ns(&run.window)).sqrt();
    let half = (mean.powi(2) + own.powi(2)).sqrt() + welch.difference.abs() / 2.0;
    half.is_finite().then_some(half)
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
