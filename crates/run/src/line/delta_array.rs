//! Differences of counts as they stand in the file: an array of whole numbers, without the zeros at its end.

use std::fmt;

use serde::de::{Error, IgnoredAny, SeqAccess, Visitor};
use serde::ser::SerializeSeq as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What `count` is more than `before`. Counters that ran backwards, and those that are no counters, come back too: it is arithmetic
/// modulo 2^64.
pub(super) fn since(before: u64, count: u64) -> i64 {
    count.wrapping_sub(before) as i64
}

/// The count that is so much more than `before`.
pub(super) fn then(before: u64, more: i64) -> u64 {
    before.wrapping_add(more as u64)
}

/// A set of counts whose number is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DeltaArray<const N: usize>(pub(super) [i64; N]);

impl<const N: usize> DeltaArray<N> {
    pub(super) fn since(before: [u64; N], counts: [u64; N]) -> Self {
        Self(std::array::from_fn(|place| since(before[place], counts[place])))
    }

    pub(super) fn then(&self, before: [u64; N]) -> [u64; N] {
        std::array::from_fn(|place| then(before[place], self.0[place]))
    }
}

impl<const N: usize> Default for DeltaArray<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

/// Without the zeros at its end.
pub(super) fn trimmed(numbers: &[i64]) -> &[i64] {
    let end = numbers.iter().rposition(|number| *number != 0).map_or(0, |last| last + 1);
    &numbers[..end]
}

impl<const N: usize> Serialize for DeltaArray<N> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let numbers = trimmed(&self.0);
        let mut seq = out.serialize_seq(Some(numbers.len()))?;
        numbers.iter().try_for_each(|number| seq.serialize_element(number))?;
        seq.end()
    }
}

impl<'de, const N: usize> Deserialize<'de> for DeltaArray<N> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Numbers<const N: usize>;
        impl<'de, const N: usize> Visitor<'de> for Numbers<N> {
            type Value = DeltaArray<N>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, "at most {N} whole numbers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<DeltaArray<N>, A::Error> {
                let mut few = DeltaArray::default();
                for place in &mut few.0 {
                    match seq.next_element()? {
                        Some(number) => *place = number,
                        None => return Ok(few),
                    }
                }
                match seq.next_element::<IgnoredAny>()? {
                    None => Ok(few),
                    Some(_) => Err(A::Error::invalid_length(N + 1, &self)),
                }
            }
        }
        from.deserialize_seq(Numbers::<N>)
    }
}

/// How many counts of a list lie in it itself.
const INLINE: usize = 4;

/// A set of counts whose number the line tells: a count to a CPU. There are some ten lists in a reading, and most machines that are
/// measured on are small: up to four counts take no memory of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct List {
    few: [i64; INLINE],
    /// How many of `few` there are; none of them counts where there are more than fit.
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

    /// Without the zeros at its end.
    pub(super) fn trim(&mut self) {
        if self.many.is_empty() {
            self.len = trimmed(&self.few[..self.len]).len();
        } else {
            let kept: Self = trimmed(&self.many).iter().copied().collect();
            *self = kept;
        }
    }
}

impl std::ops::Deref for List {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        if self.many.is_empty() { &self.few[..self.len] } else { &self.many }
    }
}

impl FromIterator<i64> for List {
    fn from_iter<I: IntoIterator<Item = i64>>(numbers: I) -> Self {
        let mut list = Self::default();
        numbers.into_iter().for_each(|number| list.push(number));
        list
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        self[..].serialize(out)
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
