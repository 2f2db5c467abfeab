//! Runs as a specification of charts in Vega-Lite, with the data in it.

use crate::estimate::Estimates;
use crate::record::Run;

/// The whole specification.
pub fn vega_lite(_runs: &[(&Run, &Estimates)]) -> String {
    "{\"$schema\":\"https://vega.github.io/schema/vega-lite/v5.json\"}\n".to_owned()
}
