//! The cost of a command in CPU seconds.

use zc_stats::welch_interval;

use super::load::{WITHHOLD_LIMIT, idle_rates, load};
use super::model::{Against, CommandCost, Load, PlusMinus};
use super::window::{busy_share, elapsed_ns, stat_elapsed_ns, units};
use zc_run::{SoakCommand, SoakWindow};

/// Confidence level of every interval here.
const CONFIDENCE: f64 = 0.95;

/// The cost of a command. `None` when its readings are not of the same CPUs.
pub fn command_cost(seen: &SoakCommand) -> Option<CommandCost> {
    let before = idle_rates(&seen.start.idle)?;
    // After an interrupt there may be no idle windows. Then the rate before is used, and there is
    // no interval.
    let after = idle_rates(&seen.idle_after);
    let rates: Vec<f64> = match &after {
        Some(after) if after.len() == before.len() => {
            before.iter().zip(after).map(|(a, b)| (a + b) / 2.0).collect()
        }
        _ => before.clone(),
    };
    let load = load(&seen.window, &rates)?;
    let elapsed_s = elapsed_ns(&seen.window) / 1e9;
    let soaked = load.busy_cpus * elapsed_s;
    let half_width = idle_half_width(seen, &rates, &load).map(|cpus| cpus * elapsed_s);
    let getrusage_cpu_s = (seen.user_ns + seen.system_ns) as f64 / 1e9;
    let beyond = soaked - getrusage_cpu_s;
    let stat_elapsed_s = stat_elapsed_ns(&seen.window.opened.stat, &seen.window.closed.stat) / 1e9;
    Some(CommandCost {
        elapsed_s,
        soaked_cpu_s: PlusMinus { value: soaked, half_width },
        getrusage_cpu_s,
        stat_cpu_s: load.stat_cpus * stat_elapsed_s,
        beyond_getrusage_s: beyond,
        against_getrusage: match half_width {
            _ if busy_share(&seen.start.idle).max(busy_share(&seen.idle_after))
                > WITHHOLD_LIMIT =>
            {
                Against::Withheld
            }
            None => Against::Unknown,
            Some(half_width) if beyond.abs() <= half_width => Against::Same,
            Some(_) if beyond > 0.0 => Against::More,
            Some(_) => Against::Less,
        },
        steal_s: load.steal_cpus * stat_elapsed_s,
        idle_shift: after
            .map(|after| after.iter().sum::<f64>() / before.iter().sum::<f64>() - 1.0)
            .filter(|shift| shift.is_finite()),
        cpus: load.cpus,
    })
}

/// Half-width of the interval of a command's soaked load, in CPUs, from the uncertainty of the idle
/// rate.
///
/// Each idle window is treated as a load relative to the mean rates, with each CPU weighted by the
/// part that the command left idle: an idle rate that is 1 % off causes no error on a CPU without
/// idle time. There are three components: the interval of the mean of the windows before and after;
/// half of the shift between them, because the moment of the shift is unknown; and the scatter of a
/// window as long as the command's.
fn idle_half_width(seen: &SoakCommand, rates: &[f64], load: &Load) -> Option<f64> {
    let apparent = |window: &SoakWindow| -> Option<f64> {
        let elapsed = elapsed_ns(window);
        let each = rates.iter().zip(&load.cpus).enumerate();
        each.map(|(cpu, (rate, busy))| {
            Some((1.0 - busy).clamp(0.0, 1.0) * (1.0 - units(window, cpu)? / (rate * elapsed)))
        })
        .sum()
    };
    let before: Vec<f64> = seen.start.idle.iter().map(apparent).collect::<Option<_>>()?;
    let after: Vec<f64> = seen.idle_after.iter().map(apparent).collect::<Option<_>>()?;
    let welch = welch_interval(&before, &after, CONFIDENCE)?;
    // The mean of two means has half of the standard error of their difference, and the same
    // degrees of freedom.
    let half_of_difference = (welch.interval.high - welch.interval.low) / 2.0;
    let mean = half_of_difference / 2.0;
    let t = half_of_difference / welch.standard_error;
    let windows = (before.len() * after.len()) as f64 / (before.len() + after.len()) as f64;
    // Variance of one idle window, if those before and after have equal variance.
    let variance = welch.standard_error.powi(2) * windows;
    let idle_ns = elapsed_ns(&seen.start.idle[0]);
    let own = t * (variance * idle_ns / elapsed_ns(&seen.window)).sqrt();
    let half = (mean.powi(2) + own.powi(2)).sqrt() + welch.difference.abs() / 2.0;
    half.is_finite().then_some(half)
}
