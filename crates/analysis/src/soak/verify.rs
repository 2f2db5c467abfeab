//! Verification of the soakers with known loads.

use zc_stats::{hodges_lehmann, wilcoxon_interval};

use super::load::{QUIET_LIMIT, idle_rates, load};
use super::model::{PlusMinus, Verified, VerifyRow};
use super::window::{busy, busy_but_nice, busy_share, elapsed_ns, stat_elapsed_ns, stat_of};
use zc_run::{BurnShape, IdleSpan, SoakVerify, UnsoakedControl, VerifyVisit};

/// Confidence level of every interval here.
const CONFIDENCE: f64 = 0.95;

/// Errors of the soakers and of /proc/stat for each known load, and the cost of a wake-up.
pub fn verified(seen: &SoakVerify) -> Verified {
    let mut cases: Vec<(BurnShape, u32)> =
        seen.visits.iter().map(|visit| (visit.shape, visit.percent)).collect();
    cases.sort_unstable();
    cases.dedup();
    let null: Option<Vec<Visit>> = visits_of(seen, NULL_LOAD);
    let wakeup_cost_ns = null.and_then(|null| {
        let cost = |visit: &Visit| 1e9 * (visit.soaked - visit.truth) / visit.wakeups_per_s;
        location(&null.iter().map(cost).collect::<Vec<_>>())
    });
    let rows = cases.into_iter().filter_map(|case| verify_row(seen, case)).collect();
    let dropped = seen.visits.iter().filter(|visit| !counts(visit)).count();
    Verified { rows, wakeup_cost_ns, dropped }
}

/// The load that only wakes up.
const NULL_LOAD: (BurnShape, u32) = (BurnShape::Smooth, 0);

/// Loads in one visit, as shares of the burner's CPU.
struct Visit {
    truth: f64,
    soaked: f64,
    wakeups_per_s: f64,
    stat: f64,
    unsoaked_stat: f64,
    /// CPUs that were idle at rest and not under the load, and the load then.
    idle_taken: Option<(f64, f64)>,
    unsoaked_truth: f64,
}

fn visits_of(seen: &SoakVerify, case: (BurnShape, u32)) -> Option<Vec<Visit>> {
    let visits =
        seen.visits.iter().filter(|visit| (visit.shape, visit.percent) == case && counts(visit));
    visits.map(|visit| visit_of(visit, seen.burner)).collect()
}

/// Whether other tasks used at most 2 % of the CPUs in a window and in the idle windows around it.
fn counts(visit: &VerifyVisit) -> bool {
    let used_ns = (visit.truth_ns + visit.soaker_cpu_ns) as f64;
    let foreign = 1.0 - used_ns / elapsed_ns(&visit.window);
    foreign <= QUIET_LIMIT
        && [&visit.idle_before, &visit.idle_after]
            .iter()
            .all(|idle| busy_share([*idle]) <= QUIET_LIMIT)
}

fn visit_of(visit: &VerifyVisit, cpu: usize) -> Option<Visit> {
    let rates = idle_rates(&[visit.idle_before.clone(), visit.idle_after.clone()])?;
    let load = load(&visit.window, &rates)?;
    let elapsed = load.elapsed_ns as f64;
    let control = &visit.unsoaked_control;
    let unsoaked = |counted| stat_of(&control.opened, &control.closed, cpu, counted);
    Some(Visit {
        truth: visit.truth_ns as f64 / elapsed,
        soaked: *load.cpus.get(cpu)?,
        wakeups_per_s: 1e9 * visit.switches as f64 / elapsed,
        unsoaked_stat: unsoaked(busy)?,
        idle_taken: idle_taken(control),
        unsoaked_truth: control.truth_ns as f64 / stat_elapsed_ns(&control.opened, &control.closed),
        stat: stat_of(&visit.window.opened.stat, &visit.window.closed.stat, cpu, busy_but_nice)?,
    })
}

/// CPUs that a load took from what is idle while the burner sleeps, and those that it used.
fn idle_taken(control: &UnsoakedControl) -> Option<(f64, f64)> {
    let (load, rest) = (control.idle?, control.idle_at_rest?);
    let cpus = |ns: u64, span: &IdleSpan| ns as f64 / span.elapsed_ns as f64;
    let taken = cpus(rest.idle_ns, &rest) - cpus(load.idle_ns, &load);
    let truth = cpus(load.truth_ns, &load) - cpus(rest.truth_ns, &rest);
    (taken.is_finite() && truth.is_finite()).then_some((taken, truth))
}

fn verify_row(seen: &SoakVerify, case: (BurnShape, u32)) -> Option<VerifyRow> {
    let visits = visits_of(seen, case)?;
    let values = |figure: &dyn Fn(&Visit) -> f64| visits.iter().map(figure).collect::<Vec<_>>();
    let idle: Vec<(f64, f64)> = visits.iter().filter_map(|visit| visit.idle_taken).collect();
    Some(VerifyRow {
        shape: case.0,
        percent: case.1,
        visits: visits.len(),
        truth: mean(&values(&|visit| visit.truth))?,
        soaked: mean(&values(&|visit| visit.soaked))?,
        error: location(&values(&|visit| visit.soaked - visit.truth))?,
        stat: mean(&values(&|visit| visit.stat))?,
        stat_error: location(&values(&|visit| visit.stat - visit.truth))?,
        stat_unsoaked: mean(&values(&|visit| visit.unsoaked_stat))?,
        stat_unsoaked_error: location(&values(&|visit| {
            visit.unsoaked_stat - visit.unsoaked_truth
        }))?,
        by_idle: mean(&idle.iter().map(|(taken, _)| *taken).collect::<Vec<_>>()),
        by_idle_error: location(
            &idle.iter().map(|(taken, truth)| taken - truth).collect::<Vec<_>>(),
        ),
        wakeups_per_s: mean(&values(&|visit| visit.wakeups_per_s))?,
    })
}

fn mean(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    mean.is_finite().then_some(mean)
}

/// Location of the values by a robust estimator, because most machines have neighbours.
fn location(values: &[f64]) -> Option<PlusMinus> {
    let half_width =
        wilcoxon_interval(values, CONFIDENCE).map(|interval| (interval.high - interval.low) / 2.0);
    let value = hodges_lehmann(values).filter(|value| value.is_finite())?;
    Some(PlusMinus { value, half_width: half_width.filter(|half| half.is_finite()) })
}
