//! The cost of each cell in each block, unaggregated, for plots of the raw spread.

use crate::costs::Side;
use crate::figures::finite;
use crate::kept::KeptBlocks;
use zc_run::Run;

/// The costs of one cell, block by block.
#[derive(Debug, Clone, PartialEq)]
pub struct CostSeries {
    /// The cell's label.
    pub cell: String,
    /// Soaked CPU time of both sides in ns per KiB (of the sender where it is alone), for each kept
    /// block that has one, in the order in which they were measured.
    pub ns_per_kib: Vec<f64>,
}

/// The series of all cells, in the order of the plan.
pub fn cost_series(run: &Run) -> Vec<CostSeries> {
    let kept = KeptBlocks::from_run(run);
    let cell_costs = |place: usize| {
        kept.costs.iter().filter_map(move |block| {
            block.get(place)?.as_ref()?.ns_per_kib(Side::Both).and_then(finite)
        })
    };
    let cells = kept.header.plan.cells.iter().enumerate();
    cells
        .map(|(place, cell)| CostSeries {
            cell: cell.label.clone(),
            ns_per_kib: cell_costs(place).collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate;
    use zc_testkit::synthetic::Synthetic;

    #[test]
    fn the_median_of_a_series_is_the_cost_of_its_cell() {
        let run = Synthetic::default().run();
        let estimates = estimate(&run);
        let cost_series = cost_series(&run);
        assert_eq!(cost_series.len(), estimates.cells.len());
        for (series, cell) in std::iter::zip(&cost_series, &estimates.cells) {
            assert_eq!(series.cell, cell.label);
            assert_eq!(series.ns_per_kib.len(), cell.blocks);
            assert_eq!(
                zc_stats::median(&series.ns_per_kib),
                cell.cost_ns_per_kib.both.map(|cost| cost.value)
            );
        }
    }
}
