//! `mtu`: MTU of the link's devices. Each MTU of a plan has a link of its own.

use std::ops::RangeInclusive;

use super::definition::{Definition, Difference, FactorOption, Parameter, Side};
use super::value::Value;
use crate::{Cell, FixedParams, Levels, LinkFacts, Result, units};

/// Valid MTUs: from the minimum of RFC 791 to the largest length of a packet.
pub const MTU_BYTES: RangeInclusive<u64> = 576..=65_535;

/// Its parameter in comparisons, of cells and of whole runs.
pub const MTU: Parameter = Parameter::explaining("mtu", "MTU");

pub(super) struct MtuFactor;

impl Definition for MtuFactor {
    fn name(&self) -> &'static str {
        "mtu"
    }

    fn levels(&self) -> &'static str {
        "576 to 65535, of the links `veth` and `null`; with 4148 (IPv4) or 4168 (IPv6) the payload of \
         a segment is a page"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["16436", "1500"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        units::size(text, MTU_BYTES).map(Value::Number)
    }

    fn value_for(&self, cell: &Cell, _at: &FixedParams, link: &LinkFacts) -> Value {
        Value::Number(link.wanted(&cell.levels).mtu_bytes.into())
    }

    fn put(&self, level: &Value, cell: &mut Cell) {
        cell.levels.mtu_bytes = level.number();
    }

    fn apply(&self, _own: &Levels, _at: &mut FixedParams) {}

    fn option(&self) -> Option<FactorOption> {
        Some(FactorOption::carried(
            "mtu",
            "SIZE",
            "ip",
            "MTU of the links null and veth [default: 1500]",
        ))
    }

    fn parameter(&self) -> Parameter {
        MTU
    }

    fn differences(&self, old: &Side<'_>, new: &Side<'_>) -> Vec<Difference> {
        if !old.has_own_link() && !new.has_own_link() {
            return Vec::new(); // the links of the runs are compared elsewhere
        }
        let of = |side: &Side<'_>| side.link().map(|link| link.mtu_bytes.to_string());
        Difference::between(MTU, of(old), of(new))
    }
}
