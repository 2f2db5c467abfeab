//! Units of top speed.

use crate::digits::with_half_width;
use zc_analysis::Figure;
use zc_run::experiment::Tables;
use zc_run::{Experiment, Run};

/// A unit of throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// 10^9 bits per second.
    Gbit,
    /// 1024 bytes per second, as in 2001.
    Kbytes,
}

impl Unit {
    /// The unit of a run's top speeds: that of 2001 in runs with the table of 2001.
    pub(crate) fn for_run(run: &Run) -> Self {
        let experiment = run.header.plan.experiment.parse::<Experiment>();
        match experiment.map(|experiment| experiment.definition().tables) {
            Ok(Some(Tables::Placements)) => Self::Kbytes,
            _ => Self::Gbit,
        }
    }

    /// A throughput in bytes per second, in this unit.
    pub(crate) fn text(self, speed: Figure) -> String {
        match self {
            Self::Gbit => {
                with_half_width(speed.value * 8e-9, speed.half_width.map(|half| half * 8e-9))
            }
            Self::Kbytes => {
                let half = speed.half_width.map(|half| half / 1024.0);
                // Whole numbers as in 2001, rounded to two digits of the half-width.
                let step =
                    half.map_or(1.0, |half| 10f64.powf(half.max(10.0).log10().floor() - 1.0));
                let rounded = |value: f64| (value / step).round() * step;
                let value = format!("{:.0}", rounded(speed.value / 1024.0));
                half.map_or(value.clone(), |half| format!("{value} ±{:.0}", rounded(half)))
            }
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gbit => "Gbit/s",
            Self::Kbytes => "kbytes/s",
        }
    }
}
