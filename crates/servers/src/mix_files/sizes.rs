//! Lengths of files for the sizes of a mix: as they are where they are few, else rounded. A site
//! has as many files as it has; here each one has to be made, read and checked.

use std::collections::BTreeMap;

/// The most files of different lengths.
pub(super) const MOST_FILES: usize = 64;

/// How far the sizes of one file are apart at first: that is below what a cost can tell.
const WITHIN: f64 = 0.03;

/// At most [`MOST_FILES`] lengths for these sizes, in order. Sizes that share a file are within 3 %
/// of one another, or within the least that makes them few enough; its length is their mean, so that
/// all of them together have as many bytes as before.
pub(super) fn lengths(sizes: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut counted = BTreeMap::<u64, u64>::new();
    sizes.into_iter().for_each(|size| *counted.entry(size).or_default() += 1);
    if counted.len() <= MOST_FILES {
        return counted.into_keys().collect();
    }
    let mut within = WITHIN;
    loop {
        let lengths = grouped(&counted, within);
        if lengths.len() <= MOST_FILES {
            return lengths;
        }
        within *= 1.25;
    }
}

/// The mean of each group of sizes, the greatest of which is at most `1 + within` times the least.
fn grouped(counted: &BTreeMap<u64, u64>, within: f64) -> Vec<u64> {
    let mut lengths = Vec::new();
    let mut group: Option<(u64, u128, u128)> = None;
    let mean = |(_, bytes, count): (u64, u128, u128)| ((bytes + count / 2) / count) as u64;
    for (&size, &count) in counted {
        let added = (u128::from(size) * u128::from(count), u128::from(count));
        group = match group {
            Some((least, bytes, many)) if size as f64 <= least as f64 * (1.0 + within) => {
                Some((least, bytes + added.0, many + added.1))
            }
            before => {
                lengths.extend(before.map(mean));
                Some((size, added.0, added.1))
            }
        };
    }
    lengths.extend(group.map(mean));
    lengths
}

/// The place of the length that is nearest to `size`, of lengths in order; the shorter of two.
/// `None` if there are none.
pub(super) fn nearest(lengths: &[u64], size: u64) -> Option<usize> {
    let above = lengths.partition_point(|length| *length < size);
    let (below, above) = (above.checked_sub(1), (above < lengths.len()).then_some(above));
    [below, above].into_iter().flatten().min_by_key(|at| lengths[*at].abs_diff(size))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn few_sizes_are_kept_and_many_are_rounded() {
        assert_eq!(lengths([5, 1, 5, 0]), [0, 1, 5]);
        assert!(lengths([]).is_empty());
        let few: Vec<u64> = (1000..1064).collect();
        assert_eq!(lengths(few.iter().copied()), few);
        // Within 3 % there are two groups.
        let many: Vec<u64> = (1000..1050).chain(2000..2050).collect();
        assert_eq!(lengths(many), [1015, 1040, 2025]);
    }

    #[test]
    fn the_nearest_length_is_found() {
        for (size, at) in [(0, 0), (10, 0), (14, 0), (15, 0), (16, 1), (20, 1), (99, 2)] {
            assert_eq!(nearest(&[10, 20, 40], size), Some(at), "{size}");
        }
        assert_eq!(nearest(&[], 1), None);
    }

    proptest! {
        #[test]
        fn lengths_are_few_and_have_the_bytes_of_all_sizes(
            sizes in prop::collection::vec(0..1_u64 << 30, 0..400),
        ) {
            let lengths = lengths(sizes.iter().copied());
            prop_assert!(lengths.len() <= MOST_FILES && lengths.is_sorted());
            prop_assert_eq!(lengths.is_empty(), sizes.is_empty());
            prop_assert!(sizes.iter().all(|size| nearest(&lengths, *size).is_some()));
            let distinct: std::collections::BTreeSet<_> = sizes.iter().copied().collect();
            if distinct.len() <= MOST_FILES {
                prop_assert!(lengths.into_iter().eq(distinct));
            }
        }
    }
}
