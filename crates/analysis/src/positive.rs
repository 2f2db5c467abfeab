//! The positive control: is a known cost found?
//!
//! The reference runs once more in every block, and its sender burns a known number of the soakers'
//! own units of work in addition (`burn_units_per_mb`); where a BPF program can, as much again is
//! burned in softirq context (`burn_softirq_ns_per_mb`). Its expected cost is the reference's cost
//! plus what was burned, in the same block. The true ratio of the measured cost to that is 1.

use zc_stats::median;

use crate::costs::{Side, TrialCost};
use crate::figures::{ratio_figure, scaled_bounds};
use crate::kept::KeptBlocks;
use crate::model::estimates::PositiveControl;
use crate::model::figure::RatioFigure;
use crate::ratios::{Pair, pair, ratio};

pub(super) fn control(kept: &KeptBlocks) -> Option<PositiveControl> {
    let plan = &kept.header.plan;
    let place = plan.cells.iter().position(zc_run::Cell::is_positive_control)?;
    let divisors = kept.index.divisors(place);
    let found = kept.costs.iter().filter_map(|costs| added_in_block(costs, place, &divisors));
    let (pairs, added): (Vec<Pair>, Vec<Added>) = found.unzip();
    let median_of = |what: fn(&Added) -> f64| median(&added.iter().map(what).collect::<Vec<_>>());
    // No share can be taken of a reference that noise took below 0.
    let has_cost = median_of(|added| added.to_ns_per_kib).is_some_and(|cost| cost > 0.0);
    let expected = median_of(|added| added.share).filter(|share| has_cost && share.is_finite());
    let by_expected =
        ratio(&pairs, kept.level, None).map(|ratio| ratio_figure(&ratio, plan.target));
    let found = expected.and_then(|expected| Some(scaled(by_expected?, expected)));
    Some(PositiveControl {
        label: plan.cells[place].label.clone(),
        expected,
        in_softirqs: median_of(|added| added.in_softirqs).filter(|share| *share > 0.0),
        found,
        seen: found.and_then(|figure| figure.interval).map(|found| found.low > 1.0),
        resolution: by_expected.and_then(|figure| figure.resolution()),
        fits: by_expected.and_then(|figure| figure.interval).map(|found| found.contains(1.0)),
    })
}

/// Cost added to the reference in a block.
struct Added {
    /// The reference's cost there.
    to_ns_per_kib: f64,
    /// The cost with what was added, as a multiple of the reference's.
    share: f64,
    /// The part burned in softirq context, as a share of the reference's cost.
    in_softirqs: f64,
}

/// Measured and expected cost of the control, in ns per KiB, and the cost added.
fn added_in_block(
    costs: &[Option<TrialCost>],
    place: usize,
    divisors: &[usize],
) -> Option<(Pair, Added)> {
    let to_reference = pair(costs, place, divisors, Side::Both)?;
    let (burned, in_softirqs) = costs[place].as_ref()?.burned_ns_per_kib()?;
    let truth = to_reference.base + burned;
    let added = Added {
        to_ns_per_kib: to_reference.base,
        share: truth / to_reference.base,
        in_softirqs: in_softirqs / to_reference.base,
    };
    Some((Pair { base: truth, ..to_reference }, added))
}

fn scaled(figure: RatioFigure, by: f64) -> RatioFigure {
    let interval = figure.interval.map(|interval| scaled_bounds(interval, by));
    RatioFigure { value: figure.value * by, interval, ..figure }
}
