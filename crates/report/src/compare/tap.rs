//! The result of `--fail-if-worse` for test frameworks, in the Kernel Test Anything Protocol: a
//! test for each cell. What cannot be told is skipped, with the reason: it is neither passed nor
//! failed.
//!
//! The format is that of Documentation/dev-tools/ktap.rst of Linux, version 1.

use super::{aspects, rows, sentences};
use crate::digits::percent;
use crate::text::list;
use zc_analysis::compare::{CellChange, Compared, Judgement};
use zc_run::escape;

/// A test.
struct Test {
    name: String,
    /// What was measured.
    diagnostic: Option<String>,
    result: Outcome,
}

enum Outcome {
    Passed,
    Failed,
    /// The reason.
    Skipped(String),
}

/// The tests of all comparisons, in the order of their cells.
pub fn tap(compared: &[Compared], judgement: &Judgement) -> String {
    let several = compared.len() > 1;
    let mut tests = Vec::new();
    for compared in compared {
        let prefix = if several { format!("{}: ", compared.new.name) } else { String::new() };
        let named = of_comparison(compared, judgement).into_iter();
        tests.extend(named.map(|test| Test { name: format!("{prefix}{}", test.name), ..test }));
    }
    let mut out = format!("KTAP version 1\n1..{}\n", tests.len());
    for (test, number) in tests.iter().zip(1..) {
        let name = words(&test.name);
        if let Some(diagnostic) = &test.diagnostic {
            out.push_str(&format!("# {name}: {}\n", words(diagnostic)));
        }
        out.push_str(&match &test.result {
            Outcome::Passed => format!("ok {number} {name}\n"),
            Outcome::Failed => format!("not ok {number} {name}\n"),
            Outcome::Skipped(reason) => format!("ok {number} {name} # SKIP {}\n", words(reason)),
        });
    }
    out
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
    let diagnostic = (!figure.is_empty())
        .then(|| format!("new / old {figure}, {}, the margin is {margin}", rows::word(cell)));
    Test { name: rows::labels(cell), diagnostic, result }
}

fn skipped(name: &str, reason: String) -> Test {
    Test { name: name.to_owned(), diagnostic: None, result: Outcome::Skipped(reason) }
}

/// A text that may stand in a line of results, which ends with the line and has its directive
/// behind a `#`. Logs of kernels are in ASCII.
fn words(text: &str) -> String {
    escape(text, 400).replace('#', "_").replace('±', "+-")
}
