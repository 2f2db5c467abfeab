//! Values of levels: [`Value`]. A factor's definition parses and interprets its values.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::nearest::unknown;
use crate::units::{self, bit_rate_text, rate_text, size_text};
use crate::{Result, UnknownName};

/// The text of [`Value::Unset`]: the host's setting applies.
pub const UNSET: &str = "unset";

/// The value of a level. Each factor uses one of these kinds, or several.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// The kernel's default is left in place.
    Unset,
    /// One of the factor's names, or a name of the kernel's, such as a congestion control.
    Name(String),
    /// A size, shown as `64k`.
    Bytes(usize),
    /// A number, shown in full.
    Number(u64),
    /// Bytes per second.
    Rate(f64),
    /// The same, shown in bits as rates of single connections are.
    BitRate(f64),
}

impl Value {
    /// Parses one of `T`'s names.
    pub(super) fn known<T: FromStr<Err = UnknownName> + fmt::Display>(text: &str) -> Result<Self> {
        text.parse::<T>().map(|known| Self::Name(known.to_string())).map_err(unknown)
    }

    /// Parses a size.
    pub(super) fn size(text: &str, bounds: RangeInclusive<u64>) -> Result<Self> {
        units::size(text, bounds).map(|bytes| Self::Bytes(bytes as usize))
    }

    /// The name, if it is one of `T`'s.
    pub(crate) fn name<T: FromStr>(&self) -> Option<T> {
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
    pub(crate) fn number<T: TryFrom<u64>>(&self) -> Option<T> {
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
            Self::BitRate(rate) => f.pad(&bit_rate_text(*rate)),
        }
    }
}
