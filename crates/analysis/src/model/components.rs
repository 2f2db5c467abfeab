//! Costs of wake-ups, calls and bytes, as data.

use crate::unit::from_ns_per_kib;
use schemars::JsonSchema;
use serde::Serialize;

use super::figure::Figure;

/// Cost = `wake_up_ns` x wake-ups + `call_ns` x calls + cost of a byte x bytes, fitted to cells
/// that differ only in their rate and message size, by least squares of relative errors, with no
/// coefficient negative. The values are the coefficients of this one fit, not medians over blocks;
/// the intervals are bootstrap intervals over blocks.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Components {
    /// The common levels of its cells, of the plan's factors other than `rate` and `message` in
    /// their order: `sendfile`.
    pub name: String,
    /// Cost of each time that the sender is woken, ns, beyond what a wake-up costs that sends
    /// nothing: it is net of the harness, where the run measured that.
    pub wake_up_ns: Figure,
    /// Cost of a system call of the sender regardless of its bytes, ns. `None` where all cells have
    /// one message size: each byte has its share of a call then.
    pub call_ns: Option<Figure>,
    /// Cost of 1024 bytes regardless of wake-ups and calls, ns.
    #[serde(rename = "us_per_mb", serialize_with = "from_ns_per_kib")]
    pub ns_per_kib: Figure,
    /// Predictions of each rate's cells from those of all other rates, in the plan's order. Empty
    /// with fewer than three rates.
    pub predictions: Vec<Prediction>,
}

/// A cell compared with what cells of other rates predict.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Prediction {
    /// Label of the cell.
    pub cell: String,
    /// Its rate, payload bytes per second.
    pub rate_bytes_per_s: f64,
    /// Its cost divided by that which the same fit to the cells of all other rates predicts: 1.2 is
    /// a cell that costs 20 % more than predicted.
    pub measured_by_predicted: Figure,
}
