//! The result of `--fail-if-worse` for test frameworks: a test for each cell.

use super::{aspects, rows, sentences};
use crate::digits::percent;
use crate::ktap::{Outcome, Test, document};
use crate::text::list;
use zc_analysis::compare::{CellChange, Compared, Judgement};

/// The tests of all comparisons, in the order of their cells.
pub fn tap(compared: &[Compared], judgement: &Judgement) -> String {
    let several = compared.len() > 1;
    let mut tests = Vec::new();
    for compared in compared {
        let prefix = if several { format!("{}: ", compared.new.name) } else { String::new() };
        let named = of_comparison(compared, judgement).into_iter();
        tests.extend(named.map(|test| Test { name: format!("{prefix}{}", test.name), ..test }));
    }
    document(&tests)
}

fn of_comparison(compared: &Compared, judgement: &Judgement) -> Vec<Test> {
    if !compared.impossible.is_empty() {
        let why = sentences::verdict(compared).join(" ");
        return vec![skipped("comparison", why)];
    }
    let cells = compared.cells.iter().map(|cell| of_cell(compared, judgement, cell));
    let left_out = compared.incomparable.iter().map(|cell| {
        let why: Vec<String> = cell.differences.iter().map(aspects::text).collect();
        skipped(&cell.label, format!("cannot be compared: {}", list(&why)))
    });
    let gone = compared.only_old.iter().map(|it| skipped(it, "only in the old run".to_owned()));
    let added = compared.only_new.iter().map(|it| skipped(it, "only in the new run".to_owned()));
    cells.chain(left_out).chain(gone).chain(added).collect()
}

fn of_cell(compared: &Compared, judgement: &Judgement, cell: &CellChange) -> Test {
    let (named, margin) = (compared.name_of(cell), percent(judgement.margin));
    let result = if judgement.worse.contains(&named) {
        Outcome::Failed
    } else if !judgement.undecided.contains(&named) {
        Outcome::Passed
    } else if !compared.withheld.is_empty() {
        Outcome::Skipped(sentences::verdict(compared).join(" "))
    } else if cell.judged_by.is_none() {
        Outcome::Skipped("no figure".to_owned())
    } else {
        Outcome::Skipped(format!("undecided whether it is worse by more than {margin}"))
    };
    let figure = rows::change(cell.judged());
    let shown = (!figure.is_empty())
        .then(|| format!("new / old {figure}, {}, the margin is {margin}", rows::word(cell)));
    Test { name: rows::labels(cell), diagnostics: shown.into_iter().collect(), result }
}

fn skipped(name: &str, reason: String) -> Test {
    Test { name: name.to_owned(), diagnostics: Vec::new(), result: Outcome::Skipped(reason) }
}
