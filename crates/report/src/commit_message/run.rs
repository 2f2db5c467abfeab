//! The commit message about one run.

use super::lines::{LINES, joined, message, plain, wrapped};
use super::ratios::{self, Ratio, Row, Tells};
use crate::digits::{percent, seconds};
use crate::run::baseline::Baseline;
use crate::run::pivot::Pivot;
use crate::run::rates::rates;
use crate::run::{notes_above, rows, verdict};
use zc_analysis::{CellEstimate, Comparison, Control, Estimates, RatioFigure};
use zc_run::{Host, Run};

/// Most lines about cells.
pub(super) const CELLS: usize = 4;

/// Most lines of the reason for which there are no verdicts.
pub(super) const REASON: usize = 3;

/// A run in at most eight lines of 72 columns in ASCII, fit for a commit message. Ratios are those
/// of [`table`](crate::table); where verdicts are withheld the reason stands in their place, as
/// nothing in a commit's message would say so later.
pub fn run(run: &Run, estimates: &Estimates) -> String {
    let mut lines = vec![machines(run)];
    if estimates.verdict.stands() {
        lines.push(what(run, estimates));
        lines.extend(ratios::lines(rows(estimates), CELLS));
    } else {
        lines.push(of_traffic("", run));
        let why = verdict::withheld(run, estimates).join(" ");
        lines.extend(wrapped(&why, REASON));
    }
    lines.push(controls(run, estimates));
    debug_assert!(lines.len() < LINES);
    message(&run.header.command, &lines)
}

/// `Linux 6.18.44 x86_64, kvm, 2 CPUs, Intel Xeon Processor @ 2.50GHz`.
fn machines(run: &Run) -> String {
    let host = &run.header.host;
    let far = run.header.remote.as_ref().and_then(|remote| remote.machine.as_ref());
    let kernels = match far.filter(|far| !far.same_machine) {
        Some(far) => format!("{} to {}", host.kernel_release, far.host.kernel_release),
        None => host.kernel_release.clone(),
    };
    machine(&kernels, host)
}

/// The kernel, or kernels, and the machine.
pub(super) fn machine(kernels: &str, host: &Host) -> String {
    let kernel = plain(&format!("Linux {kernels} {}", host.machine));
    let plural = if host.cpu.online == 1 { "" } else { "s" };
    let cpus = format!("{} CPU{plural}", host.cpu.online);
    let model =
        ["(R)", "(TM)"].iter().fold(host.cpu.model.clone(), |it, sign| it.replace(sign, ""));
    let parts = host.hypervisor.clone().into_iter().chain([cpus, model]);
    let parts = parts.filter(|part| !part.is_empty()).map(|part| plain(&part));
    std::iter::once(kernel).chain(parts).collect::<Vec<_>>().join(", ")
}

/// What the rows have, and the traffic.
fn what(run: &Run, estimates: &Estimates) -> String {
    let whose = if !estimates.requests.is_empty() {
        "CPU us/request"
    } else if estimates.sender_alone {
        "sender's CPU us/MB"
    } else if estimates.client_alone {
        "client's CPU us/MB"
    } else {
        "CPU us/MB"
    };
    let sampled = if run.header.sampling.is_some() { " (sampled)" } else { "" };
    let to = match Pivot::build(run, estimates) {
        Some(pivot) => Baseline::from_pivot(&pivot).text(),
        None => estimates.reference.clone(),
    };
    let level = estimates.confidence * 100.0;
    let figures = format!("{whose}{sampled}, ratio to {} ({level:.0} %); ", plain(&to));
    of_traffic(&figures, run)
}

/// `veth at 800 MB/s, MTU 1500, cubic` behind the figures, as far as there is room.
pub(super) fn of_traffic(figures: &str, run: &Run) -> String {
    let link = plain(&notes_above::link(run));
    let mut parts = link.split(", ").map(str::to_owned);
    let link = parts.next().unwrap_or_default();
    // That of a server is of its requests.
    let rate = match run.header.plan.is_of_a_server() {
        true => String::new(),
        false => format!(" at {}", rates(run)),
    };
    joined(format!("{figures}{link}{rate}"), parts)
}

/// The cells that are compared; where there is no ratio, all that have a cost.
fn rows(estimates: &Estimates) -> Vec<Row> {
    let cells = rows::sorted(estimates);
    let compared: Vec<Row> = cells
        .iter()
        .filter(|cell| cell.ratio.both.is_some())
        .map(|cell| row(estimates, cell))
        .collect();
    if !compared.is_empty() {
        return compared;
    }
    cells.iter().map(|cell| row(estimates, cell)).filter(|row| !row.cost.is_empty()).collect()
}

fn row(estimates: &Estimates, cell: &CellEstimate) -> Row {
    let request = estimates.requests.iter().find(|of| of.label == cell.label);
    let cost = match request {
        Some(request) => rows::plain(request.us_per_request),
        None => rows::cost(cell.cost_ns_per_kib.both),
    };
    let ratio = cell.ratio.both.map(with_ends);
    let tells = match rows::comparison(estimates, cell) {
        _ if ratio.is_none() => Tells::Cost,
        Some(Comparison::Cheaper { .. } | Comparison::Dearer { .. }) => Tells::Difference,
        Some(Comparison::Same { .. }) => Tells::Same,
        Some(Comparison::Undecided) | None => Tells::Undecided,
    };
    let verdict = rows::verdict(estimates, cell);
    let row = Row { tells, name: plain(&cell.label), cost: plain(&cost), ratio, verdict };
    if cell.failed_zero_copy { row.copied() } else { row }
}

/// The controls, and how long it was measured.
fn controls(run: &Run, estimates: &Estimates) -> String {
    let blocks = &estimates.blocks;
    let length = run.end.as_ref().map(|end| format!(" in {}", seconds(end.elapsed_ns)));
    let others = [
        positive(estimates),
        Some(
            format!("{} of {} blocks", blocks.kept, blocks.measured) + &length.unwrap_or_default(),
        ),
        Some(format!("zc {}", plain(&run.header.zc_version))),
    ];
    joined(same(estimates.control.as_ref()), others.into_iter().flatten())
}

/// `A/A 1.000 (0.987 to 1.013)`.
fn same(control: Option<&Control>) -> String {
    let Some(control) = control else { return "no A/A control".to_owned() };
    let Some(found) = control.ratio.both else { return "A/A without a cost".to_owned() };
    format!("A/A {}{}", with_ends(found).text(), doubt(control))
}

/// What a control of identical cells says against the figures.
pub(super) fn doubt(control: &Control) -> &'static str {
    match control.fits {
        Some(false) => " DIFFERS",
        Some(true) if control.is_too_wide() => " WIDE",
        Some(true) => "",
        None => " (too few blocks)",
    }
}

fn with_ends(ratio: RatioFigure) -> Ratio {
    let ends = ratio.interval;
    let (low, high) = (ends.map(|ends| ends.low), ends.and_then(|ends| ends.high));
    Ratio { value: ratio.value, low, high }
}

/// The positive control, where it did not find what was added.
fn positive(estimates: &Estimates) -> Option<String> {
    let positive = estimates.positive_control.as_ref().filter(|it| it.fits == Some(false))?;
    let (expected, found) = (positive.expected?, positive.found?);
    Some(format!("{} FOUND AS {}", percent(expected - 1.0), percent(found.value - 1.0)))
}
