//! Two kernels for test frameworks: a test of the boots of each, and one of each cell, which fails
//! where it costs more than the margin under the second kernel, or cannot be measured there.

use super::document::{BootOutcome, KernelsReport};
use super::rows::{times, word};
use crate::digits::{bytes, percent};
use crate::fleet::names::count;
use crate::ktap::{Outcome, Test, document};
use crate::text::list;
use zc_analysis::compare::Judgement;
use zc_analysis::compare::kernels::{Arm, KernelCell};

/// The tests of two kernels.
pub fn tap(report: &KernelsReport, judgement: &Judgement) -> String {
    let boots = [false, true].map(|is_new| of_boots(report, is_new)).into_iter();
    let cells = report.comparison.cells.iter().map(|cell| of_cell(report, judgement, cell));
    document(&boots.chain(cells).collect::<Vec<_>>())
}

/// Whether all boots of a kernel were measured.
fn of_boots(report: &KernelsReport, is_new: bool) -> Test {
    let kernel = &report.kernels[usize::from(is_new)];
    let (made, measured) = report.counts(is_new);
    let of = count(made, "boot");
    let mut diagnostics = vec![format!("Linux {}: {measured} of {of} measured", kernel.release)];
    for boot in report.boots.iter().filter(|boot| (boot.arm == Arm::New) == is_new) {
        if let BootOutcome::Dropped { why, .. } = &boot.outcome {
            diagnostics.push(format!("round {}: {why}", boot.round));
        }
    }
    let result = match made {
        0 => Outcome::Skipped("none was made".to_owned()),
        _ if measured < made => Outcome::Failed,
        _ => Outcome::Passed,
    };
    Test { name: format!("boots of {}", kernel.name), diagnostics, result }
}

fn of_cell(report: &KernelsReport, judgement: &Judgement, cell: &KernelCell) -> Test {
    let [old, new] = report.kernels.each_ref().map(|kernel| kernel.name.as_str());
    let (compared, margin) = (&report.comparison, percent(judgement.margin));
    let passed = match (cell.old_bytes, cell.new_bytes) {
        (Some(by_old), Some(by_new)) => {
            let [by_old, by_new] = [by_old, by_new].map(|sent| bytes(sent as f64));
            format!("both pass bytes, {by_old} under {old} and {by_new} under {new}")
        }
        (Some(_), None) if compared.is_lost(cell) => {
            format!("it can be measured under {old}, and not under {new}")
        }
        (Some(_), None) => format!("it can be measured under {old}; no boot of {new} was measured"),
        (None, _) => format!("it can be measured under {new}, and not under {old}"),
    };
    let figure = times(cell.cost.as_ref());
    let shown = (!figure.is_empty()).then(|| {
        let same = times(cell.same.as_ref());
        let same = if same.is_empty() { same } else { format!(", {old} / {old} {same}") };
        let rounds = cell.cost.map_or(0, |cost| cost.rounds);
        format!(
            "{new} / {old} {figure} by {}{same}, {}, the margin is {margin}",
            count(rounds, "round"),
            word(cell)
        )
    });
    let result = match () {
        () if judgement.worse.contains(&cell.label) => Outcome::Failed,
        () if !judgement.undecided.contains(&cell.label) => Outcome::Passed,
        () if cell.old_bytes.is_none() => Outcome::Skipped(passed.clone()),
        () if compared.emulated => {
            Outcome::Skipped("the CPU is emulated, so there is no cost".to_owned())
        }
        () if !compared.control_differs.is_empty() => {
            let cells = list(&compared.control_differs);
            Outcome::Skipped(format!("withheld, as {old} differs from itself in {cells}"))
        }
        () if cell.cost.is_none() => Outcome::Skipped("no figure".to_owned()),
        () => Outcome::Skipped(format!("undecided whether it is worse by more than {margin}")),
    };
    let diagnostics = std::iter::once(passed).chain(shown).collect();
    Test { name: cell.label.clone(), diagnostics, result }
}
