//! Today's figures in the terms of 2001: load as a share of the machine, and quotients of figures
//! whose intervals are disjoint.

use crate::digits::{significant, with_half_width};
use crate::run::pivot::{Pivot, Placed};
use crate::run::rates::rates;
use crate::run::rows::signs;
use zc_analysis::{CellEstimate, Estimates, Figure};
use zc_run::{Cell, FixedParams, Run};

/// One end of a connection, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Sender,
    Receiver,
    Both,
}

impl End {
    /// Its cost in ns per KiB. In runs without separate sides it is the cost of both. In runs with
    /// them, a cell without a separate cost has none, because the two would not be comparable.
    pub(super) fn cost(self, estimates: &Estimates, cell: &CellEstimate) -> Option<Figure> {
        let cost = &cell.cost_ns_per_kib;
        match self {
            Self::Sender if estimates.sides_apart => cost.sender,
            Self::Receiver if estimates.sides_apart => cost.receiver,
            Self::Receiver if estimates.sender_alone => None,
            _ => cost.both,
        }
    }

    /// Its cost where that is comparable between cells: not at saturation, and not of a failed
    /// zero-copy.
    pub(super) fn comparable(self, estimates: &Estimates, cell: &CellEstimate) -> Option<Figure> {
        self.cost(estimates, cell)
            .filter(|_| !cell.perturbation.saturated && !cell.failed_zero_copy)
    }

    pub(super) fn name(self, estimates: &Estimates) -> &'static str {
        match self {
            Self::Sender if estimates.sides_apart || estimates.sender_alone => "the sender",
            Self::Receiver if estimates.sides_apart => "the receiver",
            _ => "both ends",
        }
    }

    /// Its load: the share of all CPUs of its machine in the soaked windows, `9.6 ±0.2 %`, at the
    /// rate that was reached. That is what cyclesoak printed in 2001.
    pub(super) fn load(
        self,
        run: &Run,
        estimates: &Estimates,
        cell: &CellEstimate,
    ) -> Option<String> {
        let cost = self.cost(estimates, cell)?;
        let cpus = self.cpus(run)?;
        let kib_per_ns = cell.traffic.bytes as f64 / 1024.0 / cell.traffic.elapsed_ns as f64;
        if !kib_per_ns.is_finite() {
            return None;
        }
        let percent = |ns_per_kib: f64| ns_per_kib * kib_per_ns / cpus as f64 * 100.0;
        let load = with_half_width(percent(cost.value), cost.half_width.map(percent));
        Some(format!("{load} %{}", signs(cell)))
    }

    /// The number of soaked CPUs of its machine.
    pub(super) fn cpus(self, run: &Run) -> Option<usize> {
        let far = run.header.remote.as_ref().and_then(|remote| remote.machine.as_ref());
        let cpus = match (self, far) {
            (Self::Receiver, Some(far)) => far.soaked_cpus.len(),
            _ => run.header.plan.fixed.soaked_cpus.len(),
        };
        (cpus > 0).then_some(cpus)
    }
}

/// `the load of the sender on this machine of 2 CPUs, at 400 MB/s`.
pub(super) fn load_of(run: &Run, estimates: &Estimates, end: End) -> String {
    let cpus = end.cpus(run).map_or_else(String::new, |cpus| {
        format!(" on {} CPU{}", cpus, if cpus == 1 { "" } else { "s" })
    });
    format!("load of {}{cpus} at {}", end.name(estimates), rates(run))
}

/// The first matching cell.
pub(super) fn find<'a>(
    run: &Run,
    pivot: &Pivot<'a>,
    fits: impl Fn(&Cell, &FixedParams) -> bool,
) -> Option<Placed<'a>> {
    pivot.cells().find(|placed| fits(placed.cell, &run.header.plan.fixed.at(&placed.cell.levels)))
}

/// The quotient of two figures, where their intervals are disjoint. Each interval has more than the
/// run's confidence (see `zc_analysis::interim`), and disjoint intervals are much rarer by chance
/// than a single miss; so picking the pair is not corrected for.
pub(super) fn quotient(above: Option<Figure>, below: Option<Figure>) -> Quotient {
    let (Some(above), Some(below)) = (above, below) else { return Quotient::Unknown };
    let (Some(high), Some(low)) = (above.interval, below.interval) else {
        return Quotient::Unknown;
    };
    let apart =
        high.high.is_some_and(|high| high < low.low) || low.high.is_some_and(|low| low < high.low);
    let ratio = above.value / below.value;
    match apart {
        true if ratio.is_finite() && ratio > 0.0 => Quotient::Times(ratio),
        true => Quotient::Unknown, // one of them is nothing, or less by noise
        false => Quotient::Indistinct,
    }
}

/// The quotient of two costs of a run, where its controls could have seen such a difference, too.
pub(super) fn quotient_of_costs(
    estimates: &Estimates,
    above: Option<Figure>,
    below: Option<Figure>,
) -> Quotient {
    match quotient(above, below) {
        Quotient::Times(ratio) if !estimates.verdict.sees(ratio) => Quotient::Indistinct,
        other => other,
    }
}

/// The relation of two figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Quotient {
    /// Their quotient.
    Times(f64),
    /// Their intervals overlap.
    Indistinct,
    /// One of them is missing, has no interval, or is not positive.
    Unknown,
}

/// `0.83 times`, `1.8 times`.
pub(super) fn times(ratio: f64) -> String {
    if ratio < 1.0 { format!("{ratio:.2} times") } else { format!("{} times", significant(ratio)) }
}
