//! Errors and resolution of a run's controls, which limit its verdicts.
//!
//! A control whose interval excludes the truth shows an **error**, and no difference is reported
//! that it could explain. A control that agrees with the truth shows no more than its interval
//! does: it would miss an error of half its width every second time. That is its **resolution**. No
//! ratio that is not farther from 1 is called a difference, and none is called the same where the
//! resolution is beyond the margin of that. A verdict needs both controls: the A/A control to see
//! that there is no error of its size, and the positive control to see that a cost of its size is
//! found. A positive control that may have seen nothing of what was added shows no error, and may
//! have missed one as large as the farther end of its interval is from the truth. That counts as an
//! error.

use crate::cells;
use crate::figures::finite;
use crate::kept::KeptBlocks;
use crate::model::estimates::{Control, PositiveControl};
use crate::model::figure::Bounds;
use crate::model::verdict::Withheld;
use crate::positive;
use zc_run::Cell;

/// The controls of a run, where it has them.
#[derive(Debug, Clone)]
pub(crate) struct Controls {
    pub(crate) same: Option<Control>,
    pub(crate) positive: Option<PositiveControl>,
}

/// Limits that a run's controls set on its verdicts, as factors of at least 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    /// The largest error that a control shows; 1 where none misses.
    pub(crate) error: f64,
    /// The smallest difference that both controls could have seen; infinite without a bound.
    pub(crate) resolution: f64,
}

impl Limits {
    /// No limits: the controls say nothing about a comparison.
    pub(crate) const NONE: Self = Self { error: 1.0, resolution: 1.0 };

    /// Whether a difference of this ratio could have been seen.
    pub(crate) fn resolve(self, ratio: f64) -> bool {
        self.resolution == 1.0 || ratio > self.resolution || ratio < 1.0 / self.resolution
    }
}

impl Controls {
    pub(crate) fn from_blocks(kept: &KeptBlocks) -> Self {
        let same = kept.header.plan.cells.iter().position(Cell::is_aa_control).map(|place| {
            let ratio = cells::ratios(kept, place);
            let interval = ratio.both.and_then(|ratio| ratio.interval);
            Control {
                label: kept.header.plan.cells[place].label.clone(),
                ratio,
                fits: interval.map(|interval| interval.contains(1.0)),
                resolution: ratio.both.and_then(|ratio| ratio.resolution()),
            }
        });
        Self { same, positive: positive::control(kept) }
    }

    /// Whether each control of the plan was measured often enough for an interval.
    pub(crate) fn are_measured(&self) -> bool {
        self.same.as_ref().is_some_and(|control| control.fits.is_some())
            && self.positive.as_ref().is_none_or(|control| control.fits.is_some())
    }

    /// The limits that the controls set.
    pub(crate) fn limits(&self) -> Limits {
        let shortcomings = self.shortcomings();
        let error = shortcomings.iter().filter_map(Withheld::error).fold(1.0, f64::max);
        Limits { error, resolution: self.resolution() }
    }

    /// Resolution of the control that could have seen less; 1 without an interval.
    fn resolution(&self) -> f64 {
        let same = self.same.as_ref().filter(|control| control.fits.is_some());
        let positive = self.positive.as_ref().filter(|control| control.fits.is_some());
        let shares =
            [same.map(|control| control.resolution), positive.map(|control| control.resolution)];
        let factor = |share: Option<f64>| share.map_or(f64::INFINITY, |share| 1.0 + share);
        shares.into_iter().flatten().map(factor).fold(1.0, f64::max)
    }

    /// Controls whose intervals exclude the truth, and those that are too wide to see a difference
    /// that matters, or what was added.
    pub(crate) fn shortcomings(&self) -> Vec<Withheld> {
        let differs = || {
            let ratio = self.same.as_ref().filter(|it| it.fits == Some(false))?.ratio.both?;
            let Bounds { low, high, .. } = ratio.interval?;
            Some(Withheld::ControlDiffers { ratio: ratio.value, low, high })
        };
        let missed = || {
            let positive = self.positive.as_ref().filter(|it| it.fits == Some(false))?;
            let (expected, found) = (positive.expected?, positive.found?);
            let Bounds { low, high, .. } = found.interval?;
            Some(Withheld::PositiveControlMissed { expected, found: found.value, low, high })
        };
        let wide = self.same.as_ref().is_some_and(Control::is_too_wide)
            || self.positive.as_ref().is_some_and(PositiveControl::is_too_wide);
        let too_wide = wide.then(|| {
            let resolution = finite(self.resolution() - 1.0);
            Withheld::ControlTooWide { resolution }
        });
        let unseen = || {
            let positive = self.positive.as_ref().filter(|it| it.seen == Some(false))?;
            let (expected, found) = (positive.expected?, positive.found?);
            let Bounds { low, high, .. } =
                found.interval.filter(|_| positive.fits == Some(true))?;
            Some(Withheld::PositiveControlUnseen { expected, low, high })
        };
        let of_intervals = [differs(), missed(), too_wide, unseen()];
        of_intervals.into_iter().flatten().collect()
    }
}
