//! Selection: the k-th smallest of many numbers without storing them.
//!
//! Walsh averages and pairwise differences are O(n^2) numbers derived from n: too many to sort for
//! a long run. Counting how many of them are at most x takes O(n) once the n are sorted. So the
//! k-th smallest is found by bisection over x. Bisection over the bits of a float ends at exactly
//! that number after at most 64 rounds.

/// The `rank`-th smallest (1 is the smallest) of numbers between `low` and `high`; `at_most(x)`
/// counts those that are <= x.
pub(crate) fn kth_smallest(low: f64, high: f64, rank: u64, at_most: impl Fn(f64) -> u64) -> f64 {
    let (mut low, mut high) = (ordered(low), ordered(high));
    while low < high {
        let middle = (low & high) + ((low ^ high) >> 1); // the mean, rounded down, without overflow
        if at_most(from_ordered(middle)) >= rank { high = middle } else { low = middle + 1 }
    }
    from_ordered(low) + 0.0 // -0 becomes 0
}

/// The median of `count` numbers, of which `kth` finds the one of a rank.
pub(crate) fn middle(count: u64, kth: impl Fn(u64) -> f64) -> f64 {
    let upper = kth(count / 2 + 1);
    if count % 2 == 1 {
        return upper;
    }
    let lower = kth(count / 2);
    if lower == upper { upper } else { 0.5 * lower + 0.5 * upper }
}

/// An integer with the order of the float (that of `f64::total_cmp`).
fn ordered(value: f64) -> i64 {
    flip(value.to_bits().cast_signed())
}

fn from_ordered(key: i64) -> f64 {
    f64::from_bits(flip(key).cast_unsigned())
}

/// Reverses the order of negative numbers; its own inverse.
fn flip(bits: i64) -> i64 {
    bits ^ (bits >> 63 & i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kth_of_a_list_is_found_exactly() {
        let mut list = [3.25, -1.0, 0.1, -0.0, 1e300, -1e-300, 0.1, f64::NEG_INFINITY];
        list.sort_unstable_by(f64::total_cmp);
        let at_most = |x: f64| list.iter().filter(|value| **value <= x).count() as u64;
        for (index, expected) in list.iter().enumerate() {
            assert_eq!(kth_smallest(list[0], list[7], index as u64 + 1, at_most), *expected);
        }
    }

    #[test]
    fn order_of_keys_is_order_of_floats() {
        let floats = [
            f64::NEG_INFINITY,
            -2.0,
            -1.0,
            -f64::MIN_POSITIVE,
            -0.0,
            0.0,
            1e-310,
            1.0,
            f64::INFINITY,
        ];
        assert!(floats.windows(2).all(|pair| ordered(pair[0]) < ordered(pair[1])));
        assert!(
            floats.iter().all(|float| from_ordered(ordered(*float)).to_bits() == float.to_bits())
        );
    }
}
