//! Levels: a factor's value as it is typed, shown, given to a cell and saved.
//!
//! Levels are typed alike in a plan's file, in the options of `zc run` and, where they are labels, in the tables: `64k`,
//! `no-tso+no-gso`, `cork`.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Factor;
use crate::nearest::unknown;
use crate::units::{self, rate_text, size_text};
use crate::{Cell, FixedParams, LinkFacts, Result, UnknownName};

/// The text of [`Value::Unset`].
const UNSET: &str = "unset";

/// What a level can be. Its factor says which of these it is.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing is asked of the kernel.
    Unset,
    /// One of several names, or a name of the kernel's.
    Name(String),
    /// A size, shown as `64k`.
    Bytes(usize),
    /// A number, shown in full.
    Number(u64),
    /// Bytes per second.
    Rate(f64),
}

impl Value {
    /// A name that is known.
    pub(super) fn known<T: FromStr<Err = UnknownName> + fmt::Display>(text: &str) -> Result<Self> {
        text.parse::<T>().map(|known| Self::Name(known.to_string())).map_err(unknown)
    }

    /// A size in bytes.
    pub(super) fn size(text: &str, bounds: RangeInclusive<u64>) -> Result<Self> {
        units::size(text, bounds).map(|bytes| Self::Bytes(bytes as usize))
    }

    /// `unset`, or a size in bytes.
    #[allow(dead_code)]
    pub(super) fn size_or_unset(text: &str, bounds: RangeInclusive<u64>) -> Result<Self> {
        if text == UNSET { Ok(Self::Unset) } else { Self::size(text, bounds) }
    }

    /// The name, if it is one of `T`'s.
    pub(super) fn name<T: FromStr>(&self) -> Option<T> {
        match self {
            Self::Name(name) => name.parse().ok(),
            _ => None,
        }
    }

    /// The size, if it is one.
    pub fn bytes(&self) -> Option<usize> {
        match self {
            Self::Bytes(bytes) => Some(*bytes),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub(super) fn number<T: TryFrom<u64>>(&self) -> Option<T> {
        match self {
            Self::Number(number) => T::try_from(*number).ok(),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset => f.pad(UNSET),
            Self::Name(name) => f.pad(name),
            Self::Bytes(bytes) => f.pad(&size_text(*bytes as u64)),
            Self::Number(number) => number.fmt(f),
            Self::Rate(rate) => f.pad(&rate_text(*rate)),
        }
    }
}

/// One level of one factor.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// The factor.
    pub factor: Factor,
    /// Its value.
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
    /// [`ErrorKind::Usage`](crate::ErrorKind): it is no level of that factor.
    pub fn parse(factor: Factor, text: &str) -> Result<Self> {
        Ok(Self { factor, value: factor.definition().parse(text.trim())? })
    }

    /// The level of a cell: its own, or what its plan holds fixed, `link` being what its link is by default.
    pub fn of(factor: Factor, cell: &Cell, fixed: &FixedParams, link: &LinkFacts) -> Self {
        Self { factor, value: factor.definition().of(cell, &fixed.at(&cell.levels), link) }
    }

    /// Gives it to a cell.
    pub fn put(&self, cell: &mut Cell) {
        self.factor.definition().put(&self.value, cell);
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// Levels of the factors that have no field of their own, by factor. Saved as an object with a member to a factor, by its name:
/// a number of bytes, or the text of the level.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FactorLevels(BTreeMap<Factor, Value>);

impl FactorLevels {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The level of a factor, if there is one.
    pub fn get(&self, factor: Factor) -> Option<&Value> {
        self.0.get(&factor)
    }

    /// Gives a factor a level, in place of the one it may have.
    pub fn insert(&mut self, factor: Factor, level: Value) {
        self.0.insert(factor, level);
    }
}

/// How a level is saved.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Saved {
    Number(u64),
    Text(String),
    /// Of a factor that this version does not know.
    #[serde(skip_serializing)]
    Other(serde::de::IgnoredAny),
}

impl Serialize for FactorLevels {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(factor, level)| {
            let saved = match level {
                Value::Bytes(bytes) => Saved::Number(*bytes as u64),
                Value::Number(number) => Saved::Number(*number),
                other => Saved::Text(other.to_string()),
            };
            (factor.name(), saved)
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
            levels.insert(factor, level.value);
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
            "description": "Levels of factors by their names: a number of bytes, or the level's text",
            "additionalProperties": { "type": ["integer", "string"] }
        })
    }
}
