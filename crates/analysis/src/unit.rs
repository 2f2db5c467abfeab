//! The unit of cost in all machine-readable output: microseconds of soaked CPU time per MB (10^6
//! bytes), `us_per_mb`.
//!
//! The printed table has the same unit, so its figures can be compared with those of JSON, CSV or
//! OpenMetrics. Costs are computed in nanoseconds per KiB, the unit of windows and pages, and
//! converted on serialisation.

use serde::{Serialize, Serializer};

use crate::model::figure::{Bounds, Figure, Sides};

/// Microseconds per MB in one nanosecond per KiB: 1000/1024, exact in binary.
const US_PER_MB: f64 = 1e3 / 1024.0;

/// Converts nanoseconds per KiB to microseconds per MB (10^6 bytes).
pub fn us_per_mb(ns_per_kib: f64) -> f64 {
    ns_per_kib * US_PER_MB
}

/// A cost or a group of costs, some of which may be `None`.
pub(super) trait Cost {
    /// The same multiplied by `factor`.
    fn times(&self, factor: f64) -> Self;
}

impl Cost for f64 {
    fn times(&self, factor: f64) -> Self {
        self * factor
    }
}

impl Cost for Figure {
    fn times(&self, factor: f64) -> Self {
        let bounds = |bounds: Bounds| Bounds {
            low: bounds.low * factor,
            high: bounds.high.times(factor),
            ..bounds
        };
        Self {
            value: self.value * factor,
            interval: self.interval.map(bounds),
            half_width: self.half_width.times(factor),
            blocks: self.blocks,
        }
    }
}

impl<T: Cost> Cost for Option<T> {
    fn times(&self, factor: f64) -> Self {
        self.as_ref().map(|cost| cost.times(factor))
    }
}

impl<T: Cost> Cost for Sides<T> {
    fn times(&self, factor: f64) -> Self {
        Self {
            sender: self.sender.times(factor),
            receiver: self.receiver.times(factor),
            both: self.both.times(factor),
        }
    }
}

/// Serialises nanoseconds per KiB as microseconds per MB.
pub(super) fn from_ns_per_kib<T: Cost + Serialize, S: Serializer>(
    cost: &T,
    out: S,
) -> Result<S::Ok, S::Error> {
    cost.times(US_PER_MB).serialize(out)
}

/// Serialises microseconds per KB of 1024 bytes, netperf's unit, as microseconds per MB.
pub(super) fn from_us_per_kb<T: Cost + Serialize, S: Serializer>(
    cost: &T,
    out: S,
) -> Result<S::Ok, S::Error> {
    cost.times(1e3 * US_PER_MB).serialize(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_per_kib_are_converted_to_microseconds_per_mb() {
        assert_eq!(us_per_mb(1024.0), 1000.0);
    }

    #[test]
    fn conversion_keeps_confidence_and_number_of_blocks() {
        let bounds = Bounds { low: 1024.0, high: Some(3072.0), confidence: 0.95 };
        let figure =
            Figure { value: 2048.0, interval: Some(bounds), half_width: Some(1024.0), blocks: 7 };
        let bounds = Bounds { low: 1000.0, high: Some(3000.0), confidence: 0.95 };
        let expected =
            Figure { value: 2000.0, interval: Some(bounds), half_width: Some(1000.0), blocks: 7 };
        assert_eq!(figure.times(US_PER_MB), expected);
    }
}
