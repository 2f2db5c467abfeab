//! Differences in costs from run to run, as text and as JSON.

use super::aspects;
use super::sentences::{gross, listed, reason};
use crate::digits::percent;
use crate::terminal::layout::Layout;
use crate::terminal::note::{self, Note, note};
use crate::terminal::table::{Column, Grid};
use crate::text::{list, was};
use zc_analysis::compare::{
    CalibratedCell, Calibration, CellSpread, Deviation, Difference, LeftOut, Reason, Uncalibrated,
    Unusable, Weight,
};
use zc_run::escape;

/// Renders for a terminal, in at most `columns` columns where that is possible.
pub fn table(calibration: &Calibration, columns: usize) -> String {
    let layout = Layout::plain(columns);
    let mut out = note::terminal(&above(calibration), layout);
    out.push('\n');
    out.push_str(&deviations(calibration).terminal(layout));
    out.push('\n');
    let grids = cells(calibration).split(1, columns);
    out.push_str(
        &grids.into_iter().map(|grid| grid.terminal(layout)).collect::<Vec<_>>().join("\n"),
    );
    out.push('\n');
    out.push_str(&note::terminal(&below(calibration), layout));
    out
}

/// Returns one JSON document, indented, with a line feed at its end.
pub fn json(calibration: &Calibration) -> String {
    crate::json::text(calibration)
}

/// The JSON Schema (draft 2020-12) of [`json`].
pub fn json_schema() -> String {
    crate::json::schema_of::<Calibration>()
}

fn above(calibration: &Calibration) -> Vec<Note> {
    let begun = || calibration.runs.iter().map(|run| escape(&run.started_at, 40));
    let mut notes = vec![note(
        "runs",
        format!(
            "{} over {}, begun from {} to {}",
            calibration.runs.len(),
            escape(&calibration.link, 40),
            begun().min().unwrap_or_default(),
            begun().max().unwrap_or_default(),
        ),
    )];
    notes.extend(calibration.left_out.iter().map(|run| note("left out", left_out(run))));
    notes.extend(listed("differs", calibration.differences.iter()));
    notes
}

fn deviations(calibration: &Calibration) -> Grid {
    let row = |what: &str, deviation: &Deviation| {
        vec![
            what.to_owned(),
            percent(deviation.between_runs),
            format!("{} to {}", percent(deviation.low), percent(deviation.high)),
            format!("{:.0}", deviation.degrees_of_freedom),
        ]
    };
    let mut rows = vec![row("any cost", &calibration.cost)];
    rows.extend(calibration.path.iter().map(|path| row("a path's own part of it", path)));
    Grid::new(
        vec![
            Column::left("standard deviation", ""),
            Column::right("between", "runs"),
            Column::right("95 %", "interval"),
            Column::right("degrees of", "freedom"),
        ],
        rows,
    )
}

fn cells(calibration: &Calibration) -> Grid {
    let spread_cells = |spread: Option<&CellSpread>| -> Vec<String> {
        spread.map_or_else(
            || vec![String::new(); 3],
            |spread| [spread.seen, spread.explained, spread.finds].map(percent).to_vec(),
        )
    };
    let row = |cell: &CalibratedCell| {
        [
            vec![escape(&cell.label, 40)],
            spread_cells(Some(&cell.cost)),
            spread_cells(cell.relative.as_ref()),
        ]
        .concat()
    };
    let columns = vec![
        Column::left("cell", ""),
        Column::right("cost,", "run to run"),
        Column::right("blocks", "explain"),
        Column::right("compare", "finds"),
        Column::right("relative,", "run to run"),
        Column::right("blocks", "explain"),
        Column::right("compare", "finds"),
    ];
    let mut grid = Grid::new(columns, calibration.cells.iter().map(row).collect());
    if calibration.cells.iter().all(|cell| cell.relative.is_none()) {
        grid.columns.truncate(4);
        grid.rows.iter_mut().for_each(|row| row.truncate(4));
    }
    grid
}

fn below(calibration: &Calibration) -> Vec<Note> {
    let mut notes = vec![
        note(
            "run to run",
            "standard deviation of a cell's cost, and of its cost relative to the others in the \
             same blocks, from run to run; what the blocks of the runs explain of it",
        ),
        note(
            "finds",
            "the smallest change of that cell alone that zc compare of two such runs finds in four \
             of five cases",
        ),
    ];
    if !calibration.net {
        notes.push(gross());
    }
    if !calibration.differences.is_empty() {
        notes.push(note(
            "doubt",
            "the runs differ in more than their time, and what that does is in the deviations",
        ));
    }
    notes
}

/// A run that was given and is not used.
fn left_out(run: &LeftOut) -> String {
    let name = escape(&run.name, 200);
    match &run.why {
        Unusable::Compared => format!("{name}: it is compared itself"),
        Unusable::SameAs { name: other } => {
            format!("{name}: it is the same run as {}", escape(other, 200))
        }
        Unusable::TooFewBlocks { kept, needed } => {
            format!("{name}: {} kept, and {needed} are needed", was(*kept, "block"))
        }
        Unusable::Withheld { reason: why } => {
            reason(&Reason { name: run.name.clone(), why: why.clone() })
        }
    }
}

/// Why there is no calibration: a sentence, and a hint.
pub fn refusal(why: &Uncalibrated) -> (String, Option<String>) {
    match why {
        Uncalibrated::TooFewRuns { usable, needed, left_out: others } => {
            let others: Vec<String> = others.iter().map(left_out).collect();
            let hint = if others.is_empty() {
                "zc run --like repeats a saved run".to_owned()
            } else {
                format!("left out: {}", others.join("; "))
            };
            (
                format!("a calibration needs {needed} runs of one state, and there are {usable}"),
                Some(hint),
            )
        }
        Uncalibrated::Differ { names: (first, other), differences } => (
            format!(
                "\"{}\" and \"{}\" measured different things",
                escape(first, 200),
                escape(other, 200)
            ),
            Some(disqualifying(differences)),
        ),
        Uncalibrated::NoCommonCell => ("no cell has costs in all of the runs".to_owned(), None),
    }
}

/// The differences that forbid it, or all of them.
pub fn disqualifying(differences: &[Difference]) -> String {
    let forbids = |each: &Difference| each.weight == Weight::Disqualifies;
    let some = differences.iter().any(forbids);
    let named = differences.iter().filter(|each| !some || forbids(each));
    list(&named.map(aspects::text).collect::<Vec<_>>())
}
