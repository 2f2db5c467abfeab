//! The cost of a command in CPU seconds.

use zc_stats::mean_interval;

use super::accounts::accounts;
use super::execution::{CONFIDENCE, Execution, mean};
use super::load::WITHHOLD_LIMIT;
use super::model::{Against, CommandCost, IntervalOver, PerCost, PlusMinus};
use super::per::Unit;
use super::window::busy_share;
use zc_run::{CommandEnd, CommandRun, Did, SoakCommand, SoakWindow};

/// The cost of an execution of a command, from those that ended with exit code 0; from all, if none
/// did. `None` without executions, and when their readings are not of the same CPUs.
///
/// With a unit, the cost of one of what it did, too: each execution's, and the mean of these.
pub fn command_cost(seen: &SoakCommand, unit: Option<Unit>) -> Option<CommandCost> {
    let well = |run: &&CommandRun| run.end == CommandEnd::Exited { code: 0 };
    let mut runs: Vec<&CommandRun> = seen.runs.iter().filter(well).collect();
    if runs.is_empty() {
        runs = seen.runs.iter().collect();
    }
    let each: Vec<Execution> = runs.iter().map(|run| Execution::of(run)).collect::<Option<_>>()?;
    let of = |figure: fn(&Execution) -> f64| each.iter().map(figure).collect::<Vec<_>>();
    let soaked = estimate(&of(|run| run.soaked_s), &each)?;
    let beyond = estimate(&of(|run| run.soaked_s - run.getrusage_s), &each)?;
    let withheld = withheld(seen, &runs, soaked);
    let count = runs.len() as f64;
    let seconds = |ns: fn(&CommandRun) -> u64| {
        runs.iter().map(|run| ns(run) as f64).sum::<f64>() / count / 1e9
    };
    let elapsed = of(|run| run.elapsed_s);
    Some(CommandCost {
        executions: runs.len(),
        failed: seen.runs.len() - runs.len(),
        elapsed_s: PlusMinus { value: mean(&elapsed), half_width: over_executions(&elapsed) },
        interval_over: match (soaked.half_width, runs.len()) {
            (None, _) => IntervalOver::Nothing,
            (Some(_), 1) => IntervalOver::IdleWindows,
            (Some(_), _) => IntervalOver::Executions,
        },
        user_cpu_s: seconds(|run| run.user_ns),
        system_cpu_s: seconds(|run| run.system_ns),
        stat_cpu_s: mean(&of(|run| run.stat_s)),
        beyond_getrusage_s: withheld.is_none().then_some(beyond),
        against_getrusage: match beyond.half_width {
            _ if withheld.is_some() => Against::Withheld,
            None => Against::Unknown,
            Some(half_width) if beyond.value.abs() <= half_width => Against::Same,
            Some(_) if beyond.value > 0.0 => Against::More,
            Some(_) => Against::Less,
        },
        accounts: withheld.is_none().then(|| accounts(&runs, &each, soaked)),
        per: unit.filter(|_| withheld.is_none()).and_then(|unit| cost_per(unit, &runs, &each)),
        soaked_cpu_s: withheld.is_none().then_some(soaked),
        withheld,
        idle_shift: median(each.iter().filter_map(|run| run.idle_shift).collect()),
        cpus: (0..each.first()?.load.cpus.len())
            .map(|cpu| each.iter().map(|run| run.load.cpus[cpu]).sum::<f64>() / count)
            .collect(),
    })
}

/// `None` if an execution did not print how many there were.
fn cost_per(unit: Unit, runs: &[&CommandRun], each: &[Execution]) -> Option<PerCost> {
    let did: Vec<&Did> = runs.iter().map(|run| run.did.as_ref()).collect::<Option<_>>()?;
    let ns = |cpu_s: f64, did: &Did| 1e9 * cpu_s / did.count;
    let costs: Vec<f64> =
        std::iter::zip(each, &did).map(|(run, did)| ns(run.soaked_s, did)).collect();
    let half_width = match each {
        [only] => only.half_width_s.map(|half| ns(half, did[0])),
        _ => over_executions(&costs),
    };
    Some(PerCost {
        unit,
        by: did.first()?.by.clone(),
        count: mean(&did.iter().map(|did| did.count).collect::<Vec<_>>()),
        cost_ns: PlusMinus { value: mean(&costs), half_width },
    })
}

/// The mean over executions with Student's interval; of one execution, the interval of its idle
/// windows.
fn estimate(values: &[f64], each: &[Execution]) -> Option<PlusMinus> {
    let half_width = match each {
        [only] => only.half_width_s,
        _ => over_executions(values),
    };
    let value = mean(values);
    value.is_finite().then_some(PlusMinus { value, half_width })
}

fn over_executions(values: &[f64]) -> Option<f64> {
    mean_interval(values, CONFIDENCE).map(|interval| (interval.high - interval.low) / 2.0)
}

/// Why the soaked figure is not to be shown, if it is not. (It cannot be more than the CPUs had: no
/// soaker counts less than nothing.)
fn withheld(seen: &SoakCommand, runs: &[&CommandRun], soaked: PlusMinus) -> Option<String> {
    if let Some((why, _)) = seen.start.without_costs() {
        return Some(why);
    }
    let busy = |windows: &[SoakWindow]| if windows.is_empty() { 0.0 } else { busy_share(windows) };
    let of = |run: &&CommandRun| busy(&run.idle_before).max(busy(&run.idle_after));
    let busiest = median(runs.iter().map(of).collect())?;
    if busiest > WITHHOLD_LIMIT {
        return Some(format!(
            "something else used {:.0} % of the CPUs in the idle windows: what the soakers lost to it and \
             to the command cannot be separated",
            100.0 * busiest
        ));
    }
    let half = soaked.half_width.unwrap_or(0.0);
    if soaked.value + half < 0.0 {
        return Some(
            "the soakers counted more beside the command than on the idle machine: something else \
             ended meanwhile, or the clock of the CPUs rose"
                .to_owned(),
        );
    }
    None
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let (low, high) =
        (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some((low + high) / 2.0)
}
