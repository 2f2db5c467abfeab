//! Observations of one cell, or of all cells on average, in the form that random effects are fitted
//! to.

use std::collections::BTreeSet;

use zc_stats::{Crossed, CrossedEffects, crossed_effects, median};

use super::grouping::Grouped;
use super::model::{CellFigures, End, Logarithm, RunFigures};

/// Degrees of freedom that all runs together have in the error of each.
const PRIOR_FREEDOM: f64 = 4.0;

/// Degrees of freedom of a deviation by the distance between quartiles, divided by those of the
/// ordinary one.
const EFFICIENCY: f64 = 0.37;

/// The runs of a fleet that are used, and their places.
pub(super) struct Observed<'a> {
    pub(super) runs: Vec<&'a RunFigures>,
    pub(super) grouped: Grouped,
    /// Labels of cells, in the order of the plan that has the most of them.
    pub(super) labels: Vec<String>,
    /// For each run, the place of each label among its cells.
    cells: Vec<Vec<Option<usize>>>,
}

/// Quantity observed for a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    /// The cost of an end.
    Cost(End),
    /// The ratio to the reference; of the sender, or of both.
    Ratio(End),
}

impl Quantity {
    pub(super) fn end(self) -> End {
        match self {
            Self::Cost(end) | Self::Ratio(end) => end,
        }
    }
}

impl<'a> Observed<'a> {
    pub(super) fn new(runs: Vec<&'a RunFigures>, grouped: Grouped) -> Self {
        let labels = labels(&runs);
        let cells = runs
            .iter()
            .map(|run| {
                let place = |label: &String| run.cells.iter().position(|it| it.label == *label);
                labels.iter().map(place).collect()
            })
            .collect();
        Self { runs, grouped, labels, cells }
    }

    /// A cell of a run.
    pub(super) fn cell(&self, run: usize, label: usize) -> Option<&'a CellFigures> {
        self.runs[run].cells.get(self.cells[run][label]?)
    }

    /// The ends that a cell has costs of. Where some runs separate both sides, runs that do not
    /// have no part in it.
    pub(super) fn ends(&self, label: usize) -> Vec<End> {
        let has = |of: fn(&CellFigures) -> Option<Logarithm>| {
            (0..self.runs.len()).any(|run| self.cell(run, label).and_then(of).is_some())
        };
        match (has(|cell| cell.sender), has(|cell| cell.receiver)) {
            (false, false) if has(|cell| cell.both) => vec![End::Both],
            (sender, receiver) => {
                let ends = [(sender, End::Sender), (receiver, End::Receiver)];
                ends.into_iter().filter(|(has, _)| *has).map(|(_, end)| end).collect()
            }
        }
    }

    fn logarithm(&self, run: usize, label: usize, quantity: Quantity) -> Option<Logarithm> {
        let cell = self.cell(run, label)?;
        match quantity {
            Quantity::Cost(End::Sender) => cell.sender,
            Quantity::Cost(End::Receiver) => cell.receiver,
            Quantity::Cost(End::Both) => cell.both,
            Quantity::Ratio(_) => cell.ratio,
        }
    }

    fn crossed(&self, run: usize, end: End, value: Logarithm) -> Crossed {
        let unit = self.grouped.unit(run, end);
        Crossed {
            value: value.ln,
            error: value.error,
            level: self.grouped.units[unit].group,
            unit,
            partner: self.grouped.partner(run, end),
        }
    }

    /// Fits the cell's random effects; `None` without a run that has it.
    pub(super) fn fit(&self, label: usize, quantity: Quantity) -> Option<Fitted> {
        let (runs, values) = self.values(label, quantity).into_iter().unzip();
        Fitted::fit(runs, values)
    }

    /// The runs that have the cell, and their values. Levels are groups.
    pub(super) fn values(&self, label: usize, quantity: Quantity) -> Vec<(usize, Crossed)> {
        let of_run = |run: usize| {
            let value = self.logarithm(run, label, quantity)?;
            Some((run, self.crossed(run, quantity.end(), value)))
        };
        let mut values: Vec<(usize, Crossed)> = (0..self.runs.len()).filter_map(of_run).collect();
        // A machine scatters more in its dearer moments: runs that are weighed by errors of their
        // own give a mean that is 1 or 2 % too low, where the blocks are recorded ones. So a block
        // has the same variance in all runs, and weights go with the number of blocks (Doncaster
        // and Spake, Methods in Ecology and Evolution 9:634, 2018).
        self.moderate(&mut values, |_, all| all);
        values
    }

    /// Gives each run the error that `of` makes of the variance of a block: of the run's own with
    /// the number of its blocks, and of that of all runs, their median.
    fn moderate(&self, values: &mut [(usize, Crossed)], of: impl Fn((f64, f64), f64) -> f64) {
        let blocks = |run: usize| self.runs[run].blocks_kept.max(1) as f64;
        let of_block = |(run, value): &(usize, Crossed)| value.error.powi(2) * blocks(*run);
        let Some(all) = median(&values.iter().map(of_block).collect::<Vec<_>>()) else { return };
        for each in values {
            let variance = of((of_block(each), blocks(each.0)), all);
            each.1.error = (variance / blocks(each.0)).sqrt();
        }
    }

    /// Costs of runs at an end, as the mean over cells of the distance from the cell's mean in the
    /// group: one value per run, whichever of the cells it has. Its cells have their session in
    /// common, so their errors do not average out.
    pub(super) fn average_over_cells(
        &self,
        end: End,
        cells: &[(usize, &Fitted)],
    ) -> Vec<(usize, Crossed)> {
        let of_run = |run: usize| {
            let group = self.grouped.units[self.grouped.unit(run, end)].group;
            let (mut ln, mut error, mut n) = (0.0, 0.0, 0.0);
            for (label, fitted) in cells {
                let Some(value) = self.logarithm(run, *label, Quantity::Cost(end)) else {
                    continue;
                };
                let Some(Some(mean)) = fitted.effects.means.get(group) else { continue };
                ln += value.ln - mean.value;
                error += value.error;
                n += 1.0;
            }
            let value = Logarithm { ln: ln / n, error: error / n };
            (n > 0.0).then(|| (run, self.crossed(run, end, value)))
        };
        let mut values: Vec<(usize, Crossed)> = (0..self.runs.len()).filter_map(of_run).collect();
        // Which hosts are odd is asked with the errors of each, drawn to those of all: they are
        // estimated, from few blocks at times, and one that is small by chance must not outweigh
        // all others. It is the posterior mean with a prior of a few degrees of freedom (Smyth,
        // Statistical Applications in Genetics and Molecular Biology 3, 2004).
        self.moderate(&mut values, |(own, blocks), all| {
            let freedom = (blocks - 1.0) * EFFICIENCY;
            (PRIOR_FREEDOM * all + freedom * own) / (PRIOR_FREEDOM + freedom)
        });
        values
    }
}

/// Labels in the order of the first of the runs that have most cells, then others.
fn labels(runs: &[&RunFigures]) -> Vec<String> {
    let longest = runs.iter().rev().max_by_key(|run| run.cells.len());
    let mut labels: Vec<String> =
        longest.iter().flat_map(|run| &run.cells).map(|cell| cell.label.clone()).collect();
    let mut known: BTreeSet<String> = labels.iter().cloned().collect();
    for cell in runs.iter().flat_map(|run| &run.cells) {
        if !known.contains(&cell.label) {
            known.insert(cell.label.clone());
            labels.push(cell.label.clone());
        }
    }
    labels
}

/// Random effects fitted to what runs say.
pub(super) struct Fitted {
    /// Indices of runs.
    pub(super) runs: Vec<usize>,
    /// One for each of the runs.
    pub(super) values: Vec<Crossed>,
    pub(super) effects: CrossedEffects,
}

impl Fitted {
    pub(super) fn fit(runs: Vec<usize>, values: Vec<Crossed>) -> Option<Self> {
        let effects = crossed_effects(&values)?;
        Some(Self { runs, values, effects })
    }
}
