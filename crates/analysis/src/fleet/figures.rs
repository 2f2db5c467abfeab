//! Figures of one saved run for a fleet: the logarithms of its costs and ratios with their standard
//! errors, and the facts of its machines.
//!
//! Costs and ratios are those of [`estimate`](crate::estimate()): costs of kept blocks, net of the
//! harness, their median over blocks; ratios within blocks, their Hodges-Lehmann estimate. Standard
//! errors are by the scatter of the blocks alone. They do not include the wander of costs within
//! minutes, by which an interval of a single run is widened: a fleet has many runs, and estimates
//! it from their differences.

use std::sync::Arc;

use zc_run::{EndReason, Plan, Run};
use zc_stats::{autocorrelation_time, hodges_lehmann, median, quantile};

use super::facts;
use super::model::{CellFigures, Logarithm, RunFigures};
use crate::account;
use crate::cells;
use crate::controls::Controls;
use crate::costs::{Side, sender_alone};
use crate::kept::KeptBlocks;
use crate::machine;
use crate::model::verdict::Withheld;
use crate::ratios::{Pair, pairs};
use crate::unit::us_per_mb;
use crate::verdict;

/// Standard error of the median of n normal values, in standard deviations, times the root of n.
const OF_MEDIAN: f64 = 1.253_314;

/// The same of the Hodges-Lehmann estimate: its efficiency is 3/pi.
const OF_HODGES_LEHMANN: f64 = 1.023_327;

/// The distance between the quartiles of a normal distribution, in standard deviations.
const BETWEEN_QUARTILES: f64 = 1.348_980;

/// Fewest blocks of which the correlation of neighbours is estimated.
const LEAST_SERIES: usize = 20;

/// Figures of a run for a fleet. `name` is that of its file.
///
/// The standard error of a figure is that of its estimator for normal values: their standard
/// deviation by the distance between the quartiles (without its bias in small samples), which some
/// disturbed blocks do not move, times the root of the autocorrelation time, as neighbouring blocks
/// are alike. A figure is `None` where fewer than two blocks have it, and where its estimate is not
/// above 0.
///
/// # Errors
///
/// Why the run cannot be used, as the end of a sentence: `all of its 6 blocks were dropped`.
pub fn figures(name: String, run: &Run) -> Result<RunFigures, String> {
    let header = &run.header;
    if let Some(why) = not_of_sending(&header.plan) {
        return Err(why.to_owned());
    }
    if machine::is_emulated(header) {
        return Err("the CPU of one of its machines is emulated".to_owned());
    }
    let kept = KeptBlocks::from_run(run);
    let account = account::blocks(run, kept.account);
    if account.kept == 0 {
        return Err(match account.measured {
            0 => "it has no block".to_owned(),
            1 => "its only block was dropped".to_owned(),
            measured => format!("all of its {measured} blocks were dropped"),
        });
    }
    let measured = (0..header.plan.cells.len()).filter(|place| !header.plan.cells[*place].control);
    let cells: Vec<CellFigures> = measured
        .map(|place| cell(&kept, place))
        .filter(|cell| cell.sender.or(cell.receiver).or(cell.both).is_some())
        .collect();
    if cells.is_empty() {
        return Err("none of its cells has a cost".to_owned());
    }
    let (near, far) = facts::both_ends(header);
    Ok(RunFigures {
        name,
        started_at: header.started_at.clone(),
        zc_version: header.zc_version.clone(),
        experiment: header.plan.experiment.clone(),
        link: header.plan.fixed.link.name().to_owned(),
        reference: header.plan.reference.clone(),
        near: Arc::new(near),
        far: far.map(Arc::new),
        blocks_kept: account.kept,
        blocks: account.measured,
        is_whole: run.end.as_ref().is_some_and(|end| {
            matches!(
                end.reason,
                EndReason::TargetReached | EndReason::Decided | EndReason::BudgetSpent
            )
        }),
        withheld: withheld(run, &kept, &account),
        cells,
    })
}

/// Why a plan has no costs of sending that could be compared between hosts.
fn not_of_sending(plan: &Plan) -> Option<&'static str> {
    if plan.traffic.server().is_some() {
        return Some("it measured a server, not paths of sending");
    }
    if plan.traffic.nfs().is_some() {
        return Some("it measured NFS, not paths of sending");
    }
    if plan.replay().is_some() {
        return Some("it replayed a log, and what it sent is that log's");
    }
    plan.cells.is_empty().then_some("its plan has no cells")
}

fn cell(kept: &KeptBlocks, place: usize) -> CellFigures {
    let cost = |side: Side| {
        let costs = kept.costs.iter().filter_map(|block| block.get(place)?.as_ref());
        cost(&costs.filter_map(|cost| cost.ns_per_kib(side)).collect::<Vec<f64>>())
    };
    let (sender, both) = (cost(Side::Sender), cost(Side::Both));
    // Where nobody measures the receiver, the cost of both is the sender's.
    let (sender, both) =
        if sender_alone(kept.header) { (sender.or(both), None) } else { (sender, both) };
    let divisors = kept.index.divisors(place);
    let side = if sender.is_some() && both.is_some() { Side::Sender } else { Side::Both };
    CellFigures {
        label: kept.header.plan.cells[place].label.clone(),
        sender,
        receiver: cost(Side::Receiver),
        both,
        ratio: ratio(&pairs(&kept.costs, place, &divisors, side)),
    }
}

/// The median cost in us per MB, from costs in ns per KiB by block.
pub(super) fn cost(costs: &[f64]) -> Option<Logarithm> {
    let costs: Vec<f64> = costs.iter().copied().filter(|cost| cost.is_finite()).collect();
    let value = median(&costs).filter(|value| *value > 0.0)?;
    let error = OF_MEDIAN * error(&costs)? / value;
    logarithm(us_per_mb(value).ln(), error)
}

/// The Hodges-Lehmann estimate of the ratio. `None` where noise takes so many costs to 0 that it
/// has no logarithm.
pub(super) fn ratio(pairs: &[Pair]) -> Option<Logarithm> {
    let logs: Vec<f64> = pairs.iter().filter_map(Pair::log).collect();
    logarithm(hodges_lehmann(&logs)?, OF_HODGES_LEHMANN * error(&logs)?)
}

fn logarithm(ln: f64, error: f64) -> Option<Logarithm> {
    (ln.is_finite() && error.is_finite()).then_some(Logarithm { ln, error })
}

/// Standard error of the mean of a series of normal values, by the distance between their
/// quartiles. `None` with fewer than two values, and without finite quartiles.
fn error(values: &[f64]) -> Option<f64> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    // Sorted once, as each quantile sorts.
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let between = quantile(&sorted, 0.75)? - quantile(&sorted, 0.25)?;
    let count = n as f64;
    // In four normal values the quartiles are a third too close, in eight a sixth.
    let deviation = between / BETWEEN_QUARTILES * count / (count - 1.25);
    let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let alike = if n < LEAST_SERIES { 1.0 } else { autocorrelation_time(&finite)? };
    Some(deviation * (alike / count).sqrt()).filter(|error| error.is_finite())
}

/// Names of the reasons for which the run's own verdicts are withheld: as in the JSON of a run, and
/// the names of warnings.
fn withheld(
    run: &Run,
    kept: &KeptBlocks,
    blocks: &crate::model::estimates::BlockAccount,
) -> Vec<String> {
    let reference = kept.reference.map(|place| cells::cell(kept, place));
    let mut names: Vec<String> =
        verdict::withheld(run, kept, reference.as_ref(), &Controls::from_blocks(kept), blocks)
            .iter()
            .map(|why| reason(why).to_owned())
            .collect();
    names.dedup();
    names
}

/// The name of a reason; of a warning its own.
fn reason(why: &Withheld) -> &str {
    match why {
        Withheld::Warning { name, .. } => name,
        why => why.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_testkit::synthetic::{Synthetic, null_link, two_machines};

    fn run_figures(run: &Run) -> RunFigures {
        figures("a.json".to_owned(), run).unwrap()
    }

    fn near(found: Option<Logarithm>, ns_per_kib: f64, within: f64) {
        let found = found.unwrap();
        let off = found.ln - us_per_mb(ns_per_kib).ln();
        assert!(off.abs() < within, "off by {off}: {found:?}");
    }

    #[test]
    fn costs_of_both_sides_and_ratios_to_the_reference_come_back() {
        let found = run_figures(&two_machines(Synthetic::default().run()));
        assert_eq!((found.experiment.as_str(), found.link.as_str()), ("paths", "remote"));
        assert_eq!(found.far.as_ref().map(|far| far.host.as_str()), Some("far"));
        assert!(found.cells.iter().all(|cell| !cell.label.contains("A/A")), "no control");
        let sendfile = found.cells.iter().find(|cell| cell.label == "sendfile").unwrap();
        near(sendfile.sender, 180.0, 0.3);
        near(sendfile.receiver, 390.0, 0.3);
        near(sendfile.both, 570.0, 0.3);
        let ratio = sendfile.ratio.unwrap();
        assert!((ratio.ln - (180.0_f64 / 500.0).ln()).abs() < 4.0 * ratio.error, "{ratio:?}");
        assert_eq!(found.cells[0].ratio, None, "the reference has none");
        assert!(found.is_whole && found.withheld.is_empty(), "{:?}", found.withheld);
    }

    #[test]
    fn standard_errors_are_what_runs_of_one_machine_scatter_by() {
        let of_seed = |seed| {
            let world = Synthetic { seed, block_drift: 0.0, ..Synthetic::default() };
            let found = run_figures(&two_machines(world.run()));
            let cell = found.cells.iter().find(|cell| cell.label == "sendfile").unwrap();
            (cell.sender.unwrap(), cell.ratio.unwrap())
        };
        let all: Vec<_> = (0..60).map(of_seed).collect();
        let agrees = |of: fn(&(Logarithm, Logarithm)) -> Logarithm| {
            let n = all.len() as f64;
            let mean = all.iter().map(|it| of(it).ln).sum::<f64>() / n;
            let variance = all.iter().map(|it| (of(it).ln - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let expected = all.iter().map(|it| of(it).error.powi(2)).sum::<f64>() / n;
            (expected / variance).sqrt()
        };
        // Autocorrelation that is estimated is at least 1: errors are rather too large.
        for times in [agrees(|it| it.0), agrees(|it| it.1)] {
            assert!((0.8..1.5).contains(&times), "{times}");
        }
    }

    #[test]
    fn over_the_null_link_the_cost_is_the_sender_s() {
        let mut run = null_link(Synthetic::default().run());
        run.header.link.sides_apart = false;
        let found = run_figures(&run);
        let reference = &found.cells[0];
        near(reference.sender, 500.0, 0.3);
        assert_eq!((reference.receiver, reference.both), (None, None));
        assert!(found.far.is_none());
    }

    #[test]
    fn a_run_that_cannot_be_used_is_refused_with_the_reason() {
        let refused = |change: fn(&mut Run)| {
            let mut run = two_machines(Synthetic { blocks: 6, ..Synthetic::default() }.run());
            change(&mut run);
            figures(String::new(), &run).unwrap_err()
        };
        let why = refused(|run| {
            run.blocks
                .iter_mut()
                .for_each(|block| block.dropped = Some(zc_run::Dropped::Unfinished));
        });
        assert_eq!(why, "all of its 6 blocks were dropped");
        let why = refused(|run| run.header.host.hypervisor = Some(zc_run::EMULATOR.to_owned()));
        assert!(why.contains("emulated"), "{why}");
        let why = refused(|run| run.blocks.iter_mut().for_each(|block| block.slots.clear()));
        assert_eq!(why, "none of its cells has a cost");
        let why = refused(|run| run.header.plan.cells.clear());
        assert_eq!(why, "its plan has no cells");
    }

    #[test]
    fn a_part_of_a_run_is_used_and_said_to_be_one() {
        let mut run = Synthetic { blocks: 5, ..Synthetic::default() }.run();
        run.end = None;
        let found = run_figures(&run);
        assert!(!found.is_whole);
        assert_eq!((found.blocks_kept, found.blocks), (5, 5));
        assert_eq!(found.withheld, ["too-few-blocks"]);
    }

    #[test]
    fn no_number_is_infinite_in_runs_of_one_block_and_of_noise() {
        for blocks in [1, 2, 3] {
            let world = Synthetic { blocks, noise: 3.0, ..Synthetic::default() };
            let found = figures(String::new(), &world.run());
            let numbers = found.iter().flat_map(|found| &found.cells).flat_map(|cell| {
                [cell.sender, cell.receiver, cell.both, cell.ratio].into_iter().flatten()
            });
            for number in numbers {
                assert!(number.ln.is_finite() && number.error.is_finite(), "{number:?}");
            }
        }
    }
}
