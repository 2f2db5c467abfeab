//! `state`: the state that a command has put the host into. Its levels come from `zc run --ab`,
//! given twice.

use super::definition::{Definition, Difference, Side};
use super::value::Value;
use crate::names::names;
use crate::{Cell, FixedParams, Levels, LinkFacts, Result};

names! {
    /// One of the two states that commands put the host into in turn.
    HostState, "host state", {
        /// The state of the first command.
        A = "A",
        /// The state of the second command.
        B = "B",
    }
}

pub(super) struct StateFactor;

impl Definition for StateFactor {
    fn name(&self) -> &'static str {
        "state"
    }

    fn levels(&self) -> &'static str {
        "`A`, `B`: the states that the two commands of `--ab` put the host into"
    }

    fn examples(&self) -> &'static [&'static str] {
        HostState::NAMES
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::known::<HostState>(text)
    }

    fn of(&self, cell: &Cell, _at: &FixedParams, _link: &LinkFacts) -> Value {
        Value::Name(cell.levels.state.unwrap_or(HostState::A).to_string())
    }

    fn put(&self, level: &Value, cell: &mut Cell) {
        cell.levels.state = level.name();
    }

    fn apply(&self, _own: &Levels, _at: &mut FixedParams) {}

    /// States are compared on purpose.
    fn differences(&self, _old: &Side<'_>, _new: &Side<'_>) -> Vec<Difference> {
        Vec::new()
    }
}
