//! The analysis of variance of classes within blocks.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::dense::{Symmetric, dot, is_squarable};
use crate::parts::Parts;

/// A value, its weight, and what it belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Classed {
    /// The value.
    pub value: f64,
    /// Its weight: one by its variance, to a constant.
    pub weight: f64,
    /// Index of its block.
    pub block: usize,
    /// Index of its class.
    pub class: usize,
}

/// Result of [`blocked_anova`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BlockedAnova {
    /// p-value of the hypothesis that no class differs from another.
    pub p_value: f64,
    /// Share of the variance within blocks that classes explain, without what they would explain by
    /// chance: 0 to 1.
    pub explained: f64,
    /// For each class, its difference from the first one and the standard error of that; `None`
    /// where no block, nor a chain of blocks, has both.
    pub differences: Vec<Option<(f64, f64)>>,
    /// Degrees of freedom of the errors.
    pub freedom: usize,
}

/// Tests whether classes differ, net of the blocks that values are in: an additive model of blocks
/// and classes by weighted least squares, and the F test of the classes (Scheffe, "The Analysis of
/// Variance", 1959, section 4.4). Exact for independent normal values.
///
/// Classes that cannot be compared with the first one are left out with their values. `None` if
/// then fewer than two classes or no degrees of freedom are left, for values and weights beyond
/// 1e100, weights that are not above 0, and where all values of a class in a block are equal, so
/// that nothing estimates the errors. O(n + classes^3).
///
/// ```
/// use zc_stats::Classed;
/// let of = |value, block, class| Classed { value, weight: 1.0, block, class };
/// let values = [
///     of(1.0, 0, 0), of(1.2, 0, 0), of(2.1, 0, 1), of(1.9, 0, 1),
///     of(5.1, 1, 0), of(4.9, 1, 0), of(6.0, 1, 1), of(6.2, 1, 1),
/// ];
/// let found = zc_stats::blocked_anova(&values).unwrap();
/// assert!(found.p_value < 0.001 && found.explained > 0.9);
/// assert!((found.differences[1].unwrap().0 - 1.0).abs() < 0.01);
/// ```
pub fn blocked_anova(values: &[Classed]) -> Option<BlockedAnova> {
    let valid =
        |each: &Classed| is_squarable(each.value) && is_squarable(each.weight) && each.weight > 0.0;
    if !values.iter().all(valid) {
        return None;
    }
    let classes = values.iter().map(|each| each.class + 1).max()?;
    let blocks = values.iter().map(|each| each.block + 1).max()?;
    let mut parts = Parts::new(classes + blocks);
    values.iter().for_each(|each| parts.join(each.class, classes + each.block));
    let first = parts.root(0);
    let kept: Vec<Classed> =
        values.iter().copied().filter(|each| parts.root(each.class) == first).collect();
    // Places of classes among those that are compared; the first is not estimated.
    let mut places = vec![None; classes];
    kept.iter().for_each(|each| places[each.class] = Some(0));
    let mut compared = 0;
    for place in places.iter_mut().skip(1).flatten() {
        *place = compared;
        compared += 1;
    }
    let mut used = vec![false; blocks];
    kept.iter().for_each(|each| used[each.block] = true);
    let used = used.iter().filter(|used| **used).count();
    let freedom = kept.len().checked_sub(used + compared).filter(|freedom| *freedom > 0)?;
    if compared == 0 || places[0].is_none() {
        return None;
    }
    let of_class = |class: usize| if class == 0 { None } else { places[class] };
    let centred = Centred::subtract_block_means(&kept, blocks);
    let mut matrix = Symmetric::zeros(compared);
    let mut right = vec![0.0; compared];
    let mut by_block = vec![vec![0.0; compared]; blocks];
    for (each, value) in kept.iter().zip(&centred.values) {
        let Some(place) = of_class(each.class) else { continue };
        matrix.add(place, place, each.weight);
        right[place] += each.weight * value;
        by_block[each.block][place] += each.weight;
    }
    for (weights, all) in by_block.iter().zip(&centred.weights) {
        for (place, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            for (other, weight_of_other) in weights.iter().enumerate().take(place + 1) {
                matrix.add(place, other, -weight * weight_of_other / all);
            }
        }
    }
    let factor = matrix.cholesky()?;
    let mut effects = right.clone();
    factor.solve(&mut effects);
    let all = centred.squares;
    let by_classes = dot(&effects, &right).max(0.0);
    let left = all - by_classes;
    // A sum of this size is a rounding error of 0.
    if left <= 1e-12 * all {
        return None;
    }
    let variance = left / freedom as f64;
    let f = by_classes / compared as f64 / variance;
    // Values beyond the range of numbers leave no statistic.
    if !f.is_finite() {
        return None;
    }
    let p_value = FisherSnedecor::new(compared as f64, freedom as f64).ok()?.sf(f);
    let before = all / (freedom + compared) as f64;
    let difference = |class: usize| {
        if class == 0 {
            return Some((0.0, 0.0));
        }
        let place = places[class]?;
        let mut unit = vec![0.0; compared];
        unit[place] = 1.0;
        factor.solve(&mut unit);
        Some((effects[place], (variance * unit[place]).sqrt()))
    };
    Some(BlockedAnova {
        p_value: Some(p_value).filter(|p| p.is_finite())?.clamp(0.0, 1.0),
        explained: (1.0 - variance / before).clamp(0.0, 1.0),
        differences: (0..classes).map(difference).collect(),
        freedom,
    })
}

/// Values less the weighted means of their blocks.
struct Centred {
    values: Vec<f64>,
    /// Weights of blocks.
    weights: Vec<f64>,
    /// Weighted sum of squares.
    squares: f64,
}

impl Centred {
    fn subtract_block_means(kept: &[Classed], blocks: usize) -> Self {
        let (mut sums, mut weights) = (vec![0.0; blocks], vec![0.0; blocks]);
        for each in kept {
            sums[each.block] += each.weight * each.value;
            weights[each.block] += each.weight;
        }
        let values: Vec<f64> =
            kept.iter().map(|each| each.value - sums[each.block] / weights[each.block]).collect();
        let squares =
            kept.iter().zip(&values).map(|(each, value)| each.weight * value.powi(2)).sum();
        Self { values, weights, squares }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_pcg::Pcg64;

    use super::*;

    fn classed(value: f64, block: usize, class: usize) -> Classed {
        Classed { value, weight: 1.0, block, class }
    }

    #[test]
    fn one_block_is_the_ordinary_analysis_of_variance() {
        // R: PlantGrowth, oneway.test(weight ~ group, var.equal = TRUE): F = 4.8461, p = 0.01591;
        // differences from the control -0.371 and 0.494, standard error 0.2788.
        let weights = [
            [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14],
            [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
            [6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26],
        ];
        let values: Vec<Classed> = weights
            .iter()
            .enumerate()
            .flat_map(|(class, weights)| weights.map(|weight| classed(weight, 0, class)))
            .collect();
        let found = blocked_anova(&values).unwrap();
        assert!((found.p_value - 0.01591).abs() < 1e-5, "{found:?}");
        let [_, Some(first), Some(second)] = found.differences[..] else { panic!("{found:?}") };
        assert!((first.0 + 0.371).abs() < 1e-9 && (second.0 - 0.494).abs() < 1e-9);
        assert!((first.1 - 0.2788).abs() < 1e-4);
        assert_eq!(found.freedom, 27);
    }

    #[test]
    fn blocks_that_differ_are_not_taken_for_classes() {
        // Class 1 is mostly in the expensive block.
        let noise = |at: usize| (at * 37 % 11) as f64 * 0.01;
        let mut values: Vec<Classed> =
            (0..20).map(|at| classed(noise(at) + 10.0, 1, usize::from(at % 4 > 0))).collect();
        values.extend((0..20).map(|at| classed(noise(at + 20), 0, usize::from(at % 4 == 0))));
        let found = blocked_anova(&values).unwrap();
        assert!(found.p_value > 0.05, "{found:?}");
        assert!(found.differences[1].unwrap().0.abs() < 0.05);
    }

    #[test]
    fn classes_that_share_no_block_are_not_compared() {
        let values = [
            classed(1.0, 0, 0),
            classed(1.5, 0, 1),
            classed(1.2, 0, 0),
            classed(1.4, 0, 1),
            classed(9.0, 1, 2),
            classed(8.0, 1, 2),
        ];
        let found = blocked_anova(&values).unwrap();
        assert_eq!(found.differences[2], None);
        assert_eq!(found.freedom, 2);
        assert_eq!(blocked_anova(&values[4..]), None);
        assert_eq!(blocked_anova(&[]), None);
        assert_eq!(blocked_anova(&[classed(f64::NAN, 0, 0)]), None);
        let huge = [classed(0.0, 1, 0), classed(f64::MAX, 1, 2), classed(0.0, 1, 2)];
        assert_eq!(blocked_anova(&huge), None);
        let equal =
            [classed(1.0, 0, 0), classed(1.0, 0, 0), classed(2.0, 0, 1), classed(2.0, 0, 1)];
        assert_eq!(blocked_anova(&equal), None);
    }

    #[test]
    fn p_values_are_uniform_where_classes_do_not_differ() {
        let mut random = Pcg64::seed_from_u64(1);
        let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let mut below = [0; 2];
        for _ in 0..2000 {
            let values: Vec<Classed> = (0..24)
                .map(|at| {
                    let weight = 1.0 + (at % 3) as f64;
                    Classed {
                        value: normal() / weight.sqrt() + (at % 2) as f64,
                        weight,
                        block: at % 2,
                        class: at * 5 % 7 % 3,
                    }
                })
                .collect();
            let p = blocked_anova(&values).unwrap().p_value;
            below[0] += usize::from(p < 0.05);
            below[1] += usize::from(p < 0.5);
        }
        assert!((70..130).contains(&below[0]) && (930..1070).contains(&below[1]), "{below:?}");
    }
}
