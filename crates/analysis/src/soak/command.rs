//! What a command cost, in CPU seconds.

use zc_stats::welch_interval;

use super::load::{WITHHOLD_LIMIT, idle_rates, load};
use super::model::{Against, CommandCost, Load, PlusMinus};
use super::window::{busy_share, elapsed_ns, stat_elapsed_ns, units};
use zc_run::{SoakCommand, SoakWindow};

/// The confidence of every interval here.
const CONFIDENCE: f64 = 0.95;

/// What a command cost. None when the readings are not of the same CPUs.
pub fn command_cost(seen: &SoakCommand) -> Option<CommandCost> {
    let before = idle_rates(&seen.start.idle)?;
    // After an interrupt there may be none: then the rate before has to do, and there is no interval.
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

/// How far the soaked load of a command may be off, in CPUs, because the idle rate beside it is not known better.
///
/// Each idle window is taken for a load against the mean rates, CPU by CPU weighted with what the command left idle of it
/// (an idle rate that is 1 % off makes no error on a CPU that had no idle time). Three things add up: the interval of the
/// mean of the windows before and after; half of the shift between them, because nobody saw when it happened; and the
/// scatter that a window as long as the command's has itself.
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
    // The mean of two means has half of the standard error of their difference, and the same degrees of freedom.
    let half_of_difference = (welch.interval.high - welch.interval.low) / 2.0;
    let mean = half_of_difference / 2.0;
    let t = half_of_difference / welch.standard_error;
    let windows = (before.len() * after.len()) as f64 / (before.len() + after.len()) as f64;
    let variance = welch.standard_error.powi(2) * windows; // of one idle window, were both sides of equal variance
    let idle_ns = elapsed_ns(&seen.start.idle[0]);
    let own = t * (variance * idle_ns / elapsed_ns(&seen.window)).sqrt();
    let half = (mean.powi(2) + own.powi(2)).sqrt() + welch.difference.abs() / 2.0;
    half.is_finite().then_some(half)
}
