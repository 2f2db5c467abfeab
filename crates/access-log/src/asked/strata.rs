//! Few sizes that stand for many: the sizes in order are divided into strata of equally many, and
//! each stratum gives one of its own. So any share of the sizes is met to within one stratum, where
//! a random draw of n errs by 1/sqrt(n): stratified sampling (Cochran, Sampling Techniques, 1977,
//! chapter 5).
//!
//! The size taken is the one nearest to its stratum's mean, and the rest is carried to the next
//! stratum, so the bytes are met as well. The median of each stratum would lose those of a heavy
//! tail, and most bytes of the web are in one.

/// `count` sizes that stand for `sizes`, which are in order; none if these are none.
pub(super) fn representatives(sizes: &[u64], count: usize) -> Vec<u64> {
    let Some(last) = sizes.len().checked_sub(1) else { return Vec::new() };
    let width = sizes.len() as f64 / count as f64;
    let mut carry = 0.0;
    let mut stratum = |index: usize| {
        let (begin, end) = (index as f64 * width, (index + 1) as f64 * width);
        let first = (begin.floor() as usize).min(last);
        let within = first..=(end.ceil() as usize).saturating_sub(1).clamp(first, last);
        // Sizes at its edges belong to it in part.
        let part = |at: usize| {
            let weight = (end.min((at + 1) as f64) - begin.max(at as f64)).max(0.0);
            sizes[at] as f64 * weight
        };
        let mean = within.clone().map(part).sum::<f64>() / width;
        let wanted = mean + carry;
        let distance = |at: &usize| (sizes[*at] as f64 - wanted).abs();
        let nearest = within.min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let taken = sizes[nearest.unwrap_or(first)];
        carry = wanted - taken as f64;
        taken
    };
    (0..count).map(&mut stratum).collect()
}

/// Divides `count` by `weights`: each part is less than one from its share (Hamilton's method, of
/// the largest remainders). All are 0 if the weights are.
pub(super) fn apportion<const N: usize>(count: usize, weights: [u64; N]) -> [usize; N] {
    let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    if total == 0 {
        return [0; N];
    }
    let exact = weights.map(|weight| u128::from(weight) * count as u128);
    let mut parts = exact.map(|exact| (exact / total) as usize);
    let mut order: [usize; N] = std::array::from_fn(|at| at);
    order.sort_by_key(|at| std::cmp::Reverse(exact[*at] % total));
    let missing = count - parts.iter().sum::<usize>();
    order.into_iter().take(missing).for_each(|at| parts[at] += 1);
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn few_sizes_are_repeated_and_many_are_thinned() {
        assert!(representatives(&[], 5).is_empty());
        assert_eq!(representatives(&[7], 3), [7, 7, 7]);
        assert_eq!(representatives(&[1, 100], 4), [1, 1, 100, 100]);
        assert_eq!(representatives(&[1, 2, 3, 4, 5, 6], 2), [2, 5]);
        let all: Vec<u64> = (0..1000).collect();
        assert_eq!(representatives(&all, 1000), all);
    }

    #[test]
    fn parts_add_up_and_the_largest_remainders_are_rounded_up() {
        assert_eq!(apportion(10, [1, 1, 1]), [4, 3, 3]);
        assert_eq!(apportion(256, [4431, 305, 19, 21]), [238, 16, 1, 1]);
        assert_eq!(apportion(5, [0, 0]), [0, 0]);
        assert_eq!(apportion(3, [u64::MAX, u64::MAX, 1]), [2, 1, 0]);
    }

    proptest! {
        #[test]
        fn shares_and_bytes_are_met(
            mut sizes in prop::collection::vec(0..1_u64 << 20, 1..3000),
            count in 1..600_usize,
        ) {
            sizes.sort_unstable();
            let drawn = representatives(&sizes, count);
            prop_assert_eq!(drawn.len(), count);
            prop_assert!(drawn.is_sorted());
            let mean = |all: &[u64]| all.iter().map(|size| *size as f64).sum::<f64>() / all.len() as f64;
            // What is carried is at most the breadth of a stratum.
            let at = |edge: usize| (edge * sizes.len() / count).min(sizes.len() - 1);
            let breadths = (0..count).map(|edge| sizes[at(edge + 1)] - sizes[at(edge)]);
            let breadth = breadths.max().unwrap_or(0) as f64;
            let error = (mean(&sizes) - mean(&drawn)).abs() * count as f64;
            prop_assert!(error <= breadth + 1.0, "{} {} {}", error, breadth, count);
            for size in sizes.iter().step_by(1 + sizes.len() / 20) {
                let below = |all: &[u64]| {
                    all.iter().filter(|other| *other <= size).count() as f64 / all.len() as f64
                };
                let off = (below(&sizes) - below(&drawn)).abs();
                prop_assert!(off <= 1.0 / count as f64 + 1e-9, "{} of {}", off, count);
            }
            prop_assert!(drawn.iter().all(|size| sizes.binary_search(size).is_ok()));
        }

        #[test]
        fn every_part_is_less_than_one_from_its_share(
            weights: [u32; 4], count in 0..5000_usize,
        ) {
            let weights = weights.map(u64::from);
            let total: u64 = weights.iter().sum();
            prop_assume!(total > 0);
            let parts = apportion(count, weights);
            prop_assert_eq!(parts.iter().sum::<usize>(), count);
            for (part, weight) in parts.into_iter().zip(weights) {
                let exact = count as f64 * weight as f64 / total as f64;
                prop_assert!((part as f64 - exact).abs() < 1.0);
            }
        }
    }
}
