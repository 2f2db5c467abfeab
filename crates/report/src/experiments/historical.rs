//! Today's figures in the terms of 2001: loads of a whole machine, and whether two figures can be told apart.

use crate::digits::{significant, with_half_width};
use crate::pivot::{Cross, Placed};
use crate::rates::rates;
use crate::rows::signs;
use zc_analysis::{CellEstimate, Estimates, Figure};
use zc_run::{Cell, FixedParams, Run};

/// One end of a connection, or the two together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Sender,
    Receiver,
    Both,
}

impl End {
    /// Its cost, ns per KiB: that of both ends in a run that cannot tell them apart. Of one that can a cell without a cost of its
    /// own at this end has none here, as the two would not compare.
    pub(super) fn cost(self, estimates: &Estimates, cell: &CellEstimate) -> Option<Figure> {
        let cost = &cell.cost_ns_per_kib;
        match self {
            Self::Sender if estimates.sides_apart => cost.sender,
            Self::Receiver if estimates.sides_apart => cost.receiver,
            Self::Receiver if estimates.sender_alone => None,
            _ => cost.both,
        }
    }

    /// Its cost where that may be held against another cell's: what was taken at saturation is not the cost at that rate, and
    /// what a failed zero-copy costs is not that of the path.
    pub(super) fn comparable(self, estimates: &Estimates, cell: &CellEstimate) -> Option<Figure> {
        self.cost(estimates, cell).filter(|_| !cell.perturbation.saturated && !cell.failed_zero_copy)
    }

    /// Whose cost that is.
    pub(super) fn whose(self, estimates: &Estimates) -> &'static str {
        match self {
            Self::Sender if estimates.sides_apart || estimates.sender_alone => "the sender",
            Self::Receiver if estimates.sides_apart => "the receiver",
            _ => "both ends",
        }
    }

    /// Its load: the share of all CPUs of its machine that it took in the soaked windows, `9.6 ±0.2 %`, by the rate that was
    /// reached in them. That is what cyclesoak printed in 2001.
    pub(super) fn load(self, run: &Run, estimates: &Estimates, cell: &CellEstimate) -> Option<String> {
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

    /// How many CPUs its machine has, of those that carry soakers.
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
    let cpus =
        end.cpus(run).map_or_else(String::new, |cpus| format!(" on {} CPU{}", cpus, if cpus == 1 { "" } else { "s" }));
    format!("load of {}{cpus} at {}", end.whose(estimates), rates(run))
}

/// The first cell that fits.
pub(super) fn find<'a>(run: &Run, cross: &Cross<'a>, fits: impl Fn(&Cell, &FixedParams) -> bool) -> Option<Placed<'a>> {
    cross.cells().find(|placed| fits(placed.cell, &run.header.plan.fixed.at(&placed.cell.levels)))
}

/// One figure by another, where their intervals have nothing in common. Each was computed above the run's confidence (see
/// `plan::looks`), and that two such intervals lie apart is much rarer by chance than that one of them misses; so no further
/// correction is made for picking the pair.
pub(super) fn by(above: Option<Figure>, below: Option<Figure>) -> By {
    let (Some(above), Some(below)) = (above, below) else { return By::Unknown };
    let (Some(high), Some(low)) = (above.interval, below.interval) else { return By::Unknown };
    let apart = high.high.is_some_and(|high| high < low.low) || low.high.is_some_and(|low| low < high.low);
    let ratio = above.value / below.value;
    match apart {
        true if ratio.is_finite() && ratio > 0.0 => By::Times(ratio),
        true => By::Unknown, // one of them is nothing, or less by noise
        false => By::Alike,
    }
}

/// What may be said of two figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum By {
    /// The one by the other.
    Times(f64),
    /// They could not be told apart.
    Alike,
    /// One of them is missing, has no interval, or is no quantity to divide by.
    Unknown,
}

/// `0.83 of`, `1.8 times`.
pub(super) fn times(ratio: f64) -> String {
    if ratio < 1.0 { format!("{ratio:.2} of") } else { format!("{} times", significant(ratio)) }
}
