//! The rows of all tables of cells: their order, marks, costs, ratios and verdicts.

use crate::digits::{percent, ratio, significant, us_per_mb, with_half_width};
use crate::terminal::layout::Tone;
use zc_analysis::{CellEstimate, Comparison, Estimates, Figure};
use zc_run::escape;

/// A mark behind a path's name or ratio, with its meaning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    pub(crate) sign: &'static str,
    pub(crate) meaning: &'static str,
    /// The meaning in a few words.
    pub(crate) brief: &'static str,
    applies: fn(&CellEstimate) -> bool,
}

/// The mark behind a ratio whose interval is wider than the target.
pub(crate) const WIDE: &str = "!";

/// The mark of a cell whose zero-copy sends the kernel copied.
pub(crate) const FAILED_ZERO_COPY: Mark = Mark {
    sign: "*",
    meaning: "the kernel copied on this link: the price of a failed zero-copy",
    brief: "copied by the kernel",
    applies: |cell| cell.failed_zero_copy,
};

/// All marks, in the order of the footnotes.
pub(crate) const MARKS: &[Mark] = &[
    Mark {
        sign: WIDE,
        meaning: "did not converge: the interval is wider than the target",
        brief: "wider than the target",
        applies: |cell| cell.ratio.both.is_some_and(|ratio| !ratio.converged),
    },
    Mark {
        sign: "^",
        meaning: "the rate was not reached: this cost was taken at saturation",
        brief: "rate not reached",
        applies: |cell| cell.perturbation.saturated,
    },
    Mark {
        sign: "<",
        meaning: "other programs had the CPU, and less than the rate was reached: costs are per \
            byte that arrived",
        brief: "rate not reached beside other programs",
        applies: |cell| cell.perturbation.is_held_back(),
    },
    FAILED_ZERO_COPY,
    Mark {
        sign: "~",
        meaning: "the cost does not stand out of the noise",
        brief: "not above the noise",
        applies: |cell| cell.at_noise_floor && !cell.below_zero,
    },
    Mark {
        sign: "#",
        meaning: "the cost is below 0 by more than its noise: a fault of the instrument",
        brief: "below 0: a fault of the instrument",
        applies: |cell| cell.below_zero,
    },
];

/// The cells that are rows, cheapest first; those without a cost last, in the plan's order. The
/// control is a note, not a row.
pub(crate) fn sorted(estimates: &Estimates) -> Vec<&CellEstimate> {
    let mut cells: Vec<&CellEstimate> =
        estimates.cells.iter().filter(|cell| !cell.control).collect();
    let key = |cell: &CellEstimate| {
        cell.cost_ns_per_kib.both.map_or(f64::INFINITY, |figure| figure.value)
    };
    cells.sort_by(|a, b| key(a).total_cmp(&key(b)));
    cells
}

/// The marks that at least one row carries.
pub(crate) fn marks_in_use(estimates: &Estimates) -> Vec<Mark> {
    let rows = sorted(estimates);
    MARKS.iter().copied().filter(|mark| rows.iter().any(|cell| (mark.applies)(cell))).collect()
}

/// The label of a cell with its marks.
pub(crate) fn name(cell: &CellEstimate) -> String {
    escape(&cell.label, 40) + &signs(cell)
}

/// The marks of a cell, except that of its ratio.
pub(crate) fn signs(cell: &CellEstimate) -> String {
    MARKS
        .iter()
        .filter(|mark| mark.sign != WIDE && (mark.applies)(cell))
        .map(|mark| mark.sign)
        .collect()
}

/// A figure in the unit that it has.
pub(crate) fn plain(figure: Option<Figure>) -> String {
    figure.map_or_else(String::new, |it| with_half_width(it.value, it.half_width))
}

/// us/MB, or nothing.
pub(crate) fn cost(figure: Option<Figure>) -> String {
    figure.map_or_else(String::new, in_us_per_mb)
}

/// us/MB.
pub(crate) fn in_us_per_mb(cost: Figure) -> String {
    with_half_width(us_per_mb(cost.value), cost.half_width.map(us_per_mb))
}

/// A cost whose interval is above 0. One pair has no interval: at 20 MB/s it gave 2 us/MB for 950.
pub(crate) fn beyond_noise(cost: Option<Figure>) -> Option<Figure> {
    cost.filter(|figure| figure.interval.is_some_and(|interval| interval.low > 0.0))
}

/// One decimal, so that a column lines up; more for small values.
pub(crate) fn gbit(value: f64) -> String {
    if value >= 1.0 { format!("{value:.1}") } else { significant(value) }
}

/// us/MB without decimals.
pub(crate) fn rounded(cost: Figure) -> String {
    format!("{:.0}", us_per_mb(cost.value))
}

/// The ratio to what the cell is compared with; `1` for the plan's reference.
pub(crate) fn ratio_of(cell: &CellEstimate) -> String {
    if cell.reference {
        return if cell.cost_ns_per_kib.both.is_some() { "1".to_owned() } else { String::new() };
    }
    cell.ratio.both.map_or_else(String::new, |figure| {
        let text = ratio(figure.value, figure.half_width);
        if figure.converged { text } else { format!("{text}{WIDE}") }
    })
}

/// The colour of a cell's verdict.
pub(crate) fn tone(estimates: &Estimates, cell: &CellEstimate) -> Option<Tone> {
    if cell.reference || cell.ratio.both.is_none() {
        return None;
    }
    if !estimates.verdict.stands() {
        return Some(Tone::Unclear);
    }
    match comparison(estimates, cell)? {
        Comparison::Cheaper { .. } => Some(Tone::Less),
        Comparison::Dearer { .. } => Some(Tone::More),
        Comparison::Same { .. } => None,
        Comparison::Undecided => Some(Tone::Unclear),
    }
}

/// The verdict on a cell's cost.
pub(crate) fn comparison(estimates: &Estimates, cell: &CellEstimate) -> Option<Comparison> {
    estimates.verdict.for_cell(&cell.label).map(|verdict| verdict.comparison)
}

/// The verdict in the table, with the difference.
pub(crate) fn verdict(estimates: &Estimates, cell: &CellEstimate) -> String {
    if cell.reference {
        return "reference".to_owned();
    }
    if cell.ratio.both.is_none() {
        return String::new();
    }
    if !estimates.verdict.stands() {
        return "withheld".to_owned();
    }
    comparison(estimates, cell).map_or_else(String::new, |comparison| match comparison {
        Comparison::Cheaper { by } => format!("{} less", percent(by)),
        Comparison::Dearer { by } => format!("{} more", percent(by)),
        Comparison::Same { .. } => "same".to_owned(),
        Comparison::Undecided => "undecided".to_owned(),
    })
}

/// The verdict in a word; `withheld` where verdicts are withheld.
pub(crate) fn comparison_word(estimates: &Estimates, cell: &CellEstimate) -> &'static str {
    let Some(found) = estimates.verdict.for_cell(&cell.label) else {
        return "";
    };
    if !estimates.verdict.stands() {
        return "withheld";
    }
    match found.comparison {
        Comparison::Cheaper { .. } => "cheaper",
        Comparison::Dearer { .. } => "dearer",
        Comparison::Same { .. } => "same",
        Comparison::Undecided => "undecided",
    }
}
