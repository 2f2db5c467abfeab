//! Differences of counts as they were saved: arrays of whole numbers without trailing zeros.
//!
//! A later minor version may have appended numbers to an array of known length, so what follows the
//! known ones is ignored.

use std::fmt;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The count `more` above `before`, modulo 2^64, so that counters that ran backwards and numbers
/// that are not counters are restored too.
pub(super) fn then(before: u64, more: i64) -> u64 {
    before.wrapping_add(more as u64)
}

/// A fixed number of counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DeltaArray<const N: usize>(pub(super) [i64; N]);

impl<const N: usize> DeltaArray<N> {
    pub(super) fn then(&self, before: [u64; N]) -> [u64; N] {
        std::array::from_fn(|place| then(before[place], self.0[place]))
    }
}

impl<const N: usize> Default for DeltaArray<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<'de, const N: usize> Deserialize<'de> for DeltaArray<N> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Numbers<const N: usize>;
        impl<'de, const N: usize> Visitor<'de> for Numbers<N> {
            type Value = DeltaArray<N>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, "whole numbers, of which the first {N} count")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<DeltaArray<N>, A::Error> {
                let mut few = DeltaArray::default();
                for place in &mut few.0 {
                    match seq.next_element()? {
                        Some(number) => *place = number,
                        None => return Ok(few),
                    }
                }
                ignore_rest(&mut seq)?;
                Ok(few)
            }
        }
        from.deserialize_seq(Numbers::<N>)
    }
}

/// Reads an array to its end: a later minor version may have appended to it.
pub(super) fn ignore_rest<'de, A: SeqAccess<'de>>(seq: &mut A) -> Result<(), A::Error> {
    while seq.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Number of counts that a list contains without an allocation.
const INLINE: usize = 4;

/// One count per CPU. A reading has some ten of these lists, and most measured machines are small:
/// up to four counts need no allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct List {
    few: [i64; INLINE],
    /// Number of entries of `few` in use, unless `many` is.
    len: usize,
    many: Vec<i64>,
}

impl List {
    fn push(&mut self, number: i64) {
        if self.many.is_empty() && self.len < INLINE {
            self.few[self.len] = number;
            self.len += 1;
        } else {
            if self.many.is_empty() {
                self.many.extend_from_slice(&self.few);
            }
            self.many.push(number);
        }
    }
}

impl std::ops::Deref for List {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        if self.many.is_empty() { &self.few[..self.len] } else { &self.many }
    }
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Numbers;
        impl<'de> Visitor<'de> for Numbers {
            type Value = List;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("whole numbers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List, A::Error> {
                let mut list = List::default();
                while let Some(number) = seq.next_element()? {
                    list.push(number);
                }
                Ok(list)
            }
        }
        from.deserialize_seq(Numbers)
    }
}
