//! The verdicts of a plan of several factors, summed up over rows for each level of the last
//! factor.

use super::baseline::{Baseline, named};
use super::pivot::Pivot;
use crate::digits::{bound, percent};
use crate::text::list;
use zc_analysis::{Comparison, Estimates, RatioFigure};

/// The verdicts of one column.
#[derive(Default)]
struct Tally {
    /// `13 % more with read+send`, in the order of the rows.
    named: Vec<(String, Vec<String>)>,
    compared: usize,
    cheaper: Vec<RatioFigure>,
    dearer: Vec<RatioFigure>,
    same: usize,
    undecided: usize,
}

/// One sentence: the baseline, and the verdicts of each column. `None` where nothing is compared.
pub(crate) fn summary(estimates: &Estimates, pivot: &Pivot, place: &str) -> Option<String> {
    // Columns with the same verdicts are named together.
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (column, level) in pivot.columns.iter().enumerate() {
        let Some(text) = tally(estimates, pivot, column).text() else { continue };
        let name = named(pivot.across, level);
        match groups.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(name),
            None => groups.push((text, vec![name])),
        }
    }
    let each: Vec<String> =
        groups.iter().map(|(text, names)| format!("{} {text}", list(names))).collect();
    (!each.is_empty()).then(|| {
        format!(
            "{place} the cost compared with {}: {}.",
            Baseline::from_pivot(pivot).text(),
            each.join("; ")
        )
    })
}

fn tally(estimates: &Estimates, pivot: &Pivot, column: usize) -> Tally {
    let mut tally = Tally::default();
    for row in &pivot.rows {
        let Some(placed) = row.cells.get(column).copied().flatten() else { continue };
        // A copied zero-copy send never counts as the cheapest.
        let label = &placed.cell.label;
        if placed.figures.failed_zero_copy {
            continue;
        }
        let verdict = estimates.verdict.for_cell(label);
        let (Some(ratio), Some(verdict)) = (placed.figures.ratio.both, verdict) else { continue };
        tally.compared += 1;
        let levels = pivot.keys.iter().zip(&row.levels);
        let names: Vec<String> = levels.map(|(key, level)| named(*key, level)).collect();
        tally.name(verdict.comparison, names.join(", "));
        match verdict.comparison {
            Comparison::Cheaper { .. } => tally.cheaper.push(ratio),
            Comparison::Dearer { .. } => tally.dearer.push(ratio),
            Comparison::Same { .. } => tally.same += 1,
            Comparison::Undecided => tally.undecided += 1,
        }
    }
    tally
}

impl Tally {
    /// Adds the verdict of one row; rows with equal ones are named together.
    fn name(&mut self, comparison: Comparison, row: String) {
        let text = match comparison {
            Comparison::Cheaper { by } => format!("{} less", percent(by)),
            Comparison::Dearer { by } => format!("{} more", percent(by)),
            Comparison::Same { .. } => "the same".to_owned(),
            Comparison::Undecided => "undecided".to_owned(),
        };
        match self.named.iter_mut().find(|(known, _)| *known == text) {
            Some((_, rows)) => rows.push(row),
            None => self.named.push((text, vec![row])),
        }
    }

    /// `13 % more with read+send and undecided with sendfile`; of more than two rows `less in 7 of
    /// 9 (0.31 to 0.84), the same in 1 of 9 and undecided in 1 of 9`.
    fn text(&self) -> Option<String> {
        if self.compared == 2 {
            let each = self.named.iter().map(|(text, rows)| format!("{text} with {}", list(rows)));
            return Some(list(&each.collect::<Vec<_>>()));
        }
        let count = |count: usize| {
            if self.compared == 1 {
                String::new()
            } else {
                format!(" in {count} of {}", self.compared)
            }
        };
        let mut parts = Vec::new();
        for (ratios, word) in [(&self.cheaper, "less"), (&self.dearer, "more")] {
            if !ratios.is_empty() {
                parts.push(format!("{word}{} ({})", count(ratios.len()), range(ratios)));
            }
        }
        if self.same > 0 {
            parts.push(format!("the same{}", count(self.same)));
        }
        if self.undecided > 0 {
            parts.push(format!("undecided{}", count(self.undecided)));
        }
        (!parts.is_empty()).then(|| list(&parts))
    }
}

/// The least and the greatest ratio as text.
fn range(ratios: &[RatioFigure]) -> String {
    let text = |ratio: &RatioFigure| {
        bound(ratio.value, ratio.half_width.map_or(0.01, |half| ratio.value * half))
    };
    let least =
        ratios.iter().min_by(|a, b| a.value.total_cmp(&b.value)).map(text).unwrap_or_default();
    let most =
        ratios.iter().max_by(|a, b| a.value.total_cmp(&b.value)).map(text).unwrap_or_default();
    if least == most { least } else { format!("{least} to {most}") }
}
