//! Two runs side by side, or two cells of one: what each cell costs now by what it cost then, and what may be said of it.
//!
//! **In one session** both cells were measured in the same blocks, so the ratio is taken within blocks. **Of two sessions** there are two
//! ratios, and they answer for different things. The *cost* ratio is new by old as measured; whatever the machine did in
//! between (neighbours at the memory, another clock, another placement of pages) is in it, and no interval of a single session knows
//! how much that is. The *relative* ratio first divides every cost by others of the same block, where most of
//! that cancels: it is known several times better, and knows nothing of what moves all paths alike. So the reference is judged by its cost, the
//! other cells by their relative ratio. Unless the reference itself has moved: what is relative to it then says nothing of
//! a cell, and all are judged by their costs.
//!
//! What a cost is divided by is the geometric mean of all other cells that both sessions have, which has less noise than the reference alone
//! and does not hang on it. But if the reference has moved against the others, it may be they that moved, most of them: then
//! everything is relative to the reference, as in a session's own table.

mod config_diff;
mod effect;
mod matching;
mod model;
mod normalization;
mod pair;
mod selection;
mod session_spread;
mod trust;
mod verdicts;

pub use model::{
    Aspect, Basis, CellChange, Change, ChangeVerdict, Compared, Difference, Impossible,
    Incomparable, JudgedBy, Judgement, Method, Outcome, Reason, RelativeTo, SelectionFacts, Weight,
    WelchFigure,
};
pub use selection::Selection;

use effect::Effect;
use pair::Pair;
use selection::same_run;
use verdicts::{ALPHA, MarginTest};

use crate::kept::KeptBlocks;

/// Each of `new` test against `old`; the words take all cells of all of them into account. With `margin`, also whether any
/// cell is dearer by more than that share.
pub fn compare(
    old: &Selection<'_>,
    new: &[Selection<'_>],
    margin: Option<f64>,
) -> (Vec<Compared>, Option<Judgement>) {
    let before = KeptBlocks::of(old.run);
    let pairs: Vec<Pair> = new
        .iter()
        .map(|new| {
            Pair::of(
                old,
                &before,
                new,
                if same_run(old, new) { None } else { Some(KeptBlocks::of(new.run)) },
            )
        })
        .collect();
    let mut compared: Vec<Compared> = pairs.iter().map(|pair| pair.compared.clone()).collect();
    // Every row of every comparison, and where it stands.
    let rows: Vec<(usize, usize)> = pairs
        .iter()
        .enumerate()
        .flat_map(|(at, pair)| (0..pair.rows.len()).map(move |row| (at, row)))
        .collect();
    let moved_at = ALPHA / rows.len().max(1) as f64;
    for (pair, compared) in pairs.iter().zip(&mut compared) {
        compared.reference_moved = pair.reference_moved(moved_at);
        for (row, change) in pair.rows.iter().zip(&mut compared.cells) {
            change.judged_by = row.judged_by(compared.reference_moved);
        }
    }
    let effects: Vec<Option<&Effect>> = rows
        .iter()
        .map(|(at, row)| pairs[*at].rows[*row].effect(compared[*at].reference_moved))
        .collect();
    for ((at, row), verdict) in rows.iter().zip(verdicts::verdicts(&effects)) {
        let stands = compared[*at].withheld.is_empty();
        compared[*at].cells[*row].verdict = if stands { verdict } else { ChangeVerdict::Withheld };
    }
    for (at, compared) in compared.iter_mut().enumerate() {
        let own: Vec<Option<&Effect>> = rows
            .iter()
            .zip(&effects)
            .filter(|((of, _), _)| *of == at)
            .map(|(_, effect)| *effect)
            .collect();
        compared.none_worse_by =
            verdicts::none_worse_by(&own).filter(|_| compared.withheld.is_empty());
    }
    let judgement = margin.map(|margin| judge(&compared, &rows, &effects, margin));
    (compared, judgement)
}

fn judge(
    compared: &[Compared],
    rows: &[(usize, usize)],
    effects: &[Option<&Effect>],
    margin: f64,
) -> Judgement {
    let label = |(at, row): &(usize, usize)| {
        let (compared, cell) = (&compared[*at], &compared[*at].cells[*row]);
        format!("{}: {}", compared.new.name, cell.new_label.as_ref().unwrap_or(&cell.label))
    };
    let (mut worse, mut undecided, mut open) = (Vec::new(), Vec::new(), false);
    for (place, test) in rows.iter().zip(verdicts::against_margin(effects, margin)) {
        match test {
            _ if !compared[place.0].withheld.is_empty() => undecided.push(label(place)),
            MarginTest::Above => worse.push(label(place)),
            MarginTest::Undecided => {
                open = true;
                undecided.push(label(place));
            }
            MarginTest::NotAbove => {}
        }
    }
    let impossible = || compared.iter().flat_map(|compared| &compared.impossible);
    let outcome = match () {
        () if !worse.is_empty() => Outcome::Worse,
        () if impossible().any(|why| !matches!(why, Impossible::NoKeptBlocks { .. })) => {
            Outcome::Incomparable
        }
        () if impossible().next().is_some() => Outcome::NothingKept,
        () if open => Outcome::Undecided,
        () if !undecided.is_empty() => Outcome::Withheld,
        () => Outcome::NoneWorse,
    };
    Judgement { margin, outcome, worse, undecided }
}

#[cfg(test)]
mod tests;
