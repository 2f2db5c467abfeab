//! `offloads`: offloads that are switched off on the link. Each set of a plan has a link of its
//! own.

use std::collections::{BTreeMap, BTreeSet};

use super::definition::{Definition, Difference, FactorOption, Parameter, Side};
use super::value::Value;
use crate::names::names;
use crate::nearest::unknown;
use crate::{Cell, FixedParams, Levels, LinkFacts, Result};

names! {
    /// An offload to switch off. [`LinkFacts::offloads`] includes those that the kernel then
    /// switches off because they depend on it.
    OffloadSwitch, "offload", {
        /// TCP segmentation offload: without it, packets of up to 64 KiB are segmented in software,
        /// just above the driver.
        NoTso = "no-tso",
        /// Generic segmentation offload: segmentation in software, just above the driver.
        NoGso = "no-gso",
        /// Scatter-gather: without it, packets in several pieces of memory are linearised.
        NoSg = "no-sg",
        /// Checksum offload of the sender's device.
        NoChecksum = "no-checksum",
        /// Generic receive offload: merging of consecutive segments at the receiver.
        NoGro = "no-gro",
    }
}

/// The level with all offloads on.
const ALL_ON: &str = "all";

/// The parameter of one offload in comparisons, of cells and of whole runs.
pub const OFFLOAD: Parameter = Parameter::explaining("offload", "offload");

/// Parses `all`, or switches separated by `+` or `,`.
fn offloads(text: &str) -> Result<BTreeSet<OffloadSwitch>> {
    if text == ALL_ON {
        return Ok(BTreeSet::new());
    }
    text.split(['+', ','])
        .map(|name| name.trim().parse::<OffloadSwitch>().map_err(unknown))
        .collect()
}

/// The text of a level: `all`, or the switches separated by `+`.
pub fn offloads_text(switches: &BTreeSet<OffloadSwitch>) -> String {
    if switches.is_empty() {
        return ALL_ON.to_owned();
    }
    switches.iter().map(|switch| switch.name()).collect::<Vec<_>>().join("+")
}

/// The offloads that are on in one set and off in the other.
pub fn offload_differences(
    old: Option<&BTreeMap<String, bool>>,
    new: Option<&BTreeMap<String, bool>>,
) -> Vec<Difference> {
    let names: BTreeSet<&String> = old.into_iter().chain(new).flat_map(BTreeMap::keys).collect();
    let state = |offloads: Option<&BTreeMap<String, bool>>, name: &String| {
        offloads?.get(name).map(|is_on| if *is_on { "on" } else { "off" }.to_owned())
    };
    let each = names.into_iter().flat_map(|name| {
        let found = Difference::between(OFFLOAD, state(old, name), state(new, name));
        found.into_iter().map(move |found| Difference { name: Some(name.clone()), ..found })
    });
    each.collect()
}

pub(super) struct OffloadsFactor;

impl Definition for OffloadsFactor {
    fn name(&self) -> &'static str {
        "offloads"
    }

    fn levels(&self) -> &'static str {
        "`all`, or the offloads that are off, with `+` between: `no-tso+no-gso`, `no-sg`, \
         `no-checksum`, `no-gro`"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["no-tso", "all", "no-tso+no-gso"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        offloads(text).map(|switches| Value::Name(offloads_text(&switches)))
    }

    fn value_for(&self, cell: &Cell, _at: &FixedParams, link: &LinkFacts) -> Value {
        Value::Name(offloads_text(&link.wanted(&cell.levels).switched_off))
    }

    fn put(&self, level: &Value, cell: &mut Cell) {
        if let Value::Name(text) = level {
            cell.levels.switched_off = offloads(text).ok();
        }
    }

    fn apply(&self, _own: &Levels, _at: &mut FixedParams) {}

    fn option(&self) -> Option<FactorOption> {
        let help = "Offloads to switch off on the links null and veth: no-tso, no-gso, no-gro, \
                    no-sg, no-checksum";
        Some(
            FactorOption::carried("offloads", "NAMES", "mtu", help)
                .with_names(OffloadSwitch::NAMES)
                .several(),
        )
    }

    fn parameter(&self) -> Parameter {
        OFFLOAD
    }

    fn typed(&self, text: &str) -> Result<Vec<(&'static str, Value)>> {
        self.parse(text.trim()).map(|value| vec![(self.name(), value)])
    }

    fn differences(&self, old: &Side<'_>, new: &Side<'_>) -> Vec<Difference> {
        if !old.has_own_link() && !new.has_own_link() {
            return Vec::new(); // the links of the runs are compared elsewhere
        }
        let of = |side: &Side<'_>| side.link().and_then(|link| link.offloads.clone());
        offload_differences(of(old).as_ref(), of(new).as_ref())
    }
}
