//! What a saving is worth: cores at a rate, and their price.

use super::model::{Worth, Worths};
use crate::advise::CORES_THAT_MATTER;
use crate::model::figure::Figure;
use crate::price::{money_per_month, signed_scaled};

/// What decides a saving's worth.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Basis {
    pub(super) busiest_requests_per_s: Option<f64>,
    pub(super) asked_requests_per_s: Option<f64>,
    pub(super) per_core_hour: Option<f64>,
}

impl Basis {
    /// The worth of a saving in microseconds per request.
    pub(super) fn worths(&self, saved_us: &Figure) -> Worths {
        let worth = |rate: f64| {
            let cores = signed_scaled(saved_us, rate / 1e6);
            Worth {
                requests_per_s: rate,
                cores,
                money_per_month: self.per_core_hour.map(|price| money_per_month(&cores, price)),
                matters: cores.value.abs() >= CORES_THAT_MATTER,
            }
        };
        Worths {
            busiest: self.busiest_requests_per_s.map(worth),
            asked: self.asked_requests_per_s.map(worth),
        }
    }
}

/// Requests per second from which on a saving is a hundredth of a core.
pub(super) fn matters_from(saved_us: &Figure) -> Option<f64> {
    (saved_us.value > 0.0).then(|| CORES_THAT_MATTER * 1e6 / saved_us.value)
}
