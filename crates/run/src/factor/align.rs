//! `align`: the offset on its page at which a message begins.

use super::definition::{Definition, FactorOption, Parameter};
use super::value::Value;
use crate::names::names;
use crate::{Cell, FixedParams, Levels, LinkFacts, Result};

names! {
    /// Offset on its page at which a message begins.
    Align, "alignment", {
        /// At the page's beginning, if the file's piece begins there.
        Page = "page",
        /// One byte later: buffers are offset by one byte, and files are sent from their second
        /// byte.
        Byte = "byte",
    }
}

pub(super) struct AlignFactor;

impl Definition for AlignFactor {
    fn name(&self) -> &'static str {
        "align"
    }

    fn levels(&self) -> &'static str {
        "`page`, `byte`: messages begin one byte after a page boundary, in the file as in memory"
    }

    fn examples(&self) -> &'static [&'static str] {
        Align::NAMES
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::known::<Align>(text)
    }

    fn value_for(&self, _cell: &Cell, at: &FixedParams, _link: &LinkFacts) -> Value {
        Value::Name(at.align.to_string())
    }

    fn put(&self, level: &Value, cell: &mut Cell) {
        cell.levels.align = level.name();
    }

    fn apply(&self, own: &Levels, at: &mut FixedParams) {
        at.align = own.align.unwrap_or(at.align);
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "Where on its page a message begins: page (at its beginning) or byte (one \
            later) [default: page]";
        Some(FactorOption::expert("align", "WHERE", "push", help).with_names(Align::NAMES))
    }

    fn parameter(&self) -> Parameter {
        Parameter::explaining("align", "alignment")
    }
}
