//! Responses by size, in logarithmic bins that keep their number and their exact sum of bytes.
//! Eight bins to an octave: a bin's sizes differ by 12.5 % at most, and computing with its mean in
//! place of each of them errs by far less.

use schemars::JsonSchema;
use serde::Serialize;

use super::classes::Classes;
use super::tally::Tally;
use crate::entry::Class;

/// Bins to an octave, as a power of two.
const FINE_BITS: u32 = 3;

/// Below this, each size has a bin of its own.
const EXACT_BELOW: u64 = 1 << FINE_BITS;

/// A number of responses by size.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "Vec<SizeBin>")]
#[schemars(with = "Vec<SizeBin>")]
pub struct Sizes {
    bins: Vec<Tally>,
}

/// The responses of some sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SizeBin {
    /// The least size, in bytes.
    pub from_bytes: u64,
    /// The greatest size, in bytes.
    pub to_bytes: u64,
    /// Responses of these sizes.
    pub requests: u64,
    /// Their bytes, exactly.
    pub bytes: u64,
}

impl Sizes {
    pub(super) fn add(&mut self, size_bytes: u64) {
        let bin = bin(size_bytes);
        if bin >= self.bins.len() {
            self.grow(bin + 1);
        }
        self.bins[bin].add(size_bytes);
    }

    /// Adds those of another.
    pub fn merge(&mut self, other: &Self) {
        if other.bins.len() > self.bins.len() {
            self.grow(other.bins.len());
        }
        for (bin, other) in self.bins.iter_mut().zip(&other.bins) {
            bin.merge(*other);
        }
    }

    /// Makes room for so many bins, and for no more of them than an octave: there are thousands of
    /// these lists.
    fn grow(&mut self, bins: usize) {
        let bins = bins.next_multiple_of(EXACT_BELOW as usize);
        self.bins.reserve_exact(bins - self.bins.len());
        self.bins.resize(bins, Tally::default());
    }

    /// The bins that are not empty, from small to large.
    pub fn bins(&self) -> impl Iterator<Item = SizeBin> + '_ {
        self.bins.iter().enumerate().filter(|(_, tally)| tally.requests > 0).map(|(bin, tally)| {
            let (from_bytes, to_bytes) = range(bin);
            SizeBin { from_bytes, to_bytes, requests: tally.requests, bytes: tally.bytes }
        })
    }

    /// All of them.
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.bins.iter().for_each(|bin| total.merge(*bin));
        total
    }
}

impl Classes<Sizes> {
    pub(super) fn merge(&mut self, other: &Self) {
        Class::ALL.into_iter().for_each(|class| self.get_mut(class).merge(other.get(class)));
    }

    /// Sizes of all kinds together.
    pub fn together(&self) -> Sizes {
        let mut all = Sizes::default();
        Class::ALL.into_iter().for_each(|class| all.merge(self.get(class)));
        all
    }
}

impl From<Sizes> for Vec<SizeBin> {
    fn from(sizes: Sizes) -> Self {
        sizes.bins().collect()
    }
}

/// The bin of a size: its three bits behind the highest one, and the place of that.
fn bin(size_bytes: u64) -> usize {
    if size_bytes < EXACT_BELOW {
        return size_bytes as usize;
    }
    let octave = size_bytes.ilog2() - FINE_BITS;
    ((u64::from(octave) << FINE_BITS) + (size_bytes >> octave)) as usize
}

/// The least and the greatest size of a bin.
fn range(bin: usize) -> (u64, u64) {
    let bin = bin as u64;
    if bin < EXACT_BELOW {
        return (bin, bin);
    }
    let octave = (bin >> FINE_BITS) - 1;
    let from = (EXACT_BELOW + (bin & (EXACT_BELOW - 1))) << octave;
    (from, from + ((1 << octave) - 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bins_cover_all_sizes_without_a_gap() {
        let last = bin(i64::MAX as u64);
        assert!(last < 500, "{last}");
        let mut next = 0;
        for bin in 0..=last {
            let (from, to) = range(bin);
            assert_eq!(from, next);
            assert!(to - from <= from / 8);
            next = to + 1;
        }
        assert_eq!(next, 1 << 63);
    }

    #[test]
    fn powers_of_two_begin_a_bin() {
        for exponent in 0..63 {
            let size = 1 << exponent;
            assert_eq!(range(bin(size)).0, size);
        }
    }

    proptest! {
        #[test]
        fn a_size_is_in_its_bin(size in 0..=i64::MAX as u64) {
            let (from, to) = range(bin(size));
            prop_assert!((from..=to).contains(&size));
        }

        #[test]
        fn sums_are_exact(sizes in prop::collection::vec(0..1_u64 << 40, 0..100)) {
            let [mut one, mut two, mut all] = [(); 3].map(|()| Sizes::default());
            for (place, size) in sizes.iter().enumerate() {
                if place % 2 == 0 { one.add(*size) } else { two.add(*size) };
                all.add(*size);
            }
            one.merge(&two);
            prop_assert_eq!(&one.bins().collect::<Vec<_>>(), &all.bins().collect::<Vec<_>>());
            let total = Tally { requests: sizes.len() as u64, bytes: sizes.iter().sum() };
            prop_assert_eq!(all.total(), total);
        }
    }
}
