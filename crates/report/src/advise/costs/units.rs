//! A unit for a number of cores that a human reads: a log of a small site keeps a
//! hundred-thousandth of a core busy.

use crate::digits::with_half_width;
use zc_analysis::Figure;

/// A unit of CPU time per time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Unit {
    /// Heading of a column.
    pub(crate) name: &'static str,
    /// Text behind a figure in a sentence, with the word "of".
    pub(crate) of: &'static str,
    /// Factor by which cores are multiplied.
    pub(crate) by: f64,
}

impl Unit {
    /// A quantity that has its own unit.
    pub(crate) const PLAIN: Self = Self { name: "", of: "", by: 1.0 };

    /// The unit for quantities of about so many cores.
    pub(crate) fn for_cores(cores: f64) -> Self {
        match cores {
            0.095.. => Self { name: "cores", of: "cores", by: 1.0 },
            0.000_95.. => Self { name: "% of a core", of: "% of a core", by: 100.0 },
            _ => Self { name: "us of CPU/s", of: "us of CPU time per second", by: 1e6 },
        }
    }
}

/// A figure in a unit.
pub(crate) fn figure(figure: Figure, unit: Unit) -> String {
    with_half_width(figure.value * unit.by, figure.half_width.map(|half| half * unit.by))
}
