//! `offloads`: what the link's network card is to be without. Each set of a plan has a link of its own.

use std::collections::{BTreeMap, BTreeSet};

use super::{Definition, Difference, Factor, FactorOption, Level, Parameter, Side, Value};
use crate::names::names;
use crate::nearest::unknown;
use crate::{Cell, FixedParams, Levels, LinkFacts, Result};

names! {
    /// An offload that the card of a link is to be without. What else the kernel then switches off, because it depends on it, is
    /// in [`LinkFacts::offloads`].
    OffloadSwitch, "offload", {
        /// The card cuts no segments: TCP's packets of up to 64 KiB are cut in software, right above the driver.
        NoTso = "no-tso",
        /// The kernel does not cut segments in software.
        NoGso = "no-gso",
        /// The card takes no packet that is in several pieces of memory: packets are linearised.
        NoSg = "no-sg",
        /// The card sums no checksums.
        NoChecksum = "no-checksum",
        /// The receiver's card does not merge segments that follow one another.
        NoGro = "no-gro",
    }
}

/// What offloads that are all on are called.
const ALL_ON: &str = "all";

/// What a comparison calls one of them, also where whole runs differ in it.
pub const OFFLOAD: Parameter = Parameter::explaining("offload", "offload");

/// `all`, or switches with `+` or `,` between them.
fn offloads(text: &str) -> Result<BTreeSet<OffloadSwitch>> {
    if text == ALL_ON {
        return Ok(BTreeSet::new());
    }
    text.split(['+', ','])
        .map(|name| name.trim().parse::<OffloadSwitch>().map_err(unknown))
        .collect()
}

/// The level as it is shown: `all`, or the switches with `+` between them.
pub fn offloads_text(switches: &BTreeSet<OffloadSwitch>) -> String {
    if switches.is_empty() {
        return ALL_ON.to_owned();
    }
    switches.iter().map(|switch| switch.name()).collect::<Vec<_>>().join("+")
}

/// Each offload that is not the same in both, `on` or `off`.
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

/// The factor.
pub(super) struct OffloadsFactor;

impl Definition for OffloadsFactor {
    fn factor(&self) -> Factor {
        Factor::Offloads
    }

    fn name(&self) -> &'static str {
        "offloads"
    }

    fn levels(&self) -> &'static str {
        "`all`, or the offloads that are off, with `+` between: `no-tso+no-gso`, `no-sg`, `no-checksum`, `no-gro`"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["no-tso", "all", "no-tso+no-gso"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        offloads(text).map(|switches| Value::Name(offloads_text(&switches)))
    }

    fn of(&self, cell: &Cell, _at: &FixedParams, link: &LinkFacts) -> Value {
        Value::Name(offloads_text(link.wanted(&cell.levels).1))
    }

    fn put(&self, level: &Value, cell: &mut Cell) {
        if let Value::Name(text) = level {
            cell.levels.switched_off = offloads(text).ok();
        }
    }

    fn apply(&self, _own: &Levels, _at: &mut FixedParams) {}

    fn option(&self) -> Option<FactorOption> {
        let help = "What the network card of the links null and veth is to be without: no-tso, no-gso, no-gro, no-sg, \
                    no-checksum";
        Some(
            FactorOption::carried("offloads", "NAMES", "mtu", help)
                .of(OffloadSwitch::NAMES)
                .several(),
        )
    }

    fn parameter(&self) -> Parameter {
        OFFLOAD
    }

    fn typed(&self, text: &str) -> Result<Vec<Level>> {
        Level::parse(Factor::Offloads, text).map(|level| vec![level])
    }

    fn differences(&self, old: &Side<'_>, new: &Side<'_>) -> Vec<Difference> {
        if !old.has_own_link() && !new.has_own_link() {
            return Vec::new(); // those of their runs, which are compared as such
        }
        let of = |side: &Side<'_>| side.link().and_then(|link| link.offloads.clone());
        offload_differences(of(old).as_ref(), of(new).as_ref())
    }
}
