//! The answer to `--fail-if-worse`: whether any cell is dearer under the second kernel by more than
//! a margin, by its cost.
//!
//! As for two runs (`compare::verdicts`) there are three answers. *None is* needs each cell
//! to show it by itself at one-sided 5 %, and *some is* is corrected for their number by Holm's
//! procedure. A cell that the first kernel has and the second one has not is worse by any margin,
//! if any boot of the second one was measured.

use super::model::Kernels;
use super::rounds::{ALPHA, holm};
use crate::compare::model::{Judgement, Outcome};

/// The answer about these kernels.
pub fn judgement(compared: &Kernels, margin: f64) -> Judgement {
    let cells = &compared.cells;
    let stands = !compared.emulated && compared.control_differs.is_empty();
    let tests: Vec<Option<(f64, f64)>> = cells
        .iter()
        .map(|cell| cell.cost.filter(|_| stands)?.one_sided_p_values(1.0 + margin))
        .collect();
    let above: Vec<Option<f64>> = tests.iter().map(|test| Some((*test)?.0)).collect();
    let above = holm(&above, ALPHA);
    let is_worse = |place: usize| compared.is_lost(&cells[place]) || above.contains(&place);
    let is_below = |place: usize| tests[place].is_some_and(|(_, below)| below <= ALPHA);
    let labels = |chosen: &dyn Fn(usize) -> bool| -> Vec<String> {
        let places = (0..cells.len()).filter(|place| chosen(*place));
        places.map(|place| cells[place].label.clone()).collect()
    };
    let worse = labels(&is_worse);
    let undecided = labels(&|place| !is_worse(place) && !is_below(place));
    let outcome = match () {
        () if !worse.is_empty() => Outcome::Worse,
        () if cells.is_empty() => Outcome::NothingKept,
        () if !stands => Outcome::Withheld,
        () if !undecided.is_empty() => Outcome::Undecided,
        () => Outcome::NoneWorse,
    };
    Judgement { margin, outcome, worse, undecided }
}
