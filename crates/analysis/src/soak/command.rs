//! The cost of a command in CPU seconds.

use zc_stats::mean_interval;

use super::accounts::Each;
use super::execution::{CONFIDENCE, Execution, Soaked, mean};
use super::load::WITHHOLD_LIMIT;
use super::model::{Against, CommandCost, CostBy, IntervalOver, PerCost, PlusMinus};
use super::own;
use super::per::Unit;
use super::window::busy_share;
use zc_run::{CommandEnd, CommandRun, Did, SoakCommand, SoakWindow};

/// The cost of an execution of a command, from those that ended with exit code 0; from all, if none
/// did. `None` without executions, and when their readings are not of the same CPUs.
///
/// With a unit, it includes the cost of one unit: each execution's, and the mean of these.
pub fn command_cost(seen: &SoakCommand, unit: Option<Unit>) -> Option<CommandCost> {
    let well = |run: &&CommandRun| run.end == CommandEnd::Exited { code: 0 };
    let mut runs: Vec<&CommandRun> = seen.runs.iter().filter(well).collect();
    if runs.is_empty() {
        runs = seen.runs.iter().collect();
    }
    let executions: Vec<Execution> =
        runs.iter().map(|run| Execution::from_run(run)).collect::<Option<_>>()?;
    let own = own::per_execution(&seen.start, &runs);
    let each = Each { runs: &runs, executions: &executions, own: own.as_deref() };
    let values = |figure: fn(&Execution) -> f64| executions.iter().map(figure).collect::<Vec<_>>();
    let soaked_each: Option<Vec<f64>> =
        executions.iter().map(|run| Some(run.soaked.as_ref()?.cpu_s)).collect();
    let alone = |half: Option<f64>| half.filter(|_| runs.len() == 1);
    let soaked_alone =
        alone(executions.first()?.soaked.as_ref().and_then(|soaked| soaked.half_width_s));
    let soaked = soaked_each.as_ref().and_then(|each| estimate(each, soaked_alone));
    let others_are_in = own.is_none() || each.others_worked();
    let (costs, cost_alone) = match &own {
        Some(own) => {
            let others_s = each.others_s();
            let costs = own.iter().enumerate().map(|(at, own)| {
                let others_s = if others_are_in { others_s[at] } else { 0.0 };
                executions[at].getrusage_s + own.interrupts_s + own.ksoftirqd_s + others_s
            });
            (costs.collect(), alone(own.first()?.half_width_s))
        }
        None => (soaked_each?, soaked_alone),
    };
    let cost = estimate(&costs, cost_alone)?;
    let beyond_each: Vec<f64> =
        std::iter::zip(&costs, &executions).map(|(cost, run)| cost - run.getrusage_s).collect();
    let beyond = estimate(&beyond_each, cost_alone)?;
    let withheld = withheld(seen, &runs, own.is_none().then_some(cost));
    let seconds = |ns: fn(&CommandRun) -> u64| {
        runs.iter().map(|run| ns(run) as f64).sum::<f64>() / runs.len() as f64 / 1e9
    };
    let elapsed = values(|run| run.elapsed_s);
    let soaked_runs: Vec<&Soaked> =
        executions.iter().filter_map(|run| run.soaked.as_ref()).collect();
    Some(CommandCost {
        executions: runs.len(),
        failed: seen.runs.len() - runs.len(),
        elapsed_s: PlusMinus { value: mean(&elapsed), half_width: over_executions(&elapsed) },
        by: if own.is_some() { CostBy::OwnClocks } else { CostBy::WallTime },
        interval_over: match (cost.half_width, runs.len()) {
            (None, _) => IntervalOver::Nothing,
            (Some(_), 1) => IntervalOver::IdleWindows,
            (Some(_), _) => IntervalOver::Executions,
        },
        user_cpu_s: seconds(|run| run.user_ns),
        system_cpu_s: seconds(|run| run.system_ns),
        stat_cpu_s: mean(&values(|run| run.stat_s)),
        beyond_getrusage_s: withheld.is_none().then_some(beyond),
        against_getrusage: match beyond.half_width {
            _ if withheld.is_some() => Against::Withheld,
            None => Against::Unknown,
            Some(half_width) if beyond.value.abs() <= half_width => Against::Same,
            Some(_) if beyond.value > 0.0 => Against::More,
            Some(_) => Against::Less,
        },
        accounts: withheld
            .is_none()
            .then(|| each.accounts(others_are_in, cost, |each| estimate(each, soaked_alone))),
        per: unit
            .filter(|_| withheld.is_none())
            .and_then(|unit| cost_per(unit, &runs, &costs, cost_alone)),
        cpu_s: withheld.is_none().then_some(cost),
        soaked_cpu_s: soaked.filter(|_| withheld.is_none()),
        withheld,
        idle_shift: median(soaked_runs.iter().filter_map(|run| run.idle_shift).collect()),
        cpus: (0..soaked_runs.first().map_or(0, |run| run.load.cpus.len()))
            .map(|cpu| {
                soaked_runs.iter().map(|run| run.load.cpus[cpu]).sum::<f64>()
                    / soaked_runs.len() as f64
            })
            .collect(),
    })
}

/// `None` if an execution did not print how many there were.
fn cost_per(
    unit: Unit,
    runs: &[&CommandRun],
    costs: &[f64],
    alone: Option<f64>,
) -> Option<PerCost> {
    let did: Vec<&Did> = runs.iter().map(|run| run.did.as_ref()).collect::<Option<_>>()?;
    let ns = |cpu_s: f64, did: &Did| 1e9 * cpu_s / did.count;
    let each: Vec<f64> = std::iter::zip(costs, &did).map(|(cost, did)| ns(*cost, did)).collect();
    Some(PerCost {
        unit,
        by: did.first()?.by.clone(),
        count: mean(&did.iter().map(|did| did.count).collect::<Vec<_>>()),
        cost_ns: estimate(&each, alone.map(|half| ns(half, did[0])))?,
    })
}

/// The mean over executions with Student's interval; of one execution, with the half-width that it
/// has `alone`.
fn estimate(values: &[f64], alone: Option<f64>) -> Option<PlusMinus> {
    let half_width = match values {
        [_] => alone,
        _ => over_executions(values),
    };
    let value = mean(values);
    value.is_finite().then_some(PlusMinus { value, half_width })
}

fn over_executions(values: &[f64]) -> Option<f64> {
    mean_interval(values, CONFIDENCE).map(|interval| (interval.high - interval.low) / 2.0)
}

/// Why the cost is not to be shown, if it is not; `soaked` is the cost where it is by wall time, in
/// which is what others took. (It cannot be more than the CPUs had: no soaker counts less than
/// nothing.)
fn withheld(seen: &SoakCommand, runs: &[&CommandRun], soaked: Option<PlusMinus>) -> Option<String> {
    if let Some((why, _)) = seen.start.without_costs() {
        return Some(why);
    }
    let soaked = soaked?;
    let busy = |windows: &[SoakWindow]| if windows.is_empty() { 0.0 } else { busy_share(windows) };
    let busier = |run: &&CommandRun| busy(&run.idle_before).max(busy(&run.idle_after));
    let busiest = median(runs.iter().map(busier).collect())?;
    if busiest > WITHHOLD_LIMIT {
        return Some(format!(
            "something else used {:.0} % of the CPUs in the idle windows: what the soakers lost to \
             it and to the command cannot be separated",
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
