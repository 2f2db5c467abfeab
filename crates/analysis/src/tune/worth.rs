//! What a saving is worth: cores at a rate, and their price.

use super::model::{Worth, Worths};
use crate::advise::CORES_THAT_MATTER;
use crate::figures::scaled;
use crate::model::figure::{Bounds, Figure};

/// Hours of a month, as providers of machines count them: a twelfth of a year.
pub const HOURS_A_MONTH: f64 = 730.0;

/// Price of a core.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// Of a core for an hour, in the currency.
    pub per_core_hour: f64,
    /// Its currency as it was given; empty: none was.
    pub currency: String,
}

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
                money_per_month: self
                    .per_core_hour
                    .map(|price| signed_scaled(&cores, price * HOURS_A_MONTH)),
                matters: cores.value.abs() >= CORES_THAT_MATTER,
            }
        };
        Worths {
            busiest: self.busiest_requests_per_s.map(worth),
            asked: self.asked_requests_per_s.map(worth),
        }
    }
}

/// A figure in another unit; by 0 all of it is 0.
fn signed_scaled(figure: &Figure, by: f64) -> Figure {
    if by > 0.0 {
        return scaled(figure, by);
    }
    let none = |bounds: Bounds| Bounds { low: 0.0, high: Some(0.0), ..bounds };
    Figure {
        value: 0.0,
        interval: figure.interval.map(none),
        half_width: figure.half_width.map(|_| 0.0),
        blocks: figure.blocks,
    }
}

/// Requests per second from which on a saving is a hundredth of a core.
pub(super) fn matters_from(saved_us: &Figure) -> Option<f64> {
    (saved_us.value > 0.0).then(|| CORES_THAT_MATTER * 1e6 / saved_us.value)
}
