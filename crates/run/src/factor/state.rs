//! `state`: the state that the host, or a server, is in. Its levels come from `zc run --ab`, given
//! twice, which calls them A and B, and from `zc run server --state NAME=...`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::definition::{Definition, Difference, Side};
use super::value::Value;
use crate::{Cell, Error, FixedParams, Levels, LinkFacts, Result};

/// Longest name of a state, in characters: it is a row of a table.
const LONGEST: usize = 40;

/// A state of the host or of a server, by its name.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct HostState(String);

impl HostState {
    /// The state of the first command of `--ab`.
    #[must_use]
    pub fn a() -> Self {
        Self("A".to_owned())
    }

    /// The state of the second command of `--ab`.
    #[must_use]
    pub fn b() -> Self {
        Self("B".to_owned())
    }

    /// The name as typed and saved.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for HostState {
    type Err = Error;

    /// Any name that a table and `zc compare RUN:NAME` can show.
    fn from_str(given: &str) -> Result<Self> {
        let fits = |name: &str| {
            !name.is_empty()
                && name.chars().count() <= LONGEST
                && name.chars().all(|each| !each.is_control() && !matches!(each, ':' | '='))
        };
        if !fits(given) || given.trim() != given {
            return Err(Error::usage(
                "invalid-state-name",
                format!("\"{}\" cannot be the name of a state", crate::escape(given, LONGEST)),
            )
            .help(format!(
                "a name has at most {LONGEST} characters, and neither \":\" nor \"=\" among them"
            )));
        }
        Ok(Self(given.to_owned()))
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
        &["A", "B"]
    }

    fn parse(&self, text: &str) -> Result<Value> {
        text.parse().map(|state: HostState| Value::Name(state.0))
    }

    fn value_for(&self, cell: &Cell, _at: &FixedParams, _link: &LinkFacts) -> Value {
        Value::Name(cell.levels.state.clone().unwrap_or_else(HostState::a).0)
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
