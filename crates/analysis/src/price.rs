//! The price of a core, and what cores cost a month.

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

/// What so many cores cost a month, in the currency of `per_core_hour`.
pub(crate) fn money_per_month(cores: &Figure, per_core_hour: f64) -> Figure {
    signed_scaled(cores, per_core_hour * HOURS_A_MONTH)
}

/// A figure in another unit; by 0 all of it is 0.
pub(crate) fn signed_scaled(figure: &Figure, by: f64) -> Figure {
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
