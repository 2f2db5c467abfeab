//! The commit message about a comparison of two runs, or of two parts of one.

use super::lines::{LINES, ROOM, message, plain, wrapped};
use super::ratios::{self, Ratio, Row};
use super::run::{CELLS, REASON, doubt, machine, of_traffic};
use crate::compare::{aspects, rows, sentences};
use crate::digits::{ratio, significant, us_per_mb};
use zc_analysis::compare::{Aspect, Basis, CellChange, Compared, Difference, RelativeTo};
use zc_analysis::{Figure, estimate};
use zc_run::Run;

/// A comparison in at most eight lines of 72 columns in ASCII, fit for a commit message. The
/// command is that of the old run, which the new one mostly repeats by `--like`.
pub fn comparison(old: &Run, new: &Run, compared: &Compared) -> String {
    let mut lines = vec![machine(&kernels(old, new), &new.header.host)];
    let others = compared.differences.iter().filter(|each| !is_kernel(each));
    let differs = differing(&others.map(aspects::text).collect::<Vec<_>>());
    if compared.impossible.is_empty() && compared.withheld.is_empty() {
        lines.push(what(new, compared));
        let left = CELLS - differs.iter().count();
        lines.extend(differs);
        lines.extend(ratios::lines(compared.cells.iter().map(row).collect(), left));
    } else {
        lines.push(of_traffic("", new));
        lines.extend(differs);
        let left = LINES - 2 - lines.len();
        let why = sentences::verdict(compared).join(" ");
        lines.extend(wrapped(&why, REASON.min(left)));
    }
    lines.push(controls(old, new, compared));
    debug_assert!(lines.len() < LINES);
    message(&old.header.command, &lines)
}

/// `6.18.44 -> 6.19.0`, or the kernel that both runs had.
fn kernels(old: &Run, new: &Run) -> String {
    let (old, new) = (&old.header.host, &new.header.host);
    if old.kernel_release != new.kernel_release {
        return format!("{} -> {}", old.kernel_release, new.kernel_release);
    }
    let builds = if old.kernel_version == new.kernel_version { "" } else { " (two builds)" };
    format!("{}{builds}", new.kernel_release)
}

/// What the rows have, and the traffic.
fn what(new: &Run, compared: &Compared) -> String {
    let of = if rows::compares_servers(compared) { "us/request" } else { "us/MB" };
    let relative = match compared.relative_to.filter(|_| !compared.reference_moved) {
        Some(RelativeTo::Others) => ", a path's relative to the others'".to_owned(),
        Some(RelativeTo::Reference) => {
            format!(", relative to {}'s", plain(compared.reference.as_deref().unwrap_or_default()))
        }
        None => String::new(),
    };
    let level = compared.confidence * 100.0;
    of_traffic(&format!("CPU {of}, new / old{relative} ({level:.0} %); "), new)
}

/// Whether the first line says it already.
fn is_kernel(difference: &Difference) -> bool {
    matches!(difference.what, Aspect::KernelRelease | Aspect::KernelBuild)
}

/// What else differs, as far as a line has room for it; `None` where nothing does.
pub(super) fn differing(others: &[String]) -> Option<String> {
    let others: Vec<String> = others.iter().map(|other| plain(other)).collect();
    let mut line = format!("also: {}", others.first()?);
    for (place, other) in others.iter().enumerate().skip(1) {
        let more = format!("; {} more", others.len() - place);
        if line.len() + 2 + other.len() + more.len() > ROOM {
            line.truncate(ROOM - more.len()); // it is ASCII
            return Some(line + &more);
        }
        line.push_str("; ");
        line.push_str(other);
    }
    Some(line)
}

fn row(cell: &CellChange) -> Row {
    let costs = |of: Option<Figure>| of.map(|figure| significant(us_per_mb(figure.value)));
    let requests = |of: Option<Figure>| of.map(|figure| significant(figure.value));
    let (old, new) = match cell.old_us_per_request {
        Some(old) => (requests(Some(old)), requests(cell.new_us_per_request)),
        None => (costs(cell.old_cost_ns_per_kib.both), costs(cell.new_cost_ns_per_kib.both)),
    };
    let found = cell.judged().map(|change| Ratio {
        value: change.ratio,
        low: change.low,
        high: change.high,
    });
    let label = rows::labels(cell);
    let row = Row::of_change(&label, old.zip(new), found, cell.verdict, rows::word(cell));
    if cell.failed_zero_copy { row.copied() } else { row }
}

/// The A/A control of each run, and how many blocks each has.
fn controls(old: &Run, new: &Run, compared: &Compared) -> String {
    let (before, after) = (compared.old.blocks_kept, compared.new.blocks_kept);
    match compared.basis {
        Basis::OneRun => format!("A/A {}; {after} blocks", same(new)),
        Basis::TwoRuns => {
            format!("A/A {}, then {}; {before}+{after} blocks", same(old), same(new))
        }
    }
}

/// `1.000 ±1.3 %`: two of them and the blocks have room in a line.
fn same(run: &Run) -> String {
    let Some(control) = estimate(run).control else { return "none".to_owned() };
    let Some(found) = control.ratio.both else { return "unknown".to_owned() };
    ratio(found.value, found.half_width) + doubt(&control)
}
