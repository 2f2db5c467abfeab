//! `gso-max`: the largest packet that TCP hands to the link's devices, which segment it (GSO, TSO),
//! and the largest into which they merge what they receive (GRO). Packets above 64 KiB are BIG TCP.
//! Each size of a plan has a link of its own.
//!
//! # References
//! - IFLA_GSO_MAX_SIZE and IFLA_GSO_IPV4_MAX_SIZE of include/uapi/linux/if_link.h
//! - BIG TCP over IPv6 since Linux 5.19, over IPv4 since 6.3

use std::ops::RangeInclusive;

use super::definition::{Definition, Difference, FactorOption, Parameter, Side};
use super::value::{UNSET, Value};
use crate::{Cell, FixedParams, LinkFacts, Result};

/// From a few segments to the largest that the kernel knows, rounded up.
const BYTES: RangeInclusive<u64> = 16 << 10..=512 << 10;

/// The name of the factor, under which [`Levels::more`](crate::Levels::more) has its level.
pub(crate) const NAME: &str = "gso-max";

pub(super) struct GsoMaxFactor;

impl Definition for GsoMaxFactor {
    fn name(&self) -> &'static str {
        NAME
    }

    fn levels(&self) -> &'static str {
        "`unset` (what the device has, 64 KiB), or the size of the largest packet before \
         segmentation, of the links `veth` and `null`: 16k to 512k (8 bytes less, the kernel's \
         largest), above 64k BIG TCP"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["128k", "unset"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        if text == UNSET { Ok(Value::Unset) } else { Value::size(text, BYTES) }
    }

    fn value_for(&self, cell: &Cell, _at: &FixedParams, link: &LinkFacts) -> Value {
        let bytes = link.wanted(&cell.levels).gso_max_bytes;
        bytes.map_or(Value::Unset, |bytes| Value::Bytes(bytes as usize))
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "Largest packet before segmentation, of the links null and veth; above 64k it \
                    is BIG TCP [default: the device's]";
        Some(FactorOption::carried(NAME, "SIZE", "offloads", help))
    }

    fn heading(&self) -> Option<&'static str> {
        Some("largest packet")
    }

    fn parameter(&self) -> Parameter {
        Parameter::explaining("gso_max", "largest packet before segmentation")
    }

    fn differences(&self, old: &Side<'_>, new: &Side<'_>) -> Vec<Difference> {
        if !old.has_own_link() && !new.has_own_link() {
            return Vec::new(); // the links of the runs are compared elsewhere
        }
        let of = |side: &Side<'_>| {
            Some(self.value_for(side.cell, &side.fixed, &side.header.link).to_string())
        };
        Difference::between(self.parameter(), of(old), of(new))
    }
}
