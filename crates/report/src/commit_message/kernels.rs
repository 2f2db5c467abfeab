//! The commit message about two kernels that were booted in turn.

use super::comparison::differing;
use super::lines::{LINES, cut, joined, message, plain, wrapped};
use super::ratios::{self, Ratio, Row};
use super::run::{CELLS, REASON, machine, of_traffic};
use crate::compare::aspects;
use crate::digits::significant;
use crate::fleet::names::count;
use crate::kernels::{KernelsReport, of_kernels, word};
use crate::text::list;
use zc_analysis::compare::kernels::{BootCost, BootRatio, KernelCell};
use zc_run::Run;

/// Most columns of the name of the cell whose control is shown.
const NAME: usize = 14;

/// Two kernels in at most eight lines of 72 columns in ASCII, fit for a commit message. `run` is of
/// one of the boots, and says on which machine and over which link. Where nothing has a cost, what
/// was shown stands in place of ratios.
pub fn kernels(report: &KernelsReport, command: &[String], run: Option<&Run>) -> String {
    let compared = &report.comparison;
    let releases = releases(report);
    let mut lines = vec![match run {
        Some(run) => machine(&releases, &run.header.host),
        None => plain(&format!("Linux {releases}")),
    }];
    let differs = differing(&others(report));
    let stands = !compared.emulated && compared.control_differs.is_empty() && compared.rounds > 0;
    let [old, new] = report.kernels.each_ref().map(|kernel| plain(&kernel.name));
    let level = compared.confidence * 100.0;
    let figures = match stands {
        true => format!("CPU us/MB, {new} / {old} by boots ({level:.0} %); "),
        false => String::new(),
    };
    lines.extend(run.map(|run| of_traffic(&figures, run)));
    lines.extend(differs.clone());
    if stands {
        let left = CELLS - differs.iter().count();
        lines.extend(ratios::lines(compared.cells.iter().map(row).collect(), left));
    } else {
        let left = LINES - 2 - lines.len();
        lines.extend(wrapped(&without_figures(report), REASON.min(left)));
    }
    lines.push(controls(report, run));
    debug_assert!(lines.len() < LINES);
    message(command, &lines)
}

/// `6.12.1 -> 6.12.1-patched`.
fn releases(report: &KernelsReport) -> String {
    let [old, new] = report.kernels.each_ref();
    if old.release != new.release {
        return format!("{} -> {}", old.release, new.release);
    }
    let builds = if old.version == new.version { "" } else { " (two builds)" };
    format!("{}{builds}", new.release)
}

/// What else differs.
fn others(report: &KernelsReport) -> Vec<String> {
    let options = report.config.as_ref().map_or(0, Vec::len);
    let config = (options > 0).then(|| format!("{} of .config", count(options, "option")));
    let differences = report.comparison.differences.iter().filter(|each| !of_kernels(each));
    config.into_iter().chain(differences.map(aspects::text)).collect()
}

fn row(cell: &KernelCell) -> Row {
    let us = |cost: Option<BootCost>| cost.map(|cost| significant(cost.us_per_mb));
    let cost = us(cell.old_cost).zip(us(cell.new_cost));
    let found = cell.judged().map(with_ends);
    Row::of_change(&cell.label, cost, found, cell.verdict, word(cell))
}

fn with_ends(ratio: &BootRatio) -> Ratio {
    Ratio { value: ratio.ratio, low: ratio.low, high: ratio.high }
}

/// Why there are no figures, and what was shown nevertheless.
fn without_figures(report: &KernelsReport) -> String {
    let compared = &report.comparison;
    let [old, new] = report.kernels.each_ref().map(|kernel| kernel.name.clone());
    let why = match () {
        () if compared.emulated => {
            "No figures: the CPU is emulated, so nothing has a cost.".to_owned()
        }
        () if !compared.control_differs.is_empty() => {
            let cells = list(&compared.control_differs);
            return format!("Verdicts withheld: {old} differs from itself in {cells}.");
        }
        () => "No figures: no round has figures of both kernels.".to_owned(),
    };
    let of = |is_of: &dyn Fn(&KernelCell) -> bool| -> Vec<String> {
        compared.cells.iter().filter(|cell| is_of(cell)).map(|cell| cell.label.clone()).collect()
    };
    let both = of(&|cell| cell.old_bytes.is_some() && cell.new_bytes.is_some());
    let lost = of(&|cell| compared.is_lost(cell));
    let shown = (!both.is_empty()).then(|| format!("Shown: both pass bytes by {}.", list(&both)));
    let lost = (!lost.is_empty())
        .then(|| format!("{old} alone can be measured with {}, {new} cannot.", list(&lost)));
    std::iter::once(why).chain(lost).chain(shown).collect::<Vec<_>>().join(" ")
}

/// The control that is furthest from 1, of those that differ if any does, and the boots.
fn controls(report: &KernelsReport, run: Option<&Run>) -> String {
    let compared = &report.comparison;
    let distance = |ratio: &BootRatio| ratio.ratio.ln().abs();
    let differing = &compared.control_differs;
    let counts = |cell: &&KernelCell| differing.is_empty() || differing.contains(&cell.label);
    let same = compared.cells.iter().filter(counts).filter_map(|cell| Some((cell, cell.same?)));
    let first = match same.max_by(|one, other| distance(&one.1).total_cmp(&distance(&other.1))) {
        None => "no A/A".to_owned(),
        Some((cell, found)) => {
            let differs = if differing.is_empty() { "" } else { " DIFFERS" };
            let name = cut(&plain(&cell.label), NAME);
            format!("A/A {}{differs} of {name}", with_ends(&found).text())
        }
    };
    let [old, new] = [false, true].map(|is_new| report.counts(is_new));
    let dropped = old.0 + new.0 - old.1 - new.1;
    let others = [
        Some(format!("{}+{} boots", old.1, new.1)),
        (dropped > 0).then(|| format!("{dropped} dropped")),
        (compared.rounds > 0).then(|| count(compared.rounds, "round")),
        run.map(|run| format!("zc {}", plain(&run.header.zc_version))),
    ];
    joined(first, others.into_iter().flatten())
}
