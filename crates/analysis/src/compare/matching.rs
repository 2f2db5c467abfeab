//! Matches the cells of two runs that are compared with each other.

use super::config_diff;
use super::model::{Aspect, Compared, Difference, Incomparable, Weight};
use super::selection::Selection;
use crate::kept::KeptBlocks;
use zc_run::{Cell, HostState};

/// The indices of the cells that are compared, in both plans.
pub(super) fn common(
    compared: &mut Compared,
    old: &Selection<'_>,
    before: &KeptBlocks<'_>,
    new: &Selection<'_>,
    after: &KeptBlocks<'_>,
    one_run: bool,
) -> Vec<(usize, usize)> {
    let (of_old, of_new) = (&before.header.plan.cells, &after.header.plan.cells);
    let of_state = |cells: &[Cell], cell: usize, state: &HostState| {
        let is_in_it = |other: &Cell| !other.control && other.levels.state.as_ref() == Some(state);
        cells.iter().position(|other| is_in_it(other) && other.runs_the_path_of(&cells[cell]))
    };
    let wanted: Vec<(usize, usize)> = match (&old.cell, &new.cell) {
        (None, None) if old.state.is_some() || new.state.is_some() => {
            // One of the two may be a run without host states.
            let state = |part: &Selection<'_>, cell: &Cell| {
                cell.levels.state == part.state && !cell.control
            };
            let own = of_old.iter().enumerate().filter(|(_, cell)| state(old, cell));
            let matching = |cell: usize| match (one_run, &new.state) {
                (true, Some(state)) => of_state(of_old, cell, state),
                _ => after.index.place(&of_old[cell].label),
            };
            own.filter_map(|(at, _)| Some((at, matching(at)?))).collect()
        }
        (None, None) => {
            let measured = |cells: &[Cell], other: &KeptBlocks<'_>| -> Vec<String> {
                let alone = cells
                    .iter()
                    .filter(|cell| !cell.control && other.index.place(&cell.label).is_none());
                alone.map(|cell| cell.label.clone()).collect()
            };
            compared.only_old = measured(of_old, after);
            compared.only_new = measured(of_new, before);
            let both = of_old.iter().enumerate().filter(|(_, cell)| !cell.control);
            both.filter_map(|(at, cell)| Some((at, after.index.place(&cell.label)?))).collect()
        }
        (of, other) => {
            let labels = (of.as_ref().or(other.as_ref()), other.as_ref().or(of.as_ref()));
            let places = labels
                .0
                .and_then(|label| before.index.place(label))
                .zip(labels.1.and_then(|label| after.index.place(label)));
            places.into_iter().collect()
        }
    };
    let named = old.cell.is_some() || new.cell.is_some();
    wanted
        .into_iter()
        .filter(|&(at, other)| {
            let (cell, new_cell) = (&of_old[at], &of_new[other]);
            let differences =
                config_diff::between_cells((before.header, cell), (after.header, new_cell));
            // Within one run levels are compared on purpose. A length is no level: costs are per
            // byte.
            let counts = |each: &Difference| !one_run || each.what == Aspect::ResponseLength;
            let mut forbidding =
                differences.iter().filter(|each| each.weight == Weight::Disqualifies);
            let disqualified = forbidding.any(counts);
            if disqualified {
                compared.incomparable.push(Incomparable { label: cell.label.clone(), differences });
            } else if named {
                compared.differences.extend(differences);
            } else {
                // A difference that all cells share is listed once.
                for each in differences {
                    if !compared.differences.contains(&each) {
                        compared.differences.push(each);
                    }
                }
            }
            !disqualified
        })
        .collect()
}

/// The index, in each plan, of the common reference: the reference of both, or of one of them if
/// the other has that cell too.
pub(super) fn shared_reference(
    before: &KeptBlocks<'_>,
    after: &KeptBlocks<'_>,
) -> Option<(usize, usize)> {
    let own = before.reference.and_then(|place| {
        Some((place, after.index.place(&before.header.plan.cells[place].label)?))
    });
    let other = || {
        after.reference.and_then(|place| {
            Some((before.index.place(&after.header.plan.cells[place].label)?, place))
        })
    };
    let comparable = |(place, new_place): &(usize, usize)| {
        let cells = (&before.header.plan.cells[*place], &after.header.plan.cells[*new_place]);
        let differences =
            config_diff::between_cells((before.header, cells.0), (after.header, cells.1));
        differences.iter().all(|each| each.weight != Weight::Disqualifies)
    };
    own.or_else(other).filter(comparable)
}
