//! Levels: a factor's value as it is typed, shown, given to a cell and saved.
//!
//! A level has the same text in a plan's file, in the options of `zc run` and, as a label, in the
//! tables: `64k`, `no-tso+no-gso`, `cork`.

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::registry::Factor;
use super::value::Value;
use crate::nearest::unknown;
use crate::{Cell, FixedParams, LinkFacts, Result};

/// A factor and one of its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Which factor.
    pub factor: Factor,
    /// A value that the factor's definition has parsed.
    pub value: Value,
}

impl Level {
    /// A level that is a name: a send path, a state of the host ...
    pub fn named(factor: Factor, name: &str) -> Self {
        Self { factor, value: Value::Name(name.to_owned()) }
    }

    /// Reads a level as it is typed.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind): `text` is not a level of that factor.
    pub fn parse(factor: Factor, text: &str) -> Result<Self> {
        Ok(Self { factor, value: factor.definition().parse(text.trim())? })
    }

    /// Reads what was typed after the option of `factor`. Some options set other factors too.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind): `text` is not a value of the option.
    pub fn typed(factor: Factor, text: &str) -> Result<Vec<Self>> {
        let typed = factor.definition().typed(text)?.into_iter();
        typed
            .map(|(name, value)| Ok(Self { factor: name.parse().map_err(unknown)?, value }))
            .collect()
    }

    /// The level of a cell: its own, or what its plan holds fixed. `link` is the link of cells that
    /// do not ask for one of their own.
    pub fn for_cell(factor: Factor, cell: &Cell, fixed: &FixedParams, link: &LinkFacts) -> Self {
        Self { factor, value: factor.definition().value_for(cell, &fixed.at(&cell.levels), link) }
    }

    /// Whether it goes together with the transfer and the other levels of `cell`.
    pub fn suits(&self, cell: &Cell) -> bool {
        self.factor.definition().suits(&self.value, cell)
    }

    /// Sets this level in a cell.
    pub fn put(&self, cell: &mut Cell) {
        self.factor.definition().put(&self.value, cell);
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// Levels of the factors that have no field of their own, by the factor's name. Saved as an object
/// with a member per factor: a number of bytes, or the text of the level.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FactorLevels(BTreeMap<&'static str, Value>);

impl FactorLevels {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The level of the factor with this name, if there is one.
    pub fn get(&self, factor: &str) -> Option<&Value> {
        self.0.get(factor)
    }

    /// Sets the level of the factor with this name.
    pub fn insert(&mut self, factor: &'static str, level: Value) {
        self.0.insert(factor, level);
    }
}

/// Saved form of a level.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Saved {
    Number(u64),
    Text(String),
    /// A level of a factor that this version does not know.
    #[serde(skip_serializing)]
    Other(serde::de::IgnoredAny),
}

impl Serialize for FactorLevels {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let in_order = Factor::ALL.iter().map(|factor| factor.name());
        serializer.collect_map(in_order.filter_map(|name| {
            let saved = match self.get(name)? {
                Value::Bytes(bytes) => Saved::Number(*bytes as u64),
                Value::Number(number) => Saved::Number(*number),
                other => Saved::Text(other.to_string()),
            };
            Some((name, saved))
        }))
    }
}

impl<'de> Deserialize<'de> for FactorLevels {
    /// Factors that this version does not know are left out, as unknown fields are.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let mut levels = Self::default();
        for (name, saved) in BTreeMap::<String, Saved>::deserialize(deserializer)? {
            let Ok(factor) = name.parse::<Factor>() else { continue };
            let text = match saved {
                Saved::Number(number) => number.to_string(),
                Saved::Text(text) => text,
                Saved::Other(_) => {
                    return Err(D::Error::custom(format!("the level of \"{factor}\" is no level")));
                }
            };
            let level =
                Level::parse(factor, &text).map_err(|error| D::Error::custom(error.message))?;
            levels.insert(factor.name(), level.value);
        }
        Ok(levels)
    }
}

impl JsonSchema for FactorLevels {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FactorLevels".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "Levels of factors by their names: a number of bytes, or the level's \
                text",
            "additionalProperties": { "type": ["integer", "string"] }
        })
    }
}
