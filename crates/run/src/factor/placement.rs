//! `placement`: which CPUs the two sides are pinned to.

use super::definition::{Definition, Difference, FactorOption, Parameter, Side};
use super::value::Value;
use crate::names::names;
use crate::{Cell, FixedParams, Levels, LinkFacts, Result};

names! {
    /// Which CPUs the two sides are pinned to.
    Placement, "placement", {
        /// Each to its own CPU.
        Separate = "separate",
        /// Both to the sender's.
        Same = "same",
        /// To none: the scheduler places them on any of the CPUs that carry soakers.
        Free = "free",
    }
}

pub(super) struct PlacementFactor;

impl Definition for PlacementFactor {
    fn name(&self) -> &'static str {
        "placement"
    }

    fn levels(&self) -> &'static str {
        "`separate` (a CPU for each side), `same`, `free` (where the scheduler puts them)"
    }

    fn examples(&self) -> &'static [&'static str] {
        Placement::NAMES
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::known::<Placement>(text)
    }

    fn value_for(&self, _cell: &Cell, at: &FixedParams, _link: &LinkFacts) -> Value {
        Value::Name(at.placement.to_string())
    }

    fn put(&self, level: &Value, cell: &mut Cell) {
        cell.levels.placement = level.name();
    }

    fn apply(&self, own: &Levels, at: &mut FixedParams) {
        at.placement = own.placement.unwrap_or(at.placement);
        if at.placement == Placement::Same {
            at.receiver_cpu = at.sender_cpu;
        }
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "Whether the two ends have a CPU each (separate), share the sender's (same), or \
                    are placed by the scheduler (free) [default: separate]";
        Some(FactorOption::carried("placement", "NAME", "pages", help).with_names(Placement::NAMES))
    }

    fn parameter(&self) -> Parameter {
        Parameter::disqualifying("placement", "placement")
    }

    /// The placement decides which CPUs are counted.
    fn differences(&self, old: &Side<'_>, new: &Side<'_>) -> Vec<Difference> {
        let (fixed, other) = (&old.fixed, &new.fixed);
        let placement = |fixed: &FixedParams| Some(fixed.placement.to_string());
        let mut found = Difference::between(self.parameter(), placement(fixed), placement(other));
        if fixed.placement == Placement::Free {
            // All soaked CPUs are counted there.
            let cpus = |fixed: &FixedParams| {
                Some(
                    fixed
                        .soaked_cpus
                        .iter()
                        .map(ToString::to_string)
                        .collect::<Vec<_>>()
                        .join(", "),
                )
            };
            found.extend(Difference::between(self.parameter(), cpus(fixed), cpus(other)));
        }
        found
    }
}
