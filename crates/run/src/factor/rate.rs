//! `rate`: payload bytes per second over all flows, at which cost is measured.

use super::definition::{Definition, Difference, FactorOption, Parameter, Side};
use super::value::Value;
use crate::units::{self, rate_text};
use crate::{Cell, Error, FixedParams, Levels, LinkFacts, Result};

/// Rates that differ by less count as equal: a rate that zc chose is a share of a measured speed.
const RATE_WITHIN: f64 = 0.001;

pub(super) struct RateFactor;

impl Definition for RateFactor {
    fn name(&self) -> &'static str {
        "rate"
    }

    fn levels(&self) -> &'static str {
        "bytes or bits a second: `400MB/s`, `1Gbit/s`"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["1.5GB/s", "400MB/s"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        let rate = units::rate(text)?;
        rate.map(Value::Rate).ok_or_else(|| {
            Error::usage("invalid-rate", "a level of the factor \"rate\" is a rate, not \"auto\"")
        })
    }

    fn value_for(&self, _cell: &Cell, at: &FixedParams, _link: &LinkFacts) -> Value {
        Value::Rate(at.rate_bytes_per_s)
    }

    fn put(&self, level: &Value, cell: &mut Cell) {
        cell.levels.rate_bytes_per_s = match level {
            Value::Rate(rate) => Some(*rate),
            _ => None,
        };
    }

    fn apply(&self, own: &Levels, at: &mut FixedParams) {
        at.rate_bytes_per_s = own.rate_bytes_per_s.unwrap_or(at.rate_bytes_per_s);
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "Rate at which cost is measured, over all flows: 400MB/s, 10Gbit/s, or auto for \
                    one that every path can hold [default: auto]";
        Some(FactorOption::sent("rate", "RATE", "buffer", help))
    }

    fn parameter(&self) -> Parameter {
        Parameter::disqualifying("rate", "rate")
    }

    /// `auto` is not a level: it leaves the choice to zc.
    fn typed(&self, text: &str) -> Result<Vec<(&'static str, Value)>> {
        let rate = units::rate(text).map_err(|error| error.prefixed("--rate: "))?;
        Ok(rate.map(|rate| (self.name(), Value::Rate(rate))).into_iter().collect())
    }

    /// Costs at different rates are different quantities: batching depends on the rate.
    fn differences(&self, old: &Side<'_>, new: &Side<'_>) -> Vec<Difference> {
        let (rate, other) = (old.fixed.rate_bytes_per_s, new.fixed.rate_bytes_per_s);
        if (rate / other - 1.0).abs() <= RATE_WITHIN {
            return Vec::new();
        }
        Difference::between(self.parameter(), Some(rate_text(rate)), Some(rate_text(other)))
    }
}
