//! Cost against message size: the cost of a call and of a byte, and the sizes from which one path
//! is cheaper than another.
//!
//! If `message` is a factor of the plan, cells that differ only in their message size form a
//! series. A straight line is fitted to it: cost of a call = a + b x size. Two series cross at the
//! size from which one costs less than the other.

mod crossover;
mod line;
pub(crate) mod series;

use zc_stats::DEFAULT_RESAMPLES;

use crate::block_costs::BlockCosts;
use crate::bootstrap::Bootstrap;
use crate::costs::{Side, sender_alone, sides_apart};
use crate::kept::KeptBlocks;
use crate::model::figure::Sides;
use crate::model::sizes::{Crossover, Series, SizePoint, Sizes};
use crate::model::verdict::{Comparison, Verdict};
use crate::parallel;
use line::Fitted;
use series::SeriesCells;

/// The estimates by message size for both sides together, and for the sender where the sides have
/// separate costs. Empty for a plan without message sizes. Statements about both sides follow from
/// the `verdict` on each cell.
pub(super) fn sizes(kept: &KeptBlocks, verdict: &Verdict) -> Sides<Sizes> {
    let groups = series::series(kept.header);
    if groups.is_empty() {
        return Sides::default();
    }
    let mut comparisons = vec![None; kept.header.plan.cells.len()];
    for cell in &verdict.cells {
        if let Some(place) = kept.index.place(&cell.label) {
            comparisons[place] = Some(cell.comparison);
        }
    }
    let on_side =
        |side, comparisons| sizes_of_side(kept, side, &groups, comparisons, DEFAULT_RESAMPLES);
    Sides {
        sender: (sides_apart(kept.header) && !sender_alone(kept.header))
            .then(|| on_side(Side::Sender, &[])),
        receiver: None,
        both: Some(on_side(Side::Both, &comparisons)),
    }
}

/// `comparisons` has the verdict on each cell of the plan, where there is one.
fn sizes_of_side(
    kept: &KeptBlocks,
    side: Side,
    groups: &[SeriesCells],
    comparisons: &[Option<Comparison>],
    resamples: usize,
) -> Sizes {
    let boot = Bootstrap::new(kept, resamples);
    let costs = BlockCosts::normalize(kept, side, &boot);
    let fitted = parallel::each(groups.len(), |group| Fitted::fit(&groups[group], &costs, &boot));
    let series = std::iter::zip(groups, &fitted).map(|(group, fitted)| Series {
        name: group.name.clone(),
        reference: group.reference,
        points: group
            .cells
            .iter()
            .map(|(size, place)| SizePoint {
                cell: kept.header.plan.cells[*place].label.clone(),
                size_bytes: *size,
                call_ns: fitted.point(*size).map(|point| point.call_ns),
            })
            .collect(),
        line: fitted.line(&costs, &boot),
    });
    let pairs = series::pairs(groups);
    let crossovers = parallel::each(pairs.len(), |pair| {
        let (of, against) = pairs[pair];
        let (outcome, method) =
            crossover::crossover(kept, side, (&fitted[of], &fitted[against]), comparisons, &boot);
        Crossover { of, against, outcome, method }
    });
    Sizes { series: series.collect(), crossovers }
}

#[cfg(test)]
mod tests;
